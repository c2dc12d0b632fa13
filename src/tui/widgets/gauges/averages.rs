//! Means within a phase, and what the phase cost: joules, and joules a token where the lab tells tokens.

use std::fmt::Write as _;

use infralab_labs::protocol::Point;

use super::Readings;
use crate::lab::LabSession;
use crate::lab::session::Span;
use crate::lang::Lang;
use crate::telemetry::{Average, Gauge, Snapshot};
use crate::units::digits;

/// A lab tells a phase's result right after its end.
const AFTER_NS: u64 = 200_000_000;

/// Mean of a gauge within a phase; `None` where nothing was read in it.
pub(super) fn mean(gauge: &Gauge, readings: &Readings<'_>, gpu: usize, span: &Span) -> Option<Average> {
    let points = gauge.points(&readings.snapshots, gpu);
    Readings::series(&points).between(span.start_ns, span.end_ns.unwrap_or(readings.to_ns))
}

/// Energy between the first and the last reading of the device's counter; `None` with fewer than two.
pub(super) fn energy_j(snapshots: &[&Snapshot], gpu: usize) -> Option<(f64, u64)> {
    let told = |s: &&&Snapshot| s.gpus.get(gpu).is_some_and(|g| g.energy_mj.is_some());
    let (first, last) = (snapshots.iter().find(told)?, snapshots.iter().rev().find(told)?);
    let millijoules = |s: &Snapshot| s.gpus.get(gpu).and_then(|g| g.energy_mj);
    let used = millijoules(last)?.checked_sub(millijoules(first)?)?;
    (last.mono_ns > first.mono_ns).then(|| (used as f64 / 1000.0, last.mono_ns - first.mono_ns))
}

/// What a phase took, in words: its length, how many readings fell into it, its energy, and per token.
pub(super) fn words(readings: &Readings<'_>, gpu: usize, span: &Span, lang: Lang) -> String {
    let end_ns = span.end_ns.unwrap_or(readings.to_ns);
    let seconds = end_ns.saturating_sub(span.start_ns) as f64 / 1e9;
    let inside = readings.snapshots.iter().filter(|s| (span.start_ns..=end_ns).contains(&s.mono_ns)).count();
    let mut text = lang.pick(
        format!(
            "means within {} · {} · {inside} readings",
            span.name,
            crate::units::seconds(end_ns.saturating_sub(span.start_ns))
        ),
        format!(
            "{} 内的均值 · {} · {inside} 个读数",
            span.name,
            crate::units::seconds(end_ns.saturating_sub(span.start_ns))
        ),
    );
    let power = crate::telemetry::gauge::gpu("power_w").and_then(|gauge| mean(gauge, readings, gpu, span));
    if let Some(power) = power {
        let _ = write!(text, " · {:.0} W × {seconds:.2} s = {} J", power.mean, digits(power.mean * seconds));
        if let Some((rate, recipe)) =
            readings.session.and_then(|run| tokens_per_s(run, span.start_ns, end_ns))
        {
            let _ = write!(text, " · {} J/token = {:.0} W ÷ {recipe}", digits(power.mean / rate), power.mean);
        }
    }
    text
}

/// Tokens a second that the lab measured in a phase, and how it is written.
fn tokens_per_s(run: &LabSession, start_ns: u64, end_ns: u64) -> Option<(f64, String)> {
    let in_phase = |metric: &str| -> Option<&Point> {
        let points = run.charts.get(metric)?.measured.values().flatten();
        points.filter(|p| (start_ns..=end_ns + AFTER_NS).contains(&p.mono_ns)).max_by_key(|p| p.mono_ns)
    };
    if let Some(rate) = in_phase("tokens_per_s").and_then(|p| p.y.value).filter(|v| *v > 0.0) {
        return Some((rate, format!("{} token/s", digits(rate))));
    }
    let ms = in_phase("ms_per_token").and_then(|p| p.y.value).filter(|v| *v > 0.0)?;
    Some((1000.0 / ms, format!("({} ms)⁻¹", digits(ms))))
}
