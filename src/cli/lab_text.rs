//! What `lab` and `run` print for people, and the JSON object of a lab.

use std::fmt::Write as _;

use infralab_labs::LabSpec;
use infralab_labs::protocol::Event;
use infralab_labs::spec::Size;
use serde_json::json;

use super::out;
use crate::lab::session::Status;
use crate::lab::{LabEvent, LabSession, Record};
use crate::lang::Lang;
use crate::units::{digits, quantity, seconds};

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
    let _ =
        writeln!(text, "{}", lang.pick("Predictions (--predict NAME=VALUE)", "预测（--predict NAME=VALUE）"));
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
            LabEvent::Header(h) => format!("{} {} ({})", h.request.lab, h.request.size.name(), h.run),
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
    let _ = writeln!(
        text,
        "{}",
        lang.pick(
            "  prediction              unit      predicted  closed form     measured  unexplained",
            "  prediction              unit       预测        闭式公式         实测       未解释"
        )
    );
    for p in &record.predictions {
        let cell = |v: Option<f64>| v.map_or("-".to_owned(), digits);
        let _ = writeln!(
            text,
            "  {:<23} {:<6} {:>12} {:>12} {:>12} {:>12}",
            p.name,
            p.unit,
            cell(p.predicted),
            cell(p.closed_form),
            p.measured.map_or("N/A".to_owned(), digits),
            cell(p.residual),
        );
    }
    text.trim_end().to_owned()
}
