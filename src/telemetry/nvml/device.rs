//! A GPU's answers through NVML.

use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::{
    Clock, EccCounter, MemoryError, PcieUtilCounter, PerformanceState, TemperatureSensor,
    TemperatureThreshold,
};
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::error::{Bits, NvmlError};
use nvml_wrapper::gpm::{GpmSample, gpm_metrics_get};
use nvml_wrapper::struct_wrappers::device::{ProcessInfo, Utilization};
use nvml_wrapper::struct_wrappers::gpm::GpmMetricResult;
use nvml_wrapper::structs::device::FieldId;

use crate::telemetry::RemappedRows;
use crate::telemetry::gpu::{Activity, Answer, Driver, Links, MemoryUse, MigUse, Threshold};

/// `NVML_FI_DEV_REMAPPED_COR`, `_UNC`, `_PENDING` and `_FAILURE` in nvml.h.
const REMAPPED_ROWS: [FieldId; 4] = [FieldId(142), FieldId(143), FieldId(144), FieldId(145)];

impl<'nvml> Driver for Device<'nvml> {
    type Sample = GpmSample<'nvml>;

    fn name(&self) -> Answer<String> {
        self.name()
    }
    fn uuid(&self) -> Answer<String> {
        self.uuid()
    }
    fn pci_bus_id(&self) -> Answer<String> {
        self.pci_info().map(|pci| pci.bus_id)
    }
    fn power_limit_mw(&self) -> Answer<u32> {
        self.enforced_power_limit()
    }
    fn max_sm_clock_mhz(&self) -> Answer<u32> {
        self.max_clock_info(Clock::SM)
    }
    fn ecc_enabled(&self) -> Answer<bool> {
        self.is_ecc_enabled().map(|state| state.currently_enabled)
    }
    fn threshold_c(&self, threshold: Threshold) -> Answer<u32> {
        self.temperature_threshold(match threshold {
            Threshold::Max => TemperatureThreshold::GpuMax,
            Threshold::Slowdown => TemperatureThreshold::Slowdown,
            Threshold::Shutdown => TemperatureThreshold::Shutdown,
        })
    }
    fn pcie_max_gen(&self) -> Answer<u32> {
        self.max_pcie_link_gen()
    }
    fn pcie_max_width(&self) -> Answer<u32> {
        self.max_pcie_link_width()
    }
    fn gpm_supported(&self) -> Answer<bool> {
        self.gpm_support()
    }
    fn mig_enabled(&self) -> Answer<bool> {
        self.mig_mode().map(|mode| mode.current == 1)
    }

    fn utilization(&self) -> Answer<Utilization> {
        self.utilization_rates()
    }
    fn memory(&self) -> Answer<MemoryUse> {
        self.memory_info().map(|memory| MemoryUse {
            used: memory.used,
            reserved: memory.reserved,
            free: memory.free,
            total: memory.total,
        })
    }
    fn power_mw(&self) -> Answer<u32> {
        self.power_usage()
    }
    fn sm_clock_mhz(&self) -> Answer<u32> {
        self.clock_info(Clock::SM)
    }
    fn memory_clock_mhz(&self) -> Answer<u32> {
        self.clock_info(Clock::Memory)
    }
    fn clock_reasons(&self) -> Answer<u64> {
        // The strict question gives the bits that the wrapper has no name for; the other one drops them.
        match self.current_throttle_reasons_strict() {
            Ok(reasons) => Ok(reasons.bits()),
            Err(NvmlError::IncorrectBits(Bits::U64(bits))) => Ok(bits),
            Err(error) => Err(error),
        }
    }
    fn temperature_c(&self) -> Answer<u32> {
        self.temperature(TemperatureSensor::Gpu)
    }
    fn gpm_sample(&self) -> Answer<Self::Sample> {
        self.gpm_sample()
    }
    fn gpm_activity(&self, before: &Self::Sample, now: &Self::Sample) -> Answer<Activity> {
        use GpmMetricId as Id;
        let asked = [
            Id::SmUtil,
            Id::SmOccupancy,
            Id::AnyTensorUtil,
            Id::Fp64Util,
            Id::Fp32Util,
            Id::Fp16Util,
            Id::DramBwUtil,
            Id::PcieRxPerSec,
            Id::PcieTxPerSec,
        ];
        let mut answers = gpm_metrics_get(self.nvml(), before, now, &asked)?.into_iter();
        // The answers come in the order of the questions.
        let mut next = || answers.next().unwrap_or(Err(NvmlError::NoData));
        Ok(Activity {
            sm: next().map(|metric| metric.value),
            sm_occupancy: next().map(|metric| metric.value),
            tensor: next().map(|metric| metric.value),
            fp64: next().map(|metric| metric.value),
            fp32: next().map(|metric| metric.value),
            fp16: next().map(|metric| metric.value),
            dram: next().map(|metric| metric.value),
            pcie_rx: next().map(|metric| mib_s(&metric)),
            pcie_tx: next().map(|metric| mib_s(&metric)),
        })
    }

    fn processes(&self) -> Answer<Vec<ProcessInfo>> {
        self.running_compute_processes()
    }
    fn mps_processes(&self) -> Answer<Vec<ProcessInfo>> {
        self.mps_running_compute_processes()
    }
    fn graphics_processes(&self) -> Answer<Vec<ProcessInfo>> {
        self.running_graphics_processes()
    }
    fn p_state(&self) -> Answer<u8> {
        use PerformanceState as P;
        let states = [
            P::Zero,
            P::One,
            P::Two,
            P::Three,
            P::Four,
            P::Five,
            P::Six,
            P::Seven,
            P::Eight,
            P::Nine,
            P::Ten,
            P::Eleven,
            P::Twelve,
            P::Thirteen,
            P::Fourteen,
            P::Fifteen,
        ];
        let state = self.performance_state()?;
        states.iter().position(|known| *known == state).map(|state| state as u8).ok_or(NvmlError::NoData)
    }
    fn encoder_pct(&self) -> Answer<u32> {
        self.encoder_utilization().map(|use_| use_.utilization)
    }
    fn decoder_pct(&self) -> Answer<u32> {
        self.decoder_utilization().map(|use_| use_.utilization)
    }
    fn ecc_corrected(&self) -> Answer<u64> {
        self.total_ecc_errors(MemoryError::Corrected, EccCounter::Volatile)
    }
    fn ecc_uncorrected(&self) -> Answer<u64> {
        self.total_ecc_errors(MemoryError::Uncorrected, EccCounter::Volatile)
    }
    fn remapped_rows(&self) -> Answer<RemappedRows> {
        let mut values = self.field_values_for(&REMAPPED_ROWS)?.into_iter();
        let mut next =
            || values.next().unwrap_or(Err(NvmlError::NoData))?.value.and_then(|value| count(&value));
        Ok(RemappedRows {
            corrected: next()?,
            uncorrected: next()?,
            pending: next()? != 0,
            failed: next()? != 0,
        })
    }
    fn pcie_gen(&self) -> Answer<u32> {
        self.current_pcie_link_gen()
    }
    fn pcie_rx_kib_s(&self) -> Answer<u32> {
        self.pcie_throughput(PcieUtilCounter::Receive)
    }
    fn pcie_tx_kib_s(&self) -> Answer<u32> {
        self.pcie_throughput(PcieUtilCounter::Send)
    }

    fn energy_mj(&self) -> Answer<u64> {
        self.total_energy_consumption()
    }
    fn bar1(&self) -> Answer<(u64, u64)> {
        self.bar1_memory_info().map(|bar1| (bar1.used, bar1.total))
    }
    fn pcie_width(&self) -> Answer<u32> {
        self.current_pcie_link_width()
    }
    fn pcie_replays(&self) -> Answer<u32> {
        self.pcie_replay_counter()
    }
    fn gpm_links(&self, before: &Self::Sample, now: &Self::Sample) -> Answer<Links> {
        let asked = [GpmMetricId::NvlinkTotalRxPerSec, GpmMetricId::NvlinkTotalTxPerSec];
        let mut answers = gpm_metrics_get(self.nvml(), before, now, &asked)?.into_iter();
        let mut next = || answers.next().unwrap_or(Err(NvmlError::NoData)).map(|metric| mib_s(&metric));
        Ok(Links { rx: next(), tx: next() })
    }
    fn mig_instances(&self) -> Answer<Vec<MigUse>> {
        // Indices of instances that do not exist are not found; there may be gaps.
        let devices = (0..self.mig_device_count()?).filter_map(|index| self.mig_device_by_index(index).ok());
        Ok(devices
            .map(|device| MigUse {
                name: device.name(),
                uuid: device.uuid(),
                memory: Driver::memory(&device),
            })
            .collect())
    }
    fn gpm_mig_sample(&self, gpu_instance: u32) -> Answer<Self::Sample> {
        self.gpm_mig_sample(gpu_instance)
    }
}

fn count(value: &SampleValue) -> Answer<u64> {
    match *value {
        SampleValue::U32(value) => Ok(value.into()),
        SampleValue::U64(value) => Ok(value),
        SampleValue::I64(value) => u64::try_from(value).map_err(|_| NvmlError::NoData),
        SampleValue::F64(_) => Err(NvmlError::NoData),
    }
}

/// The header of NVML promises MiB/s; a driver that names another unit is taken at its word.
fn mib_s(metric: &GpmMetricResult) -> f64 {
    let unit = metric.metric_info.unit.to_ascii_lowercase();
    let factor = match unit.split('/').next().unwrap_or_default() {
        "b" | "bytes" => 1.0 / 1_048_576.0,
        "kib" => 1.0 / 1024.0,
        "gib" => 1024.0,
        _ => 1.0,
    };
    metric.value * factor
}

#[cfg(test)]
mod tests {
    use nvml_wrapper::struct_wrappers::gpm::GpmMetricInfo;

    use super::*;

    #[test]
    fn gpm_rates_follow_the_unit_that_the_driver_names() {
        let metric = |unit: &str, value| GpmMetricResult {
            metric_id: GpmMetricId::PcieRxPerSec,
            value,
            metric_info: GpmMetricInfo {
                short_name: String::new(),
                long_name: String::new(),
                unit: unit.to_owned(),
            },
        };
        for (unit, value) in [("MiB/s", 3.0), ("", 3.0), ("KiB/s", 3072.0), ("B/s", 3_145_728.0)] {
            assert!((mib_s(&metric(unit, value)) - 3.0).abs() < 1e-12, "{unit}");
        }
    }
}
