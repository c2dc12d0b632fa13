//! One JSON object per line, in both directions: [`Request`] from the app to the worker's stdin, [`Event`] from the
//! worker's stdout to the app. Nothing here assumes that both run on one machine, except that `mono_ns` values
//! compare only within one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::spec::{Params, Size};

mod device;
mod ledger;
mod reading;
mod walk;

pub use device::{Device, DeviceChoice, DeviceKind, Hello};
pub use ledger::{Basis, Ledger, LedgerItem, ResidualPart};
pub use reading::{Check, Expected, Point, Quantity, Wall, WallCause};
pub use walk::{Matrix, WalkCheck, WalkStep};

/// Raised when a field changes its meaning or goes away; new fields and new event types do not raise it.
pub const PROTOCOL_VERSION: u32 = 1;

/// What the app asks of a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Request {
    /// Run one lab, then exit.
    Run(RunRequest),
    /// End at the next safe point. The worker also ends when its stdin closes.
    Stop,
}

/// Everything that determines a run, apart from the machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRequest {
    /// Lab id, as in [`crate::LABS`].
    pub lab: String,
    /// The named size whose defaults `params` started from.
    pub size: Size,
    /// Where to run.
    pub device: DeviceChoice,
    /// Every parameter of the lab, defaults included.
    pub params: Params,
    /// Seed of the random inputs.
    pub seed: u64,
    /// Upper bound in bytes on what the lab may allocate on the device; `None`: the worker takes 90 % of what is free.
    #[serde(default)]
    pub budget_bytes: Option<u64>,
}

/// What a worker reports. A reader that meets an unknown type keeps the line as a log line and goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// First line of every worker: who it is and what it runs on.
    Hello(Hello),
    /// A phase of the lab (`naive.forward`, `flash.backward`, …) starts or ends; drawn as a span on the device series.
    Phase {
        /// What runs, dot-separated from general to special.
        name: String,
        /// Start or end.
        edge: Edge,
        /// Shared clock, ns.
        mono_ns: u64,
    },
    /// How far the lab is.
    Progress {
        /// Steps done.
        done: u32,
        /// Steps in all.
        total: u32,
        /// What runs now, for people.
        label: Text,
    },
    /// One measured point of a chart.
    Point(Point),
    /// The same point by closed form.
    Expected(Expected),
    /// A correctness check against a reference.
    Check(Check),
    /// The memory wall: a point was not run because it would not fit, or the device refused it.
    Wall(Wall),
    /// One sentence for the learner.
    Note {
        /// The sentence in both languages.
        text: Text,
        /// Shared clock, ns.
        mono_ns: u64,
    },
    /// Where the memory is at one moment.
    Ledger(Ledger),
    /// The closed form of a prediction whose inputs are measured in the run, such as a bandwidth.
    ClosedForm {
        /// Name of the prediction.
        name: String,
        /// Value by the formula.
        value: f64,
        /// Unit of the prediction.
        unit: String,
        /// The recipe with its inputs, as printed.
        formula: String,
    },
    /// A named part of what a closed form does not explain.
    Residual(ResidualPart),
    /// One step of a computation on a case small enough to print.
    Walk(WalkStep),
    /// Named results of the whole run; predictions are compared with these by name.
    Summary {
        /// Result by name.
        values: BTreeMap<String, Quantity>,
    },
    /// The lab ended as it should. Nothing follows.
    Done {
        /// True when it ended because it was asked to stop.
        stopped: bool,
        /// Shared clock, ns.
        mono_ns: u64,
    },
    /// The lab could not go on. Nothing follows.
    Failed(Failure),
}

/// The two ends of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Edge {
    /// It starts.
    Start,
    /// It ends.
    End,
}

/// The same words in both languages.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Text {
    /// English.
    pub en: String,
    /// Chinese.
    pub zh: String,
}

impl Text {
    /// Both languages at once.
    pub fn new(en: impl Into<String>, zh: impl Into<String>) -> Self {
        Self { en: en.into(), zh: zh.into() }
    }
}

/// Why a lab ended early: what happened, why, what to do next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// What happened.
    pub what: String,
    /// Why, as far as is known.
    pub why: String,
    /// What the learner can do.
    pub next: String,
}
