//! Where a query's words stand in a page, and the piece of text to show for it.

use std::ops::Range;

use serde::Serialize;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::analyze::scan;
use super::page::{Block, Line, Page};
use super::sight::{Finder, Mark, unit_bits};

/// Widest snippet, in terminal columns.
pub const SNIPPET_COLUMNS: usize = 80;

/// Text before the first match, in columns; a heading is rather shown from its beginning.
const LEAD_COLUMNS: usize = 24;
const HEADING_LEAD_COLUMNS: usize = 48;

/// Matches that far apart can share a snippet, in columns.
const SPREAD_COLUMNS: usize = SNIPPET_COLUMNS - LEAD_COLUMNS - 4;

/// A piece of a page's text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Snippet {
    /// One line of plain text, at most [`SNIPPET_COLUMNS`] wide; `…` where it was cut.
    #[serde(rename = "snippet")]
    pub text: String,
    /// Byte ranges of the text that match the query, in order, apart from each other.
    pub highlights: Vec<Range<usize>>,
}

/// A snippet, and the line that it is from.
pub(super) struct Cut {
    pub(super) snippet: Snippet,
    /// `None` when it is the beginning, or the title says it all.
    pub(super) line: Option<usize>,
}

/// The snippet of a page. `titled` says that the title matches the whole query: then the page is about it, and its
/// first line says what it is.
pub(super) fn cut(page: &Page, marks: &[Mark], titled: bool, finder: &Finder<'_>) -> Cut {
    let best = if titled { None } else { best_window(page, marks) };
    let Some(first) = best else { return Cut { snippet: beginning(page, finder), line: None } };
    let line = page.line_at(marks[first].range.start);
    match line.map(|l| &page.blocks[l]) {
        Some(block) if block.line == Line::Name => {
            Cut { snippet: under_name(page, finder, block), line: None }
        }
        Some(block) => Cut { snippet: around(page, &marks[first], finder, block), line },
        None => Cut { snippet: beginning(page, finder), line: None },
    }
}

/// Index of the mark at which the best window begins.
fn best_window(page: &Page, marks: &[Mark]) -> Option<usize> {
    let mut in_heading = vec![0u32; page.anchors.len() + 1];
    // Columns are counted from mark to mark within a line; across lines they do not matter.
    let mut columns: Vec<usize> = Vec::with_capacity(marks.len());
    let mut blocks: Vec<&Block> = Vec::with_capacity(marks.len());
    for (i, mark) in marks.iter().enumerate() {
        let block = page.block_at(mark.range.start)?;
        if block.line == Line::Heading {
            in_heading[block.section()] |= 1 << mark.unit;
        }
        let gap = match i.checked_sub(1) {
            Some(before) if blocks[before].range() == block.range() => {
                page.text[marks[before].range.start..mark.range.start].width()
            }
            _ => 0,
        };
        columns.push(columns.last().copied().unwrap_or(0) + gap);
        blocks.push(block);
    }
    let (mut best, mut best_score, mut end) = (None, 0, 0);
    for first in 0..marks.len() {
        let together = |i: usize| {
            blocks[i].range() == blocks[first].range() && columns[i] - columns[first] <= SPREAD_COLUMNS
        };
        end = end.max(first + 1);
        while end < marks.len() && together(end) {
            end += 1;
        }
        let units = unit_bits(&marks[first..end]);
        let from_heading = in_heading[blocks[first].section()] & !units;
        let kind = match blocks[first].line {
            Line::Heading => 5,
            Line::Lead => 2,
            Line::Text => 0,
            Line::Code => -4,
            Line::Name => 4,
        };
        let score = 10 * units.count_ones() as i32
            + 5 * from_heading.count_ones() as i32
            + ((end - first).min(4)) as i32
            + kind;
        if best.is_none() || score > best_score {
            (best, best_score) = (Some(first), score);
        }
    }
    best
}

/// The first line, for a page that matches by its title or by what it teaches.
fn beginning(page: &Page, finder: &Finder<'_>) -> Snippet {
    let mut snippet = Snippet::default();
    if let Some(block) = page.blocks.first() {
        append(&mut snippet, page, &block.range(), finder);
    }
    snippet
}

/// One of a term's other names, followed by the first line.
fn under_name(page: &Page, finder: &Finder<'_>, name: &Block) -> Snippet {
    let mut snippet = Snippet::default();
    append(&mut snippet, page, &name.range(), finder);
    if let Some(block) = page.blocks.first().filter(|_| snippet.text.width() < SNIPPET_COLUMNS / 2) {
        snippet.text.push_str(" · ");
        append(&mut snippet, page, &block.range(), finder);
    }
    snippet
}

/// Appends as much of a line as fits.
fn append(snippet: &mut Snippet, page: &Page, line: &Range<usize>, finder: &Finder<'_>) {
    let room = (SNIPPET_COLUMNS - 1).saturating_sub(snippet.text.width());
    let (shown, whole) = fitting(&page.text, line, room);
    let offset = snippet.text.len();
    let found = finder.highlights(&page.text[shown.clone()]);
    snippet.highlights.extend(found.into_iter().map(|r| r.start + offset..r.end + offset));
    snippet.text.push_str(&page.text[shown]);
    if !whole {
        snippet.text.push('…');
    }
}

/// The text around a mark: some columns of its own line before it, and what fits of its section after it.
fn around(page: &Page, mark: &Mark, finder: &Finder<'_>, block: &Block) -> Snippet {
    let text = page.text.as_str();
    let at = mark.range.start;
    let line = block.range();
    let lead = if block.line == Line::Heading { HEADING_LEAD_COLUMNS } else { LEAD_COLUMNS };
    let start = if text[line.start..at].width() <= lead {
        line.start
    } else {
        let near = back(text, line.start, at);
        let starts = tokens_of(&text[near..at]).into_iter().map(|token| near + token.start);
        // The first token may have lost its beginning to the cut.
        let mut starts = starts.filter(|start| *start > near);
        starts.find(|start| text[*start..at].width() <= LEAD_COLUMNS).unwrap_or(at)
    };
    let limit = page
        .blocks
        .iter()
        .rev()
        .find(|b| b.section() == block.section() && b.line != Line::Name)
        .map_or(line.end, |b| b.range().end);
    let cut_before = start > line.start;
    let room = SNIPPET_COLUMNS - 1 - usize::from(cut_before);
    let (shown, whole) = fitting(text, &(start..limit), room);
    let prefix = if cut_before { "…" } else { "" };
    let found = finder.highlights(&text[shown.clone()]);
    let highlights = found.into_iter().map(|r| r.start + prefix.len()..r.end + prefix.len()).collect();
    let suffix = if whole { "" } else { "…" };
    Snippet { text: format!("{prefix}{}{suffix}", text[shown].replace('\n', " ")), highlights }
}

/// Bytes looked at around a cut for the words there.
const NEAR_CUT_BYTES: usize = 128;

/// Some bytes before `at`, not before `start`, on a character.
fn back(text: &str, start: usize, at: usize) -> usize {
    text.ceil_char_boundary(start.max(at.saturating_sub(NEAR_CUT_BYTES)))
}

fn tokens_of(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    scan(text, |_, range, _, _| ranges.push(range));
    ranges.sort_unstable_by_key(|r| (r.start, r.end));
    ranges
}

/// As much of a range of the text as fits, and whether that is all. A word that does not fit is left out, unless it
/// is the first.
fn fitting(text: &str, range: &Range<usize>, columns: usize) -> (Range<usize>, bool) {
    let (mut used, mut end) = (0, range.end);
    for (at, grapheme) in text[range.clone()].grapheme_indices(true) {
        used += grapheme.width();
        if used > columns {
            end = range.start + at;
            break;
        }
    }
    let whole = end == range.end;
    if !whole {
        let near = back(text, range.start, end);
        let stop = text.floor_char_boundary(range.end.min(end + NEAR_CUT_BYTES));
        let cut = tokens_of(&text[near..stop])
            .into_iter()
            .map(|token| near + token.start..near + token.end)
            .find(|token| token.start < end && token.end > end && token.start > range.start);
        end = cut.map_or(end, |token| token.start);
    }
    (range.start..range.start + text[range.start..end].trim_end().len(), whole)
}
