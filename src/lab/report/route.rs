//! What each phase of the route demands in numbers, and which lab measures it.

use infralab_labs::protocol::{Ledger, Point};

use super::document::NOTHING;
use super::parts;
use crate::lab::PastRun;
use crate::lang::Lang;
use crate::units::{binary_bytes, quantity};

/// A phase of the route.
#[derive(Debug)]
pub struct Phase {
    /// 0 to 6.
    pub number: u8,
    en: &'static str,
    zh: &'static str,
    /// What it demands.
    pub demands: &'static [Demand],
}

/// Something that a phase demands.
#[derive(Debug)]
pub struct Demand {
    en: &'static str,
    zh: &'static str,
    /// What would show it.
    pub evidence: Evidence,
}

/// What shows that a demand is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// A chart with measured points at this many places or more.
    Chart {
        /// Lab that draws it.
        lab: &'static str,
        /// Metric id.
        metric: &'static str,
        /// Places on the x axis.
        at_least: usize,
    },
    /// Results by name.
    Results {
        /// Lab that measures them.
        lab: &'static str,
        /// Their names.
        names: &'static [&'static str],
    },
    /// A ledger of memory.
    Ledger {
        /// Lab that keeps it.
        lab: &'static str,
    },
    /// Terms marked known, learning or to learn.
    Marks,
    /// Work that no lab measures: a cluster, an engine, a written analysis.
    Own,
}

/// Numbers in one table cell, at most.
const MOST: usize = 9;

/// The route.
pub const PHASES: [Phase; 7] = [
    Phase {
        number: 0,
        en: "Map and vocabulary",
        zh: "全景与词汇",
        demands: &[Demand {
            en: "A table of terms, each marked as known or still to learn",
            zh: "一张术语表，逐条标明“已掌握”或“待学”",
            evidence: Evidence::Marks,
        }],
    },
    Phase {
        number: 1,
        en: "PyTorch and the Transformer",
        zh: "PyTorch 与 Transformer",
        demands: &[
            Demand {
                en: "Training on one GPU: tokens/s at three batch sizes",
                zh: "单卡训练：三种批大小下的 tokens/s",
                evidence: Evidence::Chart { lab: "memory-ledger", metric: "tokens_per_s", at_least: 3 },
            },
            Demand {
                en: "Training on one GPU: peak memory at three batch sizes",
                zh: "单卡训练：三种批大小下的显存峰值",
                evidence: Evidence::Chart { lab: "memory-ledger", metric: "peak_mib", at_least: 3 },
            },
            Demand {
                en: "That memory split into weights, gradients, optimizer state and activations",
                zh: "把显存拆分为权重、梯度、优化器状态和激活值",
                evidence: Evidence::Ledger { lab: "memory-ledger" },
            },
            Demand {
                en: "Attention written by hand: what its memory and time grow with",
                zh: "手写注意力：显存与耗时随什么增长",
                evidence: Evidence::Results {
                    lab: "attention",
                    names: &["naive_peak_extra_mib", "naive_growth"],
                },
            },
        ],
    },
    Phase {
        number: 2,
        en: "Distributed training",
        zh: "分布式训练",
        demands: &[
            Demand {
                en: "A sharded fine-tune (FSDP2 or ZeRO-3) of 1B to 8B parameters: MFU, step time, tokens/s",
                zh: "对 1B 至 8B 模型做分片微调（FSDP2 或 ZeRO-3）：MFU、单步耗时、tokens/s",
                evidence: Evidence::Own,
            },
            Demand {
                en: "A worker killed on purpose: time to save and to restore the checkpoint",
                zh: "主动杀掉一个 worker：检查点的保存与恢复耗时",
                evidence: Evidence::Own,
            },
            Demand {
                en: "A real job taken apart: mix of parallelism, volume of communication, and why",
                zh: "拆解一个真实作业：并行组合、通信量，以及原因",
                evidence: Evidence::Own,
            },
        ],
    },
    Phase {
        number: 3,
        en: "Serving",
        zh: "推理服务",
        demands: &[
            Demand {
                en: "What a token costs in the KV cache, and what a decode step costs in time",
                zh: "每个 token 占多少 KV cache，解码一步要多久",
                evidence: Evidence::Results {
                    lab: "kv-cache",
                    names: &["kv_bytes_per_token", "kv_mib", "ms_per_token"],
                },
            },
            Demand {
                en: "One 8B model on two engines at 1, 16 and 64 concurrent requests: TTFT, ITL, throughput per GPU",
                zh: "同一个 8B 模型、两种引擎，并发 1 / 16 / 64：TTFT、ITL、单卡吞吐",
                evidence: Evidence::Own,
            },
            Demand {
                en: "The same once more with weights in FP8 and AWQ",
                zh: "改用 FP8 与 AWQ 权重后重测",
                evidence: Evidence::Own,
            },
            Demand {
                en: "What speculative decoding and a shared prefix change",
                zh: "投机解码与前缀命中率带来的变化",
                evidence: Evidence::Own,
            },
        ],
    },
    Phase {
        number: 4,
        en: "GPU and troubleshooting",
        zh: "GPU 与故障排查",
        demands: &[
            Demand {
                en: "Bandwidth of an all-reduce between the GPUs of a node",
                zh: "节点内各卡之间 all-reduce 的带宽",
                evidence: Evidence::Own,
            },
            Demand {
                en: "Where the time of one training step goes, by a profiler",
                zh: "用 profiler 说明一个训练步的时间去向",
                evidence: Evidence::Own,
            },
            Demand {
                en: "A past incident analysed again with these tools",
                zh: "用这些工具复盘一次过去的故障",
                evidence: Evidence::Own,
            },
        ],
    },
    Phase {
        number: 5,
        en: "Principles and capstone",
        zh: "原理与综合项目",
        demands: &[Demand {
            en: "An analysis: what one's own cluster must change in scheduling, network and storage for MoE training and RL",
            zh: "一份分析：为支持 MoE 训练与 RL，自己的集群在调度、网络和存储上要改什么",
            evidence: Evidence::Own,
        }],
    },
    Phase {
        number: 6,
        en: "Keeping up",
        zh: "持续跟进",
        demands: &[Demand {
            en: "A routine: which releases and papers one looks at, and how often",
            zh: "一套习惯：关注哪些发布与论文，多久看一次",
            evidence: Evidence::Own,
        }],
    },
];

impl Phase {
    /// Name in `lang`.
    pub fn title(&self, lang: Lang) -> String {
        lang.pick(
            format!("Phase {} · {}", self.number, self.en),
            format!("第 {} 阶段 · {}", self.number, self.zh),
        )
    }
}

impl Demand {
    /// The demand in `lang`.
    pub fn text(&self, lang: Lang) -> &'static str {
        lang.pick(self.en, self.zh)
    }

    /// The lab that measures it; `None` where no lab does.
    pub fn lab(&self) -> Option<&'static str> {
        match self.evidence {
            Evidence::Chart { lab, .. } | Evidence::Results { lab, .. } | Evidence::Ledger { lab } => {
                Some(lab)
            }
            Evidence::Marks | Evidence::Own => None,
        }
    }

    /// The numbers that a run gives for it; `None` when it does not give them.
    pub fn numbers(&self, run: &PastRun, lang: Lang) -> Option<String> {
        if self.lab() != Some(run.record.lab.as_str()) {
            return None;
        }
        let numbers: Vec<String> = match self.evidence {
            Evidence::Chart { metric, at_least, .. } => chart_numbers(run, metric, at_least)?,
            Evidence::Results { names, .. } => names
                .iter()
                .filter_map(|name| {
                    let q = run.record.summary.get(*name)?;
                    Some(format!("{name} {}", quantity(Some(q.value?), &q.unit)))
                })
                .collect(),
            Evidence::Ledger { .. } => parts::ledger_series(run)
                .iter()
                .filter_map(|(_, moments)| split_at_peak(moments, lang))
                .collect(),
            Evidence::Marks | Evidence::Own => Vec::new(),
        };
        let more = if numbers.len() > MOST { "; …" } else { "" };
        let shown: Vec<String> = numbers.into_iter().take(MOST).collect();
        (!shown.is_empty()).then(|| shown.join("; ") + more)
    }
}

/// Where the bytes were at the moment of a series when most were allocated, parts of one kind together:
/// `activations.mlp` and `activations.attention` are activations.
fn split_at_peak(moments: &[&Ledger], lang: Lang) -> Option<String> {
    let peak = moments.iter().max_by_key(|l| l.allocated_bytes)?;
    let mut kinds: Vec<(&str, f64)> = Vec::new();
    for item in &peak.items {
        let kind = item.id.split('.').next().unwrap_or_default();
        match kinds.iter_mut().find(|(k, _)| *k == kind) {
            Some((_, bytes)) => *bytes += item.bytes as f64,
            None => kinds.push((kind, item.bytes as f64)),
        }
    }
    let kinds = kinds.into_iter().map(|(kind, bytes)| format!("{kind} {}", binary_bytes(bytes)));
    let kinds = kinds.collect::<Vec<_>>().join(", ");
    Some(format!("{} ({}): {kinds}", peak.series, parts::moment(peak, lang)))
}

/// Measured values by x, when there are enough places.
fn chart_numbers(run: &PastRun, metric: &str, at_least: usize) -> Option<Vec<String>> {
    let curves = run.session.charts.get(metric)?;
    let x_name =
        run.lab().and_then(|l| l.charts.iter().find(|c| c.metric == metric)).map_or("x", |c| c.x.as_str());
    let mut points: Vec<&Point> =
        curves.measured.values().flatten().filter(|p| p.y.value.is_some()).collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    let mut places: Vec<f64> = points.iter().map(|p| p.x).collect();
    places.dedup();
    let several = curves.measured.len() > 1;
    let number = |p: &&Point| {
        let series = if several { format!(" {}", p.series) } else { String::new() };
        format!("{x_name} {}{series}: {}", p.x, quantity(p.y.value, &p.y.unit))
    };
    (places.len() >= at_least).then(|| points.iter().map(number).collect())
}

/// Stands for a demand that nothing was measured for.
pub(super) fn missing(demand: &Demand, lang: Lang) -> (String, String) {
    let not_yet = lang.pick("not measured yet", "尚未测量");
    match (demand.evidence, demand.lab()) {
        (Evidence::Own, _) | (_, None) => (
            lang.pick("your own work", "需自行完成").into(),
            lang.pick("no lab of infralab measures this", "infralab 没有对应的实验").into(),
        ),
        (_, Some(lab)) if infralab_labs::find_lab(lab).is_some() => (
            not_yet.into(),
            lang.pick(format!("run: infralab lab run {lab}"), format!("运行：infralab lab run {lab}")),
        ),
        (_, Some(lab)) => (
            not_yet.into(),
            lang.pick(format!("this version has no lab {lab}"), format!("此版本没有 {lab} 实验")),
        ),
    }
}

/// Stands for the numbers of a demand that is met elsewhere.
pub(super) fn marks(counts: Option<[usize; 4]>, lang: Lang) -> (String, String) {
    match counts {
        Some([known, learning, todo, unmarked]) if known + learning + todo > 0 => (
            lang.pick(
                format!("{known} known; {learning} learning; {todo} to learn; {unmarked} not marked"),
                format!("已掌握 {known}；学习中 {learning}；待学 {todo}；未标记 {unmarked}"),
            ),
            NOTHING.into(),
        ),
        _ => (
            lang.pick("no term is marked yet", "还没有标记任何术语").into(),
            lang.pick("run: infralab glossary mark TERM known", "运行：infralab glossary mark TERM known")
                .into(),
        ),
    }
}
