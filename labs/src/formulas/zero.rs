//! ZeRO and FSDP: memory and traffic of a rank.

use super::training_state::Recipe;

/// What is divided over the ranks. FSDP with `reshard_after_forward=True` is stage 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Nothing (DDP).
    None,
    /// Optimizer state.
    One,
    /// And gradients.
    Two,
    /// And weights.
    Three,
}

/// Bytes a rank holds, by what they are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shard {
    /// Weights.
    pub weights: f64,
    /// Gradients.
    pub gradients: f64,
    /// Optimizer state.
    pub optimizer: f64,
}

impl Shard {
    /// All of it.
    pub fn total(self) -> f64 {
        self.weights + self.gradients + self.optimizer
    }
}

/// Bytes on each of `ranks`: with `mixed` (2 + 2 + 12) `16Ψ`, `(4 + 12/n)Ψ`, `(2 + 14/n)Ψ`, `16Ψ/n`.
///
/// Source: arXiv 1910.02054, figure 1.
pub fn per_rank(params: f64, recipe: Recipe, ranks: f64, stage: Stage) -> Shard {
    let over = |divided: bool| if divided { ranks } else { 1.0 };
    Shard {
        weights: params * recipe.weights / over(stage == Stage::Three),
        gradients: params * recipe.gradients / over(matches!(stage, Stage::Two | Stage::Three)),
        optimizer: params * recipe.optimizer / over(stage != Stage::None),
    }
}

/// Elements that a rank sends in a step: `passes·Ψ·(n−1)/n`. DDP, stages 1 and 2, and FSDP with
/// `reshard_after_forward=False` pass the model twice; stage 3 three times (two all-gathers, one reduce-scatter).
///
/// Source: arXiv 1910.02054 §7; pytorch/torchtitan `docs/fsdp.md`.
pub fn traffic_elements(params: f64, ranks: f64, stage: Stage) -> f64 {
    let passes = if stage == Stage::Three { 3.0 } else { 2.0 };
    passes * params * (ranks - 1.0) / ranks
}

/// What DeepSpeed moves to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offload {
    /// Nothing.
    None,
    /// Optimizer state.
    Optimizer,
    /// Optimizer state and parameters.
    OptimizerAndParams,
}

/// Bytes a GPU by DeepSpeed's estimator for ZeRO-2: `4P + 16P/n`, with the optimizer on the host `2P`.
///
/// Source: deepspeedai/DeepSpeed `docs/code-docs/source/memory.rst`.
pub fn deepspeed_zero2(params: f64, ranks: f64, offload: Offload) -> f64 {
    match offload {
        Offload::None => 4.0 * params + 16.0 * params / ranks,
        Offload::Optimizer | Offload::OptimizerAndParams => 2.0 * params,
    }
}

/// Bytes a GPU by DeepSpeed's estimator for ZeRO-3: `4·largest + 18P/n`, with the optimizer on the host
/// `4·largest + 2P/n`, with the parameters there too `4·largest`. `largest` is the largest layer's parameter count.
///
/// Source: deepspeedai/DeepSpeed `docs/code-docs/source/memory.rst`.
pub fn deepspeed_zero3(params: f64, largest: f64, ranks: f64, offload: Offload) -> f64 {
    let per_param = match offload {
        Offload::None => 18.0,
        Offload::Optimizer => 2.0,
        Offload::OptimizerAndParams => 0.0,
    };
    4.0 * largest + per_param * params / ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formulas::training_state::recipe_named;

    #[test]
    fn figure_1_of_the_paper() {
        let mixed = recipe_named("mixed").expect("recipe");
        for (stage, gb) in
            [(Stage::None, 120.0), (Stage::One, 31.406), (Stage::Two, 16.641), (Stage::Three, 1.875)]
        {
            let computed = per_rank(7.5e9, mixed, 64.0, stage).total() / 1e9;
            assert!((computed / gb - 1.0).abs() < 1e-4, "{stage:?}: {computed}");
        }
    }

    #[test]
    fn the_estimators_printed_figures() {
        let gib = f64::from(1 << 30);
        let cases = [
            (deepspeed_zero3(2851e6, 32e6, 8.0, Offload::Optimizer), 0.78),
            (deepspeed_zero3(2851e6, 32e6, 8.0, Offload::OptimizerAndParams), 0.12),
        ];
        for (bytes, printed) in cases {
            assert!((bytes / gib - printed).abs() < 0.006, "{printed}: {}", bytes / gib);
        }
    }
}
