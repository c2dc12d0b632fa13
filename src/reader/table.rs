//! Tables: columns as wide as their content where there is room, wrapped cells where there is less, and one card per
//! row where the columns would not fit at all. Nothing is cut off.

use std::ops::Range;

use super::block::{Align, Table};
use super::chrome::{Border, Chrome};
use super::find::{Join, Piece};
use super::glyph::width;
use super::style::Style;
use super::text::{Span, Text};
use super::wrap::{measure, wrap};

/// A longer word does not widen its column; it is split.
const WORD_CAP: usize = 24;
/// A column is not squeezed below this when its content is wider.
const NARROWEST: usize = 6;

/// The rows of one table, and where their text is.
#[derive(Debug, Default)]
pub(super) struct TableRows {
    pub(super) rows: Vec<Vec<Span>>,
    pub(super) pieces: Vec<Piece>,
}

impl TableRows {
    pub(super) fn lay_out(table: &Table, room: usize, chrome: Chrome) -> Self {
        let mut rows = Self::default();
        match columns(table, room) {
            Some(widths) => rows.grid(table, &widths, chrome),
            None => rows.cards(table, room, chrome),
        }
        rows
    }

    fn grid(&mut self, table: &Table, widths: &[usize], chrome: Chrome) {
        let wrapped = |cells: &[Text]| -> Vec<Vec<Range<usize>>> {
            cells.iter().zip(widths).map(|(cell, width)| wrap(cell, *width)).collect()
        };
        let body: Vec<_> = table.rows.iter().map(|cells| wrapped(cells)).collect();
        // Rows of several lines need a line between them to be told apart.
        let separate = body.iter().flatten().any(|lines| lines.len() > 1);
        self.border(chrome.top(), widths);
        self.line(&table.head, &wrapped(&table.head), table, widths, Style::TABLE_HEAD, chrome);
        for (i, (cells, lines)) in table.rows.iter().zip(&body).enumerate() {
            if i == 0 || separate {
                self.border(chrome.middle(), widths);
            }
            self.line(cells, lines, table, widths, Style::PLAIN, chrome);
        }
        self.border(chrome.bottom(), widths);
    }

    fn border(&mut self, [left, line, cross, right]: Border, widths: &[usize]) {
        let parts: Vec<String> = widths.iter().map(|width| line.repeat(width + 2)).collect();
        self.rows.push(vec![Span::chrome(format!("{left}{}{right}", parts.join(cross)), Style::BORDER)]);
    }

    /// One row of the table, on as many rows of the screen as its tallest cell.
    fn line(
        &mut self,
        cells: &[Text],
        lines: &[Vec<Range<usize>>],
        table: &Table,
        widths: &[usize],
        style: Style,
        chrome: Chrome,
    ) {
        let first = self.rows.len();
        let height = lines.iter().map(Vec::len).max().unwrap_or(1);
        let bar = |text: String| Span::chrome(text, Style::BORDER);
        let mut rows: Vec<Vec<Span>> =
            (0..height).map(|_| vec![bar(format!("{} ", chrome.column()))]).collect();
        for (column, cell_width) in widths.iter().enumerate() {
            let mut end = None;
            for (i, row) in rows.iter_mut().enumerate() {
                let line = lines.get(column).and_then(|lines| lines.get(i)).cloned();
                let text = cells.get(column).zip(line.as_ref());
                let used = text.map_or(0, |(cell, line)| width(&cell.as_str()[line.clone()]));
                let free = cell_width.saturating_sub(used);
                let left = match table.align.get(column).copied().unwrap_or_default() {
                    Align::Left => 0,
                    Align::Center => free / 2,
                    Align::Right => free,
                };
                row.extend((left > 0).then(|| Span::chrome(" ".repeat(left), style)));
                let from = row.len();
                if let Some((cell, line)) = text {
                    row.extend(cell.spans(line.clone(), style));
                    let join = Join::between(end, line.start);
                    end = Some(line.end);
                    self.pieces.push(Piece { row: first + i, from, to: row.len(), join });
                }
                let last = if column + 1 == widths.len() { "" } else { " " };
                row.push(bar(format!("{}{}{last}", " ".repeat(free - left + 1), chrome.column())));
            }
        }
        self.rows.append(&mut rows);
    }

    /// Each row as a block of `header: value`.
    fn cards(&mut self, table: &Table, room: usize, chrome: Chrome) {
        if table.rows.is_empty() {
            for head in &table.head {
                self.card_line(head, Style::TABLE_HEAD, room);
            }
        }
        for (i, cells) in table.rows.iter().enumerate() {
            if i > 0 {
                self.rows.push(vec![Span::chrome(chrome.rule().repeat(room.min(16)), Style::RULE)]);
            }
            for column in 0..cells.len().max(table.head.len()) {
                let mut line = Text::default();
                if let Some(head) = table.head.get(column).filter(|head| !head.is_empty()) {
                    line.append(head, Style::TABLE_HEAD);
                    let wide = head.as_str().chars().next_back().is_some_and(|c| !c.is_ascii());
                    line.push(if wide { "：" } else { ": " }, Style::TABLE_HEAD, None);
                }
                if let Some(cell) = cells.get(column) {
                    line.append(cell, Style::PLAIN);
                }
                if !line.is_empty() {
                    self.card_line(&line.finish(), Style::PLAIN, room);
                }
            }
        }
    }

    fn card_line(&mut self, text: &Text, style: Style, room: usize) {
        let mut end = None;
        for line in wrap(text, room) {
            let join = Join::between(end, line.start);
            end = Some(line.end);
            let spans: Vec<Span> = text.spans(line, style).collect();
            self.pieces.push(Piece { row: self.rows.len(), from: 0, to: spans.len(), join });
            self.rows.push(spans);
        }
    }
}

/// The width of every column, or `None` when they do not fit.
fn columns(table: &Table, room: usize) -> Option<Vec<usize>> {
    let count = table.rows.iter().map(Vec::len).chain([table.head.len()]).max().unwrap_or(0);
    let room = room.checked_sub(3 * count + 1).filter(|room| count > 0 && *room >= count)?;
    let (mut least, mut natural) = (vec![1; count], vec![1; count]);
    for cells in table.rows.iter().chain([&table.head]) {
        for (column, cell) in cells.iter().enumerate() {
            let (word, line) = measure(cell);
            natural[column] = natural[column].max(line);
            least[column] = least[column].max(word.min(WORD_CAP)).max(line.min(NARROWEST));
        }
    }
    if natural.iter().sum::<usize>() <= room {
        return Some(natural);
    }
    let mut free = room.checked_sub(least.iter().sum())?;
    // Water level: every column gets what it wants up to one common width, the highest that fits.
    let needed = |level: usize| -> usize {
        least.iter().zip(&natural).map(|(least, natural)| (*natural).min(level).max(*least)).sum()
    };
    let (mut low, mut high) = (0, room + 1);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if needed(middle) <= room { low = middle } else { high = middle }
    }
    let mut widths: Vec<usize> =
        least.iter().zip(&natural).map(|(least, natural)| (*natural).min(low).max(*least)).collect();
    free = free.min(room - widths.iter().sum::<usize>());
    for (width, natural) in widths.iter_mut().zip(&natural) {
        if free > 0 && *width < *natural {
            *width += 1;
            free -= 1;
        }
    }
    Some(widths)
}
