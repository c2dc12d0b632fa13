//! AdamW in one fused call over all parameters, which `tch` leaves out.

use std::ffi::c_void;

use tch::Tensor;

use super::{Error, ffi};

/// How AdamW updates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Learning rate.
    pub lr: f64,
    /// Decay of the first and of the second moment.
    pub betas: [f64; 2],
    /// Weight decay, decoupled from the gradient.
    pub weight_decay: f64,
    /// Added to the root of the second moment.
    pub eps: f64,
}

/// What one call updates: lists of equal length and of one element type.
pub struct Group<'a> {
    /// Updated in place.
    pub parameters: &'a [Tensor],
    /// Read.
    pub gradients: &'a [Tensor],
    /// First moments, updated in place.
    pub first_moments: &'a [Tensor],
    /// Second moments, updated in place.
    pub second_moments: &'a [Tensor],
}

/// One update. `step` is an fp32 scalar on the same device that counts updates, this one included.
///
/// # Panics
/// When the lists differ in length.
pub fn update(rule: Rule, step: &Tensor, group: &Group<'_>) -> Result<(), Error> {
    let count = group.parameters.len();
    let others = [group.gradients, group.first_moments, group.second_moments];
    assert!(others.iter().all(|list| list.len() == count), "one gradient and two moments per parameter");
    let pointers = |list: &[Tensor]| list.iter().map(|t| t.as_ptr().cast()).collect::<Vec<*const c_void>>();
    let (parameters, gradients) = (pointers(group.parameters), pointers(group.gradients));
    let (first, second) = (pointers(group.first_moments), pointers(group.second_moments));
    let rule = ffi::AdamW {
        lr: rule.lr,
        beta1: rule.betas[0],
        beta2: rule.betas[1],
        weight_decay: rule.weight_decay,
        eps: rule.eps,
    };
    // SAFETY: four arrays of `count` live tensors each, and a live scalar; the shim copies what it keeps.
    ffi::check(unsafe {
        ffi::il_fused_adamw(
            parameters.as_ptr(),
            gradients.as_ptr(),
            first.as_ptr(),
            second.as_ptr(),
            count as i64,
            step.as_ptr().cast(),
            &raw const rule,
        )
    })
}
