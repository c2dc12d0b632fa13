//! What the learner is told in words, and the named results.

use std::collections::BTreeMap;

use super::sweep::{Measured, Results};
use super::{Config, Series};
use crate::formulas::attention::naive_score_copies;
use crate::formulas::mib;
use crate::protocol::{Event, Quantity, Text, Wall, WallCause};
use crate::torch::Context;
use crate::torch::sdpa::Backend;

/// Which kernels run here, and why the others do not.
pub(super) fn backends(ctx: &Context, config: &Config, run: &[Backend], refused: &[(Backend, String)]) {
    let names: Vec<String> = run.iter().map(|b| backend_words(ctx, *b)).collect();
    let (dtype, d) = (config.dtype.name(), config.shape.d);
    let (en, zh) = if names.is_empty() {
        ("none".to_owned(), "无".to_owned())
    } else {
        (names.join(", "), names.join("、"))
    };
    ctx.note(Text::new(
        format!("Backends of scaled_dot_product_attention that run here for {dtype}, head_dim {d}: {en}."),
        format!("scaled_dot_product_attention 在本机对 {dtype}、head_dim {d} 可用的后端：{zh}。"),
    ));
    for (backend, why) in refused {
        let name = backend.name();
        ctx.note(Text::new(format!("{name} does not run here: {why}"), format!("{name} 在此不可用：{why}")));
    }
}

/// A backend that broke in the middle of its series.
pub(super) fn backend_failed(ctx: &Context, series: Series, n: u64, why: &str) {
    let name = series.name();
    ctx.note(Text::new(
        format!("{name} ends before n = {n}: {why}"),
        format!("{name} 到 n = {n} 无法继续：{why}"),
    ));
}

/// The memory wall.
pub(super) fn wall(ctx: &Context, series: Series, n: u64, needed: f64, budget: u64, cause: WallCause) {
    let (name, need, have) = (series.name(), bytes_words(needed), bytes_words(budget as f64));
    let text = match cause {
        WallCause::Budget => Text::new(
            format!("{name} at n = {n} would need {need}; this run may use {have}, so it was not tried."),
            format!("{name} 在 n = {n} 需要 {need}，本次运行只允许用 {have}，因此没有尝试。"),
        ),
        WallCause::OutOfMemory => Text::new(
            format!(
                "{name} at n = {n} needs about {need}; the allocator refused, and the memory was given back."
            ),
            format!("{name} 在 n = {n} 约需 {need}，分配器拒绝了请求；已占用的内存都已归还。"),
        ),
    };
    ctx.emit(&Event::Wall(Wall {
        series: name.into(),
        x: n as f64,
        needed_bytes: needed as u64,
        budget_bytes: budget,
        cause,
        text,
    }));
}

/// What the naive series shows, in terms of score copies.
pub(super) fn naive(ctx: &Context, config: &Config, results: &Results) {
    let Some(last) = results.points.iter().rfind(|p| p.series == Series::Naive) else { return };
    let (n, peak) = (last.n, bytes_words(last.peak_extra_bytes));
    let copies = naive_score_copies(config.at(n), config.dtype.bytes(), last.peak_extra_bytes);
    ctx.note(Text::new(
        format!(
            "Naive at n = {n}: {peak} beyond the inputs, {copies:.2} copies of the score matrix at once. \
             Twice the length means four times as much."
        ),
        format!("朴素实现在 n = {n}：比输入多占 {peak}，相当于同时存着 {copies:.2} 份分数矩阵；长度翻倍，用量变为四倍。"),
    ));
}

/// Named results, and one sentence that compares the two at `compare_n`.
pub(super) fn conclude(ctx: &Context, config: &Config, results: &Results) {
    let n = config.compare_n;
    let naive = results.at(Series::Naive, n);
    let half = results.at(Series::Naive, n / 2);
    let fused = fastest_fused(results, n);
    if let (Some(naive), Some(fused)) = (naive, fused) {
        let (name, speed) = (fused.series.name(), naive.forward_backward_ms / fused.forward_backward_ms);
        let bytes = naive.peak_extra_bytes / fused.peak_extra_bytes.max(1.0);
        ctx.note(Text::new(
            format!(
                "At n = {n} {name} is {speed:.1}× as fast as naive, forward and backward, with 1/{bytes:.0} of its \
                 extra memory: the scores never leave the chip."
            ),
            format!(
                "n = {n} 时，{name} 的前向 + 反向速度是朴素实现的 {speed:.1} 倍，内存增量只有它的 1/{bytes:.0}：\
                 分数矩阵从不写回显存（内存）。"
            ),
        ));
    }
    let why = |series: &str, n: u64| {
        if ctx.stopped() {
            format!("stopped before {series} reached n = {n}")
        } else {
            format!("{series} was not measured at n = {n}")
        }
    };
    let or_missing = |value: Option<f64>, unit: &str, why: String| {
        value.map_or_else(|| Quantity::missing(unit, why), |value| Quantity::some(value, unit))
    };
    let growth = naive.zip(half).map(|(at, before)| at.forward_backward_ms / before.forward_backward_ms);
    let growth_n = if naive.is_some() { n / 2 } else { n };
    let speedup =
        naive.zip(fused).map(|(naive, fused)| naive.forward_backward_ms / fused.forward_backward_ms);
    let speedup_why = why(if naive.is_some() { "a fused backend" } else { "naive" }, n);
    let best = |rate: fn(&Measured) -> f64| results.points.iter().map(rate).max_by(f64::total_cmp);
    let nothing = || "nothing was measured".to_owned();
    let mut values = BTreeMap::from([
        (
            "naive_peak_extra_mib".to_owned(),
            or_missing(naive.map(|p| mib(p.peak_extra_bytes)), "MiB", why("naive", n)),
        ),
        ("naive_growth".to_owned(), or_missing(growth, "x", why("naive", growth_n))),
        ("fused_speedup".to_owned(), or_missing(speedup, "x", speedup_why)),
        ("best_forward_tflops".to_owned(), or_missing(best(|p| p.forward_tflops), "TFLOP/s", nothing())),
        (
            "best_forward_backward_tflops".to_owned(),
            or_missing(best(|p| p.forward_backward_tflops), "TFLOP/s", nothing()),
        ),
    ]);
    if let Some(n) = results.naive_wall_n {
        values.insert("naive_wall_n".to_owned(), Quantity::some(n as f64, "tokens"));
    }
    ctx.emit(&Event::Summary { values });
}

/// The quickest fused forward and backward at `n`; `math` is not fused.
fn fastest_fused(results: &Results, n: u64) -> Option<&Measured> {
    results
        .points
        .iter()
        .filter(|p| p.n == n && !matches!(p.series, Series::Naive | Series::Sdpa(Backend::Math)))
        .min_by(|a, b| a.forward_backward_ms.total_cmp(&b.forward_backward_ms))
}

fn backend_words(ctx: &Context, backend: Backend) -> String {
    match (backend, &ctx.hello().cudnn) {
        (Backend::Cudnn, Some(version)) => format!("cudnn ({version})"),
        _ => backend.name().to_owned(),
    }
}

/// Bytes for people: GiB from 1 GiB on, else MiB.
fn bytes_words(bytes: f64) -> String {
    let mib = mib(bytes);
    if mib >= 1024.0 { format!("{:.1} GiB", mib / 1024.0) } else { format!("{mib:.1} MiB") }
}
