//! A row per gauge: name, newest value or mean over the selected phase, and the history in one line of bars.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span as TextSpan};
use ratatui::widgets::Sparkline;

use super::{Readings, Selection, averages};
use crate::telemetry::gauge::{self, At, Gauge, Group};
use crate::tui::app::Core;
use crate::tui::theme::{Role, SELECTED};
use crate::units;

/// Columns of the cursor, the name and the value.
const CURSOR: u16 = 1;
const NAME: u16 = 13;
const VALUE: u16 = 13;
/// Top of every history: shares are scaled to it.
const FULL: f64 = 1000.0;
/// A value older than this says how old it is: details come every second or two.
const OLD_NS: u64 = 2_500_000_000;

/// Gauges that have something to say: those of the GPUs where there are any, and of the host's those that were not left
/// out for a good reason, such as a worker that does not run or a control group without limits.
pub(super) fn shown(readings: &Readings<'_>, gpu: usize) -> Vec<&'static Gauge> {
    let has_gpu = !readings.machine.gpus.is_empty();
    let says = |g: &&'static Gauge| {
        if !g.is_of_host() {
            return has_gpu;
        }
        let optional = g.field == "worker_rss_bytes" || g.field.starts_with("cgroup_");
        let told = g.newest(&readings.snapshots, gpu).is_some_and(|(_, at)| at.value().is_some());
        !optional || told
    };
    gauge::all().filter(says).collect()
}

/// Draws the rows in `columns`; those that do not fit are scrolled to when they are selected.
pub(super) fn draw(
    frame: &mut Frame<'_>,
    area: Rect,
    core: &Core,
    readings: &Readings<'_>,
    selection: Option<&Selection>,
    columns: u16,
) {
    if area.is_empty() {
        return;
    }
    let gpu = selection.map_or(readings.gpu, |s| s.gpu(readings.machine));
    let gauges = shown(readings, gpu);
    let selected = selection.map(|s| s.position(&gauges));
    let height = usize::from(area.height);
    let rows = with_headings(&gauges, height * usize::from(columns));
    let at = |i: usize| rows.iter().position(|r| matches!(r, Row::Gauge(j) if *j == i)).unwrap_or(0);
    let capacity = height * usize::from(columns);
    let first =
        selected.map_or(0, |s| (at(s) + 2).saturating_sub(capacity).min(rows.len().saturating_sub(capacity)));
    let width = area.width / columns;
    for (i, row) in rows.iter().skip(first).take(capacity).enumerate() {
        let (column, line) = ((i / height) as u16, (i % height) as u16);
        let cell =
            Rect { x: area.x + column * width, y: area.y + line, width: width.saturating_sub(1), height: 1 };
        match row {
            Row::Heading(group) => {
                let text = format!("{} {}", core.glyphs.rule(), group.name(core.lang));
                frame.render_widget(Line::styled(text, core.theme.style(Role::Dim)), cell);
            }
            Row::Gauge(i) => {
                let is_selected = selected == Some(*i);
                draw_row(frame, cell, core, readings, selection, gauges[*i], gpu, is_selected);
            }
        }
    }
}

enum Row {
    Heading(Group),
    Gauge(usize),
}

/// Rows with a heading before each group, where they all fit so; else without.
fn with_headings(gauges: &[&'static Gauge], capacity: usize) -> Vec<Row> {
    let groups = Group::ALL.into_iter().filter(|group| gauges.iter().any(|g| g.group == *group)).count();
    let roomy = gauges.len() + groups <= capacity;
    let mut rows = Vec::new();
    let mut group = None;
    for (i, gauge) in gauges.iter().enumerate() {
        if roomy && group != Some(gauge.group) {
            rows.push(Row::Heading(gauge.group));
        }
        group = Some(gauge.group);
        rows.push(Row::Gauge(i));
    }
    rows
}

#[expect(
    clippy::too_many_arguments,
    reason = "one row of a table is drawn from what the table is drawn from"
)]
fn draw_row(
    frame: &mut Frame<'_>,
    row: Rect,
    core: &Core,
    readings: &Readings<'_>,
    selection: Option<&Selection>,
    gauge: &'static Gauge,
    gpu: usize,
    is_selected: bool,
) {
    let theme = core.theme;
    let name = core.lang.pick(gauge.name.0, gauge.name.1);
    let style = if is_selected { SELECTED } else { ratatui::style::Style::new() };
    let cursor = if is_selected { core.glyphs.cursor() } else { " " };
    let label = Line::from(vec![TextSpan::raw(cursor), TextSpan::styled(name, style)]);
    let label_width = (CURSOR + NAME).min(row.width);
    frame.render_widget(label, Rect { width: label_width, ..row });
    let rest = Rect { x: row.x + label_width, width: row.width - label_width, ..row };
    let value = match selection.and_then(|s| s.span(readings)) {
        Some(span) => match averages::mean(gauge, readings, gpu, span) {
            Some(average) => Ok(format!("⌀ {}", gauge.show(average.mean))),
            None => Err(core.lang.pick("no reading in this phase", "这个阶段内没有读数").to_owned()),
        },
        None => newest(gauge, readings, gpu, core),
    };
    let value = match value {
        Ok(value) => value,
        Err(why) => {
            frame.render_widget(Line::styled(format!("N/A  {why}"), theme.style(Role::Dim)), rest);
            return;
        }
    };
    let value_width = VALUE.min(rest.width);
    frame.render_widget(Line::raw(value), Rect { width: value_width, ..rest });
    let history = Rect { x: rest.x + value_width, width: rest.width - value_width, ..rest };
    let points = gauge.points(&readings.snapshots, gpu);
    let series = Readings::series(&points);
    let columns = series.columns(readings.from_ns, readings.to_ns, usize::from(history.width));
    let highest = columns.iter().flatten().map(|a| a.max).fold(0.0, f64::max);
    // Without a limit of its own a history is drawn to its own top.
    let top = gauge.top(readings.machine, gpu).filter(|top| *top > 0.0).unwrap_or(highest);
    if history.width == 0 || top <= 0.0 {
        return;
    }
    let data: Vec<Option<u64>> = columns
        .into_iter()
        .map(|a| a.map(|a| (a.mean / top * FULL).clamp(0.0, FULL).round() as u64))
        .collect();
    let line = Sparkline::default()
        .data(data)
        .max(FULL as u64)
        .bar_set(core.glyphs.bars())
        .absent_value_symbol(" ")
        .style(theme.style(Role::Good));
    frame.render_widget(line, history);
}

/// The newest value with its age where it is old, or why there is none.
pub(super) fn newest(
    gauge: &Gauge,
    readings: &Readings<'_>,
    gpu: usize,
    core: &Core,
) -> Result<String, String> {
    match gauge.newest(&readings.snapshots, gpu) {
        Some((snapshot, At::Value(value))) => {
            let age = readings.to_ns.saturating_sub(snapshot.mono_ns);
            let age = if age > OLD_NS { format!(" {}", units::seconds(age)) } else { String::new() };
            Ok(format!("{}{age}", gauge.show(value)))
        }
        Some((_, At::Missing(why))) => Err(why),
        Some((_, At::NotAsked)) | None => Err(core.lang.pick("not read", "没有读到").to_owned()),
    }
}
