//! How many sequences fit: by formula, and by taking the memory.

use tch::Tensor;

use super::cache::tokens_size;
use super::report;
use crate::formulas::kv_cache::{pages, sequences_contiguous, sequences_paged};
use crate::kv_cache::Config;
use crate::protocol::{Expected, Quantity, Text, WallCause};
use crate::torch::memory::empty_cache;
use crate::torch::{Context, Error};

/// Sequences that were admitted.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Admitted {
    /// Each with `max_len` tokens reserved.
    pub(super) contiguous: u64,
    /// Each with the pages of its context; `None` when the allocator refused the pool.
    pub(super) paged: Option<u64>,
}

/// Admits sequences until the budget or the allocator says no.
pub(super) fn run(ctx: &Context, config: &Config, budget: u64) -> Result<Admitted, Error> {
    let _phase = ctx.phase("admission");
    let contiguous = contiguous(ctx, config, budget)?;
    let mut paged = None;
    for page in page_sizes(config) {
        ctx.go_on()?;
        empty_cache(ctx.device())?;
        let Some(admitted) = from_pool(ctx, config, budget, page)? else {
            report::pool_wall(ctx, page, budget);
            continue;
        };
        let expected = sequences_paged(budget, config.bytes_per_token(), config.context, page);
        let kv = config.bytes_per_token();
        point(
            ctx,
            "paged",
            page,
            admitted,
            expected,
            format!("⌊⌊{budget} B/({page}·{kv} B)⌋/⌈{}/{page}⌉⌋", config.context),
        );
        if page == config.page {
            paged = Some(admitted);
        }
    }
    Ok(Admitted { contiguous, paged })
}

/// The run's page, and others around it up to a whole reservation.
fn page_sizes(config: &Config) -> Vec<u64> {
    let mut sizes: Vec<u64> =
        std::iter::successors(Some(1), |n| Some(n * 8)).take_while(|n| *n < config.max_len).collect();
    sizes.extend([config.page.min(config.max_len), config.max_len]);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// One tensor of `max_len` tokens a sequence, until the next would exceed the budget or the allocator refuses.
fn contiguous(ctx: &Context, config: &Config, budget: u64) -> Result<u64, Error> {
    let one = config.bytes_per_token() * config.max_len;
    let size = tokens_size(config.shape, config.shape.attention, 1, config.max_len);
    let mut held = Vec::new();
    let cause = loop {
        ctx.go_on()?;
        if (held.len() as u64 + 1) * one > budget {
            break WallCause::Budget;
        }
        match Tensor::f_empty(&size, (config.dtype.kind(), ctx.device())).map_err(Error::from) {
            Ok(reservation) => held.push(reservation),
            Err(Error::OutOfMemory(_)) => break WallCause::OutOfMemory,
            Err(other) => return Err(other),
        }
    };
    let admitted = held.len() as u64;
    report::admission_wall(ctx, admitted + 1, one * (admitted + 1), budget, cause);
    let expected = sequences_contiguous(budget, config.bytes_per_token(), config.max_len);
    let recipe = format!("⌊{budget} B / ({}·{} B)⌋", config.max_len, config.bytes_per_token());
    point(ctx, "contiguous", config.max_len, admitted, expected, recipe);
    Ok(admitted)
}

/// Takes the budget as a pool of pages, one tensor a layer as engines do, and hands out pages until too few are left.
fn from_pool(ctx: &Context, config: &Config, budget: u64, page: u64) -> Result<Option<u64>, Error> {
    let options = (config.dtype.kind(), ctx.device());
    let in_pool = budget / (config.bytes_per_token() * page);
    let size = tokens_size(config.shape, config.shape.attention, in_pool, page);
    let layer = || Tensor::f_empty(&size[1..], options).map_err(Error::from);
    let pool: Result<Vec<Tensor>, Error> = (0..config.shape.layers).map(|_| layer()).collect();
    let pool = match pool {
        Ok(pool) => pool,
        Err(Error::OutOfMemory(_)) => return Ok(None),
        Err(other) => return Err(other),
    };
    let mut free: Vec<i64> = (0..pool.first().map_or(0, |layer| layer.size()[0])).collect();
    let wanted = pages(config.context, page) as usize;
    let mut tables: Vec<Vec<i64>> = Vec::new();
    while wanted <= free.len() {
        tables.push(free.split_off(free.len() - wanted));
    }
    Ok(Some(tables.len() as u64))
}

fn point(ctx: &Context, series: &str, page: u64, admitted: u64, expected: u64, formula: String) {
    let window = "sequences admitted until memory was refused";
    ctx.point("sequences", series, page as f64, Quantity::some(admitted as f64, "sequences"), window);
    ctx.expected(Expected {
        metric: "sequences".into(),
        series: series.into(),
        x: page as f64,
        value: expected as f64,
        unit: "sequences".into(),
        formula,
    });
}

/// What this experiment is about, for people.
pub(super) fn label() -> Text {
    Text::new("admitting sequences", "逐条放入序列")
}
