//! A computation step by step: formula, what to look at, and the numbers themselves.

use infralab_labs::protocol::{Matrix, WalkStep};
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::tui::app::Core;
use crate::tui::theme::Role;
use crate::units::digits;

/// Columns between two matrices that stand side by side.
const GAP: usize = 3;

/// One step in `columns` columns.
pub(super) fn lines(step: &WalkStep, columns: usize, core: &Core) -> Vec<Line<'static>> {
    let (lang, theme) = (core.lang, core.theme);
    let position = format!("{}/{}  ", step.index + 1, step.total);
    let mut lines = vec![
        Line::from(vec![
            Span::styled(position, theme.style(Role::Dim)),
            Span::styled(lang.pick(&step.title.en, &step.title.zh).clone(), theme.style(Role::Accent)),
            Span::styled(lang.pick("   ←→ step", "   ←→ 上一步/下一步").to_owned(), theme.style(Role::Dim)),
        ]),
        Line::styled(format!("  {}", step.formula), theme.style(Role::Code)),
        Line::raw(lang.pick(&step.explanation.en, &step.explanation.zh).clone()),
        Line::raw(""),
    ];
    let blocks: Vec<Vec<String>> = step.matrices.iter().map(block).collect();
    lines.extend(side_by_side(&blocks, columns).into_iter().map(Line::raw));
    if let Some(check) = &step.check {
        let (glyph, role) = if check.passed() { ("✓", Role::Good) } else { ("✗", Role::Bad) };
        let text = lang.pick(
            format!(
                "largest error {:.1e} ≤ {:.0e} against {}",
                check.max_abs_error, check.tolerance, check.reference
            ),
            format!(
                "最大误差 {:.1e} ≤ {:.0e}，对照 {}",
                check.max_abs_error, check.tolerance, check.reference
            ),
        );
        lines.push(Line::from(vec![
            Span::styled(format!("{glyph} "), theme.style(role)),
            Span::styled(text, theme.style(Role::Dim)),
        ]));
    }
    lines
}

/// A matrix as lines of equal width, its name above.
fn block(matrix: &Matrix) -> Vec<String> {
    let cell = |value: &Option<f64>| value.map_or("−∞".to_owned(), short);
    let rows: Vec<Vec<String>> = matrix.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    let width = rows.iter().flatten().map(|c| c.width()).max().unwrap_or(1);
    let shape = format!("{}×{}", rows.len(), rows.first().map_or(0, Vec::len));
    let mut lines = vec![format!("{} ({shape})", matrix.name)];
    for row in &rows {
        let cells = row.iter().map(|c| format!("{}{c}", " ".repeat(width - c.width())));
        lines.push(format!("│ {} │", cells.collect::<Vec<_>>().join(" ")));
    }
    let widest = lines.iter().map(|l| l.width()).max().unwrap_or(0);
    for line in &mut lines {
        line.extend(std::iter::repeat_n(' ', widest - line.width()));
    }
    lines
}

/// Few digits, so that a matrix can be read at a glance; whole numbers stay whole.
fn short(value: f64) -> String {
    if value == 0.0 || (value.fract() == 0.0 && value.abs() < 1000.0) {
        return format!("{value:.0}");
    }
    if (0.0005..1000.0).contains(&value.abs()) { format!("{value:.3}") } else { digits(value) }
}

/// Blocks in rows, as many beside each other as fit.
fn side_by_side(blocks: &[Vec<String>], columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut row: Vec<&Vec<String>> = Vec::new();
    let width = |b: &[String]| b.first().map_or(0, |l| l.width());
    let flush = |row: &mut Vec<&Vec<String>>, lines: &mut Vec<String>| {
        let height = row.iter().map(|b| b.len()).max().unwrap_or(0);
        for y in 0..height {
            let cells = row.iter().map(|b| b.get(y).cloned().unwrap_or_else(|| " ".repeat(width(b))));
            lines.push(cells.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_owned());
        }
        if height > 0 {
            lines.push(String::new());
        }
        row.clear();
    };
    let mut used = 0;
    for block in blocks {
        if !row.is_empty() && used + GAP + width(block) > columns {
            flush(&mut row, &mut lines);
            used = 0;
        }
        used += if row.is_empty() { width(block) } else { GAP + width(block) };
        row.push(block);
    }
    flush(&mut row, &mut lines);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_stand_side_by_side_while_they_fit() {
        let matrix = |name: &str| Matrix {
            name: name.into(),
            rows: vec![vec![Some(1.0), None], vec![Some(0.25), Some(-12.5)]],
        };
        let blocks = [block(&matrix("Q")), block(&matrix("K"))];
        let wide = side_by_side(&blocks, 80);
        assert_eq!(
            wide,
            [
                "Q (2×2)               K (2×2)",
                "│       1      −∞ │   │       1      −∞ │",
                "│   0.250 -12.500 │   │   0.250 -12.500 │",
                ""
            ]
        );
        assert_eq!(side_by_side(&blocks, 30).len(), 8);
    }
}
