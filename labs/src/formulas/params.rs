//! Parameter counts of decoder-only transformers. Exact: a count that is off by one tensor is wrong.

/// Shape of a GPT-2 model: learned positions, `4h` GELU MLP, head tied to the embedding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gpt2 {
    /// Layers.
    pub layers: f64,
    /// Hidden size.
    pub hidden: f64,
    /// Vocabulary, padding included.
    pub vocab: f64,
    /// Positions.
    pub context: f64,
    /// Whether linear layers and LayerNorms have biases.
    pub bias: bool,
}

impl Gpt2 {
    /// Parameters of the token embedding, which is the head too: `V·h`.
    pub fn embedding(self) -> f64 {
        self.vocab * self.hidden
    }

    /// Parameters of the position embedding: `T·h`.
    pub fn positions(self) -> f64 {
        self.context * self.hidden
    }

    /// Parameters of all blocks: `L·(12h² + 13h)`, without biases `L·(12h² + 2h)`.
    pub fn blocks(self) -> f64 {
        let linear = if self.bias { 13.0 } else { 2.0 };
        self.layers * (12.0 * self.hidden * self.hidden + linear * self.hidden)
    }

    /// Parameters of the last LayerNorm: `2h`, without biases `h`.
    pub fn final_norm(self) -> f64 {
        if self.bias { 2.0 * self.hidden } else { self.hidden }
    }

    /// All parameters: `V·h + T·h + L·(12h² + 13h) + 2h`.
    ///
    /// Source: karpathy/nanoGPT `model.py`, `transformer_sizing.ipynb`.
    pub fn total(self) -> f64 {
        self.embedding() + self.positions() + self.blocks() + self.final_norm()
    }

    /// The count that nanoGPT prints: all but the position embedding.
    ///
    /// Source: karpathy/nanoGPT `model.py`, `get_num_params`.
    pub fn without_positions(self) -> f64 {
        self.total() - self.positions()
    }
}

/// Shape of a Llama-type model: RMSNorm, SwiGLU, grouped key/value heads, no biases except as said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Llama {
    /// Layers.
    pub layers: f64,
    /// Hidden size.
    pub hidden: f64,
    /// Query heads.
    pub heads: f64,
    /// Key/value heads.
    pub kv_heads: f64,
    /// Head dimension as the configuration says it; `h / n` is not always right.
    pub head_dim: f64,
    /// Width of the MLP.
    pub ffn: f64,
    /// Vocabulary.
    pub vocab: f64,
    /// Whether the head is the embedding.
    pub tied: bool,
    /// Whether Q, K and V have biases (Qwen2.5).
    pub qkv_bias: bool,
    /// Whether each head's Q and K are normalised with learned weights (Qwen3).
    pub qk_norm: bool,
}

impl Llama {
    /// Parameters of embedding and head: `2·V·h`, tied `V·h`.
    pub fn embedding_and_head(self) -> f64 {
        (if self.tied { 1.0 } else { 2.0 }) * self.vocab * self.hidden
    }

    /// Attention parameters of all layers: `L·(h·n·d + 2·h·nkv·d + n·d·h)`, with QKV biases `+ L·(n + 2nkv)·d`, with
    /// QK norm `+ L·2d`.
    pub fn attention(self) -> f64 {
        let (q, kv) = (self.heads * self.head_dim, self.kv_heads * self.head_dim);
        let bias = if self.qkv_bias { q + 2.0 * kv } else { 0.0 };
        let norm = if self.qk_norm { 2.0 * self.head_dim } else { 0.0 };
        self.layers * (2.0 * self.hidden * q + 2.0 * self.hidden * kv + bias + norm)
    }

    /// MLP parameters of all layers: `L·3·h·ffn` (gate, up, down).
    pub fn mlp(self) -> f64 {
        self.layers * 3.0 * self.hidden * self.ffn
    }

    /// Norm parameters: `L·2h + h`.
    pub fn norms(self) -> f64 {
        self.layers * 2.0 * self.hidden + self.hidden
    }

    /// All parameters: `2Vh + h + L·(h·n·d + 2·h·nkv·d + n·d·h + 3·h·ffn + 2h)`, plus what the flags say.
    ///
    /// Source: counted from the published configurations; equals the published tensor counts.
    pub fn total(self) -> f64 {
        self.embedding_and_head() + self.attention() + self.mlp() + self.norms()
    }
}

/// Bytes of weights: `N · bytes`.
pub fn weight_bytes(params: f64, bytes: f64) -> f64 {
    params * bytes
}

/// Bits a weight of group quantisation: `bits + (scale + zero) / group`, both in bits. int4, groups of 128, a 16-bit
/// scale and a 4-bit zero: 4.156.
pub fn grouped_bits(bits: f64, group: f64, scale_bits: f64, zero_bits: f64) -> f64 {
    bits + (scale_bits + zero_bits) / group
}

#[cfg(test)]
// Counts below 2⁵³: exact in f64.
#[allow(clippy::float_cmp)]
mod tests {
    use super::*;

    #[test]
    fn one_model_has_four_counts_and_each_has_its_name() {
        let gpt2 = Gpt2 { layers: 12.0, hidden: 768.0, vocab: 50257.0, context: 1024.0, bias: true };
        assert_eq!(gpt2.total(), 124_439_808.0);
        assert_eq!(gpt2.without_positions(), 123_653_376.0);
        assert_eq!(Gpt2 { bias: false, ..gpt2 }.total(), 124_337_664.0);
        assert_eq!(Gpt2 { bias: false, vocab: 50304.0, ..gpt2 }.total(), 124_373_760.0);
    }

    #[test]
    fn groups_cost_a_little() {
        assert_eq!(grouped_bits(4.0, 128.0, 16.0, 4.0), 4.15625);
        assert_eq!(weight_bytes(8_030_261_248.0, 2.0), 16_060_522_496.0);
    }

    #[test]
    fn qwen3_has_its_own_head_dim_and_norms_of_q_and_k() {
        let qwen3 = Llama {
            layers: 28.0,
            hidden: 1024.0,
            heads: 16.0,
            kv_heads: 8.0,
            head_dim: 128.0,
            ffn: 3072.0,
            vocab: 151_936.0,
            tied: true,
            qkv_bias: false,
            qk_norm: true,
        };
        assert_eq!(qwen3.total(), 596_049_920.0);
    }
}
