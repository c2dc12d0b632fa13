//! What a reader sees of a note, term or lab as plain lines: one line per paragraph, list item, table row or line of
//! code. Lines know the block of [`crate::reader::Document`] that shows them.

use std::ops::Range;

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    /// Summary, question or short definition: shown when nothing else matches.
    Lead,
    /// Running text, list items, table rows.
    Text,
    /// A heading; the lines after it belong to its section.
    Heading,
    /// A line of a code block.
    Code,
    /// Another name of a term.
    Name,
}

/// One line of the page.
#[derive(Debug, Clone)]
pub(super) struct Block {
    /// What it is.
    pub(super) line: Line,
    /// Bytes of the page's text.
    start: u32,
    end: u32,
    /// 0 before the first heading, then the number of headings so far.
    section: u32,
    /// See [`Block::shown_in`].
    pub(super) shown_in: u32,
}

/// In [`Block::shown_in`]: no block shows it.
const NOWHERE: u32 = u32::MAX;

impl Block {
    /// Bytes of the page's text.
    pub(super) fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// 0 before the first heading, then the number of headings so far.
    pub(super) fn section(&self) -> usize {
        self.section as usize
    }

    /// Index of the block that shows it, in the document that the reader parses.
    pub(super) fn shown_in(&self) -> Option<usize> {
        (self.shown_in != NOWHERE).then_some(self.shown_in as usize)
    }
}

/// Plain text with its lines.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// All lines, separated by line feeds.
    pub(super) text: String,
    /// Lines in order.
    pub(super) blocks: Vec<Block>,
    /// Anchor of each section from 1 on.
    pub(super) anchors: Vec<String>,
    /// Blocks of the reader's document so far.
    pub(super) shown: u32,
}

impl Page {
    /// Adds one line that the reader shows in no block.
    pub(super) fn push(&mut self, line: Line, text: &str) {
        self.push_in(line, text, NOWHERE);
    }

    /// Adds one line that is the reader's next block.
    pub(super) fn push_block(&mut self, line: Line, text: &str) {
        self.push_in(line, text, self.shown);
        self.shown += 1;
    }

    /// Adds a line of the block this many blocks behind the last one.
    pub(super) fn push_after(&mut self, line: Line, text: &str, blocks: u32) {
        self.push_in(line, text, self.shown + blocks);
    }

    /// White space is folded, and a line of nothing else is left out.
    pub(super) fn push_in(&mut self, line: Line, text: &str, shown_in: u32) {
        let mut words = text.split_whitespace().peekable();
        if words.peek().is_none() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let start = self.text.len();
        for word in words {
            if self.text.len() > start {
                self.text.push(' ');
            }
            self.text.push_str(word);
        }
        let (start, end) = (start as u32, self.text.len() as u32);
        self.blocks.push(Block { line, start, end, section: self.anchors.len() as u32, shown_in });
    }

    /// Index of the line that holds this byte.
    pub(super) fn line_at(&self, byte: usize) -> Option<usize> {
        self.blocks.partition_point(|b| b.start as usize <= byte).checked_sub(1)
    }

    /// The line that holds this byte.
    pub(super) fn block_at(&self, byte: usize) -> Option<&Block> {
        self.line_at(byte).map(|i| &self.blocks[i])
    }
}
