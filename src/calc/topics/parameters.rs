//! Parameter counts.

use infralab_labs::formulas::params::{Gpt2, Llama, grouped_bits, weight_bytes};

use crate::calc::answer::Answer;
use crate::calc::input::{Dim, Input};
use crate::calc::inputs::{HEAD_DIM, HEADS, HIDDEN, KV_HEADS, LAYERS, PARAMS, VOCAB, YES_NO, count};
use crate::calc::resolve::Values;
use crate::calc::tables::ModelField;
use crate::calc::{Calculator, Topic, text};

pub(super) const CALCULATORS: &[Calculator] = &[
    Calculator {
        name: "params-llama",
        topic: Topic::Parameters,
        title: text("Parameters, Llama type", "参数量：Llama 类"),
        what: text(
            "Exact count of RMSNorm + SwiGLU + GQA models: Llama, Mistral, Qwen.",
            "RMSNorm + SwiGLU + GQA 模型（Llama、Mistral、Qwen）的精确参数量。",
        ),
        inputs: &[
            LAYERS,
            HIDDEN,
            HEADS,
            KV_HEADS,
            HEAD_DIM,
            Input::number("ffn", Dim::Whole, "", text("width of the MLP", "MLP 中间层宽度"))
                .model(ModelField::Ffn),
            VOCAB,
            Input::choice("tied", YES_NO, text("head is the embedding", "输出头与 embedding 共享权重"))
                .model(ModelField::Tied),
            Input::choice(
                "qkv_bias",
                YES_NO,
                text("Q, K, V have biases (Qwen2.5)", "QKV 带 bias（Qwen2.5）"),
            )
            .model(ModelField::QkvBias),
            Input::choice("qk_norm", YES_NO, text("norms of Q and K (Qwen3)", "Q、K 归一化（Qwen3）"))
                .model(ModelField::QkNorm),
        ],
        formula: "heads·V·h + L·(2·h·n·d + 2·h·nkv·d + 3·h·ffn + 2·h) + h",
        source: "counted from published config.json files; equals their tensor counts",
        compute: llama,
    },
    Calculator {
        name: "params-gpt2",
        topic: Topic::Parameters,
        title: text("Parameters, GPT-2 type", "参数量：GPT-2 类"),
        what: text(
            "Exact count with learned positions and a tied head. One model has several correct counts: biases or none, vocabulary padded or not, positions counted or not.",
            "可学习位置编码、输出头共享权重时的精确参数量。同一个模型有好几个“正确”数字：带不带 bias、词表填不填充、算不算位置编码。",
        ),
        inputs: &[
            LAYERS,
            HIDDEN,
            VOCAB,
            Input::number("T", Dim::Whole, "token", text("positions", "位置数（上下文长度）"))
                .model(ModelField::Context),
            Input::choice(
                "bias",
                YES_NO,
                text("linear layers and norms have biases", "线性层与归一化带 bias"),
            )
            .model(ModelField::Bias),
            Input::choice(
                "positions",
                &["counted", "left-out"],
                text("nanoGPT prints the count without them", "nanoGPT 打印的数不含位置编码"),
            ),
        ],
        formula: "V·h + T·h + L·(12·h² + 13·h) + 2·h",
        source: "karpathy/nanoGPT model.py (get_num_params), transformer_sizing.ipynb",
        compute: gpt2,
    },
    Calculator {
        name: "weights",
        topic: Topic::Parameters,
        title: text("Memory of weights", "权重占多少显存"),
        what: text(
            "Parameters × bits; groups of quantised weights add a scale and a zero each.",
            "参数量 × 位数；分组量化时每组还要存 scale 和 zero。",
        ),
        inputs: &[
            PARAMS,
            Input::number(
                "bits",
                Dim::Plain,
                "bit",
                text("bits a weight: 32, 16, 8, 4", "每权重位数：32、16、8、4"),
            )
            .within(0.5, 64.0)
            .default("16"),
            count("group", "128", "", text("weights that share a scale", "共享一个 scale 的权重数")),
            Input::number(
                "scale",
                Dim::Plain,
                "bit",
                text("bits of a scale, 0 for none", "每个 scale 的位数，没有填 0"),
            )
            .within(0.0, 64.0)
            .default("0"),
            Input::number(
                "zero",
                Dim::Plain,
                "bit",
                text("bits of a zero point, 0 for none", "每个 zero 的位数，没有填 0"),
            )
            .within(0.0, 64.0)
            .default("0"),
        ],
        formula: "N·(bits + (scale + zero)/group)/8",
        source: "counted; int4 in groups of 128 with a 16-bit scale and a 4-bit zero is 4.156 bits",
        compute: |v| {
            let bits = grouped_bits(v.num("bits"), v.num("group"), v.num("scale"), v.num("zero"));
            let bytes = weight_bytes(v.num("N"), bits / 8.0);
            let sixteen = weight_bytes(v.num("N"), 2.0);
            Answer::of(bytes, "B")
                .row(text("bits a weight", "每权重位数"), bits, "bit", "bits + (scale + zero)/group")
                .row(text("against 16 bits", "相对 16 位"), bytes / sixteen, "x", "")
        },
    },
];

fn llama(v: &Values) -> Answer {
    let model = Llama {
        layers: v.num("L"),
        hidden: v.num("h"),
        heads: v.num("n"),
        kv_heads: v.num("nkv"),
        head_dim: v.num("d"),
        ffn: v.num("ffn"),
        vocab: v.num("V"),
        tied: v.yes("tied"),
        qkv_bias: v.yes("qkv_bias"),
        qk_norm: v.yes("qk_norm"),
    };
    let head = if model.tied { 1.0 } else { 2.0 };
    let mut attention = "L·(2·h·n·d + 2·h·nkv·d".to_owned();
    if model.qkv_bias {
        attention += " + (n + 2·nkv)·d";
    }
    if model.qk_norm {
        attention += " + 2·d";
    }
    attention += ")";
    Answer::of(model.total(), "param")
        .by(format!("heads·V·h + {attention} + L·3·h·ffn + L·2·h + h"))
        .with("heads", head, "")
        .row(
            text("embedding and head", "embedding 与输出头"),
            model.embedding_and_head(),
            "param",
            "heads·V·h",
        )
        .row(text("attention", "attention"), model.attention(), "param", &attention)
        .row(text("MLP", "MLP"), model.mlp(), "param", "L·3·h·ffn")
        .row(text("norms", "归一化"), model.norms(), "param", "L·2·h + h")
        .row(text("16-bit weights", "16 位权重"), model.total() * 2.0, "B", "2 B a parameter")
}

fn gpt2(v: &Values) -> Answer {
    let model = Gpt2 {
        layers: v.num("L"),
        hidden: v.num("h"),
        vocab: v.num("V"),
        context: v.num("T"),
        bias: v.yes("bias"),
    };
    let blocks = if model.bias { "L·(12·h² + 13·h)" } else { "L·(12·h² + 2·h)" };
    let norm = if model.bias { "2·h" } else { "h" };
    let counted = v.word("positions") == "counted";
    let (total, positions) =
        if counted { (model.total(), " + T·h") } else { (model.without_positions(), "") };
    Answer::of(total, "param")
        .by(format!("V·h{positions} + {blocks} + {norm}"))
        .row(text("token embedding = head", "token embedding（即输出头）"), model.embedding(), "param", "V·h")
        .row(text("positions", "位置编码"), model.positions(), "param", "T·h")
        .row(text("blocks", "各层"), model.blocks(), "param", blocks)
        .row(text("last norm", "最后的归一化"), model.final_norm(), "param", norm)
        .row(
            text("without positions", "不含位置编码"),
            model.without_positions(),
            "param",
            &format!("V·h + {blocks} + {norm}"),
        )
}
