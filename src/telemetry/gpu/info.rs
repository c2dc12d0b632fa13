//! What does not change of one GPU.

use nvml_wrapper::error::NvmlError;

use super::driver::{Driver, Threshold};
use super::questions::{told_memory, watts};
use crate::telemetry::GpuInfo;
use crate::visible::visible_line;

/// Why a GPU without memory of its own has no figures for it.
pub(super) const UNIFIED: &str =
    "this GPU works in the host's memory and has none of its own: see RAM of the host";

/// Names of products whose GPU shares the host's memory.
const UNIFIED_NAMES: [&str; 6] = ["GB10", "Thor", "Orin", "Xavier", "Tegra", "DGX Spark"];

/// Whether the GPU has no memory of its own. NVML says so by not supporting the question, which other GPUs do too.
pub(super) fn is_unified<D: Driver>(device: &D) -> bool {
    matches!(device.memory(), Err(NvmlError::NotSupported))
        && device.name().is_ok_and(|name| UNIFIED_NAMES.iter().any(|unified| name.contains(unified)))
}

/// All of it, as far as the GPU tells.
pub(super) fn of<D: Driver>(device: &D, index: u32, gpm: bool, unified_memory: bool) -> GpuInfo {
    let visible = |text: String| visible_line(&text);
    GpuInfo {
        index,
        name: device.name().ok().map(visible),
        uuid: device.uuid().ok().map(visible),
        pci_bus_id: device.pci_bus_id().ok().map(visible),
        memory_total_bytes: device.memory().and_then(told_memory).ok().map(|memory| memory.total),
        power_limit_w: device.power_limit_mw().ok().map(watts),
        max_sm_clock_mhz: device.max_sm_clock_mhz().ok(),
        gpm,
        mig: device.mig_enabled().ok(),
        ecc: device.ecc_enabled().ok(),
        max_temperature_c: device.threshold_c(Threshold::Max).ok(),
        slowdown_temperature_c: device.threshold_c(Threshold::Slowdown).ok(),
        shutdown_temperature_c: device.threshold_c(Threshold::Shutdown).ok(),
        pcie_max_gen: device.pcie_max_gen().ok(),
        pcie_max_width: device.pcie_max_width().ok(),
        unified_memory,
    }
}
