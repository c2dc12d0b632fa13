//! The device's side of a run in full: every gauge over the whole run, with the phases of the lab on the same axis.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::super::monitor::open_term;
use super::super::{Nav, Outcome};
use crate::tui::app::Core;
use crate::tui::msg::Action;
use crate::tui::widgets::gauges::{self, Readings, Selection};

/// What is selected there.
#[derive(Debug, Default)]
pub(super) struct Device {
    selection: Selection,
    /// The GPU that was shown first: the one that the lab runs on, known once the worker said hello.
    first: Option<usize>,
}

impl Device {
    /// Does an action that concerns gauges; `None` where it is another's.
    pub(super) fn on(&mut self, action: Action, readings: &Readings<'_>, core: &Core) -> Option<Outcome> {
        self.follow(readings);
        match action {
            Action::Up => self.selection.move_gauge(-1, readings),
            Action::Down => self.selection.move_gauge(1, readings),
            Action::Left => self.selection.turn_span(false, readings.spans),
            Action::Right => self.selection.turn_span(true, readings.spans),
            Action::Lens => self.selection.turn_lens(),
            Action::Window => self.selection.turn_gpu(true, readings.machine),
            Action::Open => return Some(open_term(&self.selection, readings, core)),
            _ => return None,
        }
        Some(Outcome::nav(Nav::Stay))
    }

    /// Selects the GPU of the run when it becomes known.
    fn follow(&mut self, readings: &Readings<'_>) {
        if self.first != Some(readings.gpu) {
            self.first = Some(readings.gpu);
            self.selection.show_gpu(readings.gpu);
        }
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>, area: Rect, core: &Core, readings: &Readings<'_>) {
        let mut selection = self.selection;
        if self.first != Some(readings.gpu) {
            selection.show_gpu(readings.gpu);
        }
        gauges::draw(frame, area, core, readings, &selection);
    }
}
