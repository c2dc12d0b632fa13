//! Notes and terms: what a learner reads. Loaded once from the text embedded in the program or from a directory on
//! disk; a file that cannot be read becomes a [`Fault`] and never hides the others.

mod anchor;
mod check;
mod glossary;
mod links;
mod note;
mod source;
mod term_text;

use std::collections::HashMap;

pub(crate) use anchor::Anchors;
pub use check::check;
pub use glossary::{Distinction, Term, slug};
pub use links::{WikiLink, wiki_links};
pub use note::{Heading, Layer, Note, NoteText, headings};
pub use source::Source;

/// Everything to read, with lookups.
#[derive(Debug, Default)]
pub struct Library {
    /// In the order of the route.
    pub notes: Vec<Note>,
    /// In the order of the files, layer by layer.
    pub terms: Vec<Term>,
    /// What could not be loaded.
    pub faults: Vec<Fault>,
    note_by_id: HashMap<String, usize>,
    term_by_name: HashMap<String, usize>,
}

/// Something wrong with a file of the library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// File, relative to the library's root.
    pub file: String,
    /// What is wrong, and what to do where that is not plain.
    pub problem: String,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.file, self.problem)
    }
}

/// What a link leads to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Target {
    /// A note, by id.
    Note(String),
    /// A term, by id.
    Term(String),
    /// A lab, by id.
    Lab(String),
}

impl Library {
    /// Reads everything under `source`.
    pub fn load(source: &Source) -> Self {
        let mut library = Self::default();
        let files = source.files(&mut library.faults);
        note::collect(&files, &mut library.notes, &mut library.faults);
        glossary::collect(&files, &mut library.terms, &mut library.faults);
        library.notes.sort_by(|a, b| (a.phase, a.order, &a.id).cmp(&(b.phase, b.order, &b.id)));
        library.note_by_id = library.notes.iter().enumerate().map(|(i, n)| (n.id.clone(), i)).collect();
        // Exact ids win over names, names over aliases; the lint reports collisions.
        for (i, term) in library.terms.iter().enumerate() {
            library.term_by_name.insert(term.id.clone(), i);
        }
        for (i, term) in library.terms.iter().enumerate() {
            for name in [&term.en, &term.zh].into_iter().chain(&term.aliases) {
                library.term_by_name.entry(glossary::fold(name)).or_insert(i);
            }
        }
        library
    }

    /// The note with this id.
    pub fn note(&self, id: &str) -> Option<&Note> {
        self.note_by_id.get(id).map(|i| &self.notes[*i])
    }

    /// The term with this id, name or alias, in either language, without regard to case.
    pub fn term(&self, name: &str) -> Option<&Term> {
        self.term_by_name
            .get(name)
            .or_else(|| self.term_by_name.get(&glossary::fold(name)))
            .map(|i| &self.terms[*i])
    }

    /// What `[[name]]` leads to: a note, else a term, else a lab.
    pub fn resolve(&self, name: &str) -> Option<Target> {
        if let Some(note) = self.note(name) {
            return Some(Target::Note(note.id.clone()));
        }
        if let Some(term) = self.term(name) {
            return Some(Target::Term(term.id.clone()));
        }
        infralab_labs::find_lab(name).map(|lab| Target::Lab(lab.id.clone()))
    }

    /// Notes that link to this target, or name it among their terms or labs.
    pub fn backlinks(&self, target: &Target) -> Vec<&Note> {
        self.notes
            .iter()
            .filter(|note| {
                let listed = match target {
                    Target::Note(id) => note.needs.contains(id),
                    Target::Term(id) => note.terms.contains(id),
                    Target::Lab(id) => note.labs.contains(id),
                };
                let linked = || {
                    wiki_links(&note.text.en.body).any(|l| self.resolve(l.target).as_ref() == Some(target))
                };
                *target != Target::Note(note.id.clone()) && (listed || linked())
            })
            .collect()
    }

    /// Terms that need this one.
    pub fn dependents(&self, id: &str) -> Vec<&Term> {
        self.terms.iter().filter(|t| t.needs.iter().any(|n| n == id)).collect()
    }
}
