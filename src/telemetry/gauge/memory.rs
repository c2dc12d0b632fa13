//! Device memory.

use super::{Gauge, Group, Read, Unit, Window};

const fn bytes(field: &'static str) -> Gauge {
    Gauge {
        field,
        name: ("", ""),
        group: Group::Memory,
        unit: Unit::Bytes,
        window: Window::Moment,
        read: Read::Gpu(|_| None),
        means: ("", ""),
        trap: ("", ""),
        term: "gpu-memory",
    }
}

fn float(bytes: Option<u64>) -> Option<f64> {
    bytes.map(|bytes| bytes as f64)
}

pub(super) const GAUGES: &[Gauge] = &[
    Gauge {
        name: ("Memory", "显存占用"),
        read: Read::Gpu(|g| float(g.memory_used_bytes)),
        means: (
            "device memory in use by every process, CUDA contexts included",
            "所有进程占用的显存，含 CUDA context",
        ),
        trap: (
            "frameworks cache freed blocks: it falls when the process ends, not when tensors die",
            "框架会缓存已释放的块：张量没了不会降，进程退了才降",
        ),
        ..bytes("memory_used_bytes")
    },
    Gauge {
        name: ("Free", "空闲显存"),
        read: Read::Gpu(|g| float(g.memory_free_bytes)),
        means: ("device memory that nobody has", "没有被占用的显存"),
        trap: (
            "a block larger than the largest hole fails all the same",
            "总量够但没有足够大的连续块，照样申请失败",
        ),
        ..bytes("memory_free_bytes")
    },
    Gauge {
        name: ("Reserved", "驱动保留"),
        read: Read::Gpu(|g| float(g.memory_reserved_bytes)),
        means: ("device memory that the driver keeps for itself", "驱动自留的显存"),
        trap: (
            "it belongs to nobody's count: used + reserved + free = total",
            "不算在任何进程头上：已用 + 保留 + 空闲 = 总量",
        ),
        ..bytes("memory_reserved_bytes")
    },
    Gauge {
        name: ("BAR1", "BAR1"),
        read: Read::GpuDetails(|d| float(d.bar1_used_bytes)),
        means: (
            "part of the window through which the host and other PCIe devices reach device memory",
            "主机和其他 PCIe 设备直接访问显存的窗口用了多少",
        ),
        trap: (
            "a map, not memory: it is not added to what is used",
            "这是映射，不是另一份显存，不能加到占用里",
        ),
        term: "pcie",
        ..bytes("bar1_used_bytes")
    },
];
