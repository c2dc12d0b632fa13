//! Causal multi-head attention, forward and backward: naive (explicit scores, through autograd) and fused (LibTorch
//! `scaled_dot_product_attention`), swept over the sequence length; or one small head, step by step.

use crate::spec::{LabCode, LabSpec, embedded};

mod config;
mod forms;
mod published;
mod refusal;
#[cfg(any(test, feature = "torch"))]
mod steps;

#[cfg(feature = "torch")]
mod run;
#[cfg(feature = "torch")]
pub use run::run;

pub use config::{Config, Mode};

/// The lab's specification.
pub(crate) fn spec() -> LabSpec {
    let code = LabCode {
        closed_forms: Some(forms::closed_forms),
        refusal: Some(refusal::refusal),
        need: Some(forms::need),
        references: Some(published::references),
    };
    embedded(include_str!("lab.toml"), include_str!("guide.en.md"), include_str!("guide.zh.md"), code)
}
