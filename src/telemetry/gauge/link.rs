//! PCIe, NVLink, encoders and decoders.

use super::{Gauge, Group, Read, Unit, Window};

const fn rate(field: &'static str) -> Gauge {
    Gauge {
        field,
        name: ("", ""),
        group: Group::Link,
        unit: Unit::MibPerSecond,
        window: Window::SinceCounters,
        read: Read::Gpu(|_| None),
        means: ("", ""),
        trap: ("", ""),
        term: "pcie",
    }
}

pub(super) const GAUGES: &[Gauge] = &[
    Gauge {
        name: ("PCIe in", "PCIe 入"),
        read: Read::Gpu(|g| g.pcie_rx_mib_s),
        means: ("host to device over PCIe", "主机到设备的 PCIe 流量"),
        trap: (
            "protocol overhead counts: copies of your data fill less of it than it says",
            "协议开销也算在内：真正搬的数据比读数少",
        ),
        ..rate("pcie_rx_mib_s")
    },
    Gauge {
        name: ("PCIe out", "PCIe 出"),
        read: Read::Gpu(|g| g.pcie_tx_mib_s),
        means: ("device to host over PCIe", "设备到主机的 PCIe 流量"),
        trap: (
            "RDMA by the NIC reads device memory through here too",
            "网卡做 GPUDirect RDMA 读显存也走这里",
        ),
        ..rate("pcie_tx_mib_s")
    },
    Gauge {
        name: ("NVLink in", "NVLink 入"),
        window: Window::SinceDetails,
        read: Read::GpuDetails(|d| d.nvlink_rx_mib_s),
        means: ("received over all NVLinks together", "所有 NVLink 合计接收"),
        trap: (
            "0 on one GPU alone is right; 0 in a tensor-parallel job means that NCCL took another path",
            "单卡任务读 0 正常；张量并行任务读 0，说明 NCCL 走了别的路",
        ),
        term: "nvlink-throughput-counter",
        ..rate("nvlink_rx_mib_s")
    },
    Gauge {
        name: ("NVLink out", "NVLink 出"),
        window: Window::SinceDetails,
        read: Read::GpuDetails(|d| d.nvlink_tx_mib_s),
        means: ("sent over all NVLinks together", "所有 NVLink 合计发送"),
        trap: (
            "a mean over a second or two: an all-reduce of milliseconds hides in it",
            "一两秒的均值：毫秒级的 all-reduce 会被摊平",
        ),
        term: "nvlink-throughput-counter",
        ..rate("nvlink_tx_mib_s")
    },
    Gauge {
        name: ("Encoder", "编码器"),
        unit: Unit::Percent,
        window: Window::DriverSecond,
        read: Read::GpuDetails(|d| d.encoder_pct),
        means: ("busy share of the video encoders", "视频编码器的忙碌占比"),
        trap: ("A100, H100 and H200 have none and read 0 for ever", "A100、H100、H200 没有编码器，永远是 0"),
        term: "gpu",
        ..rate("encoder_pct")
    },
    Gauge {
        name: ("Decoder", "解码器"),
        unit: Unit::Percent,
        window: Window::DriverSecond,
        read: Read::GpuDetails(|d| d.decoder_pct),
        means: ("busy share of the video decoders", "视频解码器的忙碌占比"),
        trap: (
            "video data loaders live here: full decoders starve a training that looks idle elsewhere",
            "视频数据加载靠它：解码器打满，训练就会断粮，别处却看着很闲",
        ),
        term: "gpu",
        ..rate("decoder_pct")
    },
];
