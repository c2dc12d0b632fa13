//! The processes on a GPU.

use std::collections::HashMap;

use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::struct_wrappers::device::ProcessInfo;

use super::driver::Driver;
use super::questions::Questions;
use crate::telemetry::GpuProcess;
use crate::telemetry::process::Identity;

/// Who is behind a pid, asked once for as long as a process stays.
pub(super) struct Processes {
    identify: fn(u32) -> Identity,
    known: HashMap<u32, Identity>,
    /// As they were listed last, and the memory in use at that time.
    listed: Option<Vec<GpuProcess>>,
    at_memory: Option<u64>,
}

impl Processes {
    pub(super) fn new(identify: fn(u32) -> Identity) -> Self {
        Self { identify, known: HashMap::new(), listed: None, at_memory: None }
    }

    /// The processes, asked anew when it is time or memory in use has changed: whoever comes or goes changes it.
    pub(super) fn read<D: Driver>(
        &mut self,
        device: &D,
        ask: &mut Questions<'_>,
        memory_used: Option<u64>,
        due: bool,
    ) -> Option<Vec<GpuProcess>> {
        let changed = memory_used.is_some() && memory_used != self.at_memory;
        if !due && !changed && self.listed.is_some() {
            return self.listed.clone();
        }
        self.at_memory = memory_used;
        self.listed = ask.one("processes", || device.processes()).map(|mut listed| {
            // These two exist beside the others; where they are not answered, nobody misses them.
            listed.extend(device.mps_processes().unwrap_or_default());
            listed.extend(device.graphics_processes().unwrap_or_default());
            self.identified(listed)
        });
        self.listed.clone()
    }

    /// The processes that are real, each once, largest first.
    fn identified(&mut self, listed: Vec<ProcessInfo>) -> Vec<GpuProcess> {
        let mut known = HashMap::new();
        let mut processes: Vec<GpuProcess> = Vec::new();
        // Drivers 525 to 535 list pids 0 and u32::MAX, which no process has.
        for process in listed.into_iter().filter(|process| process.pid != 0 && process.pid != u32::MAX) {
            let memory_bytes = match process.used_gpu_memory {
                UsedGpuMemory::Used(bytes) => Some(bytes).filter(|bytes| *bytes != u64::MAX),
                UsedGpuMemory::Unavailable => None,
            };
            let gpu_instance = process.gpu_instance_id.filter(|id| *id != u32::MAX);
            // A process that computes and draws is listed twice, each time with all its memory.
            let same = |p: &&mut GpuProcess| p.pid == process.pid && p.gpu_instance == gpu_instance;
            if let Some(seen) = processes.iter_mut().find(same) {
                seen.memory_bytes = seen.memory_bytes.max(memory_bytes);
                continue;
            }
            let identity = known.entry(process.pid).or_insert_with(|| {
                self.known.remove(&process.pid).unwrap_or_else(|| (self.identify)(process.pid))
            });
            processes.push(GpuProcess {
                pid: process.pid,
                name: identity.name.clone(),
                user: identity.user.clone(),
                container: identity.container.clone(),
                gpu_instance,
                memory_bytes,
            });
        }
        self.known = known;
        processes.sort_by_key(|process| (std::cmp::Reverse(process.memory_bytes), process.pid));
        processes
    }
}
