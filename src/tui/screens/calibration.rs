//! How well the learner's predictions hold, over all own runs and over time.

use ratatui::Frame;
use ratatui::layout::{Margin, Rect};

use super::{Nav, Outcome, body_size};
use crate::lab::calibration::{Calibration as Scores, Predicted};
use crate::lab::report::calibration::blocks;
use crate::tui::app::Core;
use crate::tui::msg::Action;
use crate::tui::widgets::page::Page;

/// The page of the calibration.
#[derive(Debug, Default)]
pub(crate) struct Calibration {
    page: Page,
}

impl Calibration {
    pub(super) fn lay_out(&mut self, core: &Core) {
        let scores = Scores::of(&Predicted::own(&core.runs));
        let (columns, rows) = body_size(core);
        self.page.lay_out(&blocks(&scores, 1, core.lang), (columns.saturating_sub(2), rows));
    }

    pub(super) fn on(&mut self, action: Action) -> Outcome {
        if action == Action::Back {
            return Outcome::nav(Nav::Back);
        }
        self.page.on(action);
        Outcome::stay()
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>, area: Rect, core: &Core) {
        self.page.draw(frame, area.inner(Margin::new(1, 0)), core);
    }
}
