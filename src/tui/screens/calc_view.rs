//! How a calculator looks: answer, formula with the numbers in it, fields, itemised rows, notes, source.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use super::calc_form::CalcForm;
use crate::calc::{Answer, Kind, Origin, told};
use crate::reader::plain_lines;
use crate::tui::app::Core;
use crate::tui::theme::{Role, SELECTED};
use crate::tui::widgets::list::scrolled;

/// Draws the form; `focused` when its fields have the keys.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, form: &CalcForm, focused: bool, core: &Core) {
    let width = usize::from(area.width).saturating_sub(1).max(1);
    let head = head(form, width, if area.height < 30 { 1 + usize::from(!focused) } else { 3 }, core);
    let below = below(form, width, core);
    let help = help(form, focused, width, core);
    let fields = form.inputs.len() as u16;
    let room = area.height.saturating_sub((head.len() + help.len()) as u16 + 1);
    // What the answer is made of stays in view while a long form scrolls.
    let wanted = room.saturating_sub(below.len() as u16).max(room.div_ceil(2));
    let [top, _, middle, hint, bottom] = Layout::vertical([
        Constraint::Length(head.len() as u16),
        Constraint::Length(1),
        Constraint::Length(fields.min(wanted)),
        Constraint::Length(help.len() as u16),
        Constraint::Min(0),
    ])
    .areas(area);
    frame.render_widget(Paragraph::new(head), top);
    draw_fields(frame, middle, form, focused, core);
    frame.render_widget(Paragraph::new(help), hint);
    frame.render_widget(Paragraph::new(below), bottom);
}

/// Name, at most `about` lines on what it is, answer, formula.
fn head(form: &CalcForm, width: usize, about: usize, core: &Core) -> Vec<Line<'static>> {
    let (lang, theme) = (core.lang, core.theme);
    let dim = theme.style(Role::Dim);
    let calculator = form.calculator;
    let mut lines = vec![Line::from(vec![
        Span::styled(*calculator.title.get(lang), theme.style(Role::Accent)),
        Span::styled(format!("  {}", calculator.name), dim),
    ])];
    let what = wrapped(calculator.what.get(lang), width, about);
    lines.extend(what.into_iter().map(|text| Line::styled(text, dim)));
    let stale = !form.faults.is_empty();
    let Some((_, answer)) = &form.good else {
        lines.push(Line::styled(lang.pick("no answer yet", "暂无结果"), dim));
        return lines;
    };
    let value = told(answer.value, answer.unit);
    lines.push(if stale {
        let before = lang.pick("  (before the mistake)", "  （出错前的结果）");
        Line::styled(value + before, dim)
    } else {
        Line::styled(value, Style::new().add_modifier(Modifier::BOLD))
    });
    let style = if stale { dim } else { Style::new() };
    for (mark, formula, style) in
        [("= ", answer.formula.as_str(), style), ("  ", answer.symbolic.as_str(), dim)]
    {
        for (i, text) in wrapped(formula, width.saturating_sub(2), 3).into_iter().enumerate() {
            lines.push(Line::styled(format!("{}{text}", if i == 0 { mark } else { "  " }), style));
        }
    }
    lines
}

fn draw_fields(frame: &mut Frame<'_>, area: Rect, form: &CalcForm, focused: bool, core: &Core) {
    let names = form.inputs.iter().map(|i| i.name.width()).max().unwrap_or(0);
    let lines: Vec<Line<'static>> =
        (0..form.inputs.len()).map(|at| field(form, at, names, focused && at == form.at(), core)).collect();
    let height = usize::from(area.height);
    let first = form.at().saturating_sub(height / 2).min(lines.len().saturating_sub(height));
    frame.render_widget(scrolled(lines, form.at(), area.height), area);
    if focused && form.typing() && area.height > 0 {
        let column = (2 + names + 2 + form.fields[form.at()].visual_cursor()) as u16;
        let y = area.y + (form.at() - first) as u16;
        frame.set_cursor_position((area.x + column.min(area.width.saturating_sub(1)), y));
    }
}

/// `▸ ctx  8Ki   = 8,192 token`, or what fills it and from where, or what is wrong.
fn field(form: &CalcForm, at: usize, names: usize, here: bool, core: &Core) -> Line<'static> {
    let (lang, theme) = (core.lang, core.theme);
    let (dim, accent) = (theme.style(Role::Dim), theme.style(Role::Accent));
    let input = form.inputs[at];
    let pad = " ".repeat(names - input.name.width() + 2);
    let mut spans = vec![
        Span::styled(if here { "▸ " } else { "  " }, accent),
        Span::styled(format!("{}{pad}", input.name), if here { accent } else { Style::new() }),
    ];
    let typed = form.fields[at].value();
    if !matches!(input.kind, Kind::Number { .. }) {
        let word = form.chosen(at).unwrap_or_default();
        let style = match (here, typed.is_empty()) {
            (true, _) => SELECTED,
            (false, true) => dim,
            (false, false) => Style::new(),
        };
        spans.push(Span::styled(format!("‹ {word} ›"), style));
    } else if !typed.is_empty() {
        spans.push(Span::raw(format!("{typed}  ")));
    } else if here {
        // The cursor stands where typing would begin.
        spans.push(Span::raw("  "));
    }
    if let Some(fault) = form.fault(at) {
        spans.push(Span::styled(format!("! {}", fault.text.get(lang)), theme.style(Role::Bad)));
        return Line::from(spans);
    }
    let Some(resolved) = form.resolved(at) else { return Line::from(spans) };
    let from = match &resolved.origin {
        Origin::Model(name) | Origin::Gpu(name) => format!("  {name}"),
        Origin::Default | Origin::Given => String::new(),
    };
    let number = matches!(input.kind, Kind::Number { .. });
    spans.push(match (number, typed.is_empty()) {
        (true, true) => Span::styled(format!("{}{from}", resolved.told()), dim),
        (true, false) if resolved.told() != typed => Span::styled(format!("= {}", resolved.told()), dim),
        (false, true) => Span::styled(from, dim),
        _ => Span::raw(""),
    });
    Line::from(spans)
}

/// The focused field explained, or its fault in full.
fn help(form: &CalcForm, focused: bool, width: usize, core: &Core) -> Vec<Line<'static>> {
    let (lang, theme) = (core.lang, core.theme);
    if !focused {
        return Vec::new();
    }
    let input = form.inputs[form.at()];
    if let Some(fault) = form.fault(form.at()) {
        let lines = wrapped(&format!("! {}", fault.text.get(lang)), width, 4);
        return lines.into_iter().map(|text| Line::styled(text, theme.style(Role::Bad))).collect();
    }
    let help = input.help.get(lang);
    let text = match input.kind {
        Kind::Number { dim, .. } => format!("? {}: {help}. {}", input.name, dim.accepted().get(lang)),
        _ => format!("? {}: {help}. {}", input.name, lang.pick("←→ choose", "←→ 选择")),
    };
    wrapped(&text, width, 3)
        .into_iter()
        .map(|text| Line::styled(text, theme.style(Role::Link).remove_modifier(Modifier::UNDERLINED)))
        .collect()
}

/// Rows, notes, source, the same on the command line.
fn below(form: &CalcForm, width: usize, core: &Core) -> Vec<Line<'static>> {
    let (lang, theme) = (core.lang, core.theme);
    let dim = theme.style(Role::Dim);
    let mut lines = Vec::new();
    let stale = !form.faults.is_empty();
    if let Some((_, answer)) = &form.good {
        lines.extend(rows(answer, stale, width, core));
        for note in &answer.notes {
            let texts = wrapped(&format!("· {}", note.get(lang)), width, 3);
            let style = if stale { dim } else { theme.style(Role::Warn) };
            lines.extend(texts.into_iter().map(|text| Line::styled(text, style)));
        }
    }
    for text in [
        format!("{}{}", lang.pick("source: ", "来源："), form.calculator.source),
        format!("$ {}", form.command()),
    ] {
        lines.extend(wrapped(&text, width, 2).into_iter().map(|text| Line::styled(text, dim)));
    }
    lines
}

fn rows(answer: &Answer, stale: bool, width: usize, core: &Core) -> Vec<Line<'static>> {
    let dim = core.theme.style(Role::Dim);
    let style = if stale { dim } else { Style::new() };
    let cells: Vec<(&str, String, &str)> = answer
        .rows
        .iter()
        .map(|row| (*row.name.get(core.lang), told(row.value, row.unit), row.formula.as_str()))
        .collect();
    let names = cells.iter().map(|c| c.0.width()).max().unwrap_or(0);
    let values = cells.iter().map(|c| c.1.width()).max().unwrap_or(0);
    let formulas = width.saturating_sub(names + values + 6);
    let mut lines = vec![Line::raw("")];
    for (name, value, formula) in cells {
        let gap = |text: &str, to: usize| " ".repeat(to - text.width() + 2);
        let mut spans = vec![
            Span::styled(format!("  {name}{}", gap(name, names)), dim),
            Span::styled(format!("{value}{}", gap(&value, values)), style),
        ];
        // A formula that would be cut says less than none.
        if formula.width() <= formulas {
            spans.push(Span::styled(formula.to_owned(), dim));
        }
        lines.push(Line::from(spans));
    }
    lines
}

/// Text in at most `most` lines of `width` columns; a cut is shown.
fn wrapped(text: &str, width: usize, most: usize) -> Vec<String> {
    let mut lines = plain_lines(text, width);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            while last.width() + 1 > width && last.pop().is_some() {}
            last.push('…');
        }
    }
    lines
}
