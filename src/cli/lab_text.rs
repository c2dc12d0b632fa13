//! What `lab` and `run` print for people, and the JSON object of a lab.

use std::fmt::Write as _;

use infralab_labs::LabSpec;
use infralab_labs::protocol::{Event, Ledger, Text, WalkStep};
use infralab_labs::spec::Size;
use serde_json::json;

use super::out;
use crate::lab::record::PredictionResult;
use crate::lab::session::Status;
use crate::lab::{LabEvent, LabSession, MONITOR, Record};
use crate::lang::Lang;
use crate::units::{binary_bytes, digits, quantity, seconds, signed, signed_bytes};

/// A lab as an object.
pub(super) fn object(lab: &LabSpec) -> serde_json::Value {
    let params = lab.params.iter().map(|p| {
        json!({"name": p.name, "help": p.help, "unit": p.unit, "accepts": p.accepted(),
               "default": {"tiny": p.tiny, "small": p.small, "full": p.full}})
    });
    let predictions =
        lab.predictions.iter().map(|p| json!({"name": p.name, "question": p.question, "unit": p.unit}));
    json!({
        "id": lab.id, "title": lab.title, "phase": lab.phase, "question": lab.question,
        "closed_form": lab.closed_form, "params": params.collect::<Vec<_>>(),
        "predictions": predictions.collect::<Vec<_>>(), "terms": lab.terms, "notes": lab.notes,
    })
}

/// A lab as text.
pub(super) fn text(lab: &LabSpec, lang: Lang) -> String {
    let mut text = format!("{}  ({})\n\n", lang.pick(&lab.title.en, &lab.title.zh), lab.id);
    let _ = writeln!(text, "{}\n", lang.pick(&lab.question.en, &lab.question.zh));
    let _ = writeln!(text, "{}\n", lang.pick(&lab.closed_form.en, &lab.closed_form.zh).trim());
    let _ = writeln!(
        text,
        "{}",
        lang.pick(
            "Predictions (--predict NAME=VALUE[:LOW..HIGH][:below|about|above])",
            "预测（--predict NAME=数值[:下限..上限][:below|about|above]）"
        )
    );
    for p in &lab.predictions {
        let _ =
            writeln!(text, "  {:<22} {:<8} {}", p.name, p.unit, lang.pick(&p.question.en, &p.question.zh));
    }
    let _ = writeln!(
        text,
        "\n{}",
        lang.pick(
            "Parameters (--set NAME=VALUE): tiny / small / full",
            "参数（--set NAME=VALUE）：tiny / small / full"
        )
    );
    for p in &lab.params {
        let defaults = Size::ALL.map(|s| p.default_at(s).to_string()).join(" / ");
        let _ = writeln!(
            text,
            "  {:<12} {defaults:<22} {} ({})",
            p.name,
            lang.pick(&p.help.en, &p.help.zh),
            p.accepted()
        );
    }
    text.trim_end().to_owned()
}

/// Prints a run as it happens.
pub(super) struct Printer {
    lang: Lang,
    json: bool,
}

impl Printer {
    pub(super) fn new(lang: Lang, json: bool) -> Self {
        Self { lang, json }
    }

    /// One event; snapshots and closed forms are for machines only.
    pub(super) fn print(&mut self, event: &LabEvent) -> anyhow::Result<()> {
        if self.json {
            return out::json(event);
        }
        match self.line(event) {
            Some(line) => out::line(&line),
            None => Ok(()),
        }
    }

    fn line(&self, event: &LabEvent) -> Option<String> {
        let lang = self.lang;
        Some(match event {
            LabEvent::Header(h) => {
                let warn = |t: &Text| format!("\n  ! {}", lang.pick(&t.en, &t.zh));
                let disturbed: String = h.disturbances.iter().map(warn).collect();
                let has_size = h.request.lab != MONITOR;
                let size = if has_size { format!(" {}", h.request.size.name()) } else { String::new() };
                format!("{}{size} ({}){disturbed}", h.request.lab, h.run)
            }
            LabEvent::Log { line } => format!("  | {line}"),
            LabEvent::Worker(Event::Hello(h)) => {
                let cudnn = h.cudnn.as_ref().map(|v| format!(", cuDNN {v}")).unwrap_or_default();
                let because = h.cuda_absent_because.as_ref().map(|b| format!(" ({b})")).unwrap_or_default();
                format!("{} · LibTorch {}{cudnn}{because}", h.device.name, h.libtorch)
            }
            LabEvent::Worker(Event::Point(p)) => {
                let value = quantity(p.y.value, &p.y.unit);
                let why = p.y.missing.as_ref().map(|m| format!("  {m}")).unwrap_or_default();
                format!("  {:<10} {:>8}  {:<26} {value}{why}", p.series, p.x, p.metric)
            }
            LabEvent::Worker(Event::Check(c)) => {
                let relative = c.max_abs_error / c.reference_max_abs.max(f64::MIN_POSITIVE);
                let word = if c.passed { "ok" } else { "FAILED" };
                format!(
                    "  {word:<6} {:<24} {} ≤ {}  ({})",
                    c.name,
                    digits(relative),
                    digits(c.tolerance),
                    c.reference
                )
            }
            LabEvent::Worker(Event::Ledger(ledger)) => ledger_text(ledger, lang),
            LabEvent::Worker(Event::Walk(step)) => walk_text(step, lang),
            LabEvent::Worker(Event::Wall(w)) => format!("  ▌ {}", lang.pick(&w.text.en, &w.text.zh)),
            LabEvent::Worker(Event::Note { text, .. }) => format!("  · {}", lang.pick(&text.en, &text.zh)),
            _ => return None,
        })
    }

    /// The record: as an object, or as a table.
    pub(super) fn finish(&mut self, session: &LabSession, record: &Record) -> anyhow::Result<()> {
        if self.json {
            return out::json(&LabEvent::Record(Box::new(record.clone())));
        }
        if let Status::Failed(f) = &session.status {
            eprintln!("infralab: {}: {}; {}", f.what, f.why, f.next);
        }
        out::line(&record_text(record, self.lang))
    }
}

/// A record as text: results, then predictions beside closed form and measurement.
pub(super) fn record_text(record: &Record, lang: Lang) -> String {
    let device = record.device.as_ref().map_or("?", |d| d.name.as_str());
    let elapsed = seconds((record.env.elapsed_s * 1e9) as u64);
    let mut text = format!("\n{} · {} · {device} · {elapsed}\n", record.run, record.outcome);
    if let Some(failure) = &record.failure {
        let _ = writeln!(text, "  {}: {}; {}", failure.what, failure.why, failure.next);
    }
    for (name, value) in &record.summary {
        let why = value.missing.as_ref().map(|m| format!("  {m}")).unwrap_or_default();
        let _ = writeln!(text, "  {name:<34} {}{why}", quantity(value.value, &value.unit));
    }
    let head = lang.pick(
        ["prediction", "unit", "predicted", "closed form", "measured", "unexplained"],
        ["预测项", "单位", "预测", "闭式公式", "实测", "未解释"],
    );
    if !record.predictions.is_empty() {
        let _ = writeln!(text, "{}", columns(&head.map(str::to_owned)));
    }
    for p in &record.predictions {
        let cell = |v: Option<f64>| v.map_or("-".to_owned(), digits);
        let cells = [
            p.name.clone(),
            p.unit.clone(),
            cell(p.predicted),
            cell(p.closed_form),
            p.measured.map_or("N/A".to_owned(), digits),
            p.rest().map_or("-".to_owned(), signed),
        ];
        let _ = writeln!(text, "{}", columns(&cells));
        if let Some(judgement) = judgement(p, lang) {
            let _ = writeln!(text, "    {judgement}");
        }
        for part in &p.residual_parts {
            let name = lang.pick(&part.name.en, &part.name.zh);
            let _ = writeln!(text, "    {} {} {name}", signed(part.value), p.unit);
        }
    }
    if let Some(memory) = &record.env.memory_return {
        let (before, after) =
            (binary_bytes(memory.before_bytes as f64), binary_bytes(memory.after_bytes as f64));
        let _ = writeln!(
            text,
            "  {}",
            lang.pick(
                format!(
                    "device memory: {before} before, {after} {:.1} s after the worker's end",
                    memory.after_ms / 1e3
                ),
                format!("设备显存：运行前 {before}，实验进程结束 {:.1} 秒后 {after}", memory.after_ms / 1e3),
            )
        );
    }
    text.trim_end().to_owned()
}

/// How a prediction fared, in words; `None` where there is nothing to judge.
fn judgement(p: &PredictionResult, lang: Lang) -> Option<String> {
    let error = p.log_error?;
    let mut words = vec![format!("|ln(pred/meas)| {error:.3} (×{:.2})", error.exp())];
    let held = |held: bool| {
        if held { lang.pick("held", "命中") } else { lang.pick("missed", "未中") }
    };
    if let (Some((low, high)), Some(in_it)) = (p.interval, p.interval_held) {
        words.push(format!("80 % {}..{}: {}", digits(low), digits(high), held(in_it)));
    }
    if let (Some(side), Some(right)) = (p.side, p.side_held) {
        words.push(format!("{}: {}", side.word(), held(right)));
    }
    Some(words.join(" · "))
}

fn columns(cells: &[String; 6]) -> String {
    use unicode_width::UnicodeWidthStr;
    const WIDTHS: [usize; 6] = [26, 8, 12, 12, 12, 12];
    let mut line = " ".to_owned();
    for (i, (cell, width)) in cells.iter().zip(WIDTHS).enumerate() {
        let padding = " ".repeat(width.saturating_sub(cell.width()));
        let (before, after) = if i < 2 { ("", padding.as_str()) } else { (padding.as_str(), "") };
        line.extend([" ", before, cell, after]);
    }
    line.trim_end().to_owned()
}

/// A ledger as one line a named item.
fn ledger_text(ledger: &Ledger, lang: Lang) -> String {
    let bytes = |b: u64| binary_bytes(b as f64);
    let mut text = format!(
        "  {} · {}: {} {}, {:.1} % {}",
        ledger.series,
        lang.pick(&ledger.title.en, &ledger.title.zh),
        lang.pick("allocated", "已分配"),
        bytes(ledger.allocated_bytes),
        ledger.named_share() * 100.0,
        lang.pick("named", "已具名"),
    );
    for item in &ledger.items {
        let name = lang.pick(&item.name.en, &item.name.zh);
        let _ = write!(text, "\n      {:>12}  {name}  ({})", bytes(item.bytes), item.recipe);
    }
    let unexplained = signed_bytes(ledger.unexplained_bytes() as f64);
    let _ = write!(text, "\n      {unexplained:>12}  {}", lang.pick("unexplained", "未解释"));
    text
}

/// A step with its result; the operands were results of steps before.
fn walk_text(step: &WalkStep, lang: Lang) -> String {
    let mut text = format!(
        "\n  {}/{} {}   {}\n    {}",
        step.index + 1,
        step.total,
        lang.pick(&step.title.en, &step.title.zh),
        step.formula,
        lang.pick(&step.explanation.en, &step.explanation.zh)
    );
    if let Some(matrix) = step.matrices.last() {
        let _ = write!(text, "\n    {} =", matrix.name);
        for row in &matrix.rows {
            let cells = row.iter().map(|v| v.map_or("-inf".to_owned(), digits));
            text.push_str("\n      ");
            cells.for_each(|cell| text.extend([" ".repeat(10_usize.saturating_sub(cell.len())), cell]));
        }
    }
    if let Some(check) = &step.check {
        let word = if check.passed() { "ok" } else { "FAILED" };
        let _ = write!(
            text,
            "\n    {word}: {:.1e} ≤ {:.0e} ({})",
            check.max_abs_error, check.tolerance, check.reference
        );
    }
    text
}
