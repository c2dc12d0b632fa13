//! Where each part goes. Parts that have no room are empty; none overlaps another.

use ratatui::layout::{Constraint, Layout, Rect};

/// Columns that a gauge's row needs with a short history.
pub(super) const ROW: u16 = 38;
/// Width from which a chart stands beside the rows.
const WITH_CHART: u16 = ROW + 36;

/// Areas of the parts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Parts {
    /// The GPU in one or two lines.
    pub(super) head: Rect,
    /// What it looks like.
    pub(super) fingerprint: Rect,
    /// A line per GPU, where there are several.
    pub(super) gpus: Rect,
    /// The gauges.
    pub(super) rows: Rect,
    /// Gauges side by side in `rows`.
    pub(super) row_columns: u16,
    /// The selected gauge over time.
    pub(super) chart: Rect,
    /// Phases under the time axis.
    pub(super) strip: Rect,
    /// Processes and events.
    pub(super) processes: Rect,
    /// What the selected gauge means.
    pub(super) meaning: Rect,
    /// What sampling costs, and how the picture is set.
    pub(super) cost: Rect,
}

/// The whole panel.
pub(super) fn parts(area: Rect, gpus: usize, spans: usize, gauges: usize) -> Parts {
    let (width, height) = (area.width, area.height);
    let lines = |wanted: u16, from: u16| if height >= from { wanted } else { 0 };
    let table = if gpus > 1 { (gpus as u16 + 1).min(height / 4) } else { 0 };
    let meaning = match height {
        0..=6 => 0,
        7..=12 => 1,
        _ if width < 100 => 3,
        _ => 2,
    };
    let [head, fingerprint, gpus, body, strip, processes, meaning, cost] = Layout::vertical([
        Constraint::Length(lines(1, 2) + lines(1, 30)),
        Constraint::Length(lines(1, 5)),
        Constraint::Length(table),
        Constraint::Min(1),
        Constraint::Length(if spans > 0 { lines(1, 10) } else { 0 }),
        Constraint::Length(lines(1, 14) + lines(3, 32) + lines(4, 45)),
        Constraint::Length(meaning),
        Constraint::Length(lines(1, 9)),
    ])
    .areas(area);
    let with_chart = width >= WITH_CHART && body.height >= 5;
    let needed = (gauges as u16).div_ceil(body.height.max(1)).max(1);
    // A chart keeps two fifths of the width.
    let room = if with_chart { width - width * 2 / 5 } else { width };
    let row_columns = needed.min((room / ROW).max(1));
    let rows_width = if with_chart { row_columns * ROW } else { width };
    let [rows, chart] = Layout::horizontal([Constraint::Length(rows_width), Constraint::Min(0)]).areas(body);
    Parts { head, fingerprint, gpus, rows, row_columns, chart, strip, processes, meaning, cost }
}

/// The rows alone.
pub(super) fn side(area: Rect, spans: usize) -> Parts {
    let lines = |wanted: u16, from: u16| if area.height >= from { wanted } else { 0 };
    let [head, fingerprint, rows, processes, strip, cost] = Layout::vertical([
        Constraint::Length(lines(1, 2)),
        Constraint::Length(lines(1, 4)),
        Constraint::Min(1),
        Constraint::Length(lines(1, 12)),
        Constraint::Length(if spans > 0 { lines(1, 8) } else { 0 }),
        Constraint::Length(lines(1, 10)),
    ])
    .areas(area);
    Parts { head, fingerprint, rows, row_columns: 1, processes, strip, cost, ..Parts::default() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(parts: &Parts) -> [Rect; 9] {
        let Parts { head, fingerprint, gpus, rows, chart, strip, processes, meaning, cost, .. } = *parts;
        [head, fingerprint, gpus, rows, chart, strip, processes, meaning, cost]
    }

    proptest! {
        #[test]
        fn no_part_overlaps_another_or_leaves_the_area(
            x in 0_u16..50,
            y in 0_u16..50,
            width in 0_u16..=300,
            height in 0_u16..=120,
            gpus in 0_usize..=16,
            spans in 0_usize..=30,
            gauges in 0_usize..=60,
        ) {
            let area = Rect { x, y, width, height };
            for parts in [parts(area, gpus, spans, gauges), side(area, spans)] {
                let all = all(&parts);
                for (i, part) in all.iter().enumerate().filter(|(_, part)| !part.is_empty()) {
                    prop_assert_eq!(part.intersection(area), *part, "{:?}", parts);
                    for other in &all[i + 1..] {
                        prop_assert!(part.intersection(*other).is_empty(), "{:?}", parts);
                    }
                }
            }
        }

        #[test]
        fn the_gauges_are_seen_wherever_anything_is(width in 1_u16..=300, height in 1_u16..=120, gpus in 0_usize..=16) {
            let parts = parts(Rect::new(0, 0, width, height), gpus, 3, 30);
            prop_assert!(!parts.rows.is_empty(), "{:?}", parts);
        }
    }
}
