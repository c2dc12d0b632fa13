//! What the GPU's units are doing.

use super::{Gauge, Group, Read, Unit, Window};

const fn gpm(field: &'static str) -> Gauge {
    Gauge {
        field,
        name: ("", ""),
        group: Group::Activity,
        unit: Unit::Percent,
        window: Window::SinceCounters,
        read: Read::Gpu(|_| None),
        means: ("", ""),
        trap: ("", ""),
        term: "nvml-gpm",
    }
}

pub(super) const GAUGES: &[Gauge] = &[
    Gauge {
        name: ("GPU-Util", "GPU-Util"),
        window: Window::DriverSecond,
        read: Read::Gpu(|g| g.util_pct),
        means: ("share of time in which at least one kernel ran", "至少有一个 kernel 在跑的时间占比"),
        trap: (
            "one busy SM of an H200's 132 reads 100 %: it says that the GPU was not empty, not that it was used",
            "H200 的 132 个 SM 只忙一个也显示 100 %：它只说明 GPU 没空着，不说明用满了",
        ),
        term: "gpu-util",
        ..gpm("util_pct")
    },
    Gauge {
        name: ("SM active", "SM 活跃"),
        read: Read::Gpu(|g| g.sm_pct),
        means: (
            "share of cycles with at least one warp resident, mean over all SMs",
            "有 warp 驻留的周期占比，对所有 SM 取平均",
        ),
        trap: ("a resident warp that waits for memory counts as active", "warp 驻留着等显存，也算活跃"),
        term: "sm-activity",
        ..gpm("sm_pct")
    },
    Gauge {
        name: ("Occupancy", "SM 占用率"),
        read: Read::Gpu(|g| g.sm_occupancy_pct),
        means: (
            "resident warps ÷ the most that fit, mean over all SMs",
            "驻留 warp 数 ÷ 上限，对所有 SM 取平均",
        ),
        trap: (
            "high is no goal: a bf16 matmul on an H200 reads 14 % here at 93 % tensor",
            "不是越高越好：H200 上 bf16 矩阵乘这里只有 14 %，张量核心却有 93 %",
        ),
        term: "sm-occupancy-measured",
        ..gpm("sm_occupancy_pct")
    },
    Gauge {
        name: ("Tensor", "张量核心"),
        read: Read::Gpu(|g| g.tensor_pct),
        means: (
            "share of cycles in which the tensor pipes worked, mean over all SMs",
            "张量核心流水线在干活的周期占比，对所有 SM 取平均",
        ),
        trap: (
            "busy is not FLOP/s: padding counts as work, and a clock held back stays hidden in a share of cycles",
            "忙不等于 FLOP/s：填充也算干活；降频之后按周期算的占比看不出来",
        ),
        term: "tensor-activity",
        ..gpm("tensor_pct")
    },
    Gauge {
        name: ("DRAM", "显存带宽"),
        read: Read::Gpu(|g| g.dram_pct),
        means: (
            "share of cycles in which data moved to or from device memory",
            "显存接口上有数据在搬的周期占比",
        ),
        trap: (
            "copies stop short of 100 %: compare with the measured ceiling, not with the data sheet",
            "纯拷贝也到不了 100 %：该和实测上限比，别和规格书比",
        ),
        term: "dram-activity",
        ..gpm("dram_pct")
    },
    Gauge {
        name: ("FP32", "FP32"),
        read: Read::Gpu(|g| g.fp32_pct),
        means: ("share of cycles in which the FP32 pipes worked", "FP32 流水线在干活的周期占比"),
        trap: (
            "element-wise kernels wait for memory: a few percent here is normal while DRAM is busy",
            "逐元素 kernel 都在等显存：显存忙的时候这里只有百分之几很正常",
        ),
        term: "streaming-multiprocessor",
        ..gpm("fp32_pct")
    },
    Gauge {
        name: ("FP16", "FP16"),
        read: Read::Gpu(|g| g.fp16_pct),
        means: (
            "share of cycles in which the FP16 pipes outside the tensor cores worked",
            "张量核心以外的 FP16 流水线在干活的周期占比",
        ),
        trap: (
            "bf16 and fp16 matmuls run on the tensor cores and do not show here",
            "bf16、fp16 矩阵乘跑在张量核心上，不算在这里",
        ),
        term: "streaming-multiprocessor",
        ..gpm("fp16_pct")
    },
    Gauge {
        name: ("FP64", "FP64"),
        read: Read::Gpu(|g| g.fp64_pct),
        means: ("share of cycles in which the FP64 pipes worked", "FP64 流水线在干活的周期占比"),
        trap: (
            "in AI work anything above 0 is a double that nobody meant to compute",
            "AI 负载里这里大于 0，多半是谁不小心用了 double",
        ),
        term: "numeric-format",
        ..gpm("fp64_pct")
    },
    Gauge {
        name: ("Mem-Util", "Mem-Util"),
        window: Window::DriverSecond,
        read: Read::Gpu(|g| g.memory_util_pct),
        means: (
            "share of time in which device memory was read or written (nvidia-smi's Memory-Util)",
            "显存被读写过的时间占比（nvidia-smi 里的 Memory-Util）",
        ),
        trap: (
            "a share of time, not of bandwidth, and not how full memory is",
            "按时间算，不是带宽占比，更不是显存用了多少",
        ),
        term: "memory-bandwidth",
        ..gpm("memory_util_pct")
    },
];
