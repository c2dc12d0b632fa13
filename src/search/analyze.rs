//! Text to tokens, the same for documents, queries and highlights: NFKC and lower case; a run of letters and digits
//! is one word, every Han character is a token of its own, and a word with hyphens is also one word without them.

use std::ops::Range;

use frostem::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Longest word that is told apart, in characters: a hash or a key is still found by its beginning.
const MAX_WORD_CHARS: usize = 64;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    /// A Han character (or kana, which is written without spaces too).
    Han,
    /// A word.
    Word,
    /// Words with hyphens between them, once more without: `prefill` for `pre-fill`.
    Joined,
}

/// A token and where it stands in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// Folded text: one Han character, or a word.
    pub(super) text: String,
    /// Bytes of the original text.
    pub(super) range: Range<usize>,
    /// What it is.
    pub(super) script: Script,
    /// Place in the text, counted in Han characters and words. A joined word stands where its first part does.
    pub(super) place: u32,
}

impl Token {
    /// Whether it is a Han character.
    pub(super) fn is_han(&self) -> bool {
        self.script == Script::Han
    }
}

/// Tokens by place, a joined word before its parts. Combining marks go with their base, so a range never splits a
/// composed character.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::with_capacity(text.len() / 4);
    scan(text, |text, range, script, place| {
        found.push(Token { text: text.to_owned(), range, script, place });
    });
    found.sort_by_key(|t| (t.place, t.script != Script::Joined));
    found
}

/// Gives every token in turn without keeping any, a joined word after its parts; returns how many places there are.
pub(super) fn scan(text: &str, each: impl FnMut(&str, Range<usize>, Script, u32)) -> u32 {
    let mut scanner = Scanner {
        each,
        word: String::new(),
        span: 0..0,
        compound: Compound::default(),
        place: 0,
        broken: false,
        after_han: false,
    };
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        let mut end = start + c.len_utf8();
        while let Some((at, mark)) = chars.next_if(|(_, m)| *m >= FIRST_MARK && is_combining_mark(*m)) {
            end = at + mark.len_utf8();
        }
        fold(&text[start..end], c, |c| scanner.take(c, start..end, &text[end..]));
    }
    scanner.end_word();
    scanner.end_compound();
    scanner.place
}

/// No combining mark comes before it.
const FIRST_MARK: char = '\u{300}';

struct Scanner<F> {
    each: F,
    word: String,
    span: Range<usize>,
    compound: Compound,
    place: u32,
    /// Punctuation stands behind the Han character before: what follows is not beside it.
    broken: bool,
    after_han: bool,
}

/// Words with single hyphens between them.
#[derive(Default)]
struct Compound {
    text: String,
    span: Range<usize>,
    parts: u32,
    place: u32,
    /// A hyphen stands directly behind the last part.
    open: bool,
}

impl<F: FnMut(&str, Range<usize>, Script, u32)> Scanner<F> {
    fn take(&mut self, c: char, span: Range<usize>, rest: &str) {
        if is_han(c) {
            self.end_word();
            self.end_compound();
            self.place += u32::from(std::mem::take(&mut self.broken));
            (self.each)(c.encode_utf8(&mut [0; 4]), span, Script::Han, self.place);
            self.place += 1;
            self.after_han = true;
        } else if c.is_alphanumeric() || c >= FIRST_MARK && is_combining_mark(c) && !self.word.is_empty() {
            if self.word.is_empty() {
                self.span.start = span.start;
            }
            self.word.push(c);
            self.span.end = span.end;
        } else if !joins(&self.word, c, rest) {
            let hyphen = !self.word.is_empty() && is_hyphen(c);
            self.end_word();
            if hyphen {
                self.compound.open = true;
            } else {
                self.end_compound();
            }
            self.broken |= self.after_han && !c.is_whitespace();
        } else if c == '.' {
            self.word.push(c);
        }
    }

    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        if let Some((cut, _)) = self.word.char_indices().nth(MAX_WORD_CHARS) {
            self.word.truncate(cut);
        }
        (self.each)(&self.word, self.span.clone(), Script::Word, self.place);
        (self.broken, self.after_han) = (false, false);
        if !self.compound.open {
            self.end_compound();
            self.compound.place = self.place;
            self.compound.span.start = self.span.start;
        }
        let compound = &mut self.compound;
        if compound.parts < MAX_PARTS {
            compound.text.push_str(&self.word);
            compound.span.end = self.span.end;
        }
        compound.parts += 1;
        compound.open = false;
        self.place += 1;
        self.word.clear();
    }

    fn end_compound(&mut self) {
        let compound = &mut self.compound;
        if (2..=MAX_PARTS).contains(&compound.parts) && compound.text.len() <= MAX_WORD_CHARS {
            (self.each)(&compound.text, compound.span.clone(), Script::Joined, compound.place);
        }
        compound.text.clear();
        compound.parts = 0;
        compound.open = false;
    }
}

/// More parts than this are an address or a path, not a word.
const MAX_PARTS: u32 = 4;

fn is_hyphen(c: char) -> bool {
    matches!(c, '-' | '_' | '\u{ad}' | '\u{2010}' | '\u{2011}')
}

/// Gives the folded characters of one composed character.
fn fold(cluster: &str, base: char, mut each: impl FnMut(char)) {
    if cluster.len() != base.len_utf8() {
        return fold_any(cluster, each);
    }
    match base {
        '\0'..='\x7f' => each(base.to_ascii_lowercase()),
        // Characters and punctuation of Chinese that normalisation leaves alone.
        '\u{4e00}'..='\u{9fff}'
        | '\u{3001}'..='\u{3020}'
        | '\u{2012}'..='\u{2015}'
        | '\u{2018}'..='\u{201f}' => each(base),
        // Full-width twins of ASCII.
        '\u{ff01}'..='\u{ff5e}' => {
            let twin = char::from_u32(u32::from(base) - 0xfee0).unwrap_or(base);
            each(twin.to_ascii_lowercase());
        }
        _ => fold_any(cluster, each),
    }
}

fn fold_any(cluster: &str, each: impl FnMut(char)) {
    // Lower case can undo a composition, so it comes first and last.
    let lower: String = cluster.nfkc().flat_map(char::to_lowercase).collect();
    lower.nfkc().for_each(each);
}

/// Whether punctuation within a word belongs to it: `2.11`, `8,192`, `GPU's`.
fn joins(word: &str, c: char, rest: &str) -> bool {
    let digit_before = || word.ends_with(|c: char| c.is_ascii_digit());
    let digits_after = || rest.nfkc().take(4).take_while(char::is_ascii_digit).count();
    match c {
        '.' => digit_before() && digits_after() > 0,
        ',' => digit_before() && digits_after() == 3,
        '\'' | '\u{2019}' => !word.is_empty() && rest.starts_with(|c: char| c.is_alphabetic() && !is_han(c)),
        _ => false,
    }
}

/// Ideographs and kana.
pub(super) fn is_han(c: char) -> bool {
    matches!(c,
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}'
        | '\u{3005}' | '\u{3007}' | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30ff}')
}

/// Runs of Han characters in a text, of two or more.
pub(super) fn han_runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_han(c)).filter(|run| run.chars().nth(1).is_some())
}

/// A name without spaces and punctuation: `KV 缓存`, `kv缓存` and `KV-缓存` are one name.
pub(super) fn compact(name: &str) -> String {
    let mut compact = String::with_capacity(name.len());
    scan(name, |text, _, script, _| {
        if script != Script::Joined {
            compact.push_str(text);
        }
    });
    compact
}

/// Stem of a folded word. A word with a digit is a name, and names have no other forms.
pub(super) fn stem(word: &str) -> String {
    if word.bytes().all(|b| b.is_ascii_lowercase()) {
        Stemmer::new(Algorithm::English).stem(word).into_owned()
    } else {
        word.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        tokens(text).into_iter().filter(|t| t.script != Script::Joined).map(|t| t.text).collect()
    }

    #[test]
    fn han_characters_on_both_sides_of_punctuation_are_not_side_by_side() {
        let places = |text: &str| tokens(text).into_iter().map(|t| t.place).collect::<Vec<_>>();
        assert_eq!(places("显存带宽"), [0, 1, 2, 3]);
        assert_eq!(places("显存 带宽"), [0, 1, 2, 3]);
        assert_eq!(places("显存，带宽"), [0, 1, 3, 4]);
        assert_eq!(places("显存（VRAM）带宽"), [0, 1, 2, 3, 4]);
        assert_eq!(places("KV, cache"), [0, 1]);
    }

    #[test]
    fn hyphens_join_words_too() {
        let joined = |text: &str| {
            let joined = tokens(text).into_iter().filter(|t| t.script == Script::Joined);
            joined.map(|t| (t.text, t.place, text[t.range].to_owned())).collect::<Vec<_>>()
        };
        assert_eq!(joined("the pre-fill stage"), [("prefill".to_owned(), 1, "pre-fill".to_owned())]);
        assert_eq!(joined("a kv_cache‑size"), [("kvcachesize".to_owned(), 1, "kv_cache‑size".to_owned())]);
        assert_eq!(joined("a - b, c -d e- f a--b 显-存"), []);
        assert_eq!(joined("a-b-c-d-e"), []);
    }

    #[test]
    fn han_characters_stand_alone_and_words_stay_whole() {
        assert_eq!(texts("在线softmax"), ["在", "线", "softmax"]);
        assert_eq!(texts("KV缓存（KV cache）"), ["kv", "缓", "存", "kv", "cache"]);
        assert_eq!(texts("vllm:kv_cache_usage_perc"), ["vllm", "kv", "cache", "usage", "perc"]);
    }

    #[test]
    fn numbers_keep_their_points_and_lose_their_commas() {
        assert_eq!(texts("8,192 and 2.11.0, 1,2"), ["8192", "and", "2.11.0", "1", "2"]);
        assert_eq!(texts("the GPU's peak."), ["the", "gpus", "peak"]);
        assert_eq!(texts("'quoted' 4."), ["quoted", "4"]);
    }

    #[test]
    fn width_case_and_composition_do_not_matter() {
        assert_eq!(texts("ＧＰＵ　Ｍemory"), ["gpu", "memory"]);
        assert_eq!(texts("cafe\u{301}"), texts("CAFÉ"));
        assert_eq!(texts("“显存带宽”"), ["显", "存", "带", "宽"]);
    }

    #[test]
    fn ranges_are_of_the_original_text() {
        let text = "e\u{301}a ＫＶ 缓存";
        let found: Vec<&str> = tokens(text).into_iter().map(|t| &text[t.range]).collect();
        assert_eq!(found, ["e\u{301}a", "ＫＶ", "缓", "存"]);
    }

    proptest::proptest! {
        #[test]
        fn ranges_stand_on_characters_and_in_order(text in "\\PC*|[a-z0-9.,' 缓存ｋ\u{301}½ß]*") {
            let mut last = 0;
            for token in tokens(&text) {
                proptest::prop_assert!(text.get(token.range.clone()).is_some_and(|t| !t.is_empty()));
                proptest::prop_assert!(token.range.start >= last && !token.text.is_empty());
                last = token.range.start;
            }
        }
    }
}
