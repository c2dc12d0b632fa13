//! The selected gauge over time: what was read, what a slower monitor would have seen of it, the limit that the data
//! sheet or the driver gives, and the highest that was measured on such a GPU.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span as TextSpan};
use ratatui::widgets::canvas::{Canvas, Context, Line as Segment, Points};
use ratatui::widgets::{Paragraph, Wrap};

use super::{Readings, Selection, averages, rows};
use crate::lab::ceiling;
use crate::telemetry::lens::{self, Seen};
use crate::telemetry::{Average, Gauge};
use crate::tui::app::Core;
use crate::tui::theme::Role;
use crate::units;

/// Columns left of the plot for the numbers of the y axis.
const Y_LABELS: u16 = 9;

/// Draws the chart; nothing where there is no room.
pub(super) fn draw(
    frame: &mut Frame<'_>,
    area: Rect,
    core: &Core,
    readings: &Readings<'_>,
    selection: &Selection,
) {
    let Some(gauge) = selection.gauge(readings).filter(|_| area.height >= 4 && area.width > Y_LABELS + 8)
    else {
        return;
    };
    let theme = core.theme;
    let gpu = selection.gpu(readings.machine);
    let [title, legend, body, x_row] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(1),
    ])
    .areas(area.inner(ratatui::layout::Margin::new(1, 0)));
    let [labels, plot] = Layout::horizontal([Constraint::Length(Y_LABELS), Constraint::Min(1)]).areas(body);
    let points = gauge.points(&readings.snapshots, gpu);
    let series = Readings::series(&points);
    let (across, _) = core.glyphs.points();
    let columns = series.columns(readings.from_ns, readings.to_ns, usize::from(plot.width * across));
    let seen = selection.lens.period_s().map(|s| lens::seen(&points, gauge.window, s));
    let ceiling = ceiling::of(readings.machine.gpus.get(gpu).and_then(|g| g.name.as_deref()), gauge.field);
    let highest = columns.iter().flatten().map(|a| a.max).reduce(f64::max);
    let limit = gauge.top(readings.machine, gpu).filter(|top| *top > 0.0);
    let top = limit.or(highest.filter(|h| *h > 0.0)).unwrap_or(1.0);

    let name = core.lang.pick(gauge.name.0, gauge.name.1);
    let window = readings.to_ns.saturating_sub(readings.from_ns);
    let head = format!("{name} · {}", units::seconds(window));
    frame.render_widget(Line::styled(head, theme.style(Role::Accent)), title);
    frame
        .render_widget(legend_line(core, gauge, highest, limit, ceiling, seen.as_deref(), selection), legend);
    if highest.is_none() {
        // The row has room for the beginning of the reason, this has it all.
        let why = rows::newest(gauge, readings, gpu, core).err().unwrap_or_default();
        let text =
            Paragraph::new(format!("N/A  {why}")).style(theme.style(Role::Dim)).wrap(Wrap { trim: true });
        frame.render_widget(text, body);
        return;
    }
    y_labels(frame, labels, core, gauge, top);
    x_labels(frame, Rect { x: plot.x, width: plot.width, ..x_row }, core, readings);

    let length = columns.len().max(2) as f64;
    let color = |role: Role| theme.style(role).fg.unwrap_or_default();
    let lens_columns = seen
        .as_ref()
        .map(|seen| lens::columns(seen, readings.from_ns, readings.to_ns, usize::from(plot.width)));
    let canvas = Canvas::default()
        .marker(core.glyphs.marker())
        .x_bounds([0.0, length - 1.0])
        .y_bounds([0.0, top])
        .paint(|ctx| {
            if let Some(span) = selection.span(readings) {
                let end = span.end_ns.unwrap_or(readings.to_ns);
                for edge in [span.start_ns, end] {
                    let x = position(readings, edge) * (length - 1.0);
                    let every_other = (0..8).map(|i| (x, top * f64::from(i) / 8.0)).collect::<Vec<_>>();
                    ctx.draw(&Points { coords: &every_other, color: color(Role::Warn) });
                }
                if let Some(mean) = averages::mean(gauge, readings, gpu, span) {
                    let x = [span.start_ns, end].map(|edge| position(readings, edge) * (length - 1.0));
                    ctx.draw(&Segment::new(x[0], mean.mean, x[1], mean.mean, color(Role::Warn)));
                }
            }
            if let Some(ceiling) = ceiling {
                let dashes = (0..plot.width).step_by(2).map(|i| {
                    (f64::from(i) / f64::from(plot.width.max(2) - 1) * (length - 1.0), ceiling.value)
                });
                ctx.draw(&Points { coords: &dashes.collect::<Vec<_>>(), color: color(Role::Dim) });
            }
            real(ctx, &columns, color(Role::Good));
            if let Some(lens_columns) = &lens_columns {
                ctx.layer();
                ctx.marker(core.glyphs.second_marker());
                let scale = (length - 1.0) / f64::from(plot.width.max(2) - 1);
                let steps = lens_columns.iter().enumerate();
                let steps: Vec<(f64, f64)> =
                    steps.filter_map(|(i, v)| v.map(|v| (i as f64 * scale, v.min(top)))).collect();
                ctx.draw(&Points { coords: &steps, color: color(Role::Warn) });
            }
        });
    frame.render_widget(canvas, plot);
}

/// Where a time is on the axis, 0 to 1.
fn position(readings: &Readings<'_>, ns: u64) -> f64 {
    let length = readings.to_ns.saturating_sub(readings.from_ns).max(1) as f64;
    (ns.saturating_sub(readings.from_ns) as f64 / length).min(1.0)
}

/// What was read: from column to column where both have a reading, with the highest of a column as a point above.
fn real(ctx: &mut Context<'_>, columns: &[Option<Average>], color: ratatui::style::Color) {
    let mut before: Option<(f64, f64)> = None;
    for (i, average) in columns.iter().enumerate() {
        let Some(average) = average else {
            before = None;
            continue;
        };
        let here = (i as f64, average.mean);
        if let Some(before) = before {
            ctx.draw(&Segment::new(before.0, before.1, here.0, here.1, color));
        } else {
            ctx.draw(&Points { coords: &[here], color });
        }
        if average.max > average.mean {
            ctx.draw(&Points { coords: &[(here.0, average.max)], color });
        }
        before = Some(here);
    }
}

fn legend_line(
    core: &Core,
    gauge: &Gauge,
    highest: Option<f64>,
    limit: Option<f64>,
    ceiling: Option<&ceiling::Ceiling>,
    seen: Option<&[Seen]>,
    selection: &Selection,
) -> Line<'static> {
    let (lang, theme) = (core.lang, core.theme);
    let mut spans: Vec<TextSpan<'static>> = Vec::new();
    let mut add = |text: String, style: Style| {
        if !spans.is_empty() {
            spans.push(TextSpan::styled(" · ", theme.style(Role::Dim)));
        }
        spans.push(TextSpan::styled(text, style));
    };
    if let Some(highest) = highest {
        let text = format!("{} {}", lang.pick("read, highest", "实测最高"), gauge.show(highest));
        add(text, theme.style(Role::Good));
    }
    if let (Some(seen), Some(period)) = (seen, selection.lens.period_s()) {
        let saw = lens::highest(seen).map_or_else(|| "N/A".to_owned(), |v| gauge.show(v));
        let glyph = if core.glyphs == crate::tui::glyphs::Glyphs::Ascii { "=" } else { "━" };
        add(
            lang.pick(
                format!("{glyph} a {period} s scraper saw at most {saw}"),
                format!("{glyph} {period} s 采一次的监控最多看到 {saw}"),
            ),
            theme.style(Role::Warn),
        );
    }
    if let Some(ceiling) = ceiling {
        add(
            lang.pick(
                format!("┄ measured ceiling {} ({})", gauge.show(ceiling.value), ceiling.recording),
                format!("┄ 实测上限 {}（{}）", gauge.show(ceiling.value), ceiling.recording),
            ),
            theme.style(Role::Dim),
        );
    }
    if let Some(limit) = limit {
        add(
            format!("{} {}", lang.pick("top: limit", "顶格：上限"), gauge.show(limit)),
            theme.style(Role::Dim),
        );
    }
    Line::from(spans)
}

fn y_labels(frame: &mut Frame<'_>, area: Rect, core: &Core, gauge: &Gauge, top: f64) {
    let style = core.theme.style(Role::Dim);
    let mut put = |row: u16, value: f64| {
        let text = Line::styled(format!("{} ", gauge.show(value)), style).right_aligned();
        frame.render_widget(text, Rect { y: area.y + row, height: 1, ..area });
    };
    if area.height == 0 {
        return;
    }
    put(0, top);
    if area.height >= 5 {
        put(area.height / 2, top * (1.0 - f64::from(area.height / 2) / f64::from(area.height - 1)));
    }
    if area.height > 1 {
        put(area.height - 1, 0.0);
    }
}

fn x_labels(frame: &mut Frame<'_>, area: Rect, core: &Core, readings: &Readings<'_>) {
    let style = core.theme.style(Role::Dim);
    let length = units::seconds(readings.to_ns.saturating_sub(readings.from_ns));
    let (left, right) = if readings.session.is_some() {
        ("0".to_owned(), length)
    } else {
        (format!("−{length}"), core.lang.pick("now", "现在").to_owned())
    };
    frame.render_widget(Line::styled(left, style), area);
    frame.render_widget(Line::styled(right, style).right_aligned(), area);
}
