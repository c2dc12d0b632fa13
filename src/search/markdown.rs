//! Markdown to the lines of a page: no markup, wiki links as their shown text.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::analyze;
use super::page::{Line, Page};
use crate::library::{Anchors, wiki_links};

impl Page {
    /// Adds a Markdown text. In the reader's document, `after` blocks stand between it and its footnotes.
    pub(super) fn markdown(&mut self, body: &str, after: u32) {
        let links: Vec<_> = if body.contains("[[") {
            wiki_links(body).map(|l| (l.start..l.end, l.shown)).collect()
        } else {
            Vec::new()
        };
        self.text.reserve(body.len());
        let first_line = self.blocks.len();
        let mut walk = Walk {
            page: self,
            body,
            links,
            next_link: 0,
            open: String::new(),
            collecting: Collecting::Nothing,
            in_code: false,
            comment: false,
            containers: Vec::new(),
            anchors: Anchors::default(),
            heading: None,
            footnote_depth: 0,
            footnotes: Vec::new(),
            footnote_blocks: 0,
        };
        let options = Options::ENABLE_TABLES
            | Options::ENABLE_TASKLISTS
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_FOOTNOTES;
        for (event, range) in Parser::new_ext(body, options).into_offset_iter() {
            walk.event(event, &range);
        }
        walk.end_tight();
        let footnotes = std::mem::take(&mut walk.footnotes);
        // A rule stands before the footnotes.
        let first_footnote = self.shown + after + 1;
        for line in footnotes {
            if let Some(block) = self.blocks.get_mut(first_line + line) {
                block.shown_in += first_footnote;
            }
        }
        self.text.shrink_to_fit();
        self.blocks.shrink_to_fit();
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Collecting {
    Nothing,
    Block,
    /// The text of a tight list item has no paragraph around it.
    Tight,
}

/// A walk over Markdown that counts blocks as [`crate::reader::Document::parse`] does.
struct Walk<'a> {
    page: &'a mut Page,
    body: &'a str,
    links: Vec<(Range<usize>, &'a str)>,
    next_link: usize,
    open: String,
    collecting: Collecting,
    in_code: bool,
    comment: bool,
    /// Open quotes, items and footnotes: whether each is a footnote, and whether it holds a block.
    containers: Vec<(bool, bool)>,
    anchors: Anchors,
    /// The text of the open heading with links as they are written, as anchors are made of it.
    heading: Option<String>,
    footnote_depth: usize,
    /// Lines of footnotes, whose blocks come last.
    footnotes: Vec<usize>,
    footnote_blocks: u32,
}

impl Walk<'_> {
    fn event(&mut self, event: Event<'_>, range: &Range<usize>) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.in_code => self.open.push_str(&text),
            Event::Text(text) => {
                self.begin_inline();
                self.heading.iter_mut().for_each(|heading| heading.push_str(&text));
                while self.links.get(self.next_link).is_some_and(|(link, _)| link.end <= range.start) {
                    self.next_link += 1;
                }
                match self.links.get(self.next_link).filter(|(link, _)| link.contains(&range.start)) {
                    // A link arrives in pieces; the first stands for all.
                    Some((link, shown)) if link.start == range.start => self.open.push_str(shown),
                    Some(_) => {}
                    None => self.open.push_str(&text),
                }
            }
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.begin_inline();
                self.heading.iter_mut().for_each(|heading| heading.push_str(&text));
                self.open.push_str(&text);
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                self.begin_inline();
                without_tags(&html, &mut self.comment, &mut self.open);
            }
            Event::FootnoteReference(_) => self.begin_inline(),
            Event::SoftBreak if between_han(&self.open, &self.body[range.end..]) => {}
            Event::SoftBreak | Event::HardBreak => self.open.push(' '),
            Event::Rule => {
                self.end_tight();
                self.end_block();
            }
            Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. } => {
                return self.begin_inline();
            }
            _ => self.end_tight(),
        }
        if matches!(tag, Tag::Heading { .. }) {
            self.heading = Some(String::new());
        }
        match tag {
            Tag::Paragraph | Tag::HtmlBlock | Tag::Heading { .. } | Tag::TableCell => {
                self.collecting = Collecting::Block;
            }
            Tag::BlockQuote(_) | Tag::Item => self.containers.push((false, false)),
            Tag::FootnoteDefinition(_) => {
                self.footnote_depth += 1;
                self.containers.push((true, false));
            }
            Tag::CodeBlock(_) => self.in_code = true,
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => {
                self.line(Line::Text);
                self.end_block();
            }
            TagEnd::HtmlBlock => {
                self.comment = false;
                let shown = !self.open.trim().is_empty();
                self.line(Line::Text);
                if shown {
                    self.end_block();
                }
            }
            TagEnd::Heading(_) => {
                let anchor = self.anchors.add(&self.heading.take().unwrap_or_default());
                self.page.anchors.push(anchor);
                self.line(Line::Heading);
                self.end_block();
            }
            TagEnd::BlockQuote(_) => {
                self.end_tight();
                self.containers.pop();
            }
            TagEnd::FootnoteDefinition => {
                self.end_tight();
                self.containers.pop();
                self.footnote_depth = self.footnote_depth.saturating_sub(1);
            }
            TagEnd::Item => {
                self.end_tight();
                // An empty item is shown by its number.
                if self.containers.last().is_some_and(|(_, holds)| !holds) {
                    self.end_block();
                }
                self.containers.pop();
            }
            TagEnd::List(_) => self.end_tight(),
            TagEnd::CodeBlock => {
                self.in_code = false;
                let code = std::mem::take(&mut self.open);
                code.lines().for_each(|line| self.line_of(Line::Code, line));
                self.end_block();
            }
            TagEnd::TableCell => {
                self.collecting = Collecting::Nothing;
                self.open.push_str(" · ");
            }
            TagEnd::TableRow | TagEnd::TableHead => {
                let row = std::mem::take(&mut self.open);
                self.line_of(Line::Text, row.trim_end_matches(" · "));
            }
            TagEnd::Table => self.end_block(),
            _ => {}
        }
    }

    fn begin_inline(&mut self) {
        if self.collecting == Collecting::Nothing {
            self.collecting = Collecting::Tight;
        }
    }

    fn end_tight(&mut self) {
        if self.collecting == Collecting::Tight {
            self.line(Line::Text);
            self.end_block();
        }
    }

    /// Ends the line that is being collected.
    fn line(&mut self, line: Line) {
        self.collecting = Collecting::Nothing;
        let text = std::mem::take(&mut self.open);
        self.line_of(line, &text);
        self.open = text;
        self.open.clear();
    }

    fn line_of(&mut self, line: Line, text: &str) {
        let before = self.page.blocks.len();
        if self.footnote_depth > 0 {
            self.page.push_in(line, text, self.footnote_blocks);
            self.footnotes.extend((self.page.blocks.len() > before).then_some(before));
        } else {
            self.page.push_in(line, text, self.page.shown);
        }
    }

    /// Ends a block, which may have had any number of lines.
    fn end_block(&mut self) {
        if self.footnote_depth > 0 {
            self.footnote_blocks += 1;
        } else {
            self.page.shown += 1;
        }
        for (footnote, holds) in self.containers.iter_mut().rev() {
            *holds = true;
            if *footnote {
                break;
            }
        }
    }
}

/// Adds HTML without its tags and comments.
fn without_tags(html: &str, comment: &mut bool, out: &mut String) {
    let mut rest = html;
    loop {
        if *comment {
            let Some((_, after)) = rest.split_once("-->") else { return };
            rest = after;
            *comment = false;
        }
        let Some((before, tag)) = rest.split_once('<') else { break };
        out.push_str(before);
        if tag.starts_with("!--") {
            *comment = true;
            rest = tag;
        } else if let Some((_, after)) = tag.split_once('>') {
            out.push(' ');
            rest = after;
        } else {
            out.push('<');
            rest = tag;
        }
    }
    out.push_str(rest);
}

/// Chinese is written without spaces, so a line break between two characters is none.
fn between_han(before: &str, after: &str) -> bool {
    let wide =
        |c: Option<char>| c.is_some_and(|c| analyze::is_han(c) || "，。：；！？、（）“”《》".contains(c));
    wide(before.chars().next_back()) && wide(after.trim_start_matches(['>', ' ']).chars().next())
}

#[cfg(test)]
mod tests {
    use super::super::page::Block;
    use super::*;
    use crate::library::{Library, Source};
    use crate::reader::Document;

    fn page(body: &str) -> Page {
        let mut page = Page::default();
        page.markdown(body, 0);
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
        assert_eq!(page.blocks.iter().map(Block::section).collect::<Vec<_>>(), [0, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(page.blocks[6].line, Line::Code);
        for block in &page.blocks {
            assert_eq!(page.block_at(block.range().end - 1).map(Block::range), Some(block.range()));
        }
    }

    /// Each line stands in the block of the reader's document that it names.
    fn blocks_agree(body: &str) -> Result<(), String> {
        let (page, document) = (page(body), Document::parse(body));
        let layout = document.layout(u16::MAX);
        for block in &page.blocks {
            let at = block.shown_in().expect("Markdown is shown");
            let words: Vec<String> =
                analyze::tokens(&page.text[block.range()]).into_iter().map(|t| t.text).collect();
            let rows = layout.rows.iter().filter(|row| row.block == at);
            let shown: Vec<String> =
                rows.flat_map(|row| analyze::tokens(&row.text())).map(|t| t.text).collect();
            if let Some(word) = words.iter().find(|word| !shown.contains(word)) {
                return Err(format!("`{word}` of block {at} is not in {shown:?}\n{body}"));
            }
        }
        Ok(())
    }

    #[test]
    fn lines_name_the_block_that_shows_them() {
        let odd = "a\n\n---\n\n- one\n- \n\n  two\n- [x] three\n  > four\n\n1. five\n   ```\n   six\n   seven\n   ```\n2.\n3. eight\n\nnine[^1]\n\n[^1]: ten\n\n    eleven\n\n| a | b |\n|---|---|\n| twelve | 13 |\n\n<!-- hidden -->\n\n<details>\n\nfourteen\n\n</details>\n\nTitle\n===\nfifteen\n";
        assert_eq!(blocks_agree(odd), Ok(()));
        let library = Library::load(&Source::Embedded);
        let notes = library.notes.iter().flat_map(|n| [&n.text.en.body, &n.text.zh.body]);
        let labs = infralab_labs::LABS.iter().flat_map(|l| [l.guide_en, l.guide_zh]);
        for body in notes.map(String::as_str).chain(labs) {
            assert_eq!(blocks_agree(body), Ok(()));
        }
    }

    proptest::proptest! {
        #[test]
        fn any_markdown_becomes_lines(body in "([#*`|\\[\\]> a显\\n-]|\\[\\[a\\|b\\]\\]){0,60}") {
            let page = page(&body);
            for block in &page.blocks {
                let line = page.text.get(block.range()).expect("on characters");
                proptest::prop_assert!(!line.is_empty() && !line.contains('\n'));
                proptest::prop_assert!(block.section() <= page.anchors.len());
            }
        }
    }
}
