//! Runs on disk: `runs/<id>.jsonl`, a header, every event and snapshot, and the closing record; the same compressed by
//! gzip is as good. Recordings that ship with the program have the same format.

mod content;
mod listing;
mod writer;

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};
use thiserror::Error;

use super::{LabEvent, parse};

pub use content::MOST_BYTES;
pub use listing::{Filter, Listed, Unreadable, list, scan, shipped};
pub use writer::Writer;

/// Version of the line format.
pub const FORMAT: u32 = 1;

/// Lines that are read of one run: a day of 20 readings a second. Compressed, a file of few bytes can hold any number.
pub const MOST_EVENTS: usize = 2_000_000;
/// Bytes that are kept of a line that cannot be read.
const MOST_LOG_BYTES: usize = 64 << 10;

/// Runs recorded on real devices, shipped with the program.
static SHIPPED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/assets/runs");

/// A run could not be read or written.
#[derive(Debug, Error)]
pub enum RunError {
    /// No run of that id, nor a file of that name.
    #[error("no run `{0}`; `infralab run list` shows what there is")]
    Unknown(String),
    /// More than one run begins so.
    #[error("`{prefix}` begins {count} run ids; give more of it")]
    Ambiguous {
        /// What was given.
        prefix: String,
        /// How many match.
        count: usize,
    },
    /// Not the file of a run.
    #[error("{0} is not a run: its first line is no header")]
    NotARun(String),
    /// Reading failed.
    #[error("run {path} cannot be read: {source}", path = .path.display())]
    Read {
        /// File.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Writing failed; the lab itself is not affected.
    #[error("run {path} is not being recorded: {source}; the lab goes on", path = .path.display())]
    Write {
        /// File.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A recording of readings could not be begun or written on.
    #[error("the recording {path} cannot be written: {source}", path = .path.display())]
    Record {
        /// File.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Where a run is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A file of the learner's own.
    File(PathBuf),
    /// A recording that ships with the program.
    Shipped(String),
}

/// Id of a new run: UTC time, lab, size, and four digits that tell two runs of one second apart.
pub fn new_run_id(lab: &str, size: &str, unix_ms: u64) -> String {
    let time = jiff::Timestamp::from_millisecond(unix_ms as i64).unwrap_or_default();
    let noise = ((infralab_labs::clock::mono_ns() / 1000) ^ u64::from(std::process::id())) & 0xffff;
    format!("{}-{lab}-{size}-{noise:04x}", time.strftime("%Y%m%d-%H%M%S"))
}

/// The run with this id, or the copy in a file of this name, or the run whose id begins so, or the file anywhere.
pub fn find(dir: &Path, name: &str) -> Result<Place, RunError> {
    let runs = list(dir)?;
    // A copy is told apart from the run that it was made of by its file's name.
    let exact = runs.iter().filter(|r| r.header.run == name).min_by_key(|r| r.known_as().is_some());
    let copy =
        || runs.iter().find(|r| r.known_as().is_some_and(|file| file == name || stem(&file) == Some(name)));
    if let Some(run) = exact.or_else(copy) {
        return Ok(run.place.clone());
    }
    let mut matching = runs.iter().filter(|r| !name.is_empty() && r.header.run.starts_with(name));
    match (matching.next(), matching.count()) {
        (Some(run), 0) => Ok(run.place.clone()),
        (Some(_), more) => Err(RunError::Ambiguous { prefix: name.into(), count: more + 1 }),
        (None, _) if Path::new(name).is_file() => Ok(Place::File(name.into())),
        (None, _) => Err(RunError::Unknown(name.into())),
    }
}

/// Every event of a run; lines that cannot be read become log lines. Of a compressed run that was cut off, or is
/// damaged, what comes before the cut.
pub fn load(place: &Place) -> Result<Vec<LabEvent>, RunError> {
    let (events, name) = match place {
        Place::Shipped(name) => {
            let file = SHIPPED.get_file(name).ok_or_else(|| RunError::Unknown(name.clone()))?;
            (read(file.contents()), name.clone())
        }
        Place::File(path) => {
            let file = File::open(path);
            (file.and_then(|file| read(BufReader::new(file))), path.display().to_string())
        }
    };
    let events = events.map_err(|source| RunError::Read { path: name.clone().into(), source })?;
    match events.first() {
        Some(LabEvent::Header(_)) => Ok(events),
        _ => Err(RunError::NotARun(name)),
    }
}

fn read<'a>(from: impl BufRead + 'a) -> io::Result<Vec<LabEvent>> {
    let mut from = content::open(from)?;
    let (mut events, mut line) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        let damage = match from.read_until(b'\n', &mut line) {
            Ok(0) => return Ok(events),
            Ok(_) => None,
            // What was read is worth having; that it is not all must be said.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Some(error.to_string()),
            Err(error) => return Err(error),
        };
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\n', '\r']);
        if !text.trim().is_empty() {
            events.push(parse_line(text));
        }
        if let Some(line) = damage {
            events.push(LabEvent::Log { line });
            return Ok(events);
        }
        if events.len() > MOST_EVENTS {
            let told = format!("it has more than {MOST_EVENTS} lines, the most that are read");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, told));
        }
    }
}

fn parse_line(line: &str) -> LabEvent {
    parse(line).unwrap_or_else(|_| {
        let shown = crate::visible::visible_line(&line[..line.floor_char_boundary(MOST_LOG_BYTES)]);
        LabEvent::Log { line: if line.len() > MOST_LOG_BYTES { shown + "…" } else { shown } }
    })
}

/// The name of a run's file without what says that it is one: `x` of `x.jsonl` and of `x.jsonl.gz`.
fn stem(file_name: &str) -> Option<&str> {
    file_name.strip_suffix(".gz").unwrap_or(file_name).strip_suffix(".jsonl")
}

#[cfg(test)]
mod tests;
