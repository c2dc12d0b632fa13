//! Makes control characters visible. Text from files, labs, processes and file names goes through here before
//! anything parses or draws it, so that no note and no worker can drive the terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Replaces C0 and C1 controls (except line feed and tab), DEL, and the invisible characters that reorder text, by
/// visible ones; CRLF and lone CR become line feeds. Display width of a replaced character is one cell or more.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' => {
                if chars.peek() == Some(&'\n') {
                    chars.next();
                }
                out.push('\n');
            }
            // The Unicode "control pictures" block mirrors C0 in order.
            '\0'..='\x1f' if c != '\n' && c != '\t' => out.extend(char::from_u32(0x2400 + u32::from(c))),
            '\x7f' => out.push('\u{2421}'),
            c if is_hidden(c) => {
                // Writing to a string cannot fail.
                let _ = write!(out, "<U+{:04X}>", u32::from(c));
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// [`visible`] for something that must stay on one line: line feeds and tabs become spaces.
pub fn visible_line(text: &str) -> String {
    visible(text).chars().map(|c| if c == '\n' || c == '\t' { ' ' } else { c }).collect()
}

fn is_hidden(c: char) -> bool {
    matches!(c,
        '\0'..='\x08' | '\x0b'..='\x1f' | '\x7f'..='\u{9f}'
        // Bidirectional overrides and isolates, line and paragraph separators, and the byte order mark.
        | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_become_visible() {
        assert_eq!(visible("a\x1b]0;PWNED\x07b"), "a␛]0;PWNED␇b");
        assert_eq!(visible("x\u{9b}31mred"), "x<U+009B>31mred");
        assert_eq!(visible("a\u{202e}b"), "a<U+202E>b");
        assert_eq!(visible("one\r\ntwo\rthree"), "one\ntwo\nthree");
        assert_eq!(visible_line("a\tb\nc"), "a b c");
    }

    #[test]
    fn plain_text_is_not_copied() {
        assert!(matches!(visible("显存\tGPU memory\n"), Cow::Borrowed(_)));
    }

    proptest::proptest! {
        #[test]
        fn nothing_hidden_survives(text in ".*") {
            proptest::prop_assert!(!visible(&text).chars().any(is_hidden));
        }
    }
}
