//! A page as plain text, for a terminal.

use unicode_width::UnicodeWidthStr;

use super::document::{Block, NOTHING, Span, Table, Words};
use crate::visible::visible_line;

/// What a line of text is, for those who can show it differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// A heading.
    Heading,
    /// Names of a table's columns.
    TableHead,
    /// Anything else.
    Body,
}

/// The page as lines, each with what it is. Pictures are left out.
pub fn lines(blocks: &[Block]) -> Vec<(LineKind, String)> {
    let mut lines: Vec<(LineKind, String)> = Vec::new();
    for block in blocks {
        if matches!(block, Block::Picture(_)) {
            continue;
        }
        if !lines.is_empty() {
            lines.push((LineKind::Body, String::new()));
        }
        match block {
            Block::Heading(_, text) => lines.push((LineKind::Heading, visible_line(text))),
            Block::Paragraph(line) => lines.push((LineKind::Body, words(line))),
            Block::List(items) => {
                lines.extend(items.iter().map(|item| (LineKind::Body, format!("  · {}", words(item)))));
            }
            Block::Command(command) => lines.push((LineKind::Body, format!("  {}", visible_line(command)))),
            Block::Table(table) => lines.extend(rows(table)),
            Block::Picture(_) => {}
        }
    }
    // A heading stands directly over what it names.
    let mut after_heading = false;
    lines.retain(|(kind, text)| {
        let keep = !(after_heading && text.is_empty());
        after_heading = *kind == LineKind::Heading;
        keep
    });
    lines
}

/// The page as one text.
pub fn write(blocks: &[Block]) -> String {
    lines(blocks).into_iter().map(|(_, line)| line).collect::<Vec<_>>().join("\n")
}

fn words(line: &Words) -> String {
    line.0
        .iter()
        .map(|span| match span {
            Span::Plain(text) | Span::Strong(text) => visible_line(text),
            Span::Code(text) => format!("`{}`", visible_line(text)),
        })
        .collect()
}

fn rows(table: &Table) -> Vec<(LineKind, String)> {
    let clean = |row: &Vec<String>| row.iter().map(|c| visible_line(c)).collect::<Vec<_>>();
    let head = clean(&table.head);
    let rows: Vec<Vec<String>> = table.rows.iter().map(clean).collect();
    let widths: Vec<usize> = (0..head.len())
        .map(|i| rows.iter().chain([&head]).filter_map(|r| r.get(i)).map(|c| c.width()).max().unwrap_or(0))
        .collect();
    let line = |row: &[String]| {
        let cells = row.iter().zip(&widths).enumerate().map(|(i, (cell, width))| {
            let cell = if cell.is_empty() { NOTHING } else { cell };
            let padding = " ".repeat(width.saturating_sub(cell.width()));
            if table.numeric(i) { format!("{padding}{cell}") } else { format!("{cell}{padding}") }
        });
        format!("  {}", cells.collect::<Vec<_>>().join("  ")).trim_end().to_owned()
    };
    let names =
        line(&head.iter().map(|h| if h.is_empty() { " ".into() } else { h.clone() }).collect::<Vec<_>>());
    std::iter::once((LineKind::TableHead, names))
        .chain(rows.iter().map(|row| (LineKind::Body, line(row))))
        .collect()
}
