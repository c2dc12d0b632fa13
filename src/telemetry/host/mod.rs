//! The host's own readings, from `/proc` and `/sys`: what every snapshot has in well under a tenth of a millisecond,
//! and once a second what costs more. Counters that cannot be compared give a gap with its reason, never a made-up rate.

mod cgroup;
mod cpu;
mod disk;
mod kernel_file;
mod machine;
mod memory;
mod network;
mod pace;
mod pressure;
mod rates;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use infralab_labs::clock::mono_ns;

use super::{HostDetails, HostSnapshot, Machine, Missing};
use cgroup::Cgroup;
use cpu::Cpu;
use disk::Disks;
use kernel_file::Root;
use memory::Memory;
use network::Networks;
use pace::{Moment, Pace, SleepWatch};
use pressure::Pressure;

/// Reads the host. It keeps files open and remembers counters, since loads and rates are differences.
#[derive(Debug)]
pub(super) struct HostReader {
    cpu: Cpu,
    memory: Memory,
    pressure: [Pressure; 3],
    disks: Disks,
    networks: Networks,
    cgroup: Cgroup,
    sleep: SleepWatch,
    slept_since_details: bool,
    load_pace: Pace,
    details_pace: Pace,
}

impl Default for HostReader {
    fn default() -> Self {
        Self::new(&Root::system())
    }
}

impl HostReader {
    /// What does not change of the host. GPUs are not looked at.
    pub(super) fn machine() -> Machine {
        machine::machine(&Root::system())
    }

    fn new(root: &Root) -> Self {
        Self {
            cpu: Cpu::new(root),
            memory: Memory::new(root),
            pressure: ["cpu", "memory", "io"].map(|resource| Pressure::new(root, resource)),
            disks: Disks::new(root),
            networks: Networks::new(root),
            cgroup: Cgroup::new(root),
            sleep: SleepWatch::new(root),
            slept_since_details: false,
            load_pace: Pace::new(100, 40, 5),
            // A program that shows one reading and ends takes two snapshots; the second shall have details.
            details_pace: Pace::new(1000, 50, 50),
        }
    }

    /// Readings of this moment, details among them when they are due.
    pub(super) fn snapshot(&mut self, worker_pid: Option<u32>) -> HostSnapshot {
        // The snapshot's own time is from before the GPUs were asked, which takes now shorter and now longer.
        self.snapshot_at(mono_ns(), worker_pid)
    }

    fn snapshot_at(&mut self, now_ns: u64, worker_pid: Option<u32>) -> HostSnapshot {
        let mut missing = BTreeMap::new();
        let (load_is_due, details_are_due) =
            (self.load_pace.is_due(now_ns), self.details_pace.is_due(now_ns));
        // Uptime comes with the idle time of every processor, so it is no cheaper than the load.
        let slept = (load_is_due || details_are_due) && self.sleep.has_slept(now_ns);
        self.slept_since_details |= slept;
        self.cpu.note_sleep(slept);
        if load_is_due {
            self.cpu.read();
        }
        let (cpu, busiest) = match self.cpu.load() {
            Ok(load) => {
                let no_single = || "/proc/stat tells nothing of single processors".to_owned();
                (Ok(load.all_pct), load.busiest_pct.ok_or_else(no_single))
            }
            Err(why) => (Err(why.clone()), Err(why.clone())),
        };
        let ram = self.memory.ram();
        let no_line = |name: &str| format!("/proc/meminfo has no {name} line");
        let total = ram.clone().and_then(|ram| ram.total.ok_or_else(|| no_line("MemTotal")));
        let used = ram.and_then(|ram| ram.used().ok_or_else(|| no_line("MemAvailable")));
        let worker = worker_pid.map(|pid| self.memory.resident_bytes(pid));
        if worker.is_none() {
            self.memory.forget_process();
        }
        let details = details_are_due.then(|| Box::new(self.details_at(now_ns)));
        HostSnapshot {
            cpu_pct: kept(&mut missing, "cpu_pct", cpu),
            cpu_busiest_pct: kept(&mut missing, "cpu_busiest_pct", busiest),
            memory_used_bytes: kept(&mut missing, "memory_used_bytes", used),
            memory_total_bytes: kept(&mut missing, "memory_total_bytes", total),
            worker_rss_bytes: worker.and_then(|worker| kept(&mut missing, "worker_rss_bytes", worker)),
            details,
            missing,
        }
    }

    fn details_at(&mut self, now_ns: u64) -> HostDetails {
        let mut missing = BTreeMap::new();
        let at = Moment { now_ns, slept: std::mem::take(&mut self.slept_since_details) };
        let [cpu, memory, io] = &mut self.pressure;
        let disk = self.disks.mib_s(at);
        let network = self.networks.mib_s(at);
        let way = |rates: &Result<[f64; 2], String>, way: usize| match rates {
            Ok(rates) => Ok(rates[way]),
            Err(why) => Err(why.clone()),
        };
        HostDetails {
            cpus_pct: kept(&mut missing, "cpus_pct", self.cpu.each_pct(at)),
            cpu_pressure_pct: kept(&mut missing, "cpu_pressure_pct", cpu.some_avg10_pct()),
            memory_pressure_pct: kept(&mut missing, "memory_pressure_pct", memory.some_avg10_pct()),
            io_pressure_pct: kept(&mut missing, "io_pressure_pct", io.some_avg10_pct()),
            disk_read_mib_s: kept(&mut missing, "disk_read_mib_s", way(&disk, 0)),
            disk_write_mib_s: kept(&mut missing, "disk_write_mib_s", way(&disk, 1)),
            network_rx_mib_s: kept(&mut missing, "network_rx_mib_s", way(&network, 0)),
            network_tx_mib_s: kept(&mut missing, "network_tx_mib_s", way(&network, 1)),
            cgroup: self.cgroup.read(at, &mut missing),
            missing,
        }
    }
}

/// The value, or `None` with its reason noted under the field's name.
fn kept<T>(missing: &mut Missing, field: &str, read: Result<T, String>) -> Option<T> {
    read.map_err(|why| missing.insert(field.to_owned(), why)).ok()
}
