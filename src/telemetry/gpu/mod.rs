//! One GPU, asked reading by reading: a reading that fails leaves its reason and never hides another. What the driver
//! says it can never answer is not asked again, and a GPU that is gone is left in peace for a growing while.
//!
//! The questions are a trait, so that every answer a driver can give is tried in tests without a GPU.

#[cfg(test)]
mod fake;
mod questions;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::{ProcessInfo, Utilization};

use super::{GpuInfo, GpuProcess, GpuSnapshot};
pub(super) use questions::reason;
use questions::{Questions, clock_reasons, percent, rate, told, told_both, watts};

/// What a driver says to one question.
pub(super) type Answer<T> = Result<T, NvmlError>;

/// Counters of an activity since the GPM sample before.
#[derive(Debug)]
pub(super) struct Activity {
    /// Percent.
    pub(super) sm: Answer<f64>,
    /// Percent.
    pub(super) sm_occupancy: Answer<f64>,
    /// Percent.
    pub(super) tensor: Answer<f64>,
    /// Percent.
    pub(super) dram: Answer<f64>,
    /// MiB/s.
    pub(super) pcie_rx: Answer<f64>,
    /// MiB/s.
    pub(super) pcie_tx: Answer<f64>,
}

/// The questions a GPU is asked. Units are those of NVML unless the name says otherwise.
pub(super) trait Driver {
    /// A GPM sample, which means something only beside another one.
    type Sample;

    fn name(&self) -> Answer<String>;
    fn uuid(&self) -> Answer<String>;
    fn pci_bus_id(&self) -> Answer<String>;
    fn power_limit_mw(&self) -> Answer<u32>;
    fn max_sm_clock_mhz(&self) -> Answer<u32>;
    fn mig_enabled(&self) -> Answer<bool>;
    fn gpm_supported(&self) -> Answer<bool>;

    fn utilization(&self) -> Answer<Utilization>;
    /// Used and total, bytes.
    fn memory(&self) -> Answer<(u64, u64)>;
    fn power_mw(&self) -> Answer<u32>;
    fn sm_clock_mhz(&self) -> Answer<u32>;
    fn memory_clock_mhz(&self) -> Answer<u32>;
    /// Bits of `nvmlClocksEventReason*`, unknown ones included.
    fn clock_reasons(&self) -> Answer<u64>;
    fn temperature_c(&self) -> Answer<u32>;
    fn energy_mj(&self) -> Answer<u64>;
    fn processes(&self) -> Answer<Vec<ProcessInfo>>;
    /// KiB/s over 20 ms, which the call waits for.
    fn pcie_rx_kib_s(&self) -> Answer<u32>;
    /// KiB/s over 20 ms, which the call waits for.
    fn pcie_tx_kib_s(&self) -> Answer<u32>;
    fn gpm_sample(&self) -> Answer<Self::Sample>;
    fn gpm_activity(&self, before: &Self::Sample, now: &Self::Sample) -> Answer<Activity>;
}

/// Every reading of a [`GpuSnapshot`] that can be missing.
const FIELDS: [&str; 17] = [
    "util_pct",
    "memory_util_pct",
    "sm_pct",
    "sm_occupancy_pct",
    "tensor_pct",
    "dram_pct",
    "memory_used_bytes",
    "memory_total_bytes",
    "power_w",
    "sm_clock_mhz",
    "memory_clock_mhz",
    "clock_reasons",
    "temperature_c",
    "pcie_rx_mib_s",
    "pcie_tx_mib_s",
    "energy_mj",
    "processes",
];
const ACTIVITY: &[&str] = &["sm_pct", "sm_occupancy_pct", "tensor_pct", "dram_pct"];
const PCIE: &[&str] = &["pcie_rx_mib_s", "pcie_tx_mib_s"];
const GPM: &[&str] =
    &["sm_pct", "sm_occupancy_pct", "tensor_pct", "dram_pct", "pcie_rx_mib_s", "pcie_tx_mib_s"];

/// The counter behind PCIe readings without GPM blocks for 20 ms a direction, so it is asked this seldom.
const PCIE_PERIOD_NS: u64 = 1_000_000_000;

const FIRST_SAMPLE: &str = "counted between two samples, and this is the first";

/// When to try again what failed: after 1 s, then twice as long each time, up to 30 s.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    wait_ns: u64,
    retry_at_ns: u64,
}

impl Backoff {
    const FIRST_NS: u64 = 1_000_000_000;
    const LONGEST_NS: u64 = 30_000_000_000;

    /// Notes one more failure at `now_ns`.
    pub(super) fn failed(&mut self, now_ns: u64) {
        self.wait_ns = (self.wait_ns * 2).clamp(Self::FIRST_NS, Self::LONGEST_NS);
        self.retry_at_ns = now_ns.saturating_add(self.wait_ns);
    }

    /// Whether the wait is over.
    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.retry_at_ns
    }
}

/// GPM counters of one GPU.
enum Gpm<S> {
    /// Never answers; why.
    Off(String),
    /// Answers; the sample before, if there is one.
    On(Option<S>),
}

/// The last PCIe readings of the slow counter.
struct SlowPcie {
    read_at_ns: u64,
    rx_mib_s: Option<f64>,
    tx_mib_s: Option<f64>,
    missing: BTreeMap<String, String>,
}

/// One GPU and what is remembered of it between snapshots.
pub(super) struct Gpu<D: Driver> {
    index: u32,
    device: Option<D>,
    mig: bool,
    gpm: Gpm<D::Sample>,
    refused: BTreeMap<&'static str, String>,
    pcie: Option<SlowPcie>,
    absence: Option<String>,
    backoff: Backoff,
    name_of: fn(u32) -> Option<String>,
    names: HashMap<u32, Option<String>>,
}

impl<D: Driver> Gpu<D> {
    /// A GPU that is connected at its first snapshot; `name_of` tells the command name of a process.
    pub(super) fn new(index: u32, name_of: fn(u32) -> Option<String>) -> Self {
        Self {
            index,
            device: None,
            mig: false,
            gpm: Gpm::Off(String::new()),
            refused: BTreeMap::new(),
            pcie: None,
            absence: None,
            backoff: Backoff::default(),
            name_of,
            names: HashMap::new(),
        }
    }

    /// Whether the last snapshot found the GPU gone.
    pub(super) fn is_lost(&self) -> bool {
        self.absence.is_some()
    }

    /// Takes a handle and learns what it can answer.
    pub(super) fn connect(&mut self, device: D) {
        self.mig = device.mig_enabled().unwrap_or(false);
        self.gpm = match device.gpm_supported() {
            Ok(true) => Gpm::On(None),
            Ok(false) if self.mig => Gpm::Off(reason(&NvmlError::NotSupported, true)),
            Ok(false) => Gpm::Off("GPM counters need a Hopper GPU or a newer one".to_owned()),
            Err(error) => Gpm::Off(format!("no GPM counters: {}", reason(&error, self.mig))),
        };
        self.refused.clear();
        self.pcie = None;
        self.device = Some(device);
    }

    /// What does not change, as far as the GPU tells it.
    pub(super) fn info(&self) -> GpuInfo {
        let Some(device) = &self.device else {
            return GpuInfo { index: self.index, ..GpuInfo::default() };
        };
        GpuInfo {
            index: self.index,
            name: device.name().ok(),
            uuid: device.uuid().ok(),
            pci_bus_id: device.pci_bus_id().ok(),
            memory_total_bytes: device.memory().and_then(told_both).ok().map(|(_, total)| total),
            power_limit_w: device.power_limit_mw().ok().map(watts),
            max_sm_clock_mhz: device.max_sm_clock_mhz().ok(),
            gpm: matches!(self.gpm, Gpm::On(_)),
            mig: device.mig_enabled().ok(),
            ..GpuInfo::default()
        }
    }

    /// Asks everything. A GPU without a handle, or one that was lost, is connected again when its wait is over.
    pub(super) fn snapshot(&mut self, now_ns: u64, handle: impl FnOnce() -> Answer<D>) -> GpuSnapshot {
        if self.device.is_none() {
            if let Some(why) = self.absence.as_ref().filter(|_| !self.backoff.is_due(now_ns)) {
                return absent(self.index, why);
            }
            match handle() {
                Ok(device) => self.connect(device),
                Err(error) => return self.lose(now_ns, reason(&error, self.mig)),
            }
        }
        match self.read(now_ns) {
            Ok(snapshot) => {
                self.absence = None;
                self.backoff = Backoff::default();
                snapshot
            }
            Err(why) => self.lose(now_ns, why),
        }
    }

    fn lose(&mut self, now_ns: u64, why: String) -> GpuSnapshot {
        self.device = None;
        self.gpm = Gpm::Off(String::new());
        self.backoff.failed(now_ns);
        let snapshot = absent(self.index, &why);
        self.absence = Some(why);
        snapshot
    }

    /// The readings, or why the whole GPU counts as gone.
    fn read(&mut self, now_ns: u64) -> Result<GpuSnapshot, String> {
        let Some(device) = &self.device else { return Err("no handle".to_owned()) };
        let mut ask = Questions::new(&mut self.refused, self.mig);

        // First, so that its time is as near as can be to the snapshot's.
        let activity = match &mut self.gpm {
            Gpm::On(before) => {
                let now = ask.ask("gpm", GPM, || device.gpm_sample());
                let activity = match (before.as_ref(), now.as_ref()) {
                    (Some(before), Some(now)) => ask.ask("gpm", GPM, || device.gpm_activity(before, now)),
                    (None, Some(_)) => {
                        ask.leave_out(GPM, FIRST_SAMPLE);
                        None
                    }
                    (_, None) => None,
                };
                *before = now;
                activity
            }
            Gpm::Off(why) => {
                ask.leave_out(ACTIVITY, why);
                None
            }
        };
        let mut snapshot = GpuSnapshot { index: self.index, ..GpuSnapshot::default() };
        if let Some(activity) = activity {
            snapshot.sm_pct = ask.one("sm_pct", || activity.sm.and_then(percent));
            snapshot.sm_occupancy_pct =
                ask.one("sm_occupancy_pct", || activity.sm_occupancy.and_then(percent));
            snapshot.tensor_pct = ask.one("tensor_pct", || activity.tensor.and_then(percent));
            snapshot.dram_pct = ask.one("dram_pct", || activity.dram.and_then(percent));
            snapshot.pcie_rx_mib_s = ask.one("pcie_rx_mib_s", || activity.pcie_rx.and_then(rate));
            snapshot.pcie_tx_mib_s = ask.one("pcie_tx_mib_s", || activity.pcie_tx.and_then(rate));
        } else if matches!(self.gpm, Gpm::Off(_)) {
            let slow =
                self.pcie.take().filter(|slow| now_ns.saturating_sub(slow.read_at_ns) < PCIE_PERIOD_NS);
            let slow = slow.unwrap_or_else(|| read_slow_pcie(device, now_ns, &mut ask));
            (snapshot.pcie_rx_mib_s, snapshot.pcie_tx_mib_s) = (slow.rx_mib_s, slow.tx_mib_s);
            ask.missing.extend(slow.missing.clone());
            self.pcie = Some(slow);
        }

        if let Some(utilization) =
            ask.ask("utilization", &["util_pct", "memory_util_pct"], || device.utilization())
        {
            snapshot.util_pct = Some(f64::from(utilization.gpu.min(100)));
            snapshot.memory_util_pct = Some(f64::from(utilization.memory.min(100)));
        }
        let memory = &["memory_used_bytes", "memory_total_bytes"];
        if let Some((used, total)) = ask.ask("memory", memory, || device.memory().and_then(told_both)) {
            snapshot.memory_used_bytes = Some(used);
            snapshot.memory_total_bytes = Some(total);
        }
        snapshot.power_w = ask.one("power_w", || device.power_mw()).map(watts);
        snapshot.sm_clock_mhz = ask.one("sm_clock_mhz", || device.sm_clock_mhz());
        snapshot.memory_clock_mhz = ask.one("memory_clock_mhz", || device.memory_clock_mhz());
        snapshot.clock_reasons = ask.one("clock_reasons", || device.clock_reasons()).map(clock_reasons);
        snapshot.temperature_c = ask.one("temperature_c", || device.temperature_c());
        snapshot.energy_mj = ask.one("energy_mj", || device.energy_mj().and_then(told));
        if let Some(listed) = ask.one("processes", || device.processes()) {
            let (processes, names) = processes(listed, &mut self.names, self.name_of);
            snapshot.processes = Some(processes);
            self.names = names;
        }
        snapshot.missing = ask.finish()?;
        Ok(snapshot)
    }
}

/// A snapshot in which every reading is missing for one reason.
pub(super) fn absent(index: u32, why: &str) -> GpuSnapshot {
    let missing = FIELDS.iter().map(|field| ((*field).to_owned(), why.to_owned())).collect();
    GpuSnapshot { index, missing, ..GpuSnapshot::default() }
}

fn read_slow_pcie<D: Driver>(device: &D, now_ns: u64, ask: &mut Questions) -> SlowPcie {
    let rx_mib_s = ask.one("pcie_rx_mib_s", || device.pcie_rx_kib_s()).map(|kib| f64::from(kib) / 1024.0);
    let tx_mib_s = ask.one("pcie_tx_mib_s", || device.pcie_tx_kib_s()).map(|kib| f64::from(kib) / 1024.0);
    let missing = PCIE.iter().filter_map(|field| ask.missing.get_key_value(*field));
    let missing = missing.map(|(field, why)| (field.clone(), why.clone())).collect();
    SlowPcie { read_at_ns: now_ns, rx_mib_s, tx_mib_s, missing }
}

/// The processes that are real, largest first, and their names, asked once for as long as a process stays.
fn processes(
    listed: Vec<ProcessInfo>,
    known: &mut HashMap<u32, Option<String>>,
    name_of: fn(u32) -> Option<String>,
) -> (Vec<GpuProcess>, HashMap<u32, Option<String>>) {
    let mut names = HashMap::new();
    let mut processes = Vec::new();
    // Drivers 525 to 535 list pids 0 and u32::MAX, which no process has.
    for process in listed.into_iter().filter(|process| process.pid != 0 && process.pid != u32::MAX) {
        let name = known.remove(&process.pid).unwrap_or_else(|| name_of(process.pid));
        names.insert(process.pid, name.clone());
        let memory_bytes = match process.used_gpu_memory {
            UsedGpuMemory::Used(bytes) => Some(bytes).filter(|bytes| *bytes != u64::MAX),
            UsedGpuMemory::Unavailable => None,
        };
        processes.push(GpuProcess { pid: process.pid, name, memory_bytes, ..GpuProcess::default() });
    }
    processes.sort_by_key(|process| (std::cmp::Reverse(process.memory_bytes), process.pid));
    (processes, names)
}
