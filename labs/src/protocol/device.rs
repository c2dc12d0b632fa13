//! What runs a lab, and where one asks for it to run.

use serde::{Deserialize, Serialize};

/// `auto`, `cpu` or `cuda:N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeviceChoice {
    /// A CUDA device where one answers, else the CPU.
    #[default]
    Auto,
    /// The CPU, even where a GPU answers.
    Cpu,
    /// The CUDA device with this index (PCI bus order).
    Cuda(u32),
}

impl std::str::FromStr for DeviceChoice {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            _ => text
                .strip_prefix("cuda:")
                .and_then(|n| n.parse().ok())
                .map(Self::Cuda)
                .ok_or_else(|| format!("unknown device `{text}`: use auto, cpu or cuda:N")),
        }
    }
}

impl std::fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(n) => write!(f, "cuda:{n}"),
        }
    }
}

impl Serialize for DeviceChoice {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DeviceChoice {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

/// What runs the lab. Every field that could not be read is `None`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL_VERSION`](super::PROTOCOL_VERSION) of the worker.
    pub protocol: u32,
    /// Version of the worker.
    pub worker: String,
    /// Version of LibTorch, for example `2.11.0`.
    pub libtorch: String,
    /// Version of cuDNN where CUDA was loaded, for example `9.19.0`.
    pub cudnn: Option<String>,
    /// The device that the lab will use.
    pub device: Device,
    /// CUDA devices that answer.
    pub cuda_devices: u32,
    /// Why CUDA is not in use, in words; `None` when it is.
    pub cuda_absent_because: Option<String>,
    /// Process id of the worker on its own machine.
    pub pid: u32,
    /// Threads that LibTorch uses for one operation on the CPU.
    pub cpu_threads: u32,
    /// Shared clock, ns.
    pub mono_ns: u64,
    /// Wall clock, ms since 1970.
    pub unix_ms: u64,
}

/// A device as the worker sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// `cpu` or `cuda`.
    pub kind: DeviceKind,
    /// CUDA index; `None` for the CPU.
    pub index: Option<u32>,
    /// Marketing name of the GPU, or the CPU's model name.
    pub name: String,
    /// `GPU-…` uuid, to find the same card in NVML.
    pub uuid: Option<String>,
    /// Total memory in bytes (device memory of a GPU, RAM of a host).
    pub total_memory_bytes: Option<u64>,
    /// Free memory in bytes when the worker started.
    pub free_memory_bytes: Option<u64>,
    /// Compute capability, for example `9.0`.
    pub compute_capability: Option<String>,
    /// Streaming multiprocessors.
    pub sm_count: Option<u32>,
}

/// Kind of device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// Host processor.
    Cpu,
    /// NVIDIA GPU.
    Cuda,
}
