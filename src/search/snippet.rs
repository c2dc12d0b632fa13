//! Where a query's words stand in a page, and the piece of text to show for it.

use std::ops::Range;

use serde::Serialize;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::analyze::Token;
use super::page::{Block, Line, Page};
use super::query::Unit;
use super::vocabulary::{Vocabulary, WordId};

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

/// A token of a text by number, with its bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot {
    pub(super) word: WordId,
    start: u32,
    end: u32,
    pub(super) han: bool,
}

impl Spot {
    pub(super) fn new(word: WordId, token: &Token, offset: usize) -> Self {
        let at = |byte: usize| (offset + byte) as u32;
        Self { word, start: at(token.range.start), end: at(token.range.end), han: token.han }
    }

    /// Whether the other token follows without a gap, as Han characters of one run do.
    pub(super) fn touches(&self, next: &Self) -> bool {
        self.han && next.han && self.end == next.start
    }

    fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A match of one unit of the query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    range: Range<usize>,
    unit: usize,
}

/// Finds the units of a query in texts.
pub(super) struct Finder<'a> {
    units: &'a [Unit],
    /// For each token of the vocabulary, the units that can begin with it, one bit each.
    begins: Vec<u32>,
}

impl<'a> Finder<'a> {
    pub(super) fn new(units: &'a [Unit], vocabulary: &Vocabulary) -> Self {
        let mut begins = vec![0; vocabulary.len()];
        for (i, unit) in units.iter().enumerate() {
            for word in unit.places.first().into_iter().flatten() {
                begins[*word as usize] |= 1 << i;
            }
        }
        Self { units, begins }
    }

    /// Matches in the order of the text.
    pub(super) fn marks(&self, spots: &[Spot]) -> Vec<Mark> {
        let mut marks = Vec::new();
        for (at, spot) in spots.iter().enumerate() {
            let mut candidates = self.begins[spot.word as usize];
            while candidates != 0 {
                let unit = candidates.trailing_zeros() as usize;
                candidates &= candidates - 1;
                if let Some(range) = matched(&self.units[unit].places, &spots[at..]) {
                    marks.push(Mark { range, unit });
                }
            }
        }
        marks
    }

    /// Whether every unit is among the marks.
    pub(super) fn all_in(&self, marks: &[Mark]) -> bool {
        unit_bits(marks).count_ones() as usize == self.units.len()
    }
}

/// Bytes of the match that begins with the first spot.
fn matched(places: &[Vec<WordId>], spots: &[Spot]) -> Option<Range<usize>> {
    let spots = spots.get(..places.len())?;
    let fits = places.iter().zip(spots).all(|(words, spot)| words.binary_search(&spot.word).is_ok());
    let unbroken = spots.windows(2).all(|pair| !pair[0].han || pair[0].end == pair[1].start);
    (fits && unbroken).then(|| spots[0].range().start..spots[spots.len() - 1].range().end)
}

/// The units among the marks, one bit each.
pub(super) fn unit_bits<'m>(marks: impl IntoIterator<Item = &'m Mark>) -> u32 {
    marks.into_iter().fold(0, |bits, mark| bits | 1 << mark.unit)
}

/// Ranges in order, those that touch joined.
pub(super) fn highlights(marks: &[Mark]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::with_capacity(marks.len());
    for mark in marks {
        match ranges.last_mut() {
            Some(last) if mark.range.start <= last.end => last.end = last.end.max(mark.range.end),
            _ => ranges.push(mark.range.clone()),
        }
    }
    ranges
}

/// The snippet, and the section that it is from. `titled` says that the title matches the whole query: then the page
/// is about it, and its first line says what it is.
pub(super) fn cut(page: &Page, spots: &[Spot], marks: &[Mark], titled: bool) -> (Snippet, usize) {
    if titled {
        return (beginning(page, spots, marks), 0);
    }
    let Some(first) = best_window(page, marks) else { return (beginning(page, spots, marks), 0) };
    match page.block_at(marks[first].range.start) {
        Some(block) if block.line == Line::Name => (under_name(page, spots, marks, block), 0),
        Some(block) => (around(page, spots, marks, first, block), block.section),
        None => (beginning(page, spots, marks), 0),
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
            in_heading[block.section] |= 1 << mark.unit;
        }
        let gap = match i.checked_sub(1) {
            Some(before) if blocks[before].range == block.range => {
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
            blocks[i].range == blocks[first].range && columns[i] - columns[first] <= SPREAD_COLUMNS
        };
        end = end.max(first + 1);
        while end < marks.len() && together(end) {
            end += 1;
        }
        let units = unit_bits(&marks[first..end]);
        let from_heading = in_heading[blocks[first].section] & !units;
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
fn beginning(page: &Page, spots: &[Spot], marks: &[Mark]) -> Snippet {
    let mut snippet = Snippet::default();
    if let Some(block) = page.blocks.first() {
        append(&mut snippet, page, spots, &block.range, marks);
    }
    snippet
}

/// One of a term's other names, followed by the first line.
fn under_name(page: &Page, spots: &[Spot], marks: &[Mark], name: &Block) -> Snippet {
    let mut snippet = Snippet::default();
    append(&mut snippet, page, spots, &name.range, marks);
    if let Some(block) = page.blocks.first().filter(|_| snippet.text.width() < SNIPPET_COLUMNS / 2) {
        snippet.text.push_str(" · ");
        append(&mut snippet, page, spots, &block.range, marks);
    }
    snippet
}

/// Appends as much of a line as fits.
fn append(snippet: &mut Snippet, page: &Page, spots: &[Spot], line: &Range<usize>, marks: &[Mark]) {
    let room = (SNIPPET_COLUMNS - 1).saturating_sub(snippet.text.width());
    let (shown, whole) = fitting(&page.text, spots, line, room);
    let offset = snippet.text.len();
    snippet.highlights.extend(within(marks, &shown).map(|r| r.start + offset..r.end + offset));
    snippet.text.push_str(&page.text[shown]);
    if !whole {
        snippet.text.push('…');
    }
}

/// Highlights that lie wholly in a range, counted from its beginning.
fn within(marks: &[Mark], shown: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let (start, end) = (shown.start, shown.end);
    highlights(marks)
        .into_iter()
        .filter(move |r| r.start >= start && r.end <= end)
        .map(move |r| r.start - start..r.end - start)
}

/// The text around a mark: some columns of its own line before it, and what fits of its section after it.
fn around(page: &Page, spots: &[Spot], marks: &[Mark], first: usize, block: &Block) -> Snippet {
    let text = page.text.as_str();
    let at = marks[first].range.start;
    let lead = if block.line == Line::Heading { HEADING_LEAD_COLUMNS } else { LEAD_COLUMNS };
    let start = if text[block.range.start..at].width() <= lead {
        block.range.start
    } else {
        let before = spots.partition_point(|s| s.range().start < at);
        let near = |s: &&Spot| {
            s.range().start >= block.range.start && text[s.range().start..at].width() <= LEAD_COLUMNS
        };
        spots[..before].iter().rev().take_while(near).last().map_or(at, |s| s.range().start)
    };
    let limit = page
        .blocks
        .iter()
        .rev()
        .find(|b| b.section == block.section && b.line != Line::Name)
        .map_or(block.range.end, |b| b.range.end);
    let cut_before = start > block.range.start;
    let room = SNIPPET_COLUMNS - 1 - usize::from(cut_before);
    let (shown, whole) = fitting(text, spots, &(start..limit), room);
    let prefix = if cut_before { "…" } else { "" };
    let highlights = within(marks, &shown).map(|r| r.start + prefix.len()..r.end + prefix.len()).collect();
    let suffix = if whole { "" } else { "…" };
    Snippet { text: format!("{prefix}{}{suffix}", text[shown].replace('\n', " ")), highlights }
}

/// As much of a range of the text as fits, and whether that is all. A word that does not fit is left out, unless it
/// is the first.
fn fitting(text: &str, spots: &[Spot], range: &Range<usize>, columns: usize) -> (Range<usize>, bool) {
    let (mut used, mut end) = (0, range.end);
    for (at, grapheme) in text[range.clone()].grapheme_indices(true) {
        used += grapheme.width();
        if used > columns {
            end = range.start + at;
            break;
        }
    }
    let whole = end == range.end;
    let before = spots.partition_point(|s| s.range().start < end);
    if let Some(cut) =
        spots[..before].last().map(Spot::range).filter(|r| r.end > end && r.start > range.start)
    {
        end = cut.start;
    }
    (range.start..range.start + text[range.start..end].trim_end().len(), whole)
}
