//! The texts of a run's screen: predictions, tables, checks and log.

use std::collections::{BTreeMap, BTreeSet};

use infralab_labs::LabSpec;
use infralab_labs::spec::Reference;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::lab::LabSession;
use crate::lab::record::predictions;
use crate::lab::session::Status;
use crate::tui::app::Core;
use crate::tui::theme::Role;
use crate::units::{digits, quantity, signed};

/// Predicted, by closed form, measured, unexplained: one line per question. The glyph behind a prediction says whether
/// its interval held; a wide screen also says how far off it was.
pub(super) fn prediction_lines(session: &LabSession, width: u16, core: &Core) -> Vec<Line<'static>> {
    const WIDE: u16 = 100;
    let (lang, theme) = (core.lang, core.theme);
    let head = [
        lang.pick("", ""),
        lang.pick("predicted", "预测"),
        lang.pick("closed form", "闭式公式"),
        lang.pick("measured", "实测"),
        lang.pick("unexplained", "未解释"),
    ];
    let results = predictions(session);
    if results.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![Line::styled(columns(&head.map(str::to_owned)), theme.style(Role::Dim))];
    for result in results {
        let number = |v: Option<f64>| v.map_or("–".to_owned(), digits);
        let measured = match (result.measured, &result.missing) {
            (None, Some(_)) => "N/A".to_owned(),
            (value, _) => number(value),
        };
        let held = match result.interval_held {
            Some(true) => " ✓",
            Some(false) => " ✗",
            None => "",
        };
        let row = [
            format!("{} [{}]", result.name, result.unit),
            format!("{}{held}", number(result.predicted)),
            number(result.closed_form),
            measured,
            result.unexplained.map_or("–".to_owned(), signed),
        ];
        let mut spans = vec![Span::raw(columns(&row))];
        let after = match (result.missing, result.log_error) {
            (Some(why), _) => Some(why),
            (None, Some(error)) if width >= WIDE => {
                Some(lang.pick(format!("off by ×{:.2}", error.exp()), format!("相差 {:.2} 倍", error.exp())))
            }
            _ => None,
        };
        spans.extend(after.map(|text| Span::styled(format!("  {text}"), theme.style(Role::Dim))));
        lines.push(Line::from(spans));
    }
    lines
}

fn columns(cells: &[String; 5]) -> String {
    let widths = [28, 12, 12, 12, 12];
    let mut line = String::new();
    for (i, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let padding = " ".repeat(width.max(cell.width()) - cell.width());
        let (before, after) = if i == 0 { ("", padding.as_str()) } else { (padding.as_str(), "") };
        line.extend([before, cell, after]);
    }
    line
}

/// The points of one chart as numbers, closed form beside them, then the checks.
pub(super) fn table_lines(
    lab: &LabSpec,
    session: &LabSession,
    chart: usize,
    references: &[Reference],
    core: &Core,
) -> Vec<Line<'static>> {
    let (lang, theme) = (core.lang, core.theme);
    let mut lines = Vec::new();
    if let Some(spec) = lab.charts.get(chart) {
        lines
            .push(Line::styled(lang.pick(&spec.title.en, &spec.title.zh).clone(), theme.style(Role::Accent)));
        if let Some(curves) = session.charts.get(&spec.metric) {
            let xs: BTreeSet<u64> = curves.measured.values().flatten().map(|p| p.x as u64).collect();
            let names: Vec<&String> = curves.measured.keys().collect();
            let cells =
                |cells: Vec<String>| cells.iter().fold(String::new(), |line, c| format!("{line}{c:>12}"));
            let head = cells(names.iter().map(ToString::to_string).collect());
            lines.push(Line::styled(format!("{:>8}{head}", spec.x), theme.style(Role::Dim)));
            for x in xs {
                let row = names.iter().map(|name| {
                    let point = curves.measured[*name].iter().find(|p| p.x as u64 == x);
                    point.map_or("–".to_owned(), |p| p.y.value.map_or("N/A".to_owned(), digits))
                });
                lines.push(Line::raw(format!("{x:>8}{}", cells(row.collect()))));
            }
            for (name, expected) in &curves.expected {
                let values = expected.iter().map(|e| digits(e.value)).collect::<Vec<_>>().join("  ");
                let text = format!("{} {name}: {values}", lang.pick("closed form", "闭式公式"));
                lines.push(Line::styled(text, theme.style(Role::Dim)));
            }
            for (i, reference) in references.iter().enumerate() {
                let published = lang.pick("published", "公开数据");
                let (name, source) = (&reference.name, &reference.source);
                let text = format!("({}) {published} {name}: {source}", i + 1);
                lines.push(Line::styled(text, theme.style(Role::Dim)));
            }
            let windows: BTreeSet<&str> =
                curves.measured.values().flatten().map(|p| p.window.as_str()).collect();
            lines.extend(windows.into_iter().map(|w| Line::styled(w.to_owned(), theme.style(Role::Dim))));
        }
        lines.push(Line::raw(""));
    }
    lines.push(Line::styled(lang.pick("Results", "结果"), theme.style(Role::Accent)));
    for (name, value) in &session.summary {
        let why = value.missing.as_ref().map(|m| format!("  {m}")).unwrap_or_default();
        lines.push(Line::raw(format!("  {name:<30} {}{why}", quantity(value.value, &value.unit))));
    }
    lines.push(Line::raw(""));
    lines.push(Line::styled(lang.pick("Correctness", "正确性"), theme.style(Role::Accent)));
    for check in &session.checks {
        let (glyph, role) = if check.passed { ("✓", Role::Good) } else { ("✗", Role::Bad) };
        let relative = check.max_abs_error / check.reference_max_abs.max(f64::MIN_POSITIVE);
        lines.push(Line::from(vec![
            Span::styled(format!("  {glyph} "), theme.style(role)),
            Span::raw(format!("{:<28} {} ≤ {}", check.name, digits(relative), digits(check.tolerance))),
            Span::styled(format!("  {}", check.reference), theme.style(Role::Dim)),
        ]));
    }
    lines
}

/// Walls, sentences for the learner, averages per curve, and what was printed.
pub(super) fn log_lines(session: &LabSession, core: &Core) -> Vec<Line<'static>> {
    let (lang, theme) = (core.lang, core.theme);
    let mut lines = Vec::new();
    if let Status::Failed(failure) = &session.status {
        for text in [&failure.what, &failure.why, &failure.next] {
            lines.push(Line::styled(text.clone(), theme.style(Role::Bad)));
        }
        lines.push(Line::raw(""));
    }
    for wall in &session.walls {
        let text = lang.pick(&wall.text.en, &wall.text.zh).clone();
        lines.push(Line::from(vec![Span::styled("▌ ", theme.style(Role::Warn)), Span::raw(text)]));
    }
    for note in &session.notes {
        lines.push(Line::raw(format!("· {}", lang.pick(&note.en, &note.zh))));
    }
    if let Some(averages) = phase_averages(session) {
        lines.push(Line::raw(""));
        let head = lang.pick("Device averages by curve", "各曲线的设备均值");
        lines.push(Line::styled(head, theme.style(Role::Accent)));
        lines.extend(averages.into_iter().map(Line::raw));
    }
    if !session.log.is_empty() {
        lines.push(Line::raw(""));
        lines.push(Line::styled(
            lang.pick("Printed by the worker", "实验进程的输出"),
            theme.style(Role::Accent),
        ));
        lines.extend(session.log.iter().map(|l| Line::styled(l.clone(), theme.style(Role::Dim))));
    }
    lines
}

/// Mean SM, tensor, DRAM activity and power over the snapshots within each group of phases; `None` without GPU
/// readings.
fn phase_averages(session: &LabSession) -> Option<Vec<String>> {
    let mut groups: BTreeMap<&str, Vec<&crate::telemetry::GpuSnapshot>> = BTreeMap::new();
    for snapshot in &session.snapshots {
        let within = session
            .spans
            .iter()
            .find(|s| s.start_ns <= snapshot.mono_ns && s.end_ns.is_none_or(|end| snapshot.mono_ns <= end));
        if let (Some(span), Some(gpu)) = (within, snapshot.gpus.first()) {
            groups.entry(span.name.split('.').next().unwrap_or_default()).or_default().push(gpu);
        }
    }
    if groups.is_empty() {
        return None;
    }
    let mean = |gpus: &[&crate::telemetry::GpuSnapshot],
                read: fn(&crate::telemetry::GpuSnapshot) -> Option<f64>| {
        let values: Vec<f64> = gpus.iter().filter_map(|g| read(g)).collect();
        if values.is_empty() {
            "N/A".into()
        } else {
            digits(values.iter().sum::<f64>() / values.len() as f64)
        }
    };
    Some(
        groups
            .into_iter()
            .map(|(name, gpus)| {
                format!(
                    "  {name:<12} SM {} %  tensor {} %  DRAM {} %  {} W  ({} samples)",
                    mean(&gpus, |g| g.sm_pct),
                    mean(&gpus, |g| g.tensor_pct),
                    mean(&gpus, |g| g.dram_pct),
                    mean(&gpus, |g| g.power_w),
                    gpus.len()
                )
            })
            .collect(),
    )
}
