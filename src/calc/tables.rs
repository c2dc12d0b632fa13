//! Models and GPUs as data, and how people write their names.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use infralab_labs::formulas::{kv, params};
use serde::Deserialize;

use super::input::Dim;
use super::number;

/// Shape of a model. What its configuration does not have is missing.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools, reason = "each is a yes or no of a configuration")]
pub struct Model {
    /// Name.
    pub name: String,
    /// `gpt2`, `llama` or `mla`.
    pub family: String,
    /// Layers.
    pub layers: f64,
    /// Hidden size.
    pub hidden: f64,
    /// Query heads.
    pub heads: f64,
    /// Key/value heads.
    pub kv_heads: Option<f64>,
    /// Head dimension.
    pub head_dim: Option<f64>,
    /// Width of the MLP.
    pub ffn: Option<f64>,
    /// Vocabulary.
    pub vocab: f64,
    /// Longest context.
    pub context: f64,
    /// Sliding window.
    pub window: Option<f64>,
    /// Whether the head is the embedding.
    #[serde(default)]
    pub tied: bool,
    /// Whether linear layers have biases (GPT-2).
    #[serde(default)]
    pub bias: bool,
    /// Whether Q, K, V have biases.
    #[serde(default)]
    pub qkv_bias: bool,
    /// Whether Q and K are normalised with weights.
    #[serde(default)]
    pub qk_norm: bool,
    /// Rank of the KV latent (MLA).
    pub kv_lora: Option<f64>,
    /// Rotary part of the latent cache (MLA).
    pub rope: Option<f64>,
    /// Part of a query and key without rotation (MLA).
    pub nope: Option<f64>,
    /// Dimension of a value head (MLA).
    pub value_dim: Option<f64>,
    /// Where the shape is from.
    pub source: String,
}

/// What an input takes from a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelField {
    Layers,
    Hidden,
    Heads,
    KvHeads,
    HeadDim,
    Ffn,
    Vocab,
    Context,
    Window,
    Tied,
    Bias,
    QkvBias,
    QkNorm,
    KvLora,
    Rope,
    Nope,
    ValueDim,
    /// All parameters.
    Params,
    /// Width of the attention, n·d.
    Width,
    /// Bytes of KV cache a token.
    KvPerToken,
}

/// A value of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Taken {
    /// A number.
    Number(f64),
    /// Yes or no.
    Flag(bool),
    /// The model has no such thing, which is a value too: no window.
    Nothing,
    /// The table does not say.
    Unknown,
}

impl Model {
    /// All parameters, for the families that are described whole.
    pub fn params(&self) -> Option<f64> {
        match self.family.as_str() {
            "gpt2" => Some(self.gpt2().total()),
            "llama" => Some(
                params::Llama {
                    layers: self.layers,
                    hidden: self.hidden,
                    heads: self.heads,
                    kv_heads: self.kv_heads?,
                    head_dim: self.head_dim?,
                    ffn: self.ffn?,
                    vocab: self.vocab,
                    tied: self.tied,
                    qkv_bias: self.qkv_bias,
                    qk_norm: self.qk_norm,
                }
                .total(),
            ),
            _ => None,
        }
    }

    fn gpt2(&self) -> params::Gpt2 {
        params::Gpt2 {
            layers: self.layers,
            hidden: self.hidden,
            vocab: self.vocab,
            context: self.context,
            bias: self.bias,
        }
    }

    /// Bytes of KV cache a token at `bytes` an element.
    pub fn kv_per_token(&self, bytes: f64) -> Option<f64> {
        match (self.kv_lora, self.rope) {
            (Some(lora), Some(rope)) => Some(kv::mla_bytes_per_token(self.layers, lora, rope, bytes)),
            _ => Some(kv::bytes_per_token(self.layers, self.kv_heads?, self.head_dim?, bytes)),
        }
    }

    /// The value of a field; `kv_bytes` are those of an element of the KV cache.
    pub(super) fn take(&self, field: ModelField, kv_bytes: f64) -> Taken {
        use ModelField as F;
        let number = |value: Option<f64>| value.map_or(Taken::Unknown, Taken::Number);
        match field {
            F::Layers => Taken::Number(self.layers),
            F::Hidden => Taken::Number(self.hidden),
            F::Heads => Taken::Number(self.heads),
            F::KvHeads => number(self.kv_heads),
            F::HeadDim => number(self.head_dim),
            F::Ffn => number(self.ffn),
            F::Vocab => Taken::Number(self.vocab),
            F::Context => Taken::Number(self.context),
            F::Window => self.window.map_or(Taken::Nothing, Taken::Number),
            F::Tied => Taken::Flag(self.tied),
            F::Bias => Taken::Flag(self.bias),
            F::QkvBias => Taken::Flag(self.qkv_bias),
            F::QkNorm => Taken::Flag(self.qk_norm),
            F::KvLora => number(self.kv_lora),
            F::Rope => number(self.rope),
            F::Nope => number(self.nope),
            F::ValueDim => number(self.value_dim),
            F::Params => number(self.params()),
            F::Width => number(self.head_dim.map(|d| d * self.heads)),
            F::KvPerToken => number(self.kv_per_token(kv_bytes)),
        }
    }
}

/// A device by its data sheet.
#[derive(Debug, Clone, PartialEq)]
pub struct Gpu {
    /// Name.
    pub name: String,
    /// Memory as the vendor writes it, `141GB`.
    pub memory: String,
    /// Memory, bytes.
    pub memory_bytes: f64,
    /// Memory bandwidth, B/s.
    pub bandwidth: f64,
    /// GPU to GPU, both directions, B/s.
    pub link: Option<f64>,
    /// Multiprocessors.
    pub sms: Option<f64>,
    /// Dense peaks by element type, FLOP/s.
    pub peaks: BTreeMap<String, f64>,
    /// Where the figures are from.
    pub source: String,
}

/// What an input takes from a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GpuField {
    /// Dense peak of the chosen element type.
    Peak,
    Bandwidth,
    Memory,
    Sms,
}

impl Gpu {
    pub(super) fn take(&self, field: GpuField, dtype: &str) -> Option<f64> {
        match field {
            GpuField::Peak => self.peaks.get(dtype).copied(),
            GpuField::Bandwidth => Some(self.bandwidth),
            GpuField::Memory => Some(self.memory_bytes),
            GpuField::Sms => self.sms,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GpuText {
    name: String,
    memory: String,
    bandwidth: String,
    link: Option<String>,
    sms: Option<f64>,
    source: String,
    peak_tflops: BTreeMap<String, f64>,
}

/// Every model.
pub static MODELS: LazyLock<Vec<Model>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct File {
        model: Vec<Model>,
    }
    let file: File = toml::from_str(include_str!("models.toml")).expect("models.toml is tested");
    file.model
});

/// Every GPU.
pub static GPUS: LazyLock<Vec<Gpu>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct File {
        gpu: Vec<GpuText>,
    }
    let file: File = toml::from_str(include_str!("gpus.toml")).expect("gpus.toml is tested");
    let quantity = |text: &str, dim| number::parse(text, dim, "").expect("gpus.toml is tested");
    file.gpu
        .into_iter()
        .map(|g| Gpu {
            memory_bytes: quantity(&g.memory, Dim::Bytes),
            bandwidth: quantity(&g.bandwidth, Dim::Bandwidth),
            link: g.link.map(|l| quantity(&l, Dim::Bandwidth)),
            peaks: g.peak_tflops.into_iter().map(|(dtype, tflops)| (dtype, tflops * 1e12)).collect(),
            name: g.name,
            memory: g.memory,
            sms: g.sms,
            source: g.source,
        })
        .collect()
});

/// A name without case, blanks and punctuation: `llama 3 8b` is `Llama-3-8B`.
pub(super) fn plain(name: &str) -> String {
    use unicode_normalization::UnicodeNormalization;
    name.nfkc().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The name that is meant, or names that begin so or are near.
pub(super) fn named<'a>(text: &str, names: &[&'a str]) -> Result<&'a str, Vec<&'a str>> {
    let wanted = plain(text);
    if let Some(name) = names.iter().find(|n| plain(n) == wanted) {
        return Ok(name);
    }
    let starting: Vec<&str> =
        names.iter().copied().filter(|n| !wanted.is_empty() && plain(n).starts_with(&wanted)).collect();
    match starting[..] {
        [only] => Ok(only),
        _ => Err(starting),
    }
}

/// Edits from one word to another (insert, delete, replace).
pub(super) fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replace = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
