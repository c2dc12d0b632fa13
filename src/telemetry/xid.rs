//! Xid errors in words. Source: NVIDIA, Xid Errors documentation (GPU Deployment and Management).

use super::gauge::Bilingual;

/// What an Xid usually means, for those that operators meet; `None` for others, whose meaning the documentation tells.
pub fn words(code: u64) -> Option<Bilingual> {
    Some(match code {
        13 => (
            "a kernel failed: an illegal address or instruction in the program",
            "kernel 出错：程序里有非法地址或非法指令",
        ),
        31 => ("memory page fault of a program: an illegal address", "程序访问了非法显存地址（缺页）"),
        43 => ("a program's channel was reset; the GPU itself goes on", "某个程序的通道被复位，GPU 本身没事"),
        45 => ("the driver cleaned up after a program that was ended", "程序被终止，驱动在做清理"),
        48 => ("memory error that ECC could not correct", "ECC 无法纠正的显存错误"),
        63 => ("a row of memory was remapped or waits for it", "有显存行被重映射，或等待重映射"),
        64 => ("remapping a row of memory failed", "显存行重映射失败"),
        74 => ("NVLink error", "NVLink 错误"),
        79 => ("the GPU fell off the bus", "GPU 掉卡（从总线上消失）"),
        92 => ("many memory errors that ECC corrected", "ECC 可纠正错误过多"),
        94 => (
            "memory error, contained: only the program that hit it ends",
            "显存错误已隔离：只影响碰到它的程序",
        ),
        95 => ("memory error, not contained: the GPU must be reset", "显存错误未能隔离：GPU 需要复位"),
        119 | 120 => ("the GPU's own processor (GSP) did not answer", "GPU 系统处理器（GSP）没有响应"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_get_words_and_unknown_codes_get_none() {
        assert!(words(79).is_some_and(|(en, zh)| en.contains("bus") && zh.contains("掉卡")));
        assert_eq!(words(1), None);
    }
}
