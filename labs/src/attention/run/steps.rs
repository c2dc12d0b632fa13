//! The steps of one small head, each compared with what LibTorch computes in float64 on the CPU.

use std::collections::BTreeMap;

use tch::{Device, Kind, Tensor};

use super::Config;
use crate::attention::steps::{Grid, HEAD_DIM, Head, Step, TOKENS, Walk};
use crate::protocol::{Check, Event, Quantity, Text, WalkCheck, WalkStep};
use crate::torch::autograd::backward;
use crate::torch::sdpa::{Backend, Only};
use crate::torch::{Context, Error};

/// Bound on errors. In float64 numbers of this size are right to about 1e-15; a wrong formula is wrong by far more.
const TOLERANCE: f64 = 1e-9;

/// Shows and checks every step.
pub(super) fn run(ctx: &Context, config: &Config) -> Result<(), Error> {
    let tensors = Tensors::seeded()?;
    let walk = Walk::new(tensors.head(config.causal)?);
    let references = references(&tensors, config.causal)?;
    let steps = walk.steps();
    let total = steps.len() as u32;
    let phase = ctx.phase("steps");
    for (index, step) in (0..).zip(steps) {
        ctx.go_on()?;
        ctx.progress(index, total, step.title.clone());
        let reference = references.get(step.id);
        let error = reference.zip(step.result).map(|(r, result)| difference(result, &r.grid));
        if let Some((reference, error)) = reference.zip(error) {
            let largest = reference.largest();
            ctx.emit(&Event::Check(Check {
                name: format!("steps.{}", step.id),
                reference: reference.what.into(),
                max_abs_error: error,
                reference_max_abs: largest,
                tolerance: TOLERANCE,
                passed: error <= TOLERANCE * largest,
            }));
        }
        let check = reference.zip(error).map(|(reference, max_abs_error)| WalkCheck {
            reference: reference.what.into(),
            max_abs_error,
            tolerance: TOLERANCE,
        });
        ctx.emit(&Event::Walk(shown(step, index, total, check)));
    }
    drop(phase);
    ctx.progress(total, total, Text::new("done", "完成"));
    let why = config.mode.lacks_sweep().unwrap_or_default();
    let lacking = [
        ("naive_peak_extra_mib", "MiB"),
        ("naive_growth", "x"),
        ("fused_speedup", "x"),
        ("naive_forward_mib", "MiB"),
    ];
    let values = lacking.map(|(name, unit)| (name.to_owned(), Quantity::missing(unit, why)));
    ctx.emit(&Event::Summary { values: BTreeMap::from(values) });
    Ok(())
}

fn shown(step: Step<'_>, index: u32, total: u32, check: Option<WalkCheck>) -> WalkStep {
    let Step { title, formula, explanation, matrices, .. } = step;
    WalkStep { index, total, title, formula, explanation, matrices, check }
}

/// The head's inputs, `[1, 1, n, d]` in float64.
struct Tensors {
    q: Tensor,
    k: Tensor,
    v: Tensor,
    d_o: Tensor,
}

impl Tensors {
    /// Small whole numbers, and halves for the gradient, from the seeded generator: easy to follow by hand.
    fn seeded() -> Result<Self, Error> {
        let size = [1, 1, TOKENS as i64, HEAD_DIM as i64];
        let whole =
            |low: i64, high: i64| Tensor::f_randint_low(low, high + 1, size, (Kind::Double, Device::Cpu));
        Ok(Self {
            q: whole(-1, 2)?,
            k: whole(-1, 2)?,
            v: whole(-2, 2)?,
            d_o: whole(-2, 2)?.f_mul_scalar(0.5)?,
        })
    }

    fn head(&self, causal: bool) -> Result<Head, Error> {
        Ok(Head { q: grid(&self.q)?, k: grid(&self.k)?, v: grid(&self.v)?, d_o: grid(&self.d_o)?, causal })
    }
}

/// What a step's result is compared with.
struct Reference {
    what: &'static str,
    grid: Grid,
}

impl Reference {
    fn largest(&self) -> f64 {
        self.grid.numbers().filter(|x| x.is_finite()).map(f64::abs).fold(0.0, f64::max)
    }
}

/// The result of every step by name, by ways that share no code with the walk.
fn references(tensors: &Tensors, causal: bool) -> Result<BTreeMap<&'static str, Reference>, Error> {
    const OPERATION: &str = "LibTorch's operation in float64";
    const SDPA: &str = "scaled_dot_product_attention (math) in float64";
    const AUTOGRAD: &str = "autograd in float64";
    let Tensors { q, k, v, d_o } = tensors;
    let _math = Only::new(Backend::Math)?;
    let products = q.f_matmul(&k.f_transpose(-2, -1)?)?;
    let scores = products.f_div_scalar((HEAD_DIM as f64).sqrt())?;
    let masked = if causal {
        let future = Tensor::f_ones([TOKENS as i64; 2], (Kind::Bool, Device::Cpu))?.f_triu(1)?;
        scores.f_masked_fill(&future, f64::NEG_INFINITY)?
    } else {
        scores.shallow_clone()
    };
    // With V = I the output is the matrix of weights.
    let identity = Tensor::f_eye(TOKENS as i64, (Kind::Double, Device::Cpu))?;
    let identity = identity.f_view([1, 1, TOKENS as i64, TOKENS as i64])?;
    let weights = attention(q, k, &identity, causal)?;

    let (q, k, v) = (leaf(q)?, leaf(k)?, leaf(v)?);
    let output = attention(&q, &k, &v, causal)?;
    backward(&output, d_o)?;
    // Gradients of what lies between, each as a leaf of its own.
    let weights_leaf = leaf(&weights)?;
    backward(&weights_leaf.f_matmul(&v.f_detach()?)?, d_o)?;
    let masked_leaf = leaf(&masked)?;
    backward(&masked_leaf.f_softmax(-1, None)?.f_matmul(&v.f_detach()?)?, d_o)?;
    let d_weights = weights_leaf.f_grad()?;
    let row_dots = weights.f_mul(&d_weights)?.f_sum_dim_intlist([-1i64].as_slice(), true, None)?;

    let all = [
        ("products", OPERATION, &products),
        ("scale", OPERATION, &scores),
        ("mask", OPERATION, &masked),
        ("softmax", "scaled_dot_product_attention (math) with V = I, in float64", &weights),
        ("output", SDPA, &output),
        ("row_dots", "rowsum(P∘dP) with dP of autograd, in float64", &row_dots),
        ("dv", AUTOGRAD, &v.f_grad()?),
        ("dp", AUTOGRAD, &d_weights),
        ("ds", AUTOGRAD, &masked_leaf.f_grad()?),
        ("dq", AUTOGRAD, &q.f_grad()?),
        ("dk", AUTOGRAD, &k.f_grad()?),
    ];
    all.into_iter().map(|(id, what, tensor)| Ok((id, Reference { what, grid: grid(tensor)? }))).collect()
}

fn attention(q: &Tensor, k: &Tensor, v: &Tensor, causal: bool) -> Result<Tensor, Error> {
    Ok(Tensor::f_scaled_dot_product_attention(q, k, v, None::<&Tensor>, 0.0, causal, None, false)?)
}

fn leaf(tensor: &Tensor) -> Result<Tensor, Error> {
    Ok(tensor.f_detach()?.f_set_requires_grad(true)?)
}

fn grid(tensor: &Tensor) -> Result<Grid, Error> {
    let columns = tensor.size().last().copied().unwrap_or(1) as usize;
    let flat = tensor.f_detach()?.f_contiguous()?.f_view(-1)?;
    Ok(Grid::new(&Vec::<f64>::try_from(&flat)?, columns))
}

/// Largest difference; the same infinity on both sides is none, and what is no number is as wrong as can be.
fn difference(got: &Grid, want: &Grid) -> f64 {
    let apart = |(a, b): (f64, f64)| {
        let apart = (a - b).abs();
        if a.is_infinite() && a.to_bits() == b.to_bits() {
            0.0
        } else if apart.is_finite() {
            apart
        } else {
            f64::MAX
        }
    };
    got.numbers().zip(want.numbers()).map(apart).fold(0.0, f64::max)
}
