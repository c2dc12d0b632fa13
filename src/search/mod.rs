//! Search over notes, terms and labs in both languages, in memory, fast enough for every keystroke.
//!
//! - `analyze`, `vocabulary`: text to numbered tokens, the same for documents and queries
//! - `page`: Markdown to the plain lines that a reader sees
//! - `query`: what a query asks for, in three readings of growing tolerance
//! - `postings`: the inverted index and the weights
//! - `snippet`: where the matches stand and what to show

mod analyze;
mod page;
mod postings;
mod query;
mod snippet;
mod vocabulary;

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::time::Instant;

use infralab_labs::LabSpec;
use serde::{Deserialize, Serialize};

use crate::lang::{Both, Lang};
use crate::library::{Library, Note, Term};
use analyze::Stems;
use page::{Line, Page};
use postings::{Builder, Part, Postings};
use query::Reading;
use snippet::{Finder, Mark, Spot};
pub use snippet::{SNIPPET_COLUMNS, Snippet};
use vocabulary::Vocabulary;

/// What a hit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A note.
    Note,
    /// A term of the glossary.
    Term,
    /// A lab.
    Lab,
}

impl Kind {
    /// `note`, `term` or `lab`.
    pub fn id(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Term => "term",
            Self::Lab => "lab",
        }
    }
}

impl std::str::FromStr for Kind {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Note, Self::Term, Self::Lab]
            .into_iter()
            .find(|k| k.id() == text)
            .ok_or_else(|| format!("unknown kind `{text}`: use note, term or lab"))
    }
}

/// Which hits are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filter {
    /// Only text of this language.
    pub lang: Option<Lang>,
    /// Only hits of this kind.
    pub kind: Option<Kind>,
    /// Without `lang`, the language in which a hit is shown when both match.
    pub prefer: Lang,
    /// Most hits.
    pub limit: usize,
}

impl Default for Filter {
    fn default() -> Self {
        Self { lang: None, kind: None, prefer: Lang::default(), limit: 10 }
    }
}

/// What a search found.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Results {
    /// The query as given.
    pub query: String,
    /// Time that the search took, in microseconds.
    pub took_us: u64,
    /// Whether nothing matched the whole query, and the hits match only part of it.
    pub partial: bool,
    /// Matching notes, terms and labs, also those beyond the limit.
    pub total: usize,
    /// Best first; each note, term or lab once.
    pub hits: Vec<Hit>,
}

/// One hit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hit {
    /// What it is.
    pub kind: Kind,
    /// Id of the note, term or lab.
    pub id: String,
    /// Title or name in the hit's language.
    pub title: String,
    /// Language of title and snippet.
    pub lang: Lang,
    /// Higher is better; comparable within one search only.
    pub score: f32,
    /// The passage that matches best.
    #[serde(flatten)]
    pub snippet: Snippet,
    /// Heading under which the passage stands; none when it is the beginning or the title says it all.
    pub anchor: Option<String>,
    /// Byte ranges of the title that match.
    pub title_highlights: Vec<Range<usize>>,
}

/// What is kept of a document to show it.
struct Shown {
    title: String,
    title_spots: Vec<Spot>,
    page: Page,
    page_spots: Vec<Spot>,
}

struct Item {
    kind: Kind,
    id: String,
    shown: Both<Shown>,
}

/// The index. Built once from a library; searching changes nothing.
pub struct SearchIndex {
    vocabulary: Vocabulary,
    postings: Postings,
    items: Vec<Item>,
}

impl std::fmt::Debug for SearchIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchIndex").field("items", &self.items.len()).finish_non_exhaustive()
    }
}

impl SearchIndex {
    /// Reads everything of `library`, and the labs of the program.
    pub fn build(library: &Library) -> Self {
        let mut indexer = Indexer {
            vocabulary: Vocabulary::default(),
            stems: Stems::new(),
            postings: Builder::new(),
            items: Vec::new(),
        };
        for term in &library.terms {
            indexer.add(Kind::Term, &term.id, |lang| term_document(term, lang));
        }
        for note in &library.notes {
            indexer.add(Kind::Note, &note.id, |lang| note_document(note, lang, library));
        }
        for lab in infralab_labs::LABS.iter() {
            indexer.add(Kind::Lab, &lab.id, |lang| lab_document(lab, lang, library));
        }
        indexer.vocabulary.finish();
        Self { vocabulary: indexer.vocabulary, postings: indexer.postings.finish(), items: indexer.items }
    }

    /// Finds what matches `query`. Any text is a query; one without a letter, digit or Han character finds nothing.
    pub fn search(&self, query: &str, filter: &Filter) -> Results {
        let started = Instant::now();
        let mut results = Results { query: query.to_owned(), ..Results::default() };
        for reading in Reading::ALL {
            let asked = query::read(query, reading, &self.vocabulary);
            let needed = match reading {
                Reading::Whole | Reading::Split => asked.units.len(),
                Reading::Half => asked.units.len().div_ceil(2),
            };
            let found = self.postings.find(&asked, needed, &self.vocabulary);
            let groups = self.group(&found, filter);
            if groups.is_empty() {
                continue;
            }
            let finder = Finder::new(&asked.units, &self.vocabulary);
            results.partial = reading == Reading::Half;
            results.total = groups.len();
            results.hits = groups
                .iter()
                .take(filter.limit)
                .map(|group| self.hit(group, &finder, filter.prefer))
                .collect();
            break;
        }
        results.took_us = started.elapsed().as_micros() as u64;
        results
    }

    /// Joins the two languages of each item, best first.
    fn group(&self, found: &[(f32, usize)], filter: &Filter) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        let mut group_of = vec![usize::MAX; self.items.len()];
        for (score, document) in found {
            let (item, lang) = (document / 2, Lang::ALL[document % 2]);
            let wanted = filter.lang.is_none_or(|l| l == lang)
                && filter.kind.is_none_or(|k| k == self.items[item].kind);
            if !wanted {
                continue;
            }
            if group_of[item] == usize::MAX {
                group_of[item] = groups.len();
                groups.push(Group { item, score: *score, best: lang, both: false });
            } else {
                groups[group_of[item]].both = true;
            }
        }
        groups
    }

    fn hit(&self, group: &Group, finder: &Finder<'_>, prefer: Lang) -> Hit {
        let item = &self.items[group.item];
        let best = Sight::of(item.shown.get(group.best), finder);
        let preferred = (group.both && group.best != prefer)
            .then(|| Sight::of(item.shown.get(prefer), finder))
            // What matches only by the names that it teaches has less to show than the other language.
            .filter(|sight| sight.units() >= best.units());
        let (lang, sight) = preferred.map_or((group.best, best), |sight| (prefer, sight));
        let shown = item.shown.get(lang);
        let titled = finder.all_in(&sight.title);
        let (snippet, section) = snippet::cut(&shown.page, &shown.page_spots, &sight.page, titled);
        Hit {
            kind: item.kind,
            id: item.id.clone(),
            title: shown.title.clone(),
            lang,
            score: group.score,
            snippet,
            anchor: section.checked_sub(1).and_then(|i| shown.page.anchors.get(i).cloned()),
            title_highlights: snippet::highlights(&sight.title),
        }
    }
}

/// An item that matches in one language or both.
struct Group {
    item: usize,
    score: f32,
    best: Lang,
    both: bool,
}

/// Where a query is seen in a document.
struct Sight {
    title: Vec<Mark>,
    page: Vec<Mark>,
}

impl Sight {
    fn of(shown: &Shown, finder: &Finder<'_>) -> Self {
        Self { title: finder.marks(&shown.title_spots), page: finder.marks(&shown.page_spots) }
    }

    /// How many units of the query are seen.
    fn units(&self) -> u32 {
        snippet::unit_bits(self.title.iter().chain(&self.page)).count_ones()
    }
}

/// One item in one language, before it is indexed.
struct Document<'a> {
    title: &'a str,
    aliases: Vec<&'a str>,
    taught: Vec<&'a str>,
    page: Page,
}

fn term_document(term: &Term, lang: Lang) -> Document<'_> {
    let title = term.name(lang);
    let mut aliases = vec![term.name(lang.other()), term.id.as_str()];
    aliases.extend(term.aliases.iter().map(String::as_str));
    let mut page = Page::default();
    page.push(Line::Lead, term.short.get(lang));
    if let Some(long) = &term.long {
        page.markdown(long.get(lang));
    }
    for not in &term.not {
        page.push(Line::Text, not.difference.get(lang));
    }
    let mut names = vec![term.name(lang.other())];
    names.extend(term.aliases.iter().map(String::as_str));
    for name in names.into_iter().filter(|n| *n != title) {
        page.push(Line::Name, name);
    }
    Document { title, aliases, taught: Vec::new(), page }
}

fn note_document<'a>(note: &'a Note, lang: Lang, library: &'a Library) -> Document<'a> {
    let text = note.text.get(lang);
    let mut page = Page::default();
    page.push(Line::Lead, &text.summary);
    page.markdown(&text.body);
    let mut taught = names_of(&note.terms, library);
    taught.push(&note.text.get(lang.other()).title);
    Document { title: &text.title, aliases: vec![&note.id], taught, page }
}

fn lab_document<'a>(lab: &'a LabSpec, lang: Lang, library: &'a Library) -> Document<'a> {
    let (title, other) = (lang.pick(&lab.title.en, &lab.title.zh), lang.pick(&lab.title.zh, &lab.title.en));
    let mut page = Page::default();
    page.push(Line::Lead, lang.pick(&lab.question.en, &lab.question.zh));
    for line in lang.pick(&lab.closed_form.en, &lab.closed_form.zh).lines() {
        page.push(Line::Code, line);
    }
    page.markdown(lang.pick(lab.guide_en, lab.guide_zh));
    let mut taught = names_of(&lab.terms, library);
    taught.push(other);
    Document { title, aliases: vec![&lab.id], taught, page }
}

/// Every name of the terms with these ids.
fn names_of<'a>(ids: &[String], library: &'a Library) -> Vec<&'a str> {
    let terms = ids.iter().filter_map(|id| library.term(id));
    terms
        .flat_map(|t| [t.en.as_str(), t.zh.as_str()].into_iter().chain(t.aliases.iter().map(String::as_str)))
        .collect()
}

/// A name without what stands in brackets at its end: 参数（权重） is also called 参数.
fn without_remark(name: &str) -> &str {
    name.split(['（', '(']).next().map_or(name, str::trim_end)
}

struct Indexer {
    vocabulary: Vocabulary,
    stems: Stems,
    postings: Builder,
    items: Vec<Item>,
}

impl Indexer {
    /// Adds an item as two documents, in the order of [`Lang::ALL`]: a document's number tells item and language.
    fn add<'a>(&mut self, kind: Kind, id: &str, document: impl Fn(Lang) -> Document<'a>) {
        let [en, zh] = Lang::ALL.map(|lang| self.document(document(lang)));
        self.items.push(Item { kind, id: id.to_owned(), shown: Both { en, zh } });
    }

    fn document(&mut self, document: Document<'_>) -> Shown {
        let title_spots = self.text(Part::Name, document.title);
        for name in [document.title, without_remark(document.title)] {
            self.postings.whole_name(&analyze::compact(name), false);
        }
        for alias in document.aliases {
            self.text(Part::Alias, alias);
            self.postings.whole_name(&analyze::compact(alias), true);
        }
        for name in document.taught {
            self.text(Part::Taught, name);
        }
        let page = document.page;
        let mut page_spots = Vec::new();
        for block in &page.blocks {
            let spots = self.spots(&page.text[block.range.clone()], block.range.start);
            let part = match block.line {
                Line::Heading => Some(Part::Heading),
                Line::Lead | Line::Text | Line::Code => Some(Part::Body),
                // Already indexed as an alias.
                Line::Name => None,
            };
            if let Some(part) = part {
                self.postings.text(part, &spots, &self.vocabulary);
            }
            page_spots.extend(spots);
        }
        self.postings.end_document();
        Shown { title: document.title.to_owned(), title_spots, page, page_spots }
    }

    fn text(&mut self, part: Part, text: &str) -> Vec<Spot> {
        let spots = self.spots(text, 0);
        self.postings.text(part, &spots, &self.vocabulary);
        spots
    }

    fn spots(&mut self, text: &str, offset: usize) -> Vec<Spot> {
        analyze::tokens(text)
            .into_iter()
            .map(|t| Spot::new(self.vocabulary.intern(&t.text, t.han, &mut self.stems), &t, offset))
            .collect()
    }
}
