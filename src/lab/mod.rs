//! Labs as the app sees them: a [`LabEvent`] stream that [`session`] turns into state, that [`runner`] gets from a
//! worker, and that [`history`] keeps on disk. One line format serves history, export, replay and tests.

pub mod calibration;
pub mod ceiling;
pub mod compare;
pub mod history;
pub mod past_run;
pub mod prediction;
pub mod preflight;
pub mod record;
pub mod recorder;
pub mod replay;
pub mod report;
pub mod runner;
pub mod session;

use infralab_labs::clock::{mono_ns, unix_ms};
use infralab_labs::protocol::{Event, RunRequest, Text};
use serde::{Deserialize, Serialize};

use crate::telemetry::{Machine, Snapshot};

pub use past_run::PastRun;
pub use prediction::{Prediction, Predictions};
pub use record::Record;
pub use session::LabSession;

/// Lab id of a recording of readings alone, made by `infralab gpu --record`.
pub const MONITOR: &str = "monitor";

/// One line of a run, in the order in which things happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LabEvent {
    /// First line of a recorded run.
    Header(Header),
    /// Readings of host and devices while the lab ran.
    Snapshot(Snapshot),
    /// A line that the worker or one of its libraries printed.
    Log {
        /// The line, as it came.
        line: String,
    },
    /// The worker's process ended.
    Exited(Exited),
    /// Last line of a recorded run.
    Record(Box<Record>),
    /// What the worker reported.
    #[serde(untagged)]
    Worker(Event),
}

/// How a run began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version of this line format.
    pub format: u32,
    /// Run id.
    pub run: String,
    /// Version of infralab.
    pub infralab: String,
    /// What was asked of the worker.
    pub request: RunRequest,
    /// What the learner predicted, by name, in the unit of the lab's specification; empty when nothing was. Written
    /// before the worker starts, so it cannot be changed by what comes.
    pub predictions: Predictions,
    /// What on the machine would disturb the times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbances: Vec<Text>,
    /// The machine that the app ran on.
    pub machine: Machine,
    /// Wall clock at the start, ms since 1970.
    pub unix_ms: u64,
    /// Shared clock at the start, ns.
    pub mono_ns: u64,
}

impl Header {
    /// The header of a run that starts now on this machine, where `now` are its newest readings.
    pub fn new(
        request: RunRequest,
        predictions: Predictions,
        machine: Machine,
        now: Option<&Snapshot>,
        lock: &preflight::RunLock,
    ) -> Self {
        let unix_ms = unix_ms();
        let kind = preflight::device_kind(request.device, &machine);
        Self {
            format: history::FORMAT,
            run: history::new_run_id(&request.lab, request.size.name(), unix_ms),
            infralab: env!("CARGO_PKG_VERSION").into(),
            request,
            predictions,
            disturbances: preflight::disturbances(kind, now, lock.contended()),
            machine,
            unix_ms,
            mono_ns: mono_ns(),
        }
    }
}

/// How the worker's process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exited {
    /// Exit code, where there is one.
    pub code: Option<i32>,
    /// Signal that ended it, where one did.
    pub signal: Option<i32>,
    /// Shared clock, ns.
    pub mono_ns: u64,
}

impl LabEvent {
    /// When it happened on the run's own clock, where the event says so.
    pub fn mono_ns(&self) -> Option<u64> {
        match self {
            Self::Header(header) => Some(header.mono_ns),
            Self::Snapshot(snapshot) => Some(snapshot.mono_ns),
            Self::Exited(exited) => Some(exited.mono_ns),
            Self::Worker(
                Event::Phase { mono_ns, .. } | Event::Note { mono_ns, .. } | Event::Done { mono_ns, .. },
            ) => Some(*mono_ns),
            Self::Worker(Event::Hello(hello)) => Some(hello.mono_ns),
            Self::Worker(Event::Point(point)) => Some(point.mono_ns),
            Self::Worker(Event::Ledger(ledger)) => Some(ledger.mono_ns),
            Self::Log { .. } | Self::Record(_) | Self::Worker(_) => None,
        }
    }
}

/// Parses one line. JSON can spell control characters with escapes, so cleaning the line is not enough: every string
/// in it is made visible before anything sees it.
pub(crate) fn parse<T: serde::de::DeserializeOwned>(line: &str) -> serde_json::Result<T> {
    if !line.contains('\\') {
        return serde_json::from_str(line);
    }
    let mut value: serde_json::Value = serde_json::from_str(line)?;
    clean(&mut value);
    serde_json::from_value(value)
}

fn clean(value: &mut serde_json::Value) {
    use serde_json::Value;
    match value {
        Value::String(text) => {
            if let std::borrow::Cow::Owned(visible) = crate::visible::visible(text) {
                *text = visible;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(clean),
        Value::Object(fields) => {
            *fields = std::mem::take(fields)
                .into_iter()
                .map(|(name, mut value)| {
                    clean(&mut value);
                    (crate::visible::visible(&name).into_owned(), value)
                })
                .collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_in_json_cannot_smuggle_control_characters() {
        let line = r#"{"type":"log","line":"a\u001b]0;X\u0007b \u663e\u5b58"}"#;
        assert_eq!(parse::<LabEvent>(line).expect("a log"), LabEvent::Log { line: "a␛]0;X␇b 显存".into() });
    }
}
