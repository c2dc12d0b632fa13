//! The floor of a step from bandwidth measured here, and the parts of a step timed alone.

use std::collections::BTreeMap;

use tch::{Kind, Tensor};

use super::model::{Model, product};
use crate::formulas::kv_cache::floor_ms;
use crate::kv_cache::Config;
use crate::torch::graph::Graph;
use crate::torch::memory::free_bytes;
use crate::torch::timing::Repeats;
use crate::torch::{Context, Error};

/// Bytes of the buffer that is copied to measure bandwidth: well beyond any cache.
const COPY_BYTES_CUDA: u64 = 1 << 31;
const COPY_BYTES_CPU: u64 = 1 << 26;

/// What a step cannot beat while every byte crosses the memory bus once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Floor {
    /// Read + written by a copy on the device.
    pub(super) bytes_per_second: f64,
}

impl Floor {
    /// Measures a copy within the device's memory.
    pub(super) fn measure(ctx: &Context) -> Result<Self, Error> {
        let _phase = ctx.phase("bandwidth");
        let most = if ctx.device().is_cuda() { COPY_BYTES_CUDA } else { COPY_BYTES_CPU };
        let bytes = most.min(free_bytes(ctx.device()).unwrap_or(most) / 8).max(1 << 20);
        let buffer = || Tensor::f_ones([bytes as i64 / 4], (Kind::Float, ctx.device()));
        let (from, mut to) = (buffer()?, buffer()?);
        let ms = ctx.timed(Repeats { warm_ups: 2, timed: 7 }, || Ok(to.f_copy_(&from)?))?.median_ms();
        Ok(Self { bytes_per_second: 2.0 * bytes as f64 / ms * 1e3 })
    }

    /// Ms that reading `bytes` takes at the least.
    pub(super) fn ms_of(self, weight_bytes: f64, cache_bytes: f64) -> f64 {
        floor_ms(weight_bytes, cache_bytes, self.bytes_per_second)
    }

    /// Ms of a step in the middle of `steps` steps that start at `context` tokens.
    pub(super) fn ms(self, config: &Config, context: u64, steps: u64) -> f64 {
        self.ms_of(config.weight_bytes() as f64, cache_bytes(config, context, steps))
    }

    /// The formula with its numbers.
    pub(super) fn recipe(self, config: &Config, context: u64, steps: u64) -> String {
        format!(
            "({} B + {}·{}·{} B) / {:.0} GB/s measured",
            config.weight_bytes(),
            config.batch,
            context + steps / 2,
            config.bytes_per_token(),
            self.bytes_per_second / 1e9
        )
    }
}

/// Bytes of the cache in the middle of `steps` steps.
pub(super) fn cache_bytes(config: &Config, context: u64, steps: u64) -> f64 {
    (config.bytes_per_token() * (context + steps / 2) * config.batch) as f64
}

/// Every matrix of a model with an input that fits.
pub(super) struct MatrixInputs<'a> {
    matrices: Vec<&'a Tensor>,
    /// By the size that the matrix wants.
    inputs: BTreeMap<Vec<i64>, Tensor>,
    batch: i64,
}

impl<'a> MatrixInputs<'a> {
    pub(super) fn new(model: &'a Model, batch: u64) -> Result<Self, Error> {
        let (matrices, batch) = (model.matrices(), batch as i64);
        let mut inputs = BTreeMap::new();
        for matrix in &matrices {
            let size = wanted(matrix, batch);
            let input = Tensor::f_randn(&size, (matrix.kind(), matrix.device()))?;
            inputs.insert(size, input);
        }
        Ok(Self { matrices, inputs, batch })
    }

    /// Multiplies each once, as a step does.
    pub(super) fn multiply(&self) -> Result<(), Error> {
        for matrix in &self.matrices {
            let Some(input) = self.inputs.get(&wanted(matrix, self.batch)) else { continue };
            let _ = if matrix.dim() == 2 { product(input, matrix)? } else { input.f_bmm(matrix)? };
        }
        Ok(())
    }
}

fn wanted(matrix: &Tensor, batch: i64) -> Vec<i64> {
    match matrix.size()[..] {
        [_, width] => vec![batch, width],
        [heads, width, _] => vec![heads, batch, width],
        _ => unreachable!("matrices have two or three dimensions"),
    }
}

/// Median ms of `work`, as recorded kernels where `recorded`.
pub(super) fn timed(
    ctx: &Context,
    repeats: Repeats,
    recorded: bool,
    mut work: impl FnMut() -> Result<(), Error>,
) -> Result<f64, Error> {
    if !recorded {
        return Ok(ctx.timed(repeats, work)?.median_ms());
    }
    let graph = Graph::capture(ctx.device(), &mut work)?;
    Ok(ctx.timed(repeats, || graph.replay())?.median_ms())
}
