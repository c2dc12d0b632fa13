//! The glossary: terms on the left, the selected one on the right.

use crossterm::event::{Event, KeyEvent};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout as Split, Rect};
use ratatui::text::{Line, Span};
use tui_input::Input;
use tui_input::backend::crossterm::EventHandler;
use unicode_width::UnicodeWidthStr;

use super::reader::{Reader, mark_word};
use super::{Nav, Outcome, Screen, body_size};
use crate::lang::Lang;
use crate::library::Term;
use crate::progress::{Mark, Subject};
use crate::reader::{Document, Layout};
use crate::tui::app::Core;
use crate::tui::markdown;
use crate::tui::msg::{Action, Effect};
use crate::tui::theme::{Role, SELECTED};
use crate::tui::widgets::list::{Cursor, scrolled};

/// Filter, selection, and the layout of the selected term.
#[derive(Debug, Default)]
pub(crate) struct Glossary {
    filter: Input,
    filtering: bool,
    /// Indices into the library's terms that pass the filter.
    shown: Vec<usize>,
    cursor: Cursor,
    preview: Option<Preview>,
}

#[derive(Debug)]
struct Preview {
    of: (String, Lang, u16),
    layout: Layout,
}

impl Glossary {
    /// Whether the filter has the focus.
    pub(super) fn filtering(&self) -> bool {
        self.filtering
    }

    fn selected<'a>(&self, core: &'a Core) -> Option<&'a Term> {
        self.shown.get(self.cursor.at()).map(|i| &core.library.terms[*i])
    }

    pub(super) fn lay_out(&mut self, core: &Core) {
        let wanted = self.filter.value().trim().to_lowercase();
        let passes = |t: &Term| {
            wanted.is_empty()
                || [&t.en, &t.zh].into_iter().chain(&t.aliases).any(|n| n.to_lowercase().contains(&wanted))
        };
        let terms = &core.library.terms;
        self.shown = (0..terms.len()).filter(|i| passes(&terms[*i])).collect();
        self.cursor.clamp(self.shown.len());
        let width = panes(Rect::new(0, 0, body_size(core).0, 10))[1].width;
        let Some(term) = self.selected(core) else {
            self.preview = None;
            return;
        };
        let of = (term.id.clone(), core.lang, width);
        if self.preview.as_ref().is_none_or(|p| p.of != of) {
            let text = core.library.term_markdown(term, core.lang);
            self.preview = Some(Preview { of, layout: Document::parse(&text).layout(width) });
        }
    }

    pub(super) fn typed(&mut self, key: KeyEvent, core: &Core) -> Outcome {
        if self.filtering && self.filter.handle_event(&Event::Key(key)).is_some() {
            self.lay_out(core);
        }
        Outcome::stay()
    }

    pub(super) fn on(&mut self, action: Action, core: &Core) -> Outcome {
        let term = self.selected(core);
        match (action, term) {
            (Action::Back, _) if self.filtering || !self.filter.value().is_empty() => {
                self.filtering = false;
                self.filter.reset();
            }
            (Action::Back, _) => return Outcome::nav(Nav::Back),
            (Action::Filter, _) => self.filtering = !self.filtering,
            (Action::Open, Some(_)) if self.filtering => self.filtering = false,
            (Action::Open, Some(term)) => return Outcome::push(Screen::Reader(Reader::term(&term.id))),
            (Action::Known, Some(term)) => return Outcome::mark(Subject::term(&term.id), Mark::Known, core),
            (Action::Learning, Some(term)) => {
                return Outcome::mark(Subject::term(&term.id), Mark::Learning, core);
            }
            (Action::Todo, Some(term)) => return Outcome::mark(Subject::term(&term.id), Mark::Todo, core),
            (Action::Cycle, Some(term)) => {
                let next = match core.progress.term(&term.id) {
                    None => Some(Mark::Todo),
                    Some(Mark::Todo) => Some(Mark::Learning),
                    Some(Mark::Learning) => Some(Mark::Known),
                    Some(Mark::Known) => None,
                };
                return Outcome::effect(Effect::Mark(vec![Subject::term(&term.id)], next));
            }
            _ => self.cursor.on(
                action,
                self.shown.len(),
                usize::from(body_size(core).1.saturating_sub(4).max(1)),
            ),
        }
        self.lay_out(core);
        Outcome::stay()
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>, area: Rect, core: &Core) {
        let (lang, theme) = (core.lang, core.theme);
        let [left, right] = panes(area);
        let [counts, filter, list] =
            Split::vertical([Constraint::Length(1), Constraint::Length(1), Constraint::Min(1)]).areas(left);
        self.draw_counts(frame, counts, core);
        let prompt = lang.pick("filter: ", "筛选：");
        let style = if self.filtering { theme.style(Role::Accent) } else { theme.style(Role::Dim) };
        frame.render_widget(
            Line::from(vec![Span::styled(format!(" {prompt}"), style), Span::raw(self.filter.value())]),
            filter,
        );
        if self.filtering {
            let column = 1 + prompt.width() + self.filter.visual_cursor();
            frame.set_cursor_position((
                filter.x + (column as u16).min(filter.width.saturating_sub(1)),
                filter.y,
            ));
        }
        let mut lines = Vec::new();
        let mut selected_line = 0;
        let mut layer = None;
        for (at, i) in self.shown.iter().enumerate() {
            let term = &core.library.terms[*i];
            if layer != Some(term.layer) {
                layer = Some(term.layer);
                lines.push(Line::styled(format!(" {}", term.layer.name(lang)), theme.style(Role::Dim)));
            }
            let (glyph, style) = theme.mark(core.progress.term(&term.id));
            let other = term.name(lang.other());
            let line = Line::from(vec![
                Span::raw("  "),
                Span::styled(glyph, style),
                Span::raw(format!(" {} ", term.name(lang))),
                // Practitioners say the English name in a Chinese sentence, and the other way round.
                Span::styled(if other == term.name(lang) { "" } else { other }, theme.style(Role::Dim)),
            ]);
            if at == self.cursor.at() {
                selected_line = lines.len();
                lines.push(line.style(SELECTED));
            } else {
                lines.push(line);
            }
        }
        if lines.is_empty() {
            lines.push(Line::raw(lang.pick("  no term matches", "  没有匹配的术语")));
        }
        frame.render_widget(scrolled(lines, selected_line, list.height), list);
        self.draw_term(frame, right, core);
    }

    fn draw_counts(&self, frame: &mut Frame<'_>, area: Rect, core: &Core) {
        let shown = self.shown.iter().map(|i| core.library.terms[*i].id.as_str());
        let [known, learning, todo, none] = core.progress.count(shown);
        let theme = core.theme;
        let mut spans = vec![Span::raw(" ")];
        for (mark, count) in [
            (Some(Mark::Known), known),
            (Some(Mark::Learning), learning),
            (Some(Mark::Todo), todo),
            (None, none),
        ] {
            let (glyph, style) = theme.mark(mark);
            spans.push(Span::styled(format!("{glyph}{count} "), style));
        }
        frame.render_widget(Line::from(spans), area);
    }

    fn draw_term(&self, frame: &mut Frame<'_>, area: Rect, core: &Core) {
        let (lang, theme) = (core.lang, core.theme);
        let (Some(term), Some(preview)) = (self.selected(core), &self.preview) else { return };
        let mark = core.progress.term(&term.id);
        let (glyph, style) = theme.mark(mark);
        let word = mark.map_or(lang.pick("not marked", "未标记"), |m| mark_word(m, lang));
        let [title, about, text] =
            Split::vertical([Constraint::Length(1), Constraint::Length(2), Constraint::Min(0)]).areas(area);
        frame.render_widget(
            Line::from(vec![
                Span::styled(term.name(lang), theme.style(Role::Accent)),
                Span::styled(format!("  {}", term.name(lang.other())), theme.style(Role::Dim)),
            ]),
            title,
        );
        let phase = lang.pick(format!("phase {}", term.phase), format!("第 {} 阶段", term.phase));
        frame.render_widget(
            Line::from(vec![
                Span::styled(format!("{glyph} {word}"), style),
                Span::styled(format!(" · {phase} · {}", term.layer.name(lang)), theme.style(Role::Dim)),
            ]),
            about,
        );
        let styles = theme.markdown();
        markdown::render(&preview.layout, 0, text, frame.buffer_mut(), &styles, markdown::Marks::default());
    }
}

/// The two panes of the body.
fn panes(area: Rect) -> [Rect; 2] {
    let left = (area.width * 2 / 5).clamp(20, 40).min(area.width);
    let [left, _, right, _] = Split::horizontal([
        Constraint::Length(left),
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(1),
    ])
    .areas(area);
    [left, right]
}
