//! Forward and, where the run has a backward, gradients of every series against float64 on the CPU.

use tch::{Device, Kind, Tensor};

use super::{Config, Inputs, Mode, Series, small_shape};
use crate::dtype::Dtype;
use crate::protocol::{Check, Event, Text};
use crate::torch::sdpa::Only;
use crate::torch::{Context, Error};

const NAMES: [&str; 4] = ["forward", "dq", "dk", "dv"];

/// Bound on the largest error, relative to the largest value of the reference. Scores, weights and their
/// gradients are each rounded to the element type on the way, so a few units in the last place add up. The bounds
/// are about twice the worst seen for naive and flash on the CPU over head dimensions 8 to 256, lengths 16 to 256,
/// with and without mask: 0.017, 0.0025 and 0.000003.
fn tolerance(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::Bf16 => 3e-2,
        Dtype::Fp16 => 5e-3,
        Dtype::Fp32 => 1e-5,
    }
}

/// Runs every check and reports it; a check that fails does not end the lab.
pub(super) fn run(ctx: &Context, config: &Config, series: &[Series], steps: u32) -> Result<(), Error> {
    let shape = small_shape(config);
    let kind = config.dtype.kind();
    let _phase = ctx.phase("check");
    // Rounded to the element type before anybody computes, so that the reference sees the same numbers.
    let inputs = Inputs::random(shape, Kind::Float, Device::Cpu, config.causal, config.mode)?;
    let inputs = inputs.to(kind, Device::Cpu)?;
    let reference = results(&inputs.to(Kind::Double, Device::Cpu)?, Series::Naive, config)?;
    let on_device = inputs.to(kind, ctx.device())?;
    let described = format!("float64 on the CPU, b={} h={} n={} d={}", shape.b, shape.h, shape.n, shape.d);
    for (done, &one) in series.iter().enumerate() {
        ctx.go_on()?;
        let label = Text::new(
            format!("checking {} against float64", one.name()),
            format!("用 float64 核对 {}", one.name()),
        );
        ctx.progress(done as u32, steps, label);
        let _only = match one {
            Series::Naive => None,
            Series::Sdpa(backend) => Some(Only::new(backend)?),
        };
        let measured = results(&on_device, one, config)?;
        for ((name, got), want) in NAMES.iter().zip(&measured).zip(&reference) {
            let tolerance = tolerance(config.dtype);
            let (error, scale) = (largest(&got.f_sub(want)?)?, largest(want)?);
            ctx.emit(&Event::Check(Check {
                name: format!("{}.{name}", one.name()),
                reference: described.clone(),
                // JSON has no NaN; a result that holds one is as wrong as can be.
                max_abs_error: if error.is_finite() { error } else { f64::MAX },
                reference_max_abs: scale,
                tolerance,
                passed: error <= tolerance * scale,
            }));
        }
    }
    Ok(())
}

/// Output and, where the mode has a backward, gradients of Q, K and V, as float64 on the CPU.
fn results(inputs: &Inputs, series: Series, config: &Config) -> Result<Vec<Tensor>, Error> {
    let copy = |t: &Tensor| t.f_detach()?.f_to_device(Device::Cpu)?.f_to_kind(Kind::Double);
    if config.mode != Mode::Both {
        let _no_grad = tch::no_grad_guard();
        return Ok(vec![copy(&inputs.forward(series, config.causal)?)?]);
    }
    let output = inputs.forward_backward(series, config.causal)?;
    let gradients = [inputs.q.f_grad()?, inputs.k.f_grad()?, inputs.v.f_grad()?];
    Ok(std::iter::once(&output).chain(&gradients).map(copy).collect::<Result<_, _>>()?)
}

fn largest(tensor: &Tensor) -> Result<f64, Error> {
    Ok(tensor.f_abs()?.f_max()?.f_double_value(&[])?)
}
