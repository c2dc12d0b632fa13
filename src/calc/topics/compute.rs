//! Operations and utilisation.

use infralab_labs::formulas::{attention, flops};

use crate::calc::answer::Answer;
use crate::calc::input::{Dim, Input};
use crate::calc::inputs::{HEAD_DIM, LAYERS, PARAMS, PEAK, SEQUENCE, WIDTH, YES_NO, count, time};
use crate::calc::resolve::Values;
use crate::calc::tables::{GpuField, ModelField};
use crate::calc::{Calculator, Topic, text};

const CONTEXT: Input =
    Input::number("T", Dim::Whole, "token", text("sequence length of training", "训练序列长度"))
        .within(1.0, 1e9)
        .model(ModelField::Context);
const CAUSAL: Input = Input::choice(
    "causal",
    YES_NO,
    text("count only what the causal mask leaves", "只算因果 mask 留下的部分"),
);

pub(super) const CALCULATORS: &[Calculator] = &[
    Calculator {
        name: "attention-flops",
        topic: Topic::Compute,
        title: text("FLOPs of attention", "attention 的 FLOPs"),
        what: text(
            "One attention call: forward, backward that recomputes the scores (2.5×), or both (3.5×).",
            "一次 attention：前向、重算分数的反向（2.5 倍），或两者（3.5 倍）。",
        ),
        inputs: &[
            count("b", "2", "", text("batch", "batch")).within(1.0, 1e6),
            SEQUENCE.within(1.0, 1e9),
            Input::number("n", Dim::Whole, "head", text("heads", "头数")).within(1.0, 1e5).default("16"),
            Input { fill: None, default: Some("128"), ..HEAD_DIM },
            CAUSAL,
            Input::choice("pass", &["forward", "backward", "both"], text("which pass", "哪个方向")),
        ],
        formula: "4·b·s²·n·d",
        source: "Dao-AILab/flash-attention benchmarks/benchmark_flash_attention.py, flops()",
        compute: attention_flops,
    },
    Calculator {
        name: "flops-per-token",
        topic: Topic::Compute,
        title: text("FLOPs of a training token", "训练每 token 的 FLOPs"),
        what: text(
            "Forward and backward of one token: 6 a parameter, and attention that grows with the context.",
            "一个 token 的前向加反向：每参数 6，另加随上下文增长的 attention。",
        ),
        inputs: &[PARAMS, LAYERS, WIDTH, CONTEXT, CAUSAL],
        formula: "6·N + 12·L·h·T",
        source: "arXiv 2204.02311 (PaLM) appendix B; causal: stas00/ml-engineering training/performance",
        compute: per_token,
    },
    Calculator {
        name: "training-flops",
        topic: Topic::Compute,
        title: text("FLOPs, days of a training", "一次训练的 FLOPs 与天数"),
        what: text("6·N·D, and how long GPUs take at an MFU.", "6·N·D，以及给定 MFU 时要跑多久。"),
        inputs: &[
            PARAMS,
            count("D", "15T", "token", text("training tokens", "训练 token 数")),
            count("gpus", "1024", "", text("GPUs", "GPU 数")),
            PEAK,
            Input::number("mfu", Dim::Share, "", text("model FLOPs utilisation", "MFU"))
                .within(1e-4, 1.0)
                .default("0.4"),
        ],
        formula: "6·N·D",
        source: "arXiv 2001.08361",
        compute: |v| {
            let flop = flops::training(v.num("N"), v.num("D"));
            let seconds = flops::training_seconds(flop, v.num("gpus"), v.num("peak"), v.num("mfu"));
            Answer::of(flop, "FLOP")
                .with("time", seconds / 3600.0, "")
                .row(text("time", "时间"), seconds, "s", "6·N·D / (gpus·peak·mfu)")
                .row(text("GPU hours", "GPU 小时"), seconds * v.num("gpus") / 3600.0, "GPU·h", "gpus·time h")
        },
    },
    Calculator {
        name: "mfu",
        topic: Topic::Compute,
        title: text("MFU of a training step", "训练一步的 MFU"),
        what: text(
            "Model FLOPs a second over the dense peak. Sparse peaks halve it, another GPU's peak makes it nonsense.",
            "模型 FLOPs/s 除以稠密峰值。用稀疏峰值会减半，用错卡的峰值则毫无意义。",
        ),
        inputs: &[
            PARAMS,
            LAYERS,
            WIDTH,
            CONTEXT,
            CAUSAL,
            count(
                "tokens",
                "65536",
                "token",
                text("tokens of a step, all GPUs", "一步的 token 数（所有 GPU）"),
            ),
            time("time", "10s", text("time of a step", "一步的时间")),
            count("gpus", "1", "", text("GPUs", "GPU 数")),
            PEAK,
            Input::choice(
                "recompute",
                &["none", "full"],
                text("activation checkpointing, for HFU", "激活重算，用于 HFU"),
            ),
        ],
        formula: "(6·N + 12·L·h·T)·tokens / time / (gpus·peak)",
        source: "arXiv 2204.02311 (PaLM) appendix B; karpathy/llm.c llmc/mfu.h",
        compute: mfu,
    },
    Calculator {
        name: "utilisation",
        topic: Topic::Compute,
        title: text("Share of the peak", "占峰值的比例"),
        what: text("Operations in a time, over a dense peak.", "一段时间内完成的运算量占稠密峰值的比例。"),
        inputs: &[
            Input::number("flop", Dim::Flop, "", text("operations", "运算量")).default("1.1e12"),
            time("time", "2ms", text("time", "时间")),
            PEAK,
        ],
        formula: "flop / time / peak",
        source: "definition",
        compute: |v| {
            let share = flops::utilisation(v.num("flop"), v.num("time"), v.num("peak"));
            over_peak(
                Answer::of(share, "frac").row(
                    text("achieved", "实际算力"),
                    v.num("flop") / v.num("time"),
                    "FLOP/s",
                    "flop / time",
                ),
                share,
            )
        },
    },
    Calculator {
        name: "peak",
        topic: Topic::Compute,
        title: text("Peak of a chip", "芯片峰值"),
        what: text(
            "Multiprocessors × multiply-adds a clock × 2 × clock. Where 989 TFLOP/s come from.",
            "SM 数 × 每周期乘加 × 2 × 时钟。989 TFLOP/s 就是这么来的。",
        ),
        inputs: &[
            Input::number("sms", Dim::Whole, "SM", text("multiprocessors", "SM 数")).gpu(GpuField::Sms),
            count("fma", "2048", "", text("dense multiply-adds a clock and SM", "每 SM 每周期的稠密乘加数")),
            Input::number("clock", Dim::Clock, "", text("clock", "时钟"))
                .within(1e6, 1e11)
                .default("1830MHz"),
        ],
        formula: "sms·fma·2·clock",
        source: "karpathy/llm.c llmc/mfu.h",
        compute: |v| {
            Answer::of(flops::peak(v.num("sms"), v.num("fma"), v.num("clock")), "FLOP/s").note(
                "2048 is bf16 on Hopper's tensor cores; a GPU that boosts above this clock can pass its data sheet for a moment",
                "2048 是 Hopper 张量核心的 bf16；卡若短时超过此时钟，就会暂时超过标称峰值",
            )
        },
    },
];

fn attention_flops(v: &Values) -> Answer {
    let whole = |name| v.num(name) as u64;
    let shape = attention::Shape { b: whole("b"), h: whole("n"), n: whole("s"), d: whole("d") };
    let causal = v.yes("causal");
    let half = if causal { "/2" } else { "" };
    let forward = attention::forward_flop(shape, causal);
    let backward = attention::backward_flop(shape, causal);
    let (value, times) = match v.word("pass") {
        "backward" => (backward, "2.5·"),
        "both" => (attention::forward_backward_flop(shape, causal), "3.5·"),
        _ => (forward, ""),
    };
    Answer::of(value, "FLOP")
        .by(format!("{times}4·b·s²·n·d{half}"))
        .row(text("forward", "前向"), forward, "FLOP", &format!("4·b·s²·n·d{half}"))
        .row(text("backward", "反向"), backward, "FLOP", &format!("2.5·4·b·s²·n·d{half}"))
        .note("a backward that keeps the scores needs 2×, not 2.5×", "保存分数矩阵的反向是 2 倍，不是 2.5 倍")
}

fn attention_term(causal: bool) -> &'static str {
    if causal { "6·L·h·T" } else { "12·L·h·T" }
}

fn per_token(v: &Values) -> Answer {
    let causal = v.yes("causal");
    let attention = flops::attention_per_token(v.num("L"), v.num("h"), v.num("T"), causal);
    let total = flops::per_token(v.num("N"), v.num("L"), v.num("h"), v.num("T"), causal);
    let term = attention_term(causal);
    Answer::of(total, "FLOP")
        .by(format!("6·N + {term}"))
        .row(text("weights", "权重部分"), total - attention, "FLOP", "6·N")
        .row(text("attention", "attention"), attention, "FLOP", term)
        .row(text("attention's share", "attention 占比"), attention / total, "frac", "")
}

fn mfu(v: &Values) -> Answer {
    let causal = v.yes("causal");
    let per_token = flops::per_token(v.num("N"), v.num("L"), v.num("h"), v.num("T"), causal);
    let (tokens, seconds, gpus) = (v.num("tokens"), v.num("time"), v.num("gpus"));
    let share = flops::utilisation(per_token * tokens / gpus, seconds, v.num("peak"));
    let answer = Answer::of(share, "frac")
        .by(format!("(6·N + {})·tokens / time / (gpus·peak)", attention_term(causal)))
        .row(
            text("FLOPs a token", "每 token FLOPs"),
            per_token,
            "FLOP",
            &format!("6·N + {}", attention_term(causal)),
        )
        .row(text("tokens/s, all GPUs", "token/s（全部 GPU）"), tokens / seconds, "token/s", "tokens / time")
        .row(text("achieved, a GPU", "单卡实际算力"), per_token * tokens / seconds / gpus, "FLOP/s", "");
    let answer = if v.word("recompute") == "full" {
        answer.row(text("HFU", "HFU"), share * flops::FULL_RECOMPUTE, "frac", "MFU·8/6")
    } else {
        answer
    };
    over_peak(answer, share)
}

fn over_peak(answer: Answer, share: f64) -> Answer {
    if share <= 1.0 {
        return answer;
    }
    answer.note(
        "more than the peak: another GPU's peak, another element type, or FLOPs that were not done",
        "超过峰值：峰值用错了卡或数据类型，或 FLOPs 多算了",
    )
}
