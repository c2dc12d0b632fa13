//! The run on a device: checks first, then one series after the other over all lengths. Or the steps of one small head.

mod checks;
mod expected;
mod inputs;
mod report;
mod steps;
mod summary;
mod sweep;

use self::inputs::Inputs;
use self::sweep::Sweep;
use super::{Config, Mode};
use crate::formulas::attention::Shape;
use crate::spec::Params;
use crate::torch::sdpa::{Backend, Only};
use crate::torch::{Context, Error};

/// One curve of the charts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Series {
    /// Explicit scores, through autograd.
    Naive,
    /// `scaled_dot_product_attention` with one backend.
    Sdpa(Backend),
}

impl Series {
    fn name(self) -> &'static str {
        match self {
            Self::Naive => "naive",
            Self::Sdpa(backend) => backend.name(),
        }
    }
}

/// Runs the lab. [`Error::Stopped`] comes after the summary of what was measured until then.
pub fn run(ctx: &Context, params: &Params) -> Result<(), Error> {
    let config = Config::new(params)?;
    if config.mode == Mode::Steps {
        return steps::run(ctx, &config);
    }
    let backends = backends(ctx, &config)?;
    let series: Vec<Series> =
        std::iter::once(Series::Naive).chain(backends.iter().map(|b| Series::Sdpa(*b))).collect();
    // One check per series, then its lengths.
    let steps = (series.len() * (1 + config.lengths.len())) as u32;
    // The checks also let cuBLAS and cuDNN take their workspaces, which the peaks of the sweep then do not count.
    checks::run(ctx, &config, &series, steps)?;
    let mut sweep = Sweep::new(ctx, &config, series)?;
    let outcome = sweep.run(steps);
    if matches!(outcome, Ok(()) | Err(Error::Stopped)) {
        summary::conclude(ctx, &config, &sweep.results);
    }
    outcome
}

/// The shape at which kernels are checked and asked for: small, and the run's own where that is smaller still.
fn small_shape(config: &Config) -> Shape {
    let Shape { b, h, n, d } = config.shape;
    Shape { b: b.min(2), h: h.min(4), n: n.min(256), d }
}

/// Backends that run for this device, element type and head dimension; says which, and why not the others.
fn backends(ctx: &Context, config: &Config) -> Result<Vec<Backend>, Error> {
    let inputs = Inputs::random(small_shape(config), config.dtype.kind(), ctx.device(), false, config.mode)?;
    let asked = Backend::from_name(&config.backend);
    let candidates = asked.map_or(Backend::FUSED.to_vec(), |backend| vec![backend]);
    let (mut run, mut refused) = (Vec::new(), Vec::new());
    for backend in candidates {
        match Only::new(backend)?.runs(&inputs.q, &inputs.k, &inputs.v, config.causal) {
            Ok(()) => run.push(backend),
            Err(why) => refused.push((backend, why)),
        }
    }
    if run.is_empty() && asked.is_none() {
        run.push(Backend::Math);
    }
    report::backends(ctx, config, &run, &refused);
    Ok(run)
}
