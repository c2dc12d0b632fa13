//! A page of the report on the screen: its Markdown through the reader, scrolled.

use ratatui::Frame;
use ratatui::layout::Rect;

use crate::lab::report::document::Block;
use crate::lab::report::markdown::{self, Pictures};
use crate::reader::{Document, Layout};
use crate::tui::app::Core;
use crate::tui::markdown as look;
use crate::tui::msg::Action;

/// Layout and place in it.
#[derive(Debug, Default)]
pub(in crate::tui) struct Page {
    layout: Option<Layout>,
    scroll: usize,
    rows: u16,
}

impl Page {
    /// Lays a page out for this many columns and rows.
    pub(in crate::tui) fn lay_out(&mut self, blocks: &[Block], (columns, rows): (u16, u16)) {
        let text = markdown::write(blocks, Pictures::LeftOut);
        self.layout = Some(Document::parse(&text).layout(columns.max(1)));
        self.rows = rows;
        self.scroll = self.scroll.min(self.last());
    }

    /// Scrolls.
    pub(in crate::tui) fn on(&mut self, action: Action) {
        let page = usize::from(self.rows.saturating_sub(1).max(1));
        self.scroll = match action {
            Action::Up => self.scroll.saturating_sub(1),
            Action::Down => self.scroll + 1,
            Action::PageUp => self.scroll.saturating_sub(page),
            Action::PageDown => self.scroll + page,
            Action::Top => 0,
            Action::Bottom => usize::MAX,
            _ => self.scroll,
        }
        .min(self.last());
    }

    fn last(&self) -> usize {
        let rows = self.layout.as_ref().map_or(0, |l| l.rows.len());
        rows.saturating_sub(usize::from(self.rows.max(1)))
    }

    /// Draws what fits.
    pub(in crate::tui) fn draw(&self, frame: &mut Frame<'_>, area: Rect, core: &Core) {
        if let Some(layout) = &self.layout {
            let styles = core.theme.markdown();
            look::render(layout, self.scroll, area, frame.buffer_mut(), &styles, look::Marks::default());
        }
    }
}
