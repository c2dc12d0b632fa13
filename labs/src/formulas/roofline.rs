//! Arithmetic intensity and where memory stops being the limit.

/// Operations a byte at which compute and memory take the same time: `peak / bandwidth` (FLOP/B).
///
/// Source: Williams, Waterman, Patterson 2009.
pub fn ridge(peak: f64, bandwidth: f64) -> f64 {
    peak / bandwidth
}

/// Attainable FLOP/s at an intensity: `min(peak, intensity · bandwidth)`.
pub fn attainable(intensity: f64, peak: f64, bandwidth: f64) -> f64 {
    peak.min(intensity * bandwidth)
}

/// Seconds of a kernel that overlaps perfectly: `max(FLOP / peak, bytes / bandwidth)`.
pub fn seconds(flop: f64, bytes: f64, peak: f64, bandwidth: f64) -> f64 {
    (flop / peak).max(bytes / bandwidth)
}

/// Intensity of `[B,D]×[D,F]`: `2BDF / (bytes·(BD + DF + BF))` (FLOP/B). About `B` for small `B` in 16 bits.
///
/// Source: jax-ml/scaling-book `inference.md`.
pub fn matmul_intensity(b: f64, d: f64, f: f64, bytes: f64) -> f64 {
    2.0 * b * d * f / (bytes * (b * d + d * f + b * f))
}

/// Intensity of attention over `s` cached positions for `t` queries, 16 bits, `g = n/nkv` heads a group:
/// `s·t / (t + s/g)` (FLOP/B). Prefill (`s = t`, MHA): `t/2`. Decode (`t = 1`): about `g`.
///
/// Source: jax-ml/scaling-book `inference.md`, with K and V of `nkv` heads counted.
pub fn attention_intensity(s: f64, t: f64, group: f64) -> f64 {
    s * t / (t + s / group)
}

/// Intensity of absorbed MLA decode: `2·n·(2·kv_lora + rope) / ((kv_lora + rope)·bytes)` (FLOP/B): every head reads the
/// same latent.
///
/// Source: counted; shape from DeepSeek-V3 `config_671B.json`.
pub fn mla_decode_intensity(heads: f64, kv_lora: f64, rope: f64, bytes: f64) -> f64 {
    2.0 * heads * (2.0 * kv_lora + rope) / ((kv_lora + rope) * bytes)
}

/// Tokens in a batch up to which weights of `bits` bits are the limit of a decode step: `bits/8 · peak / (2·bw)`. Above
/// it smaller weights stop helping.
pub fn quantisation_crossover(bits: f64, peak: f64, bandwidth: f64) -> f64 {
    bits / 8.0 * peak / (2.0 * bandwidth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attention_moves_along_the_roofline() {
        assert!((attention_intensity(2048.0, 2048.0, 1.0) - 1024.0).abs() < 1e-9);
        assert!((attention_intensity(8192.0, 1.0, 4.0) - 4.0).abs() < 0.01);
        assert!((mla_decode_intensity(128.0, 512.0, 64.0, 2.0) - 242.0).abs() < 0.5);
    }

    #[test]
    fn memory_is_the_limit_below_the_ridge() {
        let ridge = ridge(989e12, 4.8e12);
        assert!(attainable(ridge / 2.0, 989e12, 4.8e12) < 989e12);
        assert!((attainable(ridge * 2.0, 989e12, 4.8e12) - 989e12).abs() < 1.0);
    }
}
