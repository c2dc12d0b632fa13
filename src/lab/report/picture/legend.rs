//! The list of what is drawn, beside the drawing so that it never lies over a curve.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use unicode_width::UnicodeWidthStr;

use super::{FONT, INK};

/// Height of a line, pixels.
const ROW: i32 = 17;
/// Cells of text that fit beside a sample.
const CELLS: usize = 27;
/// Width of a legend, pixels.
pub(super) const WIDTH: u32 = 230;

/// One entry.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) sample: Sample,
    pub(super) name: String,
}

/// What stands before a name.
#[derive(Debug, Clone, Copy)]
pub(super) enum Sample {
    /// A curve of the colour at this place, with its mark.
    Measured(usize),
    /// A dashed line.
    Form(usize),
    /// A thin line.
    Published,
    /// A filled box.
    Box(RGBColor),
}

/// Height that the entries need, pixels.
pub(super) fn height(entries: &[Entry]) -> u32 {
    let lines: usize = entries.iter().map(|e| wrapped(&e.name).len()).sum();
    u32::try_from(lines).unwrap_or(u32::MAX).saturating_mul(ROW as u32).saturating_add(24)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

pub(super) fn draw(area: &Area<'_>, entries: &[Entry]) -> Drawn {
    let mut y = 18;
    for entry in entries {
        let middle = y;
        match entry.sample {
            Sample::Measured(i) => {
                area.draw(&PathElement::new([(4, middle), (28, middle)], super::line(super::colour(i), 2)))?;
                mark(area, i, (16, middle))?;
            }
            Sample::Form(i) => {
                for x in [4, 12, 20] {
                    let style = super::line(super::colour(i), 1);
                    area.draw(&PathElement::new([(x, middle), (x + 5, middle)], style))?;
                }
            }
            Sample::Published => {
                area.draw(&PathElement::new([(4, middle), (28, middle)], super::line(super::PUBLISHED, 1)))?;
            }
            Sample::Box(colour) => {
                area.draw(&Rectangle::new([(8, middle - 5), (24, middle + 5)], colour.filled()))?;
                area.draw(&Rectangle::new([(8, middle - 5), (24, middle + 5)], super::line(INK, 1)))?;
            }
        }
        for line in wrapped(&entry.name) {
            text(area, &line, (36, y), HPos::Left)?;
            y += ROW;
        }
    }
    Ok(())
}

/// The mark of the curve at this place: circle, triangle or cross, so that colour is not needed.
pub(super) fn mark(area: &Area<'_>, i: usize, at: (i32, i32)) -> Drawn {
    let colour = super::colour(i);
    match i % 3 {
        0 => area.draw(&Circle::new(at, 3, colour.filled()))?,
        1 => area.draw(&TriangleMarker::new(at, 4, colour.filled()))?,
        _ => area.draw(&Cross::new(at, 3, super::line(colour, 2)))?,
    }
    Ok(())
}

/// Words at a place, in the middle of their line.
pub(super) fn text(area: &Area<'_>, words: &str, at: (i32, i32), side: HPos) -> Drawn {
    let style = FONT.into_font().color(&INK).pos(Pos::new(side, VPos::Center));
    area.draw(&Text::new(words.to_owned(), at, style))?;
    Ok(())
}

/// Lines of a name that fit, at most three.
fn wrapped(name: &str) -> Vec<String> {
    const LINES: usize = 3;
    let name = crate::visible::visible_line(name);
    let mut lines = vec![String::new()];
    for word in name.split_inclusive([' ', '：', '·']) {
        // A word longer than a line is cut wherever the line ends.
        let mut rest: String = word.to_owned();
        while !rest.is_empty() {
            let line = lines.last_mut().expect("never empty");
            if line.width() + rest.trim_end().width() <= CELLS {
                line.push_str(&rest);
                break;
            }
            if !line.is_empty() {
                lines.push(String::new());
                continue;
            }
            let mut cells = 0;
            let fits = |c: char| {
                cells += unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
                cells <= CELLS
            };
            let head: String = rest
                .chars()
                .take_while({
                    let mut fits = fits;
                    move |c| fits(*c)
                })
                .collect();
            let taken = head.len().max(rest.chars().next().map_or(1, char::len_utf8));
            line.push_str(&rest[..taken]);
            rest = rest[taken..].to_owned();
        }
        if lines.len() > LINES {
            lines.truncate(LINES);
            lines[LINES - 1].push('…');
            break;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_broken_between_words_and_cut_when_endless() {
        assert_eq!(wrapped("naive"), ["naive"]);
        assert_eq!(
            wrapped("FlashAttention-2 on H100, published"),
            ["FlashAttention-2 on H100, ", "published"]
        );
        let endless = wrapped(&"显".repeat(1000));
        assert_eq!(endless.len(), 3);
        assert!(endless.iter().all(|l| l.width() <= CELLS + 1), "{endless:?}");
    }
}
