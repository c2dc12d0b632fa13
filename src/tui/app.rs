//! The whole state of the interface and how messages change it. No await, no clock, no file, no process: what must
//! happen outside is returned as [`Effect`]s.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crossterm::event::{KeyEvent, KeyEventKind};

use super::glyphs::Glyphs;
use super::keys;
use super::msg::{Action, Effect, EngineStatus, Msg, Notice, Setup, Tab};
use super::screens::{Nav, Outcome, Screen};
use super::theme::Theme;
use crate::lab::history::Listed;
use crate::lab::{LabEvent, LabSession, Record};
use crate::lang::Lang;
use crate::library::Library;
use crate::progress::Progress;
use crate::search::SearchIndex;
use crate::telemetry::{Machine, Snapshot};

/// Live panels look back five minutes at most.
const LIVE_NS: u64 = 300_000_000_000;
/// Readings of GPUs kept for the live panels: five minutes of 40 a second of one GPU, or of 2 a second of 16.
const LIVE_READINGS: usize = 12_000;
/// Samples a second while nothing but a clock would show them.
const QUIET_HZ: f64 = 0.5;
/// Samples a second while a panel is on the screen.
const PANEL_HZ: f64 = 2.0;
/// Samples a second while a lab runs: the most that cost no more than [`RUN_SHARE`] of a core, or the last.
const RUN_HZ: [f64; 4] = [50.0, 20.0, 10.0, 5.0];
/// Share of one core that sampling may take while a lab runs.
const RUN_SHARE: f64 = 0.02;

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
}

impl Core {
    /// Whether a lab runs now.
    pub(super) fn running(&self) -> bool {
        self.active.as_ref().is_some_and(|s| s.exited.is_none())
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
    sampling_hz: f64,
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
        };
        let mut app = Self {
            core,
            notice: None,
            dirty: true,
            quit: false,
            tab: Tab::Home,
            stacks: HashMap::new(),
            sampling_hz: PANEL_HZ,
            run_hz: RUN_HZ[RUN_HZ.len() - 1],
            unfinished: false,
        };
        app.go(Tab::Home);
        app
    }

    /// Takes in one message.
    pub(super) fn update(&mut self, msg: Msg) -> Vec<Effect> {
        let mut effects = self.take(msg);
        if effects.iter().any(|e| matches!(e, Effect::StartLab { .. })) {
            // The run before may still be waiting to see its memory come back.
            effects.splice(0..0, self.finish_run());
        }
        let wanted = self.wanted_hz();
        if (wanted - self.sampling_hz).abs() > f64::EPSILON {
            self.sampling_hz = wanted;
            effects.push(Effect::SampleAt(wanted));
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

    /// Whether time on the screen moves by itself: a run's clock or a replay.
    pub(super) fn wants_ticks(&self) -> bool {
        self.core.running() || self.screen().replaying()
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
                self.dirty = true;
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
        let oldest = snapshot.mono_ns.saturating_sub(LIVE_NS);
        let most = LIVE_READINGS / snapshot.gpus.len().max(1);
        self.core.live.push_back(snapshot);
        while self.core.live.len() > most || self.core.live.front().is_some_and(|s| s.mono_ns < oldest) {
            self.core.live.pop_front();
        }
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
            self.run_hz = burst_hz(&self.core.live);
            self.core.active = Some(LabSession::default());
            self.unfinished = true;
        }
        let Some(session) = &mut self.core.active else { return Vec::new() };
        session.apply(event);
        if session.settled() { self.finish_run() } else { Vec::new() }
    }

    fn wanted_hz(&self) -> f64 {
        if self.core.running() || self.unfinished {
            self.run_hz
        } else if self.screen().shows_readings() {
            PANEL_HZ
        } else {
            QUIET_HZ
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

/// Samples a second that a run gets, by what the newest samples cost on this machine. Most samples cost less than those
/// in which the slow readings were due, so a low quartile tells what a sample of a burst will cost.
fn burst_hz(live: &VecDeque<Snapshot>) -> f64 {
    let mut costs: Vec<u64> = live.iter().rev().take(20).map(|s| s.cpu_us.unwrap_or(s.cost_us)).collect();
    costs.sort_unstable();
    let cost_s = costs.get(costs.len() / 4).map_or(f64::INFINITY, |us| *us as f64 / 1e6);
    let affordable = RUN_HZ.into_iter().find(|hz| hz * cost_s <= RUN_SHARE);
    affordable.unwrap_or(RUN_HZ[RUN_HZ.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_sampled_as_often_as_its_cost_allows() {
        let costing = |us| -> VecDeque<Snapshot> {
            (0..20).map(|_| Snapshot { cpu_us: Some(us), cost_us: 9_000, ..Snapshot::default() }).collect()
        };
        let chosen = [100, 400, 401, 1_500, 9_000].map(|us| burst_hz(&costing(us)).round() as u32);
        assert_eq!(chosen, [50, 50, 20, 10, 5]);
        assert!((burst_hz(&VecDeque::new()) - 5.0).abs() < f64::EPSILON, "nothing is known of the cost");
    }
}
