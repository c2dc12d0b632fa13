//! A recorded run on the screen: shown whole, or replayed.

use crate::lab::replay::{Advance, Playback};
use crate::lab::{LabEvent, LabSession};
use crate::tui::app::Core;
use crate::tui::msg::Action;
use crate::tui::widgets::gauges::Readings;

/// Percent of the length that a page is.
const PAGE_PCT: i8 = 10;

/// A recording and what is shown of it.
#[derive(Debug)]
pub(super) struct Recording {
    /// Ships with the program: made elsewhere, not by this learner.
    pub(super) shipped: bool,
    /// What the events up to the position add up to.
    pub(super) session: LabSession,
    /// Where it is.
    pub(super) playback: Playback,
    /// Whether it is a replay, whose position matters; else all is shown.
    is_replay: bool,
}

/// Whether an action moves a replay.
pub(super) fn moves(action: Action) -> bool {
    matches!(
        action,
        Action::Pause
            | Action::PageUp
            | Action::PageDown
            | Action::Top
            | Action::Bottom
            | Action::StepBack
            | Action::StepOn
            | Action::Faster
            | Action::Slower
    )
}

impl Recording {
    /// A run out of a file, replayed from this time of the shared clock on; `None`: shown whole.
    pub(super) fn new(events: Vec<LabEvent>, shipped: bool, play_from_ns: Option<u64>) -> Self {
        let playback = Playback::new(events);
        let mut recording = Self { shipped, session: LabSession::default(), playback, is_replay: false };
        match play_from_ns {
            Some(now_ns) => recording.play(now_ns),
            None => recording.show_all(),
        }
        recording
    }

    /// Whether it is a replay: playing, held or at its end.
    pub(super) fn is_replay(&self) -> bool {
        self.is_replay
    }

    /// Whether time moves it.
    pub(super) fn is_playing(&self) -> bool {
        self.is_replay && self.playback.is_playing()
    }

    /// Plays it from its start.
    pub(super) fn play(&mut self, now_ns: u64) {
        self.is_replay = true;
        take(&mut self.session, self.playback.restart());
        self.tick(now_ns);
    }

    /// Shows all of it, and is no replay any more.
    pub(super) fn show_all(&mut self) {
        self.is_replay = false;
        take(&mut self.session, self.playback.seek(u64::MAX));
        self.session.end_of_recording();
    }

    /// Lets time pass.
    pub(super) fn tick(&mut self, now_ns: u64) {
        take(&mut self.session, self.playback.tick(now_ns));
        self.look_for_end();
    }

    /// Does an action that [`moves`]; a run that is shown whole is a replay at its end from then on.
    pub(super) fn on(&mut self, action: Action) {
        self.is_replay = true;
        let playback = &mut self.playback;
        let advance = match action {
            Action::Pause => playback.pause_or_go_on(),
            Action::PageUp => playback.seek_by_pct(-PAGE_PCT),
            Action::PageDown => playback.seek_by_pct(PAGE_PCT),
            Action::Top => playback.seek(0),
            Action::Bottom => playback.seek(u64::MAX),
            Action::StepBack => playback.step(false),
            Action::StepOn => playback.step(true),
            Action::Faster | Action::Slower => return playback.change_speed(action == Action::Faster),
            _ => return,
        };
        take(&mut self.session, advance);
        self.look_for_end();
    }

    /// Its readings, on the machine that it ran on.
    pub(super) fn readings<'a>(&'a self, core: &'a Core) -> Readings<'a> {
        let machine = self.session.header.as_ref().map_or(&core.machine, |h| &h.machine);
        Readings::of_run(&self.session, machine, false)
    }

    fn look_for_end(&mut self) {
        if self.playback.is_at_end() {
            self.session.end_of_recording();
        }
    }
}

fn take(session: &mut LabSession, advance: Advance<'_>) {
    let events = match advance {
        Advance::Append(events) => events,
        Advance::Rebuild(events) => {
            *session = LabSession::default();
            events
        }
    };
    for (_, event) in events {
        session.apply(event.clone());
    }
}
