//! What the learner is told in words, and the named results.

use std::collections::BTreeMap;

use super::model::DEVIATION;
use super::text::Corpus;
use super::trial::Outcome;
use crate::formulas::gpt_memory::{PeakAt, Step};
use crate::formulas::gpt_shape::dense_bf16_peak_tflops;
use crate::formulas::mib;
use crate::memory_ledger::Config;
use crate::protocol::{Basis, Check, Event, Quantity, ResidualPart, Text, Wall, WallCause};
use crate::torch::Context;
use crate::torch::sdpa::Backend;

/// Model and text.
pub(super) fn corpus(ctx: &Context, config: &Config, corpus: &Corpus) {
    let (model, n, v) = (&config.model, config.shape.parameters(), config.shape.vocabulary);
    let (tokens, kb, entries) = (corpus.len(), (corpus.text_bytes as f64 / 1e3).round(), corpus.entries);
    ctx.note(Text::new(
        format!(
            "Model {model}: {n} parameters, V = {v}. Text: {kb} kB of infralab's notes, {tokens} tokens of a \
             byte-level BPE with {entries} entries, trained just now."
        ),
        format!(
            "模型 {model}：{n} 个参数，V = {v}。语料：infralab 自己的笔记 {kb} kB，用刚刚训练的字节级 BPE（{entries} 个\
             词元）切成 {tokens} 个 token。"
        ),
    ));
}

/// Which attention kernel runs.
pub(super) fn backend(ctx: &Context, backend: Backend) {
    let name = backend.name();
    ctx.note(Text::new(format!("Attention runs in the kernel {name}."), format!("注意力使用内核 {name}。")));
}

/// Where the peak of a batch is.
pub(super) fn peak_at(ctx: &Context, batch: u64, at: PeakAt) {
    let (en, zh) = match at {
        PeakAt::Loss => (
            "in the backward of the loss: all activations are alive, and matrices of the logits' size",
            "损失的反向中：所有激活值都还在，外加几份 logits 大小的矩阵",
        ),
        PeakAt::LastGradient => (
            "at the end of the backward pass: every gradient is there, the shared embedding's more than once",
            "反向结束时：所有梯度都已就位，共享的词嵌入还不止一份",
        ),
        PeakAt::Optimizer => (
            "in the optimizer, where one gradient at a time is widened to fp32",
            "优化器中：逐个参数把梯度转成 fp32",
        ),
    };
    ctx.note(Text::new(
        format!("Batch {batch}: the peak lies {en}."),
        format!("batch {batch}：峰值出现在{zh}。"),
    ));
}

/// Bound on the distance of the untrained model's loss from `ln V`, relative to it: a model that is wired wrongly, or
/// targets that are not the next tokens, miss it by more.
const UNTRAINED_TOLERANCE: f64 = 0.02;

/// Whether the untrained model takes all tokens for equally likely.
pub(super) fn untrained(ctx: &Context, config: &Config, batch: u64, loss: f64) {
    let expected = config.shape.uniform_loss_nat();
    let error = (loss - expected).abs();
    ctx.emit(&Event::Check(Check {
        name: format!("loss at step 0, batch {batch}"),
        reference: format!("ln {}", config.shape.vocabulary),
        // JSON has no NaN; a loss that is none is as wrong as can be.
        max_abs_error: if error.is_finite() { error } else { f64::MAX },
        reference_max_abs: expected,
        tolerance: UNTRAINED_TOLERANCE,
        passed: error <= UNTRAINED_TOLERANCE * expected,
    }));
}

/// A loss that is no number.
pub(super) fn lost(ctx: &Context, config: &Config, batch: u64, step: usize, value: f64) {
    let lr = config.lr;
    ctx.note(Text::new(
        format!(
            "Batch {batch} ends at step {step}: the loss is {value}, so every weight after it would be too. What was \
             measured before stays. The learning rate is {lr}; lower lr_e6 and run again."
        ),
        format!(
            "batch {batch} 到第 {step} 步为止：损失变成 {value}，再训练下去权重也全会如此。此前的测量保留。学习率是 {lr}，\
             调低 lr_e6 再跑。"
        ),
    ));
}

/// A batch that does not fit.
pub(super) fn wall(ctx: &Context, step: Step, budget: u64, cause: WallCause) {
    let (batch, needed) = (step.batch, step.peak().bytes());
    let (need, have) = (mib(needed as f64), mib(budget as f64));
    let text = match cause {
        WallCause::Budget => Text::new(
            format!(
                "Batch {batch} needs {need:.0} MiB at its peak; this run may use {have:.0}, so it was not tried."
            ),
            format!("batch {batch} 的峰值需要 {need:.0} MiB，本次运行只允许 {have:.0} MiB，因此没有尝试。"),
        ),
        WallCause::OutOfMemory => Text::new(
            format!(
                "Batch {batch} needs {need:.0} MiB at its peak; the allocator refused, and the memory was given back."
            ),
            format!("batch {batch} 的峰值需要 {need:.0} MiB；分配器拒绝了，已占用的内存都已归还。"),
        ),
    };
    ctx.emit(&Event::Wall(Wall {
        series: step.recipe.name().into(),
        x: batch as f64,
        needed_bytes: needed,
        budget_bytes: budget,
        cause,
        text,
    }));
}

/// The points of one batch.
pub(super) fn batch(ctx: &Context, config: &Config, outcome: &Outcome) {
    let (series, x) = (config.recipe.name(), outcome.batch as f64);
    if let Some(bytes) = outcome.peak_bytes {
        let window = if ctx.device().is_cuda() {
            "peak of the CUDA allocator over all steps from the second on"
        } else {
            "peak of a counting CPU allocator over all steps from the second on"
        };
        ctx.point("peak_mib", series, x, Quantity::some(mib(bytes as f64), "MiB"), window);
    }
    if !outcome.step_ms.is_empty() {
        let clock = if ctx.device().is_cuda() { "CUDA-event" } else { "wall-clock" };
        let window = format!("median of {} {clock} times, after 2 steps", outcome.step_ms.len());
        ctx.point("tokens_per_s", series, x, tokens_per_s(config, outcome), &window);
    }
}

fn tokens_per_s(config: &Config, outcome: &Outcome) -> Quantity {
    let tokens = (outcome.batch * config.context) as f64;
    let rates: Vec<f64> = outcome.step_ms.iter().map(|ms| tokens / ms * 1e3).collect();
    Quantity::median_of(&rates, "tokens/s")
}

/// The named results, and what explains their distance from the closed forms.
pub(super) fn conclude(ctx: &Context, config: &Config, outcomes: &[Outcome]) {
    let mut values = BTreeMap::new();
    for (i, batch) in config.batches.into_iter().enumerate() {
        let number = i + 1;
        let outcome = outcomes.iter().find(|o| o.batch == batch);
        let why = absent(ctx, batch, outcome);
        let quantity = |value: Option<f64>, unit: &str| {
            value.map_or_else(|| Quantity::missing(unit, why.clone()), |value| Quantity::some(value, unit))
        };
        let timed = outcome.filter(|o| !o.step_ms.is_empty());
        let peak = outcome.and_then(|o| o.peak_bytes);
        let rate =
            timed.map_or_else(|| Quantity::missing("tokens/s", why.clone()), |o| tokens_per_s(config, o));
        let step = timed
            .map_or_else(|| Quantity::missing("ms", why.clone()), |o| Quantity::median_of(&o.step_ms, "ms"));
        let last = outcome.and_then(|o| o.losses.last().copied());
        if number == 2 {
            let first = outcome.and_then(|o| o.losses.first().copied());
            let state = outcome.and_then(|o| o.state_bytes).map(|bytes| mib(bytes as f64));
            values.insert("loss_step_0_nat".to_owned(), quantity(first, "nat"));
            values.insert("state_mib".to_owned(), quantity(state, "MiB"));
            if let Some(mfu) = mfu_pct(ctx, config, &rate) {
                values.insert("mfu_2_pct".to_owned(), Quantity::some(mfu, "%"));
            }
        }
        values.insert(format!("tokens_per_s_{number}"), rate);
        values.insert(format!("step_{number}_ms"), step);
        values.insert(format!("peak_{number}_mib"), quantity(peak.map(|bytes| mib(bytes as f64)), "MiB"));
        values.insert(format!("loss_last_{number}_nat"), quantity(last, "nat"));
        let share = outcome.and_then(|o| o.peak_share).map(|share| share * 100.0);
        values.insert(format!("named_at_peak_{number}_pct"), quantity(share, "%"));
        if let Some(outcome) = outcome {
            residuals(ctx, number, outcome);
        }
    }
    let lowest = outcomes.iter().filter_map(|o| o.lowest_share).min_by(f64::total_cmp);
    let lowest = lowest.map_or_else(
        || Quantity::missing("%", "no ledger was written"),
        |share| Quantity::some(share * 100.0, "%"),
    );
    values.insert("named_lowest_pct".to_owned(), lowest);
    if outcomes.iter().any(|o| o.batch == config.batches[1] && !o.losses.is_empty()) {
        spread(ctx, config);
    }
    ctx.emit(&Event::Summary { values });
}

fn absent(ctx: &Context, batch: u64, outcome: Option<&Outcome>) -> String {
    match outcome {
        Some(Outcome { lost_at: Some(step), .. }) => {
            format!("batch {batch} ended at step {step}, whose loss is no number")
        }
        _ if ctx.stopped() => format!("the run was stopped before batch {batch} was measured"),
        _ => format!("batch {batch} did not fit"),
    }
}

/// Named parts of measured minus closed form, for the state and the peaks that are predicted. The state is measured at
/// the middle batch.
fn residuals(ctx: &Context, number: usize, outcome: &Outcome) {
    let rounding = || Text::new("allocator's rounding", "分配器取整");
    let part = |of: String, bytes: u64, name: Text| {
        if bytes > 0 {
            let (value, unit, basis) = (mib(bytes as f64), "MiB".into(), Basis::Allocator);
            ctx.emit(&Event::Residual(ResidualPart { of, name, value, unit, basis }));
        }
    };
    if number == 2 && outcome.state_bytes.is_some() {
        part("state_mib".into(), outcome.state_rounding_bytes, rounding());
    }
    if number > 1 && outcome.peak_bytes.is_some() {
        let of = format!("peak_{number}_mib");
        part(of.clone(), outcome.workspace_bytes, Text::new("library workspace", "库工作区"));
        part(of, outcome.rounding_bytes, rounding());
    }
}

/// Why the first loss lies above `ln V`.
fn spread(ctx: &Context, config: &Config) {
    ctx.emit(&Event::Residual(ResidualPart {
        of: "loss_step_0_nat".into(),
        name: Text::new("spread of the initial logits, h·σ²/2", "初始 logits 的离散度，h·σ²/2"),
        value: config.shape.initial_spread_nat(DEVIATION),
        unit: "nat".into(),
        basis: Basis::ClosedForm,
    }));
}

/// Model FLOP/s over the dense bf16 peak, where that peak is published for this card and the products are bf16.
fn mfu_pct(ctx: &Context, config: &Config, rate: &Quantity) -> Option<f64> {
    if config.recipe.activation_bytes() != 2 {
        return None;
    }
    let peak = dense_bf16_peak_tflops(&ctx.hello().device.name)? * 1e12;
    let flop = config.shape.training_flop_per_token(config.context) as f64;
    Some(rate.value? * flop / peak * 100.0)
}
