//! The monitor: every gauge of this machine, live.

use ratatui::Frame;
use ratatui::layout::{Margin, Rect};

use super::reader::Reader;
use super::{Nav, Outcome, Screen};
use crate::tui::app::Core;
use crate::tui::msg::Action;
use crate::tui::widgets::gauges::{self, Readings, Selection};

/// The monitor.
#[derive(Debug, Default)]
pub(crate) struct Monitor {
    selection: Selection,
    /// The picture stands still at this time of the shared clock; readings go on.
    paused_ns: Option<u64>,
}

impl Monitor {
    fn readings<'a>(&self, core: &'a Core) -> Readings<'a> {
        Readings::live(core, self.selection.window_ns(), self.paused_ns)
    }

    pub(super) fn on(&mut self, action: Action, core: &Core) -> Outcome {
        match action {
            Action::Back => return Outcome::nav(Nav::Back),
            Action::Up => self.selection.move_gauge(-1, &self.readings(core)),
            Action::Down => self.selection.move_gauge(1, &self.readings(core)),
            Action::Top => self.selection.move_gauge(isize::MIN, &self.readings(core)),
            Action::Bottom => self.selection.move_gauge(isize::MAX, &self.readings(core)),
            Action::Left => self.selection.turn_span(false, self.readings(core).spans),
            Action::Right => self.selection.turn_span(true, self.readings(core).spans),
            Action::Next => self.selection.turn_gpu(true, &core.machine),
            Action::Previous => self.selection.turn_gpu(false, &core.machine),
            Action::Lens => self.selection.turn_lens(),
            Action::Window => self.selection.turn_window(),
            Action::Pause => {
                let newest = core.live.back().map(|s| s.mono_ns);
                self.paused_ns = if self.paused_ns.is_some() { None } else { newest };
            }
            Action::Open => return open_term(&self.selection, &self.readings(core), core),
            _ => {}
        }
        Outcome::stay()
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>, area: Rect, core: &Core) {
        let area = if area.width > 60 { area.inner(Margin::new(1, 0)) } else { area };
        gauges::draw(frame, area, core, &self.readings(core), &self.selection);
    }
}

/// The term that explains the selected gauge.
pub(super) fn open_term(selection: &Selection, readings: &Readings<'_>, core: &Core) -> Outcome {
    let term = selection.gauge(readings).and_then(|gauge| core.library.term(gauge.term));
    match term {
        Some(term) => Outcome::push(Screen::Reader(Reader::term(&term.id))),
        None => Outcome::refuse(core.lang.pick("the glossary has no term for it", "术语表里没有对应的术语")),
    }
}
