//! Scaled-dot-product attention: operations and bytes.
//!
//! Symbols: `b` batch, `h` heads, `n` sequence length, `d` head dimension, `bytes` per element.

/// Shape of one attention call; query, key and value are `[b, h, n, d]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Batch.
    pub b: u64,
    /// Heads.
    pub h: u64,
    /// Sequence length, the same for queries and keys.
    pub n: u64,
    /// Head dimension.
    pub d: u64,
}

impl Shape {
    /// Elements of one of Q, K, V, O: `b·h·n·d`.
    pub fn tensor_elements(self) -> f64 {
        self.b as f64 * self.h as f64 * self.n as f64 * self.d as f64
    }

    /// Elements of the score matrix: `b·h·n²`.
    pub fn score_elements(self) -> f64 {
        self.b as f64 * self.h as f64 * self.n as f64 * self.n as f64
    }
}

/// Operations (FLOP) of a forward pass: `4·b·h·n²·d`, two matrix products of `2·b·h·n²·d` each; a causal mask leaves
/// half of them useful.
///
/// Source: Dao-AILab/flash-attention `benchmarks/benchmark_flash_attention.py`, `flops()`.
pub fn forward_flop(shape: Shape, causal: bool) -> f64 {
    let full = 4.0 * shape.score_elements() * shape.d as f64;
    if causal { full / 2.0 } else { full }
}

/// Operations (FLOP) of a backward pass that recomputes the scores: 2.5 times the forward (five products instead of
/// two). A backward that keeps them needs 2 times.
///
/// Source: as [`forward_flop`]; the count of five products is in arXiv 2205.14135, algorithm 4.
pub fn backward_flop(shape: Shape, causal: bool) -> f64 {
    2.5 * forward_flop(shape, causal)
}

/// Operations (FLOP) of forward and backward: 3.5 times the forward.
pub fn forward_backward_flop(shape: Shape, causal: bool) -> f64 {
    forward_flop(shape, causal) + backward_flop(shape, causal)
}

/// Bytes of one copy of the scores: `b·h·n²·bytes`.
pub fn score_copy_bytes(shape: Shape, bytes: f64) -> f64 {
    shape.score_elements() * bytes
}

/// Copies of the score matrix that are alive at the peak of a naive forward and backward under autograd on CUDA. The
/// peak is inside the softmax's backward: the probabilities kept for it, their gradient, the product of the two, which
/// the CUDA kernel takes as its input, and the result. Measured 4.0 on an H200 at n = 2048 to 8192.
pub const NAIVE_SCORE_COPIES: f64 = 4.0;

/// As [`NAIVE_SCORE_COPIES`], on the CPU, whose kernel forms that product on the way and does not store it. Measured
/// 3.0 with LibTorch 2.11 in fp32 and bf16.
pub const NAIVE_SCORE_COPIES_CPU: f64 = 3.0;

/// Peak bytes beyond the inputs of a naive forward and backward on CUDA: `4·b·h·n²·bytes + 2·b·h·n·d·bytes` (score
/// copies, output and one gradient).
pub fn naive_peak_extra_bytes(shape: Shape, bytes: f64) -> f64 {
    naive_peak_extra_bytes_with(NAIVE_SCORE_COPIES, shape, bytes)
}

/// As [`naive_peak_extra_bytes`] for a device that keeps `copies` of the scores: `c·b·h·n²·bytes + 2·b·h·n·d·bytes`.
pub fn naive_peak_extra_bytes_with(copies: f64, shape: Shape, bytes: f64) -> f64 {
    copies * score_copy_bytes(shape, bytes) + 2.0 * shape.tensor_elements() * bytes
}

/// Copies of the score matrix that are alive at the peak of a naive forward without gradients. With a mask the peak is
/// in the softmax: the scaled scores, which the textbook's lines keep until they end, the masked scores and the
/// weights. Without one, at most two live at once: the raw and the scaled scores, then the scaled scores and the
/// weights. Nothing is kept for a backward, so these are the same on the CPU and on CUDA.
pub fn naive_forward_score_copies(causal: bool) -> f64 {
    if causal { 3.0 } else { 2.0 }
}

/// Peak bytes beyond the inputs of a naive forward without gradients: the larger of the softmax's moment,
/// `c·b·h·n²·bytes`, and that of the last product, when two score copies and the output are alive:
/// `2·b·h·n²·bytes + b·h·n·d·bytes`.
pub fn naive_forward_peak_extra_bytes(shape: Shape, bytes: f64, causal: bool) -> f64 {
    let score = score_copy_bytes(shape, bytes);
    let softmax = naive_forward_score_copies(causal) * score;
    softmax.max(2.0 * score + shape.tensor_elements() * bytes)
}

/// Fewest bytes beyond the inputs that a fused forward without gradients can hold at its end: the output,
/// `b·h·n·d·bytes`, and for kernels that write the log-sum-exp of each row even then (`rows`), `4·b·h·n` more.
///
/// Source: arXiv 2205.14135, algorithm 1. LibTorch asks cuDNN and the memory-efficient kernel for the log-sum-exp only
/// where a gradient is wanted; its flash kernels always write it.
pub fn fused_forward_floor_extra_bytes(shape: Shape, bytes: f64, rows: bool) -> f64 {
    let log_sum_exp = if rows { 4.0 * (shape.b * shape.h * shape.n) as f64 } else { 0.0 };
    shape.tensor_elements() * bytes + log_sum_exp
}

/// Bytes beyond the inputs that a fused forward without gradients is allowed before it is tried: the floor, an fp32
/// copy of the output to accumulate in, and two more fp32 numbers per row. A bound for deciding, not a prediction.
pub fn fused_forward_extra_bound_bytes(shape: Shape, bytes: f64) -> f64 {
    fused_forward_floor_extra_bytes(shape, bytes, true)
        + 4.0 * shape.tensor_elements()
        + 2.0 * 4.0 * (shape.b * shape.h * shape.n) as f64
}

/// How fast a quantity grows with the length: the exponent `p` of `n^p` through two points, `log₂(y₂/y₁) / log₂(n₂/n₁)`.
/// 2 for what is quadratic, 1 for what is linear.
pub fn growth_exponent(shorter: (f64, f64), longer: (f64, f64)) -> f64 {
    (longer.1 / shorter.1).log2() / (longer.0 / shorter.0).log2()
}

/// Smallest block of the CUDA caching allocator; what is asked for is rounded up to a multiple of it.
///
/// Source: PyTorch `c10/cuda/CUDACachingAllocator.cpp`, `kMinBlockSize`.
pub const CUDA_BLOCK_BYTES: f64 = 512.0;

/// Bytes by which rounding to [`CUDA_BLOCK_BYTES`] raises the peak of a naive forward and backward: of each score copy
/// and of the two tensors beside them.
pub fn naive_block_rounding_bytes(shape: Shape, bytes: f64) -> f64 {
    let excess = |asked: f64| (asked / CUDA_BLOCK_BYTES).ceil() * CUDA_BLOCK_BYTES - asked;
    NAIVE_SCORE_COPIES * excess(score_copy_bytes(shape, bytes))
        + 2.0 * excess(shape.tensor_elements() * bytes)
}

/// Fewest bytes beyond the inputs that any fused forward and backward can hold at its end: the output and three
/// gradients, plus one fp32 log-sum-exp per row: `4·b·h·n·d·bytes + 4·b·h·n`. What a kernel uses above this is its
/// workspace.
///
/// Source: arXiv 2205.14135, algorithms 1 and 4 (what is kept between the passes).
pub fn fused_floor_extra_bytes(shape: Shape, bytes: f64) -> f64 {
    4.0 * shape.tensor_elements() * bytes + 4.0 * (shape.b * shape.h * shape.n) as f64
}

/// Bytes of what a forward and backward is given: Q, K, V and the output's gradient, `4·b·h·n·d·bytes`, and with
/// `mask` an explicit mask of one byte per pair of positions, `n²`.
pub fn input_bytes(shape: Shape, bytes: f64, mask: bool) -> f64 {
    shape.tensor_elements() * bytes + forward_input_bytes(shape, bytes, mask)
}

/// Bytes of what a forward alone is given: as [`input_bytes`], without the output's gradient.
pub fn forward_input_bytes(shape: Shape, bytes: f64, mask: bool) -> f64 {
    let pairs = if mask { shape.n as f64 * shape.n as f64 } else { 0.0 };
    3.0 * shape.tensor_elements() * bytes + pairs
}

/// Bytes beyond the inputs that a fused forward and backward is allowed before it is tried: the floor, an fp32 copy of
/// three gradients to accumulate in, and two more fp32 numbers per row. A bound for deciding, not a prediction:
/// measured on an H200 in bf16, kernels took 6 to 8 tensors of `b·h·n·d` where this allows 10.
pub fn fused_extra_bound_bytes(shape: Shape, bytes: f64) -> f64 {
    fused_floor_extra_bytes(shape, bytes)
        + 3.0 * 4.0 * shape.tensor_elements()
        + 2.0 * 4.0 * (shape.b * shape.h * shape.n) as f64
}

/// Bytes that LibTorch's fused CPU kernel is allowed for each thread besides [`fused_extra_bound_bytes`]: its block of
/// scores and of gradients. Measured up to 2.1 MiB over head dimensions 8 to 256 in every element type.
pub const FUSED_CPU_THREAD_BYTES: f64 = 4.0 * 1024.0 * 1024.0;

/// Bytes beyond the inputs that LibTorch's unfused `math` backend is allowed before it is tried: as naive, with two
/// more score copies, in fp32 even where the inputs are smaller. A bound for deciding, not a prediction.
pub fn math_extra_bound_bytes(shape: Shape, bytes: f64) -> f64 {
    naive_peak_extra_bytes(shape, bytes.max(4.0)) + 2.0 * score_copy_bytes(shape, bytes.max(4.0))
}

/// Score copies in `extra` bytes of a naive forward and backward: the inverse of [`naive_peak_extra_bytes_with`].
pub fn score_copies_in(shape: Shape, bytes: f64, extra: f64) -> f64 {
    (extra - 2.0 * shape.tensor_elements() * bytes) / score_copy_bytes(shape, bytes)
}

/// Largest `n` for which [`naive_peak_extra_bytes`] stays within `budget` bytes: the positive root of
/// `4·b·h·bytes·n² + 2·b·h·d·bytes·n = budget`, rounded down.
pub fn naive_wall_n(shape: Shape, bytes: f64, budget: f64) -> u64 {
    let bh = (shape.b * shape.h) as f64 * bytes;
    let (a, b) = (NAIVE_SCORE_COPIES * bh, 2.0 * bh * shape.d as f64);
    ((-b + (b * b + 4.0 * a * budget).sqrt()) / (2.0 * a)).floor() as u64
}

#[cfg(test)]
// The vectors are powers of two times small numbers: exact in f64.
#[allow(clippy::float_cmp)]
mod tests {
    use super::*;

    const FA: Shape = Shape { b: 2, h: 16, n: 8192, d: 128 };
    const H200: Shape = Shape { b: 4, h: 16, n: 8192, d: 128 };

    #[test]
    fn flop_counts_match_published_vectors() {
        assert_eq!(forward_flop(FA, false), 1_099_511_627_776.0);
        assert_eq!(forward_flop(FA, true), 549_755_813_888.0);
        assert_eq!(backward_flop(FA, false), 2_748_779_069_440.0);
    }

    #[test]
    fn naive_peak_matches_the_measured_h200_figures() {
        // PyTorch 2.11.0 on one H200, bf16, MiB: 8320 at n = 4096, 33024 at n = 8192.
        for (n, measured_mib) in [(2048, 2112.0), (4096, 8320.0), (8192, 33024.0)] {
            let mib = super::super::mib(naive_peak_extra_bytes(Shape { n, ..H200 }, 2.0));
            assert!((mib / measured_mib - 1.0_f64).abs() < 0.001, "n {n}: {mib} against {measured_mib}");
        }
    }

    #[test]
    fn the_fused_bound_holds_for_the_measured_h200_figures() {
        // PyTorch 2.11.0 on one H200, bf16, n = 16384, MiB: flash 2056, memory-efficient 1800, cuDNN 1544.
        let shape = Shape { n: 16384, ..H200 };
        let mib = |bytes| super::super::mib(bytes);
        assert_eq!(mib(input_bytes(shape, 2.0, true)), 4.0 * 256.0 + 256.0);
        assert!(mib(fused_floor_extra_bytes(shape, 2.0)) < 1544.0);
        assert!(mib(fused_extra_bound_bytes(shape, 2.0)) > 2056.0);
        assert!(math_extra_bound_bytes(shape, 2.0) > 2.0 * naive_peak_extra_bytes(shape, 2.0));
    }

    #[test]
    fn score_copies_invert_the_naive_peak() {
        let extra = naive_peak_extra_bytes(H200, 2.0);
        assert_eq!(score_copies_in(H200, 2.0, extra), NAIVE_SCORE_COPIES);
    }

    #[test]
    fn a_forward_alone_holds_fewer_score_copies() {
        let score = score_copy_bytes(H200, 2.0);
        assert_eq!(naive_forward_peak_extra_bytes(H200, 2.0, true), 3.0 * score);
        let output = H200.tensor_elements() * 2.0;
        assert_eq!(naive_forward_peak_extra_bytes(H200, 2.0, false), 2.0 * score + output);
        // Where a row of the output is longer than two of the scores, the last product is the peak.
        let short = Shape { n: 16, ..H200 };
        let (score, output) = (score_copy_bytes(short, 2.0), short.tensor_elements() * 2.0);
        assert_eq!(naive_forward_peak_extra_bytes(short, 2.0, true), 2.0 * score + output);
        assert_eq!(
            fused_forward_floor_extra_bytes(H200, 2.0, true) - H200.tensor_elements() * 2.0,
            2_097_152.0
        );
        assert!(fused_forward_extra_bound_bytes(H200, 2.0) < fused_extra_bound_bytes(H200, 2.0));
    }

    #[test]
    fn the_exponent_tells_quadratic_from_linear() {
        let at = |f: fn(Shape, f64) -> f64, n| (n as f64, f(Shape { n, ..H200 }, 2.0));
        let quadratic = growth_exponent(at(naive_peak_extra_bytes, 8192), at(naive_peak_extra_bytes, 16384));
        let linear = growth_exponent(at(fused_floor_extra_bytes, 4096), at(fused_floor_extra_bytes, 16384));
        assert!((quadratic - 2.0).abs() < 0.02 && (linear - 1.0).abs() < 1e-12, "{quadratic} {linear}");
    }

    #[test]
    fn lengths_of_powers_of_two_need_no_rounding() {
        assert_eq!(naive_block_rounding_bytes(H200, 2.0), 0.0);
        // 17² · 2 = 578 B in blocks of 512 B are 1024; 17 · 8 · 2 = 272 B are 512.
        let odd = Shape { b: 1, h: 1, n: 17, d: 8 };
        assert_eq!(naive_block_rounding_bytes(odd, 2.0), 4.0 * 446.0 + 2.0 * 240.0);
    }

    #[test]
    fn the_wall_is_where_the_peak_meets_the_budget() {
        let budget = 120.0e9;
        let n = naive_wall_n(H200, 2.0, budget);
        assert!(naive_peak_extra_bytes(Shape { n, ..H200 }, 2.0) <= budget);
        assert!(naive_peak_extra_bytes(Shape { n: n + 1, ..H200 }, 2.0) > budget);
    }
}
