//! Markdown into blocks.

use std::ops::Range;

use pulldown_cmark::{Alignment, CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::block::{Align, Document, Kind, Table};
use super::glyph::glyphs;
use super::inline::Inline;
use super::text::Text;
use super::tree::Tree;
use crate::library::Anchors;
use crate::visible::{visible, visible_line};

/// Columns between tab stops in code.
const TAB: usize = 4;

impl Document {
    /// Parses CommonMark with tables, task lists, strikethrough, footnotes and wiki links. Control characters are made
    /// visible. No input fails; footnotes come last.
    pub fn parse(markdown: &str) -> Self {
        let source = visible(markdown);
        let mut builder = Builder::new(&source);
        let options = Options::ENABLE_TABLES
            | Options::ENABLE_TASKLISTS
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_FOOTNOTES;
        for (event, range) in Parser::new_ext(&source, options).into_offset_iter() {
            builder.event(event, range);
        }
        builder.finish()
    }
}

struct Builder<'a> {
    source: &'a str,
    inline: Inline<'a>,
    /// Whether inline content is being collected, and whether it stands in a tight list item without a paragraph.
    text: Collecting,
    tree: Tree,
    code: Option<(String, String)>,
    table: Option<(Table, Vec<Text>, usize)>,
    anchors: Anchors,
    /// The text of the open heading, as anchors are made of it.
    heading: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Collecting {
    Nothing,
    Block,
    Tight,
}

impl<'a> Builder<'a> {
    fn new(source: &'a str) -> Self {
        Self {
            source,
            inline: Inline::new(source),
            text: Collecting::Nothing,
            tree: Tree::default(),
            code: None,
            table: None,
            anchors: Anchors::default(),
            heading: None,
        }
    }

    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, &range),
            Event::End(tag) => self.end(tag, &range),
            Event::Text(text) => {
                if let Some((_, code)) = &mut self.code {
                    code.push_str(&text);
                    return;
                }
                self.begin_inline();
                self.heading.iter_mut().for_each(|heading| heading.push_str(&text));
                self.inline.words(&text, range);
            }
            Event::Code(code) => {
                self.begin_inline();
                self.heading.iter_mut().for_each(|heading| heading.push_str(&code));
                self.inline.code(&code, &range);
            }
            Event::Html(html) => {
                self.begin_inline();
                self.inline.html(&html, range, true);
            }
            Event::InlineHtml(html) => {
                self.begin_inline();
                self.inline.html(&html, range, false);
            }
            Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.begin_inline();
                self.inline.words(&text, range);
            }
            Event::FootnoteReference(label) => {
                self.begin_inline();
                self.inline.footnote(&label);
            }
            Event::SoftBreak => self.inline.soft_break(),
            Event::HardBreak => self.inline.hard_break(),
            Event::Rule => {
                self.end_tight();
                self.tree.leaf(Kind::Rule, false);
            }
            Event::TaskListMarker(done) => self.tree.mark_task(done),
        }
    }

    /// Inline content without a paragraph around it is the text of a tight list item.
    fn begin_inline(&mut self) {
        if self.text == Collecting::Nothing {
            self.text = Collecting::Tight;
        }
    }

    fn end_tight(&mut self) {
        if self.text == Collecting::Tight {
            let text = self.take_text();
            self.tree.leaf(Kind::Paragraph(text), true);
        }
    }

    fn take_text(&mut self) -> Text {
        self.text = Collecting::Nothing;
        self.inline.take()
    }

    fn start(&mut self, tag: Tag<'_>, range: &Range<usize>) {
        match tag {
            Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. } => {
                self.begin_inline();
                if !self.inline.is_shown(range) {
                    self.start_inline(&tag);
                }
                return;
            }
            _ => self.end_tight(),
        }
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => {
                self.text = Collecting::Block;
                self.inline.expect(range.len());
            }
            Tag::Heading { .. } => {
                self.text = Collecting::Block;
                self.inline.expect(range.len());
                self.heading = Some(String::with_capacity(range.len()));
            }
            Tag::BlockQuote(_) => self.tree.start_quote(),
            Tag::FootnoteDefinition(label) => self.tree.start_footnote(visible_line(&label)),
            Tag::List(first) => self.tree.start_list(first),
            Tag::Item => self.tree.start_item(),
            Tag::CodeBlock(kind) => {
                let label = match kind {
                    CodeBlockKind::Fenced(info) => visible_line(info.trim()),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((label, String::new()));
            }
            Tag::Table(align) => {
                let align = align.into_iter().map(Align::from).collect();
                self.table = Some((Table { align, ..Table::default() }, Vec::new(), range.start));
            }
            Tag::TableCell => {
                self.text = Collecting::Block;
                // A wiki link with a bare bar: the parser saw two cells, the author meant one.
                if self.inline.reaches_over(range.start)
                    && let Some(text) = self.table.as_mut().and_then(|(_, cells, _)| cells.pop())
                {
                    self.inline.resume(text);
                }
            }
            _ => {}
        }
    }

    fn start_inline(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Emphasis => self.inline.depths().emphasis += 1,
            Tag::Strong => self.inline.depths().strong += 1,
            Tag::Strikethrough => self.inline.depths().strike += 1,
            Tag::Link { dest_url, .. } => self.inline.start_link(dest_url, false),
            Tag::Image { dest_url, .. } => self.inline.start_link(dest_url, true),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd, range: &Range<usize>) {
        match tag {
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image => {
                self.end_inline(tag, range);
            }
            TagEnd::Paragraph => {
                let text = self.take_text();
                self.tree.leaf(Kind::Paragraph(text), false);
            }
            TagEnd::HtmlBlock => {
                self.inline.end_html(range.end);
                let text = self.take_text();
                if !text.is_empty() {
                    self.tree.leaf(Kind::Paragraph(text), false);
                }
            }
            TagEnd::Heading(level) => {
                let text = self.take_text();
                let anchor = self.anchors.add(&self.heading.take().unwrap_or_default());
                let title = text.title();
                self.tree.leaf(Kind::Heading { level: level as u8, text, title, anchor }, false);
            }
            TagEnd::BlockQuote(_) => {
                self.end_tight();
                self.tree.leave();
            }
            TagEnd::FootnoteDefinition => {
                self.end_tight();
                self.tree.end_footnote();
            }
            TagEnd::Item => {
                self.end_tight();
                self.tree.end_item();
            }
            TagEnd::List(_) => self.tree.end_list(),
            TagEnd::CodeBlock => {
                if let Some((label, code)) = self.code.take() {
                    let code = visible(code.strip_suffix('\n').unwrap_or(&code)).into_owned();
                    self.tree.leaf(Kind::Code { label, code: expand_tabs(code) }, false);
                }
            }
            TagEnd::TableCell => {
                let text = self.take_text();
                if let Some((_, cells, end)) = &mut self.table {
                    cells.push(text);
                    *end = range.end;
                }
            }
            TagEnd::TableHead => {
                if let Some((table, cells, _)) = &mut self.table {
                    table.head = std::mem::take(cells);
                }
            }
            TagEnd::TableRow => self.end_row(range.end),
            TagEnd::Table => {
                if let Some((table, ..)) = self.table.take() {
                    self.tree.leaf(Kind::Table(table), false);
                }
            }
            _ => {}
        }
    }

    fn end_inline(&mut self, tag: TagEnd, range: &Range<usize>) {
        if self.inline.is_shown(range) {
            return;
        }
        let depths = self.inline.depths();
        let depth = match tag {
            TagEnd::Emphasis => &mut depths.emphasis,
            TagEnd::Strong => &mut depths.strong,
            TagEnd::Strikethrough => &mut depths.strike,
            _ => return self.inline.end_link(),
        };
        *depth = depth.saturating_sub(1);
    }

    /// The parser drops cells beyond the header's; a reader wants them.
    fn end_row(&mut self, end: usize) {
        let Some((table, cells, cells_end)) = &mut self.table else { return };
        let mut start = *cells_end;
        if self.inline.reaches_over(start) {
            // A wiki link began in the last cell that was kept, and what follows it belongs to that cell.
            self.inline.resume(cells.pop().unwrap_or_default());
            start = self.inline.shown_end();
        } else if let Some(bar) = self.source.get(start..end).and_then(|rest| rest.find('|')) {
            start += bar + 1;
        } else {
            start = end;
        }
        while start < end {
            let rest = &self.source[start..end];
            let bar = rest.match_indices('|').map(|(i, _)| i).find(|i| !rest[..*i].ends_with('\\'));
            let bar = bar.map_or(end, |bar| start + bar);
            self.inline.cell(start..bar);
            cells.push(self.inline.take());
            start = bar + 1;
        }
        let kept = table.head.len();
        while cells.len() > kept && cells.pop_if(|cell| cell.is_empty()).is_some() {}
        table.rows.push(std::mem::take(cells));
    }

    fn finish(mut self) -> Document {
        self.end_tight();
        self.tree.finish(self.inline.targets)
    }
}

impl From<Alignment> for Align {
    fn from(align: Alignment) -> Self {
        match align {
            Alignment::None | Alignment::Left => Self::Left,
            Alignment::Center => Self::Center,
            Alignment::Right => Self::Right,
        }
    }
}

/// Code with its tabs expanded to the next stop.
fn expand_tabs(code: String) -> String {
    if !code.contains('\t') {
        return code;
    }
    let mut out = String::with_capacity(code.len() + 16);
    let mut column = 0;
    for glyph in glyphs(&code) {
        match glyph.text {
            "\t" => {
                let spaces = TAB - column % TAB;
                out.extend(std::iter::repeat_n(' ', spaces));
                column += spaces;
            }
            "\n" => {
                out.push('\n');
                column = 0;
            }
            text => {
                out.push_str(text);
                column += glyph.width;
            }
        }
    }
    out
}
