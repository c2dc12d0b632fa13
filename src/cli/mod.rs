//! placeholder
/// `infralab doctor`.
pub mod doctor;
/// `infralab engine`.
pub mod engine;
mod install_progress;
