//! Inputs that many calculators share.

use super::input::{Dim, Fill, Input, Kind};
use super::tables::{GpuField, ModelField};
use super::text;

/// The model whose shape fills what is not given.
const MODEL: Input =
    chooser("model", Kind::Model, "Llama-3-8B", text("model of the table, or none", "表中的模型，或 none"));
/// As [`MODEL`], where the shape is GPT-2's.
const GPT2_MODEL: Input =
    chooser("model", Kind::Model, "GPT-2-124M", text("model of the table, or none", "表中的模型，或 none"));
/// As [`MODEL`], where the cache is latent.
const MLA_MODEL: Input =
    chooser("model", Kind::Model, "DeepSeek-V3", text("model of the table, or none", "表中的模型，或 none"));
/// The GPU whose data sheet fills what is not given.
const GPU: Input =
    chooser("gpu", Kind::Gpu, "H200-SXM", text("GPU of the table, or none", "表中的 GPU，或 none"));
/// The element type whose peak is taken.
const DTYPE: Input = Input::choice(
    "dtype",
    &["bf16", "fp16", "fp8", "int8", "tf32", "fp32", "fp64"],
    text("element type of the dense peak", "峰值算力对应的数据类型（稠密）"),
);

const fn chooser(name: &'static str, kind: Kind, default: &'static str, help: super::Text) -> Input {
    Input { name, kind, unit: "", help, default: Some(default), optional: true, fill: None }
}

/// The choosers that these inputs need.
pub(super) fn choosers(inputs: &[Input]) -> Vec<&'static Input> {
    let model_fields = inputs.iter().filter_map(|i| match i.fill {
        Some(Fill::Model(field)) => Some(field),
        _ => None,
    });
    let model = model_fields.map(|field| match field {
        ModelField::KvLora | ModelField::Rope | ModelField::Nope | ModelField::ValueDim => &MLA_MODEL,
        ModelField::Bias => &GPT2_MODEL,
        _ => &MODEL,
    });
    let of_gpu = |field: Option<GpuField>| {
        inputs.iter().any(|i| matches!(i.fill, Some(Fill::Gpu(f)) if field.is_none_or(|wanted| wanted == f)))
    };
    // A special shape names the special model.
    let mut chosen: Vec<&'static Input> =
        model.max_by_key(|m| m.default != MODEL.default).into_iter().collect();
    if of_gpu(None) {
        chosen.push(&GPU);
    }
    if of_gpu(Some(GpuField::Peak)) {
        chosen.push(&DTYPE);
    }
    chosen
}

/// Yes or no.
pub(super) const YES_NO: &[&str] = &["no", "yes"];

pub(super) const LAYERS: Input = Input::number("L", Dim::Whole, "layer", text("layers", "层数"))
    .within(1.0, 1e5)
    .model(ModelField::Layers);
pub(super) const HIDDEN: Input = Input::number("h", Dim::Whole, "", text("hidden size", "隐藏维度"))
    .within(1.0, 1e7)
    .model(ModelField::Hidden);
/// `n·d`, which is the hidden size in most models.
pub(super) const WIDTH: Input = Input::number(
    "h",
    Dim::Whole,
    "",
    text("attention width, heads × head dimension", "注意力宽度：头数 × 头维度"),
)
.within(1.0, 1e7)
.model(ModelField::Width);
pub(super) const HEADS: Input = Input::number("n", Dim::Whole, "head", text("query heads", "query 头数"))
    .within(1.0, 1e5)
    .model(ModelField::Heads);
pub(super) const KV_HEADS: Input = Input::number(
    "nkv",
    Dim::Whole,
    "head",
    text(
        "key/value heads: n is MHA, 1 is MQA, between is GQA",
        "KV 头数：等于 n 是 MHA，1 是 MQA，其间是 GQA",
    ),
)
.within(1.0, 1e5)
.model(ModelField::KvHeads);
pub(super) const HEAD_DIM: Input = Input::number(
    "d",
    Dim::Whole,
    "",
    text("head dimension as configured, not h/n", "配置里的头维度 head_dim，不要用 h/n 推"),
)
.within(1.0, 1e5)
.model(ModelField::HeadDim);
pub(super) const VOCAB: Input =
    Input::number("V", Dim::Whole, "", text("vocabulary, padding included", "词表大小（含填充）"))
        .within(2.0, 1e9)
        .model(ModelField::Vocab);
pub(super) const PARAMS: Input =
    Input::number("N", Dim::Whole, "param", text("parameters", "参数量")).model(ModelField::Params);
pub(super) const BYTES: Input = Input::number(
    "bytes",
    Dim::Element,
    "",
    text("bytes of an element, or its type", "每个元素的字节数，或数据类型"),
)
.default("bf16");
pub(super) const KV_BYTES: Input = Input::number(
    "kv_bytes",
    Dim::Element,
    "",
    text(
        "bytes of an element of the KV cache; may differ from the weights'",
        "KV cache 每个元素的字节数，可与权重不同",
    ),
)
.default("bf16");
/// Follows [`KV_BYTES`] in a list of inputs where it is to depend on it.
pub(super) const KV: Input =
    Input::number("kv", Dim::BytesPerToken, "", text("KV cache of a token", "每 token 的 KV cache"))
        .model(ModelField::KvPerToken);
pub(super) const SEQUENCE: Input =
    Input::number("s", Dim::Whole, "token", text("sequence length", "序列长度"))
        .within(1.0, 1e9)
        .default("8192");
pub(super) const CONTEXT: Input = Input::number(
    "ctx",
    Dim::Whole,
    "token",
    text("tokens cached for each sequence", "每个序列已缓存的 token 数"),
)
.within(0.0, 1e9)
.default("8192");
pub(super) const MICRO_BATCH: Input =
    Input::number("b", Dim::Whole, "", text("micro-batch", "micro-batch（每次前向的序列数）"))
        .within(1.0, 1e6)
        .default("1");
pub(super) const BATCH: Input =
    Input::number("B", Dim::Whole, "", text("sequences in the batch", "batch 中的序列数"))
        .within(1.0, 1e6)
        .default("16");
pub(super) const RANKS: Input =
    Input::number("n", Dim::Whole, "rank", text("ranks", "rank 数")).within(1.0, 1e7).default("8");
pub(super) const PEAK: Input =
    Input::number("peak", Dim::FlopRate, "", text("dense peak of one GPU", "单卡稠密峰值算力"))
        .within(1.0, 1e25)
        .gpu(GpuField::Peak);
pub(super) const BANDWIDTH: Input =
    Input::number("bw", Dim::Bandwidth, "", text("memory bandwidth", "显存带宽"))
        .within(1.0, 1e20)
        .gpu(GpuField::Bandwidth);
pub(super) const MEMORY: Input = Input::number("mem", Dim::Bytes, "", text("memory of one GPU", "单卡显存"))
    .within(1.0, 1e18)
    .gpu(GpuField::Memory);
pub(super) const UTILISATION: Input =
    Input::number("util", Dim::Share, "", text("share that the engine may use", "引擎可用的显存比例"))
        .within(0.01, 1.0)
        .default("0.92");
pub(super) const WORKSPACE: Input =
    size("workspace", "2GB", text("activations, graphs, buffers", "激活、CUDA graph、缓冲区"))
        .within(0.0, 1e15);
pub(super) const BLOCK: Input =
    Input::number("block", Dim::Whole, "token", text("tokens a block", "每块的 token 数"))
        .within(1.0, 1e6)
        .default("16");

/// A time above 0.
pub(super) const fn time(name: &'static str, default: &'static str, help: super::Text) -> Input {
    Input::number(name, Dim::Time, "", help).within(1e-12, 1e15).default(default)
}

/// A size in bytes above 0.
pub(super) const fn size(name: &'static str, default: &'static str, help: super::Text) -> Input {
    Input::number(name, Dim::Bytes, "", help).within(1.0, 1e20).default(default)
}

/// A count from 1.
pub(super) const fn count(
    name: &'static str,
    default: &'static str,
    unit: &'static str,
    help: super::Text,
) -> Input {
    Input::number(name, Dim::Whole, unit, help).default(default)
}
