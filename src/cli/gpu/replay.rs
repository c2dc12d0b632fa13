//! `infralab gpu --replay`: the readings of a run, printed as live ones are.

use std::io::{self, Write};
use std::process::ExitCode;

use super::super::pace::Pace;
use super::super::run::known;
use super::{GpuArgs, text, warn_of_absence, write_line};
use crate::lab::LabEvent;
use crate::lab::history;
use crate::lab::replay::{Due, laid_out};
use crate::paths::Paths;
use crate::telemetry::Telemetry;

pub(super) fn replay(args: &GpuArgs, id: &str, paths: &Paths) -> anyhow::Result<ExitCode> {
    let pace = Pace::starting(args.speed.unwrap_or(1.0))?;
    let Some(place) = known(id, paths)? else { return Ok(ExitCode::FAILURE) };
    let events = laid_out(history::load(&place)?);
    let shown = show(args, events, &pace, &mut io::stdout().lock(), &mut io::stderr().lock())?;
    if shown == 0 {
        eprintln!("infralab: the run holds no readings");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// How many snapshots there were.
fn show(
    args: &GpuArgs,
    events: Vec<Due>,
    pace: &Pace,
    out: &mut impl Write,
    warn: &mut impl Write,
) -> anyhow::Result<u64> {
    let (mut start_ns, mut shown) = (None, 0);
    for (due_ns, event) in events {
        match event {
            LabEvent::Header(header) if args.json => write_line(out, &Telemetry::Machine(header.machine))?,
            LabEvent::Header(header) => warn_of_absence(&header.machine, warn)?,
            LabEvent::Snapshot(snapshot) => {
                pace.wait_for(due_ns);
                shown += 1;
                let start_ns = *start_ns.get_or_insert(snapshot.mono_ns);
                if args.json {
                    write_line(out, &Telemetry::Snapshot(snapshot))?;
                } else {
                    let elapsed_s = snapshot.mono_ns.saturating_sub(start_ns) as f64 / 1e9;
                    text::write_lines(out, elapsed_s, &snapshot)?;
                    out.flush()?;
                }
            }
            _ => {}
        }
    }
    Ok(shown)
}
