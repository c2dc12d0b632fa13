//! placeholder
pub mod cli;
pub mod telemetry;
