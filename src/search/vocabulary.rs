//! Every token of the library, numbered. A query is resolved against it once, so what is found, how it is ranked and
//! what is highlighted cannot disagree.

use std::collections::HashMap;

use super::analyze::Stems;

/// Number of a token in the [`Vocabulary`].
pub(super) type WordId = u32;

/// Shortest word for which a typing error is forgiven, in characters.
const MIN_TYPO_CHARS: usize = 5;

#[derive(Debug)]
struct Word {
    text: Box<str>,
    /// Empty for a Han character.
    stem: Box<str>,
}

/// Tokens by number, text, stem and beginning.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    words: Vec<Word>,
    ids: HashMap<Box<str>, WordId>,
    by_stem: HashMap<Box<str>, Vec<WordId>>,
    /// Words (no Han characters) in alphabetical order.
    sorted: Vec<WordId>,
}

impl Vocabulary {
    /// Number of the token, given now if it is new.
    pub(super) fn intern(&mut self, text: &str, han: bool, stems: &mut Stems) -> WordId {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = self.words.len() as WordId;
        let stem: Box<str> = if han { "".into() } else { stems.stem(text).into() };
        if !han {
            self.by_stem.entry(stem.clone()).or_default().push(id);
            self.sorted.push(id);
        }
        self.ids.insert(text.into(), id);
        self.words.push(Word { text: text.into(), stem });
        id
    }

    /// Puts the words in order; to be called after the last [`Self::intern`].
    pub(super) fn finish(&mut self) {
        let Self { words, sorted, .. } = self;
        sorted.sort_unstable_by(|a, b| words[*a as usize].text.cmp(&words[*b as usize].text));
    }

    /// How many tokens there are.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// Number of exactly this token.
    pub(super) fn id(&self, text: &str) -> Option<WordId> {
        self.ids.get(text).copied()
    }

    /// Text of a token.
    pub(super) fn text(&self, id: WordId) -> &str {
        &self.words[id as usize].text
    }

    /// Stem of a word; empty for a Han character.
    pub(super) fn stem(&self, id: WordId) -> &str {
        &self.words[id as usize].stem
    }

    /// Words with this stem.
    pub(super) fn with_stem(&self, stem: &str) -> &[WordId] {
        self.by_stem.get(stem).map_or(&[], Vec::as_slice)
    }

    /// Words that begin so.
    pub(super) fn with_prefix(&self, prefix: &str) -> &[WordId] {
        let from = self.sorted.partition_point(|id| self.text(*id) < prefix);
        let count = self.sorted[from..].partition_point(|id| self.text(*id).starts_with(prefix));
        &self.sorted[from..from + count]
    }

    /// Words one typing error away: a letter too many, missing, wrong, or two swapped. With `prefix`, words whose
    /// beginning is.
    pub(super) fn within_one_error(&self, word: &str, prefix: bool) -> Vec<WordId> {
        let typed: Vec<char> = word.chars().collect();
        // A number with another digit is another number.
        if typed.len() < MIN_TYPO_CHARS || !typed.iter().all(|c| c.is_alphabetic()) {
            return Vec::new();
        }
        let (mut near, mut other) = (Vec::new(), Vec::new());
        for id in &self.sorted {
            // One error cannot replace both of the first two letters: most words end here.
            let mut letters = self.text(*id).chars();
            let (a, b) = (letters.next(), letters.next());
            if ![a, b].iter().flatten().any(|c| typed[..2].contains(c)) {
                continue;
            }
            other.clear();
            other.extend(self.text(*id).chars().take(typed.len() + 2));
            let is_near = if prefix {
                (typed.len() - 1..=typed.len() + 1)
                    .any(|n| other.get(..n).is_some_and(|beginning| one_error_apart(&typed, beginning)))
            } else {
                one_error_apart(&typed, &other)
            };
            if is_near {
                near.push(*id);
            }
        }
        near
    }
}

/// Whether one insertion, deletion, replacement or swap of neighbours makes `a` into `b`, or nothing does.
fn one_error_apart(a: &[char], b: &[char]) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if long.len() - short.len() > 1 {
        return false;
    }
    let Some(at) = (0..short.len()).find(|i| short[*i] != long[*i]) else { return true };
    if short.len() < long.len() {
        return short[at..] == long[at + 1..];
    }
    short[at + 1..] == long[at + 1..]
        || at + 1 < short.len()
            && short[at] == long[at + 1]
            && short[at + 1] == long[at]
            && short[at + 2..] == long[at + 2..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Vocabulary {
        let (mut vocabulary, mut stems) = (Vocabulary::default(), Stems::new());
        for word in words {
            vocabulary.intern(word, false, &mut stems);
        }
        vocabulary.finish();
        vocabulary
    }

    fn texts<'a>(vocabulary: &'a Vocabulary, ids: &[WordId]) -> Vec<&'a str> {
        ids.iter().map(|id| vocabulary.text(*id)).collect()
    }

    #[test]
    fn prefixes_and_stems_lead_to_words() {
        let v = of(&["caching", "cached", "cat", "decode", "cache"]);
        assert_eq!(texts(&v, v.with_prefix("ca")), ["cache", "cached", "caching", "cat"]);
        assert_eq!(texts(&v, v.with_prefix("dex")), [""; 0]);
        assert_eq!(texts(&v, v.with_stem("cach")), ["caching", "cached", "cache"]);
    }

    #[test]
    fn one_typing_error_is_forgiven_in_long_words_only() {
        let v = of(&["attention", "cache", "8192", "attend"]);
        for typed in ["atention", "attenttion", "attentoin", "attenxion"] {
            assert_eq!(texts(&v, &v.within_one_error(typed, false)), ["attention"], "{typed}");
        }
        assert!(v.within_one_error("cche", false).is_empty());
        assert!(v.within_one_error("atteniton1", false).is_empty());
        assert_eq!(texts(&v, &v.within_one_error("attne", true)), ["attend", "attention"]);
        assert!(v.within_one_error("attentixm", false).is_empty());
    }

    proptest::proptest! {
        #[test]
        fn the_distance_is_symmetric(a in "[abc]{0,6}", b in "[abc]{0,6}") {
            let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
            proptest::prop_assert_eq!(one_error_apart(&a, &b), one_error_apart(&b, &a));
        }
    }
}
