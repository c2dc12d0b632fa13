//! Runs on disk and recordings that ship, newest first.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};

use super::{Nav, Outcome, body_size};
use crate::lab::Predictions;
use crate::lab::history::Listed;
use crate::tui::app::Core;
use crate::tui::msg::{Action, Effect};
use crate::tui::theme::{Role, SELECTED};
use crate::tui::widgets::list::{Cursor, scrolled};
use crate::units::quantity;

/// The selected run.
#[derive(Debug, Default)]
pub(crate) struct History {
    cursor: Cursor,
}

impl History {
    pub(super) fn lay_out(&mut self, core: &Core) {
        self.cursor.clamp(core.runs.len());
    }

    pub(super) fn on(&mut self, action: Action, core: &Core) -> Outcome {
        let run = core.runs.get(self.cursor.at());
        match (action, run) {
            (Action::Back, _) => Outcome::nav(Nav::Back),
            (Action::Open | Action::Replay, Some(run)) => Outcome::effect(Effect::LoadRun {
                place: run.place.clone(),
                play: action == Action::Replay,
                predictions: Predictions::new(),
            }),
            _ => {
                self.cursor.on(
                    action,
                    core.runs.len(),
                    usize::from(body_size(core).1.saturating_sub(4).max(1)),
                );
                Outcome::stay()
            }
        }
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>, area: Rect, core: &Core) {
        let (lang, theme) = (core.lang, core.theme);
        let [head, list, about] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(2)]).areas(area);
        let title = lang.pick(
            "  started (UTC)      lab          size   device                     outcome",
            "  开始时间 (UTC)     实验         规模   设备                       结果",
        );
        frame.render_widget(Line::styled(title, theme.style(Role::Dim)), head);
        let mut lines: Vec<Line<'_>> = core
            .runs
            .iter()
            .enumerate()
            .map(|(i, run)| {
                let line = run_line(run, core);
                if i == self.cursor.at() { line.style(SELECTED) } else { line }
            })
            .collect();
        if lines.is_empty() {
            lines
                .push(Line::raw(lang.pick("  no runs yet: 5 opens the labs", "  还没有运行：按 5 打开实验")));
        }
        frame.render_widget(scrolled(lines, self.cursor.at(), list.height), list);
        if let Some(run) = core.runs.get(self.cursor.at()) {
            frame.render_widget(Line::styled(format!("  {}", results(run)), theme.style(Role::Dim)), about);
        }
    }
}

fn run_line<'a>(run: &'a Listed, core: &Core) -> Line<'a> {
    let (lang, theme) = (core.lang, core.theme);
    let started = jiff::Timestamp::from_millisecond(run.header.unix_ms as i64).unwrap_or_default();
    let device = run.record.as_ref().and_then(|r| r.device.as_ref()).map_or("?", |d| d.name.as_str());
    let device: String = device.chars().take(26).collect();
    let (glyph, word, role) = if run.shipped() {
        ("▸", lang.pick("recording", "录制"), Role::Link)
    } else {
        outcome(run, core)
    };
    let spans = vec![
        Span::raw(format!("  {}   ", started.strftime("%Y-%m-%d %H:%M"))),
        Span::raw(format!(
            "{:<12} {:<6} {device:<26} ",
            run.header.request.lab,
            run.header.request.size.name()
        )),
        Span::styled(format!("{glyph} {word}"), theme.style(role)),
    ];
    Line::from(spans)
}

fn outcome(run: &Listed, core: &Core) -> (&'static str, &'static str, Role) {
    let lang = core.lang;
    match run.record.as_ref().map(|r| r.outcome.as_str()) {
        Some("completed") => ("✓", lang.pick("completed", "已完成"), Role::Good),
        Some("stopped") => ("■", lang.pick("stopped", "已停止"), Role::Warn),
        Some("failed") => ("!", lang.pick("failed", "失败"), Role::Bad),
        _ => ("…", lang.pick("cut off", "中断"), Role::Dim),
    }
}

fn results(run: &Listed) -> String {
    let Some(record) = &run.record else { return run.header.run.clone() };
    let values = record.predictions.iter().map(|p| format!("{} {}", p.name, quantity(p.measured, &p.unit)));
    format!("{}  {}", run.header.run, values.collect::<Vec<_>>().join(" · "))
}
