//! What a reader sees of a note, term or lab as plain lines: Markdown without its markup, wiki links as their shown
//! text, one line per paragraph, list item, table row or line of code.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::analyze;
use crate::library::{headings, wiki_links};

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
    pub(super) range: Range<usize>,
    /// 0 before the first heading, then the number of headings so far.
    pub(super) section: usize,
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
}

impl Page {
    /// Adds one line; white space is folded, and a line of nothing else is left out.
    pub(super) fn push(&mut self, line: Line, text: &str) {
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
        self.blocks.push(Block { line, range: start..self.text.len(), section: self.anchors.len() });
    }

    /// Adds a Markdown text.
    pub(super) fn markdown(&mut self, body: &str) {
        let mut anchors = headings(body).into_iter().map(|h| h.anchor);
        let links: Vec<_> = wiki_links(body).map(|l| (l.start..l.end, l.shown)).collect();
        let mut open = String::new();
        let mut in_code = false;
        for (event, range) in
            Parser::new_ext(body, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH).into_offset_iter()
        {
            match event {
                Event::Text(text) if in_code => open.push_str(&text),
                Event::Text(text) => match links.iter().find(|(link, _)| link.contains(&range.start)) {
                    // A link arrives in pieces; the first stands for all.
                    Some((link, shown)) if link.start == range.start => open.push_str(shown),
                    Some(_) => {}
                    None => open.push_str(&text),
                },
                Event::Code(text) => open.push_str(&text),
                Event::SoftBreak if between_han(&open, &body[range.end..]) => {}
                Event::SoftBreak | Event::HardBreak => open.push(' '),
                Event::End(TagEnd::TableCell) => open.push_str(" · "),
                Event::End(TagEnd::Heading(_)) => {
                    self.anchors.push(anchors.next().unwrap_or_default());
                    self.push(Line::Heading, &std::mem::take(&mut open));
                }
                Event::Start(Tag::CodeBlock(_)) => in_code = true,
                Event::End(TagEnd::CodeBlock) => {
                    in_code = false;
                    for line in std::mem::take(&mut open).lines() {
                        self.push(Line::Code, line);
                    }
                }
                Event::End(TagEnd::TableRow | TagEnd::TableHead) => {
                    let row = std::mem::take(&mut open);
                    self.push(Line::Text, row.trim_end_matches(" · "));
                }
                Event::Start(Tag::Paragraph | Tag::Item | Tag::List(_))
                | Event::End(TagEnd::Paragraph | TagEnd::Item) => {
                    self.push(Line::Text, &std::mem::take(&mut open));
                }
                _ => {}
            }
        }
    }

    /// The line that holds this byte.
    pub(super) fn block_at(&self, byte: usize) -> Option<&Block> {
        let after = self.blocks.partition_point(|b| b.range.start <= byte);
        self.blocks[..after].last()
    }
}

/// Chinese is written without spaces, so a line break between two characters is none.
fn between_han(before: &str, after: &str) -> bool {
    let wide =
        |c: Option<char>| c.is_some_and(|c| analyze::is_han(c) || "，。：；！？、（）“”《》".contains(c));
    wide(before.chars().next_back()) && wide(after.trim_start_matches(['>', ' ']).chars().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(body: &str) -> Page {
        let mut page = Page::default();
        page.markdown(body);
        page
    }

    #[test]
    fn markup_is_gone_and_lines_are_told_apart() {
        let page = page(
            "Intro [[kv-cache|KV 缓存]] and **bold** [site](http://x).\n\n## A `b` [[c]]\n\n- one\n  - two\n\n| x | [[gpu\\|GPU]] |\n|---|---|\n| 1 | 2 |\n\n```\nnvidia-smi [[not]]\n```\n\n> 显存\n> 带宽\n",
        );
        assert_eq!(
            page.text,
            "Intro KV 缓存 and bold site.\nA b c\none\ntwo\nx · GPU\n1 · 2\nnvidia-smi [[not]]\n显存带宽"
        );
        assert_eq!(page.anchors, ["a-b-c"]);
        assert_eq!(page.blocks.iter().map(|b| b.section).collect::<Vec<_>>(), [0, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(page.blocks[6].line, Line::Code);
        for block in &page.blocks {
            assert_eq!(page.block_at(block.range.end - 1).map(|b| &b.range), Some(&block.range));
        }
    }

    proptest::proptest! {
        #[test]
        fn any_markdown_becomes_lines(body in "([#*`|\\[\\]> a显\\n-]|\\[\\[a\\|b\\]\\]){0,60}") {
            let page = page(&body);
            for block in &page.blocks {
                let line = page.text.get(block.range.clone()).expect("on characters");
                proptest::prop_assert!(!line.is_empty() && !line.contains('\n'));
                proptest::prop_assert!(block.section <= page.anchors.len());
            }
        }
    }
}
