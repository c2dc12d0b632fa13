//! Memory of the KV cache.

/// Bytes a token of a cache with heads: `2·L·nkv·d·bytes` (K and V). `nkv = n` is MHA, `nkv = 1` is MQA, between is
/// GQA. `d` is the configured head dimension, not `h / n`.
///
/// Source: jax-ml/scaling-book `inference.md`; arXiv 2505.09343, table 1.
pub fn bytes_per_token(layers: f64, kv_heads: f64, head_dim: f64, bytes: f64) -> f64 {
    2.0 * layers * kv_heads * head_dim * bytes
}

/// Bytes a token of a latent cache (MLA): `L·(kv_lora + rope)·bytes`. One latent serves K and V: there is no factor 2.
///
/// Source: arXiv 2505.09343, table 1 (70.272 KB); DeepSeek-V3 `inference/configs/config_671B.json`.
pub fn mla_bytes_per_token(layers: f64, kv_lora: f64, rope: f64, bytes: f64) -> f64 {
    layers * (kv_lora + rope) * bytes
}

/// Bytes a token if a latent-attention model kept its heads expanded: `L·(n·(nope + rope) + n·v)·bytes`.
///
/// Source: counted; shape from DeepSeek-V3 `config_671B.json`.
pub fn mla_expanded_bytes_per_token(
    layers: f64,
    heads: f64,
    nope: f64,
    rope: f64,
    value: f64,
    bytes: f64,
) -> f64 {
    layers * (heads * (nope + rope) + heads * value) * bytes
}

/// Tokens of a sequence that stay useful: all of them, or those within a sliding window.
pub fn kept_tokens(context: f64, window: Option<f64>) -> f64 {
    window.map_or(context, |w| context.min(w))
}

/// Bytes of a cache: `sequences · min(context, window) · bytes a token`.
pub fn cache_bytes(per_token: f64, sequences: f64, context: f64, window: Option<f64>) -> f64 {
    sequences * kept_tokens(context, window) * per_token
}

/// Bytes that are left for the cache: `memory·util − weights − workspace`; negative when they are missing.
pub fn room_bytes(memory: f64, util: f64, weights: f64, workspace: f64) -> f64 {
    memory * util - weights - workspace
}

/// Tokens that fit: `⌊room / bytes a token⌋`, never below 0.
///
/// Source: what vLLM computes at start (`gpu_memory_utilization`).
pub fn max_tokens(room: f64, per_token: f64) -> f64 {
    (room / per_token).floor().max(0.0)
}

/// Bytes copied by a cache that grows by concatenation over `steps` steps: `kv·n·(n+1)/2`. Each step copies the cache.
pub fn cat_copied_bytes(per_token: f64, steps: f64) -> f64 {
    per_token * steps * (steps + 1.0) / 2.0
}

/// Bytes a token on one of `ranks` tensor-parallel ranks. Heads are divided; with fewer heads than ranks, and for a
/// latent cache, whole copies stay: `kv · max(1/t, 1/nkv)`.
pub fn bytes_per_token_on_rank(per_token: f64, ranks: f64, kv_heads: Option<f64>) -> f64 {
    kv_heads.map_or(per_token, |heads| per_token / ranks.min(heads))
}

#[cfg(test)]
// The vectors are exact in f64.
#[allow(clippy::float_cmp)]
mod tests {
    use super::*;

    #[test]
    fn heads_latents_and_windows() {
        assert_eq!(bytes_per_token(32.0, 8.0, 128.0, 2.0), 131_072.0);
        assert_eq!(mla_bytes_per_token(61.0, 512.0, 64.0, 2.0), 70_272.0);
        assert_eq!(cache_bytes(131_072.0, 1.0, 32_768.0, Some(4096.0)), 536_870_912.0);
    }

    #[test]
    fn an_h200_holds_920_363_tokens_of_llama_3_8b() {
        let room = room_bytes(143_771.0 * f64::from(1 << 20), 0.92, 16_060_522_496.0, 2e9);
        assert_eq!(max_tokens(room, 131_072.0), 920_363.0);
        assert_eq!(max_tokens(-1.0, 131_072.0), 0.0);
    }

    #[test]
    fn concatenation_copies_quadratically() {
        assert!((cat_copied_bytes(36_864.0, 1024.0) / 19.3e9 - 1.0).abs() < 0.01);
    }

    #[test]
    fn few_heads_are_not_divided_further() {
        assert_eq!(bytes_per_token_on_rank(80.0, 16.0, Some(8.0)), 10.0);
        assert_eq!(bytes_per_token_on_rank(80.0, 16.0, None), 80.0);
    }
}
