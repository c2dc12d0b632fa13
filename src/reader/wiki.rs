//! Wiki links in running text, by the rules of [`crate::library::wiki_links`].

use super::block::WikiSpan;

/// Finds wiki links while the parser walks the source from left to right, each byte looked at once.
#[derive(Debug)]
pub(super) struct WikiScanner<'a> {
    source: &'a str,
    /// Where the next link may start.
    from: usize,
}

impl<'a> WikiScanner<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self { source, from: 0 }
    }

    /// The next link that starts in `start..end`. Its own end may lie beyond.
    pub(super) fn next(&mut self, start: usize, end: usize) -> Option<WikiSpan> {
        self.from = self.from.max(start);
        while self.from < end {
            let open = self.from + self.source.get(self.from..end)?.find('[')?;
            if self.source.as_bytes().get(open + 1) != Some(&b'[') {
                self.from = open + 1;
                continue;
            }
            self.from = open + 2;
            let rest = &self.source[open + 2..];
            let stop =
                rest.match_indices(['\n', '[', ']']).find(|(i, c)| *c != "]" || rest[*i..].starts_with("]]"));
            let Some((close, "]")) = stop else { continue };
            let inner = &rest[..close];
            if inner.trim().is_empty() {
                continue;
            }
            self.from = open + 2 + close + 2;
            let (target, shown) = inner.split_once('|').unwrap_or((inner, inner));
            return Some(WikiSpan {
                range: open..self.from,
                // Within a table the bar is written `\|`.
                target: target.trim_end_matches('\\').trim().to_owned(),
                shown: shown.trim().replace("\\|", "|"),
            });
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::wiki_links;

    fn all(source: &str) -> Vec<(String, String)> {
        let mut scanner = WikiScanner::new(source);
        std::iter::from_fn(|| scanner.next(0, source.len())).map(|l| (l.target, l.shown)).collect()
    }

    #[test]
    fn links_are_those_of_the_library() {
        for source in [
            "[[a]] 和 [[kv-cache|KV 缓存]]。",
            r"[[kv-cache\|KV]]",
            "[[b\n]] [[]] [[ c ]] [[[d]] [[e [[f]] [[g]",
            "\\[[h]] [[i]]] [[j]k]]",
            "[[never",
        ] {
            let library: Vec<(String, String)> =
                wiki_links(source).map(|l| (l.target.to_owned(), l.shown.to_owned())).collect();
            assert_eq!(all(source), library, "{source}");
        }
    }
}
