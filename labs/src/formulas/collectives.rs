//! Collectives, data-parallel buckets, tensor-parallel traffic.

/// A collective operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collective {
    /// Every rank gets the sum.
    AllReduce,
    /// Every rank gets everything.
    AllGather,
    /// Every rank gets its part of the sum.
    ReduceScatter,
    /// Every rank sends a part to every other.
    AllToAll,
    /// One rank sends to all.
    Broadcast,
    /// One rank gets the sum.
    Reduce,
}

/// Bus bandwidth over algorithm bandwidth: all-reduce `2(n−1)/n`; all-gather, reduce-scatter, all-to-all `(n−1)/n`;
/// broadcast, reduce 1. Sizes of gathers and scatters count the whole buffer.
///
/// Source: NVIDIA/nccl-tests `doc/PERFORMANCE.md`.
pub fn bus_factor(op: Collective, ranks: f64) -> f64 {
    match op {
        Collective::AllReduce => 2.0 * (ranks - 1.0) / ranks,
        Collective::AllGather | Collective::ReduceScatter | Collective::AllToAll => (ranks - 1.0) / ranks,
        Collective::Broadcast | Collective::Reduce => 1.0,
    }
}

/// Bus bandwidth (B/s) of a collective over `bytes` in `seconds`: `factor · bytes / time`.
pub fn bus_bandwidth(op: Collective, ranks: f64, bytes: f64, seconds: f64) -> f64 {
    bus_factor(op, ranks) * bytes / seconds
}

/// Bytes that a rank sends in a ring: `factor · bytes`.
pub fn bytes_moved(op: Collective, ranks: f64, bytes: f64) -> f64 {
    bus_factor(op, ranks) * bytes
}

/// Seconds of a collective at a measured bus bandwidth: `factor · bytes / busbw`.
pub fn seconds_at(op: Collective, ranks: f64, bytes: f64, bus_bandwidth: f64) -> f64 {
    bytes_moved(op, ranks, bytes) / bus_bandwidth
}

/// Steps of a ring all-reduce: `2(n−1)`.
pub fn ring_steps(ranks: f64) -> f64 {
    2.0 * (ranks - 1.0)
}

/// Seconds of a ring all-reduce: `2(n−1)·(α + S/(n·β))`, latency α in seconds, link bandwidth β in B/s.
///
/// Source: the α-β model on the ring of arXiv 1909.09756 and NVIDIA/nccl-tests `doc/PERFORMANCE.md`.
pub fn ring_seconds(ranks: f64, bytes: f64, latency: f64, bandwidth: f64) -> f64 {
    ring_steps(ranks) * (latency + bytes / (ranks * bandwidth))
}

/// Bytes below which latency is the larger part of a ring: `n·α·β`.
pub fn ring_latency_bytes(ranks: f64, latency: f64, bandwidth: f64) -> f64 {
    ranks * latency * bandwidth
}

/// Bytes that a link carries when the switch reduces (NVLS): `(1 + 1/n)·S`, less than the ring factor assumes.
///
/// Source: NVIDIA/nccl issue 2140, nccl-tests issues 239 and 312.
pub fn in_switch_bytes(ranks: f64, bytes: f64) -> f64 {
    (1.0 + 1.0 / ranks) * bytes
}

/// Buckets of DDP for `bytes` of gradients: one of `first`, the rest of `cap` each.
///
/// Source: PyTorch `DistributedDataParallel`: 25 MiB, the first 1 MiB. Whole tensors make real counts differ a little.
pub fn ddp_buckets(bytes: f64, cap: f64, first: f64) -> f64 {
    1.0 + ((bytes - first) / cap).ceil().max(0.0)
}

/// Communication that a backward pass does not hide, in seconds: `max(0, comm − backward·share) + last`.
pub fn exposed_seconds(comm: f64, backward: f64, overlappable: f64, last_bucket: f64) -> f64 {
    (comm - backward * overlappable).max(0.0) + last_bucket
}

/// Elements that tensor parallelism all-reduces in a training step: `4·L·b·s·h` (two forward, two backward a layer).
///
/// Source: arXiv 2104.04473 §2.3.
pub fn tensor_parallel_elements(layers: f64, b: f64, s: f64, h: f64) -> f64 {
    4.0 * layers * b * s * h
}

/// Sequences of an optimizer step: `micro · accumulation · data-parallel ranks`.
pub fn global_batch(micro: f64, accumulation: f64, data_parallel: f64) -> f64 {
    micro * accumulation * data_parallel
}

/// Share of perfect scaling that is left: `T1 / (T1 + exposed)`.
pub fn scaling_efficiency(step: f64, exposed: f64) -> f64 {
    step / (step + exposed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_124m_model_has_twenty_buckets() {
        let mib = f64::from(1 << 20);
        assert!((ddp_buckets(497_759_232.0, 25.0 * mib, mib) - 20.0).abs() < 1e-9);
        assert!((ddp_buckets(1000.0, 25.0 * mib, mib) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn latency_and_bandwidth_meet_at_the_named_size() {
        let size = ring_latency_bytes(8.0, 1e-5, 4e11);
        let half = ring_seconds(8.0, 0.0, 1e-5, 4e11);
        assert!((ring_seconds(8.0, size, 1e-5, 4e11) / (2.0 * half) - 1.0).abs() < 1e-12);
    }
}
