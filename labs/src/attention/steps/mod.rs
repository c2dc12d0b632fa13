//! Attention on one head small enough to follow by hand: forward, and backward by its five identities.

mod grid;
mod words;

pub(crate) use grid::Grid;
#[cfg(feature = "torch")]
pub(crate) use words::Step;

/// Tokens of the head that is shown.
pub(crate) const TOKENS: usize = 5;
/// Its dimension: 4, so that the scale is exactly a half.
pub(crate) const HEAD_DIM: usize = 4;

/// What a head is given.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Head {
    pub(crate) q: Grid,
    pub(crate) k: Grid,
    pub(crate) v: Grid,
    /// The gradient that arrives at the output.
    pub(crate) d_o: Grid,
    pub(crate) causal: bool,
}

/// Everything that is computed on the way.
///
/// Source of the identities: arXiv 2205.14135, appendix B.2 (the gradient of the softmax with `D = rowsum(dO∘O)`).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Walk {
    head: Head,
    /// `Q·Kᵀ`
    products: Grid,
    /// `S = Q·Kᵀ / √d`
    scores: Grid,
    /// `S` with −∞ where the mask is
    masked: Grid,
    /// `P = softmax(S)`
    weights: Grid,
    /// `O = P·V`
    output: Grid,
    /// `D = rowsum(dO∘O)`
    row_dots: Grid,
    d_v: Grid,
    d_weights: Grid,
    d_scores: Grid,
    d_q: Grid,
    d_k: Grid,
}

impl Walk {
    /// Walks through the head.
    pub(crate) fn new(head: Head) -> Self {
        let scale = (HEAD_DIM as f64).powf(-0.5);
        let Head { q, k, v, d_o, causal } = &head;
        let products = q.times(&k.transposed());
        let scores = products.scaled(scale);
        let masked = if *causal { scores.without_future() } else { scores.clone() };
        let weights = masked.softmax();
        let output = weights.times(v);
        let row_dots = d_o.hadamard(&output).row_sums();
        let d_v = weights.transposed().times(d_o);
        let d_weights = d_o.times(&v.transposed());
        let d_scores = weights.hadamard(&d_weights.minus_column(&row_dots));
        let d_q = d_scores.times(k).scaled(scale);
        let d_k = d_scores.transposed().times(q).scaled(scale);
        Self { head, products, scores, masked, weights, output, row_dots, d_v, d_weights, d_scores, d_q, d_k }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of no pattern between −1 and 1.
    fn numbers(seed: f64) -> Grid {
        let at = |i: usize| (seed + 12.9898 * i as f64).sin();
        Grid::new(&(0..TOKENS * HEAD_DIM).map(at).collect::<Vec<_>>(), HEAD_DIM)
    }

    fn head(causal: bool) -> Head {
        Head { q: numbers(1.0), k: numbers(2.0), v: numbers(3.0), d_o: numbers(4.0), causal }
    }

    /// What the gradients are gradients of: the sum of `dO∘O`.
    fn loss(head: &Head) -> f64 {
        Walk::new(head.clone()).output.hadamard(&head.d_o).numbers().sum()
    }

    fn nudged(grid: &Grid, place: usize, by: f64) -> Grid {
        let numbers: Vec<f64> =
            grid.numbers().enumerate().map(|(i, x)| if i == place { x + by } else { x }).collect();
        Grid::new(&numbers, HEAD_DIM)
    }

    #[test]
    fn the_identities_are_the_slopes_of_the_forward() {
        // A central difference with this step is right to about its square.
        const STEP: f64 = 1e-5;
        type Input = fn(&mut Head) -> &mut Grid;
        type Gradient = fn(&Walk) -> &Grid;
        let inputs: [(Input, Gradient); 3] =
            [(|h| &mut h.q, |w| &w.d_q), (|h| &mut h.k, |w| &w.d_k), (|h| &mut h.v, |w| &w.d_v)];
        for causal in [true, false] {
            let head = head(causal);
            let walk = Walk::new(head.clone());
            for (input, gradient) in inputs {
                for (place, slope) in gradient(&walk).numbers().enumerate() {
                    let moved = |by: f64| {
                        let mut moved = head.clone();
                        let grid = input(&mut moved);
                        *grid = nudged(grid, place, by);
                        loss(&moved)
                    };
                    let measured = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
                    assert!((measured - slope).abs() < 1e-8, "{place}: {measured} {slope}");
                }
            }
        }
    }

    #[test]
    fn the_future_has_no_weight_and_no_gradient() {
        let walk = Walk::new(head(true));
        let above = |grid: &Grid| {
            let future = grid.numbers().enumerate().filter(|(i, _)| i % TOKENS > i / TOKENS);
            future.map(|(_, x)| x).collect::<Vec<_>>()
        };
        assert_eq!(above(&walk.weights), [0.0; 10]);
        assert!(above(&walk.d_scores).iter().all(|x| *x == 0.0));
        let masked = walk.masked.matrix("S");
        assert_eq!((masked.rows[0][1], masked.rows[4][4].is_some()), (None, true));
        assert!(Walk::new(head(false)).weights.numbers().all(|x| x > 0.0));
    }

    #[test]
    fn every_step_has_its_operands_and_a_result_of_the_right_shape() {
        let walk = Walk::new(head(true));
        let steps = walk.steps();
        let sizes = steps.iter().map(|s| s.result.map(Grid::size)).collect::<Vec<_>>();
        let (n, d) = (TOKENS, HEAD_DIM);
        let square = Some((n, n));
        let tall = Some((n, d));
        let want =
            [None, square, square, square, square, tall, Some((n, 1)), tall, square, square, tall, tall];
        assert_eq!(sizes, want);
        assert!(steps.iter().all(|s| s.matrices.len() >= 2 && !s.explanation.zh.is_empty()));
    }
}
