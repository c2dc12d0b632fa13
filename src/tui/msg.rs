//! The vocabulary of the loop: what comes in ([`Msg`]), what a key means ([`Action`]), what the app wants done
//! ([`Effect`]).

use std::sync::Arc;

use infralab_labs::protocol::RunRequest;

use crate::engine::{EngineState, Plan};
use crate::lab::history::{Listed, Place};
use crate::lab::{LabEvent, PastRun, Predictions, Record};
use crate::progress::{Mark, Progress, Subject};
use crate::search::SearchIndex;
use crate::telemetry::{Machine, Snapshot};

/// Everything that can happen to the app.
#[derive(Debug)]
pub(super) enum Msg {
    /// A key was pressed.
    Key(crossterm::event::KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// The terminal has this many columns and rows now.
    Resize(u16, u16),
    /// What the machine is.
    Machine(Box<Machine>),
    /// Readings.
    Snapshot(Box<Snapshot>),
    /// An event of the running lab.
    Lab(Box<LabEvent>),
    /// Time passed; shared clock, ns. Comes only while [`super::app::App::wants_ticks`].
    Tick(u64),
    /// The search index is built.
    SearchReady(Box<SearchIndex>),
    /// Marks as they are on disk now.
    Progress(Arc<Progress>),
    /// What an undo took back, by name; `None` when there was nothing.
    Undone(Option<String>),
    /// Runs on disk and shipped.
    History(Vec<Listed>),
    /// A recorded run, read whole.
    RunLoaded {
        /// Whether it ships with the program.
        shipped: bool,
        /// Its lines.
        events: Vec<LabEvent>,
        /// It plays at its own pace from this time on, shared clock, ns; `None`: all at once.
        play_from_ns: Option<u64>,
    },
    /// Runs to compare, read whole, in the order in which they were chosen.
    RunsLoaded(Vec<PastRun>),
    /// The engine, looked at again.
    Engine(EngineStatus),
    /// How far setting the engine up is.
    Setup(Setup),
    /// Something to tell, good or bad.
    Tell(Notice),
    /// End the program.
    Quit,
}

/// Whether labs can run here, in words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct EngineStatus {
    /// A worker is there.
    pub ready: bool,
    /// What there is, or what is missing and the next step.
    pub line: String,
}

impl EngineStatus {
    /// The state of the engine in one line.
    pub(super) fn of(state: &EngineState) -> Self {
        Self { ready: state.ready().is_some(), line: state.to_string() }
    }
}

/// Setting the engine up from within the interface.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum Setup {
    /// Not asked for.
    #[default]
    Idle,
    /// Finding out what it would take.
    Planning,
    /// What it would take; nothing happens before the learner agrees.
    Planned(Box<Plan>),
    /// Under way: the newest line.
    Running(String),
    /// Labs can run.
    Done,
    /// It went wrong; why, and what to do.
    Failed(String),
}

/// One line at the bottom of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Notice {
    /// Whether something went wrong.
    pub bad: bool,
    /// The line.
    pub text: String,
}

impl Notice {
    /// Something that went well.
    pub(super) fn good(text: impl Into<String>) -> Self {
        Self { bad: false, text: text.into() }
    }

    /// Something that went wrong.
    pub(super) fn bad(text: impl Into<String>) -> Self {
        Self { bad: true, text: text.into() }
    }
}

/// What a key means. [`super::keys`] holds the only table from keys to actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// End the program.
    Quit,
    /// Back to where one came from.
    Back,
    /// Show the keys of this screen and of all.
    Help,
    /// Switch between Chinese and English.
    Language,
    /// Next colour theme.
    Theme,
    /// Draw everything anew.
    Redraw,
    /// Stop the program until `fg`.
    Suspend,
    /// Go to one of the main screens.
    Go(Tab),
    /// One up.
    Up,
    /// One down.
    Down,
    /// Previous choice, or previous chart.
    Left,
    /// Next choice, or next chart.
    Right,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the beginning.
    Top,
    /// To the end.
    Bottom,
    /// Next link, pane or kind.
    Next,
    /// Previous link, pane or kind.
    Previous,
    /// Open what is selected; do what is selected.
    Open,
    /// Mark as known.
    Known,
    /// Mark as being learned.
    Learning,
    /// Mark as to learn.
    Todo,
    /// Next mark in turn.
    Cycle,
    /// Take the newest mark back.
    Undo,
    /// Filter the list.
    Filter,
    /// Choose the line, or no longer.
    Select,
    /// Put what is chosen side by side.
    Compare,
    /// Show how well predictions hold.
    Calibration,
    /// Start the lab.
    Run,
    /// Stop the lab.
    Stop,
    /// Play the recording at its own pace.
    Replay,
    /// Read the lab's guide.
    Guide,
    /// Let the picture stand still, or go on.
    Pause,
    /// To the reading before, in a replay.
    StepBack,
    /// To the next reading, in a replay.
    StepOn,
    /// Replay faster.
    Faster,
    /// Replay slower.
    Slower,
    /// Another sampling lens.
    Lens,
    /// Another length of the history.
    Window,
    /// Other characters for charts.
    Glyphs,
}

/// The main screens, in the order of their digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tab {
    /// Where one stands.
    Home,
    /// Notes.
    Notes,
    /// Search.
    Search,
    /// Glossary.
    Glossary,
    /// Labs.
    Labs,
    /// Runs.
    History,
    /// Calculators.
    Calc,
    /// The monitor.
    Gpu,
}

impl Tab {
    /// All, in order.
    pub const ALL: [Self; 8] = [
        Self::Home,
        Self::Notes,
        Self::Search,
        Self::Glossary,
        Self::Labs,
        Self::History,
        Self::Calc,
        Self::Gpu,
    ];
}

/// What the app wants done outside itself.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Effect {
    /// Save a mark; answers with [`Msg::Progress`] or [`Msg::Tell`].
    Mark(Vec<Subject>, Option<Mark>),
    /// Take the newest mark back.
    Undo,
    /// Start a lab.
    StartLab {
        /// What to run.
        request: Box<RunRequest>,
        /// What the learner predicted.
        predictions: Predictions,
    },
    /// Ask the running lab to stop.
    StopLab,
    /// Find out what setting the engine up would take.
    PlanEngine,
    /// Set the engine up as planned.
    InstallEngine(Box<Plan>),
    /// Write the closing record of the run that ended.
    FinishRun(Box<Record>),
    /// Read a run.
    LoadRun {
        /// Which.
        place: Place,
        /// Play at its own pace instead of showing its end.
        play: bool,
        /// Predictions to judge by it, instead of its own; empty: its own.
        predictions: Predictions,
    },
    /// Read runs to compare; answers with [`Msg::RunsLoaded`] or [`Msg::Tell`].
    LoadRuns(Vec<Place>),
    /// Take this many samples a second from now on.
    SampleAt {
        /// Samples a second.
        hz: f64,
        /// Whether anybody looks; the counters that other profilers may need are read only then.
        watched: bool,
    },
    /// Clear the terminal and draw anew.
    Redraw,
    /// Give the terminal back until `fg`.
    Suspend,
}
