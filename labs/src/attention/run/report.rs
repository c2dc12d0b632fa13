//! What the learner is told in words, and the named results.

use std::collections::BTreeMap;

use super::sweep::{Measured, Results};
use super::{Config, Series};
use crate::formulas::attention::score_copies_in;
use crate::formulas::mib;
use crate::protocol::{Event, Quantity, Text, Wall, WallCause};
use crate::torch::sdpa::Backend;
use crate::torch::{Context, Error};

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
pub(super) fn backend_failed(ctx: &Context, series: Series, n: u64, why: &Error) {
    let name = series.name();
    ctx.note(Text::new(
        format!("{name} ends before n = {n}: {why}"),
        format!("{name} 到 n = {n} 无法继续：{why}"),
    ));
}

/// The memory wall.
pub(super) fn wall(ctx: &Context, series: Series, n: u64, needed: f64, budget: u64, cause: WallCause) {
    let (name, need, have) = (series.name(), bytes_words(needed), bytes_words(budget as f64));
    // A fused kernel has no closed form for its workspace, only a bound.
    let (needs, needs_zh) =
        if series == Series::Naive { ("needs", "需要") } else { ("may need up to", "最多可能需要") };
    let text = match cause {
        WallCause::Budget => Text::new(
            format!("{name} at n = {n} {needs} {need}; this run may use {have}, so it was not tried."),
            format!("{name} 在 n = {n} {needs_zh} {need}，本次运行只允许用 {have}，因此没有尝试。"),
        ),
        WallCause::OutOfMemory => Text::new(
            format!(
                "{name} at n = {n} {needs} {need}; the allocator refused, and the memory was given back."
            ),
            format!("{name} 在 n = {n} {needs_zh} {need}；分配器拒绝了请求，已占用的内存都已归还。"),
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
    let copies = score_copies_in(config.at(n), config.dtype.bytes(), last.peak_extra_bytes);
    ctx.note(Text::new(
        format!(
            "Naive at n = {n}: {peak} beyond the inputs, {copies:.2} copies of the score matrix at once. \
             Twice the length means four times as much."
        ),
        format!("朴素实现在 n = {n}：比输入多占 {peak}，相当于同时存着 {copies:.2} 份分数矩阵；长度翻倍，用量变为四倍。"),
    ));
}

/// The comparison in one sentence, and the named results.
pub(super) fn conclude(ctx: &Context, config: &Config, results: &Results) {
    let n = config.compare_n;
    let (naive, half) = (results.at(Series::Naive, n), results.at(Series::Naive, n / 2));
    let fused = fastest_fused(results, n);
    if let (Some(naive), Some(fused)) = (naive, fused) {
        compare(ctx, naive, fused);
    }
    let stopped = ctx.stopped();
    let absent = |series: &str, n: u64| {
        let reason = if stopped { "the run was stopped before" } else { "not measured:" };
        format!("{reason} {series} at n = {n}")
    };
    let quantity = |value: Option<f64>, unit: &str, absent: String| {
        value.map_or_else(|| Quantity::missing(unit, absent), |value| Quantity::some(value, unit))
    };
    let ratio = |a: Option<&Measured>, b: Option<&Measured>| {
        a.zip(b).map(|(a, b)| a.forward_backward_ms / b.forward_backward_ms)
    };
    let best = |rate: fn(&Measured) -> f64| {
        let best = results.points.iter().map(rate).max_by(f64::total_cmp);
        quantity(best, "TFLOP/s", "nothing was measured".into())
    };
    let peak = naive.map(|p| mib(p.peak_extra_bytes));
    let growth_lacks = absent("naive", if naive.is_some() { n / 2 } else { n });
    let speedup_lacks = absent(if naive.is_some() { "a fused backend" } else { "naive" }, n);
    let mut values = BTreeMap::from([
        ("naive_peak_extra_mib".to_owned(), quantity(peak, "MiB", absent("naive", n))),
        ("naive_growth".to_owned(), quantity(ratio(naive, half), "x", growth_lacks)),
        ("fused_speedup".to_owned(), quantity(ratio(naive, fused), "x", speedup_lacks)),
        ("best_forward_tflops".to_owned(), best(|p| p.forward_tflops)),
        ("best_forward_backward_tflops".to_owned(), best(|p| p.forward_backward_tflops)),
    ]);
    if let Some(n) = results.naive_wall_n {
        values.insert("naive_wall_n".to_owned(), Quantity::some(n as f64, "tokens"));
    }
    ctx.emit(&Event::Summary { values });
}

fn compare(ctx: &Context, naive: &Measured, fused: &Measured) {
    let (n, name) = (naive.n, fused.series.name());
    let speed = naive.forward_backward_ms / fused.forward_backward_ms;
    let bytes = naive.peak_extra_bytes / fused.peak_extra_bytes.max(1.0);
    ctx.note(Text::new(
        format!(
            "At n = {n} the fastest fused backend is {name}: forward and backward {speed:.1}× as fast as naive, with \
             1/{bytes:.0} of its extra memory, because the score matrix is never written out."
        ),
        format!(
            "n = {n} 时最快的融合后端是 {name}：前向 + 反向的速度是朴素实现的 {speed:.1} 倍，内存增量只有它的 \
             1/{bytes:.0}，因为分数矩阵从不整张写出。"
        ),
    ));
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
