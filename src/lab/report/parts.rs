//! What a run shows beside its predictions: charts, ledgers, walls, checks, a computation step by step.

use std::collections::BTreeSet;

use infralab_labs::protocol::{Ledger, Point};
use infralab_labs::spec::Reference;

use super::document::{Block, NOTHING, Picture, Table, Words, file_stem};
use super::picture;
use super::run::{pick_text, with_range};
use crate::lab::PastRun;
use crate::lab::session::Curves;
use crate::lang::Lang;
use crate::units::{binary_bytes, digits};

/// Every chart that has points, in the lab's order, then those that the lab's specification does not know.
pub(super) fn charts(run: &PastRun, level: u8, lang: Lang) -> Vec<Block> {
    let mut blocks = Vec::new();
    let references = run.lab().map(|lab| lab.references(&run.record.params)).unwrap_or_default();
    for (metric, curves) in ordered(run) {
        let spec = run.lab().and_then(|lab| lab.charts.iter().find(|c| c.metric == metric));
        let title = spec.map_or(metric, |s| pick_text(&s.title, lang)).to_owned();
        let x = spec.map_or("x", |s| s.x.as_str());
        if let Some(table) = points(curves, x, lang).block() {
            blocks.push(Block::Heading(level, title.clone()));
            if let Some(svg) = picture::chart(curves, spec, &references, lang) {
                let name = file_stem(&format!("{}-{metric}", run.record.run));
                blocks.push(Block::Picture(Picture { name, caption: title, svg }));
            }
            blocks.push(table);
            blocks.extend(sources(&references, metric, lang));
            let windows: BTreeSet<&str> = curves
                .measured
                .values()
                .flatten()
                .map(|p| p.window.as_str())
                .filter(|w| !w.is_empty())
                .collect();
            if !windows.is_empty() {
                let windows = windows.into_iter().collect::<Vec<_>>().join("; ");
                let how = lang.pick("how it was measured: ", "测量方式：");
                blocks.push(Block::paragraph(format!("{how}{windows}")));
            }
        }
    }
    blocks
}

/// Where the published curves of a chart come from.
fn sources(references: &[Reference], metric: &str, lang: Lang) -> Option<Block> {
    let here = references.iter().filter(|r| r.metric == metric);
    let lines: Vec<Words> = here
        .map(|r| {
            lang.pick(
                format!("published: {}, {}", r.name, r.source),
                format!("公开数据：{}，{}", r.name, r.source),
            )
        })
        .map(Words::from)
        .collect();
    (!lines.is_empty()).then_some(Block::List(lines))
}

/// The charts of a run in the lab's order.
pub(super) fn ordered(run: &PastRun) -> Vec<(&str, &Curves)> {
    let known = run.lab().map(|lab| lab.charts.as_slice()).unwrap_or_default();
    let place = |metric: &str| known.iter().position(|c| c.metric == metric).unwrap_or(known.len());
    let mut charts: Vec<(&str, &Curves)> = run.session.charts.iter().map(|(m, c)| (m.as_str(), c)).collect();
    charts.sort_by_key(|(metric, _)| place(metric));
    charts
}

/// Measured points with the closed form beside them, a row per x.
fn points(curves: &Curves, x_name: &str, lang: Lang) -> Table {
    let mut xs: Vec<f64> = curves.measured.values().flatten().map(|p| p.x).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let mut head = vec![x_name.to_owned()];
    for (name, points) in &curves.measured {
        let unit = points.first().map_or("", |p| p.y.unit.as_str());
        head.push(format!("{name} [{unit}]"));
        if curves.expected.contains_key(name) {
            head.push(lang.pick(format!("{name}: closed form"), format!("{name}：闭式公式")));
        }
    }
    let mut table = Table::new(head);
    for x in xs {
        let mut cells = vec![x.to_string()];
        for (name, points) in &curves.measured {
            let here = |p: &&Point| p.x.total_cmp(&x).is_eq();
            cells.push(points.iter().rev().find(here).map_or(NOTHING.into(), |p| with_range(&p.y)));
            if let Some(expected) = curves.expected.get(name) {
                let form = expected.iter().find(|e| e.x.total_cmp(&x).is_eq());
                cells.push(form.map_or(NOTHING.into(), |e| digits(e.value)));
            }
        }
        table.row(cells);
    }
    table
}

/// The ledgers of a run by series, moments from left to right.
pub(super) fn ledger_series(run: &PastRun) -> Vec<(&str, Vec<&Ledger>)> {
    let mut series: Vec<(&str, Vec<&Ledger>)> = Vec::new();
    for ledger in &run.session.ledgers {
        match series.iter_mut().find(|(name, _)| *name == ledger.series) {
            Some((_, ledgers)) => ledgers.push(ledger),
            None => series.push((&ledger.series, vec![ledger])),
        }
    }
    series
}

pub(super) fn ledgers(run: &PastRun, level: u8, lang: Lang) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (name, ledgers) in ledger_series(run) {
        let title = lang.pick("Where the memory is: ", "显存去向：");
        let title = format!("{title}{name}");
        blocks.push(Block::Heading(level, title.clone()));
        if let Some(svg) = picture::ledger(&ledgers, lang) {
            let name = file_stem(&format!("{}-memory-{name}", run.record.run));
            blocks.push(Block::Picture(Picture { name, caption: title, svg }));
        }
        blocks.extend(ledger_table(&ledgers, lang).block());
    }
    blocks
}

/// Named bytes by moment, then what the allocator and the driver count.
fn ledger_table(ledgers: &[&Ledger], lang: Lang) -> Table {
    let mut items: Vec<(&str, String)> = Vec::new();
    for item in ledgers.iter().flat_map(|l| &l.items) {
        if !items.iter().any(|(id, _)| *id == item.id) {
            items.push((&item.id, pick_text(&item.name, lang).to_owned()));
        }
    }
    let head = std::iter::once(lang.pick("bytes in", "字节归属").to_owned());
    let mut table = Table::new(head.chain(ledgers.iter().map(|l| pick_text(&l.title, lang).to_owned())));
    let mut row = |name: String, of: &dyn Fn(&Ledger) -> Option<String>| {
        let cells = ledgers.iter().map(|l| of(l).unwrap_or_else(|| NOTHING.into()));
        table.row(std::iter::once(name).chain(cells));
    };
    let bytes = |n: u64| binary_bytes(n as f64);
    for (id, name) in items {
        row(name, &|l| {
            let mut found = l.items.iter().filter(|i| i.id == id).peekable();
            found.peek()?;
            Some(bytes(found.map(|i| i.bytes).fold(0, u64::saturating_add)))
        });
    }
    row(lang.pick("not named", "未命名").into(), &|l| Some(signed_bytes(l.unexplained_bytes() as f64)));
    row(lang.pick("allocated", "已分配 (allocated)").into(), &|l| Some(bytes(l.allocated_bytes)));
    row(lang.pick("reserved", "已保留 (reserved)").into(), &|l| Some(bytes(l.reserved_bytes)));
    row(lang.pick("context", "上下文 (context)").into(), &|l| l.context_bytes().map(bytes));
    table
}

/// The moment of a ledger, in words.
pub(super) fn moment(ledger: &Ledger, lang: Lang) -> &str {
    pick_text(&ledger.title, lang)
}

fn signed_bytes(bytes: f64) -> String {
    if bytes < 0.0 { format!("-{}", binary_bytes(-bytes)) } else { binary_bytes(bytes) }
}

pub(super) fn walls(run: &PastRun, lang: Lang) -> Vec<Words> {
    run.session.walls.iter().map(|w| pick_text(&w.text, lang).into()).collect()
}

pub(super) fn notes(run: &PastRun, lang: Lang) -> Vec<Words> {
    run.session.notes.iter().map(|text| pick_text(text, lang).into()).collect()
}

pub(super) fn checks(run: &PastRun, lang: Lang) -> Vec<Words> {
    let line = |c: &infralab_labs::protocol::Check| {
        let relative = c.max_abs_error / c.reference_max_abs.max(f64::MIN_POSITIVE);
        let (relative, bound) = (digits(relative), digits(c.tolerance));
        let against = lang.pick(" against ", "，对照 ");
        let words =
            Words::new().code(&c.name).plain(format!(": {relative} ≤ {bound}{against}{}", c.reference));
        if c.passed {
            words.plain(lang.pick(": passed", "：通过"))
        } else {
            words.strong(lang.pick(": FAILED", "：未通过"))
        }
    };
    run.session.checks.iter().map(line).collect()
}

pub(super) fn walk(run: &PastRun, lang: Lang) -> Vec<Words> {
    let line = |step: &infralab_labs::protocol::WalkStep| {
        let title = pick_text(&step.title, lang);
        let place = format!("{}/{} {title}: ", step.index.saturating_add(1), step.total);
        let words = Words::new().plain(place).code(&step.formula);
        match &step.check {
            Some(check) if check.passed() => words.plain(lang.pick(" (checked)", "（已核对）")),
            Some(_) => words.strong(lang.pick(" (check FAILED)", "（核对未通过）")),
            None => words,
        }
    };
    run.session.walk.iter().map(line).collect()
}
