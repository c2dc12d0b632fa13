//! The signs that a layout draws around the text.

/// Which signs a terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Chrome {
    /// Box drawing.
    #[default]
    Unicode,
    /// ASCII only, for terminals whose locale is not UTF-8.
    Ascii,
}

/// One kind of horizontal line in a table: left end, line, crossing, right end.
pub(super) type Border = [&'static str; 4];

impl Chrome {
    fn pick<T>(self, unicode: T, ascii: T) -> T {
        match self {
            Self::Unicode => unicode,
            Self::Ascii => ascii,
        }
    }

    /// Signs for lists by depth; neither is of ambiguous width.
    pub(super) fn bullet(self, depth: usize) -> &'static str {
        if depth.is_multiple_of(2) { self.pick("∙", "*") } else { "-" }
    }

    pub(super) fn quote_bar(self, correction: bool) -> &'static str {
        if correction { self.pick("┃", "!") } else { self.pick("│", "|") }
    }

    pub(super) fn rule(self) -> &'static str {
        self.pick("─", "-")
    }

    pub(super) fn column(self) -> &'static str {
        self.pick("│", "|")
    }

    pub(super) fn top(self) -> Border {
        self.pick(["┌", "─", "┬", "┐"], ["+", "-", "+", "+"])
    }

    pub(super) fn middle(self) -> Border {
        self.pick(["├", "─", "┼", "┤"], ["+", "-", "+", "+"])
    }

    pub(super) fn bottom(self) -> Border {
        self.pick(["└", "─", "┴", "┘"], ["+", "-", "+", "+"])
    }
}
