//! One GPU, asked reading by reading: a reading that fails leaves its reason and never hides another. What the driver
//! says it can never answer is not asked again, and a GPU that is gone is left in peace for a growing while.
//!
//! Questions have paces by what they cost: at every sample, once a second, every two seconds, every five.

mod backoff;
mod counters;
mod details;
mod driver;
#[cfg(test)]
mod fake;
mod info;
mod mig;
mod processes;
mod questions;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use nvml_wrapper::error::NvmlError;

pub(super) use backoff::{Backoff, Every};
use counters::Counters;
pub(super) use driver::{Activity, Answer, Driver, Links, MemoryUse, MigUse, Threshold};
use mig::Instances;
use processes::Processes;
pub(super) use questions::reason;
use questions::{Questions, clock_reasons, told, told_memory, watts};

use super::process::Identity;
use super::{GpuDetails, GpuEvent, GpuInfo, GpuSnapshot};

/// Every reading of a [`GpuSnapshot`] that can be missing.
const FIELDS: [&str; 22] = [
    "util_pct",
    "memory_util_pct",
    "sm_pct",
    "sm_occupancy_pct",
    "tensor_pct",
    "fp64_pct",
    "fp32_pct",
    "fp16_pct",
    "dram_pct",
    "memory_used_bytes",
    "memory_reserved_bytes",
    "memory_free_bytes",
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
const MEMORY: &[&str] = FIELDS.split_at(9).1.split_at(4).0;
const PCIE: &[&str] = &["pcie_rx_mib_s", "pcie_tx_mib_s"];

const SECOND_NS: u64 = 1_000_000_000;

/// What a sample asks for beyond what is always asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ask {
    /// Shared clock, ns.
    pub(super) now_ns: u64,
    /// Everything, whatever was asked a moment ago.
    pub(super) forced: bool,
    /// The GPM counters too. Another profiler may need them while nobody looks here.
    pub(super) counters: bool,
}

/// The last PCIe readings of the slow counter.
struct SlowPcie {
    rx_mib_s: Option<f64>,
    tx_mib_s: Option<f64>,
    missing: BTreeMap<String, String>,
}

/// One GPU and what is remembered of it between snapshots.
pub(super) struct Gpu<D: Driver> {
    index: u32,
    device: Option<D>,
    gpm_off: Option<String>,
    mig: bool,
    unified: bool,
    counters: Counters<D::Sample>,
    instances: Instances<D::Sample>,
    refused: BTreeMap<&'static str, String>,
    each_second: Every,
    each_two: Every,
    each_five: Every,
    /// As they were read last, for what is carried between.
    details: Option<GpuDetails>,
    pcie: Option<SlowPcie>,
    processes: Processes,
    absence: Option<String>,
    backoff: Backoff,
}

impl<D: Driver> Gpu<D> {
    /// A GPU that is connected at its first snapshot; `identify` tells who is behind a pid, and `gpm_off`, why its GPM
    /// counters shall be left alone.
    pub(super) fn new(index: u32, identify: fn(u32) -> Identity, gpm_off: Option<String>) -> Self {
        Self {
            index,
            device: None,
            gpm_off,
            mig: false,
            unified: false,
            counters: Counters::Off(String::new()),
            instances: Instances::default(),
            refused: BTreeMap::new(),
            each_second: Every::ns(SECOND_NS),
            each_two: Every::ns(2 * SECOND_NS),
            each_five: Every::ns(5 * SECOND_NS),
            details: None,
            pcie: None,
            processes: Processes::new(identify),
            absence: None,
            backoff: Backoff::default(),
        }
    }

    /// Whether the last snapshot found the GPU gone.
    pub(super) fn is_lost(&self) -> bool {
        self.absence.is_some()
    }

    /// Takes a handle and learns what it can answer.
    pub(super) fn connect(&mut self, device: D) {
        self.mig = device.mig_enabled().unwrap_or(false);
        self.unified = info::is_unified(&device);
        self.counters = match (&self.gpm_off, device.gpm_supported()) {
            (Some(why), _) => Counters::Off(why.clone()),
            (None, Ok(true)) => Counters::on(),
            (None, Ok(false)) if self.mig => Counters::Off(reason(&NvmlError::NotSupported, true)),
            (None, Ok(false)) => Counters::Off("GPM counters need a Hopper GPU or a newer one".to_owned()),
            (None, Err(error)) => Counters::Off(format!("no GPM counters: {}", reason(&error, self.mig))),
        };
        self.instances = Instances::default();
        self.refused.clear();
        self.each_second = Every::ns(SECOND_NS);
        self.each_two = Every::ns(2 * SECOND_NS);
        self.each_five = Every::ns(5 * SECOND_NS);
        self.details = None;
        self.pcie = None;
        self.device = Some(device);
    }

    /// What does not change, as far as the GPU tells it.
    pub(super) fn info(&self) -> GpuInfo {
        match &self.device {
            Some(device) => info::of(device, self.index, self.counters.off_because().is_none(), self.unified),
            None => GpuInfo { index: self.index, ..GpuInfo::default() },
        }
    }

    /// Asks what is due. A GPU without a handle, or one that was lost, is connected again when its wait is over. `events`
    /// are those that came since the snapshot before, or why none can come.
    pub(super) fn snapshot(
        &mut self,
        ask: Ask,
        events: Result<Vec<GpuEvent>, &str>,
        handle: impl FnOnce() -> Answer<D>,
    ) -> GpuSnapshot {
        let (events, no_events) = events.map_or_else(|why| (Vec::new(), Some(why)), |events| (events, None));
        let snapshot = self.readings(ask, no_events, handle);
        GpuSnapshot { events, ..snapshot }
    }

    fn readings(
        &mut self,
        ask: Ask,
        no_events: Option<&str>,
        handle: impl FnOnce() -> Answer<D>,
    ) -> GpuSnapshot {
        if self.device.is_none() {
            if let Some(why) = self.absence.as_ref().filter(|_| !self.backoff.is_due(ask.now_ns)) {
                return absent(self.index, why);
            }
            match handle() {
                Ok(device) => self.connect(device),
                Err(error) => return self.lose(ask.now_ns, reason(&error, self.mig)),
            }
        }
        match self.read(ask, no_events) {
            Ok(snapshot) => {
                self.absence = None;
                self.backoff = Backoff::default();
                snapshot
            }
            Err(why) => self.lose(ask.now_ns, why),
        }
    }

    fn lose(&mut self, now_ns: u64, why: String) -> GpuSnapshot {
        self.device = None;
        self.counters = Counters::Off(String::new());
        self.backoff.failed(now_ns);
        let snapshot = absent(self.index, &why);
        self.absence = Some(why);
        snapshot
    }

    /// The readings, or why the whole GPU counts as gone.
    fn read(&mut self, due: Ask, no_events: Option<&str>) -> Result<GpuSnapshot, String> {
        let Some(device) = &self.device else { return Err("no handle".to_owned()) };
        let each_two = self.each_two.is_due(due.now_ns, due.forced);
        // The slow ones go with those of every second, in one set of details.
        let each_second = self.each_second.is_due(due.now_ns, due.forced || each_two);
        let mut ask = Questions::new(&mut self.refused, self.mig);
        let mut snapshot = GpuSnapshot { index: self.index, ..GpuSnapshot::default() };

        // First, so that its time is as near as can be to the snapshot's.
        if due.counters {
            self.counters.read(device, due.now_ns, &mut ask, &mut snapshot);
        } else {
            self.counters.rest();
        }
        if self.counters.off_because().is_some() {
            let slow = self.pcie.take().filter(|_| !each_second);
            let slow = slow.unwrap_or_else(|| read_slow_pcie(device, &mut ask));
            (snapshot.pcie_rx_mib_s, snapshot.pcie_tx_mib_s) = (slow.rx_mib_s, slow.tx_mib_s);
            ask.missing.extend(slow.missing.clone());
            self.pcie = Some(slow);
        }
        read_always(device, &mut ask, &mut snapshot, self.unified);
        if self.each_five.is_due(due.now_ns, due.forced) {
            snapshot.energy_mj = ask.one("energy_mj", || device.energy_mj().and_then(told));
        }
        let memory_used = snapshot.memory_used_bytes;
        snapshot.processes = self.processes.read(device, &mut ask, memory_used, each_second);
        if self.unified {
            use_of_processes(&mut snapshot, &mut ask);
        }
        let answered = ask.answered;
        snapshot.missing = ask.finish()?;

        if each_second {
            let mut ask = Questions::new(&mut self.refused, self.mig);
            let mut details = details::read(device, &mut ask, self.details.as_ref());
            if each_two {
                details::read_slow(device, &mut ask, &mut details);
                if due.counters {
                    self.counters.read_links(device, &mut ask, &mut details);
                } else {
                    ask.leave_out(counters::LINKS, counters::UNWATCHED);
                }
                let is_cut = device.mig_enabled().unwrap_or(self.mig);
                let unwatched = (!due.counters).then_some(counters::UNWATCHED);
                let gpm_off = self.gpm_off.as_deref().or(unwatched);
                details.mig =
                    if is_cut { self.instances.read(device, &mut ask, gpm_off) } else { Vec::new() };
                self.mig = is_cut;
            }
            if let Some(why) = no_events {
                ask.leave_out(&["events"], why);
            }
            // The GPU answered above, so what fails here is no loss, unless the driver says so.
            ask.answered |= answered;
            details.missing.extend(ask.finish()?);
            self.details = Some(details.clone());
            snapshot.details = Some(Box::new(details));
        }
        Ok(snapshot)
    }
}

/// What is cheap enough for every sample.
fn read_always<D: Driver>(device: &D, ask: &mut Questions<'_>, snapshot: &mut GpuSnapshot, unified: bool) {
    if let Some(utilization) =
        ask.ask("utilization", &["util_pct", "memory_util_pct"], || device.utilization())
    {
        snapshot.util_pct = Some(f64::from(utilization.gpu.min(100)));
        snapshot.memory_util_pct = Some(f64::from(utilization.memory.min(100)));
    }
    if unified {
        ask.leave_out(MEMORY, info::UNIFIED);
    } else if let Some(memory) = ask.ask("memory", MEMORY, || device.memory().and_then(told_memory)) {
        snapshot.memory_used_bytes = Some(memory.used);
        snapshot.memory_reserved_bytes = Some(memory.reserved);
        snapshot.memory_free_bytes = Some(memory.free);
        snapshot.memory_total_bytes = Some(memory.total);
    }
    snapshot.power_w = ask.one("power_w", || device.power_mw()).map(watts);
    snapshot.sm_clock_mhz = ask.one("sm_clock_mhz", || device.sm_clock_mhz());
    snapshot.memory_clock_mhz = ask.one("memory_clock_mhz", || device.memory_clock_mhz());
    snapshot.clock_reasons = ask.one("clock_reasons", || device.clock_reasons()).map(clock_reasons);
    snapshot.temperature_c = ask.one("temperature_c", || device.temperature_c());
}

/// With the host's memory, what the GPU uses is what its processes use of it.
fn use_of_processes(snapshot: &mut GpuSnapshot, ask: &mut Questions<'_>) {
    let told = snapshot.processes.iter().flatten().filter_map(|process| process.memory_bytes);
    let (mut sum, mut any) = (0_u64, snapshot.processes.as_ref().is_some_and(Vec::is_empty));
    for bytes in told {
        (sum, any) = (sum.saturating_add(bytes), true);
    }
    if any {
        snapshot.memory_used_bytes = Some(sum);
        ask.missing.remove("memory_used_bytes");
    }
}

/// A snapshot in which every reading is missing for one reason.
pub(super) fn absent(index: u32, why: &str) -> GpuSnapshot {
    let fields = FIELDS.iter().chain(&details::FIELDS);
    let missing = fields.map(|field| ((*field).to_owned(), why.to_owned())).collect();
    GpuSnapshot { index, missing, ..GpuSnapshot::default() }
}

/// The counter behind PCIe readings without GPM blocks for 20 ms a direction, so it is asked once a second.
fn read_slow_pcie<D: Driver>(device: &D, ask: &mut Questions<'_>) -> SlowPcie {
    let rx_mib_s = ask.one("pcie_rx_mib_s", || device.pcie_rx_kib_s()).map(|kib| f64::from(kib) / 1024.0);
    let tx_mib_s = ask.one("pcie_tx_mib_s", || device.pcie_tx_kib_s()).map(|kib| f64::from(kib) / 1024.0);
    let missing = PCIE.iter().filter_map(|field| ask.missing.get_key_value(*field));
    let missing = missing.map(|(field, why)| (field.clone(), why.clone())).collect();
    SlowPcie { rx_mib_s, tx_mib_s, missing }
}
