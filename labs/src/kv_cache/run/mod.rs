//! The run on a device: checks, then the chosen experiments, then the summary.

mod admission;
mod attend;
mod cache;
mod checks;
mod decode;
mod floor;
mod growth;
mod latency;
mod model;
mod plan_trap;
mod report;

use self::admission::Admitted;
use self::floor::Floor;
use self::growth::Grown;
use self::latency::Latency;
use self::model::{Model, SPREAD};
use self::plan_trap::Trap;
use super::{Config, Experiment};
use crate::protocol::Text;
use crate::spec::Params;
use crate::torch::memory::empty_cache;
use crate::torch::{Context, Error};

/// What was measured; `None` where an experiment was not chosen or not reached.
#[derive(Default)]
struct Results {
    grown: Option<Grown>,
    floor: Option<Floor>,
    latency: Option<Latency>,
    trap: Option<Trap>,
    admitted: Option<Admitted>,
}

/// Runs the lab. [`Error::Stopped`] comes after the summary of what was measured until then.
pub fn run(ctx: &Context, params: &Params) -> Result<(), Error> {
    let config = Config::new(params)?;
    // Nothing is trained here: no operation is remembered for a backward pass.
    let _no_grad = tch::no_grad_guard();
    report::model(ctx, &config);
    let mut results = Results::default();
    let outcome = experiments(ctx, &config, &mut results);
    if matches!(outcome, Ok(()) | Err(Error::Stopped)) {
        report::conclude(ctx, &config, &results);
    }
    outcome
}

fn experiments(ctx: &Context, config: &Config, results: &mut Results) -> Result<(), Error> {
    let total = config.experiments.len() as u32 + 1;
    ctx.progress(
        0,
        total,
        Text::new("checking against float64 without a cache", "与不带缓存的 float64 结果核对"),
    );
    checks::run(ctx, config)?;
    let mut model = None;
    for (done, experiment) in config.experiments.iter().enumerate() {
        ctx.go_on()?;
        let step = |label| ctx.progress(done as u32 + 1, total, label);
        match experiment {
            Experiment::Growth => {
                step(Text::new("growing the cache", "让缓存增长"));
                let budget = ctx.budget_bytes(config.budget_bytes)?;
                results.grown = Some(growth::run(ctx, config, budget)?);
            }
            Experiment::Latency => {
                step(latency::label());
                let floor = Floor::measure(ctx)?;
                results.floor = Some(floor);
                let model = weights(ctx, config, &mut model)?;
                let budget = ctx.budget_bytes(config.budget_bytes)?;
                results.latency = Some(latency::run(ctx, config, model, floor, budget)?);
            }
            Experiment::PlanTrap => {
                step(Text::new("meeting new lengths", "不断遇到新长度"));
                let model = weights(ctx, config, &mut model)?;
                results.trap = Some(plan_trap::run(ctx, config, model)?);
            }
            Experiment::Admission => {
                step(admission::label());
                weights(ctx, config, &mut model)?;
                let budget = ctx.budget_bytes(config.budget_bytes)?;
                results.admitted = Some(admission::run(ctx, config, budget)?);
            }
        }
        empty_cache(ctx.device())?;
    }
    ctx.progress(total, total, Text::new("summing up", "汇总"));
    Ok(())
}

/// The model, made when the first experiment needs it.
fn weights<'a>(ctx: &Context, config: &Config, model: &'a mut Option<Model>) -> Result<&'a Model, Error> {
    if model.is_none() {
        let _phase = ctx.phase("weights");
        *model = Some(Model::random(config.shape, SPREAD, config.dtype.kind(), ctx.device())?);
    }
    Ok(model.as_ref().expect("made above"))
}

/// A way of decoding that does not run here, and LibTorch's reason.
fn named(way: &str, why: &str) -> Text {
    Text::new(format!("{way} does not run here: {why}"), format!("{way} 在此不可用：{why}"))
}
