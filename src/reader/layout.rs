//! Blocks into rows.

use std::ops::Range;

use super::block::{Document, Kind};
use super::chrome::Chrome;
use super::find::{Join, Piece};
use super::prefix::Prefix;
use super::style::Style;
use super::table::TableRows;
use super::text::{LinkId, LinkTarget, Span, Text};
use super::wrap::{cut, wrap};

/// One row of the screen or of a printed note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// From left to right.
    pub spans: Vec<Span>,
    /// The block that it belongs to, counted from 0. An empty row belongs to the block above it.
    pub block: usize,
}

impl Row {
    /// The words of the row without its style.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }
}

/// A heading and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadingRow {
    /// Row of its first line.
    pub row: usize,
    /// 1 to 6.
    pub level: u8,
    /// Plain words.
    pub text: String,
    /// Anchor, as `library::headings` gives it.
    pub anchor: String,
}

/// A link; [`Span::link`] is its index in [`Layout::links`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Where it leads.
    pub target: LinkTarget,
    /// The first row that shows it.
    pub first_row: usize,
}

/// A reading position that survives another width: a block and how far into it, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Place {
    /// The block.
    pub block: usize,
    /// Share of the block's rows that lie above.
    pub share: f32,
}

/// A document laid out at one width.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    /// Cells of a row. A row is wider only where a single glyph is.
    pub width: u16,
    /// Top to bottom.
    pub rows: Vec<Row>,
    /// Headings in order.
    pub headings: Vec<HeadingRow>,
    /// Links in the order of the source.
    pub links: Vec<Link>,
    pub(super) pieces: Vec<Piece>,
    block_rows: Vec<usize>,
    footnotes: Vec<(String, usize)>,
}

impl Document {
    /// The rows at this width (0 counts as 1), drawn with box drawing.
    pub fn layout(&self, width: u16) -> Layout {
        self.layout_with(width, Chrome::Unicode)
    }

    /// The rows at this width (0 counts as 1).
    pub fn layout_with(&self, width: u16, chrome: Chrome) -> Layout {
        let mut composer = Composer {
            document: self,
            chrome,
            total: usize::from(width.max(1)),
            prefix: Prefix::default(),
            prefix_used: false,
            block: 0,
            layout: Layout { width: width.max(1), ..Layout::default() },
            linked: vec![false; self.links.len()],
        };
        composer.layout.links =
            self.links.iter().map(|target| Link { target: target.clone(), first_row: 0 }).collect();
        for leaf in 0..self.leaves.len() {
            composer.leaf(leaf);
        }
        composer.layout
    }
}

impl Layout {
    /// Row of the heading with this anchor.
    pub fn row_of_anchor(&self, anchor: &str) -> Option<usize> {
        self.headings.iter().find(|heading| heading.anchor == anchor).map(|heading| heading.row)
    }

    /// Row where a link leads, when it leads into the same document.
    pub fn row_of_target(&self, target: &LinkTarget) -> Option<usize> {
        match target {
            LinkTarget::Anchor(anchor) => self.row_of_anchor(anchor),
            LinkTarget::Footnote(label) => {
                self.footnotes.iter().find(|(l, _)| l == label).map(|(_, row)| *row)
            }
            LinkTarget::Wiki(_) | LinkTarget::Url(_) => None,
        }
    }

    /// First row of a block; of the last block where there are fewer.
    pub fn row_of_block(&self, block: usize) -> usize {
        self.block_rows.get(block).or(self.block_rows.last()).copied().unwrap_or(0)
    }

    /// Block at a row; the last one below the end.
    pub fn block_at(&self, row: usize) -> usize {
        self.rows.get(row).or(self.rows.last()).map_or(0, |row| row.block)
    }

    /// The place of a row, to be found again with [`Layout::row_of`] after a change of width.
    pub fn place_of(&self, row: usize) -> Place {
        let block = self.block_at(row);
        let rows = self.rows_of(block);
        let above = row.saturating_sub(rows.start);
        Place { block, share: (above as f32 / rows.len().max(1) as f32).min(1.0) }
    }

    /// The row nearest to a place.
    pub fn row_of(&self, place: Place) -> usize {
        let rows = self.rows_of(place.block);
        let above = (place.share.clamp(0.0, 1.0) * rows.len() as f32).round() as usize;
        rows.start + above.min(rows.len().saturating_sub(1))
    }

    /// The heading at or above a row, as an index into [`Layout::headings`].
    pub fn heading_at(&self, row: usize) -> Option<usize> {
        self.headings.partition_point(|heading| heading.row <= row).checked_sub(1)
    }

    fn rows_of(&self, block: usize) -> Range<usize> {
        let start = self.row_of_block(block);
        let end = self.block_rows.get(block + 1).copied().unwrap_or(self.rows.len());
        start..end.max(start)
    }
}

struct Composer<'a> {
    document: &'a Document,
    chrome: Chrome,
    total: usize,
    prefix: Prefix,
    /// Whether the marker of the current leaf has been drawn.
    prefix_used: bool,
    block: usize,
    layout: Layout,
    linked: Vec<bool>,
}

impl Composer<'_> {
    fn leaf(&mut self, index: usize) {
        let document = self.document;
        let leaf = &document.leaves[index];
        if leaf.gap && index > 0 {
            let spans = Prefix::between(document, &self.prefix, index - 1, index);
            self.layout.rows.push(Row { spans, block: index - 1 });
        }
        self.block = index;
        self.layout.block_rows.push(self.layout.rows.len());
        self.prefix = Prefix::of(document, index, self.total, self.chrome);
        self.prefix_used = false;
        self.note_footnote(index);
        for marker in std::mem::take(&mut self.prefix.homeless) {
            self.text(&Text::new(&marker, Style::CHROME), Style::PLAIN);
        }
        match &leaf.kind {
            Kind::Paragraph(text) => self.text(text, Style::PLAIN),
            Kind::Heading { level, text, title, anchor } => {
                self.layout.headings.push(HeadingRow {
                    row: self.layout.rows.len(),
                    level: *level,
                    text: title.clone(),
                    anchor: anchor.clone(),
                });
                self.heading(*level, text);
            }
            Kind::Code { label, code } => self.code(label, code),
            Kind::Table(table) => {
                let rows = TableRows::lay_out(table, self.room(), self.chrome);
                self.table(rows);
            }
            Kind::Rule => {
                let rule = self.chrome.rule().repeat(self.room());
                self.row(vec![Span::chrome(rule, Style::RULE)]);
            }
        }
    }

    fn note_footnote(&mut self, index: usize) {
        let row = self.layout.rows.len();
        for id in self.document.around(index) {
            let container = &self.document.containers[id];
            if let super::block::ContainerKind::Footnote { label } = &container.kind
                && container.first_leaf == index
            {
                self.layout.footnotes.push((label.clone(), row));
            }
        }
    }

    /// Cells right of the prefix.
    fn room(&self) -> usize {
        self.total.saturating_sub(self.prefix.width).max(1)
    }

    fn text(&mut self, text: &Text, style: Style) {
        let style = style | self.prefix.style;
        let mut end = None;
        for line in wrap(text, self.room()) {
            let join = Join::between(end, line.start);
            end = Some(line.end);
            self.row_of_text(text.spans(line, style).collect(), join);
        }
    }

    fn heading(&mut self, level: u8, text: &Text) {
        let style = Style::heading(level);
        let mark = format!("{} ", "#".repeat(usize::from(level)));
        // On the narrowest rows the words come first.
        if self.room() >= mark.len() + 12 {
            self.prefix.width += mark.len();
            self.prefix.rest.push(Span::chrome(" ".repeat(mark.len()), style));
            let marked = Span::chrome(mark, style);
            if self.prefix_used {
                // A homeless marker took the first row.
                self.prefix.first.clone_from(&self.prefix.rest);
                self.prefix.first.pop();
                self.prefix_used = false;
            }
            self.prefix.first.push(marked);
        }
        self.text(text, style);
    }

    fn code(&mut self, label: &str, code: &str) {
        let indent = if self.room() >= 12 { "  " } else { "" };
        let style = Style::CODE_BLOCK | self.prefix.style;
        if !label.is_empty() {
            self.text(&Text::new(label, Style::DIM), Style::CODE_BLOCK);
        }
        let room = self.room() - indent.len();
        for line in code.split('\n') {
            for (i, part) in cut(line, room).into_iter().enumerate() {
                let indent = Span { text: indent.to_owned(), style: style | Style::CHROME, link: None };
                let words = Span { text: line[part].to_owned(), style, link: None };
                let from = self.prefix_len() + 1;
                let join = if i == 0 { Join::Start } else { Join::Direct };
                self.row(vec![indent, words]);
                self.piece(from, from + 1, join);
            }
        }
    }

    fn table(&mut self, rows: TableRows) {
        let first_row = self.layout.rows.len();
        let mut prefix_lens = Vec::with_capacity(rows.rows.len());
        for mut spans in rows.rows {
            for span in &mut spans {
                span.style |= self.prefix.style;
            }
            prefix_lens.push(self.prefix_len());
            self.row(spans);
        }
        self.layout.pieces.extend(rows.pieces.into_iter().map(|piece| {
            let shift = prefix_lens[piece.row];
            Piece {
                row: first_row + piece.row,
                from: piece.from + shift,
                to: piece.to + shift,
                join: piece.join,
            }
        }));
    }

    fn row_of_text(&mut self, spans: Vec<Span>, join: Join) {
        let from = self.prefix_len();
        let to = from + spans.len();
        self.row(spans);
        self.piece(from, to, join);
    }

    /// Marks spans of the last row as text to be searched.
    fn piece(&mut self, from: usize, to: usize, join: Join) {
        self.layout.pieces.push(Piece { row: self.layout.rows.len() - 1, from, to, join });
    }

    fn prefix_len(&self) -> usize {
        if self.prefix_used { self.prefix.rest.len() } else { self.prefix.first.len() }
    }

    fn row(&mut self, content: Vec<Span>) {
        let row = self.layout.rows.len();
        for LinkId(link) in content.iter().filter_map(|span| span.link) {
            let link = link as usize;
            if !std::mem::replace(&mut self.linked[link], true) {
                self.layout.links[link].first_row = row;
            }
        }
        let mut spans =
            if self.prefix_used { self.prefix.rest.clone() } else { std::mem::take(&mut self.prefix.first) };
        self.prefix_used = true;
        if spans.is_empty() {
            spans = content;
        } else {
            spans.extend(content);
        }
        debug_assert!(spans.iter().all(|span| !span.text.contains(char::is_control)));
        self.layout.rows.push(Row { spans, block: self.block });
    }
}
