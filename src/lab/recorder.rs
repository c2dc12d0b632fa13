//! A recording of readings alone: a run of no lab, in the format of all runs, with the time of a command as its phase.
//! Knows no process and no terminal.

use std::path::{Path, PathBuf};

use infralab_labs::clock::{mono_ns, unix_ms};
use infralab_labs::protocol::{DeviceChoice, Edge, Event, Failure, Quantity, RunRequest};
use infralab_labs::spec::{ParamValue, Size};

use super::history::{self, MOST_BYTES, MOST_EVENTS, RunError, Writer};
use super::{Exited, Header, LabEvent, LabSession, MONITOR, Predictions, Record};
use crate::telemetry::{Machine, Snapshot};

/// The phase that a command's time is.
pub const COMMAND: &str = "command";
/// What is written is handed to the system this often: a recorder that is killed loses no more than this.
const FLUSH_NS: u64 = 1_000_000_000;
/// Kept free below [`MOST_BYTES`] for the end of the recording.
const ROOM_BYTES: u64 = 1 << 20;
/// The same of [`MOST_EVENTS`].
const ROOM_LINES: u64 = 100;

/// A recording that goes on.
#[derive(Debug)]
pub struct Recorder {
    writer: Writer,
    session: LabSession,
    flushed_ns: u64,
    /// Start of the command, shared clock, ns.
    command_ns: Option<u64>,
    snapshots: u64,
}

/// How a recording was closed.
#[derive(Debug)]
pub struct Closed {
    /// Where it is.
    pub path: PathBuf,
    /// Its last line.
    pub record: Record,
    /// Snapshots that it holds.
    pub snapshots: u64,
}

impl Recorder {
    /// Begins a recording in a file that was made for it. `params` tell how it is made.
    pub fn begin(
        mut writer: Writer,
        machine: Machine,
        params: impl IntoIterator<Item = (String, ParamValue)>,
    ) -> Result<Self, RunError> {
        let (unix_ms, mono_ns) = (unix_ms(), mono_ns());
        let header = Header {
            format: history::FORMAT,
            run: history::new_run_id(MONITOR, "gpu", unix_ms),
            infralab: env!("CARGO_PKG_VERSION").into(),
            request: RunRequest {
                lab: MONITOR.into(),
                // Every run has a size; that of readings says nothing and is not shown.
                size: Size::Full,
                device: DeviceChoice::Auto,
                params: params.into_iter().collect(),
                seed: 0,
                budget_bytes: None,
            },
            predictions: Predictions::new(),
            disturbances: Vec::new(),
            machine,
            unix_ms,
            mono_ns,
        };
        let event = LabEvent::Header(header);
        writer.write(&event)?;
        let mut session = LabSession::default();
        session.apply(event);
        Ok(Self { writer, session, flushed_ns: mono_ns, command_ns: None, snapshots: 0 })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.writer.path()
    }

    /// Snapshots that it holds.
    pub fn snapshots(&self) -> u64 {
        self.snapshots
    }

    /// Whether more might not be read back: of a run up to [`MOST_EVENTS`] lines are read, and where it is compressed,
    /// as it may be later, [`MOST_BYTES`].
    pub fn is_full(&self) -> bool {
        self.writer.written_bytes() >= MOST_BYTES - ROOM_BYTES
            || self.snapshots >= MOST_EVENTS as u64 - ROOM_LINES
    }

    /// Takes readings in.
    pub fn take(&mut self, snapshot: Snapshot) -> Result<(), RunError> {
        self.snapshots += 1;
        self.write(LabEvent::Snapshot(snapshot))
    }

    /// The command starts.
    pub fn command_starts(&mut self, mono_ns: u64) -> Result<(), RunError> {
        self.command_ns = Some(mono_ns);
        self.phase(Edge::Start, mono_ns)
    }

    /// The command has ended.
    pub fn command_ended(&mut self, exited: Exited) -> Result<(), RunError> {
        let Some(started_ns) = self.command_ns else { return Ok(()) };
        self.phase(Edge::End, exited.mono_ns)?;
        let code = match (exited.code, exited.signal) {
            (Some(code), _) => Quantity::some(f64::from(code), ""),
            (None, Some(signal)) => Quantity::missing("", format!("it was ended by signal {signal}")),
            (None, None) => Quantity::missing("", "how it ended is not known"),
        };
        let seconds = exited.mono_ns.saturating_sub(started_ns) as f64 / 1e9;
        let values =
            [("command_exit_code".to_owned(), code), ("command_s".to_owned(), Quantity::some(seconds, "s"))];
        self.write(LabEvent::Exited(exited))?;
        self.write(LabEvent::Worker(Event::Summary { values: values.into() }))
    }

    /// Ends the recording as it should end; `is_stopped` where something stopped it before.
    pub fn close(mut self, is_stopped: bool) -> Result<Closed, RunError> {
        self.write(LabEvent::Worker(Event::Done { stopped: is_stopped, mono_ns: mono_ns() }))?;
        self.finish()
    }

    /// Ends a recording that cannot go on.
    pub fn fail(mut self, failure: Failure) -> Result<Closed, RunError> {
        self.write(LabEvent::Worker(Event::Failed(failure)))?;
        self.finish()
    }

    fn finish(self) -> Result<Closed, RunError> {
        let record = Record::of(&self.session).expect("`begin` gave the session its header");
        let path = self.writer.finish(record.clone())?;
        Ok(Closed { path, record, snapshots: self.snapshots })
    }

    fn phase(&mut self, edge: Edge, mono_ns: u64) -> Result<(), RunError> {
        self.write(LabEvent::Worker(Event::Phase { name: COMMAND.into(), edge, mono_ns }))
    }

    fn write(&mut self, event: LabEvent) -> Result<(), RunError> {
        self.writer.write(&event)?;
        let now_ns = event.mono_ns().unwrap_or(self.flushed_ns);
        self.session.apply(event);
        if now_ns >= self.flushed_ns.saturating_add(FLUSH_NS) {
            self.flushed_ns = now_ns;
            self.writer.flush()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{Place, load};
    use super::super::session::Status;
    use super::super::{PastRun, calibration};
    use super::*;
    use crate::telemetry::GpuInfo;

    fn machine() -> Machine {
        let gpu =
            GpuInfo { name: Some("NVIDIA H200".into()), uuid: Some("GPU-1".into()), ..GpuInfo::default() };
        Machine { gpus: vec![gpu.clone(), gpu], ..Machine::default() }
    }

    fn begin(path: &Path) -> Recorder {
        let writer = Writer::create_file(path).expect("a new file");
        Recorder::begin(writer, machine(), [("program".to_owned(), ParamValue::Text("true".into()))])
            .expect("begun")
    }

    fn snapshot(mono_ns: u64) -> Snapshot {
        Snapshot { mono_ns, ..Snapshot::default() }
    }

    #[test]
    fn a_recording_is_a_run_with_the_command_as_its_phase_compressed_or_not() {
        let dir = tempfile::tempdir().expect("dir");
        for name in ["one.jsonl", "two.jsonl.gz"] {
            let path = dir.path().join(name);
            let mut recorder = begin(&path);
            let start = mono_ns();
            recorder.take(snapshot(start)).expect("written");
            recorder.command_starts(start + 1).expect("written");
            recorder.take(snapshot(start + 2)).expect("written");
            let exited = Exited { code: Some(3), signal: None, mono_ns: start + 2_000_000_001 };
            recorder.command_ended(exited).expect("written");
            recorder.take(snapshot(start + 2_000_000_002)).expect("written");
            let closed = recorder.close(false).expect("closed");
            assert_eq!((closed.snapshots, &closed.path), (3, &path));

            let run = PastRun::read(&Place::File(path)).expect("a run");
            assert_eq!((run.session.status.clone(), run.completed()), (Status::Completed, true));
            assert_eq!(run.record, closed.record);
            assert_eq!(run.session.snapshots.len(), 3);
            assert_eq!(run.session.spans.len(), 1);
            assert_eq!(run.session.spans[0].end_ns, Some(start + 2_000_000_001));
            assert_eq!(run.record.summary["command_exit_code"].value, Some(3.0));
            assert_eq!(run.record.summary["command_s"].value, Some(2.0));
            assert_eq!(run.device(), Some("2 × NVIDIA H200"));
            assert_eq!(run.session.exited.as_ref().and_then(|e| e.code), Some(3));
        }
        let compressed = std::fs::read(dir.path().join("two.jsonl.gz")).expect("bytes");
        assert!(compressed.starts_with(&[0x1f, 0x8b]));
    }

    #[test]
    fn nothing_is_overwritten() {
        let dir = tempfile::tempdir().expect("dir");
        let path = dir.path().join("mine.jsonl.gz");
        std::fs::write(&path, "precious").expect("write");
        let error = Writer::create_file(&path).expect_err("it is there").to_string();
        assert!(error.contains("mine.jsonl.gz") && error.contains("nothing is overwritten"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "precious");
    }

    #[test]
    fn a_recorder_that_is_killed_loses_what_came_in_the_last_second_and_no_more() {
        let dir = tempfile::tempdir().expect("dir");
        for name in ["plain.jsonl", "compressed.jsonl.gz"] {
            let path = dir.path().join(name);
            let mut recorder = begin(&path);
            let start = recorder.flushed_ns;
            for tenth in 1..=25 {
                recorder.take(snapshot(start + tenth * 100_000_000)).expect("written");
            }
            // What the file holds now is all that a kill would leave.
            let copy = dir.path().join(format!("copy-{name}"));
            std::fs::copy(&path, &copy).expect("copied");
            let run = PastRun::read(&Place::File(copy)).expect("a run");
            assert!(run.session.snapshots.len() >= 20, "{}", run.session.snapshots.len());
            assert_eq!(run.record.outcome, "cut off");
            let listed = history::list(dir.path()).expect("list");
            let own = listed.iter().find(|r| r.known_as().is_some_and(|n| n == format!("copy-{name}")));
            assert_eq!(
                own.map(|r| (r.outcome(), r.device.as_deref())),
                Some(("cut off", Some("2 × NVIDIA H200")))
            );
        }
    }

    #[test]
    fn a_failure_is_told_and_recordings_of_readings_are_no_predictions() {
        let dir = tempfile::tempdir().expect("dir");
        let path = dir.path().join("x.jsonl.gz");
        let failure = Failure { what: "it broke".into(), why: "somehow".into(), next: "look".into() };
        let closed = begin(&path).fail(failure.clone()).expect("closed");
        assert_eq!((closed.record.outcome.as_str(), closed.record.failure), ("failed", Some(failure)));
        let listed = history::list(dir.path()).expect("list");
        assert_eq!(calibration::Predicted::own(&listed), calibration::Predicted::default());
        let events = load(&Place::File(path)).expect("events");
        assert!(matches!(events.last(), Some(LabEvent::Record(_))));
        let own: Vec<_> = listed.iter().filter(|r| !r.shipped()).collect();
        assert!(own.len() == 1 && own[0].is_of_readings() && own[0].outcome() == "failed");
        assert_eq!(super::super::report::pick(&listed, false).len(), 0);
    }
}
