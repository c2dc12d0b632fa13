//! placeholder
pub mod cli;
pub mod engine;
pub mod paths;
