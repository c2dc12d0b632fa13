//! The questions that a GPU is asked, as a trait: every answer that a driver can give is tried in tests without a GPU.

use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::{ProcessInfo, Utilization};

use crate::telemetry::RemappedRows;

/// What a driver says to one question.
pub(in crate::telemetry) type Answer<T> = Result<T, NvmlError>;

/// Counters of an activity between two GPM samples.
#[derive(Debug)]
pub(in crate::telemetry) struct Activity {
    /// Percent.
    pub(in crate::telemetry) sm: Answer<f64>,
    /// Percent.
    pub(in crate::telemetry) sm_occupancy: Answer<f64>,
    /// Percent.
    pub(in crate::telemetry) tensor: Answer<f64>,
    /// Percent.
    pub(in crate::telemetry) fp64: Answer<f64>,
    /// Percent.
    pub(in crate::telemetry) fp32: Answer<f64>,
    /// Percent.
    pub(in crate::telemetry) fp16: Answer<f64>,
    /// Percent.
    pub(in crate::telemetry) dram: Answer<f64>,
    /// MiB/s.
    pub(in crate::telemetry) pcie_rx: Answer<f64>,
    /// MiB/s.
    pub(in crate::telemetry) pcie_tx: Answer<f64>,
}

/// Throughput of all NVLinks between two GPM samples.
#[derive(Debug)]
pub(in crate::telemetry) struct Links {
    /// MiB/s.
    pub(in crate::telemetry) rx: Answer<f64>,
    /// MiB/s.
    pub(in crate::telemetry) tx: Answer<f64>,
}

/// Device memory, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::telemetry) struct MemoryUse {
    pub(in crate::telemetry) used: u64,
    pub(in crate::telemetry) reserved: u64,
    pub(in crate::telemetry) free: u64,
    pub(in crate::telemetry) total: u64,
}

/// A MIG instance as the driver lists it.
#[derive(Debug)]
pub(in crate::telemetry) struct MigUse {
    pub(in crate::telemetry) name: Answer<String>,
    pub(in crate::telemetry) uuid: Answer<String>,
    pub(in crate::telemetry) memory: Answer<MemoryUse>,
}

/// A temperature at which something happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::telemetry) enum Threshold {
    /// Clocks are held back so that it rises no further.
    Max,
    /// The hardware slows down.
    Slowdown,
    /// The GPU switches itself off.
    Shutdown,
}

/// The questions. Units are those of NVML unless the name says otherwise.
pub(in crate::telemetry) trait Driver {
    /// A GPM sample, which means something only beside another one.
    type Sample;

    // What does not change.
    fn name(&self) -> Answer<String>;
    fn uuid(&self) -> Answer<String>;
    fn pci_bus_id(&self) -> Answer<String>;
    fn power_limit_mw(&self) -> Answer<u32>;
    fn max_sm_clock_mhz(&self) -> Answer<u32>;
    fn ecc_enabled(&self) -> Answer<bool>;
    fn threshold_c(&self, threshold: Threshold) -> Answer<u32>;
    fn pcie_max_gen(&self) -> Answer<u32>;
    fn pcie_max_width(&self) -> Answer<u32>;
    fn gpm_supported(&self) -> Answer<bool>;
    fn mig_enabled(&self) -> Answer<bool>;

    // At every sample.
    fn utilization(&self) -> Answer<Utilization>;
    fn memory(&self) -> Answer<MemoryUse>;
    fn power_mw(&self) -> Answer<u32>;
    fn sm_clock_mhz(&self) -> Answer<u32>;
    fn memory_clock_mhz(&self) -> Answer<u32>;
    /// Bits of `nvmlClocksEventReason*`, unknown ones included.
    fn clock_reasons(&self) -> Answer<u64>;
    fn temperature_c(&self) -> Answer<u32>;
    fn gpm_sample(&self) -> Answer<Self::Sample>;
    fn gpm_activity(&self, before: &Self::Sample, now: &Self::Sample) -> Answer<Activity>;

    // Once a second.
    /// Processes that compute.
    fn processes(&self) -> Answer<Vec<ProcessInfo>>;
    /// Processes that compute through the multi-process service.
    fn mps_processes(&self) -> Answer<Vec<ProcessInfo>>;
    /// Processes that draw.
    fn graphics_processes(&self) -> Answer<Vec<ProcessInfo>>;
    fn p_state(&self) -> Answer<u8>;
    fn encoder_pct(&self) -> Answer<u32>;
    fn decoder_pct(&self) -> Answer<u32>;
    fn ecc_corrected(&self) -> Answer<u64>;
    fn ecc_uncorrected(&self) -> Answer<u64>;
    fn remapped_rows(&self) -> Answer<RemappedRows>;
    fn pcie_gen(&self) -> Answer<u32>;
    /// KiB/s over 20 ms, which the call waits for.
    fn pcie_rx_kib_s(&self) -> Answer<u32>;
    /// KiB/s over 20 ms, which the call waits for.
    fn pcie_tx_kib_s(&self) -> Answer<u32>;

    // Every five seconds: it takes some 4 ms.
    fn energy_mj(&self) -> Answer<u64>;

    // Every two seconds: these take a good part of a millisecond each.
    /// Used and total, bytes.
    fn bar1(&self) -> Answer<(u64, u64)>;
    fn pcie_width(&self) -> Answer<u32>;
    fn pcie_replays(&self) -> Answer<u32>;
    fn gpm_links(&self, before: &Self::Sample, now: &Self::Sample) -> Answer<Links>;
    fn mig_instances(&self) -> Answer<Vec<MigUse>>;
    fn gpm_mig_sample(&self, gpu_instance: u32) -> Answer<Self::Sample>;
}
