//! Styled text of one block: the words once, and runs of style beside them.

use std::ops::Range;

use unicode_segmentation::GraphemeCursor;

use super::style::Style;

/// Identifies a link within one document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkId(pub u32);

/// Where a link leads.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LinkTarget {
    /// The name in a wiki link: a note, term or lab, for `Library::resolve`.
    Wiki(String),
    /// An address outside the library.
    Url(String),
    /// A heading of the same document, by anchor.
    Anchor(String),
    /// A footnote of the same document, by label.
    Footnote(String),
}

/// A piece of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The words, without line feeds, tabs or control characters.
    pub text: String,
    /// What they mean.
    pub style: Style,
    /// The link that they belong to.
    pub link: Option<LinkId>,
}

impl Span {
    pub(super) fn chrome(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style: Style::CHROME | style, link: None }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    end: usize,
    style: Style,
    link: Option<LinkId>,
}

/// Words with style. A line feed is a hard break.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Text {
    content: String,
    runs: Vec<Run>,
}

impl Text {
    pub(super) fn new(content: &str, style: Style) -> Self {
        let mut text = Self::default();
        text.push(content, style, None);
        text
    }

    pub(super) fn as_str(&self) -> &str {
        &self.content
    }

    pub(super) fn is_empty(&self) -> bool {
        self.content.is_empty()
    }

    /// Adds words as they are.
    pub(super) fn push(&mut self, words: &str, style: Style, link: Option<LinkId>) {
        if words.is_empty() {
            return;
        }
        self.content.push_str(words);
        let end = self.content.len();
        match self.runs.last_mut() {
            Some(run) if run.style == style && run.link == link => run.end = end,
            _ => self.runs.push(Run { end, style, link }),
        }
    }

    /// Adds words whose runs of white space count as one space, and as none at the start of a line.
    pub(super) fn push_prose(&mut self, words: &str, style: Style, link: Option<LinkId>) {
        let mut spaced = self.content.is_empty() || self.content.ends_with([' ', '\n']);
        let mut start = 0;
        for (i, byte) in words.bytes().enumerate() {
            // The no-break spaces are not ASCII and stay.
            let space = matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
            if space && (spaced || byte != b' ') {
                self.push(&words[start..i], style, link);
                if !spaced {
                    self.push(" ", style, link);
                }
                start = i + 1;
            }
            spaced = space;
        }
        self.push(&words[start..], style, link);
    }

    /// Makes room for this many bytes.
    pub(super) fn reserve(&mut self, bytes: usize) {
        self.content.reserve(bytes);
    }

    /// Adds another text with its styles.
    pub(super) fn append(&mut self, other: &Self, extra: Style) {
        let mut start = 0;
        for run in &other.runs {
            self.push(&other.content[start..run.end], run.style | extra, run.link);
            start = run.end;
        }
    }

    /// Adds a meaning to the first run.
    pub(super) fn mark_first(&mut self, style: Style) {
        if let Some(run) = self.runs.first_mut() {
            run.style |= style;
        }
    }

    /// The words and style of the first run.
    pub(super) fn first_run(&self) -> Option<(&str, Style)> {
        self.runs.first().map(|run| (&self.content[..run.end], run.style))
    }

    /// The words on one line, without what is said in passing.
    pub(super) fn title(&self) -> String {
        let mut title = String::new();
        let mut start = 0;
        for run in &self.runs {
            if !run.style.has(Style::DIM) {
                title.push_str(&self.content[start..run.end]);
            }
            start = run.end;
        }
        title.replace('\n', " ")
    }

    /// Drops white space at the end and moves the ends of runs to the ends of clusters: a terminal draws every run on
    /// its own, and half a cluster is wider than its share.
    pub(super) fn finish(mut self) -> Self {
        self.content.truncate(self.content.trim_end_matches([' ', '\n']).len());
        let len = self.content.len();
        for run in &mut self.runs {
            run.end = cluster_end(&self.content, run.end.min(len));
        }
        self.runs.dedup_by_key(|run| run.end);
        self
    }

    /// The style at a byte.
    pub(super) fn style_at(&self, byte: usize) -> Style {
        self.runs.get(self.runs.partition_point(|run| run.end <= byte)).map_or(Style::PLAIN, |run| run.style)
    }

    /// The pieces of a byte range that lies on one line, each with `extra` meaning.
    pub(super) fn spans(&self, range: Range<usize>, extra: Style) -> impl Iterator<Item = Span> {
        let first = self.runs.partition_point(|run| run.end <= range.start);
        let mut start = range.start;
        self.runs[first..].iter().map_while(move |run| {
            let end = run.end.min(range.end);
            let text = self.content.get(start..end).filter(|t| !t.is_empty())?;
            start = end;
            Some(Span { text: text.to_owned(), style: run.style | extra, link: run.link })
        })
    }
}

fn cluster_end(text: &str, at: usize) -> usize {
    if text.as_bytes().get(at).is_none_or(u8::is_ascii) {
        return at;
    }
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    if cursor.is_boundary(text, 0) == Ok(true) {
        return at;
    }
    cursor.next_boundary(text, 0).ok().flatten().unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_is_squeezed_across_pushes() {
        let mut text = Text::default();
        text.push_prose("  a \t b ", Style::PLAIN, None);
        text.push_prose(" c", Style::STRONG, None);
        text.push("\n", Style::PLAIN, None);
        text.push_prose(" d\u{a0} e  ", Style::PLAIN, None);
        assert_eq!(text.finish().as_str(), "a b c\nd\u{a0} e");
    }

    #[test]
    fn a_style_never_ends_inside_a_cluster() {
        let mut text = Text::default();
        text.push("a👩", Style::PLAIN, None);
        text.push("\u{200d}🔬b", Style::STRONG, None);
        let text = text.finish();
        let spans: Vec<String> = text.spans(0..text.as_str().len(), Style::PLAIN).map(|s| s.text).collect();
        assert_eq!(spans, ["a👩‍🔬", "b"]);
    }
}
