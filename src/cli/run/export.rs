//! `infralab run export`.

use super::super::out;
use super::Format;
use crate::lab::PastRun;
use crate::lab::history::{self, Place};
use crate::lab::report::markdown::{self, Pictures};
use crate::lab::report::run;
use crate::lab::session::LabSession;
use crate::lang::Lang;

pub(super) fn export(place: &Place, format: Format, lang: Lang) -> anyhow::Result<()> {
    match format {
        Format::Json => {
            for event in history::load(place)? {
                out::json(&event)?;
            }
            Ok(())
        }
        Format::Csv => points(&PastRun::read(place)?.session),
        Format::Md => {
            let blocks = run::blocks(&PastRun::read(place)?, 1, lang);
            out::line(&markdown::write(&blocks, Pictures::LeftOut))
        }
    }
}

/// Every measured point, one a line.
fn points(session: &LabSession) -> anyhow::Result<()> {
    out::line("metric,series,x,value,unit,closed_form,missing,window,min,max")?;
    for (metric, curves) in &session.charts {
        for (series, points) in &curves.measured {
            for p in points {
                let expected = curves
                    .expected
                    .get(series)
                    .and_then(|e| e.iter().find(|e| e.x.to_bits() == p.x.to_bits()));
                let number = |v: Option<f64>| v.map(|v| v.to_string()).unwrap_or_default();
                let cells = [
                    metric.clone(),
                    series.clone(),
                    p.x.to_string(),
                    number(p.y.value),
                    p.y.unit.clone(),
                    number(expected.map(|e| e.value)),
                    p.y.missing.clone().unwrap_or_default(),
                    p.window.clone(),
                    number(p.y.range.map(|[low, _]| low)),
                    number(p.y.range.map(|[_, high]| high)),
                ];
                out::line(&cells.map(|c| csv(&c)).join(","))?;
            }
        }
    }
    Ok(())
}

/// A cell. Text that a spreadsheet would run as a formula is kept from it by an apostrophe.
fn csv(cell: &str) -> String {
    let formula = cell.starts_with(['=', '+', '-', '@']) && cell.parse::<f64>().is_err();
    let cell = if formula { format!("'{cell}") } else { cell.to_owned() };
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}
