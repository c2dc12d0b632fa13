//! NVML: finding the library, what it says of the driver, and its answers to the questions of [`super::gpu`].

use std::ffi::{OsStr, OsString};

use nvml_wrapper::enum_wrappers::device::{Clock, PcieUtilCounter, TemperatureSensor};
use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::error::{Bits, NvmlError};
use nvml_wrapper::gpm::{GpmSample, gpm_metrics_get};
use nvml_wrapper::struct_wrappers::device::{ProcessInfo, Utilization};
use nvml_wrapper::struct_wrappers::gpm::GpmMetricResult;
use nvml_wrapper::{Device, Nvml, cuda_driver_version_major, cuda_driver_version_minor};

use super::gpu::{Activity, Answer, Driver, Gpu, absent, reason};
use super::{GpuInfo, GpuSnapshot, Machine, process};

/// Environment variable that names the NVML library to open instead of the usual ones.
pub const LIBRARY_VARIABLE: &str = "INFRALAB_NVML";

/// Names to try in turn. Since driver 560, and in containers, only the first may exist; the last is where WSL keeps it.
const LIBRARIES: [&str; 3] = ["libnvidia-ml.so.1", "libnvidia-ml.so", "/usr/lib/wsl/lib/libnvidia-ml.so.1"];

/// Opens NVML, or says in one line which libraries were tried and why none would do.
pub(super) fn open() -> Result<Nvml, String> {
    let chosen = std::env::var_os(LIBRARY_VARIABLE).filter(|path| !path.is_empty());
    first_that_opens(&candidates(chosen), |path| Nvml::builder().lib_path(path).init())
}

fn candidates(chosen: Option<OsString>) -> Vec<OsString> {
    // No falling back from a chosen library: readings from another one than asked for would mislead.
    chosen.map_or_else(|| LIBRARIES.map(OsString::from).to_vec(), |path| vec![path])
}

fn first_that_opens<T>(paths: &[OsString], open: impl Fn(&OsStr) -> Answer<T>) -> Result<T, String> {
    let mut failures: Vec<(Vec<String>, String)> = Vec::new();
    for path in paths {
        let name = path.to_string_lossy().into_owned();
        let why = match open(path) {
            Ok(nvml) => return Ok(nvml),
            Err(NvmlError::FailedToLoadSymbol(_)) => {
                "it is not an NVML library, or one older than any supported".to_owned()
            }
            Err(error) => reason(&error, false),
        };
        // The loader begins with the name, which would part reasons that are the same.
        let why = why.strip_prefix(&format!("{name}: ")).unwrap_or(&why).to_owned();
        match failures.iter_mut().find(|(_, known)| *known == why) {
            Some((names, _)) => names.push(name),
            None => failures.push((vec![name], why)),
        }
    }
    let tried: Vec<String> =
        failures.iter().map(|(names, why)| format!("{}: {why}", names.join(", "))).collect();
    Err(one_line(&format!("NVML did not open. Tried {}", tried.join("; "))))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The GPUs of one life of the library; without a library they are all lost.
pub(super) struct Gpus<'nvml> {
    nvml: Option<&'nvml Nvml>,
    each: Vec<(GpuInfo, Gpu<Device<'nvml>>)>,
    absent_because: Option<String>,
}

impl<'nvml> Gpus<'nvml> {
    /// Connects to every GPU there is, and tells the machine of them.
    pub(super) fn discover(opened: Result<&'nvml Nvml, &String>, machine: &mut Machine) -> Self {
        let nvml = match opened {
            Ok(nvml) => nvml,
            Err(why) => {
                machine.gpu_absent_because = Some(why.clone());
                return Self { nvml: None, each: Vec::new(), absent_because: Some(why.clone()) };
            }
        };
        machine.driver = nvml.sys_driver_version().ok();
        machine.cuda_driver = nvml.sys_cuda_driver_version().ok().map(cuda_version);
        let count = match nvml.device_count() {
            Ok(0) => Err("NVML opened, but reports no GPU that this process may see".to_owned()),
            Ok(count) => Ok(count),
            Err(error) => Err(format!("NVML opened, but does not count the GPUs: {}", reason(&error, false))),
        };
        machine.gpu_absent_because = count.as_ref().err().cloned();
        let gpus = (0..count.unwrap_or(0)).map(|index| {
            let mut gpu = Gpu::new(index, process::gpu_process_name);
            if let Ok(device) = nvml.device_by_index(index) {
                gpu.connect(device);
            }
            (gpu.info(), gpu)
        });
        let each: Vec<_> = gpus.collect();
        machine.gpus = each.iter().map(|(info, _)| info.clone()).collect();
        Self { nvml: Some(nvml), each, absent_because: None }
    }

    /// The GPUs known from an earlier life of the library, found again by their UUID.
    pub(super) fn rejoin(opened: Result<&'nvml Nvml, &String>, known: &[GpuInfo]) -> Self {
        let gpus = known.iter().map(|info| (info.clone(), Gpu::new(info.index, process::gpu_process_name)));
        Self { nvml: opened.ok(), each: gpus.collect(), absent_because: opened.err().cloned() }
    }

    /// Readings of every GPU, in the order of the machine.
    pub(super) fn snapshot(&mut self, now_ns: u64) -> Vec<GpuSnapshot> {
        let snapshots = self.each.iter_mut().map(|(info, gpu)| match self.nvml {
            Some(nvml) => gpu.snapshot(now_ns, || match &info.uuid {
                Some(uuid) => nvml.device_by_uuid(uuid.as_str()),
                None => nvml.device_by_index(info.index),
            }),
            None => absent(info.index, self.absent_because.as_deref().unwrap_or("NVML is closed")),
        });
        snapshots.collect()
    }

    /// Whether there were GPUs and none answers any more: then the library itself is opened anew.
    pub(super) fn are_lost(&self) -> bool {
        !self.each.is_empty() && (self.nvml.is_none() || self.each.iter().all(|(_, gpu)| gpu.is_lost()))
    }
}

fn cuda_version(version: i32) -> String {
    format!("{}.{}", cuda_driver_version_major(version), cuda_driver_version_minor(version))
}

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
    fn mig_enabled(&self) -> Answer<bool> {
        self.mig_mode().map(|mode| mode.current == 1)
    }
    fn gpm_supported(&self) -> Answer<bool> {
        self.gpm_support()
    }
    fn utilization(&self) -> Answer<Utilization> {
        self.utilization_rates()
    }
    fn memory(&self) -> Answer<(u64, u64)> {
        self.memory_info().map(|memory| (memory.used, memory.total))
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
    fn energy_mj(&self) -> Answer<u64> {
        self.total_energy_consumption()
    }
    fn processes(&self) -> Answer<Vec<ProcessInfo>> {
        self.running_compute_processes()
    }
    fn pcie_rx_kib_s(&self) -> Answer<u32> {
        self.pcie_throughput(PcieUtilCounter::Receive)
    }
    fn pcie_tx_kib_s(&self) -> Answer<u32> {
        self.pcie_throughput(PcieUtilCounter::Send)
    }
    fn gpm_sample(&self) -> Answer<Self::Sample> {
        self.gpm_sample()
    }
    fn gpm_activity(&self, before: &Self::Sample, now: &Self::Sample) -> Answer<Activity> {
        use GpmMetricId::{AnyTensorUtil, DramBwUtil, PcieRxPerSec, PcieTxPerSec, SmOccupancy, SmUtil};
        let asked = [SmUtil, SmOccupancy, AnyTensorUtil, DramBwUtil, PcieRxPerSec, PcieTxPerSec];
        let mut answers = gpm_metrics_get(self.nvml(), before, now, &asked)?.into_iter();
        // The answers come in the order of the questions.
        let mut next = || answers.next().unwrap_or(Err(NvmlError::NoData));
        Ok(Activity {
            sm: next().map(|metric| metric.value),
            sm_occupancy: next().map(|metric| metric.value),
            tensor: next().map(|metric| metric.value),
            dram: next().map(|metric| metric.value),
            pcie_rx: next().map(|metric| mib_s(&metric)),
            pcie_tx: next().map(|metric| mib_s(&metric)),
        })
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

    fn paths(names: &[&str]) -> Vec<OsString> {
        names.iter().map(OsString::from).collect()
    }

    #[test]
    fn the_versioned_name_comes_first_and_a_chosen_library_stands_alone() {
        assert_eq!(candidates(None).first(), Some(&OsString::from("libnvidia-ml.so.1")));
        assert_eq!(candidates(Some("/opt/nvml.so".into())), paths(&["/opt/nvml.so"]));
    }

    #[test]
    fn a_library_that_will_not_do_makes_way_for_the_next() {
        let opened = first_that_opens(&paths(&["a", "b", "c"]), |path| match path.to_str() {
            Some("b") => Ok("b"),
            _ => Err(NvmlError::LibraryNotFound),
        });
        assert_eq!(opened, Ok("b"));
    }

    #[test]
    fn every_library_that_was_tried_is_named_once_with_its_reason() {
        let failed = first_that_opens(&paths(&["a", "b", "c"]), |path| -> Answer<()> {
            Err(if path == "b" { NvmlError::LibRmVersionMismatch } else { NvmlError::LibraryNotFound })
        });
        let why = failed.expect_err("nothing opens");
        assert!(
            why.starts_with("NVML did not open. Tried a, c: a shared library couldn't be found"),
            "{why}"
        );
        assert!(why.contains("b: driver/library version mismatch"), "{why}");
        assert!(why.contains("reboot"), "{why}");
        assert_eq!(why.lines().count(), 1);
    }

    #[test]
    fn the_words_of_the_loader_are_passed_on() {
        let missing = paths(&["/no/such/libnvidia-ml.so.1", "/no/such/libnvidia-ml.so"]);
        let failed = first_that_opens(&missing, |path| Nvml::builder().lib_path(path).init());
        let why = failed.expect_err("no such file");
        assert!(why.contains("/no/such/libnvidia-ml.so.1, /no/such/libnvidia-ml.so: "), "{why}");
        assert!(why.to_lowercase().contains("no such file"), "{why}");
    }

    #[test]
    fn a_library_that_is_not_nvml_is_told_so() {
        // The C library is loaded by every test program on Linux.
        let failed = first_that_opens(&paths(&["libc.so.6"]), |path| Nvml::builder().lib_path(path).init());
        let why = failed.expect_err("libc has no nvmlInit");
        assert!(why.contains("not an NVML library") || why.contains("libc.so.6"), "{why}");
    }

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

    #[test]
    fn cuda_versions_read_as_people_write_them() {
        assert_eq!(cuda_version(13_000), "13.0");
        assert_eq!(cuda_version(12_040), "12.4");
    }
}
