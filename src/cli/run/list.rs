//! `infralab run list`.

use std::process::ExitCode;

use infralab_labs::spec::Size;
use serde_json::json;

use super::super::out;
use crate::lab::history::{self, Filter, Listed, Unreadable};
use crate::paths::Paths;
use crate::visible::visible_line;

/// Arguments of `run list`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ListArgs {
    /// Only runs of this lab
    #[arg(long, value_name = "ID")]
    lab: Option<String>,
    /// Only runs on devices whose name contains this, in any case
    #[arg(long, value_name = "TEXT")]
    device: Option<String>,
    /// Only runs of this size: tiny, small or full
    #[arg(long)]
    size: Option<Size>,
    /// Only runs that ended so
    #[arg(long)]
    outcome: Option<Outcome>,
    /// At most this many, the newest
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// One object a line
    #[arg(long)]
    json: bool,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Outcome {
    Completed,
    Stopped,
    Failed,
    CutOff,
}

/// Lists; a filter that no run passes is a negative answer.
pub(super) fn list(args: &ListArgs, paths: &Paths) -> anyhow::Result<ExitCode> {
    let filter = Filter {
        lab: args.lab.clone(),
        device: args.device.clone(),
        size: args.size,
        outcome: args.outcome.map(|outcome| {
            let word = match outcome {
                Outcome::Completed => "completed",
                Outcome::Stopped => "stopped",
                Outcome::Failed => "failed",
                Outcome::CutOff => "cut off",
            };
            word.to_owned()
        }),
    };
    let (runs, unreadable) = history::scan(&paths.runs())?;
    let mut shown = 0;
    for run in runs.iter().filter(|r| filter.passes(r)).take(args.limit.unwrap_or(usize::MAX)) {
        shown += 1;
        if args.json { out::json(&object(run))? } else { out::line(&line(run))? }
    }
    // A file that is no run has no lab, device or size that a filter could ask for.
    if filter == Filter::default() {
        for file in &unreadable {
            told(file, args.json)?;
        }
    }
    if shown == 0 && filter != Filter::default() {
        eprintln!("infralab: no run passes; `infralab run list` shows all");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

fn object(run: &Listed) -> serde_json::Value {
    json!({
        "run": run.header.run, "lab": run.header.request.lab,
        "size": (!run.is_of_readings()).then_some(run.header.request.size),
        "unix_ms": run.header.unix_ms, "outcome": run.outcome(), "device": run.device,
        "recording": run.shipped(), "file": run.known_as(),
    })
}

fn line(run: &Listed) -> String {
    let kind = if run.shipped() { "recording" } else { "" };
    let file = run.known_as().map(|file| format!("  in {file}")).unwrap_or_default();
    let (outcome, device) = (run.outcome(), run.device.as_deref().unwrap_or("?"));
    format!("{:<44} {outcome:<10} {device}  {kind}{file}", run.header.run).trim_end().to_owned()
}

fn told(file: &Unreadable, as_json: bool) -> anyhow::Result<()> {
    let name = visible_line(&file.path.file_name().unwrap_or_default().to_string_lossy());
    if as_json {
        return out::json(&json!({"run": null, "file": name, "unreadable_because": file.why}));
    }
    out::line(&format!("{name:<44} not a run: {}", file.why))
}
