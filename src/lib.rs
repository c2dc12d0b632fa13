//! infralab: a study companion for AI infrastructure in the terminal.
//!
//! Dependencies point one way: `main → cli, tui → {library, reader, search, progress, telemetry, lab, engine, calc} → labs`.
//! The core knows no terminal: ratatui and crossterm appear only in [`tui`], which is a feature.
//!
//! - [`library`]: notes and terms, links, the content lint
//! - [`reader`]: Markdown to rows of text, without a terminal
//! - [`search`]: one index in memory, Chinese, English and pinyin
//! - [`progress`]: the append-only log of marks and the state folded from it
//! - [`telemetry`]: readings of host and GPUs, each optional
//! - [`lab`]: runs as event streams: session, runner, history, replay
//! - [`engine`]: find or install LibTorch, build and locate the worker
//! - [`calc`]: calculators: every closed form with its inputs and an itemised answer
//! - [`cli`]: one short file per command; the only place that prints
//! - [`lang`], [`visible`], [`units`], [`paths`]: languages, control characters, numbers, directories

pub mod calc;
pub mod cli;
pub mod engine;
pub mod lab;
pub mod lang;
pub mod library;
pub mod paths;
pub mod progress;
pub mod reader;
pub mod search;
pub mod telemetry;
#[cfg(feature = "tui")]
pub mod tui;
pub mod units;
pub mod visible;
