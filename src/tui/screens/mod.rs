//! One screen is one struct: state, what an action does to it, and how it is drawn. `Screen` is an enum, so nothing is
//! registered and every match is exhaustive.

mod calc;
mod calc_form;
mod calc_view;
mod calibration;
mod compare;
mod frame;
mod glossary;
mod help;
mod history;
mod home;
mod lab;
mod lab_form;
mod labs;
mod monitor;
mod notes;
mod reader;
mod run;
mod search;
mod setup;

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::Rect;

use super::app::{App, Core};
use super::keys::Place;
use super::msg::{Action, Effect, Notice, Tab};
use crate::lab::compare::CompareError;
use crate::lab::{LabEvent, PastRun};
use crate::library::{Library, Target};
use crate::progress::{Mark, Subject, SubjectKind};

pub(super) use frame::draw;

/// What is shown.
#[derive(Debug)]
pub(super) enum Screen {
    /// Where one stands.
    Home,
    /// List of notes.
    Notes(notes::Notes),
    /// A text on the whole screen.
    Reader(reader::Reader),
    /// Search.
    Search(search::Search),
    /// Glossary.
    Glossary(glossary::Glossary),
    /// List of labs.
    Labs(labs::Labs),
    /// A lab before its run.
    Lab(lab::Lab),
    /// Setting the engine up.
    Setup(setup::Setup),
    /// A run.
    Run(run::Run),
    /// List of runs.
    History(history::History),
    /// Calculators.
    Calc(calc::Calc),
    /// The monitor.
    Monitor(monitor::Monitor),
    /// Runs side by side.
    Compare(compare::Compare),
    /// How well predictions hold.
    Calibration(calibration::Calibration),
    /// Keys.
    Help(help::Help),
}

/// Where to go.
#[derive(Debug)]
pub(super) enum Nav {
    /// Nowhere.
    Stay,
    /// Onto the screen.
    Push(Box<Screen>),
    /// To the screen before.
    Back,
}

/// What an action led to.
#[derive(Debug)]
pub(super) struct Outcome {
    /// Where to go.
    pub nav: Nav,
    /// What to do outside.
    pub effects: Vec<Effect>,
    /// What to tell.
    pub notice: Option<Notice>,
}

impl Outcome {
    /// Nothing more.
    pub(super) fn stay() -> Self {
        Self::nav(Nav::Stay)
    }

    /// Go somewhere.
    pub(super) fn nav(nav: Nav) -> Self {
        Self { nav, effects: Vec::new(), notice: None }
    }

    /// Show a screen.
    pub(super) fn push(screen: Screen) -> Self {
        Self::nav(Nav::Push(Box::new(screen)))
    }

    /// Do something outside.
    pub(super) fn effect(effect: Effect) -> Self {
        Self { effects: vec![effect], ..Self::stay() }
    }

    /// Put a mark; the same mark again takes it away.
    pub(in crate::tui) fn mark(subject: Subject, mark: Mark, core: &Core) -> Self {
        let now = match subject.kind {
            SubjectKind::Note => core.progress.note(&subject.id),
            SubjectKind::Term => core.progress.term(&subject.id),
        };
        Self::effect(Effect::Mark(vec![subject], (now != Some(mark)).then_some(mark)))
    }

    /// Tell that something is not possible.
    pub(super) fn refuse(text: impl Into<String>) -> Self {
        Self { notice: Some(Notice::bad(text)), ..Self::stay() }
    }
}

impl Screen {
    /// The first page of a main screen.
    pub(super) fn of(tab: Tab) -> Self {
        match tab {
            Tab::Home => Self::Home,
            Tab::Notes => Self::Notes(notes::Notes::default()),
            Tab::Search => Self::Search(search::Search::default()),
            Tab::Glossary => Self::Glossary(glossary::Glossary::default()),
            Tab::Labs => Self::Labs(labs::Labs::default()),
            Tab::History => Self::History(history::History::default()),
            Tab::Calc => Self::Calc(calc::Calc::default()),
            Tab::Gpu => Self::Monitor(monitor::Monitor::default()),
        }
    }

    /// The keys, those of `place` first.
    pub(super) fn help(place: Place) -> Self {
        Self::Help(help::Help::new(place))
    }

    /// A run out of a file.
    pub(super) fn recorded_run(events: Vec<LabEvent>, shipped: bool, play_from_ns: Option<u64>) -> Self {
        Self::Run(run::Run::recorded(events, shipped, play_from_ns))
    }

    /// Runs side by side; the refusal when they cannot be compared.
    pub(super) fn comparison(runs: Vec<PastRun>, core: &Core) -> Result<Self, CompareError> {
        compare::Compare::new(runs, core).map(Self::Compare)
    }

    /// What a link or a hit leads to.
    pub(super) fn target(target: &Target, anchor: Option<&str>, library: &Library) -> Option<Self> {
        match target {
            Target::Note(id) => library.note(id).map(|n| Self::Reader(reader::Reader::note(&n.id, anchor))),
            Target::Term(id) => library.term(id).map(|t| Self::Reader(reader::Reader::term(&t.id))),
            Target::Lab(id) => lab::Lab::new(id).map(Self::Lab),
        }
    }

    /// Whose keys hold.
    pub(super) fn place(&self) -> Place {
        match self {
            Self::Home => Place::Home,
            Self::Notes(_) => Place::Notes,
            Self::Reader(_) => Place::Reader,
            Self::Search(_) => Place::Search,
            Self::Glossary(_) => Place::Glossary,
            Self::Labs(_) => Place::Labs,
            Self::Lab(_) => Place::Lab,
            Self::Setup(_) => Place::Setup,
            Self::Run(screen) => screen.place(),
            Self::History(_) => Place::History,
            Self::Calc(_) => Place::Calc,
            Self::Monitor(_) => Place::Monitor,
            Self::Compare(_) => Place::Compare,
            Self::Calibration(_) => Place::Calibration,
            Self::Help(_) => Place::Help,
        }
    }

    /// Whether a text field has the focus.
    pub(super) fn typing(&self) -> bool {
        match self {
            Self::Search(_) => true,
            Self::Glossary(screen) => screen.filtering(),
            Self::Lab(screen) => screen.typing(),
            Self::Calc(screen) => screen.typing(),
            Self::History(screen) => screen.filtering(),
            _ => false,
        }
    }

    /// Whether it shows live readings.
    pub(super) fn shows_readings(&self) -> bool {
        match self {
            Self::Home | Self::Monitor(_) => true,
            Self::Run(screen) => screen.live(),
            _ => false,
        }
    }

    /// Whether a recording plays.
    pub(super) fn replaying(&self) -> bool {
        matches!(self, Self::Run(screen) if screen.replaying())
    }

    /// Does an action.
    pub(super) fn on(&mut self, action: Action, core: &Core) -> Outcome {
        match self {
            Self::Home => home::on(action, core),
            Self::Notes(screen) => screen.on(action, core),
            Self::Reader(screen) => screen.on(action, core),
            Self::Search(screen) => screen.on(action, core),
            Self::Glossary(screen) => screen.on(action, core),
            Self::Labs(screen) => screen.on(action, core),
            Self::Lab(screen) => screen.on(action, core),
            Self::Setup(screen) => screen.on(action, core),
            Self::Run(screen) => screen.on(action, core),
            Self::History(screen) => screen.on(action, core),
            Self::Calc(screen) => screen.on(action, core),
            Self::Monitor(screen) => screen.on(action, core),
            Self::Compare(screen) => screen.on(action),
            Self::Calibration(screen) => screen.on(action),
            Self::Help(screen) => screen.on(action, core),
        }
    }

    /// Takes a key that the table does not know: a character into the field that has the focus.
    pub(super) fn typed(&mut self, key: KeyEvent, core: &Core) -> Outcome {
        match self {
            Self::Search(screen) => screen.typed(key, core),
            Self::Glossary(screen) => screen.typed(key, core),
            Self::Lab(screen) => screen.typed(key, core),
            Self::Calc(screen) => screen.typed(key),
            Self::History(screen) => screen.typed(key, core),
            _ => Outcome::stay(),
        }
    }

    /// Takes pasted text.
    pub(super) fn paste(&mut self, text: &str, core: &Core) -> Outcome {
        // No field takes more than this; the rest of a slip of the mouse is not worth a thought.
        const MOST: usize = 1000;
        let text: String = crate::visible::visible_line(text).chars().take(MOST).collect();
        if let Self::Search(screen) = self {
            return screen.paste(&text, core);
        }
        for c in text.chars() {
            self.typed(KeyEvent::from(crossterm::event::KeyCode::Char(c)), core);
        }
        Outcome::stay()
    }

    /// Adapts to size, language, marks and runs as they are now.
    pub(super) fn lay_out(&mut self, core: &Core) {
        match self {
            Self::Notes(screen) => screen.lay_out(core),
            Self::Reader(screen) => screen.lay_out(core),
            Self::Search(screen) => screen.lay_out(core),
            Self::Glossary(screen) => screen.lay_out(core),
            Self::History(screen) => screen.lay_out(core),
            Self::Calc(screen) => screen.lay_out(),
            Self::Compare(screen) => screen.lay_out(core),
            Self::Calibration(screen) => screen.lay_out(core),
            Self::Home
            | Self::Labs(_)
            | Self::Lab(_)
            | Self::Setup(_)
            | Self::Run(_)
            | Self::Monitor(_)
            | Self::Help(_) => {}
        }
    }

    /// Lets time pass.
    pub(super) fn tick(&mut self, core: &Core) {
        if let Self::Run(screen) = self {
            screen.tick(core.now_ns);
        }
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect, app: &App) {
        let core = &app.core;
        match self {
            Self::Home => home::draw(frame, area, core),
            Self::Notes(screen) => screen.draw(frame, area, core),
            Self::Reader(screen) => screen.draw(frame, area, core),
            Self::Search(screen) => screen.draw(frame, area, core),
            Self::Glossary(screen) => screen.draw(frame, area, core),
            Self::Labs(screen) => screen.draw(frame, area, core),
            Self::Lab(screen) => screen.draw(frame, area, core),
            Self::Setup(_) => setup::draw(frame, area, core),
            Self::Run(screen) => screen.draw(frame, area, core),
            Self::History(screen) => screen.draw(frame, area, core),
            Self::Calc(screen) => screen.draw(frame, area, core),
            Self::Monitor(screen) => screen.draw(frame, area, core),
            Self::Compare(screen) => screen.draw(frame, area, core),
            Self::Calibration(screen) => screen.draw(frame, area, core),
            Self::Help(screen) => screen.draw(frame, area, core),
        }
    }
}

/// Area inside the tab bar and the footer, for layouts that are made in `update`.
pub(super) fn body_size(core: &Core) -> (u16, u16) {
    (core.size.0, core.size.1.saturating_sub(2))
}
