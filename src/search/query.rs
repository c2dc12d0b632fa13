//! What a query asks for. There is no query language that could be got wrong: quotes that close make a phrase, a known
//! `facet:value` a condition, and everything else is words.

use super::analyze::{Script, Token, compact, tokens};
use super::filter::Condition;
use super::stop_words::{is_aside, is_han_stop_word, is_stop_word, split_at_stop_words};
use super::unit::{Resolver, Unit};

/// What follows is ignored: nobody searches for more, and a pasted page must not stop the keyboard.
const MAX_QUERY_CHARS: usize = 200;

/// Most units of a query; a snippet's finder counts them in the bits of a word.
const MAX_UNITS: usize = 32;

/// Quotes that make a phrase: what opens it, and what closes it.
const QUOTES: [(char, char); 5] = [('"', '"'), ('“', '”'), ('「', '」'), ('『', '』'), ('＂', '＂')];

/// How strictly a query is read. The first reading that finds something is the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// Every word; without a dictionary, every run of Han characters as it stands.
    Whole,
    /// Runs of Han characters split at function words, as in 什么是显存. Differs only without a dictionary.
    Split,
    /// Part of the words; without a dictionary, of the pairs of Han characters. Phrases are words.
    Part,
}

impl Reading {
    pub(super) const ALL: [Self; 3] = [Self::Whole, Self::Split, Self::Part];
}

/// A query taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pieces: Vec<Piece>,
    /// Conditions typed into it.
    pub(super) conditions: Vec<Condition>,
}

#[derive(Debug, PartialEq, Eq)]
struct Piece {
    text: String,
    phrase: bool,
}

impl Asked {
    /// Takes a query apart.
    pub(super) fn new(query: &str) -> Self {
        let query = query.char_indices().nth(MAX_QUERY_CHARS).map_or(query, |(end, _)| &query[..end]);
        let mut asked = Self::default();
        let mut rest = query;
        while let Some((at, (open, close))) =
            rest.char_indices().find_map(|(at, c)| Some((at, *QUOTES.iter().find(|(open, _)| *open == c)?)))
        {
            let inside = &rest[at + open.len_utf8()..];
            let Some(end) = inside.find(close) else { break };
            asked.words(&rest[..at]);
            asked.pieces.push(Piece { text: inside[..end].to_owned(), phrase: true });
            rest = &inside[end + close.len_utf8()..];
        }
        asked.words(rest);
        asked
    }

    fn words(&mut self, text: &str) {
        let mut words = String::new();
        for word in text.split_whitespace() {
            match Condition::read(word) {
                Some(condition) => self.conditions.push(condition),
                None => words.extend([word, " "]),
            }
        }
        // The end of the text is the end of the last word, which may still be growing.
        if !text.ends_with(char::is_whitespace) {
            words.truncate(words.trim_end().len());
        }
        self.pieces.push(Piece { text: words, phrase: false });
    }

    /// Whether there is nothing to look for.
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.iter().all(|p| !p.text.contains(char::is_alphanumeric))
    }

    /// Reads it.
    pub(super) fn read(&self, reading: Reading, resolver: &Resolver<'_>) -> Query {
        let all: Vec<Token> = self.pieces.iter().flat_map(|p| tokens(&p.text)).collect();
        let has_content = all.iter().any(|t| t.is_han() || !is_stop_word(&t.text));
        let mut reader =
            Reader { resolver, reading, has_content, units: Vec::new(), kept: String::new(), at: 0 };
        for (i, piece) in self.pieces.iter().enumerate() {
            let last = i + 1 == self.pieces.len();
            let tokens = tokens(&piece.text);
            if piece.phrase && reading != Reading::Part {
                reader.phrase(&tokens);
            } else {
                reader.words(&tokens, &piece.text, last && !piece.phrase);
            }
        }
        let Reader { mut units, kept, .. } = reader;
        // Only a query of nothing else asks for them.
        if units.iter().all(|u| u.aside) {
            for unit in &mut units {
                unit.aside = false;
            }
        }
        units.truncate(MAX_UNITS);
        let whole: String = self.pieces.iter().map(|p| compact(&p.text)).collect();
        let mut names = vec![whole, kept];
        let tokens: Vec<&str> =
            all.iter().filter(|t| t.script != Script::Joined).map(|t| t.text.as_str()).collect();
        names.extend(resolver.relate(&mut units, &tokens));
        names.retain(|n| !n.is_empty());
        names.sort_unstable();
        names.dedup();
        Query { units, names }
    }
}

impl Query {
    /// Whether it is more than a name or two.
    pub(super) fn is_question(&self) -> bool {
        self.units.iter().filter(|u| !u.aside && !u.is_phrase).count() > 2
    }
}

/// A query in one reading.
#[derive(Debug, Default)]
pub(super) struct Query {
    /// What must be found.
    pub(super) units: Vec<Unit>,
    /// The query as one name, with and without its function words.
    pub(super) names: Vec<String>,
}

struct Reader<'a> {
    resolver: &'a Resolver<'a>,
    reading: Reading,
    has_content: bool,
    units: Vec<Unit>,
    /// Text of the units, for names.
    kept: String,
    /// Tokens so far.
    at: usize,
}

impl Reader<'_> {
    fn phrase(&mut self, tokens: &[Token]) {
        let words: Vec<&Token> = tokens.iter().filter(|t| t.script != Script::Joined).collect();
        // Han characters on both sides of punctuation are not side by side, so the phrase goes on in parts.
        for part in words.chunk_by(|a, b| b.place == a.place + 1) {
            self.kept.extend(part.iter().map(|t| t.text.as_str()));
            self.push(Unit::phrase(part.iter().map(|t| t.text.as_str()), self.resolver), part.len());
        }
    }

    fn words(&mut self, tokens: &[Token], text: &str, last: bool) {
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let run = han_run(&tokens[at..]);
            if run > 0 {
                let run_text: String = tokens[at..at + run].iter().map(|t| t.text.as_str()).collect();
                self.han(&run_text, last && at + run == tokens.len());
                at += run;
                continue;
            }
            let parts = if token.script == Script::Joined {
                let inside = tokens[at + 1..].iter().take_while(|t| t.range.end <= token.range.end);
                inside.take_while(|t| t.script == Script::Word).count()
            } else {
                0
            };
            at += 1;
            if parts > 0 {
                let growing = last && at + parts == tokens.len() && text.ends_with(char::is_alphanumeric);
                self.compound(&token.text, &tokens[at..at + parts], growing);
                at += parts;
            } else if self.has_content && is_stop_word(&token.text) {
                self.at += 1;
            } else {
                let asked_for = text[token.range.end..].starts_with(['*', '＊']);
                let growing = last && at == tokens.len() && !text.ends_with(char::is_whitespace);
                self.kept.push_str(&token.text);
                let mut unit = Unit::word(&token.text, growing || asked_for, self.resolver);
                unit.aside = is_aside(&token.text);
                self.push(unit, 1);
            }
        }
    }

    /// Words with hyphens between them: side by side, or as one word.
    fn compound(&mut self, joined: &str, parts: &[Token], growing: bool) {
        if self.reading == Reading::Part {
            for part in parts {
                self.kept.push_str(&part.text);
                self.push(Unit::word(&part.text, growing, self.resolver), 1);
            }
            return;
        }
        self.kept.push_str(joined);
        let parts: Vec<&str> = parts.iter().map(|t| t.text.as_str()).collect();
        self.push(Unit::compound(joined, &parts, growing, self.resolver), parts.len());
    }

    fn han(&mut self, run: &str, growing: bool) {
        let words = self.resolver.dictionary.words(run);
        let known = words.is_some();
        let pieces: Vec<&str> = match (words, self.reading) {
            (Some(words), _) => in_words(run, &words),
            (None, Reading::Whole) => vec![run],
            (None, _) => split_at_stop_words(run),
        };
        let mut at = 0;
        for piece in &pieces {
            let start = piece.as_ptr() as usize - run.as_ptr() as usize;
            self.at += run[at..start].chars().count();
            at = start + piece.len();
            self.kept.push_str(piece);
            let chars: Vec<char> = piece.chars().collect();
            let in_pairs = self.reading == Reading::Part && chars.len() > 2;
            if in_pairs && !(known && self.resolver.is_written(piece)) {
                for pair in chars.windows(2) {
                    self.push(Unit::han(&pair.iter().collect::<String>(), false, self.resolver), 1);
                }
                self.at += 1;
            } else {
                let last = growing && at == run.len();
                let mut unit = Unit::han(piece, last, self.resolver);
                unit.aside = is_aside(piece) || chars.len() == 1 && known;
                self.push(unit, chars.len());
            }
        }
        self.at += run[at..].chars().count();
    }

    fn push(&mut self, mut unit: Unit, tokens: usize) {
        unit.tokens = self.at..self.at + tokens;
        self.at += tokens;
        let again = self.units.iter().any(|u| u.text == unit.text && u.is_phrase == unit.is_phrase);
        if !(again || self.reading == Reading::Part && unit.is_unknown()) {
            self.units.push(unit);
        }
    }
}

/// The words of a run that mean something. Single characters between words are no words of their own: those side by
/// side stay together. A run of nothing but function words is kept.
fn in_words<'a>(run: &'a str, words: &[&'a str]) -> Vec<&'a str> {
    let mut pieces: Vec<&str> = Vec::new();
    let (mut at, mut single_from) = (0, None);
    for word in words.iter().copied().chain([""]) {
        let single = word.chars().count() == 1 && !is_han_stop_word(word);
        if !single && let Some(from) = single_from.take() {
            pieces.push(&run[from..at]);
        }
        if single {
            single_from.get_or_insert(at);
        } else if !word.is_empty() && !is_han_stop_word(word) {
            pieces.push(word);
        }
        at += word.len();
    }
    if pieces.is_empty() { vec![run] } else { pieces }
}

/// Length of the unbroken run of Han characters at the beginning.
fn han_run(tokens: &[Token]) -> usize {
    let mut length = 0;
    while tokens
        .get(length)
        .is_some_and(|t| t.is_han() && (length == 0 || tokens[length - 1].range.end == t.range.start))
    {
        length += 1;
    }
    length
}
