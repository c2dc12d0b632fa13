//! From a query to hits.

use std::cell::RefCell;
use std::ops::Range;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::analyze;
use super::corpus::Text;
use super::facets::{Conditions, Counter, Facets};
use super::filter::{Filter, State};
use super::postings::DocId;
use super::query::{Asked, Query, Reading};
use super::score::Phrases;
use super::sight::{Finder, Sight, highlights};
use super::snippet::{self, Snippet};
use super::unit::Resolver;
use super::{Item, SearchIndex};
use crate::lang::Lang;
use crate::library::Layer;

/// What a hit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A note.
    Note,
    /// A term of the glossary.
    Term,
    /// A lab.
    Lab,
    /// A note of the reader's own.
    Own,
    /// A recorded run.
    Run,
}

impl Kind {
    /// All kinds, in the order of screens.
    pub const ALL: [Self; 5] = [Self::Note, Self::Term, Self::Lab, Self::Own, Self::Run];

    /// `note`, `term`, `lab`, `own` or `run`.
    pub fn id(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Term => "term",
            Self::Lab => "lab",
            Self::Own => "own",
            Self::Run => "run",
        }
    }

    /// Name on screens.
    pub fn name(self, lang: Lang) -> &'static str {
        match self {
            Self::Note => lang.pick("note", "笔记"),
            Self::Term => lang.pick("term", "术语"),
            Self::Lab => lang.pick("lab", "实验"),
            Self::Own => lang.pick("own note", "我的笔记"),
            Self::Run => lang.pick("run", "运行"),
        }
    }
}

impl std::str::FromStr for Kind {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|k| k.id() == text)
            .ok_or_else(|| format!("unknown kind `{text}`: use note, term, lab, own or run"))
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
    /// What matches, also beyond the limit.
    pub total: usize,
    /// How many of each kind, phase, layer and state match.
    pub facets: Facets,
    /// Best first; each note, term, lab, own note or run once.
    pub hits: Vec<Hit>,
}

/// One hit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hit {
    /// What it is.
    pub kind: Kind,
    /// Id of the note, term, lab, own note or run.
    pub id: String,
    /// Title or name in the hit's language.
    pub title: String,
    /// Language of title and snippet; `None` for text of unknown or mixed language.
    pub lang: Option<Lang>,
    /// Higher is better; comparable within one search only.
    pub score: f32,
    /// The passage that matches best.
    #[serde(flatten)]
    pub snippet: Snippet,
    /// Heading under which the passage stands; none when it is the beginning or the title says it all.
    pub anchor: Option<String>,
    /// Block of the passage in [`crate::reader::Document`], for [`crate::reader::Layout::row_of_block`]: of the text
    /// that the reader screen shows for a note or a term, of a lab's guide, of an own note's Markdown. None when it is
    /// the beginning, the title says it all, or no block shows it.
    pub block: Option<usize>,
    /// Byte ranges of the title that match.
    pub title_highlights: Vec<Range<usize>>,
    /// Phase of the route.
    pub phase: Option<u8>,
    /// Layer of the stack.
    pub layer: Option<Layer>,
    /// Mastery.
    pub state: State,
}

/// Hits whose words are looked at closely before they are put in order.
const CLOSE_LOOK: usize = 24;

/// With fewer hits than this, those that match in part follow.
const FEW: usize = 5;
const FEW_FOR_A_QUESTION: usize = 10;

/// What a hit loses whose matches all cut words.
const CUT_WORDS_COST: f32 = 0.7;

/// An item that matches, in one language or more.
struct Group {
    item: usize,
    score: f32,
    best: DocId,
    /// The document in the preferred language, when that matches too and is not the best.
    preferred: Option<DocId>,
}

/// What a query found in one reading.
struct Found<'a> {
    query: &'a Query,
    phrases: &'a Phrases,
    scores: &'a [(DocId, f32)],
}

/// A group with the document that is shown for it.
struct Seen<'a> {
    group: Group,
    text: &'a Text,
    lang: Option<Lang>,
    sight: Sight,
}

impl SearchIndex {
    /// Finds what matches `query`. Any text is a query. One without a letter, digit or Han character finds nothing,
    /// unless it holds conditions like `kind:term`: then it finds all that fulfil them.
    pub fn search(&self, query: &str, filter: &Filter<'_>) -> Results {
        let started = Instant::now();
        let asked = Asked::new(query);
        let conditions = Conditions::new(filter, &asked.conditions);
        let mut results = Results { query: query.to_owned(), ..Results::default() };
        if asked.is_empty() && !asked.conditions.is_empty() {
            let all: Vec<(DocId, f32)> =
                (0..).zip(0..self.corpus.numbers()).map(|(doc, _)| (doc, 0.0)).collect();
            let found = Found { query: &Query::default(), phrases: &Phrases::default(), scores: &all };
            self.fill(&mut results, &found, filter, &conditions);
        } else if !asked.is_empty() {
            let resolver = Resolver {
                vocabulary: &self.corpus.vocabulary,
                postings: &self.corpus.postings,
                dictionary: &self.dictionary,
                synonyms: &self.corpus.synonyms,
                everyday: &self.corpus.everyday,
                near: RefCell::default(),
                sounds: &self.corpus.sounds,
            };
            let mut phrases = Phrases::default();
            let mut answer = |reading: Reading, results: &mut Results| {
                let query = asked.read(reading, &resolver);
                let scores = self.corpus.find(&query, reading, &mut phrases);
                let found = Found { query: &query, phrases: &phrases, scores: &scores };
                let few = if query.is_question() { FEW_FOR_A_QUESTION } else { FEW };
                self.fill(results, &found, filter, &conditions);
                // A question in many words is seldom answered in the same ones.
                results.total < few && query.units.len() > 1
            };
            let splits = !self.dictionary.is_loaded() && query.contains(analyze::is_han);
            for reading in Reading::ALL.into_iter().filter(|r| splits || *r != Reading::Split) {
                let is_little = answer(reading, &mut results);
                if results.total == 0 {
                    continue;
                }
                results.partial = reading == Reading::Part;
                if is_little && !results.partial {
                    answer(Reading::Part, &mut results);
                }
                break;
            }
        }
        results.took_us = started.elapsed().as_micros() as u64;
        results
    }

    /// Fills in what was found.
    fn fill(&self, results: &mut Results, found: &Found<'_>, filter: &Filter<'_>, conditions: &Conditions) {
        let query = found.query;
        let mut groups = self.group(found.scores, filter);
        let mut counter = Counter::new();
        groups.retain(|group| {
            let item = &self.items[group.item];
            counter.passes(item, state_of(item, filter), conditions)
        });
        results.facets = counter.facets();
        results.total = groups.len();
        let in_order = |a: &Group, b: &Group| b.score.total_cmp(&a.score).then(a.item.cmp(&b.item));
        let most = filter.limit.max(CLOSE_LOOK);
        if groups.len() > most {
            groups.select_nth_unstable_by(most, in_order);
            groups.truncate(most);
        }
        groups.sort_unstable_by(in_order);
        let finder = Finder::new(&query.units, &self.corpus.vocabulary);
        let looks_closely = self.dictionary.is_loaded()
            && query.units.iter().any(super::unit::Unit::is_han)
            && groups.len() > 1;
        if !looks_closely {
            groups.truncate(filter.limit);
        }
        let mut seen = self.look_at(groups, found, &finder);
        if looks_closely {
            for Seen { group, text, sight, .. } in seen.iter_mut().take(CLOSE_LOOK) {
                group.score *= 1.0 - CUT_WORDS_COST * sight.cut_share(&query.units, text, &self.dictionary);
            }
            seen.sort_by(|a, b| in_order(&a.group, &b.group));
        }
        results.hits = seen.iter().take(filter.limit).map(|seen| self.hit(seen, &finder, filter)).collect();
    }

    /// Joins the documents of each item.
    fn group(&self, found: &[(DocId, f32)], filter: &Filter<'_>) -> Vec<Group> {
        let prefer = filter.lang.unwrap_or(filter.prefer);
        let mut groups: Vec<Group> = Vec::new();
        let mut group_of = vec![usize::MAX; self.items.len()];
        for (doc, score) in found {
            let Some((item, lang)) = self.corpus.belongs_to(*doc) else { continue };
            if filter.lang.is_some_and(|wanted| lang.is_some_and(|lang| lang != wanted)) {
                continue;
            }
            let preferred = (lang == Some(prefer)).then_some(*doc);
            match groups.get_mut(group_of[item]) {
                None => {
                    group_of[item] = groups.len();
                    groups.push(Group { item, score: *score, best: *doc, preferred });
                }
                Some(group) => {
                    group.preferred = group.preferred.or(preferred);
                    if *score > group.score {
                        (group.score, group.best) = (*score, *doc);
                    }
                }
            }
        }
        for group in &mut groups {
            group.preferred = group.preferred.filter(|doc| *doc != group.best);
        }
        groups
    }

    /// What is seen of the query in each group: in the preferred language, unless the other shows more of it.
    fn look_at<'a>(&'a self, groups: Vec<Group>, found: &Found<'_>, finder: &Finder<'_>) -> Vec<Seen<'a>> {
        let mut docs: Vec<DocId> =
            groups.iter().flat_map(|g| [g.best].into_iter().chain(g.preferred)).collect();
        docs.sort_unstable();
        let places = self.corpus.places(&found.query.units, found.phrases, &docs);
        let places_of = |doc: DocId| docs.binary_search(&doc).map_or(&[][..], |at| places[at].as_slice());
        let units_seen = |doc: DocId| self.corpus.units_seen(doc, places_of(doc));
        let shown = |group: &Group| match group.preferred {
            // What matches only by the names that it teaches has less to show than the other language.
            Some(preferred) if units_seen(preferred) >= units_seen(group.best) => preferred,
            _ => group.best,
        };
        groups
            .into_iter()
            .filter_map(|group| {
                let doc = shown(&group);
                let sight = self.corpus.sight(doc, places_of(doc), finder);
                let (_, lang) = self.corpus.belongs_to(doc)?;
                Some(Seen { group, text: self.corpus.text(doc)?, lang, sight })
            })
            .collect()
    }

    fn hit(&self, seen: &Seen<'_>, finder: &Finder<'_>, filter: &Filter<'_>) -> Hit {
        let Seen { group, text, lang, sight } = seen;
        let item = &self.items[group.item];
        let titled = finder.all_in(&sight.title);
        let cut = snippet::cut(&text.page, &sight.page, titled, finder);
        let line = cut.line.map(|line| &text.page.blocks[line]);
        Hit {
            kind: item.kind,
            id: item.id.clone(),
            title: text.title.to_string(),
            lang: *lang,
            score: group.score,
            snippet: cut.snippet,
            anchor: line
                .and_then(|line| line.section().checked_sub(1))
                .and_then(|section| text.page.anchors.get(section).cloned()),
            block: line.and_then(super::page::Block::shown_in),
            title_highlights: highlights(&sight.title),
            phase: item.phase,
            layer: item.layer,
            state: state_of(item, filter),
        }
    }
}

fn state_of(item: &Item, filter: &Filter<'_>) -> State {
    let mark = filter.progress.and_then(|progress| match item.kind {
        Kind::Note => progress.note(&item.id),
        Kind::Term => progress.term(&item.id),
        Kind::Lab | Kind::Own | Kind::Run => None,
    });
    State::from(mark)
}
