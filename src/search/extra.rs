//! Documents that do not come with the library: the reader's own notes, and recorded runs. Whoever owns them hands
//! them in as text.

use crate::library::Layer;

/// A document from outside the library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extra {
    /// A note of the reader's own.
    Own(OwnNote),
    /// A recorded run.
    Run(RunText),
}

/// A note of the reader's own, in any language.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnNote {
    /// Stable id.
    pub id: String,
    /// Title.
    pub title: String,
    /// Other names.
    pub aliases: Vec<String>,
    /// The text as the reader opens it, Markdown: [`super::Hit::block`] counts its blocks.
    pub markdown: String,
    /// Phase of the route that it belongs to, where it says so.
    pub phase: Option<u8>,
    /// Layer that it belongs to, where it says so.
    pub layer: Option<Layer>,
}

/// A recorded run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunText {
    /// Id of the run.
    pub id: String,
    /// Id of the lab.
    pub lab: String,
    /// The device that it ran on.
    pub device: String,
    /// When, as shown: `2026-11-30`.
    pub date: String,
    /// What came out, a line each.
    pub results: String,
}
