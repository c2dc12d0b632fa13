//! A formula with the numbers put in.

/// Replaces every name of `symbols` by its text. A name is a run of letters, ASCII digits and `_` that starts with a
/// letter; superscripts end it.
pub(super) fn substitute(formula: &str, symbols: &[(&str, String)]) -> String {
    let mut out = String::new();
    let mut rest = formula;
    while let Some(first) = rest.chars().next() {
        let name = |c: char| c.is_alphabetic() || c == '_';
        if name(first) {
            let end = rest.find(|c: char| !name(c) && !c.is_ascii_digit()).unwrap_or(rest.len());
            let word = &rest[..end];
            let value = symbols.iter().find(|(symbol, _)| *symbol == word);
            out.push_str(value.map_or(word, |(_, text)| text));
            rest = &rest[end..];
        } else {
            // Digits before a letter are a number such as `4` or `1e9`; they stay.
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_whole_words() {
        let symbols = [("L", "32".to_owned()), ("n", "8".to_owned()), ("Ψ", "7e9".to_owned())];
        assert_eq!(substitute("2 · L · nkv · n² + ln(n)·Ψ", &symbols), "2 · 32 · nkv · 8² + ln(8)·7e9");
    }
}
