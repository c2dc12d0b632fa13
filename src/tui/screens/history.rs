//! Runs on disk and recordings that ship, newest first: filtered, opened, chosen to be compared.

use crossterm::event::{Event, KeyEvent};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use tui_input::Input;
use tui_input::backend::crossterm::EventHandler;
use unicode_width::UnicodeWidthStr;

use super::calibration::Calibration;
use super::{Nav, Outcome, Screen, body_size};
use crate::lab::Predictions;
use crate::lab::compare::{CompareError, letter};
use crate::lab::history::{Listed, Place};
use crate::lab::report::run::outcome_word;
use crate::lang::Lang;
use crate::tui::app::Core;
use crate::tui::msg::{Action, Effect};
use crate::tui::theme::{Role, SELECTED};
use crate::tui::widgets::list::{Cursor, scrolled};
use crate::units::quantity;

/// Rows that are not of the list: filter, names of columns, results of the selected run.
const OTHER_ROWS: u16 = 4;

/// Filter, selection, and what is chosen for a comparison.
#[derive(Debug, Default)]
pub(crate) struct History {
    filter: Input,
    filtering: bool,
    /// Indices into [`Core::runs`] that pass the filter.
    shown: Vec<usize>,
    cursor: Cursor,
    /// In the order in which they were chosen; the first is what the others are measured against.
    chosen: Vec<Place>,
}

impl History {
    /// Whether the filter has the focus.
    pub(super) fn filtering(&self) -> bool {
        self.filtering
    }

    fn selected<'a>(&self, core: &'a Core) -> Option<&'a Listed> {
        self.shown.get(self.cursor.at()).and_then(|i| core.runs.get(*i))
    }

    pub(super) fn lay_out(&mut self, core: &Core) {
        let wanted = self.filter.value();
        let passes = |run: &Listed| run.matches(wanted, outcome(run, core).1);
        self.shown = (0..core.runs.len()).filter(|i| passes(&core.runs[*i])).collect();
        self.cursor.clamp(self.shown.len());
        self.chosen.retain(|place| core.runs.iter().any(|r| r.place == *place));
    }

    pub(super) fn typed(&mut self, key: KeyEvent, core: &Core) -> Outcome {
        if self.filtering && self.filter.handle_event(&Event::Key(key)).is_some() {
            self.lay_out(core);
        }
        Outcome::stay()
    }

    pub(super) fn on(&mut self, action: Action, core: &Core) -> Outcome {
        let run = self.selected(core);
        match (action, run) {
            (Action::Back, _) if self.filtering || !self.filter.value().is_empty() => {
                self.filtering = false;
                self.filter.reset();
            }
            (Action::Back, _) => return Outcome::nav(Nav::Back),
            (Action::Filter, _) => self.filtering = !self.filtering,
            (Action::Open, _) if self.filtering => self.filtering = false,
            (Action::Open | Action::Replay, Some(run)) => {
                let play = action == Action::Replay;
                return Outcome::effect(Effect::LoadRun {
                    place: run.place.clone(),
                    play,
                    predictions: Predictions::new(),
                });
            }
            (Action::Select, Some(run)) => {
                let place = run.place.clone();
                match self.chosen.iter().position(|p| *p == place) {
                    Some(at) => drop(self.chosen.remove(at)),
                    None => self.chosen.push(place),
                }
                self.cursor.on(Action::Down, self.shown.len(), 1);
            }
            (Action::Compare, _) => return self.compare(core.lang),
            (Action::Calibration, _) => return Outcome::push(Screen::Calibration(Calibration::default())),
            _ => {
                let page = usize::from(body_size(core).1.saturating_sub(OTHER_ROWS).max(1));
                self.cursor.on(action, self.shown.len(), page);
            }
        }
        self.lay_out(core);
        Outcome::stay()
    }

    fn compare(&self, lang: Lang) -> Outcome {
        if self.chosen.len() < 2 {
            let how = lang.pick(": Space chooses", "：按空格选择");
            return Outcome::refuse(CompareError::TooFew.told(lang) + how);
        }
        Outcome::effect(Effect::LoadRuns(self.chosen.clone()))
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>, area: Rect, core: &Core) {
        let (lang, theme) = (core.lang, core.theme);
        let [filter, head, list, about] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Min(1),
            Constraint::Length(2),
        ])
        .areas(area);
        self.draw_filter(frame, filter, core);
        let title = lang.pick(
            "    started (UTC)     lab           size  device                   outcome",
            "    开始时间 (UTC)    实验          规模  设备                     结果",
        );
        frame.render_widget(Line::styled(title, theme.style(Role::Dim)), head);
        let mut lines: Vec<Line<'_>> = self
            .shown
            .iter()
            .filter_map(|i| core.runs.get(*i))
            .enumerate()
            .map(|(at, run)| {
                let line = self.run_line(run, core);
                if at == self.cursor.at() { line.style(SELECTED) } else { line }
            })
            .collect();
        if lines.is_empty() {
            let none = if core.runs.is_empty() {
                lang.pick("  no runs yet: 5 opens the labs", "  还没有运行：按 5 打开实验")
            } else {
                lang.pick("  no run matches", "  没有匹配的运行")
            };
            lines.push(Line::raw(none));
        }
        frame.render_widget(scrolled(lines, self.cursor.at(), list.height), list);
        if let Some(run) = self.selected(core) {
            frame.render_widget(Line::styled(format!("  {}", results(run)), theme.style(Role::Dim)), about);
        }
    }

    fn draw_filter(&self, frame: &mut Frame<'_>, area: Rect, core: &Core) {
        let (lang, theme) = (core.lang, core.theme);
        let prompt = lang.pick("filter: ", "筛选：");
        let style = theme.style(if self.filtering { Role::Accent } else { Role::Dim });
        let mut spans = vec![Span::styled(format!("  {prompt}"), style), Span::raw(self.filter.value())];
        if !self.chosen.is_empty() {
            let count = self.chosen.len();
            let text = lang.pick(format!("   {count} chosen"), format!("   已选 {count} 次"));
            spans.push(Span::styled(text, theme.style(Role::Accent)));
        }
        frame.render_widget(Line::from(spans), area);
        if self.filtering {
            let column = 2 + prompt.width() + self.filter.visual_cursor();
            let x = area.x + (column as u16).min(area.width.saturating_sub(1));
            frame.set_cursor_position((x, area.y));
        }
    }

    fn run_line<'a>(&self, run: &'a Listed, core: &Core) -> Line<'a> {
        let theme = core.theme;
        let started = jiff::Timestamp::from_millisecond(run.header.unix_ms as i64).unwrap_or_default();
        let device: String = run.device.as_deref().unwrap_or("?").chars().take(24).collect();
        let (glyph, word, role) = outcome(run, core);
        let chosen = self.chosen.iter().position(|p| *p == run.place).map(letter).unwrap_or_default();
        let file = run.known_as().map(|file| format!("  {file}")).unwrap_or_default();
        Line::from(vec![
            Span::styled(format!(" {chosen:<2} "), theme.style(Role::Accent)),
            Span::raw(format!("{}  ", started.strftime("%Y-%m-%d %H:%M"))),
            Span::raw(format!("{:<13} {:<5} {device:<24} ", run.header.request.lab, run.size_name())),
            Span::styled(format!("{glyph} {word}"), theme.style(role)),
            Span::styled(file, theme.style(Role::Dim)),
        ])
    }
}

/// Glyph, word and colour of how a run ended.
fn outcome<'a>(run: &'a Listed, core: &Core) -> (&'static str, &'a str, Role) {
    if run.shipped() {
        return ("▸", core.lang.pick("recording", "录制"), Role::Link);
    }
    let word = outcome_word(run.outcome(), core.lang);
    match run.outcome() {
        "completed" => ("✓", word, Role::Good),
        "stopped" => ("■", word, Role::Warn),
        "failed" => ("!", word, Role::Bad),
        _ => ("…", word, Role::Dim),
    }
}

fn results(run: &Listed) -> String {
    let file = run.known_as().map(|file| format!(" ({file})")).unwrap_or_default();
    let name = run.header.run.clone() + &file;
    let Some(record) = &run.record else { return name };
    let values = record.predictions.iter().map(|p| format!("{} {}", p.name, quantity(p.measured, &p.unit)));
    format!("{name}  {}", values.collect::<Vec<_>>().join(" · "))
}
