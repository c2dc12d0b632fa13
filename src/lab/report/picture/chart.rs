//! A chart: measured curves with the ranges of their points, closed forms dashed, published readings thin and grey.

use std::collections::BTreeMap;

use infralab_labs::spec::{ChartSpec, Reference};
use plotters::prelude::*;

use super::axis::Axis;
use super::legend::{self, Entry, Sample};
use super::{FONT, GRID, INK, PUBLISHED};
use crate::lab::session::Curves;
use crate::lang::Lang;
use crate::visible::visible_line;

/// Width of the plot without the legend, pixels.
const WIDTH: u32 = 620;
/// Height of the plot, pixels.
const HEIGHT: u32 = 360;

/// The drawing; `None` when no point can be drawn.
pub(in super::super) fn chart(
    curves: &Curves,
    spec: Option<&ChartSpec>,
    references: &[Reference],
    lang: Lang,
) -> Option<String> {
    let plot = Plot::of(curves, spec, references, lang)?;
    let size = (WIDTH + legend::WIDTH, HEIGHT.max(legend::height(&plot.entries)));
    let mut svg = String::new();
    // Drawing into a string fails only where plotters is asked for what it does not know; then there is no picture.
    plot.draw(SVGBackend::with_string(&mut svg, size)).ok()?;
    Some(svg)
}

struct Plot {
    x: Axis,
    y: Axis,
    x_name: String,
    y_name: String,
    /// Points of each measured curve with the ends of their ranges, on the drawn scale.
    measured: Vec<(usize, Vec<Mark>)>,
    forms: Vec<(usize, Vec<(f64, f64)>)>,
    published: Vec<Vec<(f64, f64)>>,
    entries: Vec<Entry>,
}

struct Mark {
    at: (f64, f64),
    range: Option<(f64, f64)>,
}

impl Plot {
    fn of(curves: &Curves, spec: Option<&ChartSpec>, references: &[Reference], lang: Lang) -> Option<Self> {
        let log = spec.is_some_and(|s| s.log);
        let points = || curves.measured.values().flatten();
        let references: Vec<&Reference> =
            references.iter().filter(|r| spec.is_some_and(|s| s.metric == r.metric)).collect();
        let mut xs: Vec<f64> = points().map(|p| p.x).collect();
        let own = xs.clone();
        let mut ys: Vec<f64> = points()
            .flat_map(|p| p.y.value.into_iter().chain(p.y.value.and(p.y.range).into_iter().flatten()))
            .collect();
        if ys.is_empty() {
            return None;
        }
        xs.extend(curves.expected.values().flatten().map(|e| e.x));
        ys.extend(curves.expected.values().flatten().map(|e| e.value));
        xs.extend(references.iter().flat_map(|r| &r.points).map(|p| p.0));
        ys.extend(references.iter().flat_map(|r| &r.points).map(|p| p.1));
        let (x, y) = (Axis::over(&xs, log, &own)?, Axis::over(&ys, log, &[])?);
        let names: BTreeMap<&str, usize> = curves
            .measured
            .keys()
            .chain(curves.expected.keys())
            .map(String::as_str)
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .enumerate()
            .map(|(i, name)| (name, i))
            .collect();
        let place = |px: f64, py: f64| Some((x.at(px)?, y.at(py)?));
        let mut entries = Vec::new();
        let (mut measured, mut forms, mut published) = (Vec::new(), Vec::new(), Vec::new());
        for (name, points) in &curves.measured {
            let marks: Vec<Mark> = points
                .iter()
                .filter_map(|p| {
                    let at = place(p.x, p.y.value?)?;
                    let range = p.y.range.and_then(|[low, high]| Some((y.at(low)?, y.at(high)?)));
                    Some(Mark { at, range })
                })
                .collect();
            let i = names[name.as_str()];
            entries.push(Entry { sample: Sample::Measured(i), name: name.clone() });
            measured.push((i, marks));
        }
        for (name, points) in &curves.expected {
            let i = names[name.as_str()];
            let form = lang.pick("closed form", "闭式公式");
            entries.push(Entry { sample: Sample::Form(i), name: format!("{name}: {form}") });
            forms.push((i, points.iter().filter_map(|e| place(e.x, e.value)).collect()));
        }
        for reference in references {
            let name = format!("{} · {}", reference.name, lang.pick("published", "公开数据"));
            entries.push(Entry { sample: Sample::Published, name });
            published.push(reference.points.iter().filter_map(|(px, py)| place(*px, *py)).collect());
        }
        let unit = points().map(|p| p.y.unit.as_str()).next().unwrap_or_default();
        Some(Self {
            x_name: visible_line(spec.map_or("x", |s| s.x.as_str())),
            y_name: visible_line(unit),
            x,
            y,
            measured,
            forms,
            published,
            entries,
        })
    }

    fn draw(&self, backend: SVGBackend<'_>) -> Result<(), Box<dyn std::error::Error>> {
        let root = backend.into_drawing_area();
        root.fill(&WHITE)?;
        let (left, right) = root.split_horizontally(WIDTH);
        let left = left.margin(0, left.dim_in_pixel().1.saturating_sub(HEIGHT), 0, 0);
        let mut chart = ChartBuilder::on(&left)
            .margin(14)
            .x_label_area_size(42)
            .y_label_area_size(66)
            .build_cartesian_2d(self.x.clone(), self.y.clone())?;
        let font = FONT.into_font().color(&INK);
        chart
            .configure_mesh()
            .bold_line_style(super::line(GRID, 1))
            .axis_style(super::line(INK, 1))
            .x_desc(&self.x_name)
            .y_desc(&self.y_name)
            .axis_desc_style(font.clone())
            .label_style(font)
            .draw()?;
        for points in &self.published {
            chart.draw_series(LineSeries::new(points.iter().copied(), super::line(PUBLISHED, 1)))?;
        }
        for (i, points) in &self.forms {
            let style = super::line(super::colour(*i), 1);
            chart.draw_series(DashedLineSeries::new(points.iter().copied(), 6, 4, style))?;
        }
        for (i, marks) in &self.measured {
            let style = super::line(super::colour(*i), 2);
            chart.draw_series(LineSeries::new(marks.iter().map(|m| m.at), style))?;
            for mark in marks {
                if let Some((low, high)) = mark.range {
                    let bar = [(mark.at.0, low), (mark.at.0, high)];
                    chart.draw_series([PathElement::new(bar, super::line(super::colour(*i), 1))])?;
                }
                let at = chart.backend_coord(&mark.at);
                legend::mark(&root, *i, at)?;
            }
        }
        legend::draw(&right, &self.entries)?;
        root.present()?;
        Ok(())
    }
}
