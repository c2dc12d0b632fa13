//! The trap of a kernel that is planned anew for every length.

use super::cache::Policy;
use super::decode::{Decoder, Way};
use super::model::Model;
use crate::dtype::Dtype;
use crate::kv_cache::{Attention, Config};
use crate::protocol::{Quantity, Text};
use crate::torch::sdpa::{Backend, Only};
use crate::torch::timing::Repeats;
use crate::torch::{Context, Error};

/// Steps per variant: each may cost tens of milliseconds.
const STEPS: u64 = 16;

/// Median ms of a step by variant, in the order of the run; or why none was measured.
pub(super) type Trap = Result<Vec<(&'static str, Quantity)>, Text>;

/// Names of the variants, also of their results.
pub(super) const VARIANTS: [&str; 4] = ["default-new", "default-seen", "fixed-capacity", "flash"];

/// Why this run has no such trap.
fn absent(ctx: &Context, config: &Config) -> Option<Text> {
    if !ctx.device().is_cuda() {
        return Some(Text::new(
            "plans are built by cuDNN, on CUDA alone; the CPU's kernels take any length as it comes",
            "只有 CUDA 上的 cuDNN 才建计划，CPU 的算子来什么长度就算什么长度",
        ));
    }
    if !matches!(config.shape.attention, Attention::Heads { .. }) {
        return Some(Text::new(
            "MLA is decoded by matrix products here, which plan nothing per length",
            "这里的 MLA 用矩阵乘解码，不会按长度建计划",
        ));
    }
    if config.dtype == Dtype::Fp32 {
        let dtype = config.dtype.name();
        return Some(Text::new(
            format!("cuDNN's attention takes bf16 and fp16, not {dtype}"),
            format!("cuDNN 的注意力只接受 bf16 和 fp16，不接受 {dtype}"),
        ));
    }
    None
}

/// Times single steps: LibTorch's own choice at lengths never seen, the same lengths again, a fixed capacity under a
/// mask, and FlashAttention.
pub(super) fn run(ctx: &Context, config: &Config, model: &Model) -> Result<Trap, Error> {
    if let Some(why) = absent(ctx, config) {
        return Ok(Err(why));
    }
    let mut trap = Vec::new();
    let growing = Way::Exact(Policy::Preallocated);
    for (series, way, backend) in [
        (VARIANTS[0], growing, None),
        (VARIANTS[1], growing, None),
        (VARIANTS[2], Way::Masked, None),
        (VARIANTS[3], growing, Some(Backend::Flash)),
    ] {
        let _phase = ctx.phase(format!("plan-trap.{series}"));
        let _only = backend.map(Only::new).transpose()?;
        let result = match steps(ctx, config, model, way, series) {
            Ok(times) => Quantity::median_of(&times, "ms"),
            Err(Error::Torch(why)) if !Error::Torch(why.clone()).is_sticky() => Quantity::missing("ms", why),
            Err(other) => return Err(other),
        };
        trap.push((series, result));
    }
    Ok(Ok(trap))
}

/// Ms of each step from the full context on. No pass before: it would leave its plans behind. Libraries have settled
/// in the first step, which is not counted.
fn steps(ctx: &Context, config: &Config, model: &Model, way: Way, series: &str) -> Result<Vec<f64>, Error> {
    let mut decoder = Decoder::with_context(model, way, config, config.context)?;
    let mut times = Vec::new();
    for step in 0..config.steps.min(STEPS) {
        let ms = ctx.timed(Repeats { warm_ups: 0, timed: 1 }, || decoder.step())?.median_ms();
        if step > 0 {
            let x = (config.context + step) as f64;
            ctx.point("plan_trap_ms", series, x, Quantity::some(ms, "ms"), "CUDA-event time of one step");
            times.push(ms);
        }
    }
    Ok(times)
}
