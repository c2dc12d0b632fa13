//! What the learner is told in words.

use std::fmt::Write as _;

use super::sweep::{Measured, Pass, Results};
use super::{Config, Mode, Series};
use crate::formulas::attention::{score_copies_in, score_copy_bytes};
use crate::formulas::mib;
use crate::protocol::{Event, Text, Wall, WallCause};
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
    let (n, extra) = (last.n, last.judged().peak_extra_bytes);
    let (shape, bytes) = (config.at(n), config.dtype.bytes() as f64);
    let copies = match config.mode {
        Mode::Forward => extra / score_copy_bytes(shape, bytes),
        Mode::Both | Mode::Steps => score_copies_in(shape, bytes, extra),
    };
    let peak = bytes_words(extra);
    ctx.note(Text::new(
        format!(
            "Naive at n = {n}: {peak} beyond the inputs, {copies:.2} copies of the score matrix at once. \
             Twice the length means four times as much."
        ),
        format!("朴素实现在 n = {n}：比输入多占 {peak}，相当于同时存着 {copies:.2} 份分数矩阵；长度翻倍，用量变为四倍。"),
    ));
}

/// Longest repetition over the shortest beyond which a point is not to be trusted to a few percent.
const BUSY: f64 = 1.5;

/// Says at which lengths of a series the repetitions lie far apart.
pub(super) fn spread(ctx: &Context, series: Series, results: &Results) {
    let (mut en, mut zh) = (String::new(), String::new());
    let passes = results.points.iter().filter(|p| p.series == series).flat_map(Measured::named_passes);
    for (n, [name_en, name_zh], pass) in passes.filter(|(_, _, pass)| pass.timing.spread() > BUSY) {
        let spread = pass.timing.spread();
        let (comma, pause) = if en.is_empty() { ("", "") } else { (", ", "、") };
        // Writing to a string cannot fail.
        let _ = write!(en, "{comma}{name_en} at n = {n} ({spread:.1}×)");
        let _ = write!(zh, "{pause}n = {n} 的{name_zh}（{spread:.1} 倍）");
    }
    if en.is_empty() {
        return;
    }
    let name = series.name();
    ctx.note(Text::new(
        format!(
            "{name}: the slowest repetition took more than {BUSY}× the fastest for {en}. The machine was busy with \
             something else, or the work is too short to time well; the points carry their range."
        ),
        format!(
            "{name}：最慢一次超过最快一次的 {BUSY} 倍：{zh}。要么机器还在忙别的，要么这段计算太短、测不准；\
             每个点都附有最小值和最大值。"
        ),
    ));
}

/// How memory grew over the last doubling of the length.
pub(super) fn growth(ctx: &Context, naive: f64, fused: Option<(Series, f64)>) {
    let (mut en, mut zh) = (
        format!("Over the last doubling, the extra memory of naive grew as n^{naive:.2}"),
        format!("最后一次翻倍时，内存增量的增长：朴素实现按 n^{naive:.2}"),
    );
    if let Some((series, exponent)) = fused {
        let _ = write!(en, ", that of {} as n^{exponent:.2}", series.name());
        let _ = write!(zh, "，{} 按 n^{exponent:.2}", series.name());
    }
    ctx.note(Text::new(format!("{en}: 2 is quadratic, 1 is linear."), format!("{zh}；2 即平方，1 即线性。")));
}

/// The comparison in one sentence.
pub(super) fn compare(ctx: &Context, config: &Config, naive: &Measured, fused: &Measured) {
    let (n, name) = (naive.n, fused.series.name());
    let (slow, fast): (&Pass, &Pass) = (naive.judged(), fused.judged());
    let speed = slow.timing.median_ms() / fast.timing.median_ms();
    let bytes = slow.peak_extra_bytes / fast.peak_extra_bytes.max(1.0);
    let (work, work_zh) = match config.mode {
        Mode::Forward => ("forward", "前向"),
        Mode::Both | Mode::Steps => ("forward and backward", "前向 + 反向"),
    };
    ctx.note(Text::new(
        format!(
            "At n = {n} the fastest fused backend is {name}: {work} {speed:.1}× as fast as naive, with \
             1/{bytes:.0} of its extra memory, because the score matrix is never written out."
        ),
        format!(
            "n = {n} 时最快的融合后端是 {name}：{work_zh}的速度是朴素实现的 {speed:.1} 倍，内存增量只有它的 \
             1/{bytes:.0}，因为分数矩阵从不整张写出。"
        ),
    ));
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
