//! `infralab progress export | import | undo`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

use super::out;
use crate::paths::Paths;
use crate::progress::{Change, Store, parse_log};

/// Subcommands of `progress`.
#[derive(Debug, clap::Subcommand)]
pub(super) enum ProgressCommand {
    /// Print every event, one JSON object a line
    Export,
    /// Add the events of an exported file that are not here yet
    Import {
        /// The file
        file: PathBuf,
    },
    /// Take back the newest mark
    Undo,
}

pub(super) fn run(command: ProgressCommand, paths: &Paths) -> anyhow::Result<ExitCode> {
    let mut store = Store::open(&paths.progress_log())?;
    match command {
        ProgressCommand::Export => {
            for entry in store.progress().entries() {
                out::json(entry)?;
            }
        }
        ProgressCommand::Import { file } => {
            let text = std::fs::read(&file).with_context(|| format!("{} cannot be read", file.display()))?;
            let (entries, unreadable) = parse_log(&String::from_utf8_lossy(&text));
            let read = entries.len();
            let new = store.merge(entries)?;
            out::line(&format!(
                "{new} new events, {} already here, {unreadable} lines not understood",
                read - new
            ))?;
            return Ok(ExitCode::from(u8::from(read == 0 && unreadable > 0)));
        }
        ProgressCommand::Undo => {
            let Some(entry) = store.undo()? else {
                eprintln!("infralab: no mark to take back");
                return Ok(ExitCode::FAILURE);
            };
            if let Change::Mark { subject, mark } = entry.change {
                let mark = mark.map_or("no mark", crate::progress::Mark::word);
                out::line(&format!("taken back: {} {mark}", subject.id))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
