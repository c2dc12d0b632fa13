//! Bytes of weights, gradients and optimizer state a parameter, by recipe.

/// What a way of training keeps for each parameter, in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recipe {
    /// Name to choose it by.
    pub name: &'static str,
    /// Weights that the forward pass reads.
    pub weights: f64,
    /// Gradients.
    pub gradients: f64,
    /// Everything the optimizer keeps: fp32 master weights and moments.
    pub optimizer: f64,
}

impl Recipe {
    /// Bytes a parameter.
    pub fn bytes_per_param(self) -> f64 {
        self.weights + self.gradients + self.optimizer
    }
}

const fn recipe(name: &'static str, weights: f64, gradients: f64, optimizer: f64) -> Recipe {
    Recipe { name, weights, gradients, optimizer }
}

/// AdamW recipes. A figure of bytes a parameter means nothing without its recipe.
///
/// Source: counted; arXiv 1910.02054 §3.1 (`mixed`), DeepSpeed `memory.rst` (`mixed-fp32-grads`), arXiv 2201.11990
/// (`megatron`).
pub const RECIPES: [Recipe; 8] = [
    recipe("fp32", 4.0, 4.0, 8.0),
    recipe("autocast", 4.0, 4.0, 8.0),
    recipe("mixed", 2.0, 2.0, 12.0),
    recipe("mixed-fp32-grads", 2.0, 4.0, 12.0),
    recipe("megatron", 2.0, 6.0, 12.0),
    recipe("bf16", 2.0, 2.0, 4.0),
    recipe("adam8bit-master", 2.0, 2.0, 6.0),
    recipe("adam8bit", 2.0, 2.0, 2.0),
];

/// The recipe of a name.
pub fn recipe_named(name: &str) -> Option<Recipe> {
    RECIPES.into_iter().find(|r| r.name == name)
}

/// Bytes of weights, gradients and optimizer state: `N · bytes a parameter`.
pub fn bytes(params: f64, recipe: Recipe) -> f64 {
    params * recipe.bytes_per_param()
}

#[cfg(test)]
// Small whole numbers: exact in f64.
#[allow(clippy::float_cmp)]
mod tests {
    use super::*;

    #[test]
    fn the_seven_figures_that_circulate() {
        let per_param = RECIPES.map(Recipe::bytes_per_param);
        assert_eq!(per_param, [16.0, 16.0, 16.0, 18.0, 20.0, 8.0, 10.0, 6.0]);
        assert_eq!(bytes(7e9, RECIPES[5]), 56e9);
    }
}
