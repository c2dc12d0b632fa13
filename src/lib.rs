//! infralab: a study companion for AI infrastructure in the terminal.
//!
//! Dependencies point one way: `main → cli, tui → {library, reader, search, progress, telemetry, lab, engine} →
//! labs`. The core knows no terminal: ratatui and crossterm appear only in `tui`, which is a feature.
//!
//! - [`library`]: notes and terms, links, the content lint
//! - [`progress`]: the append-only log of marks and the state folded from it
//! - [`telemetry`]: readings of host and GPUs, each optional
//! - [`lab`]: runs as event streams: session, runner, history, replay
//! - [`reader`]: Markdown into blocks, blocks into rows of a width
//! - [`lang`], [`visible`]: the two languages; making control characters visible

pub mod lab;
pub mod lang;
pub mod library;
pub mod progress;
pub mod reader;
pub mod telemetry;
#[cfg(feature = "tui")]
pub mod tui;
pub mod visible;
