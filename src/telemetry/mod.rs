//! Readings of the host and of the GPUs, taken on a thread of their own. A reading that could not be had is `None`
//! and says why; it is never zero. This module knows nothing of terminals or labs.

pub mod fingerprint;
pub mod gauge;
mod gpu;
mod host;
pub mod lens;
mod nvml;
mod process;
pub mod reading;
pub mod sampler;
pub mod series;
pub mod xid;

pub use fingerprint::Fingerprint;
pub use gauge::Gauge;
pub use lens::Lens;
pub use nvml::{GPM_VARIABLE, LIBRARY_VARIABLE};
pub use reading::{
    CgroupLimits, GpuDetails, GpuEvent, GpuInfo, GpuProcess, GpuSnapshot, HostDetails, HostSnapshot, Machine,
    MigInstance, Missing, RemappedRows, Snapshot,
};
pub use sampler::{Sampler, SamplerOptions, Sink, Telemetry};
pub use series::{Average, Series};
