//! The list of labs, with the question of the selected one and the recordings that ship.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use infralab_labs::{LABS, LabSpec};

use super::lab::Lab;
use super::reader::Reader;
use super::run::Run;
use super::{Nav, Outcome, Screen};
use crate::lab::Predictions;
use crate::lab::history::Listed;
use crate::tui::app::Core;
use crate::tui::msg::{Action, Effect};
use crate::tui::theme::{Role, SELECTED};
use crate::tui::widgets::list::{Cursor, scrolled};

/// The selected lab.
#[derive(Debug, Default)]
pub(crate) struct Labs {
    cursor: Cursor,
}

impl Labs {
    pub(super) fn on(&mut self, action: Action, core: &Core) -> Outcome {
        let Some(lab) = LABS.get(self.cursor.at()) else { return Outcome::nav(Nav::Back) };
        match action {
            Action::Back => return Outcome::nav(Nav::Back),
            Action::Open if core.running() => return Outcome::push(Screen::Run(Run::active())),
            Action::Open => {
                return Lab::new(&lab.id)
                    .map_or_else(Outcome::stay, |screen| Outcome::push(Screen::Lab(screen)));
            }
            Action::Guide => return Outcome::push(Screen::Reader(Reader::guide(&lab.id))),
            Action::Replay => return replay(lab, core),
            _ => self.cursor.on(action, LABS.len(), 10),
        }
        Outcome::stay()
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>, area: Rect, core: &Core) {
        let (lang, theme) = (core.lang, core.theme);
        let height = (LABS.len() as u16 + 1).min(area.height / 3).max(2);
        let [list, about] = Layout::vertical([Constraint::Length(height), Constraint::Min(1)]).areas(area);
        let lines = LABS
            .iter()
            .enumerate()
            .map(|(i, lab)| {
                let own = core.runs.iter().filter(|r| !r.shipped() && r.header.request.lab == lab.id).count();
                let runs = lang.pick(format!("{own} runs"), format!("{own} 次运行"));
                let phase = lang.pick(format!("phase {}", lab.phase), format!("第 {} 阶段", lab.phase));
                let line = Line::from(vec![
                    Span::raw(format!("  {} ", lang.pick(&lab.title.en, &lab.title.zh))),
                    Span::styled(format!(" {} · {phase} · {runs}", lab.id), theme.style(Role::Dim)),
                ]);
                if i == self.cursor.at() { line.style(SELECTED) } else { line }
            })
            .collect();
        frame.render_widget(scrolled(lines, self.cursor.at(), list.height), list);
        if let Some(lab) = LABS.get(self.cursor.at()) {
            let inner = about.inner(ratatui::layout::Margin::new(2, 0));
            frame.render_widget(Paragraph::new(about_lab(lab, core)).wrap(Wrap { trim: false }), inner);
        }
    }
}

fn about_lab(lab: &LabSpec, core: &Core) -> Vec<Line<'static>> {
    let (lang, theme) = (core.lang, core.theme);
    let mut lines = vec![
        Line::styled(lang.pick(&lab.question.en, &lab.question.zh).clone(), theme.style(Role::Accent)),
        Line::raw(""),
    ];
    let forms = lang.pick(&lab.closed_form.en, &lab.closed_form.zh);
    lines.extend(forms.trim().lines().map(|l| Line::raw(format!("  {l}"))));
    lines.push(Line::raw(""));
    for run in recordings(lab, core) {
        lines.push(Line::from(vec![
            Span::styled("▸ ", theme.style(Role::Link)),
            Span::raw(recording_name(run, core)),
        ]));
    }
    let role = if core.engine.ready { Role::Good } else { Role::Warn };
    let glyph = if core.engine.ready { "✓ " } else { "! " };
    lines.push(Line::from(vec![Span::styled(glyph, theme.style(role)), Span::raw(core.engine.line.clone())]));
    lines
}

/// Recordings of a lab that ship with the program.
pub(super) fn recordings<'a>(lab: &LabSpec, core: &'a Core) -> impl Iterator<Item = &'a Listed> {
    let id = lab.id.clone();
    core.runs.iter().filter(move |r| r.shipped() && r.header.request.lab == id)
}

/// `recording: NVIDIA H200, full, 2026-12-01 (F6)`.
pub(super) fn recording_name(run: &Listed, core: &Core) -> String {
    let device = run.device.as_deref().unwrap_or("?");
    let date = date(run.header.unix_ms);
    let size = run.header.request.size.name();
    let head = core.lang.pick("recorded run", "录制的运行");
    format!("{head}: {device}, {size}, {date}  (F6)")
}

/// UTC date of a run.
pub(super) fn date(unix_ms: u64) -> String {
    jiff::Timestamp::from_millisecond(unix_ms as i64).unwrap_or_default().strftime("%Y-%m-%d").to_string()
}

/// Plays the first recording of a lab.
pub(super) fn replay(lab: &LabSpec, core: &Core) -> Outcome {
    match recordings(lab, core).next() {
        Some(run) => Outcome::effect(Effect::LoadRun {
            place: run.place.clone(),
            play: true,
            predictions: Predictions::new(),
        }),
        None => Outcome::refuse(core.lang.pick("no recording of this lab ships", "这个实验没有随附的录制")),
    }
}
