//! Phases of a lab on the time axis: one letter per phase and column, the first letter of its name that no other has,
//! capital for a backward.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span as TextSpan};

use super::{Readings, Selection};
use crate::tui::app::Core;
use crate::tui::theme::{Role, SELECTED};

/// Columns of the name and of the current phase.
const NAME: u16 = 10;
const CURRENT: u16 = 20;

/// Draws the strip.
pub(super) fn draw(
    frame: &mut Frame<'_>,
    row: Rect,
    core: &Core,
    readings: &Readings<'_>,
    selection: &Selection,
) {
    if readings.spans.is_empty() || row.height == 0 || row.width <= NAME + CURRENT {
        return;
    }
    let columns = u64::from(row.width - NAME - CURRENT);
    frame.render_widget(Line::raw(core.lang.pick("Phases ←→", "阶段 ←→")), Rect { width: NAME, ..row });
    let selected = selection.span(readings);
    let lasting = readings.spans.iter().rev().find(|s| s.end_ns.is_none()).or(readings.spans.last());
    if let Some(span) = selected.or(lasting) {
        let name = Rect { x: row.x + NAME, width: CURRENT - 1, ..row };
        let role = if selected.is_some() { Role::Warn } else { Role::Dim };
        frame.render_widget(Line::styled(span.name.clone(), core.theme.style(role)), name);
    }
    let length = u128::from(readings.to_ns.saturating_sub(readings.from_ns).max(1));
    let edge = |column: u64| readings.from_ns + (length * u128::from(column) / u128::from(columns)) as u64;
    let mut text = Vec::with_capacity(columns as usize);
    let mut groups: Vec<(&str, char)> = Vec::new();
    for column in 0..columns {
        let (from, to) = (edge(column), edge(column + 1));
        let is_here =
            |s: &&crate::lab::session::Span| s.start_ns < to && s.end_ns.unwrap_or(readings.to_ns) >= from;
        // The selected phase shows even where a later one shares its column.
        let span = selected.filter(is_here).or_else(|| readings.spans.iter().rev().find(is_here));
        let (letter, style) = span.map_or((' ', Style::new()), |s| {
            let group = s.name.split('.').next().unwrap_or_default();
            let at = groups.iter().position(|(g, _)| *g == group).unwrap_or_else(|| {
                let free = |c: &char| groups.iter().all(|(_, taken)| taken != c);
                groups.push((group, group.chars().find(free).unwrap_or('?')));
                groups.len() - 1
            });
            let letter = groups[at].1;
            let letter = if s.name.contains("backward") { letter.to_ascii_uppercase() } else { letter };
            let curve = readings.curves.iter().position(|c| *c == group);
            let style = curve.map_or(core.theme.style(Role::Dim), |i| core.theme.curve(i));
            let is_selected = selected.is_some_and(|chosen| std::ptr::eq(chosen, s));
            (letter, if is_selected { style.patch(SELECTED) } else { style })
        });
        text.push(TextSpan::styled(letter.to_string(), style));
    }
    let strip = Rect { x: row.x + NAME + CURRENT, width: columns as u16, ..row };
    frame.render_widget(Line::from(text), strip);
}
