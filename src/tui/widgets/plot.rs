//! A chart of a lab: measured curves as lines, closed forms as dots, both axes logarithmic where the lab says so. Each
//! curve carries its name at its end, so that no colour is needed to tell them apart.

use std::collections::BTreeMap;

use infralab_labs::spec::ChartSpec;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::symbols::Marker;
use ratatui::text::Line;
use ratatui::widgets::canvas::{Canvas, Line as Segment, Points};

use crate::lab::session::Curves;
use crate::tui::app::Core;
use crate::tui::theme::Role;
use crate::units::digits;

/// Columns left of the plot for the numbers of the y axis.
const Y_LABELS: u16 = 8;

/// Draws a chart.
pub(in crate::tui) fn draw(
    frame: &mut Frame<'_>,
    area: Rect,
    core: &Core,
    spec: &ChartSpec,
    curves: &Curves,
) {
    let [title, body, x_row, legend] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(2),
        Constraint::Length(1),
        Constraint::Length(1),
    ])
    .areas(area);
    let theme = core.theme;
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
    let all = measured.values().chain(expected.values()).flatten();
    let Some(((x0, x1), (y0, y1))) = bounds(all) else {
        let why = curves.measured.values().flatten().find_map(|p| p.y.missing.clone());
        let text = why.unwrap_or_else(|| core.lang.pick("no points yet", "还没有数据点").to_owned());
        let text = ratatui::widgets::Paragraph::new(text).wrap(ratatui::widgets::Wrap { trim: true });
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
            for (series, points) in &expected {
                let color = style_of(series).fg.unwrap_or_default();
                ctx.draw(&Points { coords: &dotted(points), color });
            }
            ctx.layer();
            for (series, points) in &measured {
                let color = style_of(series).fg.unwrap_or_default();
                for pair in points.windows(2) {
                    ctx.draw(&Segment::new(pair[0].0, pair[0].1, pair[1].0, pair[1].1, color));
                }
                ctx.draw(&Points { coords: points, color });
            }
            for (end, label) in end_labels(&measured, (y1 - y0) / f64::from(plot.height.max(1))) {
                ctx.print(end.0 + (x1 - x0) * 0.01, end.1, Line::styled(label.to_owned(), style_of(label)));
            }
        });
    frame.render_widget(canvas, plot);
    let forms: Vec<String> =
        curves.expected.iter().filter_map(|(s, p)| p.last().map(|e| format!("{s}: {}", e.formula))).collect();
    let text = if forms.is_empty() {
        core.lang
            .pick("line: measured · no closed form for this one", "实线：实测 · 此图没有闭式公式")
            .to_owned()
    } else {
        format!(
            "{} {}",
            core.lang.pick("line: measured · dots: closed form", "实线：实测 · 点线：闭式公式"),
            forms.join("; ")
        )
    };
    frame.render_widget(Line::styled(text, theme.style(Role::Dim)), legend);
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

/// Points along a curve, evenly spread over it.
fn dotted(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    const PER_SEGMENT: usize = 8;
    let along = points.windows(2).flat_map(|pair| {
        (0..PER_SEGMENT).map(|i| {
            let t = i as f64 / PER_SEGMENT as f64;
            (pair[0].0 + (pair[1].0 - pair[0].0) * t, pair[0].1 + (pair[1].1 - pair[0].1) * t)
        })
    });
    along.chain(points.last().copied()).collect()
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
