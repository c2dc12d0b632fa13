//! The worker: LibTorch behind safe calls, the line protocol on stdin and stdout, and what every lab is given.
//!
//! - [`process`], [`output`], [`input`]: the process and its two pipes.
//! - [`hello`], [`cuda`], [`host`]: which device runs the lab, and what is known about it.
//! - [`memory`], [`timing`], [`stopwatch`], [`sdpa`], [`lengths`], [`graph`], [`autograd`], [`autocast`], [`adamw`]:
//!   what `tch` lacks, from `shim.cpp`.
//! - [`context`]: what a lab is given; [`error`]: how it ends early.
//!
//! Order matters at the start: stdout is claimed before LibTorch prints anything, and CUDA is loaded before any call
//! that asks LibTorch about it, since LibTorch remembers the first answer.

pub mod adamw;
pub mod autocast;
pub mod autograd;
pub mod context;
pub mod cuda;
pub mod error;
mod ffi;
pub mod graph;
pub mod hello;
pub mod host;
pub mod input;
pub mod lengths;
pub mod memory;
pub mod output;
pub mod process;
pub mod sdpa;
pub mod stopwatch;
pub mod timing;

pub use context::Context;
pub use error::Error;
