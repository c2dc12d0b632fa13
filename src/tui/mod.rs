//! The terminal interface; only here ratatui and crossterm appear.

pub mod markdown;
