//! Pipeline bubbles.

/// Idle share of the step: `(p−1) / (m·v + p−1)`, with `v` chunks a stage when the schedule is interleaved.
///
/// Source: arXiv 2104.04473 §2.2, as a share of the whole step.
pub fn bubble_share(stages: f64, micro_batches: f64, chunks: f64) -> f64 {
    (stages - 1.0) / (micro_batches * chunks + stages - 1.0)
}

/// Idle time over ideal time: `(p−1) / (m·v)`. The same bubble, quoted against the time without it.
///
/// Source: arXiv 2104.04473 §2.2.
pub fn bubble_ratio(stages: f64, micro_batches: f64, chunks: f64) -> f64 {
    (stages - 1.0) / (micro_batches * chunks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_conventions_tell_the_same_bubble() {
        let ratio = bubble_ratio(4.0, 8.0, 1.0);
        assert!((ratio / (1.0 + ratio) - bubble_share(4.0, 8.0, 1.0)).abs() < 1e-12);
        assert!((bubble_ratio(4.0, 8.0, 2.0) - ratio / 2.0).abs() < 1e-12);
    }
}
