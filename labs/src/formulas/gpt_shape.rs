//! GPT-2's shape without biases, as nanoGPT trains it: learned positions, tied head, LayerNorm with a gain only.

use super::params::Gpt2;
use super::{flops, serving};

/// Shape of a GPT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GptShape {
    /// Blocks.
    pub layers: u64,
    /// Attention heads.
    pub heads: u64,
    /// Width of the residual stream.
    pub hidden: u64,
    /// Longest context: rows of the position embedding.
    pub positions: u64,
    /// Rows of the token embedding, which is the output head too.
    pub vocabulary: u64,
}

impl GptShape {
    /// The same shape as the calculators have it; nanoGPT's has no biases.
    fn gpt2(self) -> Gpt2 {
        Gpt2 {
            layers: self.layers as f64,
            hidden: self.hidden as f64,
            vocab: self.vocabulary as f64,
            context: self.positions as f64,
            bias: false,
        }
    }

    /// Parameters: `V·h + T·h + L·(12h² + 2h) + h`.
    ///
    /// Source: counted from nanoGPT `model.py` with `bias=False`; 124M is 124 373 760 with `V` = 50 304.
    pub fn parameters(self) -> u64 {
        self.gpt2().total() as u64
    }

    /// Parameters that are factors of matrix products: `L·12h² + V·h`. Autocast casts these and no others.
    pub fn matrix_parameters(self) -> u64 {
        self.layers * 12 * self.hidden * self.hidden + self.embedding_parameters()
    }

    /// Parameters of the token embedding: `V·h`.
    pub fn embedding_parameters(self) -> u64 {
        self.vocabulary * self.hidden
    }

    /// Tensors that hold the parameters: two embeddings, six a block, one last gain.
    pub fn tensors(self) -> u64 {
        3 + 6 * self.layers
    }

    /// FLOP of training on one token, forward and backward: `6·(N − P·h) + 12·L·h·T`. The position embedding is looked
    /// up, not multiplied; attention is counted without the mask.
    ///
    /// Source: nanoGPT `estimate_mfu`, after arXiv 2204.02311, appendix B.
    pub fn training_flop_per_token(self, context: u64) -> u64 {
        let (layers, width) = (self.layers as f64, self.hidden as f64);
        flops::per_token(self.gpt2().without_positions(), layers, width, context as f64, false) as u64
    }

    /// Loss of the untrained model in nat: `ln V`, all tokens equally likely.
    pub fn uniform_loss_nat(self) -> f64 {
        serving::untrained_loss(self.vocabulary as f64)
    }

    /// What initial logits that are not all equal add to [`Self::uniform_loss_nat`], in nat: `h·σ²/2`. The last
    /// LayerNorm gives unit variance, the head's weights have standard deviation `σ`, so that logits have variance
    /// `h·σ²`, and the logarithm of the mean of `exp` of a normal variable is half its variance.
    pub fn initial_spread_nat(self, deviation: f64) -> f64 {
        self.hidden as f64 * deviation * deviation / 2.0
    }
}

/// Dense bf16 peak of a GPU in TFLOP/s, by its marketing name; `None` where it is not published for that name.
///
/// Source: NVIDIA's data sheets of A100, H100 SXM and H200 SXM, figures without sparsity.
pub fn dense_bf16_peak_tflops(name: &str) -> Option<f64> {
    let known = |part: &str| name.contains(part);
    // The PCIe and NVL cards of the same names have other peaks.
    if known("PCIe") || known("NVL") || known("MIG") {
        return None;
    }
    if known("H200") || known("H100 80GB HBM3") {
        return Some(989.0);
    }
    known("A100-SXM4").then_some(312.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GPT_124M: GptShape =
        GptShape { layers: 12, heads: 12, hidden: 768, positions: 1024, vocabulary: 50_304 };

    #[test]
    fn parameters_are_those_of_the_published_shapes() {
        assert_eq!(GPT_124M.parameters(), 124_373_760);
        assert_eq!(GptShape { vocabulary: 50_257, ..GPT_124M }.parameters(), 124_337_664);
        let medium = GptShape { layers: 24, heads: 16, hidden: 1024, ..GPT_124M };
        assert_eq!(medium.parameters(), 354_599_936);
    }

    #[test]
    fn a_token_of_124m_costs_855_megaflop() {
        // nanoGPT prints 855 166 464 for GPT-2's own vocabulary and biases: 66 048 parameters more.
        assert_eq!(GPT_124M.training_flop_per_token(1024) + 6 * 66_048, 855_166_464);
    }

    #[test]
    fn the_initial_loss_is_a_little_above_ln_v() {
        assert!((GPT_124M.uniform_loss_nat() - 10.826).abs() < 1e-3);
        assert!((GPT_124M.initial_spread_nat(0.02) - 0.1536).abs() < 1e-12);
    }

    #[test]
    fn a_peak_is_known_for_the_card_it_was_published_for_alone() {
        assert_eq!(dense_bf16_peak_tflops("NVIDIA H200"), Some(989.0));
        assert_eq!(dense_bf16_peak_tflops("NVIDIA H200 NVL"), None);
        assert_eq!(dense_bf16_peak_tflops("AMD EPYC"), None);
    }
}
