//! Backward passes with a given output gradient, which `tch` leaves out.

use tch::Tensor;

use super::{Error, ffi};

/// `output.backward(gradient)`: adds to the gradients of the leaves.
pub fn backward(output: &Tensor, gradient: &Tensor) -> Result<(), Error> {
    // SAFETY: two live tensors; the shim copies what it keeps.
    ffi::check(unsafe { ffi::il_backward(output.as_ptr().cast(), gradient.as_ptr().cast()) })
}

/// `leaf.grad = None`, so that the gradient's memory is free again.
pub fn clear_grad(leaf: &Tensor) -> Result<(), Error> {
    // SAFETY: a live tensor.
    ffi::check(unsafe { ffi::il_clear_grad(leaf.as_ptr().cast()) })
}
