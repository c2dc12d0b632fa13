//! The closing line of a run: what was asked, predicted, expected and measured, in the shape that the command line
//! promises.

use std::collections::BTreeMap;

use infralab_labs::find_lab;
use infralab_labs::protocol::{Device, DeviceKind, Quantity, ResidualPart, Text};
use infralab_labs::spec::{ClosedForm, Params, PredictionSpec};
use serde::{Deserialize, Serialize};

use super::prediction::{Prediction, Side};
use super::session::{LabSession, MemoryReturn, Status};
use super::{Header, MONITOR};

/// A finished run in one object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Run id.
    pub run: String,
    /// Lab id.
    pub lab: String,
    /// `completed`, `stopped`, `failed`, or `cut off` when the file ends before the run does.
    pub outcome: String,
    /// What went wrong, when it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<infralab_labs::protocol::Failure>,
    /// What it ran on; `None` when the worker never said.
    pub device: Option<Device>,
    /// Parameters, defaults included.
    pub params: Params,
    /// Results by name.
    pub summary: BTreeMap<String, Quantity>,
    /// One line per prediction that the lab asks for, answered or not.
    pub predictions: Vec<PredictionResult>,
    /// What the result depends on besides the parameters.
    pub env: Env,
}

/// A prediction beside the closed form and the measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PredictionResult {
    /// Name.
    pub name: String,
    /// The closed form's recipe; `None` where there is none.
    pub formula: Option<String>,
    /// What the learner said before the run; `None` when nothing.
    pub predicted: Option<f64>,
    /// The interval that the learner was 80 % sure of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// On which side of the closed form the learner expected the measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<Side>,
    /// Value by closed form.
    pub closed_form: Option<f64>,
    /// What was measured.
    pub measured: Option<f64>,
    /// Smallest and largest of the repetitions that `measured` summarises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_range: Option<[f64; 2]>,
    /// Why nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Unit of all of them.
    pub unit: String,
    /// `|ln(predicted / measured)|`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_error: Option<f64>,
    /// Whether the measurement lies in the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_held: Option<bool>,
    /// Whether the measurement is on the side that the learner expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side_held: Option<bool>,
    /// Measured − closed form.
    pub residual: Option<f64>,
    /// Parts of the residual that have a name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub residual_parts: Vec<ResidualPart>,
    /// What of the residual has no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unexplained: Option<f64>,
}

impl PredictionResult {
    fn prediction(&self) -> Option<Prediction> {
        self.predicted.map(|value| Prediction { value, interval: self.interval, side: self.side })
    }

    /// `|ln(predicted / measured)|`, made now for runs of versions that did not write it.
    pub fn error(&self) -> Option<f64> {
        self.log_error.or_else(|| self.prediction()?.log_error(self.measured?)).filter(|e| e.is_finite())
    }

    /// Whether the measurement lies in the interval, made now where it was not written.
    pub fn held(&self) -> Option<bool> {
        self.interval_held.or_else(|| self.prediction()?.held(self.measured?))
    }

    /// What of the residual has no name; runs of older versions name no parts of it.
    pub fn rest(&self) -> Option<f64> {
        self.unexplained.or(self.residual)
    }
}

/// What a result depends on besides the parameters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Env {
    /// Version of infralab.
    pub infralab: String,
    /// LibTorch version.
    pub libtorch: Option<String>,
    /// cuDNN version.
    pub cudnn: Option<String>,
    /// NVIDIA driver version.
    pub driver: Option<String>,
    /// Host CPU.
    pub cpu: Option<String>,
    /// Threads that LibTorch used on the CPU.
    pub cpu_threads: Option<u32>,
    /// Whether device memory came back after the worker's end; `None` on the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_return: Option<MemoryReturn>,
    /// SM clock in the last reading before the worker's end, MHz.
    pub sm_clock_mhz: Option<u32>,
    /// What on the machine disturbed the times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbances: Vec<Text>,
    /// Seed of the random inputs.
    pub seed: u64,
    /// Seconds from start to end.
    pub elapsed_s: f64,
    /// Wall clock at the start, ms since 1970.
    pub unix_ms: u64,
}

impl Record {
    /// The record of a session that ended; `None` without a header.
    pub fn of(session: &LabSession) -> Option<Self> {
        let header = session.header.as_ref()?;
        let hello = session.hello.as_ref();
        let (outcome, failure) = match &session.status {
            Status::Completed => ("completed", None),
            Status::Stopped => ("stopped", None),
            Status::Failed(failure) => ("failed", Some(failure.clone())),
            Status::Starting | Status::Running | Status::CutOff => ("cut off", None),
        };
        let ended = session.exited.as_ref().map_or(u64::MAX, |e| e.mono_ns);
        let mut during = session.snapshots.iter().rev().filter(|s| s.mono_ns <= ended);
        let last_gpu = during.find_map(|s| s.gpus.get(session.gpu().unwrap_or(0)));
        Some(Self {
            run: header.run.clone(),
            lab: header.request.lab.clone(),
            outcome: outcome.into(),
            failure,
            device: hello.map(|h| h.device.clone()).or_else(|| watched(header)),
            params: header.request.params.clone(),
            summary: session.summary.clone(),
            predictions: predictions(session),
            env: Env {
                infralab: header.infralab.clone(),
                libtorch: hello.map(|h| h.libtorch.clone()),
                cudnn: hello.and_then(|h| h.cudnn.clone()),
                driver: header.machine.driver.clone(),
                cpu: header.machine.cpu.clone(),
                cpu_threads: hello.map(|h| h.cpu_threads),
                memory_return: session.memory_return(),
                sm_clock_mhz: last_gpu.and_then(|g| g.sm_clock_mhz),
                disturbances: header.disturbances.clone(),
                seed: header.request.seed,
                elapsed_s: session.elapsed_ns() as f64 / 1e9,
                unix_ms: header.unix_ms,
            },
        })
    }
}

/// What a recording of readings is of: the GPU, several as `8 × NVIDIA H200`, or the host that has none. `None` for the
/// run of a lab, whose worker says it.
pub fn watched(header: &Header) -> Option<Device> {
    let machine = &header.machine;
    if header.request.lab != MONITOR {
        return None;
    }
    let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "?".into());
    let device = Device {
        kind: DeviceKind::Cpu,
        index: None,
        name: name(&machine.cpu),
        uuid: None,
        total_memory_bytes: machine.memory_total_bytes,
        free_memory_bytes: None,
        compute_capability: None,
        sm_count: None,
    };
    Some(match machine.gpus.as_slice() {
        [] => device,
        [gpu] => Device {
            kind: DeviceKind::Cuda,
            index: Some(gpu.index),
            name: name(&gpu.name),
            uuid: gpu.uuid.clone(),
            total_memory_bytes: gpu.memory_total_bytes,
            ..device
        },
        [first, ..] => {
            let others = machine.gpus.iter().any(|g| g.name != first.name);
            let more = if others { ", …" } else { "" };
            let name = format!("{} × {}{more}", machine.gpus.len(), name(&first.name));
            Device { kind: DeviceKind::Cuda, name, total_memory_bytes: None, ..device }
        }
    })
}

/// What the lab asks, with the answers so far: predicted, by closed form, measured, and the residual.
pub fn predictions(session: &LabSession) -> Vec<PredictionResult> {
    let Some(header) = &session.header else { return Vec::new() };
    let Some(lab) = find_lab(&header.request.lab) else { return Vec::new() };
    // Until the worker says what it runs on, there is nothing to compare with.
    let kind = session.hello.as_ref().map(|h| h.device.kind);
    let params = lab.completed(header.request.size, &header.request.params);
    let forms = kind.map(|k| lab.closed_forms_on(k, &params)).unwrap_or_default();
    lab.predictions
        .iter()
        .map(|asked| {
            judged(
                asked,
                header.predictions.get(&asked.name),
                forms.get(&asked.name).or_else(|| session.closed_forms.get(&asked.name)),
                session,
            )
        })
        .collect()
}

fn judged(
    asked: &PredictionSpec,
    prediction: Option<&Prediction>,
    form: Option<&ClosedForm>,
    session: &LabSession,
) -> PredictionResult {
    let closed_form = form.and_then(|f| f.value.value);
    let result = session.summary.get(&asked.name);
    let measured = result.and_then(|q| q.value);
    let both = measured.zip(closed_form);
    let residual = both.map(|(m, c)| m - c);
    let parts: Vec<ResidualPart> =
        session.residual_parts.iter().filter(|p| p.of == asked.name).cloned().collect();
    let side = prediction.and_then(|p| p.side);
    PredictionResult {
        name: asked.name.clone(),
        formula: form.map(|f| f.formula.clone()),
        predicted: prediction.map(|p| p.value),
        interval: prediction.and_then(|p| p.interval),
        side,
        closed_form,
        measured,
        measured_range: result.and_then(|q| q.range),
        missing: result.and_then(|q| q.missing.clone()),
        unit: asked.unit.clone(),
        log_error: prediction.zip(measured).and_then(|(p, m)| p.log_error(m)),
        interval_held: prediction.zip(measured).and_then(|(p, m)| p.held(m)),
        side_held: side.zip(both).map(|(side, (m, c))| side == Side::of(m, c)),
        residual,
        unexplained: residual.map(|r| {
            let rest = r - parts.iter().map(|p| p.value).sum::<f64>();
            // What is left of sums that cancel is the arithmetic's, not the device's.
            if rest.abs() <= 1e-9 * measured.unwrap_or_default().abs() { 0.0 } else { rest }
        }),
        residual_parts: parts,
    }
}
