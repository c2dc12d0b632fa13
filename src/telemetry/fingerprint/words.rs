//! Names of patterns and quantities, and what a pattern usually comes from.

use super::{Fingerprint, Pattern, Quantity};
use crate::lang::Lang;
use crate::telemetry::gauge;

impl Pattern {
    /// Every pattern, in the order of the rules.
    pub const ALL: [Self; 8] = [
        Self::Throttled,
        Self::Idle,
        Self::Spinning,
        Self::ComputeBound,
        Self::BandwidthBound,
        Self::LaunchBound,
        Self::Starved,
        Self::Mixed,
    ];

    /// The name of practitioners.
    pub fn name(self, lang: Lang) -> &'static str {
        let (en, zh) = match self {
            Self::Throttled => ("throttled", "降频（throttled）"),
            Self::Idle => ("idle", "空闲（idle）"),
            Self::Spinning => ("spinning", "空转（spinning）"),
            Self::Starved => ("starved", "断粮（starved）"),
            Self::ComputeBound => ("compute-bound", "计算受限（compute-bound）"),
            Self::BandwidthBound => ("bandwidth-bound", "带宽受限（bandwidth-bound）"),
            Self::LaunchBound => ("launch-bound", "发射受限（launch-bound）"),
            Self::Mixed => ("mixed", "混合（mixed）"),
        };
        lang.pick(en, zh)
    }

    /// What it usually is, in one sentence.
    pub fn means(self, lang: Lang) -> &'static str {
        let (en, zh) = match self {
            Self::Throttled => (
                "heat, a power brake or the hardware holds the clocks back: look at cooling and supply",
                "温度、供电刹车或硬件在压频率：先查散热和供电",
            ),
            Self::Idle => ("no kernel runs", "没有 kernel 在跑"),
            Self::Spinning => (
                "a kernel is resident and hardly works: a collective waiting for a peer, a busy loop, one block on one SM",
                "kernel 占着位置却几乎不干活：集合通信在等对端、死循环，或者一个 block 占一个 SM",
            ),
            Self::Starved => (
                "kernels and pauses take turns: data loading, a checkpoint, the host or a peer is slower than the GPU",
                "算一阵歇一阵：数据加载、checkpoint、主机或对端跟不上 GPU",
            ),
            Self::ComputeBound => ("the arithmetic pipes are the limit", "瓶颈在算术流水线"),
            Self::BandwidthBound => (
                "moving data through device memory is the limit: fuse, shrink the data, or batch",
                "瓶颈在显存搬运：融合算子、压缩数据或加大 batch",
            ),
            Self::LaunchBound => (
                "kernels are too small to fill the SMs, and starting them takes longer than running them: batch, fuse, CUDA graphs",
                "kernel 太小填不满 SM，发射比执行还久：加大 batch、融合、CUDA graph",
            ),
            Self::Mixed => (
                "the SMs are busy and neither arithmetic nor memory is near its limit: several kinds of kernel take turns, or kernels wait inside",
                "SM 在忙，但算术和显存都没到顶：几类 kernel 轮流跑，或 kernel 内部在等",
            ),
        };
        lang.pick(en, zh)
    }

    /// A letter that stands for it where there is no room.
    pub fn letter(self) -> char {
        match self {
            Self::Throttled => 'T',
            Self::Idle => '-',
            Self::Spinning => 'O',
            Self::Starved => 'S',
            Self::ComputeBound => 'C',
            Self::BandwidthBound => 'B',
            Self::LaunchBound => 'L',
            Self::Mixed => 'M',
        }
    }

    /// Id of the term that explains it, where there is one.
    pub fn term(self) -> &'static str {
        match self {
            Self::Throttled => "clock-throttling",
            Self::Idle | Self::Spinning => "gpu-util",
            Self::Starved => "sm-activity",
            Self::ComputeBound => "compute-bound",
            Self::BandwidthBound => "memory-bound",
            Self::LaunchBound => "latency-bound",
            Self::Mixed => "roofline-model",
        }
    }
}

impl Quantity {
    /// Name.
    pub fn name(self, lang: Lang) -> &'static str {
        match self {
            Self::Gauge(field) => gauge::gpu(field).map_or(field, |g| lang.pick(g.name.0, g.name.1)),
            Self::BusiestPipe => lang.pick("busiest pipe", "最忙的流水线"),
            Self::SmWhileBusy => lang.pick("SM active ÷ GPU-Util", "SM 活跃 ÷ GPU-Util"),
            Self::PowerShare => lang.pick("power of limit", "功率/上限"),
            Self::HeldBack => lang.pick("clocks held back", "被压频的时间"),
        }
    }
}

impl Fingerprint {
    /// The pattern; `None` when it is not known.
    pub fn pattern(&self) -> Option<Pattern> {
        match self {
            Self::Seen { pattern, .. } => Some(*pattern),
            Self::Unknown { .. } => None,
        }
    }

    /// Pattern and the conditions that held, in one line.
    pub fn line(&self, lang: Lang) -> String {
        match self {
            Self::Seen { pattern, because, power_capped } => {
                let because: Vec<String> = because.iter().map(|(c, value)| c.with(*value, lang)).collect();
                let colon = if because.is_empty() { "" } else { lang.pick(": ", "：") };
                let capped = if *power_capped {
                    lang.pick(" · power limit holds the clock", " · 功率上限压着时钟")
                } else {
                    ""
                };
                let joined = because.join(lang.pick(", ", "，"));
                format!("{}{colon}{joined}{capped}", pattern.name(lang))
            }
            Self::Unknown { quantity, why } => lang.pick(
                format!("not known: {} is missing ({why})", quantity.name(lang)),
                format!("无法判断：缺 {}（{why}）", quantity.name(lang)),
            ),
        }
    }
}
