//! A lab before its run: the question, the closed form, the predictions, the parameters.

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};
use unicode_width::UnicodeWidthStr;

use super::lab_form::{Form, Row};
use super::labs::{recording_name, recordings, replay};
use super::reader::Reader;
use super::run::Run;
use super::{Nav, Outcome, Screen};
use crate::tui::app::Core;
use crate::tui::msg::{Action, Effect};
use crate::tui::theme::Role;
use crate::tui::widgets::list::scrolled;

/// Seed of the inputs: the same every time, so that two runs differ by the machine alone.
const SEED: u64 = 42;

/// The form of a lab.
#[derive(Debug)]
pub struct Lab {
    form: Form,
}

impl Lab {
    /// The lab with this id.
    pub(super) fn new(id: &str) -> Option<Self> {
        infralab_labs::find_lab(id).map(|spec| Self { form: Form::new(spec) })
    }

    /// Whether a text field has the focus.
    pub(super) fn typing(&self) -> bool {
        self.form.typing()
    }

    pub(super) fn typed(&mut self, key: KeyEvent, _: &Core) -> Outcome {
        self.form.typed(key);
        Outcome::stay()
    }

    pub(super) fn on(&mut self, action: Action, core: &Core) -> Outcome {
        match action {
            Action::Back => return Outcome::nav(Nav::Back),
            Action::Up => self.form.move_by(-1),
            Action::Down => self.form.move_by(1),
            Action::Left => self.form.turn(-1),
            Action::Right => self.form.turn(1),
            Action::Next => self.form.next_section(1),
            Action::Previous => self.form.next_section(-1),
            Action::Run => return self.run(core),
            Action::Replay => return replay(self.form.spec, core),
            Action::Guide => return self.guide(),
            Action::Open => match self.form.at() {
                Row::Run => return self.run(core),
                Row::Replay => return replay(self.form.spec, core),
                Row::Guide => return self.guide(),
                _ => self.form.move_by(1),
            },
            _ => {}
        }
        Outcome::stay()
    }

    fn guide(&self) -> Outcome {
        Outcome::push(Screen::Reader(Reader::guide(&self.form.spec.id)))
    }

    fn run(&self, core: &Core) -> Outcome {
        if core.running() {
            let text = core.lang.pick(
                "a lab is running; stop it first (F6 on its screen)",
                "已有实验在运行，请先在它的界面按 F6 停止",
            );
            return Outcome::refuse(text);
        }
        if !core.engine.ready {
            let instead = core.lang.pick("F6 plays a recorded run", "按 F6 可以看录制的运行");
            return Outcome::refuse(format!("{}; {instead}", core.engine.line));
        }
        match self.form.request(SEED) {
            Ok((request, predictions)) => Outcome {
                effects: vec![Effect::StartLab { request: Box::new(request), predictions }],
                ..Outcome::push(Screen::Run(Run::active()))
            },
            Err(fault) => Outcome::refuse(fault),
        }
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>, area: Rect, core: &Core) {
        let (lang, theme) = (core.lang, core.theme);
        let spec = self.form.spec;
        let wide = area.width >= 100;
        let [form, about] = if wide {
            Layout::horizontal([Constraint::Percentage(58), Constraint::Percentage(42)]).areas(area)
        } else {
            let [about, form] = Layout::vertical([Constraint::Length(3), Constraint::Min(1)]).areas(area);
            [form, about]
        };
        let mut text = vec![Line::styled(
            lang.pick(&spec.question.en, &spec.question.zh).clone(),
            theme.style(Role::Accent),
        )];
        if wide {
            text.push(Line::raw(""));
            text.extend(lang.pick(&spec.closed_form.en, &spec.closed_form.zh).trim().lines().map(Line::raw));
        }
        let about = about.inner(ratatui::layout::Margin::new(2, 0));
        frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: false }), about);
        self.draw_form(frame, form, core);
    }

    fn draw_form(&self, frame: &mut Frame<'_>, area: Rect, core: &Core) {
        let theme = core.theme;
        let mut lines: Vec<Line<'_>> = Vec::new();
        let mut focused = 0;
        let mut cursor_column = None;
        for row in self.form.rows() {
            if let Some(head) = self.heading(row, core) {
                lines.push(Line::styled(head, theme.style(Role::Dim)));
            }
            let at = row == self.form.at();
            let (label, value, after) = self.cells(row, core);
            let pointer = if at { "▸ " } else { "  " };
            let mut spans = vec![Span::raw(pointer), Span::raw(label.clone())];
            let start = pointer.width() + label.width();
            if let Some(value) = &value {
                spans.push(Span::styled(
                    value.clone(),
                    if at { theme.selected() } else { theme.style(Role::Accent) },
                ));
            } else if at {
                spans[1] = Span::styled(label, theme.selected());
            }
            match self.form.fault(row) {
                Some(fault) => spans.push(Span::styled(format!("  ! {fault}"), theme.style(Role::Bad))),
                None => spans.push(Span::styled(after, theme.style(Role::Dim))),
            }
            if at {
                focused = lines.len();
                if self.form.typing() {
                    cursor_column = Some(start + 1 + self.cursor(row));
                }
            }
            lines.push(Line::from(spans));
        }
        let first = focused
            .saturating_sub(usize::from(area.height / 2))
            .min(lines.len().saturating_sub(area.height.into()));
        if let Some(column) = cursor_column {
            let x = area.x + (column as u16).min(area.width.saturating_sub(1));
            frame.set_cursor_position((x, area.y + (focused - first) as u16));
        }
        frame.render_widget(scrolled(lines, focused, area.height), area);
    }

    fn heading(&self, row: Row, core: &Core) -> Option<&'static str> {
        let (en, zh) = match row {
            Row::Size => ("  Set up", "  设置"),
            Row::Prediction(0) => ("  Predict (leave empty to run without)", "  先预测（留空也可以运行）"),
            Row::Run => ("  Do", "  执行"),
            Row::Param(0) => ("  Parameters", "  参数"),
            _ => return None,
        };
        Some(core.lang.pick(en, zh))
    }

    /// Label, value in its field, and what stands after it.
    fn cells(&self, row: Row, core: &Core) -> (String, Option<String>, String) {
        let lang = core.lang;
        let choice = |text: &str| Some(format!("‹ {text} ›"));
        match row {
            Row::Size => (pad(lang.pick("size", "规模"), 12), choice(self.form.size.name()), String::new()),
            Row::Device => {
                (pad(lang.pick("device", "设备"), 12), choice(&self.form.device().to_string()), String::new())
            }
            Row::Prediction(i) => {
                let spec = &self.form.spec.predictions[i];
                let value = self.form.predictions[i].value();
                let question = lang.pick(&spec.question.en, &spec.question.zh);
                (String::new(), Some(format!(" {value:<10} ")), format!(" {}  {question}", spec.unit))
            }
            Row::Run => (lang.pick("[ Run (F5) ]", "[ 运行 (F5) ]").into(), None, String::new()),
            Row::Replay => {
                let name =
                    recordings(self.form.spec, core).next().map(|r| format!("  {}", recording_name(r, core)));
                (
                    lang.pick("[ Replay a recording (F6) ]", "[ 回放录制 (F6) ]").into(),
                    None,
                    name.unwrap_or_default(),
                )
            }
            Row::Guide => (lang.pick("[ Guide (F7) ]", "[ 指南 (F7) ]").into(), None, String::new()),
            Row::Param(i) => {
                let spec = &self.form.spec.params[i];
                let value = self.form.params[i].value();
                let shown =
                    if spec.choices.is_empty() { Some(format!(" {value:<8} ")) } else { choice(value) };
                let help = lang.pick(&spec.help.en, &spec.help.zh);
                (pad(&spec.name, 12), shown, format!(" {} {help}", spec.unit))
            }
        }
    }

    fn cursor(&self, row: Row) -> usize {
        match row {
            Row::Prediction(i) => self.form.predictions[i].visual_cursor(),
            Row::Param(i) => self.form.params[i].visual_cursor(),
            _ => 0,
        }
    }
}

fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}
