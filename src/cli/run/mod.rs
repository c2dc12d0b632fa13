//! `infralab run list | show | compare | export | replay | calibration`.

mod compare;
mod export;
mod list;

use std::process::ExitCode;

use compare::CompareArgs;
use list::ListArgs;

use super::pace::Pace;
use super::{lab_text, out};
use crate::lab::calibration::{Calibration, Predicted};
use crate::lab::history::{self, Place, RunError};
use crate::lab::replay::laid_out;
use crate::lab::report;
use crate::lab::{LabEvent, LabSession, PastRun, Record};
use crate::lang::Lang;
use crate::paths::Paths;

/// Subcommands of `run`.
#[derive(Debug, clap::Subcommand)]
pub(super) enum RunCommand {
    /// Runs on disk, newest first, recordings that ship, and files that are not runs
    List(ListArgs),
    /// Runs of one lab side by side: what differs around them first, then what they measured
    Compare(CompareArgs),
    /// How well your predictions held, by lab and over time
    Calibration {
        /// One object
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
    /// Tables for a repository.
    Md,
    /// Points with their ranges, one a line.
    Csv,
    /// Every line of the run.
    Json,
}

pub(super) fn run(command: &RunCommand, paths: &Paths) -> anyhow::Result<ExitCode> {
    let lang = Lang::from_env(|k| std::env::var(k).ok());
    let id = match command {
        RunCommand::List(args) => return list::list(args, paths),
        RunCommand::Compare(args) => return compare::compare(args, paths, lang),
        RunCommand::Calibration { json } => {
            calibration(paths, *json, lang)?;
            return Ok(ExitCode::SUCCESS);
        }
        RunCommand::Show { id, .. } | RunCommand::Export { id, .. } | RunCommand::Replay { id, .. } => id,
    };
    let Some(place) = known(id, paths)? else { return Ok(ExitCode::FAILURE) };
    match command {
        RunCommand::List(_) | RunCommand::Compare(_) | RunCommand::Calibration { .. } => {}
        RunCommand::Show { json, .. } => {
            let record = PastRun::read(&place)?.record;
            if *json {
                out::json(&LabEvent::Record(Box::new(record)))?;
            } else {
                out::line(lab_text::record_text(&record, lang).trim_start())?;
            }
        }
        RunCommand::Export { format, .. } => export::export(&place, *format, lang)?,
        RunCommand::Replay { speed, json, .. } => replay(&place, *speed, *json, lang)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The run that an id, its beginning or a file names; `None` after telling that there is none.
pub(super) fn known(id: &str, paths: &Paths) -> anyhow::Result<Option<Place>> {
    match history::find(&paths.runs(), id) {
        Ok(place) => Ok(Some(place)),
        Err(error @ (RunError::Unknown(_) | RunError::Ambiguous { .. })) => {
            eprintln!("infralab: {error}");
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn calibration(paths: &Paths, json: bool, lang: Lang) -> anyhow::Result<()> {
    let calibration = Calibration::of(&Predicted::own(&history::list(&paths.runs())?));
    if json {
        return out::json(&calibration);
    }
    out::page(&report::calibration::blocks(&calibration, 1, lang))
}

fn replay(place: &Place, speed: f64, json: bool, lang: Lang) -> anyhow::Result<()> {
    let pace = Pace::starting(speed)?;
    let mut printer = lab_text::Printer::new(lang, json);
    let mut session = LabSession::default();
    for (due_ns, event) in laid_out(history::load(place)?) {
        pace.wait_for(due_ns);
        // The record is printed at the end, as after a run.
        if !matches!(event, LabEvent::Record(_)) {
            printer.print(&event)?;
        }
        session.apply(event);
    }
    let record = session.record.clone().or_else(|| Record::of(&session));
    record.map_or(Ok(()), |record| printer.finish(&session, &record))
}
