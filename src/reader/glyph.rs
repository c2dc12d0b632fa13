//! Text as the terminal sees it: grapheme clusters, each with its width in cells.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// One grapheme cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Glyph<'a> {
    /// Byte offset in the text.
    pub(super) start: usize,
    /// The cluster.
    pub(super) text: &'a str,
    /// Cells that it takes.
    pub(super) width: usize,
}

impl Glyph<'_> {
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Its first character, which decides how lines may break around it.
    pub(super) fn lead(&self) -> char {
        self.text.chars().next().unwrap_or(' ')
    }
}

/// The clusters of `text` in order. ASCII and Han, which is nearly all of a note, take a path of their own: full
/// segmentation costs ten times as much.
pub(super) fn glyphs(text: &str) -> impl Iterator<Item = Glyph<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &text[at..];
        let (len, width) = first(rest)?;
        let glyph = Glyph { start: at, text: &rest[..len], width };
        at += len;
        Some(glyph)
    })
}

/// Cells that `text` takes on one line.
pub(super) fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { glyphs(text).map(|g| g.width).sum() }
}

/// Length in bytes and width of the first cluster.
fn first(text: &str) -> Option<(usize, usize)> {
    let lead = *text.as_bytes().first()?;
    if lead.is_ascii() && text.as_bytes().get(1).is_none_or(u8::is_ascii) {
        return Some((1, 1));
    }
    let mut chars = text.chars();
    if chars.next().is_some_and(stands_alone) && chars.next().is_none_or(|c| c.is_ascii() || stands_alone(c))
    {
        return Some((3, 2));
    }
    let cluster = text.graphemes(true).next()?;
    Some((cluster.len(), cluster_width(cluster)))
}

/// Han, CJK punctuation and full-width forms: three bytes, two cells, and they never extend the cluster before them.
fn stands_alone(c: char) -> bool {
    matches!(c, '\u{3001}'..='\u{3029}' | '\u{4e00}'..='\u{9fff}' | '\u{ff01}'..='\u{ff60}')
}

/// The measure that ratatui uses for a cell: `unicode-width`, with the half-width sound marks counted as drawn.
fn cluster_width(cluster: &str) -> usize {
    cluster.width() + cluster.chars().filter(|c| matches!(c, '\u{ff9e}' | '\u{ff9f}')).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_path_agrees_with_full_segmentation() {
        for c in ('\u{1}'..='\u{ffff}').filter(|c| stands_alone(*c)) {
            assert_eq!(cluster_width(c.encode_utf8(&mut [0; 4])), 2, "{c:?}");
        }
    }

    #[test]
    fn clusters_are_whole() {
        let widths = |text: &str| glyphs(text).map(|g| (g.text.to_owned(), g.width)).collect::<Vec<_>>();
        assert_eq!(widths("e\u{301}x"), [("e\u{301}".to_owned(), 1), ("x".to_owned(), 1)]);
        assert_eq!(widths("👩‍🔬"), [("👩‍🔬".to_owned(), 2)]);
        assert_eq!(widths("⚠\u{fe0f}"), [("⚠\u{fe0f}".to_owned(), 2)]);
        assert_eq!(widths("字\u{fe00}"), [("字\u{fe00}".to_owned(), 2)]);
    }

    proptest::proptest! {
        #[test]
        fn segmentation_is_that_of_the_standard(text in "(\\PC|[a-z字，👩\u{200d}🔬\u{301}\u{fe0f}🇨🇳]){0,40}") {
            let fast: Vec<&str> = glyphs(&text).map(|g| g.text).collect();
            let full: Vec<&str> = text.graphemes(true).collect();
            proptest::prop_assert_eq!(fast, full);
        }
    }
}
