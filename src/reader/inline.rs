//! Inline Markdown into [`Text`]: styles, links, wiki links, soft breaks.

use std::ops::Range;

use super::block::WikiSpan;
use super::html::{self, Piece};
use super::style::Style;
use super::text::{LinkId, LinkTarget, Text};
use super::wiki::WikiScanner;
use crate::visible::{visible, visible_line};

/// Collects the inline content of one block after another.
#[derive(Debug)]
pub(super) struct Inline<'a> {
    source: &'a str,
    text: Text,
    open: Depths,
    /// Links and images that are open, innermost last.
    links: Vec<OpenLink>,
    pub(super) targets: Vec<LinkTarget>,
    wiki: WikiScanner<'a>,
    /// Source of the last wiki link: whatever else the parser makes of it is ignored.
    shown: Range<usize>,
    soft_break: bool,
    comment: bool,
    /// Source of the HTML comment that is open.
    comment_start: usize,
}

/// How many of each are open.
#[derive(Debug, Default)]
pub(super) struct Depths {
    pub(super) strong: usize,
    pub(super) emphasis: usize,
    pub(super) strike: usize,
    pub(super) code: usize,
}

#[derive(Debug)]
struct OpenLink {
    id: LinkId,
    /// To be shown beside the words when it differs from them.
    address: String,
    image: bool,
    start: usize,
}

impl<'a> Inline<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self {
            source,
            text: Text::default(),
            open: Depths::default(),
            links: Vec::new(),
            targets: Vec::new(),
            wiki: WikiScanner::new(source),
            shown: 0..0,
            soft_break: false,
            comment: false,
            comment_start: 0,
        }
    }

    /// The text so far; the next block starts empty and plain.
    pub(super) fn take(&mut self) -> Text {
        self.open = Depths::default();
        self.links.clear();
        self.soft_break = false;
        self.comment = false;
        std::mem::take(&mut self.text).finish()
    }

    /// Prepares for a block of this many bytes.
    pub(super) fn expect(&mut self, bytes: usize) {
        self.text.reserve(bytes);
    }

    /// Continues a text that was taken.
    pub(super) fn resume(&mut self, text: Text) {
        self.text = text;
    }

    /// Whether this source is part of a wiki link that is already shown.
    pub(super) fn is_shown(&self, range: &Range<usize>) -> bool {
        !range.is_empty() && self.shown.start <= range.start && range.end <= self.shown.end
    }

    /// Whether a wiki link reaches over this place in the source.
    pub(super) fn reaches_over(&self, at: usize) -> bool {
        self.shown.start < at && at < self.shown.end
    }

    /// Where the source of the last wiki link ends.
    pub(super) fn shown_end(&self) -> usize {
        self.shown.end
    }

    pub(super) fn depths(&mut self) -> &mut Depths {
        &mut self.open
    }

    /// Text of the source at `range`; `text` differs from it where an entity or escape was decoded.
    pub(super) fn words(&mut self, text: &str, range: Range<usize>) {
        if self.source.get(range.clone()) == Some(text) {
            self.verbatim(range);
        } else if range.start >= self.shown.end {
            // An entity such as `&#27;` decodes to a control character after the source was cleaned.
            self.push(&visible(text), Style::PLAIN);
        }
    }

    /// Text that is the source itself, wiki links included.
    pub(super) fn verbatim(&mut self, range: Range<usize>) {
        let source = self.source;
        let mut at = range.start.max(self.shown.end);
        while at < range.end {
            let Some(link) = self.wiki.next(at, range.end) else {
                return self.push(&source[at..range.end], Style::PLAIN);
            };
            self.push(&source[at..link.range.start], Style::PLAIN);
            at = link.range.end;
            self.wiki_link(link);
        }
    }

    /// A table cell that the parser passed over: bars in it are escaped.
    pub(super) fn cell(&mut self, range: Range<usize>) {
        let mut start = range.start;
        for (bar, _) in self.source[range.clone()].match_indices("\\|") {
            let bar = range.start + bar;
            self.verbatim(start..bar);
            self.words("|", bar..bar + 2);
            start = bar + 2;
        }
        self.verbatim(start..range.end);
    }

    fn wiki_link(&mut self, link: WikiSpan) {
        let id = self.target(LinkTarget::Wiki(link.target));
        let shown =
            if link.shown.is_empty() { &self.source[link.range.clone()] } else { link.shown.as_str() };
        self.push_linked(shown, Style::LINK, Some(id));
        self.shown = link.range;
    }

    pub(super) fn code(&mut self, code: &str, range: &Range<usize>) {
        if range.start >= self.shown.end {
            self.settle_break(code);
            let style = self.style() | Style::CODE;
            let link = self.link();
            self.text.push(&visible_line(code), style, link);
        }
    }

    pub(super) fn footnote(&mut self, label: &str) {
        let label = visible_line(label);
        let id = self.target(LinkTarget::Footnote(label.clone()));
        self.push_linked(&format!("[{label}]"), Style::LINK | Style::FOOTNOTE, Some(id));
    }

    pub(super) fn soft_break(&mut self) {
        self.soft_break = true;
    }

    pub(super) fn hard_break(&mut self) {
        self.soft_break = false;
        self.text.push("\n", Style::PLAIN, None);
    }

    /// A line break that counts once, and not at the start.
    fn part(&mut self) {
        self.soft_break = false;
        if !self.text.is_empty() && !self.text.as_str().ends_with('\n') {
            self.hard_break();
        }
    }

    pub(super) fn start_link(&mut self, address: &str, image: bool) {
        let address = visible_line(address);
        let (target, address) = match address.strip_prefix('#') {
            Some(anchor) if !anchor.is_empty() => (LinkTarget::Anchor(anchor.to_owned()), String::new()),
            _ => (LinkTarget::Url(address.clone()), address),
        };
        let id = self.target(target);
        if image {
            self.settle_break("[");
        }
        self.links.push(OpenLink { id, address, image, start: self.text.as_str().len() });
        if image {
            self.push("[image: ", Style::PLAIN);
            if let Some(link) = self.links.last_mut() {
                link.start = self.text.as_str().len();
            }
        }
    }

    pub(super) fn end_link(&mut self) {
        let Some(link) = self.links.last() else { return };
        let (id, image, address) = (link.id, link.image, link.address.clone());
        let shown = self.text.as_str().get(link.start..).unwrap_or_default().trim();
        if shown.is_empty() {
            let address = if address.is_empty() { "#".to_owned() } else { address };
            self.push(&address, Style::PLAIN);
        } else if !image
            && !address.is_empty()
            && shown != address
            && address.strip_prefix("mailto:") != Some(shown)
        {
            self.push_linked(&format!(" ({address})"), Style::LINK | Style::DIM, Some(id));
        }
        if image {
            self.push("]", Style::PLAIN);
        }
        self.links.pop();
    }

    /// HTML source, inline or one line of a block.
    pub(super) fn html(&mut self, html: &str, range: Range<usize>, block: bool) {
        let in_place = self.source.get(range.clone()) == Some(html);
        let was_open = self.comment;
        let pieces = html::pieces(html, &mut self.comment);
        if self.comment && !was_open {
            let closed = html.rfind("-->").map_or(0, |i| i + 3);
            self.comment_start = range.start + closed + html[closed..].find("<!--").unwrap_or(0);
        }
        for piece in pieces {
            match piece {
                Piece::Text(part) => {
                    for line in lines_of(html, part, block) {
                        match line {
                            None => self.part(),
                            Some(part) if in_place => {
                                self.verbatim(range.start + part.start..range.start + part.end);
                            }
                            Some(part) => self.push(&visible(&html[part]), Style::PLAIN),
                        }
                    }
                }
                Piece::Tag(tag) => self.html_tag(tag),
            }
        }
    }

    /// Ends a block of HTML. A comment that never closes would hide the rest of the note, so it is shown.
    pub(super) fn end_html(&mut self, end: usize) {
        if std::mem::take(&mut self.comment) {
            self.part();
            let (source, range) = (self.source, self.comment_start..end);
            for line in lines_of(source, range, true) {
                match line {
                    None => self.part(),
                    Some(line) => self.verbatim(line),
                }
            }
        }
    }

    fn html_tag(&mut self, tag: html::Tag) {
        let (depth, opens) = match tag {
            html::Tag::Break => return self.hard_break(),
            html::Tag::Part => return self.part(),
            html::Tag::Raise => return self.push("^", Style::PLAIN),
            html::Tag::Lower => return self.push("_", Style::PLAIN),
            html::Tag::Nothing => return,
            html::Tag::Strong(opens) => (&mut self.open.strong, opens),
            html::Tag::Emphasis(opens) => (&mut self.open.emphasis, opens),
            html::Tag::Code(opens) => (&mut self.open.code, opens),
            html::Tag::Strike(opens) => (&mut self.open.strike, opens),
        };
        *depth = if opens { *depth + 1 } else { depth.saturating_sub(1) };
    }

    fn target(&mut self, target: LinkTarget) -> LinkId {
        self.targets.push(target);
        LinkId(self.targets.len() as u32 - 1)
    }

    fn link(&self) -> Option<LinkId> {
        self.links.last().map(|link| link.id)
    }

    fn style(&self) -> Style {
        [
            (self.open.strong, Style::STRONG),
            (self.open.emphasis, Style::EMPHASIS),
            (self.open.strike, Style::STRIKE),
            (self.open.code, Style::CODE),
            (self.links.len(), Style::LINK),
        ]
        .into_iter()
        .filter(|(depth, _)| *depth > 0)
        .fold(Style::PLAIN, |all, (_, style)| all | style)
    }

    fn push(&mut self, words: &str, extra: Style) {
        self.push_linked(words, extra, self.link());
    }

    fn push_linked(&mut self, words: &str, extra: Style, link: Option<LinkId>) {
        if words.is_empty() {
            return;
        }
        self.settle_break(words);
        let style = self.style() | extra;
        self.text.push_prose(words, style, link);
    }

    /// A soft break is a space, except between two Han characters.
    fn settle_break(&mut self, next: &str) {
        if std::mem::take(&mut self.soft_break) {
            let joined = self.text.as_str().chars().next_back().is_some_and(is_han)
                && next.trim_start().chars().next().is_some_and(is_han);
            if !joined {
                let style = self.style();
                let link = self.link();
                self.text.push_prose(" ", style, link);
            }
        }
    }
}

/// The part of an HTML text by lines, `None` for each line feed of a block. Inline, a line feed is a space.
fn lines_of(html: &str, part: Range<usize>, block: bool) -> Vec<Option<Range<usize>>> {
    if !block {
        return vec![Some(part)];
    }
    let mut lines = Vec::new();
    let mut start = part.start;
    for (i, _) in html[part.clone()].match_indices('\n') {
        lines.extend([Some(start..part.start + i), None]);
        start = part.start + i + 1;
    }
    lines.push(Some(start..part.end));
    lines
}

/// Scripts that put no space between words, with their punctuation.
fn is_han(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{312f}' | '\u{31a0}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff01}'..='\u{ff60}'
        | '\u{20000}'..='\u{3ffff}' | '…' | '—' | '“' | '”')
}
