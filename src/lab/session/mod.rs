//! The state of one run as a pure function of its events. The TUI, `lab run`, replay and the tests feed it the same
//! lines; it knows no process, no clock and no file.

use std::collections::BTreeMap;

use infralab_labs::protocol::{
    Check, Edge, Event, Expected, Failure, Hello, Ledger, PROTOCOL_VERSION, Point, Quantity, ResidualPart,
    Text, WalkStep, Wall,
};

use infralab_labs::spec::ClosedForm;
use serde::{Deserialize, Serialize};

use super::{Exited, Header, LabEvent, MONITOR, Record};
use crate::telemetry::Snapshot;

/// Log lines kept for the screen; the file keeps all.
const MAX_LOG_LINES: usize = 500;
/// Snapshots kept for the screen; when full, every second one goes.
const MAX_SNAPSHOTS: usize = 8192;

/// How long device memory may take to come back after the worker's end: 3 s.
const MEMORY_RETURN_NS: u64 = 3_000_000_000;
/// Other processes come and go; this much more than before still counts as given back: 64 MiB.
const MEMORY_SLACK_BYTES: u64 = 64 << 20;

/// Device memory before a run and after it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MemoryReturn {
    /// In use on the device in the first reading, by every process.
    pub before_bytes: u64,
    /// In use on the device in the newest reading after the worker's end.
    pub after_bytes: u64,
    /// That reading came so long after the worker's end.
    pub after_ms: f64,
}

/// Device memory as the driver counts it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DriverMemory {
    /// In use by every process.
    pub used_bytes: u64,
    /// In use by the worker, where the driver tells processes apart.
    pub worker_bytes: Option<u64>,
    /// Milliseconds between the moment that was asked for and the reading.
    pub away_ms: f64,
}

impl MemoryReturn {
    /// Whether the device holds no more than before.
    pub fn is_back(&self) -> bool {
        self.after_bytes <= self.before_bytes + MEMORY_SLACK_BYTES
    }
}

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
    /// Where the memory was, moment by moment.
    pub ledgers: Vec<Ledger>,
    /// Closed forms of predictions whose inputs were measured in the run.
    pub closed_forms: BTreeMap<String, ClosedForm>,
    /// Named parts of what the closed forms do not explain.
    pub residual_parts: Vec<ResidualPart>,
    /// A computation step by step.
    pub walk: Vec<WalkStep>,
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
            ledgers: Vec::new(),
            closed_forms: BTreeMap::new(),
            residual_parts: Vec::new(),
            walk: Vec::new(),
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
            LabEvent::Header(header) => {
                // Readings alone have no worker whose greeting would be waited for.
                if header.request.lab == MONITOR {
                    self.status = Status::Running;
                }
                self.header = Some(header);
            }
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

    /// Whether it is a recording of readings alone, and of no lab.
    pub fn is_of_readings(&self) -> bool {
        self.header.as_ref().is_some_and(|h| h.request.lab == MONITOR)
    }

    /// The phase that lasts, innermost.
    pub fn current_span(&self) -> Option<&Span> {
        self.spans.iter().rev().find(|s| s.end_ns.is_none())
    }

    /// Position among the snapshots' GPUs of the one that the lab runs on; `None` on the CPU, or before the hello.
    pub fn gpu(&self) -> Option<usize> {
        let device = &self.hello.as_ref()?.device;
        let index = device.index? as usize;
        let uuid = device.uuid.as_deref();
        let gpus = &self.header.as_ref()?.machine.gpus;
        uuid.and_then(|uuid| gpus.iter().position(|g| g.uuid.as_deref() == Some(uuid))).or(Some(index))
    }

    /// Device memory in use before the lab and in the newest reading after the worker ended; `None` while it runs, on
    /// the CPU, or where nothing was read.
    pub fn memory_return(&self) -> Option<MemoryReturn> {
        let (gpu, ended) = (self.gpu()?, self.exited.as_ref()?.mono_ns);
        let used = |s: &Snapshot| s.gpus.get(gpu).and_then(|g| g.memory_used_bytes);
        let before_bytes = self.snapshots.iter().find_map(used)?;
        let mut after = self.snapshots.iter().rev().take_while(|s| s.mono_ns > ended);
        let (after_ns, after_bytes) = after.find_map(|s| Some((s.mono_ns, used(s)?)))?;
        Some(MemoryReturn { before_bytes, after_bytes, after_ms: (after_ns - ended) as f64 / 1e6 })
    }

    /// Device memory by the driver's count (NVML) beside a ledger: of every process, and of the worker where the driver
    /// tells processes apart. The reading nearest in time; for a peak, which nobody reads at its moment, the highest
    /// since the stage before. `None` on the CPU.
    pub fn driver_memory_of(&self, ledger: &Ledger) -> Option<DriverMemory> {
        let gpu = self.gpu()?;
        let pid = self.hello.as_ref()?.pid;
        let at_ns = ledger.mono_ns;
        let nearest = if ledger.stage == "peak" {
            let before =
                self.ledgers.iter().rev().find(|l| l.series == ledger.series && l.mono_ns < at_ns)?;
            let since = self.snapshots.iter().filter(|s| (before.mono_ns..=at_ns).contains(&s.mono_ns));
            since.max_by_key(|s| s.gpus.get(gpu).and_then(|g| g.memory_used_bytes))?
        } else {
            self.snapshots.iter().min_by_key(|s| s.mono_ns.abs_diff(at_ns))?
        };
        let reading = nearest.gpus.get(gpu)?;
        let worker = reading.processes.as_ref().and_then(|all| all.iter().find(|p| p.pid == pid));
        Some(DriverMemory {
            used_bytes: reading.memory_used_bytes?,
            worker_bytes: worker.and_then(|p| p.memory_bytes),
            away_ms: nearest.mono_ns.abs_diff(at_ns) as f64 / 1e6,
        })
    }

    /// Whether nothing more is worth waiting for: the worker is gone, and its memory is back or has had its time.
    pub fn settled(&self) -> bool {
        let Some(exited) = &self.exited else { return false };
        self.gpu().is_none()
            || self.memory_return().is_some_and(|m| m.is_back())
            || self.now_ns >= exited.mono_ns + MEMORY_RETURN_NS
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
            Event::Ledger(ledger) => self.ledgers.push(ledger),
            Event::ClosedForm { name, value, unit, formula } => {
                let form = ClosedForm { value: Quantity::some(value, &unit), formula };
                self.closed_forms.insert(name, form);
            }
            Event::Residual(part) => self.residual_parts.push(part),
            Event::Walk(step) => self.walk.push(step),
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
        // The command beside which readings are taken may end before them.
        if !self.ended() && !self.is_of_readings() {
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
mod tests;
