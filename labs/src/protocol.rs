//! One JSON object per line, in both directions: [`Request`] from the app to the worker's stdin, [`Event`] from the
//! worker's stdout to the app. Nothing here assumes that both run on one machine, except that `mono_ns` values
//! compare only within one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::spec::{ParamValue, Params, Size};

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

/// `auto`, `cpu` or `cuda:N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeviceChoice {
    /// A CUDA device where one answers, else the CPU.
    #[default]
    Auto,
    /// The CPU, even where a GPU answers.
    Cpu,
    /// The CUDA device with this index (PCI bus order).
    Cuda(u32),
}

impl std::str::FromStr for DeviceChoice {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            _ => text
                .strip_prefix("cuda:")
                .and_then(|n| n.parse().ok())
                .map(Self::Cuda)
                .ok_or_else(|| format!("unknown device `{text}`: use auto, cpu or cuda:N")),
        }
    }
}

impl std::fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(n) => write!(f, "cuda:{n}"),
        }
    }
}

impl Serialize for DeviceChoice {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DeviceChoice {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
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

/// What runs the lab. Every field that could not be read is `None`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL_VERSION`] of the worker.
    pub protocol: u32,
    /// Version of the worker.
    pub worker: String,
    /// Version of LibTorch, for example `2.11.0`.
    pub libtorch: String,
    /// Version of cuDNN where CUDA was loaded, for example `9.19.0`.
    pub cudnn: Option<String>,
    /// The device that the lab will use.
    pub device: Device,
    /// CUDA devices that answer.
    pub cuda_devices: u32,
    /// Why CUDA is not in use, in words; `None` when it is.
    pub cuda_absent_because: Option<String>,
    /// Process id of the worker on its own machine.
    pub pid: u32,
    /// Threads that LibTorch uses for one operation on the CPU.
    pub cpu_threads: u32,
    /// Shared clock, ns.
    pub mono_ns: u64,
    /// Wall clock, ms since 1970.
    pub unix_ms: u64,
}

/// A device as the worker sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// `cpu` or `cuda`.
    pub kind: DeviceKind,
    /// CUDA index; `None` for the CPU.
    pub index: Option<u32>,
    /// Marketing name of the GPU, or the CPU's model name.
    pub name: String,
    /// `GPU-…` uuid, to find the same card in NVML.
    pub uuid: Option<String>,
    /// Total memory in bytes (device memory of a GPU, RAM of a host).
    pub total_memory_bytes: Option<u64>,
    /// Free memory in bytes when the worker started.
    pub free_memory_bytes: Option<u64>,
    /// Compute capability, for example `9.0`.
    pub compute_capability: Option<String>,
    /// Streaming multiprocessors.
    pub sm_count: Option<u32>,
}

/// Kind of device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// Host processor.
    Cpu,
    /// NVIDIA GPU.
    Cuda,
}

/// A value with its unit. `None` is a missing reading, never zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quantity {
    /// The value, or `None` with a reason.
    pub value: Option<f64>,
    /// Unit as printed: `ms`, `TFLOP/s`, `MiB`, `x`, ….
    pub unit: String,
    /// Why there is no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

impl Quantity {
    /// A value that was read.
    pub fn some(value: f64, unit: &str) -> Self {
        Self { value: Some(value), unit: unit.into(), missing: None }
    }

    /// A reading that could not be had, and why.
    pub fn missing(unit: &str, why: impl Into<String>) -> Self {
        Self { value: None, unit: unit.into(), missing: Some(why.into()) }
    }
}

/// One measured point of the chart `metric`, curve `series`, at `x`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Chart id of the lab's specification.
    pub metric: String,
    /// Curve: `naive`, `flash`, ….
    pub series: String,
    /// Position on the chart's x axis.
    pub x: f64,
    /// The reading.
    #[serde(flatten)]
    pub y: Quantity,
    /// How it was taken: window, repetitions, clock.
    pub window: String,
    /// Shared clock, ns.
    pub mono_ns: u64,
}

/// The closed form of a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// Chart id.
    pub metric: String,
    /// Curve that it belongs to.
    pub series: String,
    /// Position on the x axis.
    pub x: f64,
    /// Value by the formula.
    pub value: f64,
    /// Unit.
    pub unit: String,
    /// The recipe, as printed: `3 · b·h·n²·2 B`.
    pub formula: String,
}

/// A correctness check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// What was compared: `naive.forward`, `flash.dq`, ….
    pub name: String,
    /// What it was compared with.
    pub reference: String,
    /// Largest absolute difference.
    pub max_abs_error: f64,
    /// Largest absolute value of the reference, to judge the error by.
    pub reference_max_abs: f64,
    /// Bound on `max_abs_error / reference_max_abs`.
    pub tolerance: f64,
    /// Whether the bound held.
    pub passed: bool,
}

/// Where the memory ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wall {
    /// Curve that met it.
    pub series: String,
    /// The x that was not run.
    pub x: f64,
    /// Bytes that the point would have needed, by the closed form.
    pub needed_bytes: u64,
    /// Bytes that the run may use.
    pub budget_bytes: u64,
    /// Whether the budget forbade it or the device refused it.
    pub cause: WallCause,
    /// One line for people.
    pub text: Text,
}

/// Why a point was not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WallCause {
    /// The closed form exceeds the byte budget; nothing was tried.
    Budget,
    /// The allocator refused; the memory was given back.
    OutOfMemory,
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

/// Parameter lookups shared by the labs: the value or the failure that names the parameter.
pub fn param_u64(params: &Params, key: &str) -> Result<u64, Failure> {
    match params.get(key) {
        Some(ParamValue::Int(n)) if *n >= 0 => Ok(*n as u64),
        other => Err(Failure {
            what: format!("parameter `{key}` is not a whole number"),
            why: format!("the request holds {other:?}"),
            next: "start the lab from infralab, which fills in every parameter".into(),
        }),
    }
}

/// See [`param_u64`].
pub fn param_text<'a>(params: &'a Params, key: &str) -> Result<&'a str, Failure> {
    match params.get(key) {
        Some(ParamValue::Text(text)) => Ok(text),
        other => Err(Failure {
            what: format!("parameter `{key}` is not a word"),
            why: format!("the request holds {other:?}"),
            next: "start the lab from infralab, which fills in every parameter".into(),
        }),
    }
}
