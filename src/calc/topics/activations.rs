//! Activations and logits.

use infralab_labs::formulas::activations::{self, Recompute, Shape};

use crate::calc::answer::Answer;
use crate::calc::input::{Dim, Input};
use crate::calc::inputs::{BYTES, HEADS, HIDDEN, LAYERS, MICRO_BATCH, SEQUENCE, VOCAB, YES_NO, count};
use crate::calc::resolve::Values;
use crate::calc::{Calculator, Topic, text};

/// What is computed again.
pub(super) const RECOMPUTE: Input = Input::choice(
    "recompute",
    &["selective", "none", "full"],
    text("selective (or FlashAttention), none, full", "selective（或用 FlashAttention）、不重算、全部重算"),
);

pub(super) const CALCULATORS: &[Calculator] = &[
    Calculator {
        name: "activations",
        topic: Topic::Activations,
        title: text("Activations", "一个 micro-batch 的激活"),
        what: text(
            "Bytes kept for the backward pass, 16-bit, GELU and dropout; logits are not in it.",
            "为反向保留的字节（16 位，GELU，含 dropout）；不含 logits。",
        ),
        inputs: &[
            LAYERS,
            SEQUENCE,
            MICRO_BATCH,
            HIDDEN,
            HEADS,
            RECOMPUTE,
            count("t", "1", "rank", text("tensor-parallel ranks", "张量并行 rank 数")),
            Input::choice(
                "sp",
                YES_NO,
                text("sequence parallelism inside them", "组内启用 sequence parallel"),
            ),
        ],
        formula: "L·s·b·h·(34 + 5·n·s/h)",
        source: "arXiv 2205.05198 §4",
        compute: kept,
    },
    Calculator {
        name: "activation-saving",
        topic: Topic::Activations,
        title: text("Selective recompute saves", "selective 重算省多少"),
        what: text(
            "Share of the activations that grows with the square of the sequence.",
            "激活里随序列长度平方增长、可以省掉的那一部分占比。",
        ),
        inputs: &[SEQUENCE, HIDDEN, HEADS],
        formula: "(5·n·s/h) / (34 + 5·n·s/h)",
        source: "arXiv 2205.05198 §5 (GPT-3: 70 %)",
        compute: |v| Answer::of(shape(v).selective_saving(), "frac"),
    },
    Calculator {
        name: "flash-attention-saved",
        topic: Topic::Activations,
        title: text("Fused attention keeps", "融合 attention 保留多少"),
        what: text(
            "Bytes a layer that a fused attention keeps, against what stored scores would take.",
            "融合 attention 每层为反向保留的字节，与保存分数矩阵时对比。",
        ),
        inputs: &[SEQUENCE, MICRO_BATCH, HIDDEN, HEADS],
        formula: "12·s·b·h + 4·s·b·n",
        source: "reading in Dao-AILab/flash-attention issue 899",
        compute: |v| {
            let shape = Shape { b: v.num("b"), ..shape(v) };
            Answer::of(activations::flash_attention_bytes(shape), "B").row(
                text("with stored scores", "保存分数矩阵时"),
                shape.attention_bytes(),
                "B",
                "11·s·b·h + 5·n·s²·b",
            )
        },
    },
    Calculator {
        name: "logits",
        topic: Topic::Activations,
        title: text("Logits", "logits"),
        what: text(
            "The mountain at the end of the forward pass; two or three copies live at the peak.",
            "前向末尾的尖峰；峰值时同时存在两三份。",
        ),
        inputs: &[
            MICRO_BATCH,
            SEQUENCE,
            VOCAB,
            Input { default: Some("fp32"), ..BYTES },
            Input::number("copies", Dim::Plain, "", text("copies alive at once", "同时存在的份数"))
                .within(0.0, 10.0)
                .default("1"),
        ],
        formula: "copies·b·s·V·bytes",
        source: "counted; stas00/ml-engineering training/performance",
        compute: |v| {
            let bytes = activations::logits_bytes(
                v.num("b"),
                v.num("s"),
                v.num("V"),
                v.num("bytes"),
                v.num("copies"),
            );
            Answer::of(bytes, "B")
        },
    },
];

/// The shape of one layer and one sequence, out of `s`, `h`, `n`.
fn shape(v: &Values) -> Shape {
    Shape { layers: 1.0, s: v.num("s"), b: 1.0, h: v.num("h"), heads: v.num("n") }
}

/// The recompute that was chosen.
pub(super) fn chosen_recompute(v: &Values) -> Recompute {
    match v.word("recompute") {
        "none" => Recompute::None,
        "full" => Recompute::Full,
        _ => Recompute::Selective,
    }
}

/// [`Shape::bytes`] in the names of the inputs.
pub(super) fn formula(recompute: Recompute, t: f64, sp: bool) -> &'static str {
    match (recompute, t > 1.0, sp) {
        (Recompute::None, false, _) => "L·s·b·h·(34 + 5·n·s/h)",
        (Recompute::None, true, false) => "L·s·b·h·(10 + 24/t + 5·n·s/(h·t))",
        (Recompute::None, true, true) => "L·s·b·h/t·(34 + 5·n·s/h)",
        (Recompute::Selective, false, _) => "34·L·s·b·h",
        (Recompute::Selective, true, false) => "L·s·b·h·(10 + 24/t)",
        (Recompute::Selective, true, true) => "34·L·s·b·h/t",
        (Recompute::Full, true, true) => "2·L·s·b·h/t",
        (Recompute::Full, ..) => "2·L·s·b·h",
    }
}

fn kept(v: &Values) -> Answer {
    let shape = Shape { layers: v.num("L"), b: v.num("b"), ..shape(v) };
    let (recompute, t, sp) = (chosen_recompute(v), v.num("t"), v.yes("sp"));
    let layer = shape.layer_bytes(recompute, t, sp);
    let mut answer = Answer::of(shape.bytes(recompute, t, sp), "B").by(formula(recompute, t, sp)).row(
        text("one layer", "单层"),
        layer,
        "B",
        "",
    );
    if t <= 1.0 && recompute != Recompute::Full {
        let scores = recompute == Recompute::None;
        let attention = shape.attention_bytes() - if scores { 0.0 } else { shape.score_bytes() };
        answer = answer
            .row(
                text("attention, a layer", "attention，每层"),
                attention,
                "B",
                if scores { "11·s·b·h + 5·n·s²·b" } else { "11·s·b·h" },
            )
            .row(text("MLP, a layer", "MLP，每层"), shape.mlp_bytes(), "B", "19·s·b·h")
            .row(text("norms, a layer", "归一化，每层"), shape.norm_bytes(), "B", "4·s·b·h");
    }
    if recompute == Recompute::Full {
        answer = answer.note(
            "plus the working set of the one layer that is computed again",
            "另加正在重算的那一层的工作集",
        );
    }
    answer.note(
        "34 counts dropout masks and GELU: without dropout about 32; SwiGLU and GQA differ. Logits are extra",
        "34 含 dropout mask 和 GELU：没有 dropout 约 32；SwiGLU、GQA 另有出入。logits 另算",
    )
}
