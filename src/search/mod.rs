//! Search over notes, terms, labs, runs and the reader's own notes in both languages, in memory, fast enough for every
//! keystroke.
//!
//! - `analyze`, `vocabulary`: text to numbered tokens, the same for documents and queries
//! - `page`, `markdown`, `document`: what a reader sees of each document, as plain lines
//! - `corpus`, `postings`, `names`: what is known of all documents; one can be changed without the others
//! - `query`, `unit`, `filter`, `stop_words`: what a query asks for, in readings of growing tolerance
//! - `dictionary`, `pinyin`, `typo`: Chinese words, Chinese by its sound, slips of the fingers
//! - `score`, `facets`: which documents match, how well, and how many of each kind
//! - `sight`, `snippet`: where the matches stand and what to show
//!
//! Han characters are indexed one by one with their places, so any run of them is found exactly where it stands; the
//! dictionary takes queries apart and ranks matches that cut words below those that do not. That way the index can be
//! used before the dictionary is there, and no word is missed for being cut differently in a text and a query.

mod analyze;
mod corpus;
mod dictionary;
mod document;
mod extra;
mod facets;
mod filter;
mod markdown;
mod names;
mod page;
mod pinyin;
mod postings;
mod query;
mod results;
mod score;
mod sight;
mod snippet;
mod stop_words;
mod typo;
mod unit;
mod vocabulary;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use crate::lang::Lang;
use crate::library::{Layer, Library};
use corpus::Corpus;
pub use dictionary::Dictionary;
use document::Document;
pub use extra::{Extra, OwnNote, RunText};
pub use facets::Facets;
pub use filter::{Filter, State};
use postings::DocId;
pub use results::{Hit, Kind, Results};
pub use snippet::{SNIPPET_COLUMNS, Snippet};

/// Something to find, in one language or more.
struct Item {
    kind: Kind,
    id: String,
    phase: Option<u8>,
    layer: Option<Layer>,
    /// None when it is gone.
    docs: Vec<DocId>,
}

/// The index. Searching changes nothing; documents from outside the library come and go one by one.
pub struct SearchIndex {
    corpus: Corpus,
    items: Vec<Item>,
    by_id: HashMap<(Kind, String), usize>,
    dictionary: Dictionary,
}

impl std::fmt::Debug for SearchIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchIndex").field("items", &self.items.len()).finish_non_exhaustive()
    }
}

impl SearchIndex {
    /// Reads everything of `library`, and the labs of the program.
    pub fn build(library: &Library) -> Self {
        Self::build_with(library, &[])
    }

    /// Reads everything of `library`, the labs of the program, and these documents.
    pub fn build_with(library: &Library, extras: &[Extra]) -> Self {
        let han_runs = |name| analyze::han_runs(name).map(str::to_owned).collect::<Vec<_>>();
        let words = library.terms.iter().flat_map(document::names).flat_map(han_runs).collect();
        let mut index = Self {
            corpus: Corpus::new(),
            items: Vec::new(),
            by_id: HashMap::new(),
            dictionary: Dictionary::new(words),
        };
        for term in &library.terms {
            index.corpus.synonyms.add(document::names(term));
            let item = index.item(Kind::Term, &term.id, Some(term.phase), Some(term.layer));
            for lang in Lang::ALL {
                index.add(item, document::of_term(term, lang, library));
            }
        }
        for note in &library.notes {
            let item = index.item(Kind::Note, &note.id, Some(note.phase), Some(note.layer));
            for lang in Lang::ALL {
                index.add(item, document::of_note(note, lang, library));
            }
        }
        for lab in infralab_labs::LABS.iter() {
            let item = index.item(Kind::Lab, &lab.id, Some(lab.phase), None);
            for lang in Lang::ALL {
                index.add(item, document::of_lab(lab, lang, library));
            }
        }
        for extra in extras {
            index.add_extra(extra);
        }
        index.corpus.settle();
        index.corpus.shrink();
        index
    }

    /// The dictionary of this index, to be loaded on another thread. Until it is, runs of Han characters in queries
    /// are taken as they are.
    pub fn dictionary(&self) -> Dictionary {
        self.dictionary.clone()
    }

    /// Adds a document, in place of the one with its kind and id. Takes about a millisecond, whatever the size of the
    /// index.
    pub fn put(&mut self, extra: &Extra) {
        self.add_extra(extra);
        self.corpus.settle();
        self.renumber();
    }

    /// Takes away a document that was put in; tells whether there was one.
    pub fn remove(&mut self, kind: Kind, id: &str) -> bool {
        let outside = matches!(kind, Kind::Own | Kind::Run);
        let Some(item) = self.by_id.get(&(kind, id.to_owned())).copied().filter(|_| outside) else {
            return false;
        };
        self.empty(item);
        self.renumber();
        self.by_id.remove(&(kind, id.to_owned()));
        true
    }

    fn add_extra(&mut self, extra: &Extra) {
        match extra {
            Extra::Own(note) => {
                let item = self.item(Kind::Own, &note.id, note.phase, note.layer);
                self.add(item, document::of_own(note));
            }
            Extra::Run(run) => {
                let lab = infralab_labs::find_lab(&run.lab);
                let phase = lab.map(|lab| lab.phase);
                let titles = lab.map(|lab| [&lab.title.en, &lab.title.zh]);
                let item = self.item(Kind::Run, &run.id, phase, None);
                for (i, lang) in Lang::ALL.into_iter().enumerate() {
                    let lab = titles.map_or(run.lab.as_str(), |titles| titles[i].as_str());
                    let title = format!("{lab} · {} · {}", run.device, run.date);
                    let document = document::of_run(run, &title);
                    self.add(item, Document { lang: Some(lang), ..document });
                }
            }
        }
    }

    /// The item of this kind and id, without documents.
    fn item(&mut self, kind: Kind, id: &str, phase: Option<u8>, layer: Option<Layer>) -> usize {
        if let Some(item) = self.by_id.get(&(kind, id.to_owned())).copied() {
            self.empty(item);
            (self.items[item].phase, self.items[item].layer) = (phase, layer);
            return item;
        }
        let item = self.items.len();
        self.items.push(Item { kind, id: id.to_owned(), phase, layer, docs: Vec::new() });
        self.by_id.insert((kind, id.to_owned()), item);
        item
    }

    fn add(&mut self, item: usize, document: Document<'_>) {
        let doc = self.corpus.add(item, document);
        self.items[item].docs.push(doc);
    }

    fn empty(&mut self, item: usize) {
        for doc in std::mem::take(&mut self.items[item].docs) {
            self.corpus.remove(doc);
        }
    }

    fn renumber(&mut self) {
        if let Some(new) = self.corpus.renumber() {
            for doc in self.items.iter_mut().flat_map(|item| &mut item.docs) {
                *doc = new[*doc as usize].unwrap_or(*doc);
            }
        }
    }
}
