//! The keys, from the one table.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::{Nav, Outcome};
use crate::tui::app::Core;
use crate::tui::keys::{BINDINGS, Place};
use crate::tui::msg::Action;
use crate::tui::theme::Role;

/// Which keys come first, and how far one scrolled.
#[derive(Debug)]
pub(crate) struct Help {
    first: Place,
    scroll: u16,
}

impl Help {
    /// Help that begins with the keys of a place.
    pub(super) fn new(first: Place) -> Self {
        Self { first, scroll: 0 }
    }

    pub(super) fn on(&mut self, action: Action, core: &Core) -> Outcome {
        let page = core.size.1.saturating_sub(4).max(1);
        let last = (self.lines(core).len() as u16).saturating_sub(page);
        match action {
            Action::Back => return Outcome::nav(Nav::Back),
            Action::Up => self.scroll = self.scroll.saturating_sub(1),
            Action::Down => self.scroll = (self.scroll + 1).min(last),
            Action::PageUp => self.scroll = self.scroll.saturating_sub(page),
            Action::PageDown => self.scroll = (self.scroll + page).min(last),
            _ => {}
        }
        Outcome::stay()
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>, area: Rect, core: &Core) {
        let area = area.inner(ratatui::layout::Margin::new(2, 0));
        frame.render_widget(Paragraph::new(self.lines(core)).scroll((self.scroll, 0)), area);
    }

    fn lines(&self, core: &Core) -> Vec<Line<'static>> {
        let (lang, theme) = (core.lang, core.theme);
        let mut lines = Vec::new();
        let others = Place::ALL.into_iter().filter(|p| *p != self.first);
        for place in std::iter::once(self.first).chain(others) {
            let mut bindings = BINDINGS.iter().filter(|b| b.on == place).peekable();
            if bindings.peek().is_none() {
                continue;
            }
            lines.push(Line::raw(""));
            lines.push(Line::styled(place.name(lang), theme.style(Role::Accent)));
            for binding in bindings {
                let keys = binding.keys.iter().map(ToString::to_string).collect::<Vec<_>>().join("  ");
                lines.push(Line::from(vec![
                    Span::raw(format!("  {keys:<22}")),
                    Span::raw(binding.help(lang)),
                ]));
            }
        }
        lines
    }
}
