//! The list of notes, in the order of the route, with what the selected one is about.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::reader::{Reader, mark_word};
use super::{Nav, Outcome, Screen};
use crate::progress::{Mark, Subject};
use crate::tui::app::Core;
use crate::tui::msg::Action;
use crate::tui::theme::{Role, SELECTED};
use crate::tui::widgets::list::{Cursor, scrolled};

/// The selected note.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    cursor: Cursor,
}

impl Notes {
    pub(super) fn lay_out(&mut self, core: &Core) {
        self.cursor.clamp(core.library.notes.len());
    }

    pub(super) fn on(&mut self, action: Action, core: &Core) -> Outcome {
        let note = core.library.notes.get(self.cursor.at());
        match (action, note) {
            (Action::Back, _) => return Outcome::nav(Nav::Back),
            (Action::Open, Some(note)) => return Outcome::push(Screen::Reader(Reader::note(&note.id, None))),
            (Action::Known | Action::Learning | Action::Todo, Some(note)) => {
                let mark = match action {
                    Action::Known => Mark::Known,
                    Action::Learning => Mark::Learning,
                    _ => Mark::Todo,
                };
                return Outcome::mark(Subject::note(&note.id), mark, core);
            }
            _ => self.cursor.on(action, core.library.notes.len(), 10),
        }
        Outcome::stay()
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>, area: Rect, core: &Core) {
        let (lang, theme) = (core.lang, core.theme);
        let [list, _, about] =
            Layout::vertical([Constraint::Min(3), Constraint::Length(1), Constraint::Length(4)]).areas(area);
        let mut lines = Vec::new();
        let mut selected_line = 0;
        let mut phase = None;
        for (i, note) in core.library.notes.iter().enumerate() {
            if phase != Some(note.phase) {
                phase = Some(note.phase);
                let text = lang.pick(format!(" Phase {}", note.phase), format!(" 第 {} 阶段", note.phase));
                lines.push(Line::styled(text, theme.style(Role::Dim)));
            }
            let (glyph, style) = theme.mark(core.progress.note(&note.id));
            let line = Line::from(vec![
                Span::raw("  "),
                Span::styled(glyph, style),
                Span::raw(format!(" {} ", note.text.get(lang).title)),
                Span::styled(format!(" {}", note.layer.name(lang)), theme.style(Role::Dim)),
            ]);
            if i == self.cursor.at() {
                selected_line = lines.len();
                lines.push(line.style(SELECTED));
            } else {
                lines.push(line);
            }
        }
        if lines.is_empty() {
            let text = lang.pick("  no notes: see `infralab check`", "  没有笔记：请运行 `infralab check`");
            lines.push(Line::raw(text));
        }
        frame.render_widget(scrolled(lines, selected_line, list.height), list);
        if let Some(note) = core.library.notes.get(self.cursor.at()) {
            let mark = core.progress.note(&note.id);
            let (glyph, style) = theme.mark(mark);
            let word = mark.map_or(lang.pick("not marked", "未标记"), |m| mark_word(m, lang));
            let text = vec![
                Line::from(vec![Span::styled(format!("{glyph} {word}"), style)]),
                Line::raw(note.text.get(lang).summary.clone()),
            ];
            let area = about.inner(ratatui::layout::Margin::new(2, 0));
            frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), area);
        }
    }
}
