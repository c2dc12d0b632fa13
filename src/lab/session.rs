//! The state of one run as a pure function of its events. The TUI, `lab run`, replay and the tests feed it the same
//! lines; it knows no process, no clock and no file.

use std::collections::BTreeMap;

use infralab_labs::protocol::{
    Check, Edge, Event, Expected, Failure, Hello, PROTOCOL_VERSION, Point, Quantity, Text, Wall,
};

use super::{Exited, Header, LabEvent, Record};
use crate::telemetry::Snapshot;

/// Log lines kept for the screen; the file keeps all.
const MAX_LOG_LINES: usize = 500;
/// Snapshots kept for the screen; when full, every second one goes.
const MAX_SNAPSHOTS: usize = 8192;

/// Where a run is.
#[derive(Debug, Clone, PartialEq)]
pub enum Status {
    /// The worker was started and has not said hello.
    Starting,
    /// The lab runs.
    Running,
    /// It ran to its end.
    Completed,
    /// It was asked to stop and did.
    Stopped,
    /// It could not go on.
    Failed(Failure),
    /// The recording ends before the run does.
    CutOff,
}

/// A phase of the lab on the shared clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Name as the lab gave it.
    pub name: String,
    /// Start, ns.
    pub start_ns: u64,
    /// End, ns; `None` while it lasts.
    pub end_ns: Option<u64>,
}

/// One chart's curves: measured points and closed-form points by series name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Curves {
    /// Measured, in the order in which they came.
    pub measured: BTreeMap<String, Vec<Point>>,
    /// By closed form.
    pub expected: BTreeMap<String, Vec<Expected>>,
}

/// The state of a run.
#[derive(Debug, Clone)]
pub struct LabSession {
    /// How it began; `None` until the header came.
    pub header: Option<Header>,
    /// The worker's greeting.
    pub hello: Option<Hello>,
    /// Where it is.
    pub status: Status,
    /// Steps done, steps in all, what runs now.
    pub progress: Option<(u32, u32, Text)>,
    /// Phases in order of their start.
    pub spans: Vec<Span>,
    /// Charts by metric.
    pub charts: BTreeMap<String, Curves>,
    /// Correctness checks.
    pub checks: Vec<Check>,
    /// Walls met.
    pub walls: Vec<Wall>,
    /// Sentences for the learner.
    pub notes: Vec<Text>,
    /// Results by name.
    pub summary: BTreeMap<String, Quantity>,
    /// Readings taken while it ran, thinned when there are many.
    pub snapshots: Vec<Snapshot>,
    /// Last lines that were printed beside the protocol.
    pub log: Vec<String>,
    /// How the process ended.
    pub exited: Option<Exited>,
    /// The closing record, in a replay.
    pub record: Option<Record>,
    /// Newest time seen, ns on the run's own clock.
    pub now_ns: u64,
    ended_ns: Option<u64>,
}

impl Default for LabSession {
    fn default() -> Self {
        Self {
            header: None,
            hello: None,
            status: Status::Starting,
            progress: None,
            spans: Vec::new(),
            charts: BTreeMap::new(),
            checks: Vec::new(),
            walls: Vec::new(),
            notes: Vec::new(),
            summary: BTreeMap::new(),
            snapshots: Vec::new(),
            log: Vec::new(),
            exited: None,
            record: None,
            now_ns: 0,
            ended_ns: None,
        }
    }
}

impl LabSession {
    /// Takes in one event.
    pub fn apply(&mut self, event: LabEvent) {
        if let Some(ns) = event.mono_ns() {
            self.now_ns = self.now_ns.max(ns);
        }
        match event {
            LabEvent::Header(header) => self.header = Some(header),
            LabEvent::Snapshot(snapshot) => self.push_snapshot(snapshot),
            LabEvent::Log { line } => self.push_log(line),
            LabEvent::Exited(exited) => self.exit(exited),
            LabEvent::Record(record) => self.record = Some(*record),
            LabEvent::Worker(event) => self.worker(event),
        }
    }

    /// Whether nothing more will come from the worker.
    pub fn ended(&self) -> bool {
        !matches!(self.status, Status::Starting | Status::Running)
    }

    /// Says that nothing more will come: the recording has been read to its end.
    pub fn end_of_recording(&mut self) {
        if !self.ended() {
            self.end(Status::CutOff, self.now_ns);
        }
    }

    /// Start of the run on its own clock: the header's, else the first thing seen.
    pub fn start_ns(&self) -> u64 {
        self.header
            .as_ref()
            .map(|h| h.mono_ns)
            .or_else(|| self.snapshots.first().map(|s| s.mono_ns))
            .or_else(|| self.hello.as_ref().map(|h| h.mono_ns))
            .unwrap_or(self.now_ns)
    }

    /// Nanoseconds from the start until the end, or until now.
    pub fn elapsed_ns(&self) -> u64 {
        self.ended_ns.unwrap_or(self.now_ns).saturating_sub(self.start_ns())
    }

    /// The phase that lasts, innermost.
    pub fn current_span(&self) -> Option<&Span> {
        self.spans.iter().rev().find(|s| s.end_ns.is_none())
    }

    /// Device memory in use on one GPU before the lab and in the newest reading after the worker ended; `None` while
    /// it runs or where nothing was read.
    pub fn memory_before_and_after(&self, gpu: usize) -> Option<(u64, u64)> {
        let ended = self.exited.as_ref()?.mono_ns;
        let used = |s: &Snapshot| s.gpus.get(gpu).and_then(|g| g.memory_used_bytes);
        let before = self.snapshots.iter().find_map(used)?;
        let after = self.snapshots.iter().rev().take_while(|s| s.mono_ns > ended).find_map(used)?;
        Some((before, after))
    }

    fn worker(&mut self, event: Event) {
        if self.ended() {
            return;
        }
        match event {
            Event::Hello(hello) => self.greet(hello),
            Event::Phase { name, edge: Edge::Start, mono_ns } => {
                self.spans.push(Span { name, start_ns: mono_ns, end_ns: None });
            }
            Event::Phase { name, edge: Edge::End, mono_ns } => {
                if let Some(span) = self.spans.iter_mut().rev().find(|s| s.end_ns.is_none() && s.name == name)
                {
                    span.end_ns = Some(mono_ns);
                }
            }
            Event::Progress { done, total, label } => self.progress = Some((done, total, label)),
            Event::Point(point) => {
                let curves = self.charts.entry(point.metric.clone()).or_default();
                curves.measured.entry(point.series.clone()).or_default().push(point);
            }
            Event::Expected(expected) => {
                let curves = self.charts.entry(expected.metric.clone()).or_default();
                curves.expected.entry(expected.series.clone()).or_default().push(expected);
            }
            Event::Check(check) => self.checks.push(check),
            Event::Wall(wall) => self.walls.push(wall),
            Event::Note { text, .. } => self.notes.push(text),
            Event::Summary { values } => self.summary.extend(values),
            Event::Done { stopped, mono_ns } => {
                self.end(if stopped { Status::Stopped } else { Status::Completed }, mono_ns);
            }
            Event::Failed(failure) => self.end(Status::Failed(failure), self.now_ns),
        }
    }

    fn greet(&mut self, hello: Hello) {
        if hello.protocol == PROTOCOL_VERSION {
            self.status = Status::Running;
        } else {
            let failure = Failure {
                what: "the worker speaks another protocol".into(),
                why: format!("it is version {}, this program is version {PROTOCOL_VERSION}", hello.protocol),
                next: "run `infralab engine install` to build the worker of this version".into(),
            };
            self.end(Status::Failed(failure), hello.mono_ns);
        }
        self.hello = Some(hello);
    }

    fn exit(&mut self, exited: Exited) {
        if !self.ended() {
            let how = match (exited.code, exited.signal) {
                (_, Some(9)) => {
                    "it was killed (signal 9); on a host short of memory the kernel does that".into()
                }
                (_, Some(signal)) => format!("it was ended by signal {signal}"),
                (Some(code), None) => format!("it exited with code {code}"),
                (None, None) => "how is not known".into(),
            };
            let last = self.log.last().map(|line| format!("; its last words: {line}")).unwrap_or_default();
            let failure = Failure {
                what: "the worker ended before the lab did".into(),
                why: format!("{how}{last}"),
                next: "run `infralab doctor`; if LibTorch changed, run `infralab engine install` again"
                    .into(),
            };
            self.end(Status::Failed(failure), exited.mono_ns);
        }
        self.exited = Some(exited);
    }

    fn end(&mut self, status: Status, at_ns: u64) {
        self.status = status;
        self.ended_ns = Some(at_ns);
        for span in self.spans.iter_mut().filter(|s| s.end_ns.is_none()) {
            span.end_ns = Some(at_ns.max(span.start_ns));
        }
    }

    fn push_snapshot(&mut self, snapshot: Snapshot) {
        if self.snapshots.len() == MAX_SNAPSHOTS {
            let mut keep = false;
            self.snapshots.retain(|_| {
                keep = !keep;
                keep
            });
        }
        self.snapshots.push(snapshot);
    }

    fn push_log(&mut self, line: String) {
        if self.log.len() == MAX_LOG_LINES {
            self.log.remove(0);
        }
        self.log.push(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use infralab_labs::protocol::{Device, DeviceKind};

    fn hello(protocol: u32) -> LabEvent {
        LabEvent::Worker(Event::Hello(Hello {
            protocol,
            worker: "0".into(),
            libtorch: "2.11.0".into(),
            cudnn: None,
            device: Device {
                kind: DeviceKind::Cpu,
                index: None,
                name: "cpu".into(),
                uuid: None,
                total_memory_bytes: None,
                free_memory_bytes: None,
                compute_capability: None,
                sm_count: None,
            },
            cuda_devices: 0,
            cuda_absent_because: None,
            pid: 1,
            cpu_threads: 1,
            mono_ns: 10,
            unix_ms: 0,
        }))
    }

    fn phase(name: &str, edge: Edge, mono_ns: u64) -> LabEvent {
        LabEvent::Worker(Event::Phase { name: name.into(), edge, mono_ns })
    }

    fn after(events: Vec<LabEvent>) -> LabSession {
        let mut session = LabSession::default();
        for event in events {
            session.apply(event);
        }
        session
    }

    #[test]
    fn a_clean_run_goes_from_starting_to_completed() {
        let session = after(vec![
            hello(PROTOCOL_VERSION),
            phase("a", Edge::Start, 20),
            phase("a", Edge::End, 30),
            LabEvent::Worker(Event::Done { stopped: false, mono_ns: 40 }),
            LabEvent::Exited(Exited { code: Some(0), signal: None, mono_ns: 50 }),
        ]);
        assert_eq!(session.status, Status::Completed);
        assert_eq!(session.elapsed_ns(), 30);
        assert_eq!(session.spans, [Span { name: "a".into(), start_ns: 20, end_ns: Some(30) }]);
    }

    #[test]
    fn another_protocol_is_a_failure_that_says_what_to_do() {
        let session = after(vec![hello(99)]);
        let Status::Failed(failure) = session.status else { panic!("{:?}", session.status) };
        assert!(failure.why.contains("99") && failure.next.contains("engine install"));
    }

    #[test]
    fn a_worker_that_dies_fails_the_run_and_closes_its_phases() {
        let session = after(vec![
            hello(PROTOCOL_VERSION),
            phase("a", Edge::Start, 20),
            LabEvent::Log { line: "terminate called".into() },
            LabEvent::Exited(Exited { code: None, signal: Some(6), mono_ns: 90 }),
            phase("b", Edge::Start, 95),
        ]);
        let Status::Failed(failure) = &session.status else { panic!("{:?}", session.status) };
        assert!(failure.why.contains("signal 6") && failure.why.contains("terminate called"));
        assert_eq!(session.spans, [Span { name: "a".into(), start_ns: 20, end_ns: Some(90) }]);
    }

    #[test]
    fn snapshots_are_bounded_and_keep_their_ends() {
        let shots = (0..3 * MAX_SNAPSHOTS as u64)
            .map(|i| LabEvent::Snapshot(Snapshot { mono_ns: i, ..Snapshot::default() }));
        let session = after(shots.collect());
        assert!(session.snapshots.len() <= MAX_SNAPSHOTS);
        assert_eq!(session.snapshots.first().map(|s| s.mono_ns), Some(0));
        assert_eq!(session.snapshots.last().map(|s| s.mono_ns), Some(3 * MAX_SNAPSHOTS as u64 - 1));
        assert!(session.snapshots.is_sorted_by_key(|s| s.mono_ns));
    }
}
