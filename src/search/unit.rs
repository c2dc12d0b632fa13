//! One thing that a query asks for, resolved into everything that may stand for it: other forms of a word, words that
//! begin with it, typing errors, names in the other language, Chinese names that it sounds like.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;

use super::analyze::{self, is_han};
use super::dictionary::Dictionary;
use super::names::Synonyms;
use super::pinyin::Sounds;
use super::postings::Postings;
use super::vocabulary::{Vocabulary, WordId};

/// What an alternative is worth where the word itself is worth 1.
mod worth {
    pub(super) const OTHER_FORM: f32 = 0.85;
    pub(super) const TWO_WORDS: f32 = 0.9;
    pub(super) const BEGINNING: f32 = 0.5;
    pub(super) const SYNONYM: f32 = 0.5;
    pub(super) const EVERYDAY: f32 = 0.35;
    pub(super) const TYPO: f32 = 0.6;
    pub(super) const SPELLED: f32 = 0.8;
    pub(super) const INITIALS: f32 = 0.5;
}

/// Bytes of lists that the words with one beginning may have: a letter or two is the beginning of too many.
const MOST_PREFIX_BYTES: usize = 60_000;

/// Words that begin with the same letters, at most.
const MOST_PREFIX_WORDS: usize = 200;

/// Units that a name in the glossary may have.
const MOST_UNITS_IN_NAME: usize = 6;

/// Something that may stand in a text for a unit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Alternative {
    /// Tokens side by side, any of each group. No group is empty.
    pub(super) groups: Vec<Vec<WordId>>,
    /// Worth of a match.
    pub(super) worth: f32,
    /// Only titles and other names count.
    pub(super) names_only: bool,
}

/// One thing to find: a word, a run of Han characters, or a phrase.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Unit {
    /// Compact text.
    pub(super) text: String,
    /// What may stand for it.
    pub(super) alternatives: Vec<Alternative>,
    /// It as it is written, to be found beside its neighbours.
    pub(super) literal: Vec<Vec<WordId>>,
    /// Its tokens in the query.
    pub(super) tokens: Range<usize>,
    /// Compact names of the glossary that begin with it.
    pub(super) names: Vec<String>,
    /// It helps to rank, and nothing needs to hold it.
    pub(super) aside: bool,
    /// It was written in quotes.
    pub(super) is_phrase: bool,
    /// It may be the beginning of a word.
    pub(super) growing: bool,
}

impl Unit {
    fn push(&mut self, groups: Vec<Vec<WordId>>, worth: f32, names_only: bool) {
        if groups.is_empty() || groups.iter().any(Vec::is_empty) {
            return;
        }
        match self.alternatives.iter_mut().find(|a| a.groups == groups) {
            Some(known) => {
                known.worth = known.worth.max(worth);
                known.names_only &= names_only;
            }
            None => self.alternatives.push(Alternative { groups, worth, names_only }),
        }
    }

    /// Whether nothing can match.
    pub(super) fn is_unknown(&self) -> bool {
        self.alternatives.is_empty()
    }

    /// Whether it is Chinese.
    pub(super) fn is_han(&self) -> bool {
        self.text.starts_with(is_han)
    }

    /// Words or single Han characters exactly as they are.
    pub(super) fn phrase<'a>(tokens: impl Iterator<Item = &'a str>, resolver: &Resolver<'_>) -> Self {
        let tokens: Vec<&str> = tokens.collect();
        let mut unit = Self { text: tokens.concat(), is_phrase: true, ..Self::default() };
        unit.literal = resolver.exactly(&tokens);
        unit.push(unit.literal.clone(), 1.0, false);
        unit
    }

    /// A run of Han characters.
    pub(super) fn han(run: &str, growing: bool, resolver: &Resolver<'_>) -> Self {
        let mut buffer = [0; 4];
        let groups: Vec<Vec<WordId>> = run
            .chars()
            .map(|c| resolver.vocabulary.id(c.encode_utf8(&mut buffer)).into_iter().collect())
            .collect();
        let mut unit = Self { text: run.to_owned(), growing, ..Self::default() };
        unit.push(groups.clone(), 1.0, false);
        unit.literal = groups;
        unit
    }

    /// A word; when it is `growing`, also what begins with it.
    pub(super) fn word(word: &str, growing: bool, resolver: &Resolver<'_>) -> Self {
        let mut unit = Self { text: word.to_owned(), growing, ..Self::default() };
        let forms = unit.forms(word, growing, resolver);
        if let Some(two) = resolver.two_words(word) {
            unit.push(two, worth::TWO_WORDS, false);
        }
        let is_word = !forms.is_empty();
        unit.literal = vec![forms];
        let mut heard = false;
        for meant in resolver.sounds.meant(word, growing) {
            // An English word is rarely meant as a sound.
            if is_word && !meant.whole {
                continue;
            }
            heard |= meant.spelled;
            let worth = if meant.spelled { worth::SPELLED } else { worth::INITIALS };
            let worth = if is_word { worth / 2.0 } else { worth };
            unit.push(resolver.exactly(&meant.tokens), worth, !meant.spelled);
            unit.names.extend((meant.whole && !is_word).then(|| meant.tokens.concat()));
        }
        if unit.is_unknown() || !is_word && !heard {
            unit.push(vec![resolver.near(word, growing)], worth::TYPO, false);
        }
        unit
    }

    /// Words with hyphens between them.
    pub(super) fn compound(joined: &str, parts: &[&str], growing: bool, resolver: &Resolver<'_>) -> Self {
        let mut unit = Self { text: joined.to_owned(), growing, ..Self::default() };
        let mut groups = resolver.exactly(parts);
        if let (Some(last), Some(part)) = (groups.last_mut(), parts.last()) {
            last.extend(resolver.forms(part, growing));
            last.sort_unstable();
            last.dedup();
        }
        unit.push(groups.clone(), 1.0, false);
        unit.literal = groups;
        unit.forms(joined, growing, resolver);
        if let Some(two) = resolver.two_words(joined) {
            unit.push(two, worth::TWO_WORDS, false);
        }
        unit
    }

    /// Adds the word, its other forms and its continuations; returns all of them.
    fn forms(&mut self, word: &str, growing: bool, resolver: &Resolver<'_>) -> Vec<WordId> {
        if let Some(id) = resolver.vocabulary.id(word) {
            self.push(vec![vec![id]], 1.0, false);
        }
        let forms = resolver.forms(word, false);
        self.push(vec![forms.clone()], worth::OTHER_FORM, false);
        if !growing {
            return forms;
        }
        let longer = resolver.forms(word, true);
        self.push(vec![longer.clone()], worth::BEGINNING, false);
        longer
    }
}

/// Everything against which a query is resolved.
pub(super) struct Resolver<'a> {
    pub(super) vocabulary: &'a Vocabulary,
    pub(super) postings: &'a Postings,
    pub(super) dictionary: &'a Dictionary,
    pub(super) synonyms: &'a Synonyms,
    pub(super) everyday: &'a Synonyms,
    pub(super) sounds: &'a Sounds,
    /// Words near a word, and near its beginning: every reading asks for them again.
    pub(super) near: RefCell<HashMap<(String, bool), Vec<WordId>>>,
}

impl Resolver<'_> {
    /// The tokens as they are; a token that nobody wrote leaves its group empty.
    fn exactly(&self, tokens: &[impl AsRef<str>]) -> Vec<Vec<WordId>> {
        tokens.iter().map(|t| self.vocabulary.id(t.as_ref()).into_iter().collect()).collect()
    }

    /// The word with its other forms, and with `growing` what begins with it.
    fn forms(&self, word: &str, growing: bool) -> Vec<WordId> {
        let mut forms: Vec<WordId> = self.vocabulary.id(word).into_iter().collect();
        forms.extend(self.vocabulary.with_stem(&analyze::stem(word)));
        if growing {
            forms.extend(self.affordable(self.vocabulary.with_prefix(word).to_vec()));
        }
        forms.sort_unstable();
        forms.dedup();
        forms
    }

    /// Words that this one may have been meant to be.
    fn near(&self, word: &str, growing: bool) -> Vec<WordId> {
        let mut near = self.near.borrow_mut();
        let near = near.entry((word.to_owned(), growing));
        near.or_insert_with(|| self.affordable(self.vocabulary.near(word, growing))).clone()
    }

    /// As many of these words as can be looked up while a key is pressed, the most frequent first.
    fn affordable(&self, mut words: Vec<WordId>) -> Vec<WordId> {
        words.sort_by_cached_key(|w| std::cmp::Reverse(self.postings.weight(*w)));
        words.truncate(MOST_PREFIX_WORDS);
        let mut bytes = 0;
        words.retain(|w| {
            let more = bytes + self.postings.weight(*w);
            let fits = more <= MOST_PREFIX_BYTES;
            if fits {
                bytes = more;
            }
            fits
        });
        words.sort_unstable();
        words
    }

    /// `kvcache` is `kv cache` where the two words are written.
    fn two_words(&self, text: &str) -> Option<Vec<Vec<WordId>>> {
        text.char_indices().skip(2).find_map(|(cut, _)| {
            let (first, second) = text.split_at(cut);
            let both = self.vocabulary.id(first).zip(self.vocabulary.id(second))?;
            (second.chars().nth(1).is_some()).then(|| vec![vec![both.0], vec![both.1]])
        })
    }

    /// Whether this run of Han characters stands somewhere.
    pub(super) fn is_written(&self, run: &str) -> bool {
        let chars: Vec<String> = run.chars().map(String::from).collect();
        let groups = self.exactly(&chars);
        groups.iter().all(|g| !g.is_empty()) && !self.postings.of_phrase(&groups, None).docs().is_empty()
    }

    /// Finds what units are together: a name of the glossary, one word, or the sound of a Chinese name. `tokens` are
    /// those of the whole query. Gives the names that all units together may mean.
    pub(super) fn relate(&self, units: &mut [Unit], tokens: &[&str]) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        if let [unit] = &*units {
            names.extend(unit.names.iter().cloned());
        }
        for (meanings, worth) in [(self.synonyms, worth::SYNONYM), (self.everyday, worth::EVERYDAY)] {
            let mut at = 0;
            while at < units.len() {
                let Some((count, name)) = known_name(&units[at..], tokens, meanings) else {
                    at += 1;
                    continue;
                };
                let others: Vec<Vec<Vec<WordId>>> = meanings.others(&name).map(|t| self.exactly(t)).collect();
                for unit in units[at..at + count].iter_mut().filter(|u| !u.is_phrase) {
                    for other in &others {
                        unit.push(other.clone(), worth, false);
                    }
                }
                if worth == worth::SYNONYM {
                    let same: Vec<String> = meanings.same(&name).collect();
                    if count == units.len() {
                        names.extend(same.iter().cloned());
                    }
                    units[at].names.extend(same);
                    units[at..at + count].iter_mut().for_each(|unit| unit.aside = false);
                }
                at += count;
            }
        }
        for count in 2..=MOST_UNITS_IN_NAME.min(units.len()) {
            for at in 0..=units.len() - count {
                let whole = self.relate_words(&mut units[at..at + count]);
                names.extend(whole.into_iter().filter(|_| count == units.len()));
            }
        }
        names
    }

    /// Words that are one word when written together, or sound like a Chinese name. Gives the whole names.
    fn relate_words(&self, units: &mut [Unit]) -> Vec<String> {
        if !units.iter().all(|u| !u.is_phrase && u.text.bytes().all(|b| b.is_ascii_alphanumeric())) {
            return Vec::new();
        }
        let together: String = units.iter().map(|u| u.text.as_str()).collect();
        let growing = units.last().is_some_and(|u| u.growing);
        let one_word = self.forms(&together, false);
        for unit in units.iter_mut() {
            unit.push(vec![one_word.clone()], worth::TWO_WORDS, false);
        }
        if units.iter().all(|u| self.vocabulary.id(&u.text).is_some()) {
            return Vec::new();
        }
        let mut names = Vec::new();
        for meant in self.sounds.meant(&together, growing).into_iter().filter(|m| m.spelled) {
            let groups = self.exactly(&meant.tokens);
            for unit in units.iter_mut() {
                unit.push(groups.clone(), worth::SPELLED, false);
            }
            names.extend(meant.whole.then(|| meant.tokens.concat()));
        }
        names
    }
}

/// The longest name with which the units begin, and of how many it is.
fn known_name(units: &[Unit], tokens: &[&str], meanings: &Synonyms) -> Option<(usize, String)> {
    (1..=MOST_UNITS_IN_NAME.min(units.len())).rev().find_map(|count| {
        let range = units[0].tokens.start..units[count - 1].tokens.end;
        let name = tokens.get(range)?.concat();
        meanings.knows(&name).then_some((count, name))
    })
}
