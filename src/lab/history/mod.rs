//! Runs on disk: `runs/<id>.jsonl`, a header, every event and snapshot, and the closing record. Recordings that ship
//! with the program have the same format.

mod listing;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};
use thiserror::Error;

use super::{Header, LabEvent, Record, parse};

pub use listing::{Filter, Listed, Unreadable, list, scan, shipped};

/// Version of the line format.
pub const FORMAT: u32 = 1;

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

/// Writes a run as it happens.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Writer {
    /// Creates `dir/<id>.jsonl` with its header.
    pub fn create(dir: &Path, header: &Header) -> Result<Self, RunError> {
        let path = dir.join(format!("{}.jsonl", header.run));
        let failed = |source| RunError::Write { path: path.clone(), source };
        std::fs::create_dir_all(dir).map_err(failed)?;
        let file = File::options().write(true).create_new(true).open(&path).map_err(failed)?;
        let mut writer = Self { file: BufWriter::new(file), path: path.clone() };
        writer.write(&LabEvent::Header(header.clone()))?;
        Ok(writer)
    }

    /// Appends one event. Everything but snapshots and log lines is handed to the system at once, so that a crash of
    /// the app costs no result.
    pub fn write(&mut self, event: &LabEvent) -> Result<(), RunError> {
        let flush = !matches!(event, LabEvent::Snapshot(_) | LabEvent::Log { .. });
        self.try_write(event, flush).map_err(|source| RunError::Write { path: self.path.clone(), source })
    }

    fn try_write(&mut self, event: &LabEvent, flush: bool) -> io::Result<()> {
        serde_json::to_writer(&mut self.file, event)?;
        self.file.write_all(b"\n")?;
        if flush { self.file.flush() } else { Ok(()) }
    }

    /// Writes the closing record and syncs the file.
    pub fn finish(mut self, record: Record) -> Result<PathBuf, RunError> {
        self.write(&LabEvent::Record(Box::new(record)))?;
        self.file
            .get_ref()
            .sync_all()
            .map_err(|source| RunError::Write { path: self.path.clone(), source })?;
        Ok(self.path)
    }
}

/// The run with this id, or the copy in a file of this name, or the run whose id begins so, or the file anywhere.
pub fn find(dir: &Path, name: &str) -> Result<Place, RunError> {
    let runs = list(dir)?;
    // A copy is told apart from the run that it was made of by its file's name.
    let exact = runs.iter().filter(|r| r.header.run == name).min_by_key(|r| r.copied_as().is_some());
    let copy =
        || runs.iter().find(|r| r.copied_as().is_some_and(|file| file.strip_suffix(".jsonl") == Some(name)));
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

/// Every event of a run; lines that cannot be read become log lines.
pub fn load(place: &Place) -> Result<Vec<LabEvent>, RunError> {
    let (text, name) = match place {
        Place::Shipped(name) => {
            let text = SHIPPED.get_file(name).and_then(|f| f.contents_utf8());
            (text.ok_or_else(|| RunError::Unknown(name.clone()))?.to_owned(), name.clone())
        }
        Place::File(path) => {
            let bytes =
                std::fs::read(path).map_err(|source| RunError::Read { path: path.clone(), source })?;
            (String::from_utf8_lossy(&bytes).into_owned(), path.display().to_string())
        }
    };
    let events: Vec<LabEvent> = text.lines().filter(|l| !l.trim().is_empty()).map(parse_line).collect();
    match events.first() {
        Some(LabEvent::Header(_)) => Ok(events),
        _ => Err(RunError::NotARun(name)),
    }
}

fn parse_line(line: &str) -> LabEvent {
    parse(line).unwrap_or_else(|_| LabEvent::Log { line: crate::visible::visible_line(line) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::{LabSession, Prediction};
    use infralab_labs::protocol::{DeviceChoice, RunRequest};
    use infralab_labs::spec::Size;

    fn header(run: &str, unix_ms: u64) -> Header {
        Header {
            format: FORMAT,
            run: run.into(),
            infralab: "0".into(),
            request: RunRequest {
                lab: "attention".into(),
                size: Size::Tiny,
                device: DeviceChoice::Auto,
                params: infralab_labs::find_lab("attention")
                    .expect("lab")
                    .params_for(Size::Tiny, &[])
                    .expect("ok"),
                seed: 1,
                budget_bytes: None,
            },
            predictions: [("naive_growth".to_owned(), Prediction::number(3.0).expect("positive"))].into(),
            disturbances: Vec::new(),
            machine: crate::telemetry::Machine::default(),
            unix_ms,
            mono_ns: 5,
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let dir = tempfile::tempdir().expect("dir");
        let mut writer = Writer::create(dir.path(), &header("one", 1)).expect("create");
        let log = LabEvent::Log { line: "x".into() };
        writer.write(&log).expect("write");
        let mut session = LabSession::default();
        session.apply(LabEvent::Header(header("one", 1)));
        let record = Record::of(&session).expect("record");
        assert_eq!(record.predictions[1].predicted, Some(3.0));
        let path = writer.finish(record.clone()).expect("finish");
        let events = load(&Place::File(path)).expect("load");
        assert_eq!(events[0], LabEvent::Header(header("one", 1)));
        assert_eq!(events[1], log);
        assert_eq!(events[2], LabEvent::Record(Box::new(record)));
    }

    #[test]
    fn the_list_is_newest_first_and_survives_strange_files() {
        let dir = tempfile::tempdir().expect("dir");
        for (id, at) in [("b-old", 10), ("a-new", 20)] {
            drop(Writer::create(dir.path(), &header(id, at)).expect("create"));
        }
        std::fs::write(dir.path().join("junk.jsonl"), b"\xff\x00nonsense").expect("write");
        let runs = list(dir.path()).expect("list");
        let own: Vec<&str> = runs.iter().filter(|r| !r.shipped()).map(|r| r.header.run.as_str()).collect();
        assert_eq!(own, ["a-new", "b-old"]);
        assert!(runs[0].record.is_none(), "a run without a closing record was cut off");
        assert!(matches!(find(dir.path(), "a-"), Ok(Place::File(_))));
        assert!(matches!(find(dir.path(), "zzz"), Err(RunError::Unknown(_))));
    }

    #[test]
    fn what_is_no_run_is_named_with_the_reason_and_copies_by_their_file() {
        let dir = tempfile::tempdir().expect("dir");
        let path = |name: &str| dir.path().join(name);
        drop(Writer::create(dir.path(), &header("one", 1)).expect("create"));
        std::fs::copy(path("one.jsonl"), path("kept.jsonl")).expect("copy");
        std::fs::write(path("empty.jsonl"), "").expect("write");
        std::fs::write(path("junk.jsonl"), "{\"type\":\"log\",\"line\":\"x\"}\n").expect("write");
        std::fs::create_dir(path("folder.jsonl")).expect("mkdir");
        std::fs::write(path("notes.txt"), "not ours").expect("write");
        let (runs, unreadable) = scan(dir.path()).expect("scan");
        let names: Vec<Option<String>> =
            runs.iter().filter(|r| !r.shipped()).map(Listed::copied_as).collect();
        assert_eq!(names, [Some("kept.jsonl".into()), None]);
        assert_eq!(find(dir.path(), "kept").expect("by file"), Place::File(path("kept.jsonl")));
        assert_eq!(find(dir.path(), "one").expect("by id"), Place::File(path("one.jsonl")));
        let why: Vec<(String, &str)> = unreadable
            .iter()
            .map(|u| (u.path.file_name().expect("a name").to_string_lossy().into_owned(), u.why.as_str()))
            .collect();
        assert_eq!(
            why,
            [
                ("empty.jsonl".to_owned(), "it is empty"),
                ("folder.jsonl".to_owned(), "it is not a regular file"),
                ("junk.jsonl".to_owned(), "its first line is no header of a run"),
            ]
        );
    }

    #[test]
    fn a_run_that_was_cut_off_still_tells_its_device_and_filters_find_it() {
        let dir = tempfile::tempdir().expect("dir");
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/runs/attention-tiny.jsonl");
        let text = std::fs::read_to_string(fixture).expect("the fixture");
        let whole = text.lines().count();
        let head = text.lines().take(whole - 1).collect::<Vec<_>>().join("\n");
        std::fs::write(dir.path().join("20261201-020307-attention-tiny-9b08.jsonl"), head).expect("write");
        let runs = list(dir.path()).expect("list");
        let run = &runs[0];
        assert_eq!((run.outcome(), run.device.as_deref()), ("cut off", Some("Intel(R) Xeon(R) Processor")));
        let passes = |filter: Filter| runs.iter().filter(|r| filter.passes(r)).count();
        assert_eq!(passes(Filter { device: Some("xeon".into()), ..Filter::default() }), 1);
        assert_eq!(passes(Filter { size: Some(Size::Tiny), ..Filter::default() }), 1);
        assert_eq!(
            passes(Filter { outcome: Some("completed".into()), ..Filter::default() }),
            shipped().len()
        );
        assert_eq!(passes(Filter { lab: Some("nope".into()), ..Filter::default() }), 0);
        assert!(run.matches("XEON tiny", "") && run.matches("中断", "中断") && !run.matches("xeon full", ""));
    }

    #[test]
    fn two_runs_of_one_id_are_refused() {
        let dir = tempfile::tempdir().expect("dir");
        let _first = Writer::create(dir.path(), &header("same", 1)).expect("create");
        assert!(
            Writer::create(dir.path(), &header("same", 1))
                .unwrap_err()
                .to_string()
                .contains("the lab goes on")
        );
    }
}
