//! Words near a word, by typing errors: a letter too many, missing, wrong, or two neighbours swapped.

/// Shortest word for which an error is forgiven, and for which two are, in characters.
const MIN_CHARS: usize = 4;
const MIN_CHARS_FOR_TWO: usize = 8;

/// How many errors are forgiven in this word. A number with another digit is another number.
fn errors_forgiven(typed: &[char]) -> usize {
    match typed.len() {
        _ if !typed.iter().all(|c| c.is_alphabetic()) => 0,
        0..MIN_CHARS => 0,
        MIN_CHARS..MIN_CHARS_FOR_TWO => 1,
        _ => 2,
    }
}

/// Indices of the words near `word` among `count` words in alphabetical order; those with the fewest errors only. With
/// `prefix`, of the words whose beginning is near.
///
/// The sorted list is walked like a trie: words share the table rows of their common beginning, and when no word that
/// begins so can be near, all of them are skipped.
pub(super) fn near<'a>(
    word: &str,
    prefix: bool,
    count: usize,
    text: impl Fn(usize) -> &'a str,
) -> Vec<usize> {
    let typed: Vec<char> = word.chars().collect();
    let mut most = errors_forgiven(&typed);
    if most == 0 {
        return Vec::new();
    }
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut table = Table { rows: vec![(0..=typed.len()).collect()], letters: Vec::new(), typed: &typed };
    let mut at = 0;
    while at < count {
        let candidate = text(at);
        table.letters.truncate(shared_chars(&table.letters, candidate));
        let mut beginning = usize::MAX;
        let mut dead_end = None;
        for (depth, (offset, letter)) in candidate.char_indices().enumerate() {
            if depth >= table.letters.len() {
                table.push(letter);
            }
            let row = &table.rows[depth + 1];
            beginning = beginning.min(row[typed.len()]);
            // Short words are guessed only with their first letter right.
            let wrong_start = typed.len() < 5 && depth == 0 && letter != typed[0];
            // Swapped letters come back from the row before, so both must be hopeless.
            let hopeless = |row: &[usize]| row.iter().all(|errors| *errors > most);
            if wrong_start || hopeless(row) && hopeless(&table.rows[depth]) {
                dead_end = Some(offset + letter.len_utf8());
                break;
            }
        }
        let errors = if prefix {
            beginning
        } else if dead_end.is_some() {
            usize::MAX
        } else {
            table.rows[candidate.chars().count()][typed.len()]
        };
        if errors <= most && !(typed.len() < 5 && !candidate.starts_with(typed[0])) {
            found.push((errors, at));
            most = errors.max(1);
        }
        at += 1;
        if let Some(dead) = dead_end {
            let dead = &candidate[..dead];
            // Words with a beginning near enough may go on under the same dead end.
            while prefix && errors <= most && at < count && text(at).starts_with(dead) {
                found.push((errors, at));
                at += 1;
            }
            at += skip(count - at, |i| text(at + i).starts_with(dead));
        }
    }
    let fewest = found.iter().map(|(errors, _)| *errors).min().unwrap_or(0);
    found.into_iter().filter(|(errors, _)| *errors == fewest).map(|(_, at)| at).collect()
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
    rows: Vec<Vec<usize>>,
    letters: Vec<char>,
    typed: &'a [char],
}

impl Table<'_> {
    fn push(&mut self, letter: char) {
        let depth = self.letters.len();
        self.rows.truncate(depth + 1);
        let before = &self.rows[depth];
        let mut row = Vec::with_capacity(self.typed.len() + 1);
        row.push(depth + 1);
        for (i, typed) in self.typed.iter().enumerate() {
            let replaced = before[i] + usize::from(*typed != letter);
            let mut errors = replaced.min(before[i + 1] + 1).min(row[i] + 1);
            if depth > 0 && i > 0 && self.letters[depth - 1] == *typed && self.typed[i - 1] == letter {
                errors = errors.min(self.rows[depth - 1][i - 1] + 1);
            }
            row.push(errors);
        }
        self.letters.push(letter);
        self.rows.push(row);
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
            let right_start = |word: &str| typed.len() >= 5 || word.starts_with(typed_chars[0]);
            let candidates: Vec<(usize, &str)> = words
                .iter()
                .map(|w| (errors(w), w.as_str()))
                .filter(|(errors, word)| *errors <= most && right_start(word))
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
