//! Readings of the host and of the GPUs, taken on a thread of their own. A reading that could not be had is `None`
//! and says why; it is never zero. This module knows nothing of terminals or labs.

mod gpu;
mod host;
mod nvml;
mod process;
pub mod sampler;
pub mod series;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use nvml::LIBRARY_VARIABLE;
pub use sampler::{Sampler, SamplerOptions, Sink, Telemetry};
pub use series::{Average, Series};

/// What does not change while the program runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Host name.
    pub hostname: Option<String>,
    /// CPU model name.
    pub cpu: Option<String>,
    /// Logical processors.
    pub cpu_count: Option<u32>,
    /// RAM in bytes.
    pub memory_total_bytes: Option<u64>,
    /// NVIDIA driver version.
    pub driver: Option<String>,
    /// Newest CUDA version that the driver supports, for example `13.0`.
    pub cuda_driver: Option<String>,
    /// GPUs in NVML order.
    pub gpus: Vec<GpuInfo>,
    /// Why there are no GPU readings at all, naming the library that was tried.
    pub gpu_absent_because: Option<String>,
}

/// What does not change of one GPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GpuInfo {
    /// NVML index.
    pub index: u32,
    /// Marketing name.
    pub name: Option<String>,
    /// `GPU-…`.
    pub uuid: Option<String>,
    /// PCI bus id.
    pub pci_bus_id: Option<String>,
    /// Device memory in bytes.
    pub memory_total_bytes: Option<u64>,
    /// Power limit in force, watts.
    pub power_limit_w: Option<f64>,
    /// Highest SM clock, MHz.
    pub max_sm_clock_mhz: Option<u32>,
    /// Whether GPM counters (SM, tensor and DRAM activity) answer.
    pub gpm: bool,
    /// Whether the GPU is cut into MIG instances; `None` where it cannot be, or does not tell.
    #[serde(default)]
    pub mig: Option<bool>,
}

/// One moment of the whole machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Shared clock, ns.
    pub mono_ns: u64,
    /// The host.
    pub host: HostSnapshot,
    /// One entry per GPU of [`Machine::gpus`], in that order.
    pub gpus: Vec<GpuSnapshot>,
    /// What taking this snapshot cost, µs.
    pub cost_us: u64,
}

/// Host readings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HostSnapshot {
    /// Busy share of all processors since the snapshot before, percent of the whole machine.
    pub cpu_pct: Option<f64>,
    /// RAM in use (total − available), bytes.
    pub memory_used_bytes: Option<u64>,
    /// RAM, bytes.
    pub memory_total_bytes: Option<u64>,
    /// Resident memory of the lab's worker, bytes, where one runs on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_rss_bytes: Option<u64>,
    /// Reason per missing reading.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: BTreeMap<String, String>,
}

/// GPU readings. Shares are percent; see each field for its window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GpuSnapshot {
    /// NVML index.
    pub index: u32,
    /// Share of the last ~1 s in which any kernel was resident (NVML `utilization.gpu`); about a second late.
    pub util_pct: Option<f64>,
    /// Share of the last ~1 s in which memory was read or written (NVML `utilization.memory`): time, not bandwidth.
    pub memory_util_pct: Option<f64>,
    /// Cycles with a resident warp, mean over SMs, since the snapshot before (GPM).
    pub sm_pct: Option<f64>,
    /// Resident warps ÷ maximum, since the snapshot before (GPM).
    pub sm_occupancy_pct: Option<f64>,
    /// Cycles with a busy tensor pipe, since the snapshot before (GPM).
    pub tensor_pct: Option<f64>,
    /// Cycles with data moving on device memory, since the snapshot before (GPM).
    pub dram_pct: Option<f64>,
    /// Device memory in use by every process, bytes, as `nvidia-smi` counts it: what the driver reserves for itself is
    /// not in it.
    pub memory_used_bytes: Option<u64>,
    /// Device memory, bytes.
    pub memory_total_bytes: Option<u64>,
    /// Power, watts, averaged by the device over about a second.
    pub power_w: Option<f64>,
    /// SM clock, MHz.
    pub sm_clock_mhz: Option<u32>,
    /// Memory clock, MHz.
    pub memory_clock_mhz: Option<u32>,
    /// Why clocks are held back, in words; empty when they are not.
    pub clock_reasons: Option<Vec<String>>,
    /// Die temperature, °C.
    pub temperature_c: Option<u32>,
    /// Host to device over PCIe, MiB/s, since the snapshot before (GPM) or over 20 ms (older counter).
    pub pcie_rx_mib_s: Option<f64>,
    /// Device to host over PCIe, MiB/s.
    pub pcie_tx_mib_s: Option<f64>,
    /// Energy since the driver loaded, mJ.
    pub energy_mj: Option<u64>,
    /// Processes with memory on this GPU.
    pub processes: Option<Vec<GpuProcess>>,
    /// Reason per missing reading, by field name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: BTreeMap<String, String>,
}

/// A process on a GPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GpuProcess {
    /// Process id as the driver tells it (of the host's namespace).
    pub pid: u32,
    /// Command name; `None` when the pid is not visible from here.
    pub name: Option<String>,
    /// Device memory, bytes; `None` where the driver does not tell.
    pub memory_bytes: Option<u64>,
}
