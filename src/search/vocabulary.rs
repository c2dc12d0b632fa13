//! Every token of the index, numbered. A query is resolved against it once, so what is found, how it is ranked and
//! what is highlighted cannot disagree.

use std::collections::HashMap;
use std::sync::Arc;

use super::analyze::{Script, stem};
use super::typo;

/// Number of a token in the [`Vocabulary`].
pub(super) type WordId = u32;

/// Chain end in [`Word::same_stem`].
const NONE: WordId = WordId::MAX;

#[derive(Debug)]
struct Word {
    text: Arc<str>,
    /// The word before it with the same stem.
    same_stem: WordId,
}

/// Tokens by number, text, stem and beginning.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    words: Vec<Word>,
    ids: HashMap<Arc<str>, WordId>,
    /// The newest word of each stem.
    by_stem: HashMap<Arc<str>, WordId>,
    /// Han characters of the basic plane, by code point from [`FIRST_HAN`] on.
    han: Vec<WordId>,
    /// Words (no Han characters) in alphabetical order.
    sorted: Vec<WordId>,
    /// Words that are not sorted in yet.
    unsorted: Vec<WordId>,
}

const FIRST_HAN: u32 = 0x3400;
const LAST_HAN: u32 = 0x9fff;

impl Vocabulary {
    /// Number of the token, given now if it is new.
    pub(super) fn intern(&mut self, text: &str, script: Script) -> WordId {
        if script == Script::Han
            && let Some(slot) = han_slot(text)
        {
            if self.han.is_empty() {
                self.han = vec![NONE; (LAST_HAN - FIRST_HAN + 1) as usize];
            }
            if self.han[slot] == NONE {
                self.han[slot] = self.words.len() as WordId;
                self.words.push(Word { text: text.into(), same_stem: NONE });
            }
            return self.han[slot];
        }
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = self.words.len() as WordId;
        let text: Arc<str> = text.into();
        let mut same_stem = NONE;
        if script != Script::Han {
            let stem = stem(&text);
            let stem = if *stem == *text { text.clone() } else { stem.into() };
            same_stem = self.by_stem.insert(stem, id).unwrap_or(NONE);
            self.unsorted.push(id);
        }
        self.ids.insert(text.clone(), id);
        self.words.push(Word { text, same_stem });
        id
    }

    /// Puts new words in order; to be called after the last [`Self::intern`].
    pub(super) fn sort(&mut self) {
        let Self { words, sorted, unsorted, .. } = self;
        if unsorted.len() > 64 {
            sorted.append(unsorted);
            sorted.sort_unstable_by(|a, b| words[*a as usize].text.cmp(&words[*b as usize].text));
            sorted.shrink_to_fit();
        }
        for id in unsorted.drain(..) {
            let at = sorted.partition_point(|other| words[*other as usize].text < words[id as usize].text);
            sorted.insert(at, id);
        }
    }

    /// Number of exactly this token.
    pub(super) fn id(&self, text: &str) -> Option<WordId> {
        match han_slot(text) {
            Some(slot) => self.han.get(slot).copied().filter(|id| *id != NONE),
            None => self.ids.get(text).copied(),
        }
    }

    /// Text of a token.
    pub(super) fn text(&self, id: WordId) -> &str {
        &self.words[id as usize].text
    }

    /// Words with this stem.
    pub(super) fn with_stem(&self, stem: &str) -> impl Iterator<Item = WordId> {
        let mut at = self.by_stem.get(stem).copied().unwrap_or(NONE);
        std::iter::from_fn(move || {
            let id = (at != NONE).then_some(at)?;
            at = self.words[at as usize].same_stem;
            Some(id)
        })
    }

    /// Words that begin so, in order.
    pub(super) fn with_prefix(&self, prefix: &str) -> &[WordId] {
        let from = self.sorted.partition_point(|id| self.text(*id) < prefix);
        let count = self.sorted[from..].partition_point(|id| self.text(*id).starts_with(prefix));
        &self.sorted[from..from + count]
    }

    /// Words a typing error or, if long, two away from `word`. With `prefix`, words whose beginning is.
    pub(super) fn near(&self, word: &str, prefix: bool) -> Vec<WordId> {
        typo::near(word, prefix, self.sorted.len(), |i| self.text(self.sorted[i]))
            .into_iter()
            .map(|i| self.sorted[i])
            .collect()
    }
}

/// Place of a Han character in [`Vocabulary::han`].
fn han_slot(text: &str) -> Option<usize> {
    let mut chars = text.chars();
    let code = chars.next()? as u32;
    (chars.next().is_none() && (FIRST_HAN..=LAST_HAN).contains(&code)).then(|| (code - FIRST_HAN) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Vocabulary {
        let mut vocabulary = Vocabulary::default();
        for word in words {
            vocabulary.intern(word, Script::Word);
        }
        vocabulary.sort();
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
        let stems: Vec<WordId> = v.with_stem("cach").collect();
        assert_eq!(texts(&v, &stems), ["cache", "cached", "caching"]);
    }

    #[test]
    fn words_that_come_later_are_sorted_in() {
        let mut v = of(&["cat", "cache"]);
        v.intern("cab", Script::Word);
        v.intern("显", Script::Han);
        v.sort();
        assert_eq!(texts(&v, v.with_prefix("ca")), ["cab", "cache", "cat"]);
        assert_eq!(v.id("显").map(|id| v.text(id)), Some("显"));
        assert_eq!(v.id("存"), None);
    }

    #[test]
    fn typing_errors_lead_to_words() {
        let v = of(&["attention", "cache", "8192", "attend"]);
        assert_eq!(texts(&v, &v.near("atention", false)), ["attention"]);
        assert_eq!(texts(&v, &v.near("attne", true)), ["attend", "attention"]);
    }
}
