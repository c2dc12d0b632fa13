//! Calculators: the list on the left, the selected one's fields and answer on the right.

use std::collections::HashMap;

use crossterm::event::{Event, KeyEvent};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use tui_input::Input;
use tui_input::backend::crossterm::EventHandler;
use unicode_width::UnicodeWidthStr;

use super::calc_form::CalcForm;
use super::calc_view;
use super::{Nav, Outcome, body_size};
use crate::calc::{self, Calculator};
use crate::tui::app::Core;
use crate::tui::msg::Action;
use crate::tui::theme::{Role, SELECTED};
use crate::tui::widgets::list::{Cursor, scrolled};

/// What has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Focus {
    #[default]
    List,
    Filter,
    Form,
}

/// Filter, selection, and every form that was looked at, as it was left.
#[derive(Debug, Default)]
pub(crate) struct Calc {
    focus: Focus,
    filter: Input,
    shown: Vec<&'static Calculator>,
    cursor: Cursor,
    forms: HashMap<&'static str, CalcForm>,
}

impl Calc {
    /// Whether a text field has the focus.
    pub(super) fn typing(&self) -> bool {
        match self.focus {
            Focus::List => false,
            Focus::Filter => true,
            Focus::Form => self.form().is_some_and(CalcForm::typing),
        }
    }

    fn form(&self) -> Option<&CalcForm> {
        self.forms.get(self.shown.get(self.cursor.at())?.name)
    }

    fn form_mut(&mut self) -> Option<&mut CalcForm> {
        self.forms.get_mut(self.shown.get(self.cursor.at())?.name)
    }

    pub(super) fn lay_out(&mut self) {
        let wanted = self.filter.value().trim().to_lowercase();
        let passes = |c: &Calculator| {
            let title = [c.name, c.title.en, c.title.zh].into_iter();
            let topic = crate::lang::Lang::ALL.map(|lang| c.topic.name(lang));
            wanted.is_empty() || title.chain(topic).any(|text| text.to_lowercase().contains(&wanted))
        };
        let selected = self.shown.get(self.cursor.at()).map(|c| c.name);
        self.shown = calc::all().filter(|c| passes(c)).collect();
        // What was looked at stays selected while the list around it changes.
        let still = self.shown.iter().position(|c| Some(c.name) == selected);
        self.cursor.to(still.unwrap_or(0));
        if let Some(calculator) = self.shown.get(self.cursor.at()) {
            self.forms.entry(calculator.name).or_insert_with(|| CalcForm::new(calculator));
        }
    }

    pub(super) fn typed(&mut self, key: KeyEvent) -> Outcome {
        match self.focus {
            Focus::List => {}
            Focus::Filter => {
                self.filter.handle_event(&Event::Key(key));
                self.lay_out();
            }
            Focus::Form => {
                if let Some(form) = self.form_mut() {
                    form.typed(key);
                }
            }
        }
        Outcome::stay()
    }

    pub(super) fn on(&mut self, action: Action, core: &Core) -> Outcome {
        if self.focus == Focus::Form
            && let Some(form) = self.form_mut()
        {
            match action {
                Action::Up => form.move_by(-1),
                Action::Down | Action::Open => form.move_by(1),
                Action::Left => form.turn(-1),
                Action::Right => form.turn(1),
                Action::PageUp => form.move_by(-5),
                Action::PageDown => form.move_by(5),
                Action::Back | Action::Next | Action::Previous => self.focus = Focus::List,
                Action::Filter => self.focus = Focus::Filter,
                _ => {}
            }
            return Outcome::stay();
        }
        let has = !self.shown.is_empty();
        match action {
            Action::Back if self.focus == Focus::Filter || !self.filter.value().is_empty() => {
                self.focus = Focus::List;
                self.filter.reset();
            }
            Action::Back => return Outcome::nav(Nav::Back),
            Action::Filter if self.focus == Focus::List => self.focus = Focus::Filter,
            Action::Filter => self.focus = Focus::List,
            Action::Open | Action::Next | Action::Previous if has => self.focus = Focus::Form,
            Action::Right if has && self.focus == Focus::List => self.focus = Focus::Form,
            _ => {
                let page = usize::from(body_size(core).1.saturating_sub(3).max(1));
                self.cursor.on(action, self.shown.len(), page);
            }
        }
        self.lay_out();
        Outcome::stay()
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>, area: Rect, core: &Core) {
        let wide = (area.width * 7 / 20).clamp(16, 40).min(area.width);
        let [left, _, right] =
            Layout::horizontal([Constraint::Length(wide), Constraint::Length(1), Constraint::Min(1)])
                .areas(area);
        let [filter, list] = Layout::vertical([Constraint::Length(1), Constraint::Min(1)]).areas(left);
        self.draw_filter(frame, filter, core);
        self.draw_list(frame, list, core);
        if let Some(form) = self.form() {
            calc_view::draw(frame, right, form, self.focus == Focus::Form, core);
        }
    }

    fn draw_filter(&self, frame: &mut Frame<'_>, area: Rect, core: &Core) {
        let (lang, theme) = (core.lang, core.theme);
        let prompt = lang.pick("filter: ", "筛选：");
        let role = if self.focus == Focus::Filter { Role::Accent } else { Role::Dim };
        let spans =
            vec![Span::styled(format!(" {prompt}"), theme.style(role)), Span::raw(self.filter.value())];
        frame.render_widget(Line::from(spans), area);
        if self.focus == Focus::Filter {
            let column = (1 + prompt.width() + self.filter.visual_cursor()) as u16;
            frame.set_cursor_position((area.x + column.min(area.width.saturating_sub(1)), area.y));
        }
    }

    fn draw_list(&self, frame: &mut Frame<'_>, area: Rect, core: &Core) {
        let (lang, theme) = (core.lang, core.theme);
        let mut lines = Vec::new();
        let mut selected = 0;
        let mut topic = None;
        for (at, calculator) in self.shown.iter().enumerate() {
            if topic != Some(calculator.topic) {
                topic = Some(calculator.topic);
                let name = calculator.topic.name(lang);
                lines.push(Line::styled(format!(" {name}"), theme.style(Role::Dim)));
            }
            let line = Line::raw(format!("  {} ", calculator.title.get(lang)));
            if at == self.cursor.at() {
                selected = lines.len();
                let style = if self.focus == Focus::Form { theme.style(Role::Accent) } else { SELECTED };
                lines.push(line.style(style));
            } else {
                lines.push(line);
            }
        }
        if lines.is_empty() {
            lines.push(Line::raw(lang.pick("  no calculator matches", "  没有匹配的计算器")));
        }
        // The first topic's name stays in view above its first calculator.
        frame.render_widget(scrolled(lines, selected, area.height), area);
    }
}
