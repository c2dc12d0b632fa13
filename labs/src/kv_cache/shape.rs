//! Shapes of the models that decode: published sizes, random weights.

use crate::formulas::kv_cache::{heads_bytes_per_token, latent_bytes_per_token};

/// How a layer attends, and with that what it caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attention {
    /// Keys and values per head: MHA (`kv_heads` = `heads`), GQA, MQA (`kv_heads` = 1).
    Heads {
        /// Query heads.
        heads: u64,
        /// Heads of keys and values.
        kv_heads: u64,
        /// Head dimension.
        head_dim: u64,
    },
    /// One latent vector per token for all heads (MLA).
    Latent(Latent),
}

/// Sizes of multi-head latent attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latent {
    /// Query heads.
    pub heads: u64,
    /// Latent that keys and values are made from (`kv_lora_rank`).
    pub latent: u64,
    /// Key part that carries the position and is shared by the heads (`qk_rope_head_dim`).
    pub rope: u64,
    /// Key part per head that comes from the latent (`qk_nope_head_dim`).
    pub nope: u64,
    /// Value per head (`v_head_dim`).
    pub value: u64,
    /// Latent that queries are made from (`q_lora_rank`).
    pub query_latent: u64,
}

impl Latent {
    /// DeepSeek-V3's proportions for heads of another dimension: with 128 they are DeepSeek-V3's own sizes.
    pub fn of_heads(heads: u64, head_dim: u64) -> Self {
        Self {
            heads,
            latent: 4 * head_dim,
            rope: head_dim / 2,
            nope: head_dim,
            value: head_dim,
            query_latent: 12 * head_dim,
        }
    }
}

impl Attention {
    /// Query heads.
    pub fn heads(self) -> u64 {
        match self {
            Self::Heads { heads, .. } | Self::Latent(Latent { heads, .. }) => heads,
        }
    }

    /// `MHA`, `GQA`, `MQA` or `MLA`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Heads { kv_heads: 1, .. } => "MQA",
            Self::Heads { heads, kv_heads, .. } if heads == kv_heads => "MHA",
            Self::Heads { .. } => "GQA",
            Self::Latent(_) => "MLA",
        }
    }

    /// Elements that one token leaves in one layer's cache.
    pub fn cached_elements(self) -> u64 {
        match self {
            Self::Heads { kv_heads, head_dim, .. } => heads_bytes_per_token(1, kv_heads, head_dim, 1),
            Self::Latent(m) => latent_bytes_per_token(1, m.latent, m.rope, 1),
        }
    }

    /// Parameters of one layer's attention, its norms of latents included.
    fn parameters(self, hidden: u64) -> u64 {
        match self {
            Self::Heads { heads, kv_heads, head_dim } => hidden * head_dim * (2 * heads + 2 * kv_heads),
            Self::Latent(m) => {
                hidden * (m.query_latent + m.latent + m.rope)
                    + m.query_latent
                    + m.latent
                    + m.query_latent * m.heads * (m.nope + m.rope)
                    + m.latent * m.heads * (m.nope + m.value)
                    + m.heads * m.value * hidden
            }
        }
    }
}

/// A decoder of `layers` blocks: RMS norm, attention, and where `ff` is not 0 a gated MLP; embedding and output head
/// are one tied matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelShape {
    /// Blocks.
    pub layers: u64,
    /// Width of the residual stream.
    pub hidden: u64,
    /// Width of the MLP; 0: blocks have none.
    pub ff: u64,
    /// Rows of the embedding.
    pub vocab: u64,
    /// Attention of every block.
    pub attention: Attention,
}

impl ModelShape {
    /// The shape with this name in `lab.toml`.
    pub fn named(name: &str) -> Self {
        let heads = |heads, kv_heads, head_dim| Attention::Heads { heads, kv_heads, head_dim };
        let (layers, hidden, ff, vocab, attention) = match name {
            "gpt2-124m" => (12, 768, 2048, 50_304, heads(12, 12, 64)),
            "llama3-8b" => (32, 4096, 14_336, 128_256, heads(32, 8, 128)),
            // The experts are left out: they cache nothing.
            "deepseek-v3" => (61, 7168, 0, 129_280, Attention::Latent(Latent::of_heads(128, 128))),
            _ => (2, 64, 128, 256, heads(4, 2, 16)),
        };
        Self { layers, hidden, ff, vocab, attention }
    }

    /// Bytes that one token leaves in the cache.
    pub fn bytes_per_token(self, bytes: u64) -> u64 {
        match self.attention {
            Attention::Heads { kv_heads, head_dim, .. } => {
                heads_bytes_per_token(self.layers, kv_heads, head_dim, bytes)
            }
            Attention::Latent(m) => latent_bytes_per_token(self.layers, m.latent, m.rope, bytes),
        }
    }

    /// Parameters: `V·h + L·(attention + h [norm] + [3·h·ff + h])`.
    pub fn parameters(self) -> u64 {
        let mlp = if self.ff > 0 { 3 * self.hidden * self.ff + self.hidden } else { 0 };
        let block = self.attention.parameters(self.hidden) + self.hidden + mlp;
        self.vocab * self.hidden + self.layers * block
    }

    /// The formula of [`Self::bytes_per_token`] with its numbers.
    pub fn bytes_per_token_recipe(self, bytes: u64) -> String {
        match self.attention {
            Attention::Heads { kv_heads, head_dim, .. } => {
                format!("2·{}·{kv_heads}·{head_dim}·{bytes} B", self.layers)
            }
            Attention::Latent(m) => format!("{}·({} + {})·{bytes} B", self.layers, m.latent, m.rope),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_shapes_cache_the_published_bytes() {
        let bytes = |name| ModelShape::named(name).bytes_per_token(2);
        assert_eq!((bytes("gpt2-124m"), bytes("llama3-8b"), bytes("deepseek-v3")), (36_864, 131_072, 70_272));
        assert_eq!(ModelShape::named("tiny").bytes_per_token(4), 512);
    }

    #[test]
    fn the_8b_shape_has_llama_3_8b_s_blocks_and_one_tied_matrix() {
        // 8,030,261,248 less the untied head and the final norm.
        assert_eq!(ModelShape::named("llama3-8b").parameters(), 8_030_261_248 - 128_256 * 4096 - 4096);
    }

    #[test]
    fn kinds_are_named_by_their_heads() {
        let kind = |heads, kv_heads| Attention::Heads { heads, kv_heads, head_dim: 8 }.name();
        assert_eq!((kind(4, 4), kind(4, 2), kind(4, 1)), ("MHA", "GQA", "MQA"));
        assert_eq!(Latent::of_heads(128, 128).query_latent, 1536);
        assert_eq!(Attention::Latent(Latent::of_heads(4, 16)).name(), "MLA");
    }
}
