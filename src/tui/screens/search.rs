//! Search: results while typing, over notes, terms and labs in both languages.

use crossterm::event::{Event, KeyCode, KeyEvent};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use tui_input::Input;
use tui_input::backend::crossterm::EventHandler;
use unicode_width::UnicodeWidthStr;

use super::{Nav, Outcome, Screen, body_size};
use crate::lang::Lang;
use crate::library::Target;
use crate::search::{Filter, Hit, Kind, Results};
use crate::tui::app::Core;
use crate::tui::msg::Action;
use crate::tui::theme::{Role, SELECTED};
use crate::tui::widgets::list::{Cursor, scrolled};

/// Hits asked of the index.
const LIMIT: usize = 50;
/// A query longer than this finds nothing more.
const MAX_QUERY: usize = 200;
/// Lines that one hit takes.
const LINES_PER_HIT: usize = 2;

/// The query and its hits.
#[derive(Debug, Default)]
pub(crate) struct Search {
    query: Input,
    kind: Option<Kind>,
    results: Results,
    cursor: Cursor,
}

impl Search {
    pub(super) fn lay_out(&mut self, core: &Core) {
        let filter = Filter { kind: self.kind, prefer: core.lang, limit: LIMIT, ..Filter::default() };
        self.results = match &core.search {
            Some(index) => index.search(self.query.value(), &filter),
            None => Results::default(),
        };
        self.cursor.clamp(self.results.hits.len());
    }

    /// Takes pasted text at once: one search, not one per character.
    pub(super) fn paste(&mut self, text: &str, core: &Core) -> Outcome {
        let query: String = self.query.value().chars().chain(text.chars()).take(MAX_QUERY).collect();
        self.query = Input::new(query);
        self.lay_out(core);
        Outcome::stay()
    }

    pub(super) fn typed(&mut self, key: KeyEvent, core: &Core) -> Outcome {
        if self.query.value().chars().count() >= MAX_QUERY && matches!(key.code, KeyCode::Char(_)) {
            return Outcome::stay();
        }
        let before = self.query.value().to_owned();
        self.query.handle_event(&Event::Key(key));
        if self.query.value() != before {
            self.cursor = Cursor::default();
            self.lay_out(core);
        }
        Outcome::stay()
    }

    pub(super) fn on(&mut self, action: Action, core: &Core) -> Outcome {
        match action {
            Action::Back if self.query.value().is_empty() => return Outcome::nav(Nav::Back),
            Action::Back => {
                self.query.reset();
                self.lay_out(core);
            }
            Action::Next | Action::Previous => {
                const KINDS: [Option<Kind>; 4] = [None, Some(Kind::Note), Some(Kind::Term), Some(Kind::Lab)];
                let at = KINDS.iter().position(|k| *k == self.kind).unwrap_or(0);
                let step = if action == Action::Next { 1 } else { KINDS.len() - 1 };
                self.kind = KINDS[(at + step) % KINDS.len()];
                self.lay_out(core);
            }
            Action::Open => {
                let Some(hit) = self.results.hits.get(self.cursor.at()) else { return Outcome::stay() };
                let screen = Screen::target(&target(hit), hit.anchor.as_deref(), &core.library);
                return screen.map_or_else(Outcome::stay, Outcome::push);
            }
            action => {
                let page = usize::from(body_size(core).1.saturating_sub(3)) / LINES_PER_HIT;
                self.cursor.on(action, self.results.hits.len(), page.max(1));
            }
        }
        Outcome::stay()
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>, area: Rect, core: &Core) {
        let (lang, theme) = (core.lang, core.theme);
        let [input, kinds, list] =
            Layout::vertical([Constraint::Length(1), Constraint::Length(2), Constraint::Min(1)]).areas(area);
        let prompt = "  / ";
        let room = input.width.saturating_sub(prompt.width() as u16 + 1);
        let scroll = self.query.visual_scroll(usize::from(room));
        let shown: String = skip_columns(self.query.value(), scroll);
        let mut line = vec![Span::styled(prompt, theme.style(Role::Accent)), Span::raw(shown)];
        if self.query.value().is_empty() {
            let hint = lang.pick("words, Chinese or English", "输入中文或英文");
            line.push(Span::styled(hint, theme.style(Role::Dim)));
        }
        frame.render_widget(Line::from(line), input);
        let column = prompt.width() + self.query.visual_cursor().saturating_sub(scroll);
        frame.set_cursor_position((input.x + (column as u16).min(input.width.saturating_sub(1)), input.y));
        self.draw_kinds(frame, kinds, core);

        let mut lines = Vec::new();
        for (i, hit) in self.results.hits.iter().enumerate() {
            let selected = i == self.cursor.at();
            let title = Line::from(vec![
                Span::raw(if selected { "▸ " } else { "  " }),
                Span::styled(format!("{} ", kind_name(Some(hit.kind), lang)), theme.style(Role::Dim)),
                Span::styled(hit.title.clone(), theme.style(Role::Accent)),
            ]);
            lines.push(if selected { title.style(SELECTED) } else { title });
            lines.push(snippet(hit));
        }
        if lines.is_empty() && !self.query.value().trim().is_empty() {
            let text = if core.search.is_none() {
                lang.pick("  building the index…", "  正在建索引……")
            } else {
                lang.pick(
                    "  nothing found; try another word, or the other language",
                    "  没有找到；换个词，或换一种语言试试",
                )
            };
            lines.push(Line::raw(text));
        }
        frame.render_widget(scrolled(lines, self.cursor.at() * LINES_PER_HIT, list.height), list);
    }

    fn draw_kinds(&self, frame: &mut Frame<'_>, area: Rect, core: &Core) {
        let (lang, theme) = (core.lang, core.theme);
        let mut spans = vec![Span::raw("  ")];
        for kind in [None, Some(Kind::Note), Some(Kind::Term), Some(Kind::Lab)] {
            let style = if kind == self.kind { SELECTED } else { theme.style(Role::Dim) };
            spans.push(Span::styled(format!(" {} ", kind_name(kind, lang)), style));
        }
        if !self.query.value().trim().is_empty() {
            let found = self.results.hits.len();
            let ms = self.results.took_us as f64 / 1000.0;
            let text =
                lang.pick(format!("  {found} found in {ms:.1} ms"), format!("  {found} 条，{ms:.1} ms"));
            spans.push(Span::styled(text, theme.style(Role::Dim)));
        }
        frame.render_widget(Line::from(spans), area);
    }
}

fn target(hit: &Hit) -> Target {
    match hit.kind {
        Kind::Note => Target::Note(hit.id.clone()),
        Kind::Term => Target::Term(hit.id.clone()),
        Kind::Lab => Target::Lab(hit.id.clone()),
    }
}

fn kind_name(kind: Option<Kind>, lang: Lang) -> &'static str {
    match kind {
        None => lang.pick("all", "全部"),
        Some(Kind::Note) => lang.pick("note", "笔记"),
        Some(Kind::Term) => lang.pick("term", "术语"),
        Some(Kind::Lab) => lang.pick("lab", "实验"),
    }
}

/// The snippet with its matches bold and underlined, so that they show without colour.
fn snippet(hit: &Hit) -> Line<'static> {
    let text = &hit.snippet.text;
    let mut spans = vec![Span::raw("     ")];
    let mut at = 0;
    for range in &hit.snippet.highlights {
        let (Some(before), Some(matched)) = (text.get(at..range.start), text.get(range.clone())) else {
            continue;
        };
        spans.push(Span::raw(before.to_owned()));
        let style = ratatui::style::Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
        spans.push(Span::styled(matched.to_owned(), style));
        at = range.end;
    }
    spans.push(Span::raw(text.get(at..).unwrap_or_default().to_owned()));
    Line::from(spans)
}

fn skip_columns(text: &str, columns: usize) -> String {
    let mut skipped = 0;
    text.chars()
        .skip_while(|c| {
            let skip = skipped < columns;
            skipped += unicode_width::UnicodeWidthChar::width(*c).unwrap_or(0);
            skip
        })
        .collect()
}
