//! What a query asks for. There is no query language: punctuation separates words and nothing else, so no input is
//! an error.

use super::analyze::{Stems, Token, compact, is_stop_word, split_at_stop_words, tokens};
use super::vocabulary::{Vocabulary, WordId};

/// What follows is ignored: nobody searches for more, and a pasted page must not stop the keyboard.
const MAX_QUERY_CHARS: usize = 200;

/// Most units of a query; a snippet's finder counts them in the bits of a word.
const MAX_UNITS: usize = 32;

/// How strictly a query is read. The first reading that finds something is the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// Every word, and every run of Han characters as it stands.
    Whole,
    /// Runs of Han characters split at function words, as in 什么是显存.
    Split,
    /// Half of the words and pairs of Han characters.
    Half,
}

impl Reading {
    pub(super) const ALL: [Self; 3] = [Self::Whole, Self::Split, Self::Half];
}

/// One thing to find: a word, or a run of Han characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    /// Tokens that match, place by place, in the order of their numbers.
    pub(super) places: Vec<Vec<WordId>>,
    /// How it is looked up.
    pub(super) form: Form,
    /// Position in the query, counted in tokens.
    pub(super) at: usize,
}

/// How a [`Unit`] is looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Form {
    /// A word as typed, its other forms, and with `prefix` the words that begin with it.
    Word {
        /// Folded text.
        text: String,
        /// Stem.
        stem: String,
        /// Whether it may be the beginning of a word: it is the last one and may still be growing.
        prefix: bool,
    },
    /// Nothing is written so; these words are one typing error away.
    Typo,
    /// Two words typed as one.
    Pair,
    /// Han characters in a row.
    Han(String),
}

impl Unit {
    /// Whether anything in the library can match.
    pub(super) fn is_known(&self) -> bool {
        self.places.iter().all(|words| !words.is_empty())
    }
}

/// A query in one reading.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Query {
    /// What must be found.
    pub(super) units: Vec<Unit>,
    /// The query as one name, with and without its function words.
    pub(super) names: Vec<String>,
}

/// Reads a query.
pub(super) fn read(text: &str, reading: Reading, vocabulary: &Vocabulary) -> Query {
    let text = text.char_indices().nth(MAX_QUERY_CHARS).map_or(text, |(end, _)| &text[..end]);
    let tokens = tokens(text);
    let has_content = tokens.iter().any(|t| t.han || !is_stop_word(&t.text));
    let mut reader = Reader { vocabulary, stems: Stems::new(), units: Vec::new(), kept: String::new() };
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let run = han_run(&tokens[at..]);
        if run > 0 {
            let run_text: String = tokens[at..at + run].iter().map(|t| t.text.as_str()).collect();
            reader.han(&run_text, reading, at);
            at += run;
            continue;
        }
        if !has_content || !is_stop_word(&token.text) {
            reader.word(&token.text, at + 1 == tokens.len(), at);
        }
        at += 1;
    }
    let mut names = vec![compact(text), reader.kept];
    names.dedup();
    names.retain(|n| !n.is_empty());
    let mut units = reader.units;
    if reading == Reading::Half {
        units.retain(Unit::is_known);
    }
    units.truncate(MAX_UNITS);
    Query { units, names }
}

/// Length of the unbroken run of Han characters at the beginning.
fn han_run(tokens: &[Token]) -> usize {
    let mut length = 0;
    while tokens
        .get(length)
        .is_some_and(|t| t.han && (length == 0 || tokens[length - 1].range.end == t.range.start))
    {
        length += 1;
    }
    length
}

struct Reader<'a> {
    vocabulary: &'a Vocabulary,
    stems: Stems,
    units: Vec<Unit>,
    /// Text of the units, for names.
    kept: String,
}

impl Reader<'_> {
    fn han(&mut self, run: &str, reading: Reading, at: usize) {
        let pieces = if reading == Reading::Whole { vec![run] } else { split_at_stop_words(run) };
        for piece in pieces {
            self.kept.push_str(piece);
            let offset = run[..piece.as_ptr() as usize - run.as_ptr() as usize].chars().count();
            let chars: Vec<char> = piece.chars().collect();
            if reading == Reading::Half && chars.len() > 2 {
                for (i, pair) in chars.windows(2).enumerate() {
                    self.push_han(pair, at + offset + i);
                }
            } else {
                self.push_han(&chars, at + offset);
            }
        }
    }

    fn push_han(&mut self, chars: &[char], at: usize) {
        let mut buffer = [0; 4];
        let places = chars
            .iter()
            .map(|c| self.vocabulary.id(c.encode_utf8(&mut buffer)).into_iter().collect())
            .collect();
        self.push(Unit { places, form: Form::Han(chars.iter().collect()), at });
    }

    fn word(&mut self, text: &str, prefix: bool, at: usize) {
        self.kept.push_str(text);
        let stem = self.stems.stem(text);
        let mut words: Vec<WordId> = self.vocabulary.id(text).into_iter().collect();
        words.extend(self.vocabulary.with_stem(&stem));
        if prefix {
            words.extend(self.vocabulary.with_prefix(text));
        }
        let (places, form) = if !words.is_empty() {
            (vec![words], Form::Word { text: text.into(), stem, prefix })
        } else if let Some((first, second)) = self.two_words(text) {
            (vec![vec![first], vec![second]], Form::Pair)
        } else {
            (vec![self.vocabulary.within_one_error(text, prefix)], Form::Typo)
        };
        self.push(Unit { places, form, at });
    }

    /// `kvcache` is `kv cache` where only the two words are written.
    fn two_words(&self, text: &str) -> Option<(WordId, WordId)> {
        text.char_indices().skip(2).find_map(|(cut, _)| {
            let (first, second) = text.split_at(cut);
            let both = self.vocabulary.id(first).zip(self.vocabulary.id(second));
            both.filter(|_| second.chars().count() >= 2)
        })
    }

    fn push(&mut self, mut unit: Unit) {
        for words in &mut unit.places {
            words.sort_unstable();
            words.dedup();
        }
        if self.units.iter().all(|u| u.form != unit.form || u.places != unit.places) {
            self.units.push(unit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary() -> Vocabulary {
        let (mut v, mut stems) = (Vocabulary::default(), Stems::new());
        for token in tokens("KV cache caching attention attend 显存带宽 注意力 a of token") {
            v.intern(&token.text, token.han, &mut stems);
        }
        v.finish();
        v
    }

    fn shown(text: &str, reading: Reading) -> Vec<String> {
        let v = vocabulary();
        let show = |u: Unit| {
            let places = u.places.iter().map(|p| p.iter().map(|w| v.text(*w)).collect::<Vec<_>>().join("/"));
            places.collect::<Vec<_>>().join("+")
        };
        read(text, reading, &v).units.into_iter().map(show).collect()
    }

    #[test]
    fn words_runs_and_beginnings() {
        assert_eq!(shown("KV缓存", Reading::Whole), ["kv", "+存"]);
        assert_eq!(shown("caching att", Reading::Whole), ["cache/caching", "attention/attend"]);
        assert_eq!(shown("显存带宽", Reading::Whole), ["显+存+带+宽"]);
        assert_eq!(shown("显存带宽", Reading::Half), ["显+存", "存+带", "带+宽"]);
        assert_eq!(shown("显存的带宽", Reading::Split), ["显+存", "带+宽"]);
    }

    #[test]
    fn function_words_go_unless_they_are_all() {
        assert_eq!(shown("what is a token", Reading::Whole), ["token"]);
        assert_eq!(shown("of a", Reading::Whole), ["of", "attention/attend/a"]);
        let names = read("what is a KV-cache?", Reading::Whole, &vocabulary()).names;
        assert_eq!(names, ["whatisakvcache", "kvcache"]);
    }

    #[test]
    fn slips_are_forgiven() {
        assert_eq!(shown("atention x", Reading::Half), ["attention"]);
        assert_eq!(shown("kvcache", Reading::Whole), ["kv+cache"]);
    }

    #[test]
    fn punctuation_is_nothing() {
        for text in ["", "（）“”", "AND (", ":::", "\"", "*~^", "\u{301}"] {
            let units = read(text, Reading::Whole, &vocabulary()).units;
            assert!(units.len() <= 1, "{text}: {units:?}");
        }
    }
}
