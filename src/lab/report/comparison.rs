//! Runs side by side as a page: what differed around them first, then what they measured.

use super::document::{Block, NOTHING, Table, Words};
use super::run::{date, outcome_word, with_range};
use crate::lab::compare::{Against, Comparison, Values};
use crate::lang::Lang;
use crate::units::quantity;

/// The page of a comparison.
pub fn blocks(comparison: &Comparison, lang: Lang) -> Vec<Block> {
    let title = format!("{} · {}", comparison.lab, lang.pick("comparison", "对比"));
    let mut page = vec![Block::Heading(1, title)];
    page.extend(runs(comparison, lang).block());
    page.extend(differences(comparison, lang));
    let heading = |en: &str, zh: &str| Block::Heading(2, lang.pick(en, zh).to_owned());
    if let Some(table) = values(comparison, &comparison.summary, lang.pick("result", "结果"), lang).block()
    {
        page.push(heading("Results", "结果"));
        page.push(table);
        page.push(Block::paragraph(lang.pick(
            "× is the value divided by that of run A. \"Within spread\": the smallest and largest repetitions of both runs overlap, so spread alone may explain the difference.",
            "× 为该值与运行 A 的比值。“在波动内”：两次运行各自的最小、最大重复值区间有重叠，差异可能只是波动。",
        )));
    }
    if let Some(table) = predictions(comparison, lang).block() {
        page.push(heading("Predictions", "预测"));
        page.push(table);
    }
    for chart in &comparison.charts {
        page.push(Block::Heading(2, chart.metric.clone()));
        for series in &chart.series {
            let unit = series.points.first().map_or("", |p| p.unit.as_str());
            page.push(Block::paragraph(Words::new().code(&series.series).plain(format!(" [{unit}]"))));
            page.extend(values(comparison, &series.points, &chart.x_name, lang).block());
        }
    }
    page
}

fn runs(comparison: &Comparison, lang: Lang) -> Table {
    let mut table = Table::new([
        "",
        lang.pick("run", "运行"),
        lang.pick("started (UTC)", "开始时间 (UTC)"),
        lang.pick("size", "规模"),
        lang.pick("device", "设备"),
        lang.pick("outcome", "结果"),
    ]);
    for run in &comparison.runs {
        let recording = if run.recording { lang.pick(" (recording)", "（录制）") } else { "" };
        table.row([
            run.letter.clone(),
            run.run.clone(),
            date(run.unix_ms),
            run.size.unwrap_or(NOTHING).to_owned(),
            run.device.clone().unwrap_or_else(|| "?".into()),
            format!("{}{recording}", outcome_word(&run.outcome, lang)),
        ]);
    }
    table
}

fn differences(comparison: &Comparison, lang: Lang) -> Vec<Block> {
    let letters = || comparison.runs.iter().map(|r| r.letter.clone());
    let named = |title: &str| Table::new(std::iter::once(title.to_owned()).chain(letters()));
    let cells = |name: String, values: &[Option<String>]| {
        let values = values.iter().map(|v| v.clone().unwrap_or_else(|| NOTHING.into()));
        std::iter::once(name).chain(values).collect::<Vec<_>>()
    };
    let mut environment = named(lang.pick("environment", "环境"));
    for difference in &comparison.environment_differences {
        environment.row(cells(difference.name.name(lang).to_owned(), &difference.values));
    }
    let mut params = named(lang.pick("parameter", "参数"));
    for difference in &comparison.parameter_differences {
        params.row(cells(difference.name.clone(), &difference.values));
    }
    let mut blocks =
        vec![Block::Heading(2, lang.pick("What differs around the runs", "运行条件的差异").into())];
    blocks.extend(environment.block());
    blocks.extend(params.block());
    if comparison.same_conditions() {
        blocks.push(Block::paragraph(lang.pick(
            "Nothing: device, versions, seed and parameters are the same, so what differs below is spread.",
            "没有差异：设备、版本、随机种子和参数都相同，下面的差别就是波动。",
        )));
    }
    blocks
}

/// Values of every run; every run but the first is followed by what sets it apart.
fn values(comparison: &Comparison, rows: &[Values], name: &str, lang: Lang) -> Table {
    let mut head = vec![name.to_owned(), lang.pick("unit", "单位").to_owned()];
    for (i, run) in comparison.runs.iter().enumerate() {
        head.push(run.letter.clone());
        if i > 0 {
            head.push(format!("{}/A", run.letter));
        }
    }
    let mut table = Table::new(head);
    for row in rows {
        let mut cells = vec![row.name.clone(), row.unit.clone()];
        for (i, (value, against)) in row.values.iter().zip(&row.against_first).enumerate() {
            cells.push(value.as_ref().map_or(NOTHING.into(), with_range));
            if i > 0 {
                cells.push(set_apart(against.as_ref(), lang));
            }
        }
        table.row(cells);
    }
    table
}

/// Ratio to the first run, and whether spread may explain it.
fn set_apart(against: Option<&Against>, lang: Lang) -> String {
    let Some(ratio) = against.and_then(|a| a.ratio) else { return NOTHING.into() };
    let spread = match against.and_then(|a| a.within_spread) {
        Some(true) => lang.pick(" within spread", " 在波动内"),
        Some(false) => lang.pick(" apart", " 超出波动"),
        None => "",
    };
    quantity(Some(ratio), "x") + spread
}

fn predictions(comparison: &Comparison, lang: Lang) -> Table {
    let head = [lang.pick("predicted", "预测").to_owned(), lang.pick("unit", "单位").to_owned()];
    let mut table = Table::new(head.into_iter().chain(comparison.runs.iter().map(|r| r.letter.clone())));
    for row in &comparison.predictions {
        let answers = row.values.iter().map(|v| v.as_ref().map_or(NOTHING.into(), with_range));
        table.row([row.name.clone(), row.unit.clone()].into_iter().chain(answers));
    }
    table
}
