//! A lab before its run: the question, the closed form, the predictions, the parameters.

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};
use unicode_width::UnicodeWidthStr;

use super::lab_form::{Form, Row};
use super::labs::{recording_name, recordings, replay};
use super::reader::Reader;
use super::run::Run;
use super::setup::Setup;
use super::{Nav, Outcome, Screen};
use crate::tui::app::Core;
use crate::tui::msg::{Action, Effect};
use crate::tui::theme::{Role, SELECTED};
use crate::tui::widgets::list::scrolled;

/// Seed of the inputs: the same every time, so that two runs differ by the machine alone.
const SEED: u64 = 42;

/// The form of a lab.
#[derive(Debug)]
pub(crate) struct Lab {
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
        // One lab at a time: asked again, the one that runs is shown.
        if core.running() {
            return Outcome::push(Screen::Run(Run::active()));
        }
        if !core.engine.ready {
            return Setup::open(self.form.spec, core);
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
        let lines = self.lines(core);
        let forms: Vec<&str> = lang.pick(&spec.closed_form.en, &spec.closed_form.zh).trim().lines().collect();
        let needed = lines.text.len() as u16;
        // The closed forms are shown where they fit below the form; the guide has them too.
        let [question, form, help, closed] = Layout::vertical([
            Constraint::Length(2),
            Constraint::Min(needed.min(area.height.saturating_sub(4))),
            Constraint::Length(2),
            Constraint::Length(if area.height > needed + 6 + forms.len() as u16 {
                forms.len() as u16 + 1
            } else {
                0
            }),
        ])
        .areas(area.inner(ratatui::layout::Margin::new(1, 0)));
        let text =
            Line::styled(lang.pick(&spec.question.en, &spec.question.zh).as_str(), theme.style(Role::Accent));
        frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), question);
        let text = Line::styled(self.help(core), theme.style(Role::Dim));
        frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), help);
        frame.render_widget(Paragraph::new(forms.into_iter().map(Line::raw).collect::<Vec<_>>()), closed);

        if let Some(column) = lines.cursor {
            let height = usize::from(form.height);
            let first = lines.focused.saturating_sub(height / 2).min(lines.text.len().saturating_sub(height));
            let x = form.x + (column as u16).min(form.width.saturating_sub(1));
            frame.set_cursor_position((x, form.y + (lines.focused - first) as u16));
        }
        frame.render_widget(scrolled(lines.text, lines.focused, form.height), form);
    }

    fn lines(&self, core: &Core) -> Lines {
        let theme = core.theme;
        let mut lines = Lines { text: Vec::new(), focused: 0, cursor: None };
        for row in self.form.rows() {
            if let Some(head) = heading(row, core) {
                lines.text.push(Line::styled(head, theme.style(Role::Dim)));
            }
            let at = row == self.form.at();
            let (label, value, after) = self.cells(row, core);
            let pointer = if at { "▸ " } else { "  " };
            let start = pointer.width() + label.width();
            let mut spans = vec![Span::raw(pointer)];
            match value {
                Some(value) => {
                    spans.push(Span::raw(label));
                    spans.push(Span::styled(value, if at { SELECTED } else { theme.style(Role::Accent) }));
                }
                None => spans.push(Span::styled(label, if at { SELECTED } else { Style::new() })),
            }
            match self.form.fault(row) {
                Some(fault) => spans.push(Span::styled(format!("  ! {fault}"), theme.style(Role::Bad))),
                None => spans.push(Span::styled(format!(" {after}"), theme.style(Role::Dim))),
            }
            if at {
                lines.focused = lines.text.len();
                lines.cursor = self.form.typing().then(|| start + 1 + self.cursor(row));
            }
            lines.text.push(Line::from(spans));
        }
        lines
    }

    /// The focused row in a sentence.
    fn help(&self, core: &Core) -> String {
        let lang = core.lang;
        let text = |text: &infralab_labs::protocol::Text| lang.pick(&text.en, &text.zh).clone();
        match self.form.at() {
            Row::Size => lang
                .pick(
                    "tiny: seconds on two CPU cores; small: a laptop; full: a data-centre GPU",
                    "tiny：两个 CPU 核几秒跑完；small：笔记本；full：数据中心 GPU",
                )
                .into(),
            Row::Device => lang.pick("auto takes a GPU where one answers", "auto：有 GPU 就用 GPU").into(),
            Row::Prediction(i) => text(&self.form.spec.predictions[i].question),
            Row::Run => {
                lang.pick("predictions are locked when the run starts", "开始运行后，预测就锁定了").into()
            }
            Row::Replay => {
                recordings(self.form.spec, core).next().map(|r| recording_name(r, core)).unwrap_or_default()
            }
            Row::Guide => {
                lang.pick("what the lab runs, and how to read it", "实验在跑什么，怎么看结果").into()
            }
            Row::Param(i) => {
                let spec = &self.form.spec.params[i];
                format!("{} ({})", text(&spec.help), spec.accepted())
            }
        }
    }

    /// Label, value in its field, and what stands after it.
    fn cells(&self, row: Row, core: &Core) -> (String, Option<String>, String) {
        let lang = core.lang;
        let choice = |text: &str| Some(format!("‹ {text} ›"));
        let field = |text: &str, width: usize| Some(format!("[{text:<width$}]"));
        match row {
            Row::Size => (pad(lang.pick("size", "规模")), choice(self.form.size.name()), String::new()),
            Row::Device => {
                (pad(lang.pick("device", "设备")), choice(&self.form.device().to_string()), String::new())
            }
            Row::Prediction(i) => {
                let spec = &self.form.spec.predictions[i];
                (pad(&spec.name), field(self.form.predictions[i].value(), 12), spec.unit.clone())
            }
            Row::Run => (lang.pick("[ Run  F5 ]", "[ 运行  F5 ]").into(), None, String::new()),
            Row::Replay => {
                let any = recordings(self.form.spec, core).next().is_some();
                let after = if any { "" } else { lang.pick("none ships yet", "暂无随附录制") };
                (lang.pick("[ Replay a recording  F6 ]", "[ 回放录制  F6 ]").into(), None, after.into())
            }
            Row::Guide => (lang.pick("[ Guide  F7 ]", "[ 指南  F7 ]").into(), None, String::new()),
            Row::Param(i) => {
                let spec = &self.form.spec.params[i];
                let value = self.form.params[i].value();
                let shown = if spec.choices.is_empty() { field(value, 12) } else { choice(value) };
                (pad(&spec.name), shown, spec.unit.clone())
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

/// The form as lines.
struct Lines {
    text: Vec<Line<'static>>,
    /// Index of the focused row's line.
    focused: usize,
    /// Column of the text cursor on that line.
    cursor: Option<usize>,
}

fn heading(row: Row, core: &Core) -> Option<&'static str> {
    let (en, zh) = match row {
        Row::Size => ("Set up", "设置"),
        Row::Prediction(0) => ("Predict (leave empty to run without)", "先预测（留空也可以运行）"),
        Row::Run => ("Do", "执行"),
        Row::Param(0) => ("Parameters", "参数"),
        _ => return None,
    };
    Some(core.lang.pick(en, zh))
}

/// Labels stand in one column.
fn pad(text: &str) -> String {
    const WIDTH: usize = 22;
    format!("{text}{}", " ".repeat(WIDTH.saturating_sub(text.width())))
}
