//! What a lab needs and this machine lacks: LibTorch and the worker. Shows what an installation would take, asks, and
//! follows it; the recorded run is always the other choice.

use infralab_labs::LabSpec;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Wrap};

use super::labs::replay;
use super::{Nav, Outcome, Screen};
use crate::tui::app::Core;
use crate::tui::msg::{self, Action, Effect};
use crate::tui::theme::Role;

/// The lab that was asked for.
#[derive(Debug)]
pub(in crate::tui) struct Setup {
    lab: &'static LabSpec,
}

impl Setup {
    /// Shows what it would take, finding it out first unless that is already under way.
    pub(super) fn open(lab: &'static LabSpec, core: &Core) -> Outcome {
        let plan = match core.setup {
            msg::Setup::Planning | msg::Setup::Running(_) => Vec::new(),
            _ => vec![Effect::PlanEngine],
        };
        Outcome { effects: plan, ..Outcome::push(Screen::Setup(Self { lab })) }
    }

    pub(super) fn on(&mut self, action: Action, core: &Core) -> Outcome {
        match (action, &core.setup) {
            (Action::Back, _) | (Action::Open, msg::Setup::Done) => Outcome::nav(Nav::Back),
            (Action::Replay, _) => replay(self.lab, core),
            (Action::Open, msg::Setup::Planned(plan)) => Outcome::effect(Effect::InstallEngine(plan.clone())),
            (Action::Open, msg::Setup::Failed(_)) => Outcome::effect(Effect::PlanEngine),
            _ => Outcome::stay(),
        }
    }
}

/// Draws how far it is.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, core: &Core) {
    let (lang, theme) = (core.lang, core.theme);
    let head = lang
        .pick("Labs run on LibTorch, which is not set up here.", "实验要用 LibTorch，这台机器上还没有装好。");
    let mut lines = vec![Line::styled(head, theme.style(Role::Accent)), Line::raw("")];
    let recording = lang.pick(
        "F6 plays the run that was recorded on an H200 instead; it needs nothing.",
        "也可以按 F6 看 H200 上录制的运行，什么都不用装。",
    );
    match &core.setup {
        msg::Setup::Idle | msg::Setup::Planning => {
            lines.push(Line::raw(lang.pick("Finding out what it takes…", "正在查看需要安装什么……")));
        }
        msg::Setup::Planned(plan) => {
            lines.extend(plan.lines().into_iter().map(Line::raw));
            lines.push(Line::raw(""));
            let ask = lang.pick("Enter installs it.", "按 Enter 开始安装。");
            lines.push(Line::styled(ask, theme.style(Role::Accent)));
            lines.push(Line::raw(recording));
        }
        msg::Setup::Running(line) => {
            lines.push(Line::raw(line.clone()));
            lines.push(Line::raw(""));
            let hint = lang.pick(
                "It goes on while you read; quitting pauses it, and the next time it goes on from there.",
                "可以继续看笔记，安装在后台进行；退出会暂停，下次接着装。",
            );
            lines.push(Line::styled(hint, theme.style(Role::Dim)));
            lines.push(Line::raw(recording));
        }
        msg::Setup::Done => {
            let done = lang.pick(
                "LibTorch is ready. Enter goes back to the lab.",
                "LibTorch 已装好。按 Enter 回到实验。",
            );
            lines.push(Line::styled(done, theme.style(Role::Good)));
        }
        msg::Setup::Failed(why) => {
            lines.push(Line::styled(why.clone(), theme.style(Role::Bad)));
            lines.push(Line::raw(""));
            lines.push(Line::raw(lang.pick("Enter tries again.", "按 Enter 重试。")));
            lines.push(Line::raw(recording));
        }
    }
    let inner = area.inner(ratatui::layout::Margin::new(2, 1));
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), inner);
}
