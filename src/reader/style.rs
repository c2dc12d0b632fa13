//! What a piece of text means. Colours are the terminal interface's business.

use std::ops::{BitOr, BitOrAssign};

/// A set of meanings; text may be strong, a link and inside a heading at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Style(u32);

impl Style {
    /// Running text.
    pub const PLAIN: Self = Self(0);
    /// `**strong**`.
    pub const STRONG: Self = Self(1 << 3);
    /// `*emphasis*`.
    pub const EMPHASIS: Self = Self(1 << 4);
    /// `~~struck out~~`.
    pub const STRIKE: Self = Self(1 << 5);
    /// A code span.
    pub const CODE: Self = Self(1 << 6);
    /// A line of a code block; its background runs to the right edge.
    pub const CODE_BLOCK: Self = Self(1 << 7);
    /// Inside a block quote.
    pub const QUOTE: Self = Self(1 << 8);
    /// Inside a quote that corrects a claim.
    pub const CORRECTION: Self = Self(1 << 9);
    /// The word that opens a correction.
    pub const CORRECTION_LABEL: Self = Self(1 << 10);
    /// Leads somewhere.
    pub const LINK: Self = Self(1 << 11);
    /// The number of a footnote in running text; it stays with its word.
    pub const FOOTNOTE: Self = Self(1 << 17);
    /// A header cell of a table.
    pub const TABLE_HEAD: Self = Self(1 << 12);
    /// Said in passing: addresses of links, language labels.
    pub const DIM: Self = Self(1 << 13);
    /// Drawn by the layout and absent from the text: bars, bullets, numbers, borders, rules.
    pub const CHROME: Self = Self(1 << 14);
    /// A horizontal rule (always with [`Style::CHROME`]).
    pub const RULE: Self = Self(1 << 15);
    /// A border of a table (always with [`Style::CHROME`]).
    pub const BORDER: Self = Self(1 << 16);

    /// A heading of this level, 1 to 6.
    pub const fn heading(level: u8) -> Self {
        Self(if level > 6 { 6 } else { level as u32 })
    }

    /// The heading's level, or 0 outside headings.
    pub const fn heading_level(self) -> u8 {
        (self.0 & 7) as u8
    }

    /// Whether every meaning of `other` is among these. `other` is one of the constants, not a heading.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Style {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Style {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}
