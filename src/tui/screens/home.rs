//! Where one stands: what is known, what to read next, what the machine is.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::reader::Reader;
use super::{Nav, Outcome, Screen};
use crate::library::{Layer, Note};
use crate::progress::Mark;
use crate::tui::app::Core;
use crate::tui::msg::Action;
use crate::tui::theme::Role;
use crate::tui::widgets::gauges::{self, Readings};

/// Opens the next note.
pub(super) fn on(action: Action, core: &Core) -> Outcome {
    match action {
        Action::Back => Outcome::nav(Nav::Back),
        Action::Open => match next_note(core) {
            Some(note) => Outcome::push(Screen::Reader(Reader::note(&note.id, None))),
            None => Outcome::refuse(core.lang.pick("every note is marked known", "所有笔记都已掌握")),
        },
        _ => Outcome::stay(),
    }
}

/// Draws home.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, core: &Core) {
    let narrow = area.width < 72;
    let [left, right] = if narrow {
        Layout::vertical([Constraint::Length(14), Constraint::Min(0)]).areas(area)
    } else {
        Layout::horizontal([Constraint::Percentage(50), Constraint::Percentage(50)]).areas(area)
    };
    let inner = left.inner(ratatui::layout::Margin::new(2, 1));
    frame.render_widget(Paragraph::new(standing(core, inner.width)).wrap(Wrap { trim: false }), inner);
    if right.height > 3 {
        let inner = right.inner(ratatui::layout::Margin::new(1, 1));
        gauges::draw_side(frame, inner, core, &Readings::last_minute(core));
    }
}

/// The first note in the order of the route that is not known.
fn next_note(core: &Core) -> Option<&Note> {
    core.library.notes.iter().find(|n| core.progress.note(&n.id) != Some(Mark::Known))
}

fn standing(core: &Core, width: u16) -> Vec<Line<'static>> {
    let (lang, theme) = (core.lang, core.theme);
    let dim = theme.style(Role::Dim);
    let mut lines = vec![Line::styled(
        lang.pick("Read it, predict it, run it, reconcile it.", "读懂它，预测它，跑一遍，对上账。"),
        theme.style(Role::Accent),
    )];
    lines.push(Line::raw(""));
    let head = |text: &'static str| Line::styled(text, dim);
    lines.push(head(lang.pick("Next to read (Enter)", "接着读（Enter）")));
    lines.push(match next_note(core) {
        Some(note) => Line::raw(format!("  {}", note.text.get(lang).title)),
        None => Line::raw(lang.pick("  every note is marked known", "  所有笔记都已掌握")),
    });
    lines.push(head(lang.pick("Terms by layer (4)", "术语掌握（4）")));
    for layer in Layer::ALL {
        let ids = core.library.terms.iter().filter(|t| t.layer == layer).map(|t| t.id.as_str());
        let counts = core.progress.count(ids);
        if counts.iter().sum::<usize>() == 0 {
            continue;
        }
        lines.push(proportions(layer.name(lang), counts, width, core));
    }
    let runs = core.runs.iter().filter(|r| !r.shipped()).count();
    let recorded = core.runs.len() - runs;
    lines.push(head(lang.pick("Labs (5), runs (6), calculators (7)", "实验（5）、运行（6）、计算器（7）")));
    lines.push(Line::raw(lang.pick(
        format!("  {runs} of your own, {recorded} recorded on an H200"),
        format!("  自己的运行 {runs} 次，H200 录制 {recorded} 份"),
    )));
    let role = if core.engine.ready { Role::Good } else { Role::Warn };
    let glyph = if core.engine.ready { "✓" } else { "!" };
    lines.push(Line::from(vec![
        Span::styled(format!("  {glyph} "), theme.style(role)),
        Span::raw(core.engine.line.clone()),
    ]));
    lines
}

/// `name  ███▒▒··  3/17`: known, learning, to learn and the rest as parts of one bar.
fn proportions(name: &str, counts: [usize; 4], width: u16, core: &Core) -> Line<'static> {
    let total: usize = counts.iter().sum();
    let cells = usize::from(width.saturating_sub(26)).clamp(4, 30);
    let mut spans = vec![Span::raw(format!("  {}", pad(name, 13)))];
    let mut done = 0;
    let mut filled = 0;
    for (count, (glyph, mark)) in counts.into_iter().zip([
        ("█", Some(Mark::Known)),
        ("▓", Some(Mark::Learning)),
        ("░", Some(Mark::Todo)),
        ("·", None),
    ]) {
        done += count;
        let upto = (cells * done).checked_div(total).unwrap_or(0);
        spans.push(Span::styled(glyph.repeat(upto - filled), core.theme.mark(mark).1));
        filled = upto;
    }
    spans.push(Span::raw(format!(" {}/{total}", counts[0])));
    Line::from(spans)
}

/// Pads to a display width.
fn pad(text: &str, width: usize) -> String {
    let have = unicode_width::UnicodeWidthStr::width(text);
    format!("{text}{}", " ".repeat(width.saturating_sub(have)))
}
