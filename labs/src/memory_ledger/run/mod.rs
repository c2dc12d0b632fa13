//! The run on a device: one batch size after the other, each with a fresh model.

mod ledger;
mod model;
mod optimizer;
mod report;
mod text;
mod trial;

use tch::{Device, Kind, Tensor};

use self::model::weight_kind;
use self::text::Corpus;
use self::trial::{Outcome, Trial};
use super::Config;
use crate::formulas::gpt_memory::{Recipe, Step};
use crate::formulas::mib;
use crate::protocol::{Device as DeviceWords, Expected, Failure, Text, WallCause};
use crate::spec::Params;
use crate::torch::memory::empty_cache;
use crate::torch::sdpa::{Backend, Only, chosen};
use crate::torch::timing::synchronize;
use crate::torch::{Context, Error};

/// Runs the lab. [`Error::Stopped`] comes after the summary of what was measured until then.
pub fn run(ctx: &Context, params: &Params) -> Result<(), Error> {
    let config = Config::new(params)?;
    bf16_runs(&config, &ctx.hello().device)?;
    let corpus = {
        let _phase = ctx.phase("tokenizer");
        Corpus::new()?
    };
    report::corpus(ctx, &config, &corpus);
    // Drawn from the generator that the request's seed started.
    let seed =
        Tensor::f_randint(i64::from(i32::MAX), [1], (Kind::Int64, Device::Cpu))?.f_int64_value(&[0])?;
    // For as long as the lab runs; `auto` leaves the choice to LibTorch.
    let _only = Backend::from_name(&config.backend).map(Only::new).transpose()?;
    attention_runs(ctx, &config)?;
    warm_libraries(ctx.device(), config.recipe)?;
    let mut outcomes = Vec::new();
    let result = batches(ctx, &config, &corpus, seed, &mut outcomes);
    if matches!(result, Ok(()) | Err(Error::Stopped)) {
        report::conclude(ctx, &config, &outcomes);
    }
    result
}

fn batches(
    ctx: &Context,
    config: &Config,
    corpus: &Corpus,
    seed: i64,
    outcomes: &mut Vec<Outcome>,
) -> Result<(), Error> {
    let total = config.batches.len() as u32;
    for (done, batch) in config.batches.into_iter().enumerate() {
        ctx.go_on()?;
        ctx.progress(done as u32, total, Text::new(format!("batch {batch}"), format!("batch {batch}")));
        let step = config.step(batch, ctx.hello().device.kind);
        expect(ctx, step);
        // It also gives back what an earlier batch left in the cache.
        let budget = ctx.budget_bytes(config.budget_bytes)?;
        if step.peak().bytes() > budget {
            report::wall(ctx, step, budget, WallCause::Budget);
            continue;
        }
        let mut outcome = Outcome { batch, ..Outcome::default() };
        let result = Trial::new(ctx, config, corpus, step, seed).and_then(|mut t| t.run(&mut outcome));
        report::batch(ctx, config, &outcome);
        outcomes.push(outcome);
        match result {
            Ok(()) => {}
            Err(Error::OutOfMemory(_)) => {
                empty_cache(ctx.device())?;
                report::wall(ctx, step, budget, WallCause::OutOfMemory);
            }
            Err(error) => return Err(error),
        }
    }
    ctx.progress(total, total, Text::new("done", "完成"));
    Ok(())
}

/// The closed form of the peak, also where the wall keeps it from being measured.
fn expect(ctx: &Context, step: Step) {
    ctx.expected(Expected {
        metric: "peak_mib".into(),
        series: step.recipe.name().into(),
        x: step.batch as f64,
        value: mib(step.peak().bytes() as f64),
        unit: "MiB".into(),
        formula: super::peak_formula(step),
    });
    ctx.expected(Expected {
        metric: "loss".into(),
        series: ledger::series(step.batch),
        x: 0.0,
        value: step.shape.uniform_loss_nat(),
        unit: "nat".into(),
        formula: format!("ln {}", step.shape.vocabulary),
    });
}

/// Tensor cores know bf16 from Ampere on; before, LibTorch would emulate it in software or refuse in the middle.
fn bf16_runs(config: &Config, device: &DeviceWords) -> Result<(), Failure> {
    let capability =
        device.compute_capability.as_deref().and_then(|c| c.split('.').next()?.parse::<u32>().ok());
    match capability {
        Some(major) if major < 8 && config.recipe != Recipe::Fp32 => Err(Failure {
            what: format!("{} has no bf16, which recipe {} needs", device.name, config.recipe.name()),
            why: format!("compute capability {major}.x; bf16 came with 8.0 (Ampere)"),
            next: "set recipe=fp32, or use --device cpu".into(),
        }),
        _ => Ok(()),
    }
}

/// Asks LibTorch which kernel will run, and refuses one that keeps the scores: the ledger has no line for them.
fn attention_runs(ctx: &Context, config: &Config) -> Result<(), Error> {
    let shape = config.shape;
    let kind = match config.recipe {
        Recipe::Autocast => Kind::BFloat16,
        recipe => weight_kind(recipe),
    };
    let size = [1, shape.heads, config.context, shape.hidden / shape.heads].map(|n| n as i64);
    let q = Tensor::f_zeros(size, (kind, ctx.device()))?.f_set_requires_grad(true)?;
    match chosen(&q, &q, &q, true) {
        Some(backend) if backend != Backend::Math => {
            report::backend(ctx, backend);
            Ok(())
        }
        _ => Err(Error::Failed(Failure {
            what: format!("no fused attention kernel runs recipe {} here", config.recipe.name()),
            why: "the kernel that is left keeps every score matrix, and the ledger's formulas do not".into(),
            next: "set sdpa=auto, or choose another recipe or device".into(),
        })),
    }
}

/// Lets the libraries take their workspaces before anything is counted: one matrix product in each type, forward and
/// backward, because autograd's thread has workspaces of its own.
fn warm_libraries(device: Device, recipe: Recipe) -> Result<(), Error> {
    if !device.is_cuda() {
        return Ok(());
    }
    let low = if recipe == Recipe::Fp32 { Kind::Float } else { Kind::BFloat16 };
    for kind in [Kind::Float, low] {
        let leaf = || Tensor::f_ones([64, 64], (kind, device))?.f_set_requires_grad(true);
        leaf()?.f_matmul(&leaf()?)?.f_sum(Kind::Float)?.f_backward()?;
    }
    synchronize(device)
}
