//! The host.

use super::{Gauge, Group, Read, Unit, Window};

const fn share(field: &'static str) -> Gauge {
    Gauge {
        field,
        name: ("", ""),
        group: Group::Host,
        unit: Unit::Percent,
        window: Window::SincePrevious,
        read: Read::Host(|_| None),
        means: ("", ""),
        trap: ("", ""),
        term: "cpu",
    }
}

const fn pressure(field: &'static str) -> Gauge {
    Gauge { window: Window::TenSeconds, ..share(field) }
}

const fn rate(field: &'static str) -> Gauge {
    Gauge { unit: Unit::MibPerSecond, window: Window::SinceDetails, ..share(field) }
}

fn float(bytes: Option<u64>) -> Option<f64> {
    bytes.map(|bytes| bytes as f64)
}

pub(super) const GAUGES: &[Gauge] = &[
    Gauge {
        name: ("CPU", "CPU"),
        read: Read::Host(|h| h.cpu_pct),
        means: ("busy share of all processors together", "全部处理器合计的忙碌占比"),
        trap: (
            "one thread that feeds the GPU is under 1 % of a large host: look at the busiest processor",
            "大机器上，一个喂 GPU 的线程连 1 % 都不到：要看最忙的那个核",
        ),
        ..share("cpu_pct")
    },
    Gauge {
        name: ("Busiest CPU", "最忙的核"),
        read: Read::Host(|h| h.cpu_busiest_pct),
        means: ("busy share of the busiest processor", "最忙的那个处理器的忙碌占比"),
        trap: (
            "100 % with a half-idle GPU: a single thread launches kernels as fast as it can",
            "它 100 % 而 GPU 半闲：单线程已经在拼命发 kernel 了",
        ),
        term: "kernel-launch-overhead",
        ..share("cpu_busiest_pct")
    },
    Gauge {
        name: ("RAM", "内存"),
        unit: Unit::Bytes,
        window: Window::Moment,
        read: Read::Host(|h| float(h.memory_used_bytes)),
        means: ("memory in use: total − available", "已用内存：总量 − 可用"),
        trap: (
            "page cache is not in it, although it is what makes data loading fast",
            "不含页缓存，而数据加载快不快全靠页缓存",
        ),
        term: "node",
        ..share("memory_used_bytes")
    },
    Gauge {
        name: ("Worker RSS", "实验进程"),
        unit: Unit::Bytes,
        window: Window::Moment,
        read: Read::Host(|h| float(h.worker_rss_bytes)),
        means: ("resident memory of the lab's worker on the host", "实验 worker 在主机上的常驻内存"),
        trap: (
            "pinned buffers and the pages of CUDA's libraries count, pageable data that is swapped out does not",
            "锁页缓冲和 CUDA 库的页都算在内，被换出的不算",
        ),
        term: "node",
        ..share("worker_rss_bytes")
    },
    Gauge {
        name: ("CPU wait", "CPU 压力"),
        read: Read::HostDetails(|d| d.cpu_pressure_pct),
        means: (
            "share of time in which some task waited for a processor (PSI)",
            "有任务在等 CPU 的时间占比（PSI）",
        ),
        trap: ("in a container it is the whole host's", "容器里看到的也是整台主机的"),
        ..pressure("cpu_pressure_pct")
    },
    Gauge {
        name: ("Mem wait", "内存压力"),
        read: Read::HostDetails(|d| d.memory_pressure_pct),
        means: (
            "share of time in which some task waited for memory (PSI)",
            "有任务在等内存的时间占比（PSI）",
        ),
        trap: ("above 0 for long, the OOM killer is near", "长期大于 0，离 OOM killer 就不远了"),
        term: "node",
        ..pressure("memory_pressure_pct")
    },
    Gauge {
        name: ("I/O wait", "I/O 压力"),
        read: Read::HostDetails(|d| d.io_pressure_pct),
        means: (
            "share of time in which some task waited for storage (PSI)",
            "有任务在等存储的时间占比（PSI）",
        ),
        trap: ("network file systems hide here only in part", "网络文件系统的等待只有一部分算进来"),
        term: "nvme-ssd",
        ..pressure("io_pressure_pct")
    },
    Gauge {
        name: ("Disk read", "磁盘读"),
        read: Read::HostDetails(|d| d.disk_read_mib_s),
        means: ("read from block devices", "从块设备读"),
        trap: ("data that the page cache gives is not read again", "页缓存命中的不算"),
        term: "nvme-ssd",
        ..rate("disk_read_mib_s")
    },
    Gauge {
        name: ("Disk write", "磁盘写"),
        read: Read::HostDetails(|d| d.disk_write_mib_s),
        means: ("written to block devices", "写到块设备"),
        trap: (
            "a checkpoint arrives in RAM first and here seconds later",
            "checkpoint 先落内存，几秒后才到这里",
        ),
        term: "checkpoint",
        ..rate("disk_write_mib_s")
    },
    Gauge {
        name: ("Net in", "网络收"),
        read: Read::HostDetails(|d| d.network_rx_mib_s),
        means: ("received by network interfaces", "网络接口接收"),
        trap: ("RDMA passes the kernel by and is not counted", "RDMA 绕过内核，不计入"),
        term: "nic",
        ..rate("network_rx_mib_s")
    },
    Gauge {
        name: ("Net out", "网络发"),
        read: Read::HostDetails(|d| d.network_tx_mib_s),
        means: ("sent by network interfaces", "网络接口发送"),
        trap: ("RDMA passes the kernel by and is not counted", "RDMA 绕过内核，不计入"),
        term: "nic",
        ..rate("network_tx_mib_s")
    },
    Gauge {
        field: "cgroup_cpu",
        name: ("Quota used", "配额已用"),
        unit: Unit::Processors,
        window: Window::SinceDetails,
        read: Read::HostDetails(|d| d.cgroup.as_ref().and_then(|c| c.cpu_used)),
        means: ("processor time that this container used", "本容器用掉的 CPU 时间"),
        trap: ("the limit beside it counts, not the host's processors", "要和旁边的配额比，不是和主机核数比"),
        term: "container",
        ..share("")
    },
    Gauge {
        field: "cgroup_throttled",
        name: ("Throttled", "被限流"),
        window: Window::SinceDetails,
        read: Read::HostDetails(|d| d.cgroup.as_ref().and_then(|c| c.cpu_throttled_pct)),
        means: (
            "share of quota periods in which this container ran out of processor time",
            "本容器 CPU 配额耗尽的周期占比",
        ),
        trap: (
            "a few percent already stall a launching thread for tens of milliseconds",
            "只有百分之几，也足以让发 kernel 的线程一卡几十毫秒",
        ),
        term: "container",
        ..share("")
    },
    Gauge {
        field: "cgroup_memory",
        name: ("Mem of limit", "容器内存"),
        unit: Unit::Bytes,
        window: Window::Moment,
        read: Read::HostDetails(|d| float(d.cgroup.as_ref().and_then(|c| c.memory_used_bytes))),
        means: (
            "memory of this container, page cache that can be given back left out",
            "本容器的内存，不含可回收页缓存",
        ),
        trap: (
            "at the limit the kernel kills, without asking how free the host is",
            "到上限就被 OOM kill，不管主机还有多少空闲",
        ),
        term: "container",
        ..share("")
    },
];
