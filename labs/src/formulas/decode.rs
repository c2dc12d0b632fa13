//! Time of a decode step.

/// A decode step: its parts in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Reading the KV cache: `B·ctx·kv / bw`.
    pub kv: f64,
    /// Reading the weights: `N·bytes / bw`.
    pub weights: f64,
    /// Multiplying by them: `2·B·N / peak`.
    pub compute: f64,
}

impl Step {
    /// Seconds of the step: `B·ctx·kv/bw + max(N·bytes/bw, 2·B·N/peak)`.
    ///
    /// Source: jax-ml/scaling-book `inference.md`.
    pub fn seconds(self) -> f64 {
        self.kv + self.weights.max(self.compute)
    }

    /// Whether the products, not the weights, are the limit.
    pub fn compute_bound(self) -> bool {
        self.compute > self.weights
    }

    /// Share of the KV cache in the bytes read.
    pub fn kv_share(self) -> f64 {
        self.kv / (self.kv + self.weights)
    }
}

/// What is decoded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Parameters that a token uses.
    pub params: f64,
    /// Bytes a weight.
    pub weight_bytes: f64,
    /// Sequences in the batch.
    pub batch: f64,
    /// Tokens cached for each.
    pub context: f64,
    /// Bytes of the cache a token.
    pub kv_per_token: f64,
}

/// The parts of a step at `bandwidth` (B/s) and `peak` (FLOP/s).
pub fn step(load: Load, bandwidth: f64, peak: f64) -> Step {
    Step {
        kv: load.batch * load.context * load.kv_per_token / bandwidth,
        weights: load.params * load.weight_bytes / bandwidth,
        compute: 2.0 * load.batch * load.params / peak,
    }
}

/// Share of the bandwidth that a step used: `(weights + KV) / time / bw`, both in bytes.
///
/// Source: karpathy/nanochat `scripts/infer_bench.py`.
pub fn bandwidth_utilisation(weights: f64, kv: f64, seconds: f64, bandwidth: f64) -> f64 {
    (weights + kv) / seconds / bandwidth
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kv_takes_over_at_large_batch() {
        let load = Load {
            params: 8_030_261_248.0,
            weight_bytes: 2.0,
            batch: 64.0,
            context: 8192.0,
            kv_per_token: 131_072.0,
        };
        let step = step(load, 4.8e12, 989e12);
        assert!(!step.compute_bound());
        assert!((step.kv_share() - 0.81).abs() < 0.01);
        assert!((step.seconds() - 17.6625e-3).abs() < 1e-5);
    }
}
