//! Paints the rows of a note. What the text means is decided in [`crate::reader`]; what that looks like, here and in
//! the theme.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style as Look};

use crate::reader::{Layout, LinkId, Match, Row, Span, Style};

/// The look of each meaning. Looks are patched over each other in the order of the fields, so a link inside a
/// heading keeps what the link's look leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct MarkdownStyles {
    /// Headings of level 1, 2, and 3 or deeper.
    pub heading: [Look; 3],
    /// The bar and text of a quote.
    pub quote: Look,
    /// The bar of a correction; its text looks like running text.
    pub correction: Look,
    /// Lines of a code block, to the right edge.
    pub code_block: Look,
    /// Code in running text.
    pub code: Look,
    /// `*emphasis*`.
    pub emphasis: Look,
    /// `**strong**` and the headers of tables.
    pub strong: Look,
    /// The word that opens a correction.
    pub correct_label: Look,
    /// Links.
    pub link: Look,
    /// Addresses and labels, said in passing.
    pub dim: Look,
    /// Horizontal rules.
    pub rule: Look,
    /// Borders of tables.
    pub table_border: Look,
    /// The link that Enter follows.
    pub link_selected: Look,
    /// Matches of find-in-note.
    pub found: Look,
    /// The match that the reader is at.
    pub found_current: Look,
}

/// What is marked in a note beyond its own text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Marks<'a> {
    /// The link that Enter follows.
    pub link: Option<LinkId>,
    /// Matches of find-in-note.
    pub found: &'a [Match],
    /// Index of the current one.
    pub current: Option<usize>,
}

/// Paints the rows from `scroll` on into `area`, which may reach beyond the buffer: nothing is drawn outside either.
pub(super) fn render(
    layout: &Layout,
    scroll: usize,
    area: Rect,
    buf: &mut Buffer,
    styles: &MarkdownStyles,
    marks: Marks<'_>,
) {
    let area = area.intersection(buf.area);
    if area.is_empty() {
        return;
    }
    let rows = layout.rows.iter().skip(scroll).take(usize::from(area.height));
    for (row, y) in rows.zip(area.top()..) {
        paint_row(row, area, y, buf, styles, marks.link);
    }
    for (i, found) in marks.found.iter().enumerate() {
        let look = if marks.current == Some(i) { styles.found_current } else { styles.found };
        for (row, cells) in &found.parts {
            let y = row.checked_sub(scroll).filter(|y| *y < usize::from(area.height));
            let Some(y) = y else { continue };
            let x = cells.start.min(usize::from(area.width)) as u16;
            let end = cells.end.min(usize::from(area.width)) as u16;
            buf.set_style(Rect::new(area.x + x, area.y + y as u16, end.saturating_sub(x), 1), look);
        }
    }
}

fn paint_row(row: &Row, area: Rect, y: u16, buf: &mut Buffer, styles: &MarkdownStyles, link: Option<LinkId>) {
    let mut x = area.left();
    for span in &row.spans {
        let room = area.right().saturating_sub(x);
        (x, _) = buf.set_stringn(x, y, &span.text, usize::from(room), look(span, styles, link));
    }
    if row.spans.last().is_some_and(|span| span.style.has(Style::CODE_BLOCK)) {
        let rest = Rect::new(x, y, area.right().saturating_sub(x), 1);
        buf.set_style(rest, styles.code_block);
    }
}

fn look(span: &Span, styles: &MarkdownStyles, selected: Option<LinkId>) -> Look {
    let style = span.style;
    let bar = style.has(Style::CHROME);
    let heading = match style.heading_level() {
        0 => Look::default(),
        level => styles.heading[usize::from(level.min(3)) - 1],
    };
    let struck = Look::default().add_modifier(Modifier::CROSSED_OUT);
    [
        (true, heading),
        (style.has(Style::QUOTE) && !style.has(Style::CORRECTION), styles.quote),
        (style.has(Style::CORRECTION) && bar, styles.correction),
        (style.has(Style::CODE_BLOCK), styles.code_block),
        (style.has(Style::CODE), styles.code),
        (style.has(Style::EMPHASIS), styles.emphasis),
        (style.has(Style::STRONG) || style.has(Style::TABLE_HEAD), styles.strong),
        (style.has(Style::CORRECTION_LABEL), styles.correct_label),
        (style.has(Style::LINK), styles.link),
        (style.has(Style::DIM), styles.dim),
        (style.has(Style::RULE), styles.rule),
        (style.has(Style::BORDER), styles.table_border),
        (style.has(Style::STRIKE), struck),
        (span.link.is_some() && span.link == selected, styles.link_selected),
    ]
    .into_iter()
    .filter(|(applies, _)| *applies)
    .fold(Look::default(), |all, (_, look)| all.patch(look))
}

#[cfg(test)]
mod tests {
    use ratatui::style::Color;

    use super::*;
    use crate::reader::Document;

    fn styles() -> MarkdownStyles {
        MarkdownStyles {
            link: Look::default().fg(Color::Cyan),
            link_selected: Look::default().add_modifier(Modifier::REVERSED),
            code_block: Look::default().bg(Color::Blue),
            correction: Look::default().fg(Color::Yellow),
            quote: Look::default().fg(Color::Green),
            found: Look::default().bg(Color::Red),
            ..MarkdownStyles::default()
        }
    }

    fn painted(markdown: &str, layout_width: u16, area: Rect, scroll: usize, marks: Marks<'_>) -> Buffer {
        let mut buf = Buffer::empty(Rect::new(0, 0, 20, 6));
        let layout = Document::parse(markdown).layout(layout_width);
        render(&layout, scroll, area, &mut buf, &styles(), marks);
        buf
    }

    #[test]
    fn meanings_become_looks() {
        let area = Rect::new(1, 0, 12, 6);
        let marks = Marks { link: Some(LinkId(0)), ..Marks::default() };
        let buf = painted("[[a|词]] b\n\n```\nx\n```\n\n> **Correction.** y", 12, area, 0, marks);
        assert_eq!(buf[(1, 0)].symbol(), "词");
        assert_eq!(buf[(1, 0)].fg, Color::Cyan);
        assert!(buf[(1, 0)].modifier.contains(Modifier::REVERSED));
        assert_eq!(buf[(4, 0)].fg, Color::Reset);
        assert_eq!(
            (buf[(1, 2)].bg, buf[(12, 2)].bg, buf[(13, 2)].bg),
            (Color::Blue, Color::Blue, Color::Reset)
        );
        assert_eq!((buf[(1, 4)].symbol(), buf[(1, 4)].fg), ("┃", Color::Yellow));
        assert_eq!(buf[(3, 4)].fg, Color::Reset);
    }

    #[test]
    fn matches_are_lit_on_every_line_they_cover() {
        let layout = Document::parse("显存带宽决定解码").layout(6);
        let found = layout.find("带宽决");
        let marks = Marks { found: &found, ..Marks::default() };
        let buf = painted("显存带宽决定解码", 6, Rect::new(0, 0, 6, 3), 0, marks);
        let lit: Vec<(u16, u16)> =
            (0..3).flat_map(|y| (0..6).map(move |x| (x, y))).filter(|at| buf[*at].bg == Color::Red).collect();
        assert_eq!(lit, [(4, 0), (5, 0), (0, 1), (1, 1), (2, 1), (3, 1)]);
    }

    #[test]
    fn nothing_is_drawn_outside_the_area() {
        let markdown =
            "字字字字字字 👩‍🔬 ⚠\u{fe0f} abc\n\n```\n字字字字字\n```\n\n| a | 字字 |\n|--|--|\n| b | c |";
        for layout_width in 1..=24 {
            for width in 0..=20 {
                for x in 0..=22 {
                    let area = Rect::new(x, 1, width, 9);
                    let mut buf = Buffer::filled(Rect::new(0, 0, 20, 6), ratatui::buffer::Cell::new("."));
                    let layout = Document::parse(markdown).layout(layout_width);
                    let found = layout.find("字");
                    let marks = Marks { found: &found, ..Marks::default() };
                    render(&layout, 0, area, &mut buf, &styles(), marks);
                    for (cell_x, cell_y) in (0..6).flat_map(|y| (0..20).map(move |x| (x, y))) {
                        if !area.contains((cell_x, cell_y).into()) {
                            assert_eq!(buf[(cell_x, cell_y)], ratatui::buffer::Cell::new("."));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn scrolling_past_the_end_shows_nothing() {
        let buf = painted("a", 10, Rect::new(0, 0, 20, 6), 50, Marks::default());
        assert_eq!(buf, Buffer::empty(Rect::new(0, 0, 20, 6)));
    }
}
