//! The whole state of the interface and how messages change it. No await, no clock, no file, no process: what must
//! happen outside is returned as [`Effect`]s.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crossterm::event::{KeyEvent, KeyEventKind};

use super::glyphs::Glyphs;
use super::keys;
use super::msg::{Action, Effect, EngineStatus, Msg, Notice, Setup, Tab};
use super::pace;
use super::screens::{Nav, Outcome, Screen};
use super::theme::Theme;
use crate::lab::history::Listed;
use crate::lab::{LabEvent, LabSession, Record};
use crate::lang::Lang;
use crate::library::Library;
use crate::progress::Progress;
use crate::search::SearchIndex;
use crate::telemetry::{Machine, Snapshot};

/// What every screen sees.
#[derive(Debug)]
pub(super) struct Core {
    /// Language of the interface and of what is read.
    pub lang: Lang,
    /// Colours.
    pub theme: Theme,
    /// Characters of charts.
    pub glyphs: Glyphs,
    /// Notes and terms.
    pub library: Arc<Library>,
    /// The index, once it is built.
    pub search: Option<SearchIndex>,
    /// Marks as they are on disk.
    pub progress: Arc<Progress>,
    /// Runs on disk and shipped.
    pub runs: Vec<Listed>,
    /// Whether labs can run here.
    pub engine: EngineStatus,
    /// How far setting the engine up is.
    pub(super) setup: Setup,
    /// What the machine is.
    pub machine: Machine,
    /// Newest readings, oldest first.
    pub live: VecDeque<Snapshot>,
    /// The lab that runs, or the last one that did.
    pub active: Option<LabSession>,
    /// Columns and rows.
    pub size: (u16, u16),
    /// Newest time that was told, shared clock, ns.
    pub now_ns: u64,
    /// Samples a second that were asked for.
    pub(super) sampling_hz: f64,
    /// Whether the sampler was told that somebody looks.
    watched: bool,
}

impl Core {
    /// Whether a lab runs now.
    pub(super) fn running(&self) -> bool {
        self.active.as_ref().is_some_and(|s| s.exited.is_none())
    }

    /// Age of the newest readings, ns, where newer ones should have come by now.
    pub(super) fn late_ns(&self) -> Option<u64> {
        let age_ns = self.now_ns.saturating_sub(self.live.back()?.mono_ns);
        pace::is_late(age_ns, self.sampling_hz).then_some(age_ns)
    }
}

/// The interface.
#[derive(Debug)]
pub(super) struct App {
    /// What every screen sees.
    pub core: Core,
    /// The line at the bottom, until the next key.
    pub notice: Option<Notice>,
    /// Whether something on the screen changed since it was drawn.
    pub dirty: bool,
    /// Whether the program ends.
    pub quit: bool,
    tab: Tab,
    stacks: HashMap<Tab, Vec<Screen>>,
    /// Samples a second while a panel is on the screen.
    panel_hz: f64,
    /// Samples a second of the run in [`Core::active`], chosen at its start.
    run_hz: f64,
    /// The run in [`Core::active`] has no closing record yet.
    unfinished: bool,
}

impl App {
    /// An app that shows the home screen.
    pub(super) fn new(library: Arc<Library>, lang: Lang, theme: Theme, size: (u16, u16)) -> Self {
        let core = Core {
            lang,
            theme,
            glyphs: Glyphs::default(),
            library,
            search: None,
            progress: Arc::default(),
            runs: Vec::new(),
            engine: EngineStatus::default(),
            setup: Setup::default(),
            machine: Machine::default(),
            live: VecDeque::new(),
            active: None,
            size,
            now_ns: 0,
            sampling_hz: pace::PANEL_HZ,
            watched: true,
        };
        let mut app = Self {
            core,
            notice: None,
            dirty: true,
            quit: false,
            tab: Tab::Home,
            stacks: HashMap::new(),
            panel_hz: pace::PANEL_HZ,
            run_hz: pace::burst_hz(&VecDeque::new()),
            unfinished: false,
        };
        app.go(Tab::Home);
        app
    }

    /// Shows the monitor, and samples this often while a panel is on the screen.
    pub(super) fn open_monitor(&mut self, hz: Option<f64>) {
        self.panel_hz = hz.unwrap_or(self.panel_hz);
        self.go(Tab::Gpu);
    }

    /// Takes in one message.
    pub(super) fn update(&mut self, msg: Msg) -> Vec<Effect> {
        let mut effects = self.take(msg);
        if effects.iter().any(|e| matches!(e, Effect::StartLab { .. })) {
            // The run before may still be waiting to see its memory come back.
            effects.splice(0..0, self.finish_run());
        }
        let (wanted, watched) = self.wanted_hz();
        if (wanted - self.core.sampling_hz).abs() > f64::EPSILON || watched != self.core.watched {
            (self.core.sampling_hz, self.core.watched) = (wanted, watched);
            effects.push(Effect::SampleAt { hz: wanted, watched });
        }
        effects
    }

    /// The main screen that is shown.
    pub(super) fn tab(&self) -> Tab {
        self.tab
    }

    /// The screen that has the keys.
    pub(super) fn screen(&self) -> &Screen {
        self.stacks
            .get(&self.tab)
            .and_then(|s| s.last())
            .expect("`go` filled the stack of the tab that is shown")
    }

    /// Whether time on the screen moves by itself: a run's clock, a replay, or the age of readings.
    pub(super) fn wants_ticks(&self) -> bool {
        self.core.running() || self.screen().replaying() || self.screen().shows_readings()
    }

    fn take(&mut self, msg: Msg) -> Vec<Effect> {
        match msg {
            Msg::Key(key) => return self.key(key),
            Msg::Paste(text) => {
                let outcome = self.with_screen(|screen, core| screen.paste(&text, core));
                return self.apply(outcome);
            }
            Msg::Resize(columns, rows) => {
                self.core.size = (columns, rows);
                self.lay_out_all();
            }
            Msg::Machine(machine) => self.core.machine = *machine,
            Msg::Snapshot(snapshot) => return self.snapshot(*snapshot),
            Msg::Lab(event) => return self.lab(*event),
            Msg::Tick(now_ns) => {
                self.core.now_ns = now_ns;
                self.with_screen(Screen::tick);
                // With nothing but readings on the screen, a tick matters only where they fail to come.
                let moving = self.core.running() || self.screen().replaying();
                self.dirty |= moving || self.core.late_ns().is_some();
            }
            Msg::SearchReady(index) => {
                self.core.search = Some(*index);
                self.lay_out_all();
            }
            Msg::Progress(progress) => {
                self.core.progress = progress;
                self.lay_out_all();
            }
            Msg::Undone(what) => {
                let lang = self.core.lang;
                self.notice = Some(match what {
                    Some(what) => Notice::good(lang.pick("taken back: ", "已撤销：").to_owned() + &what),
                    None => Notice::bad(lang.pick("no mark to take back", "没有可撤销的标记")),
                });
                self.dirty = true;
            }
            Msg::History(runs) => {
                self.core.runs = runs;
                self.lay_out_all();
            }
            Msg::RunLoaded { shipped, events, play_from_ns } => {
                let screen = Screen::recorded_run(events, shipped, play_from_ns);
                return self.apply(Outcome::nav(Nav::Push(Box::new(screen))));
            }
            Msg::RunsLoaded(runs) => {
                let outcome = match Screen::comparison(runs, &self.core) {
                    Ok(screen) => Outcome::push(screen),
                    Err(refusal) => Outcome::refuse(refusal.told(self.core.lang)),
                };
                return self.apply(outcome);
            }
            Msg::Engine(status) => {
                self.core.engine = status;
                self.dirty = true;
            }
            Msg::Setup(setup) => {
                self.core.setup = setup;
                self.dirty = true;
            }
            Msg::Tell(notice) => {
                self.notice = Some(notice);
                self.dirty = true;
            }
            Msg::Quit => self.quit = true,
        }
        Vec::new()
    }

    fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        // Terminals with the kitty protocol and Windows also report releases.
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        self.dirty = true;
        self.notice = None;
        let screen = self.screen();
        if let Some(action) = keys::action(screen.place(), key, screen.typing()) {
            return self.act(action);
        }
        let outcome = self.with_screen(|screen, core| screen.typed(key, core));
        self.apply(outcome)
    }

    fn act(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Quit => self.quit = true,
            Action::Help => {
                if !matches!(self.screen(), Screen::Help(_)) {
                    let help = Screen::help(self.screen().place());
                    return self.apply(Outcome::nav(Nav::Push(Box::new(help))));
                }
            }
            Action::Language => {
                self.core.lang = self.core.lang.other();
                self.lay_out_all();
            }
            Action::Theme => {
                self.core.theme = self.core.theme.next();
                let name = self.core.theme.name();
                self.notice = Some(Notice::good(self.core.lang.pick("theme: ", "配色：").to_owned() + name));
            }
            Action::Glyphs => {
                self.core.glyphs = self.core.glyphs.next();
                let name = self.core.glyphs.name();
                self.notice =
                    Some(Notice::good(self.core.lang.pick("charts: ", "图表字符：").to_owned() + name));
            }
            Action::Redraw => return vec![Effect::Redraw],
            Action::Suspend => return vec![Effect::Suspend],
            Action::Go(tab) => self.go(tab),
            Action::Undo => return vec![Effect::Undo],
            action => {
                let outcome = self.with_screen(|screen, core| screen.on(action, core));
                return self.apply(outcome);
            }
        }
        Vec::new()
    }

    fn apply(&mut self, outcome: Outcome) -> Vec<Effect> {
        self.dirty = true;
        if let Some(notice) = outcome.notice {
            self.notice = Some(notice);
        }
        match outcome.nav {
            Nav::Stay => {}
            Nav::Push(mut screen) => {
                screen.lay_out(&self.core);
                self.stacks.entry(self.tab).or_default().push(*screen);
            }
            Nav::Back => self.back(),
        }
        outcome.effects
    }

    fn back(&mut self) {
        let stack = self.stacks.entry(self.tab).or_default();
        if stack.len() > 1 {
            stack.pop();
            let core = &self.core;
            if let Some(screen) = stack.last_mut() {
                screen.lay_out(core);
            }
        } else if self.tab == Tab::Home {
            let hint = self.core.lang.pick("F10 or q quits", "按 F10 或 q 退出");
            self.notice = Some(Notice::good(hint));
        } else {
            self.go(Tab::Home);
        }
    }

    /// Shows a main screen as it was left; asked for again, its first page.
    fn go(&mut self, tab: Tab) {
        let stack = self.stacks.entry(tab).or_default();
        if self.tab == tab {
            stack.truncate(1);
        }
        if stack.is_empty() {
            stack.push(Screen::of(tab));
        }
        self.tab = tab;
        self.dirty = true;
        self.lay_out_all();
    }

    fn snapshot(&mut self, snapshot: Snapshot) -> Vec<Effect> {
        self.core.now_ns = self.core.now_ns.max(snapshot.mono_ns);
        if let Some(session) = self.core.active.as_mut().filter(|s| !s.settled()) {
            session.apply(LabEvent::Snapshot(snapshot.clone()));
        }
        pace::keep(&mut self.core.live, snapshot);
        self.dirty |= self.screen().shows_readings();
        let settled = self.core.active.as_ref().is_some_and(LabSession::settled);
        if settled { self.finish_run() } else { Vec::new() }
    }

    /// The closing record of a run that ended and has none yet.
    pub(super) fn finish_run(&mut self) -> Vec<Effect> {
        let ended = self.core.active.as_ref().filter(|s| s.exited.is_some() && self.unfinished);
        let Some(record) = ended.and_then(Record::of) else { return Vec::new() };
        self.unfinished = false;
        vec![Effect::FinishRun(Box::new(record))]
    }

    fn lab(&mut self, event: LabEvent) -> Vec<Effect> {
        self.dirty = true;
        if let LabEvent::Header(_) = event {
            self.run_hz = pace::burst_hz(&self.core.live);
            self.core.active = Some(LabSession::default());
            self.unfinished = true;
        }
        let Some(session) = &mut self.core.active else { return Vec::new() };
        session.apply(event);
        if session.settled() { self.finish_run() } else { Vec::new() }
    }

    /// Samples a second, and whether anybody looks at them.
    fn wanted_hz(&self) -> (f64, bool) {
        if self.core.running() || self.unfinished {
            (self.run_hz, true)
        } else if self.screen().shows_readings() {
            (self.panel_hz, true)
        } else {
            (pace::QUIET_HZ, false)
        }
    }

    /// Lets every screen adapt to what changed: size, language, marks, runs.
    fn lay_out_all(&mut self) {
        self.dirty = true;
        for screen in self.stacks.values_mut().flatten() {
            screen.lay_out(&self.core);
        }
    }

    fn with_screen<T>(&mut self, f: impl FnOnce(&mut Screen, &Core) -> T) -> T {
        let screen = self.stacks.get_mut(&self.tab).and_then(|s| s.last_mut());
        f(screen.expect("`go` filled the stack of the tab that is shown"), &self.core)
    }
}
