//! A run: the lab that runs now, or a recorded one. Charts and device panels side by side, predictions below.

mod ledger;
mod reconcile;
mod recording;
mod status;
mod views;
mod walk;

use infralab_labs::LabSpec;
use infralab_labs::spec::Reference;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use self::recording::Recording;
use self::status::status_line;
use self::views::{log_lines, prediction_lines, table_lines};
use super::monitor::open_term;
use super::reader::Reader;
use super::{Nav, Outcome, Screen};
use crate::lab::session::Curves;
use crate::lab::{LabEvent, LabSession, Predictions};
use crate::tui::app::Core;
use crate::tui::keys::Place;
use crate::tui::msg::{Action, Effect};
use crate::tui::theme::{Role, SELECTED};
use crate::tui::widgets::gauges::{self, Readings, Selection};
use crate::tui::widgets::{playback, plot};

/// What is shown of a run.
#[derive(Debug)]
pub(crate) struct Run {
    source: Source,
    chart: usize,
    view: View,
    scroll: u16,
    /// Series and stage of the ledger.
    ledger: (usize, usize),
    /// Step of the computation.
    step: usize,
    /// What is selected of readings that have the screen to themselves.
    selection: Selection,
}

#[derive(Debug)]
enum Source {
    /// The lab that runs, in [`Core::active`].
    Active,
    /// A recording: what has been shown of it, and the rest.
    Recorded(Box<Recording>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    Chart,
    Reconcile,
    Ledger,
    Walk,
    Table,
    Device,
    Log,
}

/// Rows from which a ledger leaves room for the predictions.
const TALL: u16 = 36;

impl View {
    /// The views that have something to show.
    fn of(session: Option<&LabSession>) -> Vec<Self> {
        let has = |view: &Self| match view {
            Self::Ledger => session.is_some_and(|s| !s.ledgers.is_empty()),
            Self::Walk => session.is_some_and(|s| !s.walk.is_empty()),
            Self::Chart | Self::Reconcile | Self::Table | Self::Device | Self::Log => true,
        };
        let all =
            [Self::Chart, Self::Reconcile, Self::Ledger, Self::Walk, Self::Table, Self::Device, Self::Log];
        all.into_iter().filter(has).collect()
    }

    fn name(self, core: &Core) -> &'static str {
        let (en, zh) = match self {
            Self::Chart => ("chart", "图"),
            Self::Reconcile => ("reconcile", "核对"),
            Self::Ledger => ("ledger", "账本"),
            Self::Walk => ("step by step", "逐步"),
            Self::Table => ("table", "表"),
            Self::Device => ("device", "设备"),
            Self::Log => ("log", "日志"),
        };
        core.lang.pick(en, zh)
    }
}

impl Run {
    /// The lab that runs.
    pub(super) fn active() -> Self {
        Self {
            source: Source::Active,
            chart: 0,
            view: View::Chart,
            scroll: 0,
            ledger: (0, 0),
            step: 0,
            selection: Selection::default(),
        }
    }

    /// A run out of a file.
    pub(super) fn recorded(events: Vec<LabEvent>, shipped: bool, play_from_ns: Option<u64>) -> Self {
        let recording = Recording::new(events, shipped, play_from_ns);
        Self { source: Source::Recorded(Box::new(recording)), ..Self::active() }
    }

    fn session<'a>(&'a self, core: &'a Core) -> Option<&'a LabSession> {
        match &self.source {
            Source::Active => core.active.as_ref(),
            Source::Recorded(recording) => Some(&recording.session),
        }
    }

    /// Whose keys hold.
    pub(super) fn place(&self) -> Place {
        match &self.source {
            Source::Recorded(recording) if recording.session.is_of_readings() => Place::Readings,
            _ => Place::Run,
        }
    }

    /// Whether it shows readings of this machine.
    pub(super) fn live(&self) -> bool {
        matches!(self.source, Source::Active)
    }

    /// Whether a recording plays.
    pub(super) fn replaying(&self) -> bool {
        matches!(&self.source, Source::Recorded(r) if r.is_playing())
    }

    pub(super) fn tick(&mut self, now_ns: u64) {
        if let Source::Recorded(recording) = &mut self.source {
            recording.tick(now_ns);
        }
    }

    pub(super) fn on(&mut self, action: Action, core: &Core) -> Outcome {
        if let Some(outcome) = self.on_readings(action, core) {
            return outcome;
        }
        let charts = self.session(core).and_then(lab_of).map_or(1, |lab| lab.charts.len().max(1));
        match action {
            Action::Back => return Outcome::nav(Nav::Back),
            Action::Left => self.turn(false, charts, core),
            Action::Right => self.turn(true, charts, core),
            Action::Next | Action::Previous => {
                let views = View::of(self.session(core));
                let at = views.iter().position(|v| *v == self.view).unwrap_or(0);
                let step = if action == Action::Next { 1 } else { views.len() - 1 };
                self.view = views[(at + step) % views.len()];
                self.scroll = 0;
                if let Some(readings) = self.readings(core) {
                    self.selection.show_gpu(readings.gpu);
                }
            }
            Action::Up => self.scroll_by(-1, core),
            Action::Down => self.scroll_by(1, core),
            Action::Guide => {
                if let Some(lab) = self.session(core).and_then(lab_of) {
                    return Outcome::push(Screen::Reader(Reader::guide(&lab.id)));
                }
            }
            Action::Stop => match &mut self.source {
                Source::Recorded(recording) if recording.is_replay() => recording.show_all(),
                Source::Active if core.running() => return Outcome::effect(Effect::StopLab),
                _ => return Outcome::refuse(core.lang.pick("nothing runs here", "这里没有正在运行的实验")),
            },
            Action::Replay => match &mut self.source {
                Source::Recorded(recording) if recording.is_replay() => recording.show_all(),
                Source::Recorded(recording) => recording.play(core.now_ns),
                Source::Active => return replay_of(core),
            },
            action if recording::moves(action) => match &mut self.source {
                Source::Recorded(recording) => recording.on(action),
                Source::Active => {
                    return Outcome::refuse(core.lang.pick(
                        "time moves by itself while a lab runs; when it has ended, F5 replays it",
                        "实验运行时时间不能拨动；结束后按 F5 回放",
                    ));
                }
            },
            _ => {}
        }
        Outcome::stay()
    }

    /// The run's readings, on the machine that it ran or runs on.
    fn readings<'a>(&'a self, core: &'a Core) -> Option<Readings<'a>> {
        Some(match &self.source {
            Source::Recorded(recording) => recording.readings(core),
            Source::Active => Readings::of_run(core.active.as_ref()?, &core.machine, true),
        })
    }

    /// What the keys of the gauges do where readings have the screen to themselves; `None` for every other key.
    fn on_readings(&mut self, action: Action, core: &Core) -> Option<Outcome> {
        let without_lab = self.session(core)?.is_of_readings();
        if !without_lab && self.view != View::Device {
            return None;
        }
        let mut selection = self.selection;
        let readings = self.readings(core)?;
        match action {
            Action::Up => selection.move_gauge(-1, &readings),
            Action::Down => selection.move_gauge(1, &readings),
            Action::Left | Action::Right => selection.turn_span(action == Action::Right, readings.spans),
            Action::Next | Action::Previous if without_lab => {
                selection.turn_gpu(action == Action::Next, readings.machine);
            }
            Action::Lens => selection.turn_lens(),
            Action::Open => return Some(open_term(&selection, &readings, core)),
            _ => return None,
        }
        self.selection = selection;
        Some(Outcome::stay())
    }

    /// Another chart, ledger or step: what the view has several of.
    fn turn(&mut self, forward: bool, charts: usize, core: &Core) {
        let Some(session) = self.session(core) else { return };
        let (ledgers, steps) = (ledger::series(session).len().max(1), session.walk.len().max(1));
        let next = |at: usize, count: usize| (at + if forward { 1 } else { count - 1 }) % count;
        match self.view {
            View::Ledger => self.ledger.0 = next(self.ledger.0, ledgers),
            View::Walk => self.step = next(self.step, steps),
            _ => self.chart = next(self.chart, charts),
        }
    }

    fn scroll_by(&mut self, lines: isize, core: &Core) {
        if self.view == View::Ledger {
            let Some(session) = self.session(core) else { return };
            let names = ledger::series(session);
            let name = names.get(self.ledger.0 % names.len().max(1)).copied().unwrap_or_default();
            let last = ledger::stages(session, name).len().saturating_sub(1);
            self.ledger.1 = self.ledger.1.min(last).saturating_add_signed(lines).min(last);
        } else {
            self.scroll = self.scroll.saturating_add_signed(lines as i16);
        }
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>, area: Rect, core: &Core) {
        let Some(session) = self.session(core) else {
            frame.render_widget(Line::raw(core.lang.pick("  starting…", "  正在启动……")), area);
            return;
        };
        let area = match &self.source {
            Source::Recorded(recording) if recording.is_replay() && area.height > 3 => {
                let [area, line] = Layout::vertical([Constraint::Min(1), Constraint::Length(1)]).areas(area);
                playback::draw(frame, line, core, &recording.playback);
                area
            }
            _ => area,
        };
        if session.is_of_readings() || self.view == View::Device {
            let [head, body] = Layout::vertical([Constraint::Length(2), Constraint::Min(1)]).areas(area);
            self.draw_head(frame, head, core, session);
            let body = body.inner(ratatui::layout::Margin::new(1, 0));
            if let Some(readings) = self.readings(core) {
                gauges::draw(frame, body, core, &readings, &self.selection);
            }
            return;
        }
        // The view that tells everything about the predictions needs no summary of them below.
        let predictions = match self.view {
            View::Reconcile => Vec::new(),
            // These two need the rows of a low screen.
            View::Ledger | View::Walk if area.height < TALL => Vec::new(),
            _ => prediction_lines(session, area.width, core),
        };
        let below = (predictions.len() as u16).min(area.height / 3);
        let [head, body, foot] =
            Layout::vertical([Constraint::Length(2), Constraint::Min(3), Constraint::Length(below)])
                .areas(area);
        self.draw_head(frame, head, core, session);
        // A table needs the width that a narrow terminal would give to the panel.
        let share = match (body.width < 100, self.view) {
            (true, View::Chart) => 52,
            (true, _) | (false, View::Reconcile | View::Ledger | View::Walk) => 100,
            (false, View::Chart | View::Table | View::Device | View::Log) => 56,
        };
        let [left, right] =
            Layout::horizontal([Constraint::Percentage(share), Constraint::Percentage(100 - share)])
                .areas(body);
        self.draw_left(frame, left.inner(ratatui::layout::Margin::new(1, 0)), core, session);
        if let Some(readings) = self.readings(core) {
            gauges::draw_side(frame, right.inner(ratatui::layout::Margin::new(1, 0)), core, &readings);
        }
        frame.render_widget(Paragraph::new(predictions), foot.inner(ratatui::layout::Margin::new(1, 0)));
    }

    fn draw_head(&self, frame: &mut Frame<'_>, area: Rect, core: &Core, session: &LabSession) {
        let (lang, theme) = (core.lang, core.theme);
        let title = match lab_of(session) {
            Some(lab) => lang.pick(&lab.title.en, &lab.title.zh).as_str(),
            None if session.is_of_readings() => lang.pick("Readings", "读数"),
            None => "",
        };
        let mut first = vec![Span::styled(format!(" {title}"), theme.style(Role::Accent))];
        if let Source::Recorded(recording) = &self.source {
            let date = session.header.as_ref().map(|h| super::labs::date(h.unix_ms)).unwrap_or_default();
            let word = if recording.shipped {
                lang.pick("RECORDING", "录制")
            } else {
                lang.pick("past run", "历史运行")
            };
            let text = format!("  {word} {date}");
            first.push(Span::styled(text, theme.style(Role::Warn)));
        }
        if let Some(hello) = &session.hello {
            let cudnn = hello.cudnn.as_ref().map(|v| format!(", cuDNN {v}")).unwrap_or_default();
            let text = format!("  {} · LibTorch {}{cudnn}", hello.device.name, hello.libtorch);
            first.push(Span::styled(text, theme.style(Role::Dim)));
        }
        let mut second = status_line(session, core);
        second.push_span(Span::styled("   ", theme.style(Role::Dim)));
        let views = if session.is_of_readings() { Vec::new() } else { View::of(Some(session)) };
        for view in views {
            let style = if view == self.view { SELECTED } else { theme.style(Role::Dim) };
            second.push_span(Span::styled(format!(" {} ", view.name(core)), style));
        }
        frame.render_widget(Line::from(first), Rect { height: 1, ..area });
        if area.height > 1 {
            frame.render_widget(second, Rect { y: area.y + 1, height: 1, ..area });
        }
    }

    fn draw_left(&self, frame: &mut Frame<'_>, area: Rect, core: &Core, session: &LabSession) {
        let Some(lab) = lab_of(session) else { return };
        match self.view {
            View::Chart => {
                let Some(spec) = lab.charts.get(self.chart) else { return };
                let none = Curves::default();
                let curves = session.charts.get(&spec.metric).unwrap_or(&none);
                plot::draw(frame, area, core, spec, curves, &references(lab, session, self.chart));
            }
            View::Reconcile => {
                let text = Paragraph::new(reconcile::lines(session, core)).wrap(Wrap { trim: false });
                frame.render_widget(text.scroll((self.scroll, 0)), area);
            }
            View::Ledger => ledger::draw(frame, area, core, session, self.ledger),
            View::Walk => {
                let Some(step) = session.walk.get(self.step % session.walk.len().max(1)) else { return };
                let lines = walk::lines(step, usize::from(area.width), core);
                let text = Paragraph::new(lines).wrap(Wrap { trim: false });
                frame.render_widget(text.scroll((self.scroll, 0)), area);
            }
            View::Table => {
                let lines =
                    table_lines(lab, session, self.chart, &references(lab, session, self.chart), core);
                frame.render_widget(Paragraph::new(lines).scroll((self.scroll, 0)), area);
            }
            View::Device => {}
            View::Log => {
                let lines = log_lines(session, core);
                let text = Paragraph::new(lines).wrap(Wrap { trim: false }).scroll((self.scroll, 0));
                frame.render_widget(text, area);
            }
        }
    }
}

/// Plays the run that just ended, which is in the history by then.
fn replay_of(core: &Core) -> Outcome {
    let run = core.active.as_ref().and_then(|s| s.header.as_ref()).map(|h| &h.run);
    match core.runs.iter().find(|r| Some(&r.header.run) == run && !core.running()) {
        Some(listed) => Outcome::effect(Effect::LoadRun {
            place: listed.place.clone(),
            play: true,
            predictions: Predictions::new(),
        }),
        None => Outcome::refuse(core.lang.pick("it can be replayed when it has ended", "结束之后才能回放")),
    }
}

/// Published curves of a chart, for the parameters of the run.
fn references(lab: &LabSpec, session: &LabSession, chart: usize) -> Vec<Reference> {
    let request = session.header.as_ref().map(|h| &h.request);
    let params = request.map(|r| lab.completed(r.size, &r.params)).unwrap_or_default();
    let metric = lab.charts.get(chart).map(|c| &c.metric);
    lab.references(&params).into_iter().filter(|r| Some(&r.metric) == metric).collect()
}

fn lab_of(session: &LabSession) -> Option<&'static LabSpec> {
    infralab_labs::find_lab(&session.header.as_ref()?.request.lab)
}
