//! What the selected gauge means, and what sampling costs.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span as TextSpan};
use ratatui::widgets::{Paragraph, Wrap};

use super::{Readings, Selection, averages, head};
use crate::tui::app::Core;
use crate::tui::theme::Role;
use crate::units;

/// Meaning, window, trap and term of the selected gauge; with a phase selected, what the phase took.
pub(super) fn draw(
    frame: &mut Frame<'_>,
    area: Rect,
    core: &Core,
    readings: &Readings<'_>,
    selection: &Selection,
) {
    let Some(gauge) = selection.gauge(readings).filter(|_| area.height > 0) else { return };
    let (lang, theme) = (core.lang, core.theme);
    let dim = theme.style(Role::Dim);
    let gpu = selection.gpu(readings.machine);
    let name = lang.pick(gauge.name.0, gauge.name.1);
    let mut lines = vec![Line::from(vec![
        TextSpan::styled(name, theme.style(Role::Accent)),
        TextSpan::raw(lang.pick(": ", "：")),
        TextSpan::raw(lang.pick(gauge.means.0, gauge.means.1)),
        TextSpan::styled(format!(" · {}", gauge.window.words(lang)), dim),
        TextSpan::styled(lang.pick(" · trap: ", " · 陷阱："), theme.style(Role::Warn)),
        TextSpan::raw(lang.pick(gauge.trap.0, gauge.trap.1)),
        TextSpan::styled(lang.pick(" · Enter: term", " · Enter：术语"), dim),
    ])];
    if let Some(span) = selection.span(readings) {
        lines.insert(0, Line::styled(averages::words(readings, gpu, span, lang), theme.style(Role::Warn)));
    } else if let Some(pattern) = head::fingerprint(readings, selection, gpu).and_then(|f| f.pattern()) {
        let text = format!("{}{}{}", pattern.name(lang), lang.pick(": ", "："), pattern.means(lang));
        lines.push(Line::styled(text, dim));
    }
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: true }), area);
}

/// Length of the picture, samples a second, what one costs, and the energy since the first reading.
pub(super) fn draw_cost(
    frame: &mut Frame<'_>,
    area: Rect,
    core: &Core,
    readings: &Readings<'_>,
    selection: &Selection,
) {
    let Some(newest) = readings.newest().filter(|_| area.height > 0) else { return };
    let lang = core.lang;
    let mut parts = vec![units::seconds(readings.to_ns.saturating_sub(readings.from_ns))];
    let few = &readings.snapshots[readings.snapshots.len().saturating_sub(20)..];
    let mean = |of: &dyn Fn(&crate::telemetry::Snapshot) -> u64| {
        few.iter().map(|s| of(s)).sum::<u64>() as f64 / few.len() as f64 / 1000.0
    };
    let wall_ms = mean(&|s| s.cost_us);
    let hz = readings.hz();
    if let Some(hz) = hz {
        parts.push(lang.pick(format!("{hz:.1} samples/s"), format!("每秒采样 {hz:.1} 次")));
    }
    let mut cost = lang.pick(format!("a sample takes {wall_ms:.2} ms"), format!("每次 {wall_ms:.2} ms"));
    if let (Some(hz), true) = (hz, newest.cpu_us.is_some()) {
        let share = mean(&|s| s.cpu_us.unwrap_or(0)) * hz / 10.0;
        cost += &lang.pick(format!(" ({share:.2} % of one core)"), format!("（占一个核的 {share:.2} %）"));
    }
    parts.push(cost);
    let gpu = selection.gpu(readings.machine);
    if let Some((joules, ns)) = averages::energy_j(&readings.snapshots, gpu) {
        parts.push(lang.pick(
            format!("energy {} in {}", joules_words(joules), units::seconds(ns)),
            format!("{} 内耗能 {}", units::seconds(ns), joules_words(joules)),
        ));
    }
    let line = Line::styled(parts.join(" · "), core.theme.style(Role::Dim));
    frame.render_widget(line, area);
}

fn joules_words(joules: f64) -> String {
    if joules < 10_000.0 {
        format!("{} J", units::digits(joules))
    } else {
        format!("{} kJ", units::digits(joules / 1000.0))
    }
}
