//! placeholder
pub mod gpu;
