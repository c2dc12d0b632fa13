//! Find in a note. A phrase is found although a line breaks inside it, which in Chinese may be anywhere.

use std::ops::Range;

use super::glyph::width;
use super::layout::Layout;

/// Text of one row to be searched: some of its spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) row: usize,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) join: Join,
}

/// How a piece continues the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Join {
    /// Not at all: a text of its own.
    Start,
    /// The line was broken between two characters.
    Direct,
    /// The line was broken at white space.
    Space,
}

impl Join {
    /// For a line that starts at `start`, after one that ended at `end`.
    pub(super) fn between(end: Option<usize>, start: usize) -> Self {
        match end {
            None => Self::Start,
            Some(end) if end == start => Self::Direct,
            Some(_) => Self::Space,
        }
    }
}

/// An occurrence of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// Rows and cells that it covers; more than one part where a line breaks inside it. Never empty.
    pub parts: Vec<(usize, Range<usize>)>,
}

impl Match {
    /// The row where it begins.
    pub fn row(&self) -> usize {
        self.parts.first().map_or(0, |(row, _)| *row)
    }
}

impl Layout {
    /// Every occurrence of `query` without regard to case, top to bottom; white space in the query matches any.
    pub fn find(&self, query: &str) -> Vec<Match> {
        let query = fold(&query.split_whitespace().collect::<Vec<_>>().join(" "));
        if query.is_empty() {
            return Vec::new();
        }
        let mut matches = Vec::new();
        for pieces in self.pieces.chunk_by(|_, next| next.join != Join::Start) {
            self.find_in(pieces, &query, &mut matches);
        }
        matches.sort_by_key(|found: &Match| found.parts.first().map(|(row, cells)| (*row, cells.start)));
        matches
    }

    fn find_in(&self, pieces: &[Piece], query: &str, matches: &mut Vec<Match>) {
        let words = |piece: &Piece| -> String {
            self.rows[piece.row].spans[piece.from..piece.to].iter().map(|span| span.text.as_str()).collect()
        };
        let mut text = String::new();
        // Where each piece begins in the text.
        let mut starts = Vec::with_capacity(pieces.len());
        for piece in pieces {
            if piece.join == Join::Space {
                text.push(' ');
            }
            starts.push(text.len());
            text.push_str(&words(piece));
        }
        let folded = fold(&text);
        let mut hits = folded.match_indices(query).map(|(at, found)| at..at + found.len()).peekable();
        if hits.peek().is_none() {
            return;
        }
        let origin = (!text.is_ascii()).then(|| origins(&text));
        for hit in hits {
            let hit = match &origin {
                None => hit,
                // Up to the end of the character that the last byte came from: folding may lengthen one.
                Some(origin) => origin[hit.start].start..origin[hit.end - 1].end,
            };
            let first = starts.partition_point(|start| *start <= hit.start).saturating_sub(1);
            let mut parts = Vec::new();
            for (i, piece) in pieces.iter().enumerate().skip(first) {
                if starts[i] >= hit.end {
                    break;
                }
                let words = words(piece);
                let within = |at: usize| at.saturating_sub(starts[i]).min(words.len());
                let part = within(hit.start)..within(hit.end);
                if part.is_empty() {
                    continue;
                }
                let left: usize =
                    self.rows[piece.row].spans[..piece.from].iter().map(|span| width(&span.text)).sum();
                let cells = left + width(&words[..part.start])..left + width(&words[..part.end]);
                parts.push((piece.row, cells));
            }
            if !parts.is_empty() {
                matches.push(Match { parts });
            }
        }
    }
}

/// Lower case, character by character, so that lengths can be traced back.
fn fold(text: &str) -> String {
    if text.is_ascii() {
        text.to_ascii_lowercase()
    } else {
        text.chars().flat_map(char::to_lowercase).collect()
    }
}

/// For every byte of the folded text, the character of the text that it came from.
fn origins(text: &str) -> Vec<Range<usize>> {
    let mut origins = Vec::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let bytes: usize = c.to_lowercase().map(char::len_utf8).sum();
        origins.extend(std::iter::repeat_n(at..at + c.len_utf8(), bytes));
    }
    origins
}
