//! A note as blocks: leaves in reading order, each inside a chain of quotes and list items. The tree is kept flat, so
//! no input, however deep, can exhaust the stack.

use std::ops::Range;

use super::text::{LinkTarget, Text};

/// A parsed note.
#[derive(Debug, Clone, Default)]
pub struct Document {
    pub(super) leaves: Vec<Leaf>,
    pub(super) containers: Vec<Container>,
    pub(super) links: Vec<LinkTarget>,
}

/// A block without blocks inside.
#[derive(Debug, Clone)]
pub(super) struct Leaf {
    pub(super) kind: Kind,
    /// The innermost container.
    pub(super) inside: Option<usize>,
    /// Whether an empty row separates it from the leaf before.
    pub(super) gap: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Paragraph(Text),
    Heading {
        level: u8,
        text: Text,
        /// Plain words, without the addresses of links.
        title: String,
        anchor: String,
    },
    Code {
        /// The info string after the fence.
        label: String,
        /// Tabs expanded, without the last line feed.
        code: String,
    },
    Table(Table),
    Rule,
}

/// A table. Rows may have more or fewer cells than the header.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    pub(super) align: Vec<Align>,
    pub(super) head: Vec<Text>,
    pub(super) rows: Vec<Vec<Text>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Align {
    #[default]
    Left,
    Center,
    Right,
}

/// What surrounds a leaf.
#[derive(Debug, Clone)]
pub(super) struct Container {
    pub(super) kind: ContainerKind,
    pub(super) parent: Option<usize>,
    /// The leaf that carries its marker.
    pub(super) first_leaf: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ContainerKind {
    Quote {
        correction: bool,
    },
    Item {
        /// `None` for a bullet.
        number: Option<u64>,
        /// Whether a task is done.
        task: Option<bool>,
        /// Digits of the longest number in the list.
        digits: usize,
        /// Lists around this one.
        depth: usize,
    },
    /// The text of a footnote.
    Footnote {
        label: String,
    },
}

impl Document {
    /// Containers around a leaf, innermost first.
    pub(super) fn around(&self, leaf: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.leaves[leaf].inside, |id| self.containers[*id].parent)
    }

    /// Number of blocks; [`super::Row::block`] counts them from 0.
    pub fn len(&self) -> usize {
        self.leaves.len()
    }

    /// Whether there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }
}

/// A wiki link in the source: the whole range, the target and the words shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WikiSpan {
    pub(super) range: Range<usize>,
    pub(super) target: String,
    pub(super) shown: String,
}
