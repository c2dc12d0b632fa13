//! A lab before its run: the question, the closed form, the predictions, the parameters.

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};
use unicode_width::UnicodeWidthStr;

use super::lab_form::{Cell, Form, Row};
use super::labs::{recording_name, recordings};
use super::reader::Reader;
use super::run::Run;
use super::setup::Setup;
use super::{Nav, Outcome, Screen};
use crate::lab::prediction::Side;
use crate::lab::preflight::Fit;
use crate::tui::app::Core;
use crate::tui::msg::{Action, Effect};
use crate::tui::theme::{Role, SELECTED};
use crate::tui::widgets::list::scrolled;
use crate::units::binary_bytes;

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
            Action::Replay => return self.replay(core),
            Action::Guide => return self.guide(),
            Action::Open => match self.form.at() {
                Row::Run => return self.run(core),
                Row::Replay => return self.replay(core),
                Row::Guide => return self.guide(),
                _ => self.form.next_cell(),
            },
            _ => {}
        }
        Outcome::stay()
    }

    fn guide(&self) -> Outcome {
        Outcome::push(Screen::Reader(Reader::guide(&self.form.spec.id)))
    }

    /// Plays the recording. What was predicted is judged by it, so it must have been predicted for its parameters.
    fn replay(&mut self, core: &Core) -> Outcome {
        let Some(recording) = recordings(self.form.spec, core).next() else {
            return Outcome::refuse(
                core.lang.pick("no recording of this lab ships", "这个实验没有随附的录制"),
            );
        };
        let (request, predictions) = match self.form.request(SEED) {
            Ok(asked) => asked,
            Err(fault) => return Outcome::refuse(fault),
        };
        let theirs = &recording.header.request;
        if !predictions.is_empty() && request.params != theirs.params {
            self.form.set_params(theirs.size, &theirs.params);
            let device = recording.device.as_deref().unwrap_or("?");
            return Outcome::refuse(core.lang.pick(
                format!("the recording ran at other parameters on {device}; they are set now: predict for them, then play again"),
                format!("录制用的是另一组参数（{device}），已替你填好：请按它重新预测，再次回放"),
            ));
        }
        Outcome::effect(Effect::LoadRun { place: recording.place.clone(), play: true, predictions })
    }

    fn fit(&self, core: &Core) -> Option<Fit> {
        let (request, _) = self.form.request(SEED).ok()?;
        Some(Fit::of(self.form.spec, &request, &core.machine, core.live.back()))
    }

    fn run(&mut self, core: &Core) -> Outcome {
        // One lab at a time: asked again, the one that runs is shown.
        if core.running() {
            return Outcome::push(Screen::Run(Run::active()));
        }
        if !core.engine.ready {
            return Setup::open(self.form.spec, core);
        }
        if let Some(fit) = self.fit(core)
            && let Some(failure) = fit.refusal(self.form.spec)
        {
            let smaller =
                fit.free_bytes.and_then(|free| self.form.spec.size_that_fits(fit.kind, self.form.size, free));
            if let Some(size) = smaller {
                self.form.set_size(size);
                let text = core.lang.pick(
                    format!(
                        "{}: size set to {}, which fits; run again to start it",
                        failure.what,
                        size.name()
                    ),
                    format!("{}：已改为放得下的规模 {}，再次运行即开始", failure.what, size.name()),
                );
                return Outcome::refuse(text);
            }
            return Outcome::refuse(format!("{}: {}; {}", failure.what, failure.why, failure.next));
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
        let asked = lang.pick(&spec.question.en, &spec.question.zh).as_str();
        // Words move to the next row whole, so a row is rarely full.
        let rows =
            (asked.width() + asked.width() / 8).div_ceil(usize::from(area.width.saturating_sub(2).max(1)));
        let [question, form, help, closed] = Layout::vertical([
            Constraint::Length(rows.clamp(1, 3) as u16),
            Constraint::Min(needed.min(area.height.saturating_sub(4))),
            Constraint::Length(2),
            Constraint::Length(if area.height > needed + 6 + forms.len() as u16 {
                forms.len() as u16 + 1
            } else {
                0
            }),
        ])
        .areas(area.inner(ratatui::layout::Margin::new(1, 0)));
        let text = Line::styled(asked, theme.style(Role::Accent));
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
        let mut spans: Vec<Span<'static>> = Vec::new();
        for row in self.form.rows() {
            if let Some(head) = heading(row, core) {
                lines.text.push(Line::styled(head, theme.style(Role::Dim)));
            }
            let at = row == self.form.at();
            let (label, value, after) = self.cells(row, core);
            if spans.is_empty() {
                let here = match (row, self.form.at()) {
                    (Row::Prediction(i, _), Row::Prediction(j, _)) => i == j,
                    _ => at,
                };
                spans.push(Span::raw(if here { "▸ " } else { "  " }));
            }
            let start = spans.iter().map(Span::width).sum::<usize>() + label.width();
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
            // The cells of one prediction share a line.
            if self.form.ends_line(row) {
                lines.text.push(Line::from(std::mem::take(&mut spans)));
            }
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
            Row::Prediction(i, Cell::Value) => text(&self.form.spec.predictions[i].question),
            Row::Prediction(_, Cell::Low | Cell::High) => lang
                .pick(
                    "the interval that you are 80 % sure of: of ten such intervals, eight should hold",
                    "你有八成把握的区间：十个这样的区间里，应该有八个能容下实测值",
                )
                .into(),
            Row::Prediction(_, Cell::Side) => lang
                .pick(
                    "will the measurement be below, about (within 5 %) or above the closed form? ←→ chooses",
                    "实测会低于、约等于（5 % 以内）还是高于闭式公式？用 ←→ 选择",
                )
                .into(),
            Row::Run => lang
                .pick(
                    "predictions are locked when the run starts, and judged when it has ended",
                    "开始运行后预测就锁定，结束后逐条核对",
                )
                .into(),
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
            Row::Prediction(i, cell) => {
                let (spec, answer) = (&self.form.spec.predictions[i], &self.form.answers[i]);
                match cell {
                    Cell::Value => {
                        (pad(&spec.name), field(answer.value.value(), 8), format!("{:<5}", spec.unit))
                    }
                    Cell::Low => (" 80% ".into(), field(answer.low.value(), 7), String::new()),
                    Cell::High => ("– ".into(), field(answer.high.value(), 7), String::new()),
                    Cell::Side => {
                        (String::new(), Some(format!("‹{}›", side_word(answer.side, core))), String::new())
                    }
                }
            }
            Row::Run => (lang.pick("[ Run  F5 ]", "[ 运行  F5 ]").into(), None, self.fit_words(core)),
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
            Row::Prediction(i, cell) => {
                let answer = &self.form.answers[i];
                match cell {
                    Cell::Value => answer.value.visual_cursor(),
                    Cell::Low => answer.low.visual_cursor(),
                    Cell::High => answer.high.visual_cursor(),
                    Cell::Side => 0,
                }
            }
            Row::Param(i) => self.form.params[i].visual_cursor(),
            _ => 0,
        }
    }
}

impl Lab {
    /// Needed and free bytes, in words; empty where the lab names no need.
    fn fit_words(&self, core: &Core) -> String {
        let Some(fit) = self.fit(core) else { return String::new() };
        let Some(need) = &fit.need else { return String::new() };
        let need = binary_bytes(need.bytes);
        let free = fit.free_bytes.map_or_else(|| "N/A".to_owned(), binary_bytes);
        core.lang.pick(format!("needs {need} to begin, {free} free"), format!("至少需要 {need}，空闲 {free}"))
    }
}

/// The side of the closed form in a word.
pub(super) fn side_word(side: Option<Side>, core: &Core) -> &'static str {
    match side {
        None => core.lang.pick("side?", "哪侧"),
        Some(Side::Below) => core.lang.pick("below", "低于"),
        Some(Side::About) => core.lang.pick("about", "约等"),
        Some(Side::Above) => core.lang.pick("above", "高于"),
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
        Row::Prediction(0, Cell::Value) => (
            "Predict (or leave empty): number · 80 % interval · side of the closed form",
            "先预测（可留空）：数值 · 八成把握的区间 · 在闭式公式的哪一侧",
        ),
        Row::Run => ("Do", "执行"),
        Row::Param(0) => ("Parameters", "参数"),
        _ => return None,
    };
    Some(core.lang.pick(en, zh))
}

/// Labels stand in one column.
fn pad(text: &str) -> String {
    const WIDTH: usize = 21;
    format!("{text}{}", " ".repeat(WIDTH.saturating_sub(text.width())))
}
