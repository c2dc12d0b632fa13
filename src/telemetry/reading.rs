//! What can be read: of the machine once, of host and GPUs at every sample, and of both in detail about once a second.
//! A reading that could not be had is `None` with a reason in `missing`; it is never zero.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Why readings are missing, by field name.
pub type Missing = BTreeMap<String, String>;

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
    /// Whether memory errors are corrected (ECC).
    #[serde(default)]
    pub ecc: Option<bool>,
    /// Temperature from which clocks are held back so that it rises no further, °C.
    #[serde(default)]
    pub max_temperature_c: Option<u32>,
    /// Temperature from which the hardware slows down, °C.
    #[serde(default)]
    pub slowdown_temperature_c: Option<u32>,
    /// Temperature at which the GPU switches itself off, °C.
    #[serde(default)]
    pub shutdown_temperature_c: Option<u32>,
    /// Newest PCIe generation that GPU and slot can do together.
    #[serde(default)]
    pub pcie_max_gen: Option<u32>,
    /// Most PCIe lanes that GPU and slot can do together.
    #[serde(default)]
    pub pcie_max_width: Option<u32>,
    /// Whether the GPU uses the host's memory and has none of its own (Grace, Thor and the like).
    #[serde(default)]
    pub unified_memory: bool,
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
    /// Time that taking this snapshot took, µs.
    pub cost_us: u64,
    /// Processor time that it took of it, µs; the rest was waiting for the driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_us: Option<u64>,
}

/// Host readings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HostSnapshot {
    /// Busy share of all processors since the snapshot before, percent of the whole machine. Read ten times a second at
    /// most; faster snapshots carry the last value.
    pub cpu_pct: Option<f64>,
    /// Busy share of the busiest processor since the snapshot before, percent of that processor: one thread that never
    /// waits reads 100 here and hardly anything in `cpu_pct`.
    #[serde(default)]
    pub cpu_busiest_pct: Option<f64>,
    /// RAM in use (total − available), bytes.
    pub memory_used_bytes: Option<u64>,
    /// RAM, bytes.
    pub memory_total_bytes: Option<u64>,
    /// Resident memory of the lab's worker, bytes, where one runs on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_rss_bytes: Option<u64>,
    /// Readings that are taken about once a second; `None` in the snapshots between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<HostDetails>>,
    /// Reason per missing reading.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: Missing,
}

/// Host readings that are taken about once a second. Rates and shares are means since the details before.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HostDetails {
    /// Busy share of each logical processor, percent, in the kernel's order.
    pub cpus_pct: Option<Vec<f32>>,
    /// Share of the last 10 s in which some task waited for a processor, percent (PSI `some avg10`).
    pub cpu_pressure_pct: Option<f64>,
    /// Share of the last 10 s in which some task waited for memory, percent.
    pub memory_pressure_pct: Option<f64>,
    /// Share of the last 10 s in which some task waited for storage, percent.
    pub io_pressure_pct: Option<f64>,
    /// Read from block devices, MiB/s, partitions and stacked devices counted once.
    pub disk_read_mib_s: Option<f64>,
    /// Written to block devices, MiB/s.
    pub disk_write_mib_s: Option<f64>,
    /// Received by network interfaces, loopback left out, MiB/s.
    pub network_rx_mib_s: Option<f64>,
    /// Sent by network interfaces, loopback left out, MiB/s.
    pub network_tx_mib_s: Option<f64>,
    /// Limits of the control group that this program runs in; `None` where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<CgroupLimits>,
    /// Reason per missing reading.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: Missing,
}

/// What the control group allows and uses; inside a container this, not the host, is what there is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CgroupLimits {
    /// Processors' worth of time allowed (quota ÷ period); `None` when unlimited.
    pub cpu_limit: Option<f64>,
    /// Processors' worth of time used since the details before.
    pub cpu_used: Option<f64>,
    /// Share of enforcement periods in which the quota ran out since the details before, percent.
    pub cpu_throttled_pct: Option<f64>,
    /// Memory allowed, bytes; `None` when unlimited.
    pub memory_limit_bytes: Option<u64>,
    /// Memory in use, page cache that can be given back left out, bytes.
    pub memory_used_bytes: Option<u64>,
}

/// GPU readings. Shares are percent; see each field for its window. The driver moves the GPM counters ten times a second:
/// in the snapshots between, what comes from them is `None` without a reason.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GpuSnapshot {
    /// NVML index.
    pub index: u32,
    /// Share of the last ~1 s in which any kernel was resident (NVML `utilization.gpu`); about a second late.
    pub util_pct: Option<f64>,
    /// Share of the last ~1 s in which memory was read or written (NVML `utilization.memory`): time, not bandwidth.
    pub memory_util_pct: Option<f64>,
    /// Cycles with a resident warp, mean over SMs, since the reading before (GPM).
    pub sm_pct: Option<f64>,
    /// Resident warps ÷ maximum, since the reading before (GPM).
    pub sm_occupancy_pct: Option<f64>,
    /// Cycles with a busy tensor pipe, since the reading before (GPM).
    pub tensor_pct: Option<f64>,
    /// Cycles with a busy FP64 pipe, since the reading before (GPM).
    #[serde(default)]
    pub fp64_pct: Option<f64>,
    /// Cycles with a busy FP32 pipe, since the reading before (GPM).
    #[serde(default)]
    pub fp32_pct: Option<f64>,
    /// Cycles with a busy FP16 pipe (not the tensor pipe), since the reading before (GPM).
    #[serde(default)]
    pub fp16_pct: Option<f64>,
    /// Cycles with data moving on device memory, since the reading before (GPM).
    pub dram_pct: Option<f64>,
    /// Device memory in use by every process, bytes, as `nvidia-smi` counts it: what the driver reserves for itself is
    /// not in it.
    pub memory_used_bytes: Option<u64>,
    /// Device memory that the driver keeps for itself, bytes.
    #[serde(default)]
    pub memory_reserved_bytes: Option<u64>,
    /// Device memory that is free, bytes.
    #[serde(default)]
    pub memory_free_bytes: Option<u64>,
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
    /// Host to device over PCIe, MiB/s, since the reading before (GPM) or over 20 ms (older counter).
    pub pcie_rx_mib_s: Option<f64>,
    /// Device to host over PCIe, MiB/s.
    pub pcie_tx_mib_s: Option<f64>,
    /// Energy since the driver loaded, mJ. The driver takes milliseconds to tell it, so it is asked every five seconds
    /// and when something begins or ends; `None` without a reason in the snapshots between.
    pub energy_mj: Option<u64>,
    /// Processes with memory on this GPU; asked when memory in use has changed, and once a second.
    pub processes: Option<Vec<GpuProcess>>,
    /// What happened to the GPU since the snapshot before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<GpuEvent>,
    /// Readings that are taken about every second or two; `None` in the snapshots between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<GpuDetails>>,
    /// Reason per missing reading.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: Missing,
}

/// GPU readings that change slowly or cost much.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GpuDetails {
    /// Performance state, 0 (fastest) to 15.
    pub p_state: Option<u8>,
    /// Memory window that the host sees over PCIe, in use, bytes.
    pub bar1_used_bytes: Option<u64>,
    /// Size of that window, bytes.
    pub bar1_total_bytes: Option<u64>,
    /// PCIe generation in use now; a link may idle at a lower one.
    pub pcie_gen: Option<u32>,
    /// PCIe lanes in use now.
    pub pcie_width: Option<u32>,
    /// PCIe packets sent again since the driver loaded.
    pub pcie_replays: Option<u64>,
    /// Received over all NVLinks, MiB/s, since the details before (GPM).
    pub nvlink_rx_mib_s: Option<f64>,
    /// Sent over all NVLinks, MiB/s, since the details before (GPM).
    pub nvlink_tx_mib_s: Option<f64>,
    /// Busy share of the video encoders, percent, over the driver's own window.
    pub encoder_pct: Option<f64>,
    /// Busy share of the video decoders, percent, over the driver's own window.
    pub decoder_pct: Option<f64>,
    /// Memory errors corrected by ECC since the driver loaded.
    pub ecc_corrected: Option<u64>,
    /// Memory errors that ECC could not correct since the driver loaded.
    pub ecc_uncorrected: Option<u64>,
    /// Rows of device memory that were replaced.
    pub remapped_rows: Option<RemappedRows>,
    /// MIG instances; empty when the GPU is whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mig: Vec<MigInstance>,
    /// Reason per missing reading.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: Missing,
}

/// Rows of device memory that were replaced by spare ones, over the GPU's life.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemappedRows {
    /// After errors that could be corrected.
    pub corrected: u64,
    /// After errors that could not.
    pub uncorrected: u64,
    /// Whether a row waits for a reset of the GPU to be replaced.
    pub pending: bool,
    /// Whether replacing a row failed: the card is due for exchange.
    pub failed: bool,
}

/// One MIG instance of a GPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MigInstance {
    /// Id of the GPU instance; `None` where the driver does not tell which one this is.
    pub gpu_instance: Option<u32>,
    /// Name with its profile, for example `NVIDIA H200 MIG 1g.18gb`.
    pub name: Option<String>,
    /// `MIG-…`.
    pub uuid: Option<String>,
    /// Memory in use, bytes.
    pub memory_used_bytes: Option<u64>,
    /// Memory, bytes.
    pub memory_total_bytes: Option<u64>,
    /// Cycles with a resident warp, mean over the instance's SMs, since the details before (GPM).
    pub sm_pct: Option<f64>,
    /// Resident warps ÷ maximum, since the details before (GPM).
    pub sm_occupancy_pct: Option<f64>,
    /// Cycles with a busy tensor pipe, since the details before (GPM).
    pub tensor_pct: Option<f64>,
    /// Cycles with data moving on the instance's share of device memory, since the details before (GPM).
    pub dram_pct: Option<f64>,
    /// Reason per missing reading.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: Missing,
}

/// Something that the driver reported of a GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum GpuEvent {
    /// A critical error, with the driver's number; `None` where it does not tell. Several between two snapshots all
    /// carry the newest number.
    Xid {
        /// The number, as in the kernel log.
        code: Option<u64>,
    },
    /// A memory error that ECC corrected.
    EccCorrected,
    /// A memory error that ECC could not correct.
    EccUncorrected,
}

/// A process on a GPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GpuProcess {
    /// Process id as the driver tells it (of the host's namespace).
    pub pid: u32,
    /// Command name; `None` when the pid is not visible from here.
    pub name: Option<String>,
    /// Who runs it: a user name, or `uid N` where it has none here; `None` when the pid is not visible from here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Container or pod that its control group names, shortened; `None` outside one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// MIG GPU instance that it runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_instance: Option<u32>,
    /// Device memory, bytes; `None` where the driver does not tell.
    pub memory_bytes: Option<u64>,
}
