//! Rows as text, for pipes and for terminals without the interface.

use super::layout::{Layout, Row};
use super::style::Style;

/// The rows as plain text, a line feed after each, no white space at their ends.
pub fn to_plain(layout: &Layout) -> String {
    let mut out = String::new();
    for row in &layout.rows {
        out.push_str(row.text().trim_end());
        out.push('\n');
    }
    out
}

/// The rows with bold and dim text and nothing else: no colours, so it suits every background.
pub fn to_ansi(layout: &Layout) -> String {
    let mut out = String::new();
    for row in &layout.rows {
        ansi_row(row, &mut out);
        out.push('\n');
    }
    out
}

fn ansi_row(row: &Row, out: &mut String) {
    let last = row.spans.iter().rposition(|span| !span.text.trim_end().is_empty());
    let used = &row.spans[..last.map_or(0, |last| last + 1)];
    for (i, span) in used.iter().enumerate() {
        let text = if i + 1 == used.len() { span.text.trim_end() } else { &span.text };
        match weight(span.style) {
            Some(code) if !text.trim().is_empty() => {
                out.push_str(code);
                out.push_str(text);
                out.push_str("\x1b[0m");
            }
            _ => out.push_str(text),
        }
    }
}

fn weight(style: Style) -> Option<&'static str> {
    let bold = [Style::STRONG, Style::TABLE_HEAD, Style::CORRECTION_LABEL].iter().any(|s| style.has(*s));
    if style.has(Style::DIM) || style.has(Style::BORDER) || style.has(Style::RULE) {
        Some("\x1b[2m")
    } else if bold || style.heading_level() > 0 {
        Some("\x1b[1m")
    } else {
        None
    }
}
