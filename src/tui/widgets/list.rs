//! A selected line in a list that may be longer than the screen.

use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use crate::tui::msg::Action;

/// The selected index.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(in crate::tui) struct Cursor(usize);

impl Cursor {
    /// Where it is.
    pub(in crate::tui) fn at(self) -> usize {
        self.0
    }

    /// Puts it somewhere.
    pub(in crate::tui) fn to(&mut self, at: usize) {
        self.0 = at;
    }

    /// Keeps it inside a list of `len`.
    pub(in crate::tui) fn clamp(&mut self, len: usize) {
        self.0 = self.0.min(len.saturating_sub(1));
    }

    /// Moves it; a page is `page` lines.
    pub(in crate::tui) fn on(&mut self, action: Action, len: usize, page: usize) {
        self.0 = match action {
            Action::Up => self.0.saturating_sub(1),
            Action::Down => self.0 + 1,
            Action::PageUp => self.0.saturating_sub(page),
            Action::PageDown => self.0 + page,
            Action::Top => 0,
            Action::Bottom => len,
            _ => self.0,
        };
        self.clamp(len);
    }
}

/// Lines scrolled so that `selected` is in view, in the middle where the list is long.
pub(in crate::tui) fn scrolled(lines: Vec<Line<'_>>, selected: usize, height: u16) -> Paragraph<'_> {
    let height = usize::from(height.max(1));
    let last = lines.len().saturating_sub(height);
    let first = selected.saturating_sub(height / 2).min(last);
    Paragraph::new(lines.into_iter().skip(first).take(height).collect::<Vec<_>>())
}
