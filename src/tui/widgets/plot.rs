//! A chart of a lab: measured curves as lines, closed forms dashed, published curves as sparse dots, both axes
//! logarithmic where the lab says so. Each curve carries its name at its end, so that no colour is needed to tell them
//! apart; what the closed form does not explain stands below in numbers.

use std::collections::BTreeMap;

use infralab_labs::spec::{ChartSpec, Reference};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::symbols::Marker;
use ratatui::text::Line;
use ratatui::widgets::canvas::{Canvas, Line as Segment, Points};
use ratatui::widgets::{Paragraph, Wrap};

use crate::lab::session::Curves;
use crate::tui::app::Core;
use crate::tui::theme::Role;
use crate::units::{digits, signed};

/// Columns left of the plot for the numbers of the y axis.
const Y_LABELS: u16 = 8;

/// Draws a chart.
pub(in crate::tui) fn draw(
    frame: &mut Frame<'_>,
    area: Rect,
    core: &Core,
    spec: &ChartSpec,
    curves: &Curves,
    references: &[Reference],
) {
    let theme = core.theme;
    let legend_lines = legend(core, curves, references);
    let legend_height = legend_rows(&legend_lines, area.width).min(area.height / 4).max(1);
    let [title, body, x_row, legend] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(2),
        Constraint::Length(1),
        Constraint::Length(legend_height),
    ])
    .areas(area);
    let name = core.lang.pick(&spec.title.en, &spec.title.zh).as_str();
    frame.render_widget(Line::styled(name, theme.style(Role::Accent)), title);
    let scale = |v: f64| if spec.log { v.log2() } else { v };
    let measured: BTreeMap<&str, Vec<(f64, f64)>> = curves
        .measured
        .iter()
        .map(|(series, points)| {
            let xy = points.iter().filter_map(|p| p.y.value.map(|y| (scale(p.x), scale(y))));
            (series.as_str(), finite(xy))
        })
        .collect();
    let expected: BTreeMap<&str, Vec<(f64, f64)>> = curves
        .expected
        .iter()
        .map(|(series, points)| {
            (series.as_str(), finite(points.iter().map(|p| (scale(p.x), scale(p.value)))))
        })
        .collect();
    let published: Vec<Vec<(f64, f64)>> =
        references.iter().map(|r| finite(r.points.iter().map(|(x, y)| (scale(*x), scale(*y))))).collect();
    // Published curves widen the y axis only where something was measured or is expected.
    let own = bounds(measured.values().chain(expected.values()).flatten());
    let beside = published.iter().flatten().filter(|p| own.is_some_and(|((a, b), _)| (a..=b).contains(&p.0)));
    let beside: Vec<(f64, f64)> = beside.copied().collect();
    let all = measured.values().chain(expected.values()).flatten().chain(&beside);
    let Some(((x0, x1), (y0, y1))) = bounds(all) else {
        let why = curves.measured.values().flatten().find_map(|p| p.y.missing.clone());
        let text = why.unwrap_or_else(|| core.lang.pick("no points yet", "还没有数据点").to_owned());
        let text = Paragraph::new(text).wrap(Wrap { trim: true });
        frame.render_widget(text.style(theme.style(Role::Dim)), body);
        return;
    };
    let [labels, plot] = Layout::horizontal([Constraint::Length(Y_LABELS), Constraint::Min(4)]).areas(body);
    let unscale = |v: f64| if spec.log { v.exp2() } else { v };
    y_labels(frame, labels, core, unscale(y0), unscale(y1), unscale(f64::midpoint(y0, y1)));
    let names: Vec<&str> = {
        let mut names: Vec<&str> = measured.keys().chain(expected.keys()).copied().collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let style_of = |series: &str| theme.curve(names.iter().position(|n| *n == series).unwrap_or(0));
    // Room at the right for the names at the curves' ends, in cells and on the x axis.
    let name_cells = names.iter().map(|n| n.len()).max().unwrap_or(0) as u16 + 1;
    let curve_cells = plot.width.saturating_sub(name_cells).max(1);
    let room = (x1 - x0) * f64::from(name_cells) / f64::from(curve_cells);
    x_labels(frame, x_row, core, &spec.x, (unscale(x0), unscale(x1)), curve_cells);
    let canvas =
        Canvas::default().marker(Marker::Braille).x_bounds([x0, x1 + room]).y_bounds([y0, y1]).paint(|ctx| {
            for points in &published {
                let inside: Vec<(f64, f64)> =
                    points.iter().copied().filter(|p| (x0..=x1).contains(&p.0)).collect();
                let color = theme.style(Role::Dim).fg.unwrap_or_default();
                ctx.draw(&Points { coords: &along(&inside, SPARSE), color });
            }
            for (series, points) in &expected {
                let color = style_of(series).fg.unwrap_or_default();
                ctx.draw(&Points { coords: &dashed(points, (x1 - x0, y1 - y0), plot), color });
            }
            ctx.layer();
            for (series, points) in &measured {
                let color = style_of(series).fg.unwrap_or_default();
                for pair in points.windows(2) {
                    ctx.draw(&Segment::new(pair[0].0, pair[0].1, pair[1].0, pair[1].1, color));
                }
                ctx.draw(&Points { coords: points, color });
            }
            for (i, points) in published.iter().enumerate() {
                // In the middle: the ends belong to the names of the measured curves.
                let inside: Vec<_> = points.iter().filter(|p| (x0..=x1).contains(&p.0)).collect();
                if let Some(middle) = inside.get(inside.len() / 2) {
                    let number = Line::styled(format!("({})", i + 1), theme.style(Role::Dim));
                    ctx.print(middle.0, middle.1, number);
                }
            }
            for (end, label) in
                end_labels(&measured, (y1 - y0) / f64::from(plot.height.saturating_sub(1).max(1)))
            {
                ctx.print(end.0 + (x1 - x0) * 0.01, end.1, Line::styled(label.to_owned(), style_of(label)));
            }
        });
    frame.render_widget(canvas, plot);
    let text = Paragraph::new(legend_lines).wrap(Wrap { trim: true });
    frame.render_widget(text.style(theme.style(Role::Dim)), legend);
}

/// How to read the lines, what the formulas leave unexplained, the formulas, and who published the dots; the most
/// important first, since a low screen cuts the rest.
fn legend(core: &Core, curves: &Curves, references: &[Reference]) -> Vec<Line<'static>> {
    let lang = core.lang;
    if curves.expected.is_empty() && references.is_empty() {
        let text = lang.pick("line: measured · no closed form for this one", "实线：实测 · 此图没有闭式公式");
        return vec![Line::raw(text.to_owned())];
    }
    let mut lines = Vec::new();
    if !curves.expected.is_empty() {
        let text = lang.pick("line: measured · dashed: closed form", "实线：实测 · 虚线：闭式公式");
        lines.push(Line::raw(format!("{text}{}", residuals(core, curves))));
    }
    // Series that share a formula share its line.
    let mut formulas: Vec<(&str, Vec<&str>)> = Vec::new();
    for (series, points) in &curves.expected {
        let Some(formula) = points.last().map(|e| e.formula.as_str()) else { continue };
        match formulas.iter_mut().find(|(known, _)| *known == formula) {
            Some((_, names)) => names.push(series),
            None => formulas.push((formula, vec![series])),
        }
    }
    lines.extend(
        formulas.iter().map(|(formula, names)| Line::raw(format!("{}: {formula}", names.join(", ")))),
    );
    if !references.is_empty() {
        let names = references.iter().enumerate().map(|(i, r)| format!("({}) {}", i + 1, r.name));
        let names = names.collect::<Vec<_>>().join(", ");
        lines.push(Line::raw(lang.pick(
            format!("dots: published {names}; sources in the table"),
            format!("点：公开数据 {names}；出处见表"),
        )));
    }
    lines
}

/// What the closed forms leave unexplained, curve by curve, each at its largest x.
fn residuals(core: &Core, curves: &Curves) -> String {
    let rests = curves.expected.keys().filter_map(|series| {
        let (x, rest, unit) = residual(curves, series)?;
        Some(format!("{series} {} {unit} ({})", signed(rest), digits(x)))
    });
    let rests: Vec<String> = rests.collect();
    if rests.is_empty() {
        return String::new();
    }
    format!(" · {} {}", core.lang.pick("unexplained:", "未解释："), rests.join(", "))
}

/// Rows that the legend takes when it wraps.
fn legend_rows(lines: &[Line<'_>], width: u16) -> u16 {
    lines.iter().map(|l| (l.width() as u16).div_ceil(width.max(1)).max(1)).sum()
}

/// Measured minus closed form where both are known, at the largest x.
fn residual(curves: &Curves, series: &str) -> Option<(f64, f64, String)> {
    let measured = curves.measured.get(series)?;
    let expected = curves.expected.get(series)?;
    let both = measured.iter().filter_map(|p| {
        let form = expected.iter().find(|e| (e.x - p.x).abs() < 1e-9)?;
        Some((p.x, p.y.value? - form.value, p.y.unit.clone()))
    });
    both.max_by(|a, b| a.0.total_cmp(&b.0))
}

fn finite(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    points.filter(|(x, y)| x.is_finite() && y.is_finite()).collect()
}

type Range = (f64, f64);

fn bounds<'a>(points: impl Iterator<Item = &'a (f64, f64)>) -> Option<(Range, Range)> {
    let mut found: Option<(Range, Range)> = None;
    for (x, y) in points {
        let ((x0, x1), (y0, y1)) = found.unwrap_or(((*x, *x), (*y, *y)));
        found = Some(((x0.min(*x), x1.max(*x)), (y0.min(*y), y1.max(*y))));
    }
    // A single point needs an extent to be drawn in.
    let wide = |(a, b): Range| if b - a < 1e-9 { (a - 0.5, b + 0.5) } else { (a, b) };
    found.map(|(x, y)| (wide(x), wide(y)))
}

/// Points per segment of a published curve: so few that it reads as dots.
const SPARSE: usize = 6;

/// Points along a curve, evenly spread over each segment.
fn along(points: &[(f64, f64)], per_segment: usize) -> Vec<(f64, f64)> {
    let along = points.windows(2).flat_map(|pair| {
        (0..per_segment).map(move |i| {
            let t = i as f64 / per_segment as f64;
            (pair[0].0 + (pair[1].0 - pair[0].0) * t, pair[0].1 + (pair[1].1 - pair[0].1) * t)
        })
    });
    along.chain(points.last().copied()).collect()
}

/// The points of a dashed line: three dots, two left out, by the distance on the screen (2×4 dots a cell).
fn dashed(points: &[(f64, f64)], extent: (f64, f64), plot: Rect) -> Vec<(f64, f64)> {
    const ON: usize = 3;
    const PERIOD: usize = 5;
    let dots = |d: f64, extent: f64, cells: u16, per_cell: f64| d / extent * f64::from(cells) * per_cell;
    let mut kept = Vec::new();
    let mut at = 0_usize;
    for pair in points.windows(2) {
        let (dx, dy) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        let length =
            dots(dx, extent.0, plot.width, 2.0).abs().max(dots(dy, extent.1, plot.height, 4.0).abs());
        let steps = (length.ceil() as usize).clamp(1, 4096);
        for i in 0..steps {
            let t = i as f64 / steps as f64;
            if at % PERIOD < ON {
                kept.push((pair[0].0 + dx * t, pair[0].1 + dy * t));
            }
            at += 1;
        }
    }
    kept.extend(points.last().copied());
    kept
}

/// A label per curve at its last point, moved apart so that no two share a row.
fn end_labels<'a>(measured: &BTreeMap<&'a str, Vec<(f64, f64)>>, row: f64) -> Vec<((f64, f64), &'a str)> {
    let mut ends: Vec<((f64, f64), &str)> =
        measured.iter().filter_map(|(series, points)| points.last().map(|p| (*p, *series))).collect();
    ends.sort_by(|a, b| b.0.1.total_cmp(&a.0.1));
    for i in 1..ends.len() {
        let above = ends[i - 1].0.1;
        if above - ends[i].0.1 < row {
            ends[i].0.1 = above - row;
        }
    }
    ends
}

fn y_labels(frame: &mut Frame<'_>, area: Rect, core: &Core, low: f64, high: f64, middle: f64) {
    let style = core.theme.style(Role::Dim);
    let mut put = |row: u16, value: f64| {
        let text = format!("{:>7} ", digits(value));
        frame.render_widget(Line::styled(text, style), Rect { y: area.y + row, height: 1, ..area });
    };
    let last = area.height.saturating_sub(1);
    put(0, high);
    if last > 3 {
        put(last / 2, middle);
    }
    if last > 0 {
        put(last, low);
    }
}

/// The first x under the left end, the last one under the right end of the curves.
fn x_labels(frame: &mut Frame<'_>, area: Rect, core: &Core, name: &str, ends: (f64, f64), curve_cells: u16) {
    let style = core.theme.style(Role::Dim);
    let plot =
        Rect { x: area.x + Y_LABELS.min(area.width), width: area.width.saturating_sub(Y_LABELS), ..area };
    let first = format!("{name} = {}", ends.0.round());
    let last = format!("{}", ends.1.round());
    let at = curve_cells.saturating_sub(last.len() as u16);
    let fits = usize::from(at) > first.len() && plot.x + at + (last.len() as u16) <= plot.right();
    frame.render_widget(Line::styled(first, style), plot);
    if fits {
        frame.render_widget(
            Line::styled(last.clone(), style),
            Rect { x: plot.x + at, width: last.len() as u16, ..plot },
        );
    }
}
