//! How a run stands, in one line.

use ratatui::text::{Line, Span};

use crate::lab::LabSession;
use crate::lab::session::Status;
use crate::tui::app::Core;
use crate::tui::theme::Role;
use crate::units;

/// State, time, progress, and whether device memory came back.
pub(super) fn status_line(session: &LabSession, core: &Core) -> Line<'static> {
    let (lang, theme) = (core.lang, core.theme);
    let (glyph, word, role) = match &session.status {
        Status::Starting => ("…", lang.pick("starting the worker", "正在启动实验进程").to_owned(), Role::Dim),
        Status::Running => ("●", lang.pick("running", "运行中").to_owned(), Role::Warn),
        Status::Completed => ("✓", lang.pick("completed", "已完成").to_owned(), Role::Good),
        Status::CutOff => ("…", lang.pick("cut off", "中断").to_owned(), Role::Dim),
        Status::Stopped => ("■", lang.pick("stopped", "已停止").to_owned(), Role::Warn),
        Status::Failed(failure) => {
            ("!", format!("{}: {}; {}", failure.what, failure.why, failure.next), Role::Bad)
        }
    };
    let mut spans = vec![Span::styled(format!(" {glyph} {word}"), theme.style(role))];
    spans.push(Span::raw(format!("  {}", units::seconds(session.elapsed_ns()))));
    if let (Status::Running, Some((done, total, label))) = (&session.status, &session.progress) {
        const CELLS: u32 = 12;
        let filled = (CELLS * (*done).min(*total)).checked_div(*total).unwrap_or(0);
        let bar = format!("{}{}", "█".repeat(filled as usize), "░".repeat((CELLS - filled) as usize));
        spans.push(Span::raw(format!("  {bar} {done}/{total}  {}", lang.pick(&label.en, &label.zh))));
    }
    if session.header.as_ref().is_some_and(|h| h.predictions.is_empty()) && !session.is_of_readings() {
        spans.push(Span::styled(lang.pick("  without a prediction", "  没有预测"), theme.style(Role::Dim)));
    }
    if let Some(memory) = session.memory_return() {
        let before = units::binary_bytes(memory.before_bytes as f64);
        let after = units::binary_bytes(memory.after_bytes as f64);
        let (glyph, role) = if memory.is_back() { ("✓", Role::Good) } else { ("!", Role::Warn) };
        let text = lang.pick(
            format!("  {glyph} GPU memory {before} before, {after} after"),
            format!("  {glyph} 显存：运行前 {before}，结束后 {after}"),
        );
        spans.push(Span::styled(text, theme.style(role)));
    }
    Line::from(spans)
}
