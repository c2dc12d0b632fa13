//! Characters that charts are drawn with. Which a terminal can show is not asked but known: braille where the locale is
//! UTF-8, ASCII where it is not, and whatever the user picks.

use ratatui::symbols::{Marker, bar};

/// A set of characters for charts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Glyphs {
    /// Braille dots: two by four points a cell.
    #[default]
    Braille,
    /// Half blocks: one by two points a cell, for fonts whose braille is hard to see or missing.
    Blocks,
    /// Nothing beyond ASCII.
    Ascii,
}

impl Glyphs {
    /// The next one in turn.
    #[must_use]
    pub(super) fn next(self) -> Self {
        match self {
            Self::Braille => Self::Blocks,
            Self::Blocks => Self::Ascii,
            Self::Ascii => Self::Braille,
        }
    }

    /// Name, as `INFRALAB_CHART` takes it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Braille => "braille",
            Self::Blocks => "blocks",
            Self::Ascii => "ascii",
        }
    }

    /// What the environment asks for: `INFRALAB_CHART`, else ASCII where the locale is set and is not UTF-8, or on the
    /// Linux console, whose font has no braille, half blocks.
    pub(super) fn from_env(var: impl Fn(&str) -> Option<String>) -> Self {
        let set = |k: &str| var(k).filter(|v| !v.is_empty());
        match set("INFRALAB_CHART").as_deref() {
            Some("braille") => return Self::Braille,
            Some("blocks") => return Self::Blocks,
            Some("ascii") => return Self::Ascii,
            _ => {}
        }
        // The first that is set counts, as in setlocale(3).
        let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG"));
        let is_utf8 = |l: &String| {
            let l = l.to_ascii_lowercase();
            l.contains("utf-8") || l.contains("utf8")
        };
        match locale {
            Some(locale) if !is_utf8(&locale) => Self::Ascii,
            _ if set("TERM").as_deref() == Some("linux") => Self::Blocks,
            _ => Self::Braille,
        }
    }

    /// Points of a measured line.
    pub(super) fn marker(self) -> Marker {
        match self {
            Self::Braille => Marker::Braille,
            Self::Blocks => Marker::HalfBlock,
            Self::Ascii => Marker::Custom('*'),
        }
    }

    /// Points of what is beside it: another shape, so that no colour is needed to tell them apart.
    pub(super) fn second_marker(self) -> Marker {
        match self {
            Self::Braille | Self::Blocks => Marker::Custom('━'),
            Self::Ascii => Marker::Custom('='),
        }
    }

    /// Points a cell, across and down.
    pub(super) fn points(self) -> (u16, u16) {
        match self {
            Self::Braille => (2, 4),
            Self::Blocks => (1, 2),
            Self::Ascii => (1, 1),
        }
    }

    /// Bars of a history in one row.
    pub(super) fn bars(self) -> bar::Set<'static> {
        match self {
            Self::Braille | Self::Blocks => bar::NINE_LEVELS,
            Self::Ascii => bar::Set {
                empty: " ",
                one_eighth: "_",
                one_quarter: "_",
                three_eighths: ".",
                half: "-",
                five_eighths: "-",
                three_quarters: "=",
                seven_eighths: "=",
                full: "#",
            },
        }
    }

    /// A line from left to right.
    pub(super) fn rule(self) -> &'static str {
        if self == Self::Ascii { "-" } else { "─" }
    }

    /// Before what is selected.
    pub(super) fn cursor(self) -> &'static str {
        if self == Self::Ascii { ">" } else { "▸" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_locale_decides_unless_the_user_does() {
        let of = |vars: &'static [(&'static str, &'static str)]| {
            Glyphs::from_env(|k| vars.iter().find(|(n, _)| *n == k).map(|(_, v)| (*v).to_owned()))
        };
        assert_eq!(of(&[]), Glyphs::Braille);
        assert_eq!(of(&[("LANG", "zh_CN.UTF-8")]), Glyphs::Braille);
        assert_eq!(of(&[("LANG", "en_US.utf8"), ("LC_ALL", "C")]), Glyphs::Ascii);
        assert_eq!(of(&[("LANG", "C"), ("INFRALAB_CHART", "blocks")]), Glyphs::Blocks);
        assert_eq!(of(&[("LANG", "C.UTF-8"), ("TERM", "linux")]), Glyphs::Blocks);
    }

    #[test]
    fn ascii_is_ascii() {
        let set = Glyphs::Ascii;
        let bars = set.bars();
        for text in [set.rule(), set.cursor(), bars.full, bars.half, bars.one_eighth, bars.empty] {
            assert!(text.is_ascii(), "{text}");
        }
    }
}
