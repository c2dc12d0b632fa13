//! Measured values side by side, with what sets each apart from the first.

use std::collections::BTreeSet;

use infralab_labs::protocol::{Point, Quantity};
use serde::Serialize;

use super::ChartRows;
use crate::lab::PastRun;

/// One quantity in every run, all in one unit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Values {
    /// Name of the result, or the x of a chart.
    pub name: String,
    /// Unit of all.
    pub unit: String,
    /// In the order of the runs; `None` where a run does not have it.
    pub values: Vec<Option<Quantity>>,
    /// Each against the first; `None` for the first itself and where either has no value.
    pub against_first: Vec<Option<Against>>,
}

/// What sets a value apart from the first run's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Against {
    /// This value divided by the first run's; `None` where that is 0.
    pub ratio: Option<f64>,
    /// Whether the ranges of the repetitions overlap, so that spread alone may explain the difference; `None` where a
    /// run tells no range.
    pub within_spread: Option<bool>,
}

/// One curve of a chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// Name of the curve.
    pub series: String,
    /// A row per x, in order.
    pub points: Vec<Values>,
}

impl Values {
    fn new(name: String, found: Vec<Option<Quantity>>) -> Option<Self> {
        let unit = found.iter().flatten().next()?.unit.clone();
        let values: Vec<Option<Quantity>> = found
            .into_iter()
            .map(|q| match q {
                Some(q) if q.unit != unit => {
                    Some(Quantity::missing(&unit, format!("this run tells it in {}", q.unit)))
                }
                q => q,
            })
            .collect();
        let first = values.first().cloned().flatten();
        let against_first = values
            .iter()
            .enumerate()
            .map(|(i, value)| if i == 0 { None } else { Against::of(value.as_ref()?, first.as_ref()?) })
            .collect();
        Some(Self { name, unit, values, against_first })
    }
}

impl Against {
    fn of(value: &Quantity, first: &Quantity) -> Option<Self> {
        let (here, there) = value.value.zip(first.value)?;
        let ratio = (here / there).is_finite().then_some(here / there);
        let overlap =
            |[low, high]: [f64; 2], [low_first, high_first]: [f64; 2]| low <= high_first && low_first <= high;
        Some(Self { ratio, within_spread: value.range.zip(first.range).map(|(a, b)| overlap(a, b)) })
    }
}

/// Every name that a run knows, in order, once.
pub(super) fn names<'a, I: Iterator<Item = &'a String>>(
    runs: &[&'a PastRun],
    of: impl Fn(&'a PastRun) -> I,
) -> BTreeSet<String> {
    runs.iter().flat_map(|run| of(run).cloned()).collect()
}

pub(super) fn summary(runs: &[&PastRun]) -> Vec<Values> {
    names(runs, |run| run.record.summary.keys())
        .into_iter()
        .filter_map(|name| {
            let found = runs.iter().map(|run| run.record.summary.get(&name).cloned()).collect();
            Values::new(name, found)
        })
        .collect()
}

pub(super) fn predictions(runs: &[&PastRun]) -> Vec<Values> {
    names(runs, |run| run.record.predictions.iter().map(|p| &p.name))
        .into_iter()
        .filter_map(|name| {
            let predicted = |run: &&PastRun| {
                let answer = run.record.predictions.iter().find(|p| p.name == name)?;
                let range = answer.interval.map(|(low, high)| [low, high]);
                Some(Quantity { range, ..Quantity::some(answer.predicted?, &answer.unit) })
            };
            let mut row = Values::new(name.clone(), runs.iter().map(predicted).collect())?;
            // Two guesses are not two measurements: nothing to set them apart by.
            row.against_first = vec![None; runs.len()];
            Some(row)
        })
        .collect()
}

pub(super) fn charts(runs: &[&PastRun]) -> Vec<ChartRows> {
    let known = runs.first().and_then(|run| run.lab()).map(|lab| lab.charts.as_slice()).unwrap_or_default();
    let mut metrics: Vec<String> = known.iter().map(|c| c.metric.clone()).collect();
    for metric in names(runs, |run| run.session.charts.keys()) {
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    metrics
        .into_iter()
        .filter_map(|metric| {
            let curves: Vec<_> = runs.iter().filter_map(|run| run.session.charts.get(&metric)).collect();
            let series: BTreeSet<&String> = curves.iter().flat_map(|c| c.measured.keys()).collect();
            let series: Vec<Series> =
                series.into_iter().filter_map(|name| rows(runs, &metric, name)).collect();
            let x_name = known.iter().find(|c| c.metric == metric).map_or("x", |c| c.x.as_str()).to_owned();
            (!series.is_empty()).then_some(ChartRows { metric, x_name, series })
        })
        .collect()
}

fn rows(runs: &[&PastRun], metric: &str, series: &str) -> Option<Series> {
    let points = |run: &PastRun| -> Vec<Point> {
        run.session.charts.get(metric).and_then(|c| c.measured.get(series)).cloned().unwrap_or_default()
    };
    let all: Vec<Vec<Point>> = runs.iter().map(|run| points(run)).collect();
    let mut xs: Vec<f64> = all.iter().flatten().map(|p| p.x).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let points: Vec<Values> = xs
        .into_iter()
        .filter_map(|x| {
            // The newest where a lab told a point twice.
            let at = |points: &Vec<Point>| {
                points.iter().rev().find(|p| p.x.total_cmp(&x).is_eq()).map(|p| p.y.clone())
            };
            let found: Vec<Option<Quantity>> = all.iter().map(at).collect();
            (found.iter().flatten().count() >= 2).then(|| Values::new(x.to_string(), found)).flatten()
        })
        .collect();
    (!points.is_empty()).then(|| Series { series: series.to_owned(), points })
}
