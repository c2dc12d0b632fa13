//! The little HTML that notes contain: comments are hidden, `<details>` is unfolded, a few tags mean what their
//! Markdown twins mean, and every other tag is shown as it is written.

use std::ops::Range;

/// A piece of HTML source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Words, or a tag without a meaning here.
    Text(Range<usize>),
    /// A tag with a meaning.
    Tag(Tag),
}

/// What a known tag does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    Break,
    /// Ends what came before and begins anew, as `<p>` does.
    Part,
    Strong(bool),
    Emphasis(bool),
    Code(bool),
    Strike(bool),
    /// Shown as `^`: a terminal has no raised digits for every sign.
    Raise,
    /// Shown as `_`.
    Lower,
    /// Known and without effect.
    Nothing,
}

/// Splits HTML source. `comment` says whether a comment is open, before and after.
pub(super) fn pieces(html: &str, comment: &mut bool) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut at, mut text_start) = (0, 0);
    loop {
        if *comment {
            let Some(end) = html[at..].find("-->") else { return pieces };
            at += end + 3;
            text_start = at;
            *comment = false;
        }
        let Some(open) = html[at..].find('<').map(|i| i + at) else { break };
        let found = if html[open..].starts_with("<!--") {
            *comment = true;
            Some((None, open + 4))
        } else {
            tag(&html[open..]).map(|(tag, len)| (Some(tag), open + len))
        };
        let Some((tag, end)) = found else {
            at = open + 1;
            continue;
        };
        if open > text_start {
            pieces.push(Piece::Text(text_start..open));
        }
        pieces.extend(tag.map(Piece::Tag));
        (at, text_start) = (end, end);
    }
    if html.len() > text_start {
        pieces.push(Piece::Text(text_start..html.len()));
    }
    pieces
}

/// The known tag at the start of `html`, and its length.
fn tag(html: &str) -> Option<(Tag, usize)> {
    // A tag holds no `<`, which also keeps a row of them from being searched again and again.
    let end = 1 + html[1..].find(['<', '>'])?;
    if html.as_bytes()[end] != b'>' {
        return None;
    }
    let inside = html[1..end].trim_end_matches('/').trim_end();
    let (open, inside) = inside.strip_prefix('/').map_or((true, inside), |rest| (false, rest));
    let name = inside.split(|c: char| !c.is_ascii_alphanumeric()).next()?.to_ascii_lowercase();
    let tag = match name.as_str() {
        "br" => Tag::Break,
        "details" | "p" | "div" | "center" => Tag::Part,
        "summary" | "b" | "strong" => Tag::Strong(open),
        "i" | "em" => Tag::Emphasis(open),
        "code" | "kbd" | "samp" => Tag::Code(open),
        "s" | "del" => Tag::Strike(open),
        "sup" if open => Tag::Raise,
        "sub" if open => Tag::Lower,
        "sup" | "sub" | "span" | "u" => Tag::Nothing,
        _ => return None,
    };
    Some((tag, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(html: &str) -> String {
        let shown = |piece| match piece {
            Piece::Text(range) => html[range].to_owned(),
            Piece::Tag(tag) => format!("{{{tag:?}}}"),
        };
        pieces(html, &mut false).into_iter().map(shown).collect()
    }

    #[test]
    fn comments_hide_and_unknown_tags_show() {
        assert_eq!(shown("a<!-- <b> -->b"), "ab");
        assert_eq!(shown("a <!-- never closed"), "a ");
        assert_eq!(shown("<details open><summary>S</summary>"), "{Part}{Strong(true)}S{Strong(false)}");
        assert_eq!(shown("<a href=\"x\">y</a> 1 < 2 <3"), "<a href=\"x\">y</a> 1 < 2 <3");
        assert_eq!(shown("x<br/>y<BR />"), "x{Break}y{Break}");
    }

    #[test]
    fn many_open_brackets_take_no_time() {
        let html = "<a".repeat(100_000);
        assert_eq!(pieces(&html, &mut false), [Piece::Text(0..html.len())]);
    }
}
