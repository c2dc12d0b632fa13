//! `infralab run list | show | export | replay`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{lab_text, out};
use crate::lab::history::{self, Place, RunError};
use crate::lab::replay::Player;
use crate::lab::{LabEvent, LabSession, Record};
use crate::lang::Lang;
use crate::paths::Paths;

/// Subcommands of `run`.
#[derive(Debug, clap::Subcommand)]
pub(super) enum RunCommand {
    /// Runs on disk, newest first, and recordings that ship
    List {
        /// One object a line
        #[arg(long)]
        json: bool,
    },
    /// The record of a run
    Show {
        /// Run id, its beginning, or a file
        id: String,
        /// One object
        #[arg(long)]
        json: bool,
    },
    /// A run as Markdown, CSV (its points) or JSON (every line)
    Export {
        /// Run id, its beginning, or a file
        id: String,
        /// md, csv or json
        #[arg(long, default_value = "md")]
        format: Format,
    },
    /// Play a run at its own pace
    Replay {
        /// Run id, its beginning, or a file
        id: String,
        /// How many times faster; 0: without waiting
        #[arg(long, default_value_t = 1.0)]
        speed: f64,
        /// Every event as a JSON line
        #[arg(long)]
        json: bool,
    },
}

/// Formats of `run export`.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(super) enum Format {
    /// A table for a repository.
    Md,
    /// Points, one a line.
    Csv,
    /// Every line of the run.
    Json,
}

pub(super) fn run(command: &RunCommand, paths: &Paths) -> anyhow::Result<ExitCode> {
    let lang = Lang::from_env(|k| std::env::var(k).ok());
    let id = match command {
        RunCommand::List { json } => {
            list(paths, *json)?;
            return Ok(ExitCode::SUCCESS);
        }
        RunCommand::Show { id, .. } | RunCommand::Export { id, .. } | RunCommand::Replay { id, .. } => id,
    };
    let place = match history::find(&paths.runs(), id) {
        Ok(place) => place,
        Err(error @ (RunError::Unknown(_) | RunError::Ambiguous { .. })) => {
            eprintln!("infralab: {error}");
            return Ok(ExitCode::FAILURE);
        }
        Err(error) => return Err(error.into()),
    };
    match command {
        RunCommand::List { .. } => {}
        RunCommand::Show { json, .. } => {
            let (_, record) = whole(&place)?;
            if *json {
                out::json(&LabEvent::Record(Box::new(record)))?;
            } else {
                out::line(lab_text::record_text(&record, lang).trim_start())?;
            }
        }
        RunCommand::Export { format, .. } => export(&place, *format)?,
        RunCommand::Replay { speed, json, .. } => replay(&place, *speed, *json, lang)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(paths: &Paths, as_json: bool) -> anyhow::Result<()> {
    for run in history::list(&paths.runs())? {
        let record = run.record.as_ref();
        let outcome = record.map_or("cut off", |r| r.outcome.as_str());
        let device = record.and_then(|r| r.device.as_ref()).map(|d| d.name.as_str());
        if as_json {
            out::json(&json!({
                "run": run.header.run, "lab": run.header.request.lab, "size": run.header.request.size,
                "unix_ms": run.header.unix_ms, "outcome": outcome, "device": device, "recording": run.shipped(),
            }))?;
        } else {
            let kind = if run.shipped() { "recording" } else { "" };
            let device = device.unwrap_or("?");
            out::line(format!("{:<44} {outcome:<10} {device}  {kind}", run.header.run).trim_end())?;
        }
    }
    Ok(())
}

/// The session after every event, and its record: the one that was written, or one made now for a run cut off.
fn whole(place: &Place) -> anyhow::Result<(LabSession, Record)> {
    let mut session = LabSession::default();
    history::load(place)?.into_iter().for_each(|event| session.apply(event));
    let record = session.record.clone().or_else(|| Record::of(&session));
    let record = record.ok_or_else(|| anyhow::anyhow!("the run has no header"))?;
    Ok((session, record))
}

fn export(place: &Place, format: Format) -> anyhow::Result<()> {
    match format {
        Format::Json => {
            for event in history::load(place)? {
                out::json(&event)?;
            }
        }
        Format::Csv => {
            let (session, _) = whole(place)?;
            out::line("metric,series,x,value,unit,closed_form,missing,window")?;
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
                        ];
                        out::line(&cells.map(|c| csv(&c)).join(","))?;
                    }
                }
            }
        }
        Format::Md => {
            let (session, record) = whole(place)?;
            out::line(&crate::lab::report::markdown(&session, &record))?;
        }
    }
    Ok(())
}

fn csv(cell: &str) -> String {
    if cell.contains([',', '"', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

fn replay(place: &Place, speed: f64, json: bool, lang: Lang) -> anyhow::Result<()> {
    anyhow::ensure!(speed >= 0.0 && speed.is_finite(), "--speed {speed}: use a number from 0");
    let mut player = Player::new(history::load(place)?);
    let mut printer = lab_text::Printer::new(lang, json);
    let mut session = LabSession::default();
    let started = Instant::now();
    while let Some(due_ns) = player.next_due_ns() {
        if speed > 0.0 {
            let at = Duration::from_nanos((due_ns as f64 / speed) as u64);
            std::thread::sleep(at.saturating_sub(started.elapsed()));
        }
        for event in player.due(due_ns) {
            // The record is printed at the end, as after a run.
            if !matches!(event, LabEvent::Record(_)) {
                printer.print(&event)?;
            }
            session.apply(event);
        }
    }
    let record = session.record.clone().or_else(|| Record::of(&session));
    record.map_or(Ok(()), |record| printer.finish(&session, &record))
}
