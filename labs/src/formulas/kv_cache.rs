//! The KV cache: bytes per token, what growing it copies, pages, how many sequences fit, and the floor of a decode step.
//!
//! Whole bytes, as a lab counts them; what a calculator asks too comes from [`super::kv`]. Symbols: `L` layers, `n_kv` heads of keys and values, `d` head dimension, `bytes` per element, `KV` bytes per token.

use super::kv;

/// Bytes per token of a cache of keys and values: `2·L·n_kv·d·bytes` (2 = K and V), for multi-head (`n_kv` = heads),
/// grouped-query and multi-query (`n_kv` = 1) attention alike.
///
/// Source: github.com/stas00/ml-engineering, inference/README.md (Llama-3-8B in 16 bit: 0.131 MB a token).
pub fn heads_bytes_per_token(layers: u64, kv_heads: u64, head_dim: u64, bytes: u64) -> u64 {
    kv::bytes_per_token(layers as f64, kv_heads as f64, head_dim as f64, bytes as f64) as u64
}

/// Bytes per token of a latent cache (MLA): `L·(latent + rope)·bytes`; one vector serves keys and values of every
/// head, so there is no factor 2.
///
/// Source: arXiv 2505.09343, table 1 (DeepSeek-V3: 70.272 KB).
pub fn latent_bytes_per_token(layers: u64, latent: u64, rope: u64, bytes: u64) -> u64 {
    kv::mla_bytes_per_token(layers as f64, latent as f64, rope as f64, bytes as f64) as u64
}

/// Bytes that `cat` writes while a cache grows from `from` to `to` tokens one by one: each step writes the whole cache
/// anew, `KV·Σ t = KV·(to·(to+1) − from·(from+1))/2`.
pub fn cat_copied_bytes(per_token: u64, from: u64, to: u64) -> f64 {
    let from_nothing = |to: u64| kv::cat_copied_bytes(per_token as f64, to as f64);
    from_nothing(to) - from_nothing(from)
}

/// Pages of `page` tokens that hold `tokens`: `⌈tokens / page⌉`.
///
/// Source: arXiv 2309.06180 (the last page of a sequence alone may be part empty).
pub fn pages(tokens: u64, page: u64) -> u64 {
    tokens.div_ceil(page.max(1))
}

/// Bytes of the pages that hold `tokens`: `⌈tokens / page⌉·page·KV`.
pub fn paged_bytes(per_token: u64, tokens: u64, page: u64) -> u64 {
    pages(tokens, page) * page * per_token
}

/// Sequences that fit when each reserves `max_len` tokens from the start: `⌊budget / (KV·max_len)⌋`.
pub fn sequences_contiguous(budget_bytes: u64, per_token: u64, max_len: u64) -> u64 {
    budget_bytes / (per_token * max_len).max(1)
}

/// Sequences of `tokens` that fit in pages, whole pages only: `⌊⌊budget / (KV·page)⌋ / ⌈tokens / page⌉⌋`.
pub fn sequences_paged(budget_bytes: u64, per_token: u64, tokens: u64, page: u64) -> u64 {
    let pool = budget_bytes / (per_token * page).max(1);
    pool / pages(tokens, page).max(1)
}

/// Least time of a decode step in ms when every weight and the whole cache are read once: `(weights + KV) / bandwidth`.
/// Computation, launches and writes come on top.
///
/// Source: jax-ml/scaling-book, inference.md (step time at a batch that does not saturate the matrix units).
pub fn floor_ms(weight_bytes: f64, cache_bytes: f64, bytes_per_second: f64) -> f64 {
    (weight_bytes + cache_bytes) / bytes_per_second * 1e3
}

#[cfg(test)]
// Whole numbers below 2^53: exact in f64.
#[allow(clippy::float_cmp)]
mod tests {
    use super::*;

    #[test]
    fn bytes_per_token_match_published_vectors() {
        assert_eq!(heads_bytes_per_token(32, 8, 128, 2), 131_072, "Llama-3-8B");
        assert_eq!(heads_bytes_per_token(32, 32, 128, 2), 524_288, "Llama-2-7B");
        assert_eq!(heads_bytes_per_token(126, 8, 128, 2), 516_096, "Llama-3.1-405B");
        assert_eq!(heads_bytes_per_token(12, 12, 64, 2), 36_864, "GPT-2 124M");
        assert_eq!(latent_bytes_per_token(61, 512, 64, 2), 70_272, "DeepSeek-V3");
        assert_eq!(heads_bytes_per_token(61, 128, 128, 2), 3_997_696, "DeepSeek-V3, were it MHA");
    }

    #[test]
    fn growing_by_cat_copies_a_triangle() {
        assert!((cat_copied_bytes(36_864, 0, 1024) / 19.3e9 - 1.0).abs() < 0.01);
        assert!((cat_copied_bytes(131_072, 0, 8192) / 4.4e12 - 1.0).abs() < 0.01);
        assert_eq!(cat_copied_bytes(10, 2, 4), 10.0 * (3.0 + 4.0));
        assert_eq!(cat_copied_bytes(10, 5, 5), 0.0);
    }

    #[test]
    fn the_last_page_is_taken_whole() {
        assert_eq!((pages(17, 16), pages(16, 16), pages(0, 16)), (2, 1, 0));
        assert_eq!(paged_bytes(10, 17, 16), 320);
    }

    #[test]
    fn sequences_fit_by_reservation_or_by_page() {
        // 128 sequences of 1024 tokens of Llama-3-8B are 17.2 GB.
        let per_token = 131_072;
        assert_eq!(sequences_contiguous(128 * 1024 * per_token, per_token, 1024), 128);
        assert_eq!(sequences_contiguous(128 * 1024 * per_token - 1, per_token, 1024), 127);
        assert_eq!(sequences_paged(128 * 1024 * per_token, per_token, 17, 16), 4096);
        assert_eq!(sequences_contiguous(5, per_token, 1024), 0);
    }

    #[test]
    fn the_floor_of_the_8b_shape_is_the_published_one() {
        // 15.1 GB of weights read and 576 tokens of cache at 4.22 TB/s: 3.57 to 3.6 ms on an H200.
        let ms = floor_ms(15.01e9, 576.0 * 131_072.0, 4.22e12);
        assert!((ms - 3.57).abs() < 0.02, "{ms}");
    }
}
