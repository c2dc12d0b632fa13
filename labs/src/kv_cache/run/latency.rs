//! Time of a decode step against the context, for each way to keep the cache.

use tch::Tensor;

use super::attend::row_shape;
use super::cache::Policy;
use super::decode::{Decoder, Way};
use super::floor::{self, Floor, MatrixInputs};
use super::model::Model;
use super::{named, report};
use crate::kv_cache::{Attention, Config};
use crate::protocol::{Expected, Quantity, Text, WallCause};
use crate::torch::sdpa::{Backend, Only};
use crate::torch::timing::Repeats;
use crate::torch::{Context, Error};

/// Steps per timing below the full context: enough to even out, few enough to sweep.
const SWEEP_STEPS: u64 = 32;

/// What the full context gave, in ms per step.
#[derive(Debug, Clone, Default)]
pub(super) struct Latency {
    /// Kernels launched one by one, preallocated cache.
    pub(super) eager: Option<f64>,
    /// The same from a recorded graph; the error is why there is none.
    pub(super) graph: Option<Result<f64, String>>,
    /// All matrices alone.
    pub(super) matrices: Option<f64>,
    /// Attention alone.
    pub(super) attention: Option<f64>,
}

/// The kernel of attention for caches seen through a view: FlashAttention where it runs, since it plans nothing per
/// length. `None` leaves the choice to LibTorch.
pub(super) fn plan_free(config: &Config, ctx: &Context) -> Result<Option<Backend>, Error> {
    let Attention::Heads { head_dim, .. } = config.shape.attention else { return Ok(None) };
    if !ctx.device().is_cuda() {
        return Ok(None);
    }
    let small = Tensor::f_zeros([1, 1, 16, head_dim as i64], (config.dtype.kind(), ctx.device()))?;
    for backend in [Backend::Flash, Backend::Efficient, Backend::Math] {
        if Only::new(backend)?.runs(&small, &small, &small, false).is_ok() {
            return Ok(Some(backend));
        }
    }
    Ok(None)
}

/// Contexts of the sweep, the full one last.
fn contexts(full: u64) -> Vec<u64> {
    let mut all: Vec<u64> = [8, 4, 2, 1].map(|part| (full / part).max(2)).into();
    all.dedup();
    all
}

/// Sweeps the context; at the full one every step of the run is timed, and the parts of a step are timed alone.
pub(super) fn run(
    ctx: &Context,
    config: &Config,
    model: &Model,
    floor: Floor,
    budget: u64,
) -> Result<Latency, Error> {
    let mut latency = Latency::default();
    let backend = plan_free(config, ctx)?;
    for context in contexts(config.context) {
        let last = context == config.context;
        let steps = if last { config.steps } else { config.steps.min(SWEEP_STEPS) };
        expect_floor(ctx, config, floor, context, steps);
        let needed = config.bytes_per_token() * (context + config.steps) * config.batch;
        if needed > budget {
            report::wall(ctx, "decode", context, needed, budget, WallCause::Budget);
            continue;
        }
        for policy in Policy::ALL {
            ctx.go_on()?;
            let name = policy.name();
            let _phase = ctx.phase(format!("decode.{name}"));
            let _only = backend.map(Only::new).transpose()?;
            let mut decoder = Decoder::with_context(model, Way::Exact(policy), config, context)?;
            let ms = timed(ctx, config, &mut decoder, context, steps)?;
            point(ctx, config, name, context, ms, steps);
            if last && policy == Policy::Preallocated {
                latency.eager = Some(ms);
                if !ctx.device().is_cuda() {
                    alone(ctx, config, model, &mut decoder, false, &mut latency)?;
                }
            }
        }
        if ctx.device().is_cuda() {
            let graph = graph(ctx, config, model, context, steps, last.then_some(&mut latency))?;
            if last {
                latency.graph = Some(graph);
            }
        } else if last {
            latency.graph = Some(Err("graphs of recorded kernels exist on CUDA alone".into()));
        }
    }
    Ok(latency)
}

/// Ms of a step from a graph, or why there is none; at the full context also the parts, in `parts`.
fn graph(
    ctx: &Context,
    config: &Config,
    model: &Model,
    context: u64,
    steps: u64,
    parts: Option<&mut Latency>,
) -> Result<Result<f64, String>, Error> {
    ctx.go_on()?;
    let _phase = ctx.phase("decode.graph");
    let way = Way::recordable(config.shape.attention, config.dtype.kind(), ctx.device());
    // Under a bias the default choice may be a kernel that plans; this one does not.
    let _only = (way == Way::Masked).then(|| Only::new(Backend::Efficient)).transpose()?;
    let recorded = || -> Result<Decoder<'_>, Error> {
        let mut decoder = Decoder::with_context(model, way, config, context)?;
        decoder.record(context as i64)?;
        Ok(decoder)
    };
    let mut decoder = match recorded() {
        Ok(decoder) => decoder,
        Err(Error::Torch(why)) if !Error::Torch(why.clone()).is_sticky() => {
            ctx.note(named("graph", &why));
            if let Some(latency) = parts {
                let mut eager =
                    Decoder::with_context(model, Way::Exact(Policy::Preallocated), config, context)?;
                alone(ctx, config, model, &mut eager, false, latency)?;
            }
            return Ok(Err(why));
        }
        Err(other) => return Err(other),
    };
    let ms = timed(ctx, config, &mut decoder, context, steps)?;
    point(ctx, config, "graph", context, ms, steps);
    if let Some(latency) = parts {
        alone(ctx, config, model, &mut decoder, true, latency)?;
    }
    Ok(Ok(ms))
}

/// Median ms of a step, over `steps` steps that follow each other from `context` tokens on.
fn timed(
    ctx: &Context,
    config: &Config,
    decoder: &mut Decoder<'_>,
    context: u64,
    steps: u64,
) -> Result<f64, Error> {
    let repeats = Repeats { warm_ups: 1, timed: config.repeats };
    let timing = ctx.timed(repeats, || {
        decoder.rewind(context as i64)?;
        for _ in 0..steps {
            ctx.go_on()?;
            decoder.step()?;
        }
        Ok(())
    })?;
    Ok(timing.median_ms() / steps as f64)
}

/// Times the matrices and the attention of a step without the rest, recorded where the step was.
fn alone(
    ctx: &Context,
    config: &Config,
    model: &Model,
    decoder: &mut Decoder<'_>,
    recorded: bool,
    latency: &mut Latency,
) -> Result<(), Error> {
    let _phase = ctx.phase("decode.parts");
    // The middle of the timed steps.
    decoder.rewind((config.context + config.steps / 2) as i64)?;
    let repeats = Repeats { warm_ups: 2, timed: config.repeats.max(5) };
    let inputs = MatrixInputs::new(model, config.batch)?;
    latency.matrices = Some(floor::timed(ctx, repeats, recorded, || inputs.multiply())?);
    let options = (config.dtype.kind(), ctx.device());
    let row = row_shape(config.shape.attention);
    let width = row.last().copied().unwrap_or(1);
    let q = Tensor::f_randn([config.batch as i64, config.shape.attention.heads() as i64, width], options)?;
    latency.attention = Some(floor::timed(ctx, repeats, recorded, || decoder.attention_alone(&q))?);
    Ok(())
}

fn point(ctx: &Context, config: &Config, series: &str, context: u64, ms: f64, steps: u64) {
    let clock = if ctx.device().is_cuda() { "CUDA-event" } else { "wall-clock" };
    let window = format!("median of {} {clock} times of {steps} steps, 1 warm-up", config.repeats);
    ctx.point("ms_per_token", series, context as f64, Quantity::some(ms, "ms"), &window);
}

fn expect_floor(ctx: &Context, config: &Config, floor: Floor, context: u64, steps: u64) {
    ctx.expected(Expected {
        metric: "ms_per_token".into(),
        series: "preallocated".into(),
        x: context as f64,
        value: floor.ms(config, context, steps),
        unit: "ms".into(),
        formula: floor.recipe(config, context, steps),
    });
}

/// What the sweep is about, for people.
pub(super) fn label() -> Text {
    Text::new("timing decode steps", "给解码步计时")
}
