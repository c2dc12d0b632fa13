//! Names: of documents, for queries that are a name, and of terms, which have several in two languages.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use super::analyze::{Script, compact, stem, tokens};
use super::postings::DocId;

/// Names of documents, compact as [`compact`] makes them.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Documents with this name, and whether it is only another name of theirs.
    documents: BTreeMap<Box<str>, Vec<(DocId, bool)>>,
}

impl Names {
    /// Adds a compact name of a document.
    pub(super) fn add(&mut self, name: &str, doc: DocId, other: bool) {
        if name.is_empty() {
            return;
        }
        let documents = self.documents.entry(name.into()).or_default();
        match documents.iter_mut().find(|(d, _)| *d == doc) {
            Some((_, was_other)) => *was_other &= other,
            None => documents.push((doc, other)),
        }
    }

    /// Takes a document's name away.
    pub(super) fn remove(&mut self, name: &str, doc: DocId) {
        if let Some(documents) = self.documents.get_mut(name) {
            documents.retain(|(d, _)| *d != doc);
            if documents.is_empty() {
                self.documents.remove(name);
            }
        }
    }

    /// Numbers the documents anew; those without a number are gone.
    pub(super) fn renumber(&mut self, new: &[Option<DocId>]) {
        for documents in self.documents.values_mut() {
            documents.retain_mut(|(doc, _)| new[*doc as usize].map(|n| *doc = n).is_some());
        }
        self.documents.retain(|_, documents| !documents.is_empty());
    }

    /// Documents of this name.
    pub(super) fn exactly(&self, name: &str) -> &[(DocId, bool)] {
        self.documents.get(name).map_or(&[], Vec::as_slice)
    }

    /// Documents whose name goes on behind this one.
    pub(super) fn beginning(&self, name: &str) -> impl Iterator<Item = (DocId, bool)> {
        let after = (Bound::Excluded(name), Bound::Unbounded);
        self.documents
            .range::<str, _>(after)
            .take_while(move |(n, _)| n.starts_with(name))
            .flat_map(|(_, documents)| documents.iter().copied())
    }
}

/// Everyday words for what texts call otherwise: a line for each meaning, in both languages.
const EVERYDAY: &str = include_str!("everyday.txt");

/// The names of each term: any of them may stand for the others.
#[derive(Debug, Default)]
pub(super) struct Synonyms {
    terms: HashMap<String, Vec<usize>>,
    /// Tokens of each name of each term.
    names: Vec<Vec<Vec<String>>>,
}

impl Synonyms {
    /// What people say in a question for what a text calls otherwise.
    pub(super) fn everyday() -> Self {
        let mut everyday = Self::default();
        for line in EVERYDAY.lines() {
            everyday.add(line.split(',').map(str::trim));
        }
        everyday
    }

    /// Adds a term by all its names.
    pub(super) fn add<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        let term = self.names.len();
        let mut all = Vec::new();
        for name in names {
            let terms = self.terms.entry(key(&compact(name))).or_default();
            if !terms.contains(&term) {
                terms.push(term);
            }
            let tokens: Vec<String> =
                tokens(name).into_iter().filter(|t| t.script != Script::Joined).map(|t| t.text).collect();
            if !tokens.is_empty() && !all.contains(&tokens) {
                all.push(tokens);
            }
        }
        self.names.push(all);
    }

    /// Whether it is a name of a term, in any form of its last word.
    pub(super) fn knows(&self, compact: &str) -> bool {
        self.terms.contains_key(&key(compact))
    }

    /// The names that differ from this compact one at most in the form of their last word.
    pub(super) fn same(&self, compact: &str) -> impl Iterator<Item = String> {
        let key = key(compact);
        let terms = self.terms.get(&key).map_or(&[][..], Vec::as_slice);
        let names = terms.iter().flat_map(|term| &self.names[*term]).map(|tokens| tokens.concat());
        let mut same: Vec<String> = names.filter(|name| self::key(name) == key).collect();
        // FLOP/s is no form of FLOPs.
        if same.iter().any(|name| name == compact) {
            same = vec![compact.to_owned()];
        }
        same.into_iter()
    }

    /// Other names of the terms with this compact name, as tokens.
    pub(super) fn others(&self, compact: &str) -> impl Iterator<Item = &[String]> {
        let key = key(compact);
        let terms = self.terms.get(&key).map_or(&[][..], Vec::as_slice);
        let names = terms.iter().flat_map(|term| &self.names[*term]);
        names.filter(move |tokens| self::key(&tokens.concat()) != key).map(Vec::as_slice)
    }
}

fn key(compact: &str) -> String {
    stem(compact)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_found_by_name_and_by_its_beginning() {
        let mut names = Names::default();
        names.add("kvcache", 0, false);
        names.add("kvcachesize", 1, true);
        names.add("kvcache", 2, true);
        assert_eq!(names.exactly("kvcache"), [(0, false), (2, true)]);
        assert_eq!(names.beginning("kvc").collect::<Vec<_>>(), [(0, false), (2, true), (1, true)]);
        assert_eq!(names.beginning("kvcache").collect::<Vec<_>>(), [(1, true)]);
        names.remove("kvcache", 0);
        names.renumber(&[None, Some(0), Some(1)]);
        assert_eq!(names.beginning("k").collect::<Vec<_>>(), [(1, true), (0, true)]);
    }

    #[test]
    fn a_name_leads_to_the_others_of_its_term() {
        let mut synonyms = Synonyms::default();
        synonyms.add(["GPU memory", "显存", "VRAM"].into_iter());
        let others = |name: &str| synonyms.others(name).map(|t| t.join(" ")).collect::<Vec<_>>();
        assert_eq!(others("显存"), ["gpu memory", "vram"]);
        assert_eq!(others("gpumemories"), ["显 存", "vram"]);
        assert_eq!(others("memory"), [""; 0]);
        assert!(synonyms.knows("vrams") && !synonyms.knows("ram"));
    }
}
