//! All documents with what is known of their words and names. Documents come and go one by one.

use super::analyze::{self, Script, compact};
use super::document::{Document, without_remark};
use super::names::{Names, Synonyms};
use super::page::{Line, Page};
use super::pinyin::Sounds;
use super::postings::{DocId, Postings};
use super::vocabulary::{Vocabulary, WordId};
use crate::lang::Lang;

/// Parts of a document, in the order in which their tokens are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Title of a note or lab, name of a term.
    Title,
    /// Other names, in both languages.
    Alias,
    /// Names of what the document teaches; not part of its text.
    Taught,
    /// Headings.
    Heading,
    /// Everything else to read.
    Body,
}

impl Part {
    pub(super) const ALL: [Self; 5] = [Self::Title, Self::Alias, Self::Taught, Self::Heading, Self::Body];
}

/// Where the parts of a document end, in tokens; all 0 for a document that is gone.
pub(super) type Ends = [u32; Part::ALL.len()];

/// A document as it is kept to be shown.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) title: Box<str>,
    pub(super) page: Page,
    /// First token of each line, and the line's index; headings come first.
    lines: Box<[(u32, u32)]>,
    /// Compact names, and whether each is only another name.
    names: Vec<(Box<str>, bool)>,
    /// Names by whose sound it is found.
    heard: Vec<Box<str>>,
}

impl Text {
    /// Index of the line that holds a token.
    pub(super) fn line_of(&self, place: u32) -> Option<usize> {
        let at = self.lines.partition_point(|(start, _)| *start <= place).checked_sub(1)?;
        Some(self.lines[at].1 as usize)
    }
}

/// Every document.
#[derive(Debug, Default)]
pub(super) struct Corpus {
    pub(super) vocabulary: Vocabulary,
    pub(super) postings: Postings,
    pub(super) names: Names,
    pub(super) synonyms: Synonyms,
    /// What people say for what texts call otherwise.
    pub(super) everyday: Synonyms,
    pub(super) sounds: Sounds,
    /// By number; `None` for those that are gone.
    texts: Vec<Option<Text>>,
    ends: Vec<Ends>,
    /// Item and language of each document.
    belongs_to: Vec<Option<(u32, Option<Lang>)>>,
    gone: usize,
    body_tokens: u64,
    tokens: Vec<(WordId, u32)>,
}

/// Numbers of documents that are gone are taken back when there are more of them than of others, and than this.
const MOST_GONE: usize = 256;

impl Corpus {
    pub(super) fn new() -> Self {
        Self { everyday: Synonyms::everyday(), ..Self::default() }
    }

    /// Adds a document of an item.
    pub(super) fn add(&mut self, item: usize, document: Document<'_>) -> DocId {
        let doc = self.texts.len() as DocId;
        let mut tokens = std::mem::take(&mut self.tokens);
        tokens.clear();
        let mut writer = Writer { vocabulary: &mut self.vocabulary, tokens: &mut tokens, next: 0 };
        let mut ends = Ends::default();
        let mut names: Vec<(Box<str>, bool)> = Vec::new();
        writer.line(document.title);
        ends[Part::Title as usize] = writer.next;
        for name in [document.title, without_remark(document.title)] {
            names.push((compact(name).into(), false));
        }
        for alias in &document.aliases {
            writer.line(alias);
            names.push((compact(alias).into(), true));
        }
        ends[Part::Alias as usize] = writer.next;
        document.taught.iter().for_each(|name| writer.line(name));
        ends[Part::Taught as usize] = writer.next;
        let page = document.page;
        let mut lines = Vec::with_capacity(page.blocks.len());
        for (part, headings) in [(Part::Heading, true), (Part::Body, false)] {
            for (i, block) in page.blocks.iter().enumerate() {
                if (block.line == Line::Heading) == headings {
                    lines.push((writer.next, i as u32));
                    // A term's other names are already there, and only shown here.
                    if block.line != Line::Name {
                        writer.line(&page.text[block.range()]);
                    }
                }
            }
            ends[part as usize] = writer.next;
        }
        self.postings.add(doc, &mut tokens);
        self.tokens = tokens;
        self.body_tokens += u64::from(ends[4] - ends[3]);
        names.sort_unstable();
        names.dedup_by(|b, a| a.0 == b.0);
        for (name, other) in &names {
            self.names.add(name, doc, *other);
        }
        let heard: Vec<Box<str>> =
            document.aliases.iter().chain([&document.title]).map(|n| Box::from(*n)).collect();
        for name in &heard {
            self.sounds.add(name);
        }
        self.ends.push(ends);
        self.belongs_to.push(Some((item as u32, document.lang)));
        self.texts.push(Some(Text { title: document.title.into(), page, lines: lines.into(), names, heard }));
        doc
    }

    /// To be called when no more documents come for now.
    pub(super) fn settle(&mut self) {
        self.vocabulary.sort();
    }

    /// Gives back memory that was kept for growing.
    pub(super) fn shrink(&mut self) {
        self.postings.shrink();
        self.texts.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.tokens = Vec::new();
    }

    /// Takes a document away.
    pub(super) fn remove(&mut self, doc: DocId) {
        let Some(text) = self.texts.get_mut(doc as usize).and_then(Option::take) else { return };
        text.names.iter().for_each(|(name, _)| self.names.remove(name, doc));
        text.heard.iter().for_each(|name| self.sounds.remove(name));
        self.belongs_to[doc as usize] = None;
        let ends = std::mem::take(&mut self.ends[doc as usize]);
        self.body_tokens -= u64::from(ends[4] - ends[3]);
        self.gone += 1;
    }

    /// Takes back the numbers of documents that are gone when there are many; gives each old number its new one.
    pub(super) fn renumber(&mut self) -> Option<Vec<Option<DocId>>> {
        if self.gone <= MOST_GONE.max(self.texts.len() / 2) {
            return None;
        }
        let mut next = 0;
        let new: Vec<Option<DocId>> = self
            .texts
            .iter()
            .map(|text| {
                text.is_some().then(|| {
                    next += 1;
                    next - 1
                })
            })
            .collect();
        self.postings.renumber(&new);
        self.names.renumber(&new);
        let mut kept = new.iter().map(Option::is_some);
        self.ends.retain(|_| kept.next().unwrap_or(false));
        self.texts.retain(Option::is_some);
        self.belongs_to.retain(Option::is_some);
        self.gone = 0;
        Some(new)
    }

    /// The document of this number, unless it is gone.
    pub(super) fn text(&self, doc: DocId) -> Option<&Text> {
        self.texts.get(doc as usize)?.as_ref()
    }

    /// Item and language of a document, unless it is gone; no language where it is unknown or mixed.
    pub(super) fn belongs_to(&self, doc: DocId) -> Option<(usize, Option<Lang>)> {
        let (item, lang) = (*self.belongs_to.get(doc as usize)?)?;
        Some((item as usize, lang))
    }

    /// How many numbers are given, also to documents that are gone.
    pub(super) fn numbers(&self) -> usize {
        self.texts.len()
    }

    /// How many documents there are.
    pub(super) fn len(&self) -> usize {
        self.texts.len() - self.gone
    }

    /// Where the parts of a document end.
    pub(super) fn ends(&self, doc: DocId) -> &Ends {
        &self.ends[doc as usize]
    }

    /// Tokens of running text in a document, on average.
    pub(super) fn average_body(&self) -> f32 {
        (self.body_tokens as f32 / self.len().max(1) as f32).max(1.0)
    }
}

/// Numbers the tokens of a document, line after line.
struct Writer<'a> {
    vocabulary: &'a mut Vocabulary,
    tokens: &'a mut Vec<(WordId, u32)>,
    next: u32,
}

impl Writer<'_> {
    /// A line ends with a gap, so that nothing stands beside the next line's first token.
    fn line(&mut self, text: &str) {
        let start = self.next;
        let count = analyze::scan(text, |text, _, script: Script, place| {
            self.tokens.push((self.vocabulary.intern(text, script), start + place));
        });
        self.next = start + count + 1;
    }
}
