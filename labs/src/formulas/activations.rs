//! Activations that a training step keeps for its backward pass, 16-bit, with dropout, GELU and a `4h` MLP.
//!
//! Source of all but the logits: arXiv 2205.05198 §4. Without dropout the linear part is nearer 32 than 34; SwiGLU and
//! grouped heads differ; autocast keeps fp32 outputs of softmax and norms.

/// What is kept, and what is computed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recompute {
    /// Everything is kept.
    None,
    /// The attention core is computed again (or never stored: FlashAttention).
    Selective,
    /// Only each block's input is kept.
    Full,
}

/// Shape of a micro-batch in a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// Layers.
    pub layers: f64,
    /// Sequence length.
    pub s: f64,
    /// Micro-batch.
    pub b: f64,
    /// Hidden size.
    pub h: f64,
    /// Heads.
    pub heads: f64,
}

impl Shape {
    /// Elements of one hidden state: `s·b·h`.
    pub fn hidden_elements(self) -> f64 {
        self.s * self.b * self.h
    }

    /// Bytes a layer of the attention block: `11sbh + 5·n·s²·b`.
    pub fn attention_bytes(self) -> f64 {
        11.0 * self.hidden_elements() + self.score_bytes()
    }

    /// Bytes a layer that grow with `s²`: scores, their softmax and its dropout mask, `5·n·s²·b`.
    pub fn score_bytes(self) -> f64 {
        5.0 * self.heads * self.s * self.s * self.b
    }

    /// Bytes a layer of the MLP: `19sbh`.
    pub fn mlp_bytes(self) -> f64 {
        19.0 * self.hidden_elements()
    }

    /// Bytes a layer of the two LayerNorms: `4sbh`.
    pub fn norm_bytes(self) -> f64 {
        4.0 * self.hidden_elements()
    }

    /// Bytes a layer on one of `t` tensor-parallel ranks: `sbh(10 + 24/t + 5ns/(ht))`, with sequence parallelism
    /// `sbh/t·(34 + 5ns/h)`. Selective recompute leaves out the quadratic term; full keeps `2sbh` (the inputs, divided
    /// only by sequence parallelism).
    pub fn layer_bytes(self, recompute: Recompute, t: f64, sequence_parallel: bool) -> f64 {
        let sbh = self.hidden_elements();
        let spread = if sequence_parallel { t } else { 1.0 };
        let linear = sbh * (10.0 / spread + 24.0 / t);
        match recompute {
            Recompute::None => linear + self.score_bytes() / t,
            Recompute::Selective => linear,
            Recompute::Full => 2.0 * sbh / spread,
        }
    }

    /// Bytes of all layers; see [`Shape::layer_bytes`].
    pub fn bytes(self, recompute: Recompute, t: f64, sequence_parallel: bool) -> f64 {
        self.layers * self.layer_bytes(recompute, t, sequence_parallel)
    }

    /// Share of the activations that selective recompute saves: `(5ns/h) / (34 + 5ns/h)`.
    pub fn selective_saving(self) -> f64 {
        let quadratic = 5.0 * self.heads * self.s / self.h;
        quadratic / (34.0 + quadratic)
    }
}

/// Bytes that a fused attention keeps a layer in 16 bits: `12sbh + 4·s·b·n`, with one fp32 log-sum-exp a row and head.
///
/// Source: a reading in Dao-AILab/flash-attention issue 899.
pub fn flash_attention_bytes(shape: Shape) -> f64 {
    12.0 * shape.hidden_elements() + 4.0 * shape.s * shape.b * shape.heads
}

/// Bytes of logits: `copies · b·s·V·bytes`. No activation formula holds them; two or three copies live at the peak.
///
/// Source: counted; stas00/ml-engineering `training/performance`.
pub fn logits_bytes(b: f64, s: f64, vocab: f64, bytes: f64, copies: f64) -> f64 {
    copies * b * s * vocab * bytes
}

#[cfg(test)]
// The vectors are exact in f64.
#[allow(clippy::float_cmp)]
mod tests {
    use super::*;

    const GPT3: Shape = Shape { layers: 96.0, s: 2048.0, b: 1.0, h: 12288.0, heads: 96.0 };

    #[test]
    fn the_parts_make_the_whole() {
        let parts = GPT3.attention_bytes() + GPT3.mlp_bytes() + GPT3.norm_bytes();
        assert_eq!(GPT3.layer_bytes(Recompute::None, 1.0, false), parts);
    }

    #[test]
    fn sequence_parallelism_divides_everything() {
        let whole = GPT3.bytes(Recompute::None, 1.0, false);
        assert!((GPT3.bytes(Recompute::None, 8.0, true) / (whole / 8.0) - 1.0).abs() < 1e-12);
        assert!(GPT3.bytes(Recompute::None, 8.0, false) > whole / 8.0);
    }
}
