//! A page as Markdown.

use std::fmt::Write as _;

use super::document::{Block, Picture, Span, Table, Words};
use crate::visible::visible_line;

/// Where the pictures are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pictures<'a> {
    /// Nowhere: they are left out.
    LeftOut,
    /// In this folder beside the page.
    In(&'a str),
}

/// The page, without a line feed at its end.
pub fn write(blocks: &[Block], pictures: Pictures<'_>) -> String {
    let mut text = String::new();
    for block in blocks {
        match block {
            Block::Heading(level, words) => {
                let level = usize::from((*level).clamp(1, 6));
                // Writing to a string cannot fail, here and below.
                let _ = write!(text, "{} {}\n\n", "#".repeat(level), escaped(words));
            }
            Block::Paragraph(line) => {
                let _ = write!(text, "{}\n\n", words(line));
            }
            Block::List(items) => {
                for item in items {
                    let _ = writeln!(text, "- {}", words(item));
                }
                text.push('\n');
            }
            Block::Table(table) => write_table(&mut text, table),
            Block::Command(command) => {
                let command = visible_line(command);
                let fence = "`".repeat(longest_run(&command).max(2) + 1);
                let _ = write!(text, "{fence}sh\n{command}\n{fence}\n\n");
            }
            Block::Picture(picture) => write_picture(&mut text, picture, pictures),
        }
    }
    text.truncate(text.trim_end().len());
    text
}

fn write_table(text: &mut String, table: &Table) {
    let row =
        |cells: &mut dyn Iterator<Item = String>| format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
    text.push_str(&row(&mut table.head.iter().map(|c| escaped(c))));
    let rule = (0..table.head.len()).map(|i| if table.numeric(i) { "---:" } else { "---" });
    let _ = writeln!(text, "|{}|", rule.collect::<Vec<_>>().join("|"));
    for cells in &table.rows {
        text.push_str(&row(&mut cells.iter().map(|c| escaped(c))));
    }
    text.push('\n');
}

fn write_picture(text: &mut String, picture: &Picture, pictures: Pictures<'_>) {
    if let Pictures::In(folder) = pictures {
        // Angle brackets let a folder's name hold spaces; what could end them does not pass.
        let folder: String = folder.chars().filter(|c| !matches!(c, '<' | '>' | '\n' | '\r')).collect();
        let _ = write!(text, "![{}](<{folder}/{}.svg>)\n\n", escaped(&picture.caption), picture.name);
    }
}

fn words(line: &Words) -> String {
    line.0
        .iter()
        .map(|span| match span {
            Span::Plain(text) => escaped(text),
            Span::Strong(text) => format!("**{}**", escaped(text)),
            Span::Code(text) => code(text),
        })
        .collect()
}

fn code(text: &str) -> String {
    let text = visible_line(text);
    let fence = "`".repeat(longest_run(&text) + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// Length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Plain text that no Markdown reader takes for markup or HTML.
fn escaped(text: &str) -> String {
    let text = visible_line(text);
    let mut out = String::with_capacity(text.len() + 8);
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        // An underscore inside a name stays readable: it is no emphasis there.
        let inside = before.is_alphanumeric() && chars.peek().is_some_and(|next| next.is_alphanumeric());
        let special = matches!(c, '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '&' | '|' | '~' | '$')
            || (c == '_' && !inside)
            || (out.is_empty() && c == '#')
            || (out.is_empty() && matches!(c, '+' | '-') && chars.peek().is_none_or(|next| *next == ' '));
        if special {
            out.push('\\');
        }
        out.push(c);
        before = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_string_is_markup() {
        let table = Table { head: vec!["a|b".into()], rows: vec![vec!["<script>*x*\n| y".into()]] };
        let page = [
            Block::Heading(1, "naive_growth _x_ [a](b)".into()),
            Block::Table(table),
            Block::paragraph(Words::new().code("a`b").plain(" & ").strong("<b>")),
            Block::Command("x\n```\nrm".into()),
        ];
        let text = write(&page, Pictures::LeftOut);
        assert_eq!(
            text,
            "# naive_growth \\_x\\_ \\[a\\](b)\n\n| a\\|b |\n|---|\n| \\<script\\>\\*x\\* \\| y |\n\n``a`b`` \\& **\\<b\\>**\n\n````sh\nx ``` rm\n````"
        );
    }

    #[test]
    fn numbers_are_set_to_the_right_and_pictures_can_be_left_out() {
        let mut table = Table::new(["name", "n"]);
        table.row(["a", "12.5"]);
        table.row(["b", "–"]);
        let picture = Picture { name: "p".into(), caption: "the picture".into(), svg: "<svg/>".into() };
        let page = [Block::Table(table), Block::Picture(picture)];
        assert!(write(&page, Pictures::LeftOut).ends_with("|---|---:|\n| a | 12.5 |\n| b | – |"));
        assert!(write(&page, Pictures::In("my pages")).contains("![the picture](<my pages/p.svg>)"));
    }
}
