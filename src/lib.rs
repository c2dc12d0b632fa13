//! infralab: a study companion for AI infrastructure in the terminal.
//!
//! Dependencies point one way: `main → cli, tui → {library, search, progress, telemetry, lab, engine} → labs`. The
//! core knows no terminal: ratatui and crossterm appear only in `tui`, which is a feature.
//!
//! - [`library`]: notes and terms, links, the content lint
//! - [`search`]: notes, terms and labs by words of either language
//! - [`progress`]: the append-only log of marks and the state folded from it
//! - [`telemetry`]: readings of host and GPUs, each optional
//! - [`lab`]: runs as event streams: session, runner, history, replay
//! - [`lang`], [`visible`]: the two languages; making control characters visible

pub mod cli;
pub mod lab;
pub mod lang;
pub mod library;
pub mod progress;
pub mod search;
pub mod telemetry;
pub mod visible;
