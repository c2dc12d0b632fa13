//! Pipeline bubbles and batches.

use infralab_labs::formulas::{collectives, pipeline};

use crate::calc::answer::Answer;
use crate::calc::input::Input;
use crate::calc::inputs::{SEQUENCE, count, time};
use crate::calc::{Calculator, Topic, text};

pub(super) const CALCULATORS: &[Calculator] = &[
    Calculator {
        name: "pipeline-bubble",
        topic: Topic::Parallelism,
        title: text("Pipeline bubble", "流水线气泡"),
        what: text(
            "The same bubble as a share of the step or over the ideal time: say which. Interleaving v chunks divides it.",
            "同一个气泡，可按整步占比，也可按理想时间之比：引用时要说明。交错 v 段会除以 v。",
        ),
        inputs: &[
            count("p", "4", "", text("stages", "流水线级数")).within(1.0, 1e5),
            count("m", "8", "", text("micro-batches", "micro-batch 数")).within(1.0, 1e7),
            count("v", "1", "", text("chunks a stage (interleaved)", "每级的段数（交错调度）"))
                .within(1.0, 1e4),
            Input::choice(
                "of",
                &["step", "ideal"],
                text("share of the step, or over the ideal time", "占整步的比例，或与理想时间之比"),
            ),
        ],
        formula: "(p − 1)/(m·v + p − 1)",
        source: "arXiv 2104.04473 §2.2",
        compute: |v| {
            let (p, m, chunks) = (v.num("p"), v.num("m"), v.num("v"));
            let (share, ratio) = (pipeline::bubble_share(p, m, chunks), pipeline::bubble_ratio(p, m, chunks));
            let answer = if v.word("of") == "ideal" {
                Answer::of(ratio, "ratio to ideal").by("(p − 1)/(m·v)")
            } else {
                Answer::of(share, "frac")
            };
            answer.row(text("of the step", "占整步"), share, "frac", "(p − 1)/(m·v + p − 1)").row(
                text("over ideal time", "与理想时间之比"),
                ratio,
                "frac",
                "(p − 1)/(m·v)",
            )
        },
    },
    Calculator {
        name: "global-batch",
        topic: Topic::Parallelism,
        title: text("Global batch", "全局 batch"),
        what: text(
            "A smaller micro-batch with more accumulation is the same optimizer step in less memory.",
            "减小 micro-batch、增加累积步数，优化器一步不变而显存更省。",
        ),
        inputs: &[
            count("micro", "4", "", text("micro-batch", "micro-batch")),
            count("accum", "8", "", text("accumulation steps", "梯度累积步数")),
            count("dp", "8", "", text("data-parallel ranks", "数据并行 rank 数")),
            SEQUENCE,
        ],
        formula: "micro·accum·dp",
        source: "definition",
        compute: |v| {
            let batch = collectives::global_batch(v.num("micro"), v.num("accum"), v.num("dp"));
            Answer::of(batch, "sequence").row(
                text("tokens a step", "每步 token 数"),
                batch * v.num("s"),
                "token",
                "micro·accum·dp·s",
            )
        },
    },
    Calculator {
        name: "scaling-efficiency",
        topic: Topic::Parallelism,
        title: text("Scaling efficiency", "扩展效率"),
        what: text(
            "What exposed communication leaves of perfect scaling.",
            "暴露的通信之后，离线性扩展还剩多少。",
        ),
        inputs: &[
            time("step", "30ms", text("step on one GPU", "单卡一步")),
            time("exposed", "5ms", text("exposed communication", "暴露的通信")).within(0.0, 1e9),
        ],
        formula: "step/(step + exposed)",
        source: "definition",
        compute: |v| Answer::of(collectives::scaling_efficiency(v.num("step"), v.num("exposed")), "frac"),
    },
];
