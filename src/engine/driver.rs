//! The NVIDIA driver and its GPUs, and whether the CUDA build of LibTorch can use them.

use std::{sync::mpsc, time::Duration};

use nvml_wrapper::{Nvml, error::NvmlError};
use serde::Serialize;

/// Oldest driver for the CUDA 13.0 that the LibTorch wheel is built with.
pub const MINIMUM_DRIVER: &str = "580.65.06";

/// Oldest compute capability that CUDA 13 supports (Turing).
const MINIMUM_COMPUTE_CAPABILITY: (i32, i32) = (7, 5);

/// A driver that does not answer within this is treated as absent: `nvmlInit` can hang on a sick one.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the driver says of itself. Everything unknown is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Driver {
    /// Driver version, for example `580.159.04`.
    pub version: Option<String>,
    /// GPUs in NVML order.
    pub gpus: Vec<Gpu>,
    /// Why there is no answer, or no GPU; `None` when a GPU answers.
    pub absent_because: Option<String>,
}

/// A GPU, as far as the choice of packages needs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gpu {
    /// Marketing name.
    pub name: String,
    /// Major and minor, where the driver tells.
    pub compute_capability: Option<(i32, i32)>,
}

/// Whether the CUDA build of LibTorch can run here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum DriverVerdict {
    /// It can.
    Usable,
    /// No driver or no GPU: the labs run on the CPU.
    Absent {
        /// Why.
        because: String,
    },
    /// The driver is older than the CUDA of the wheel.
    TooOld {
        /// Its version.
        version: String,
    },
    /// The driver is new enough, but no GPU has a supported architecture.
    NoSupportedGpu {
        /// Names and compute capabilities.
        gpus: String,
    },
}

impl Driver {
    /// Asks NVML, for at most five seconds.
    pub fn probe() -> Self {
        let (answer, answered) = mpsc::channel();
        // The thread is left behind when the driver hangs: nothing can cancel a call into it.
        std::thread::spawn(move || drop(answer.send(Self::ask_nvml())));
        answered.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            Self::absent(format!("the NVIDIA driver did not answer within {} s", PATIENCE.as_secs()))
        })
    }

    fn ask_nvml() -> Self {
        let nvml = match load_nvml() {
            Ok(nvml) => nvml,
            Err(NvmlError::LibloadingError(error)) => {
                return Self::absent(format!("no NVIDIA driver is visible ({error})"));
            }
            Err(error) => return Self::absent(format!("the NVIDIA driver does not answer: {error}")),
        };
        let version = nvml.sys_driver_version().ok();
        let mut gpus = Vec::new();
        // `device_count` counts only what this process may use, which in a container can be none.
        for index in 0..nvml.device_count().unwrap_or(0) {
            if let Ok(device) = nvml.device_by_index(index) {
                let compute_capability = device.cuda_compute_capability().ok().map(|cc| (cc.major, cc.minor));
                gpus.push(Gpu { name: device.name().unwrap_or_else(|_| "GPU".into()), compute_capability });
            }
        }
        let absent_because =
            gpus.is_empty().then(|| "the NVIDIA driver answers, but shows no GPU".to_owned());
        Self { version, gpus, absent_because }
    }

    fn absent(because: String) -> Self {
        Self { absent_because: Some(because), ..Self::default() }
    }

    /// Whether the CUDA build of LibTorch can run here.
    pub fn verdict(&self) -> DriverVerdict {
        if let Some(because) = &self.absent_because {
            return DriverVerdict::Absent { because: because.clone() };
        }
        if let Some(version) = &self.version
            && parts(version) < parts(MINIMUM_DRIVER)
        {
            return DriverVerdict::TooOld { version: version.clone() };
        }
        let supported = |gpu: &Gpu| gpu.compute_capability.is_none_or(|cc| cc >= MINIMUM_COMPUTE_CAPABILITY);
        if self.gpus.iter().any(supported) {
            return DriverVerdict::Usable;
        }
        let list = |gpu: &Gpu| match gpu.compute_capability {
            Some((major, minor)) => format!("{} (compute capability {major}.{minor})", gpu.name),
            None => gpu.name.clone(),
        };
        DriverVerdict::NoSupportedGpu { gpus: self.gpus.iter().map(list).collect::<Vec<_>>().join(", ") }
    }
}

fn load_nvml() -> Result<Nvml, NvmlError> {
    // WSL keeps the library outside the loader's path unless its installer added it.
    Nvml::init().or_else(|first| {
        let wsl = std::ffi::OsStr::new("/usr/lib/wsl/lib/libnvidia-ml.so.1");
        Nvml::builder().lib_path(wsl).init().map_err(|_| first)
    })
}

/// `580.65.06` as numbers; what is not a number counts as 0.
fn parts(version: &str) -> Vec<u32> {
    version.split('.').map(|part| part.trim().parse().unwrap_or(0)).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::engine) fn with(version: &str, compute_capability: (i32, i32)) -> Driver {
        let gpu = Gpu { name: "NVIDIA X".into(), compute_capability: Some(compute_capability) };
        Driver { version: Some(version.into()), gpus: vec![gpu], absent_because: None }
    }

    #[test]
    fn versions_compare_by_number() {
        for (version, usable) in [
            ("580.159.04", true),
            ("580.65.06", true),
            ("590.1", true),
            ("1000.0", true),
            ("580.65.05", false),
            ("580.9.99", false),
            ("575.57.08", false),
            ("470.256.02", false),
            ("", false),
        ] {
            let verdict = with(version, (9, 0)).verdict();
            assert_eq!(verdict == DriverVerdict::Usable, usable, "{version}: {verdict:?}");
        }
    }

    #[test]
    fn a_card_that_cuda_13_dropped_is_named() {
        let DriverVerdict::NoSupportedGpu { gpus } = with("580.159.04", (7, 0)).verdict() else {
            panic!("Volta is not supported by CUDA 13");
        };
        assert!(gpus.contains("NVIDIA X (compute capability 7.0)"), "{gpus}");
        assert_eq!(with("580.159.04", (7, 5)).verdict(), DriverVerdict::Usable);
    }

    #[test]
    fn one_supported_card_is_enough() {
        let mut driver = with("580.159.04", (6, 1));
        driver.gpus.push(Gpu { name: "NVIDIA Y".into(), compute_capability: None });
        assert_eq!(driver.verdict(), DriverVerdict::Usable);
    }

    #[test]
    fn a_probe_always_says_one_or_the_other() {
        let driver = Driver::probe();
        assert_eq!(driver.gpus.is_empty(), driver.absent_because.is_some(), "{driver:?}");
    }
}
