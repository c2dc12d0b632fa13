//! Search: results while typing, over notes, terms, labs, runs and own notes in both languages.

use std::ops::Range;

use crossterm::event::{Event, KeyCode, KeyEvent};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use tui_input::Input;
use tui_input::backend::crossterm::EventHandler;
use unicode_width::UnicodeWidthStr;

use super::{Nav, Outcome, Screen, body_size};
use crate::lang::Lang;
use crate::library::Target;
use crate::search::{Facets, Filter, Hit, Kind, Results};
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
        let filter = Filter {
            kind: self.kind,
            progress: Some(&core.progress),
            prefer: core.lang,
            limit: LIMIT,
            ..Filter::default()
        };
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
                let kinds = self.kinds();
                let at = kinds.iter().position(|(kind, _)| *kind == self.kind).unwrap_or(0);
                let step = if action == Action::Next { 1 } else { kinds.len() - 1 };
                self.kind = kinds[(at + step) % kinds.len()].0;
                self.cursor = Cursor::default();
                self.lay_out(core);
            }
            Action::Open => {
                let Some(hit) = self.results.hits.get(self.cursor.at()) else { return Outcome::stay() };
                let screen = target(hit)
                    .and_then(|target| Screen::target(&target, hit.anchor.as_deref(), &core.library));
                return screen.map_or_else(
                    || Outcome::refuse(core.lang.pick("this cannot be opened from here", "这里打不开这一条")),
                    Outcome::push,
                );
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
            let hint = lang.pick(
                "words, Chinese or English, or pinyin; kind:term layer:serving narrow it",
                "输入中文或英文，也可以用拼音；类型:术语 层:推理服务 缩小范围",
            );
            line.push(Span::styled(hint, theme.style(Role::Dim)));
        }
        frame.render_widget(Line::from(line), input);
        let column = prompt.width() + self.query.visual_cursor().saturating_sub(scroll);
        frame.set_cursor_position((input.x + (column as u16).min(input.width.saturating_sub(1)), input.y));
        self.draw_kinds(frame, kinds, core);

        let mut lines = Vec::new();
        for (i, hit) in self.results.hits.iter().enumerate() {
            let selected = i == self.cursor.at();
            let title = Line::from(
                vec![
                    Span::raw(if selected { "▸ " } else { "  " }),
                    Span::styled(format!("{} ", hit.kind.name(lang)), theme.style(Role::Dim)),
                ]
                .into_iter()
                .chain(marked(&hit.title, &hit.title_highlights, theme.style(Role::Accent)))
                .collect::<Vec<_>>(),
            );
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

    /// Kinds to choose from with their hits: the usual ones, and others that have any.
    fn kinds(&self) -> Vec<(Option<Kind>, usize)> {
        let count = |kind: Kind| {
            let counted = self.results.facets.kinds.iter().find(|(k, _)| *k == kind);
            counted.map_or(0, |(_, count)| *count)
        };
        let all = Kind::ALL.into_iter().map(count).sum();
        let usual =
            |kind: Kind| matches!(kind, Kind::Note | Kind::Term | Kind::Lab) || self.kind == Some(kind);
        let each = Kind::ALL.into_iter().map(|kind| (Some(kind), count(kind)));
        let each = each.filter(|(kind, count)| *count > 0 || kind.is_some_and(usual));
        [(None, all)].into_iter().chain(each).collect()
    }

    fn draw_kinds(&self, frame: &mut Frame<'_>, area: Rect, core: &Core) {
        let (lang, theme) = (core.lang, core.theme);
        let asked = !self.query.value().trim().is_empty();
        let mut spans = vec![Span::raw("  ")];
        for (kind, count) in self.kinds() {
            let style = if kind == self.kind { SELECTED } else { theme.style(Role::Dim) };
            let name = kind.map_or(lang.pick("all", "全部"), |kind| kind.name(lang));
            let text = if asked { format!(" {name} {count} ") } else { format!(" {name} ") };
            spans.push(Span::styled(text, style));
        }
        if asked {
            let ms = self.results.took_us as f64 / 1000.0;
            let found = self.results.total;
            let text = match (self.results.partial, lang) {
                (false, Lang::En) => format!("  {found} found in {ms:.1} ms"),
                (false, Lang::Zh) => format!("  {found} 条，{ms:.1} ms"),
                (true, Lang::En) => format!("  {found} found in part, in {ms:.1} ms"),
                (true, Lang::Zh) => format!("  {found} 条只符合一部分，{ms:.1} ms"),
            };
            spans.push(Span::styled(text, theme.style(Role::Dim)));
        }
        let counts = Line::styled(facet_line(&self.results.facets, lang), theme.style(Role::Dim));
        frame.render_widget(ratatui::text::Text::from(vec![Line::from(spans), counts]), area);
    }
}

/// Phases, layers and states with their hits, where there is a choice.
fn facet_line(facets: &Facets, lang: Lang) -> String {
    let mut parts: Vec<String> = Vec::new();
    if facets.phases.len() > 1 {
        let each: Vec<String> =
            facets.phases.iter().map(|(phase, count)| format!("{phase}:{count}")).collect();
        parts.push(format!("{} {}", lang.pick("phase", "阶段"), each.join(" ")));
    }
    if facets.layers.len() > 1 {
        let each = facets.layers.iter().map(|(layer, count)| format!("{} {count}", layer.name(lang)));
        parts.push(each.collect::<Vec<_>>().join(" "));
    }
    if facets.states.len() > 1 {
        let each = facets.states.iter().map(|(state, count)| format!("{} {count}", state.name(lang)));
        parts.push(each.collect::<Vec<_>>().join(" "));
    }
    if parts.is_empty() { String::new() } else { format!("   {}", parts.join(" · ")) }
}

/// What the library and the labs can open.
fn target(hit: &Hit) -> Option<Target> {
    match hit.kind {
        Kind::Note => Some(Target::Note(hit.id.clone())),
        Kind::Term => Some(Target::Term(hit.id.clone())),
        Kind::Lab => Some(Target::Lab(hit.id.clone())),
        Kind::Own | Kind::Run => None,
    }
}

/// The snippet with its matches.
fn snippet(hit: &Hit) -> Line<'static> {
    let text = marked(&hit.snippet.text, &hit.snippet.highlights, Style::new());
    Line::from([Span::raw("     ")].into_iter().chain(text).collect::<Vec<_>>())
}

/// Text whose matches are bold and underlined, so that they show without colour.
fn marked(text: &str, highlights: &[Range<usize>], style: Style) -> Vec<Span<'static>> {
    let mut spans = Vec::with_capacity(2 * highlights.len() + 1);
    let mut at = 0;
    for range in highlights {
        let (Some(before), Some(matched)) = (text.get(at..range.start), text.get(range.clone())) else {
            continue;
        };
        spans.push(Span::styled(before.to_owned(), style));
        let marked = style.add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
        spans.push(Span::styled(matched.to_owned(), marked));
        at = range.end;
    }
    spans.push(Span::styled(text.get(at..).unwrap_or_default().to_owned(), style));
    spans
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
