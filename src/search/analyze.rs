//! Text to tokens, the same for documents, queries and highlights: NFKC and lower case; a run of letters and digits
//! is one word, every Han character is a token of its own.

use std::ops::Range;

use tantivy::tokenizer::{Language, RawTokenizer, Stemmer, TextAnalyzer, TokenStream};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Longest word that is told apart, in characters: a hash or a key is still found by its beginning.
const MAX_WORD_CHARS: usize = 64;

/// Words that a question needs and a search does not. A query of nothing else keeps them.
const STOP_WORDS: [&str; 56] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "can", "do", "does", "for", "from", "has",
    "have", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my", "no", "not", "of", "on", "or",
    "our", "so", "such", "than", "that", "the", "their", "then", "there", "these", "they", "this", "to",
    "was", "we", "what", "when", "where", "which", "who", "why", "will", "with", "you", "your",
];

/// The same in Chinese, longest first. They split a run of Han characters, and only where nothing found the whole.
const HAN_STOP_WORDS: [&str; 24] = [
    "为什么",
    "有哪些",
    "是什么",
    "什么是",
    "怎么样",
    "多少",
    "什么",
    "怎么",
    "如何",
    "为何",
    "哪些",
    "哪个",
    "可以",
    "以及",
    "的",
    "了",
    "吗",
    "呢",
    "和",
    "与",
    "是",
    "在",
    "有",
    "里",
];

/// A token and where it stands in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// Folded text: one Han character, or a word.
    pub(super) text: String,
    /// Bytes of the original text.
    pub(super) range: Range<usize>,
    /// Whether it is a Han character (or kana, which is written without spaces too).
    pub(super) han: bool,
}

/// Tokens in order. Combining marks go with their base, so a range never splits a composed character.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::with_capacity(text.len() / 4);
    let mut word = String::new();
    let mut span = 0..0;
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        let mut end = start + c.len_utf8();
        while let Some((at, mark)) = chars.next_if(|(_, m)| is_combining_mark(*m)) {
            end = at + mark.len_utf8();
        }
        fold(&text[start..end], c, |c| {
            if is_han(c) {
                flush(&mut word, &span, &mut found);
                found.push(Token { text: c.to_string(), range: start..end, han: true });
            } else if c.is_alphanumeric() || is_combining_mark(c) && !word.is_empty() {
                if word.is_empty() {
                    span.start = start;
                }
                word.push(c);
                span.end = end;
            } else if !joins(&word, c, &text[end..]) {
                flush(&mut word, &span, &mut found);
            } else if c == '.' {
                word.push(c);
            }
        });
    }
    flush(&mut word, &span, &mut found);
    found
}

/// Gives the folded characters of one composed character.
fn fold(cluster: &str, base: char, mut each: impl FnMut(char)) {
    if cluster.len() == 1 {
        each(base.to_ascii_lowercase());
    } else if cluster.len() == base.len_utf8() && ('\u{4e00}'..='\u{9fff}').contains(&base) {
        each(base);
    } else {
        // Lower case can undo a composition, so it comes first and last.
        let lower: String = cluster.nfkc().flat_map(char::to_lowercase).collect();
        lower.nfkc().for_each(&mut each);
    }
}

/// Whether punctuation within a word belongs to it: `2.11`, `8,192`, `GPU's`.
fn joins(word: &str, c: char, rest: &str) -> bool {
    let digit_before = word.ends_with(|c: char| c.is_ascii_digit());
    let digits_after = rest.nfkc().take(4).take_while(char::is_ascii_digit).count();
    match c {
        '.' => digit_before && digits_after > 0,
        ',' => digit_before && digits_after == 3,
        '\'' | '\u{2019}' => !word.is_empty() && rest.starts_with(|c: char| c.is_alphabetic() && !is_han(c)),
        _ => false,
    }
}

fn flush(word: &mut String, span: &Range<usize>, found: &mut Vec<Token>) {
    if word.is_empty() {
        return;
    }
    let mut text = std::mem::take(word);
    if let Some((cut, _)) = text.char_indices().nth(MAX_WORD_CHARS) {
        text.truncate(cut);
    }
    found.push(Token { text, range: span.clone(), han: false });
}

/// Ideographs and kana.
pub(super) fn is_han(c: char) -> bool {
    matches!(c,
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}'
        | '\u{3005}' | '\u{3007}' | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30ff}')
}

/// A name without spaces and punctuation: `KV 缓存`, `kv缓存` and `KV-缓存` are one name.
pub(super) fn compact(name: &str) -> String {
    tokens(name).into_iter().map(|t| t.text).collect()
}

/// Whether an English word only holds a question together.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(&word)
}

/// Splits a run of Han characters at its function words. A run stays whole when a single character would be left,
/// as in 目的 or 总和: then the function word is part of a word.
pub(super) fn split_at_stop_words(run: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(c) = run[at..].chars().next() {
        match HAN_STOP_WORDS.iter().find(|w| run[at..].starts_with(**w)) {
            Some(word) => {
                pieces.push(&run[from..at]);
                at += word.len();
                from = at;
            }
            None => at += c.len_utf8(),
        }
    }
    pieces.push(&run[from..]);
    pieces.retain(|p| !p.is_empty());
    if pieces.is_empty() || pieces.iter().any(|p| p.chars().count() == 1) { vec![run] } else { pieces }
}

/// English stems.
pub(super) struct Stems(TextAnalyzer);

impl Stems {
    pub(super) fn new() -> Self {
        Self(TextAnalyzer::builder(RawTokenizer::default()).filter(Stemmer::new(Language::English)).build())
    }

    /// Stem of a folded word.
    pub(super) fn stem(&mut self, word: &str) -> String {
        let mut stream = self.0.token_stream(word);
        if stream.advance() { stream.token().text.clone() } else { word.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        tokens(text).into_iter().map(|t| t.text).collect()
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

    #[test]
    fn function_words_split_a_question_but_not_a_word() {
        assert_eq!(split_at_stop_words("什么是显存的带宽"), ["显存", "带宽"]);
        assert_eq!(split_at_stop_words("目的"), ["目的"]);
        assert_eq!(split_at_stop_words("是"), ["是"]);
        assert_eq!(split_at_stop_words("显存"), ["显存"]);
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
