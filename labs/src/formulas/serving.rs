//! Serving: batches, blocks, drafts, latencies.

/// The harmonic number `1 + 1/2 + … + 1/B`.
fn harmonic(b: f64) -> f64 {
    (1..=b as u64).map(|k| 1.0 / k as f64).sum()
}

/// Share of its slots that a static batch of `b` uses when output lengths are exponential: `1 / H_B`, since the batch
/// waits for its longest member.
///
/// Source: mean over the expectation of the largest of B exponentials.
pub fn static_utilisation_exponential(b: f64) -> f64 {
    1.0 / harmonic(b)
}

/// As [`static_utilisation_exponential`] for lengths uniform in (0, M): `(B + 1) / (2B)`.
pub fn static_utilisation_uniform(b: f64) -> f64 {
    (b + 1.0) / (2.0 * b)
}

/// Blocks that a sequence of `tokens` takes: `⌈t / block⌉`.
///
/// Source: arXiv 2309.06180.
pub fn blocks(tokens: f64, block: f64) -> f64 {
    (tokens / block).ceil()
}

/// Mean tokens wasted in a sequence's last block: `(block − 1) / 2`.
///
/// Source: arXiv 2309.06180.
pub fn mean_block_waste(block: f64) -> f64 {
    (block - 1.0) / 2.0
}

/// Tokens of a shared prefix that a block cache can use again: `⌊shared / block⌋ · block`.
///
/// Source: docs.vllm.ai, design of automatic prefix caching.
pub fn reused_tokens(shared: f64, block: f64) -> f64 {
    (shared / block).floor() * block
}

/// Expected tokens a pass of the target model: `(1 − α^(γ+1)) / (1 − α)`, the target's own token included; `γ + 1` when
/// every draft is accepted.
///
/// Source: arXiv 2211.17192, equation 1.
pub fn tokens_per_target_pass(acceptance: f64, drafts: f64) -> f64 {
    if acceptance >= 1.0 {
        return drafts + 1.0;
    }
    (1.0 - acceptance.powf(drafts + 1.0)) / (1.0 - acceptance)
}

/// Speed-up of speculative decoding: tokens a pass `/ (γ·c + 1)`, where a draft costs `c` of a target pass. Holds while
/// the check of γ + 1 tokens costs as much as one token: small batches.
///
/// Source: arXiv 2211.17192, theorem 3.8.
pub fn speculative_speedup(acceptance: f64, drafts: f64, cost: f64) -> f64 {
    tokens_per_target_pass(acceptance, drafts) / (drafts * cost + 1.0)
}

/// Seconds between output tokens: `(E2E − TTFT) / (N − 1)`; none below two tokens.
///
/// Source: vLLM `benchmark_serving`.
pub fn tpot_seconds(e2e: f64, ttft: f64, tokens: f64) -> Option<f64> {
    (tokens > 1.0).then(|| (e2e - ttft) / (tokens - 1.0))
}

/// Seconds of a request: `TTFT + (N − 1)·TPOT`.
pub fn e2e_seconds(ttft: f64, tpot: f64, tokens: f64) -> f64 {
    ttft + (tokens - 1.0) * tpot
}

/// Requests a second at concurrency `C`: `C / (TTFT + (N − 1)·TPOT)`.
pub fn requests_per_second(concurrency: f64, ttft: f64, tpot: f64, tokens: f64) -> f64 {
    concurrency / e2e_seconds(ttft, tpot, tokens)
}

/// Little's law: what is in flight is `rate · latency`.
///
/// Source: Little 1961.
pub fn in_flight(rate: f64, latency: f64) -> f64 {
    rate * latency
}

/// Perplexity of a mean negative log-likelihood in nats: `exp(NLL)`.
pub fn perplexity(nll: f64) -> f64 {
    nll.exp()
}

/// Loss (nats) of a model that knows nothing: `ln V`. What step 0 must show.
pub fn untrained_loss(vocab: f64) -> f64 {
    vocab.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 5e-4, "{a} against {b}");
    }

    #[test]
    fn a_batch_waits_for_its_longest_member() {
        near(static_utilisation_exponential(8.0), 0.368);
        near(static_utilisation_exponential(64.0), 0.211);
        near(static_utilisation_uniform(16.0), 0.5313);
    }

    #[test]
    fn drafts() {
        near(tokens_per_target_pass(0.7, 3.0), 2.533);
        near(tokens_per_target_pass(1.0, 3.0), 4.0);
        near(reused_tokens(500.0, 16.0), 496.0);
        assert_eq!(tpot_seconds(1.0, 0.5, 1.0), None);
    }
}
