//! What the app and the worker agree on, without LibTorch: the line [`protocol`], the [`formulas`] that no other
//! code computes, the [`spec`] of each lab, and the labs themselves (one folder each). The worker, which runs a lab
//! on a device, is behind the feature `torch`.

pub mod attention;
pub mod clock;
mod dtype;
pub mod formulas;
pub mod kv_cache;
pub mod memory_ledger;
pub mod protocol;
pub mod spec;

#[cfg(feature = "torch")]
pub mod torch;

pub use dtype::Dtype;
pub use spec::{LABS, LabSpec, find_lab};
