//! A computation shown step by step on a case small enough to print.

use serde::{Deserialize, Serialize};

use super::Text;

/// One step of a computation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WalkStep {
    /// Position, from 0.
    pub index: u32,
    /// Steps in all.
    pub total: u32,
    /// What the step is.
    pub title: Text,
    /// The formula: `S = Q·Kᵀ / √d`.
    pub formula: String,
    /// What to look at, in one or two sentences.
    pub explanation: Text,
    /// Operands and result, the result last.
    pub matrices: Vec<Matrix>,
    /// How the result compares with a reference; `None` where there is nothing to compare with.
    pub check: Option<WalkCheck>,
}

/// A named matrix, row by row. A value that is not finite is `None` (a masked score is −∞, which JSON cannot say).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Matrix {
    /// Name: `Q`, `dS`, ….
    pub name: String,
    /// Rows of equal length.
    pub rows: Vec<Vec<Option<f64>>>,
}

/// A step's result against a reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WalkCheck {
    /// What it was compared with.
    pub reference: String,
    /// Largest absolute difference.
    pub max_abs_error: f64,
    /// Bound on it.
    pub tolerance: f64,
}

impl WalkCheck {
    /// Whether the bound held.
    pub fn passed(&self) -> bool {
        self.max_abs_error <= self.tolerance
    }
}
