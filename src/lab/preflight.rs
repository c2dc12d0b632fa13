//! What is looked at before a run: whether its bytes fit, and what on the machine would disturb its times.

use std::fs::File;
use std::path::Path;

use infralab_labs::LabSpec;
use infralab_labs::protocol::{DeviceChoice, DeviceKind, Failure, RunRequest, Text};
use infralab_labs::spec::Need;
use rustix::fs::FlockOperation;

use crate::telemetry::{GpuSnapshot, Machine, Snapshot};

/// A host this busy before the start makes times of a CPU run doubtful, percent of the whole machine.
const BUSY_HOST_PCT: f64 = 25.0;
/// A GPU this busy before the start is shared with somebody, percent of its processors, or of the last second.
const BUSY_GPU_PCT: f64 = 5.0;

/// Bytes needed against bytes free, on the device that a request would run on.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// Kind of the device.
    pub kind: DeviceKind,
    /// What the run cannot begin without; `None` where the lab names nothing.
    pub need: Option<Need>,
    /// What is free there; `None` where it is not known yet. The worker asks the device itself again.
    pub free_bytes: Option<f64>,
}

impl Fit {
    /// Looks at a request before its run.
    pub fn of(lab: &LabSpec, request: &RunRequest, machine: &Machine, now: Option<&Snapshot>) -> Self {
        let gpu = gpu_of(request.device, machine);
        let kind = device_kind(request.device, machine);
        let free = |total: Option<u64>, used: Option<u64>| total?.checked_sub(used?).map(|free| free as f64);
        let free_bytes = now.and_then(|now| match gpu {
            Some(index) => now.gpus.get(index).and_then(|g| free(g.memory_total_bytes, g.memory_used_bytes)),
            None => free(now.host.memory_total_bytes, now.host.memory_used_bytes),
        });
        Self { kind, need: lab.need(kind, &request.params), free_bytes }
    }

    /// Why the run cannot begin; `None` when it fits or the bytes are not known.
    pub fn refusal(&self, lab: &LabSpec) -> Option<Failure> {
        let (need, free) = (self.need.as_ref()?, self.free_bytes?);
        (need.bytes > free).then(|| lab.too_large(self.kind, need, free))
    }
}

/// The kind of device that a choice means on this machine.
pub fn device_kind(choice: DeviceChoice, machine: &Machine) -> DeviceKind {
    gpu_of(choice, machine).map_or(DeviceKind::Cpu, |_| DeviceKind::Cuda)
}

fn gpu_of(choice: DeviceChoice, machine: &Machine) -> Option<usize> {
    match choice {
        DeviceChoice::Cpu => None,
        DeviceChoice::Auto => machine.gpus.first().map(|_| 0),
        DeviceChoice::Cuda(index) => Some(index as usize),
    }
}

/// What would disturb the times of a run that starts now; the run's record keeps it.
pub fn disturbances(device: DeviceKind, now: Option<&Snapshot>, other_run: bool) -> Vec<Text> {
    let mut found = Vec::new();
    if other_run {
        found.push(Text::new(
            "another lab of infralab was running on this machine",
            "同一台机器上还有另一个 infralab 实验在跑",
        ));
    }
    let Some(now) = now else { return found };
    if let Some(busy) = now.host.cpu_pct.filter(|p| device == DeviceKind::Cpu && *p > BUSY_HOST_PCT) {
        found.push(Text::new(
            format!("the CPU was {busy:.0} % busy before the start"),
            format!("开始之前 CPU 已有 {busy:.0} % 在忙"),
        ));
    }
    for gpu in now.gpus.iter().filter(|_| device == DeviceKind::Cuda) {
        found.extend(busy_gpu(gpu));
    }
    found
}

fn busy_gpu(gpu: &GpuSnapshot) -> Option<Text> {
    // Utilisation is a second late and would blame a run for the one before it.
    let busy = gpu.sm_pct.or(gpu.util_pct).filter(|p| *p > BUSY_GPU_PCT)?;
    let index = gpu.index;
    Some(Text::new(
        format!("GPU {index} was {busy:.0} % busy before the start"),
        format!("开始之前 GPU {index} 已有 {busy:.0} % 在忙"),
    ))
}

/// Held while a lab runs, so that a second one knows that it is not alone.
#[derive(Debug)]
pub struct RunLock {
    // The lock goes back when the file is closed.
    _file: Option<File>,
    contended: bool,
}

impl RunLock {
    /// Takes the lock of this data directory. It goes back when it is dropped, or with the process. Where no file can
    /// be made no run is refused: the lock only serves a warning.
    pub fn take(data: &Path) -> Self {
        let open = || {
            std::fs::create_dir_all(data)?;
            File::options().create(true).append(true).open(data.join("lab.lock"))
        };
        let Ok(file) = open() else { return Self { _file: None, contended: false } };
        let taken = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
        Self { _file: Some(file), contended: taken == Err(rustix::io::Errno::WOULDBLOCK) }
    }

    /// Whether another run holds it.
    pub fn contended(&self) -> bool {
        self.contended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::{GpuInfo, HostSnapshot};
    use infralab_labs::find_lab;
    use infralab_labs::spec::Size;

    fn request(device: DeviceChoice) -> RunRequest {
        let lab = find_lab("attention").expect("lab");
        let params = lab.params_for(Size::Tiny, &[]).expect("defaults");
        RunRequest { lab: lab.id.clone(), size: Size::Tiny, device, params, seed: 0, budget_bytes: None }
    }

    fn snapshot() -> Snapshot {
        let host = HostSnapshot {
            cpu_pct: Some(60.0),
            memory_total_bytes: Some(1000),
            memory_used_bytes: Some(400),
            ..HostSnapshot::default()
        };
        let gpu = GpuSnapshot {
            util_pct: Some(100.0),
            sm_pct: Some(40.0),
            memory_total_bytes: Some(5000),
            memory_used_bytes: Some(1000),
            ..GpuSnapshot::default()
        };
        Snapshot { host, gpus: vec![gpu], ..Snapshot::default() }
    }

    #[test]
    fn free_bytes_are_those_of_the_device_that_would_run() {
        let lab = find_lab("attention").expect("lab");
        let machine = Machine { gpus: vec![GpuInfo::default()], ..Machine::default() };
        let free = |device, machine: &Machine| {
            let fit = Fit::of(lab, &request(device), machine, Some(&snapshot()));
            (fit.kind, fit.free_bytes)
        };
        assert_eq!(free(DeviceChoice::Auto, &machine), (DeviceKind::Cuda, Some(4000.0)));
        assert_eq!(free(DeviceChoice::Auto, &Machine::default()), (DeviceKind::Cpu, Some(600.0)));
        assert_eq!(free(DeviceChoice::Cpu, &machine), (DeviceKind::Cpu, Some(600.0)));
        assert_eq!(free(DeviceChoice::Cuda(7), &machine), (DeviceKind::Cuda, None));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_both_numbers_and_a_size_that_does() {
        let lab = find_lab("attention").expect("lab");
        let need = Need { bytes: f64::from(3u32 << 30), formula: "3 GiB".into() };
        let fit = Fit { kind: DeviceKind::Cpu, need: Some(need), free_bytes: Some(f64::from(1u32 << 30)) };
        let failure = fit.refusal(lab).expect("too large");
        assert!(failure.what.contains("3.00 GiB") && failure.what.contains("1.00 GiB is free"));
        assert!(failure.next.contains("size `"), "{}", failure.next);
        assert_eq!(Fit { free_bytes: None, ..fit }.refusal(lab), None);
    }

    #[test]
    fn a_busy_machine_is_told_of_the_kind_that_matters() {
        let told = |kind, other| {
            let found = disturbances(kind, Some(&snapshot()), other);
            found.into_iter().map(|t| t.en).collect::<Vec<_>>().join("; ")
        };
        assert!(told(DeviceKind::Cpu, false).contains("CPU was 60 %"));
        assert!(told(DeviceKind::Cuda, true).contains("another lab"));
        assert!(told(DeviceKind::Cuda, false).contains("GPU 0 was 40 %"));
        assert!(disturbances(DeviceKind::Cuda, None, false).is_empty());
    }

    #[test]
    fn the_second_of_two_runs_knows_that_it_is_not_alone() {
        let dir = tempfile::tempdir().expect("a directory");
        let first = RunLock::take(dir.path());
        assert!(!first.contended() && RunLock::take(dir.path()).contended());
        drop(first);
        assert!(!RunLock::take(dir.path()).contended());
    }
}
