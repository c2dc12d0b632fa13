//! What surrounds every screen: tabs above, keys and messages below.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::lang::Lang;
use crate::tui::app::App;
use crate::tui::keys;
use crate::tui::msg::Tab;
use crate::tui::theme::{Role, SELECTED};

/// Below this the screens have nothing to say.
const SMALLEST: (u16, u16) = (30, 8);

/// Draws the whole terminal.
pub(crate) fn draw(app: &App, frame: &mut Frame<'_>) {
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let text = app.core.lang.pick("infralab: make the window larger", "infralab：请把窗口拉大");
        frame.render_widget(Line::raw(text), area);
        return;
    }
    let [top, body, bottom] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)]).areas(area);
    tabs(app, frame, top);
    app.screen().draw(frame, body, app);
    footer(app, frame, bottom);
}

fn tab_name(tab: Tab, lang: Lang) -> &'static str {
    let (en, zh) = match tab {
        Tab::Home => ("Home", "首页"),
        Tab::Notes => ("Notes", "笔记"),
        Tab::Search => ("Search", "搜索"),
        Tab::Glossary => ("Glossary", "术语"),
        Tab::Labs => ("Labs", "实验"),
        Tab::History => ("History", "历史"),
        Tab::Calc => ("Calc", "计算"),
        Tab::Gpu => ("GPU", "GPU"),
    };
    lang.pick(en, zh)
}

fn tabs(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let (core, theme) = (&app.core, app.core.theme);
    let mut spans = Vec::new();
    for (i, tab) in Tab::ALL.into_iter().enumerate() {
        let text = format!(" {} {} ", i + 1, tab_name(tab, core.lang));
        let style = if tab == app.tab() { SELECTED } else { theme.style(Role::Dim) };
        spans.push(Span::styled(text, style));
    }
    let running = core.running().then(|| core.lang.pick("● lab runs (5 Enter) ", "● 实验运行中（5 Enter）"));
    let right = running.unwrap_or(core.lang.pick("F2 中文 ", "F2 English "));
    let tabs: usize = spans.iter().map(Span::width).sum();
    // Where it is tight, how to change the language says more than our name.
    let brand =
        if tabs + " infralab ".len() + right.width() < usize::from(area.width) { " infralab " } else { "" };
    spans.insert(0, Span::styled(brand, theme.style(Role::Accent)));
    let used = tabs + brand.len();
    if used + right.width() < usize::from(area.width) {
        spans.push(Span::raw(" ".repeat(usize::from(area.width) - used - right.width())));
        let role = if running.is_some() { Role::Warn } else { Role::Dim };
        spans.push(Span::styled(right, theme.style(role)));
    }
    frame.render_widget(Line::from(spans), area);
}

fn footer(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let (lang, theme) = (app.core.lang, app.core.theme);
    if let Some(notice) = &app.notice {
        let role = if notice.bad { Role::Bad } else { Role::Good };
        let glyph = if notice.bad { " ! " } else { " ✓ " };
        frame.render_widget(
            Line::from(vec![Span::styled(glyph, theme.style(role)), Span::raw(&notice.text)]),
            area,
        );
        return;
    }
    let mut spans = Vec::new();
    let mut left = usize::from(area.width);
    for binding in keys::footer(app.screen().place()) {
        let key = format!(" {} ", binding.keys[0]);
        let help = format!("{} ", binding.help(lang));
        let width = key.width() + help.width();
        if width > left {
            break;
        }
        left -= width;
        spans.push(Span::styled(key, theme.style(Role::Accent)));
        spans.push(Span::styled(help, theme.style(Role::Dim)));
    }
    frame.render_widget(Line::from(spans), area);
}
