//! Wiki links: `[[id]]` and `[[id|shown text]]`, outside code.

/// One wiki link in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WikiLink<'a> {
    /// What it names.
    pub target: &'a str,
    /// What is shown.
    pub shown: &'a str,
    /// Byte range of the whole link.
    pub start: usize,
    /// End of the range.
    pub end: usize,
}

/// Wiki links in order. Code spans are skipped on a line-by-line view of back-quotes; a fence line toggles code.
pub fn wiki_links(text: &str) -> impl Iterator<Item = WikiLink<'_>> {
    let code = code_ranges(text);
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(open) = text[at..].find("[[").map(|i| i + at) {
            let close = text[open..].find("]]").map(|i| i + open)?;
            let inner = &text[open + 2..close];
            at = open + 2;
            let in_code = code.iter().any(|r| r.contains(&open));
            if in_code || inner.contains(['\n', '[']) || inner.trim().is_empty() {
                continue;
            }
            at = close + 2;
            let (target, shown) = inner.split_once('|').unwrap_or((inner, inner));
            // Within a table the bar is written `\\|`.
            let target = target.trim_end_matches('\\').trim();
            return Some(WikiLink { target, shown: shown.trim(), start: open, end: close + 2 });
        }
        None
    })
}

fn code_ranges(text: &str) -> Vec<std::ops::Range<usize>> {
    use pulldown_cmark::{Event, Parser, Tag};
    Parser::new(text)
        .into_offset_iter()
        .filter_map(|(event, range)| {
            matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(_))).then_some(range)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(text: &str) -> Vec<(&str, &str)> {
        wiki_links(text).map(|l| (l.target, l.shown)).collect()
    }

    #[test]
    fn links_are_found_with_and_without_shown_text() {
        assert_eq!(targets("[[a]] 和 [[kv-cache|KV 缓存]]。"), [("a", "a"), ("kv-cache", "KV 缓存")]);
    }

    #[test]
    fn a_bar_may_be_escaped_for_tables() {
        assert_eq!(targets(r"| [[kv-cache\|KV]] |"), [("kv-cache", "KV")]);
    }

    #[test]
    fn code_and_broken_links_are_left_alone() {
        assert_eq!(targets("`[[a]]` [[b\n]] [[]] [[ c ]]"), [("c", "c")]);
        assert_eq!(targets("```\n[[a]]\n```\n[[b]]"), [("b", "b")]);
        assert_eq!(targets("[[never closed"), []);
    }
}
