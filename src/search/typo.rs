//! Words near a word, by typing errors: a letter too many, missing, wrong, or two neighbours swapped.

/// Shortest word for which an error is forgiven, and for which two are, in characters.
const MIN_CHARS: usize = 4;
const MIN_CHARS_FOR_TWO: usize = 8;

/// Shortest word whose first letter may be wrong.
const MIN_CHARS_FOR_ANY_START: usize = 5;

/// A word of more characters is a hash or a key.
const MAX_CHARS: usize = 32;

/// How many errors are forgiven in this word. A number with another digit is another number.
fn errors_forgiven(typed: &[char]) -> u8 {
    match typed.len() {
        MAX_CHARS.. => 0,
        _ if !typed.iter().all(|c| c.is_alphabetic()) => 0,
        0..MIN_CHARS => 0,
        MIN_CHARS..MIN_CHARS_FOR_TWO => 1,
        _ => 2,
    }
}

/// Indices of the words near `word` among `count` words in alphabetical order; those with the fewest errors only. With
/// `prefix`, of the words whose beginning is near. The first letter is taken to be right in short words, and where
/// two errors are forgiven.
pub(super) fn near<'a>(
    word: &str,
    prefix: bool,
    count: usize,
    text: impl Fn(usize) -> &'a str,
) -> Vec<usize> {
    let typed: Vec<char> = word.chars().collect();
    let words = Words { count, text };
    for most in 1..=errors_forgiven(&typed) {
        let same_start = most > 1 || typed.len() < MIN_CHARS_FOR_ANY_START;
        let found = words.near(&typed, prefix, most, same_start);
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// Words in alphabetical order.
struct Words<F> {
    count: usize,
    text: F,
}

impl<'a, F: Fn(usize) -> &'a str> Words<F> {
    /// Words with at most so many errors, those with the fewest only.
    ///
    /// The sorted list is walked like a trie: words share the table rows of their common beginning, and when no word
    /// that begins so can be near, all of them are skipped.
    fn near(&self, typed: &[char], prefix: bool, most: u8, same_start: bool) -> Vec<usize> {
        let mut found: Vec<(u8, usize)> = Vec::new();
        let mut table = Table::new(typed);
        let (mut at, mut end) = (0, self.count);
        if same_start && let Some(first) = typed.first() {
            at = self.before(|word| word.chars().next().is_some_and(|c| c < *first));
            end = at + self.skip(at, |word| word.starts_with(*first));
        }
        while at < end {
            let candidate = (self.text)(at);
            table.letters.truncate(shared_chars(&table.letters, candidate));
            let mut beginning = u8::MAX;
            let mut dead_end = None;
            let mut whole = table.row(0)[typed.len()];
            for (depth, (offset, letter)) in candidate.char_indices().enumerate() {
                if depth >= table.letters.len() {
                    table.push(letter);
                }
                whole = table.row(depth + 1)[typed.len()];
                beginning = beginning.min(whole);
                // Swapped letters come back from the row before, so both must be hopeless.
                if table.least(depth + 1) > most && table.least(depth) > most {
                    dead_end = Some(offset + letter.len_utf8());
                    break;
                }
            }
            let errors = match dead_end {
                _ if prefix => beginning,
                Some(_) => u8::MAX,
                None => whole,
            };
            if errors <= most {
                found.push((errors, at));
            }
            at += 1;
            if let Some(dead) = dead_end {
                let dead = &candidate[..dead];
                let skipped = self.skip(at, |word| word.starts_with(dead)).min(end - at);
                // Words whose beginning is near may go on under the same dead end.
                if errors <= most {
                    found.extend((at..at + skipped).map(|i| (errors, i)));
                }
                at += skipped;
            }
        }
        let fewest = found.iter().map(|(errors, _)| *errors).min().unwrap_or(0);
        found.into_iter().filter(|(errors, _)| *errors == fewest).map(|(_, at)| at).collect()
    }

    /// How many words the condition holds for that only the first ones fulfil.
    fn before(&self, holds: impl Fn(&str) -> bool) -> usize {
        skip(self.count, |i| holds((self.text)(i)))
    }

    /// The same, counted from one word on.
    fn skip(&self, from: usize, holds: impl Fn(&str) -> bool) -> usize {
        skip(self.count - from, |i| holds((self.text)(from + i)))
    }
}

/// How many of `count` items fulfil the condition that only the first ones do: doubling steps, as most are few.
fn skip(count: usize, holds: impl Fn(usize) -> bool) -> usize {
    let mut step = 1;
    while step <= count && holds(step - 1) {
        step *= 2;
    }
    let (mut low, mut high) = (step / 2, step.min(count + 1) - 1);
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

fn shared_chars(letters: &[char], word: &str) -> usize {
    letters.iter().zip(word.chars()).take_while(|(a, b)| **a == *b).count()
}

/// Optimal string alignment: row `i` holds the errors between the first `i` letters of the candidate and every
/// beginning of what was typed.
struct Table<'a> {
    /// All rows, one behind the other.
    cells: Vec<u8>,
    /// Least number of each row.
    least: Vec<u8>,
    letters: Vec<char>,
    typed: &'a [char],
}

impl<'a> Table<'a> {
    fn new(typed: &'a [char]) -> Self {
        let first = (0..=typed.len()).map(|i| i as u8).collect();
        Self { cells: first, least: vec![0], letters: Vec::new(), typed }
    }

    fn row(&self, depth: usize) -> &[u8] {
        let width = self.typed.len() + 1;
        &self.cells[depth * width..(depth + 1) * width]
    }

    fn least(&self, depth: usize) -> u8 {
        self.least[depth]
    }

    /// Adds the row of one more letter.
    fn push(&mut self, letter: char) {
        let (depth, width) = (self.letters.len(), self.typed.len() + 1);
        self.cells.truncate((depth + 1) * width);
        self.least.truncate(depth + 1);
        let before = depth * width;
        let row = before + width;
        self.cells.push((depth + 1).min(usize::from(u8::MAX / 2)) as u8);
        let mut least = self.cells[row];
        for (i, typed) in self.typed.iter().enumerate() {
            let replaced = self.cells[before + i] + u8::from(*typed != letter);
            let mut errors = replaced.min(self.cells[before + i + 1] + 1).min(self.cells[row + i] + 1);
            if depth > 0 && i > 0 && self.letters[depth - 1] == *typed && self.typed[i - 1] == letter {
                errors = errors.min(self.cells[before - width + i - 1] + 1);
            }
            self.cells.push(errors);
            least = least.min(errors);
        }
        self.least.push(least);
        self.letters.push(letter);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found<'a>(word: &str, prefix: bool, words: &[&'a str]) -> Vec<&'a str> {
        near(word, prefix, words.len(), |i| words[i]).into_iter().map(|i| words[i]).collect()
    }

    #[test]
    fn errors_are_forgiven_by_length() {
        let words = ["8192", "attend", "attention", "cache", "quantization"];
        for typed in ["atention", "attenttion", "attentoin", "attenxion", "atentoin"] {
            assert_eq!(found(typed, false, &words), ["attention"], "{typed}");
        }
        assert_eq!(found("cche", false, &words), ["cache"]);
        assert_eq!(found("xache", false, &words), ["cache"]);
        assert_eq!(found("cahe", false, &words), ["cache"]);
        assert_eq!(found("qauntizaton", false, &words), ["quantization"]);
        for typed in ["ache", "che", "8193", "attention1", "xxtentixm"] {
            assert_eq!(found(typed, false, &words), [""; 0], "{typed}");
        }
    }

    #[test]
    fn a_beginning_is_enough_where_asked() {
        let words = ["attend", "attention", "cache", "token"];
        assert_eq!(found("attne", true, &words), ["attend", "attention"]);
        assert_eq!(found("toekn", true, &words), ["token"]);
    }

    proptest! {
        #[test]
        fn the_walk_finds_what_comparing_each_word_finds(
            typed in "[abc]{4,9}",
            words in prop::collection::btree_set("[abc]{1,10}", 0..60),
            prefix in any::<bool>(),
        ) {
            let words: Vec<String> = words.into_iter().collect();
            let typed_chars: Vec<char> = typed.chars().collect();
            let most = errors_forgiven(&typed_chars);
            let errors = |word: &str| {
                let beginnings = (1..=word.len()).map(|end| &word[..end]);
                let whole = strsim::osa_distance(&typed, word);
                if prefix { beginnings.map(|b| strsim::osa_distance(&typed, b)).min().unwrap_or(whole) } else { whole }
            };
            let right_start =
                |word: &str, errors: u8| typed.len() >= 5 && errors < 2 || word.starts_with(typed_chars[0]);
            let candidates: Vec<(u8, &str)> = words
                .iter()
                .map(|w| (errors(w), w.as_str()))
                .map(|(errors, word)| (u8::try_from(errors).unwrap_or(u8::MAX), word))
                .filter(|(errors, word)| *errors <= most && right_start(word, *errors))
                .collect();
            let fewest = candidates.iter().map(|(errors, _)| *errors).min();
            let expected: Vec<&str> =
                candidates.into_iter().filter(|(errors, _)| Some(*errors) == fewest).map(|(_, w)| w).collect();
            let found: Vec<&str> =
                near(&typed, prefix, words.len(), |i| &words[i]).into_iter().map(|i| words[i].as_str()).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
