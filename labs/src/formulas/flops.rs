//! Operations of a model and what share of the peak they are. One multiply-add is two operations.

/// Operations (FLOP) a token of a training step: `6N + 12·L·h·T`, forward and backward; a causal mask leaves half of
/// the attention term useful (`6·L·h·T`). `h` is `n·d`, the width of the attention.
///
/// Source: arXiv 2204.02311 (PaLM) appendix B; causal: stas00/ml-engineering `training/performance`.
pub fn per_token(params: f64, layers: f64, width: f64, context: f64, causal: bool) -> f64 {
    6.0 * params + attention_per_token(layers, width, context, causal)
}

/// The attention term of [`per_token`].
pub fn attention_per_token(layers: f64, width: f64, context: f64, causal: bool) -> f64 {
    (if causal { 6.0 } else { 12.0 }) * layers * width * context
}

/// Operations (FLOP) of a whole training: `6·N·D`, D tokens.
///
/// Source: arXiv 2001.08361.
pub fn training(params: f64, tokens: f64) -> f64 {
    6.0 * params * tokens
}

/// Seconds of a training: `FLOP / (GPUs · peak · MFU)`.
pub fn training_seconds(flop: f64, gpus: f64, peak: f64, mfu: f64) -> f64 {
    flop / (gpus * peak * mfu)
}

/// Share of the peak that `flop` in `seconds` are: `FLOP / s / peak`. The peak is the dense one of the element type.
pub fn utilisation(flop: f64, seconds: f64, peak: f64) -> f64 {
    flop / seconds / peak
}

/// Operations of the hardware for each of the model: with full recompute a third forward pass joins, `8N` for `6N`.
pub const FULL_RECOMPUTE: f64 = 8.0 / 6.0;

/// Dense peak (FLOP/s): `SMs · FMA a clock and SM · 2 · clock`.
///
/// Source: karpathy/llm.c `llmc/mfu.h`.
pub fn peak(sms: f64, fma_per_clock: f64, clock_hz: f64) -> f64 {
    sms * fma_per_clock * 2.0 * clock_hz
}

/// Operations (FLOP) of a causal forward pass over a prompt: `2·N·s + 2·L·(n·d)·s²`.
///
/// Source: jax-ml/scaling-book `inference.md`; attention as in [`super::attention::forward_flop`].
pub fn prefill(params: f64, layers: f64, width: f64, tokens: f64) -> f64 {
    2.0 * params * tokens + 2.0 * layers * width * tokens * tokens
}

#[cfg(test)]
// The vectors are exact in f64.
#[allow(clippy::float_cmp)]
mod tests {
    use super::*;

    #[test]
    fn published_counts() {
        // GPT-2 124M with biases, positions not counted, as nanoGPT counts.
        assert_eq!(per_token(123_653_376.0, 12.0, 768.0, 1024.0, false), 855_166_464.0);
        assert_eq!(training(8e9, 15e12), 7.2e23);
        let flop = prefill(8_030_261_248.0, 32.0, 4096.0, 2048.0);
        assert!((flop / 34.0e12 - 1.0).abs() < 0.001, "{flop}");
    }
}
