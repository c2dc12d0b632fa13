//! Tensors of one shape, and the passes over them.

use tch::{Device, Kind, TchError, Tensor};

use super::{Mode, Series};
use crate::formulas::attention::Shape;
use crate::torch::Error;
use crate::torch::autograd::{backward, clear_grad};

/// Query, key and value, the mask where naive attention needs one, and for a backward the output's gradient; then the
/// three are leaves of autograd.
pub(super) struct Inputs {
    pub(super) q: Tensor,
    pub(super) k: Tensor,
    pub(super) v: Tensor,
    output_gradient: Option<Tensor>,
    mask: Option<Tensor>,
}

impl Inputs {
    /// Normally distributed, from the seeded generator of `device`; what `mode` needs of them.
    pub(super) fn random(
        shape: Shape,
        kind: Kind,
        device: Device,
        mask: bool,
        mode: Mode,
    ) -> Result<Self, Error> {
        let size = [shape.b, shape.h, shape.n, shape.d].map(|n| n as i64);
        let gradients = mode == Mode::Both;
        let normal = || Tensor::f_randn(size, (kind, device));
        let input = || normal()?.f_set_requires_grad(gradients);
        Ok(Self {
            q: input()?,
            k: input()?,
            v: input()?,
            output_gradient: gradients.then(normal).transpose()?,
            mask: mask.then(|| causal_mask(shape.n, device)).transpose()?,
        })
    }

    /// The same numbers, rounded to `kind`, on `device`; they may share memory with these.
    pub(super) fn to(&self, kind: Kind, device: Device) -> Result<Self, Error> {
        let copy = |t: &Tensor| t.f_detach()?.f_to_device(device)?.f_to_kind(kind);
        let input = |t: &Tensor| copy(t)?.f_set_requires_grad(t.requires_grad());
        Ok(Self {
            q: input(&self.q)?,
            k: input(&self.k)?,
            v: input(&self.v)?,
            output_gradient: self.output_gradient.as_ref().map(copy).transpose()?,
            mask: self.mask.as_ref().map(|mask| mask.f_to_device(device)).transpose()?,
        })
    }

    /// One forward pass.
    pub(super) fn forward(&self, series: Series, causal: bool) -> Result<Tensor, Error> {
        let Self { q, k, v, mask, .. } = self;
        Ok(match series {
            Series::Naive => naive(q, k, v, mask.as_ref())?,
            Series::Sdpa(_) => {
                Tensor::f_scaled_dot_product_attention(q, k, v, None::<&Tensor>, 0.0, causal, None, false)?
            }
        })
    }

    /// One forward and backward pass; gradients of an earlier one are given back first. Without the output's gradient
    /// there is nothing to go back from, and it is a forward.
    pub(super) fn forward_backward(&self, series: Series, causal: bool) -> Result<Tensor, Error> {
        for leaf in [&self.q, &self.k, &self.v] {
            clear_grad(leaf)?;
        }
        let output = self.forward(series, causal)?;
        if let Some(gradient) = &self.output_gradient {
            backward(&output, gradient)?;
        }
        Ok(output)
    }
}

/// True above the diagonal: the future.
fn causal_mask(n: u64, device: Device) -> Result<Tensor, TchError> {
    Tensor::f_ones([n as i64, n as i64], (Kind::Bool, device))?.f_triu(1)
}

/// Attention as written in a textbook. Values live exactly as long as in the same lines of Python: the scaled scores
/// until the end, the masked scores until the softmax is done.
fn naive(q: &Tensor, k: &Tensor, v: &Tensor, mask: Option<&Tensor>) -> Result<Tensor, TchError> {
    let head_dim = q.size().last().copied().unwrap_or(1) as f64;
    let scores = q.f_matmul(&k.f_transpose(-2, -1)?)?.f_mul_scalar(head_dim.powf(-0.5))?;
    let weights = match mask {
        Some(mask) => scores.f_masked_fill(mask, f64::NEG_INFINITY)?.f_softmax(-1, None)?,
        None => scores.f_softmax(-1, None)?,
    };
    weights.f_matmul(v)
}
