//! Axes: which values can be drawn, how far an axis reaches, and where its marks are. All of it is bounded, so that a
//! damaged run cannot ask for a million marks.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

/// Values beyond this are no readings.
const MOST: f64 = 1e15;
/// Marks on an axis, at most.
const MARKS: usize = 9;

/// One axis of a chart.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axis {
    log: bool,
    /// Ends on the drawn scale.
    pub(super) ends: (f64, f64),
    /// Marks on the drawn scale, lowest first.
    pub(super) marks: Vec<f64>,
}

impl Axis {
    /// An axis that holds the values; `None` without one that can be drawn. `marks` are the places that the values
    /// themselves ask for, used when they are few.
    pub(super) fn over(values: &[f64], log: bool, marks: &[f64]) -> Option<Self> {
        let drawn: Vec<f64> = values.iter().filter_map(|v| scaled(*v, log)).collect();
        let low = drawn.iter().copied().min_by(f64::total_cmp)?;
        let high = drawn.iter().copied().max_by(f64::total_cmp)?;
        // A single value still needs an extent, and no curve should run along the frame.
        let room = if high - low > 1e-9 * high.abs().max(1.0) { (high - low) * 0.04 } else { 0.5 };
        let ends = (low - room, high + room);
        let mut own: Vec<f64> = marks.iter().filter_map(|v| scaled(*v, log)).collect();
        own.sort_by(f64::total_cmp);
        own.dedup();
        let marks = if (1..=MARKS).contains(&own.len()) { own } else { marks_between(ends, log) };
        Some(Self { log, ends, marks })
    }

    /// Where a value is drawn; `None` when it cannot be.
    pub(super) fn at(&self, value: f64) -> Option<f64> {
        scaled(value, self.log)
    }

    /// The words of a mark.
    pub(super) fn label(&self, mark: f64) -> String {
        let value = if self.log { 10_f64.powf(mark) } else { mark };
        let size = value.abs();
        if size != 0.0 && !(1e-3..1e6).contains(&size) {
            return format!("{value:.0e}");
        }
        // Powers of ten come back from their logarithm with a rounding error.
        let text = format!("{value:.4}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

impl Ranged for Axis {
    type ValueType = f64;
    type FormatOption = NoDefaultFormatting;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let (low, high) = self.ends;
        let share = ((value - low) / (high - low)).clamp(0.0, 1.0);
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // Light points are lines between the marks, of which there are none.
        if hint.weight().allow_light_points() { Vec::new() } else { self.marks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.ends.0..self.ends.1
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        self.label(*value)
    }
}

fn scaled(value: f64, log: bool) -> Option<f64> {
    let usable = value.is_finite() && value.abs() < MOST && (!log || value > 1.0 / MOST);
    usable.then(|| if log { value.log10() } else { value })
}

fn marks_between(ends: (f64, f64), log: bool) -> Vec<f64> {
    let (low, high) = ends;
    if log {
        let decades = (low.floor() as i32..=high.ceil() as i32).collect::<Vec<_>>();
        let per_decade: &[f64] = match decades.len() {
            0..=4 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let every = decades.len().div_ceil(MARKS).max(1);
        let marks: Vec<f64> = decades
            .iter()
            .step_by(every)
            .flat_map(|decade| per_decade.iter().map(move |m| f64::from(*decade) + m.log10()))
            .filter(|mark| (low..=high).contains(mark))
            .collect();
        if marks.len() >= 2 {
            return marks;
        }
        // Less than one step of 1-2-5: marks as on a linear axis.
        let linear = marks_between((10_f64.powf(low), 10_f64.powf(high)), false);
        return linear.into_iter().filter_map(|v| scaled(v, true)).collect();
    }
    let raw = (high - low) / 6.0;
    if !raw.is_finite() || raw <= 0.0 {
        return Vec::new();
    }
    let ten = 10_f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * ten).into_iter().find(|s| *s >= raw).unwrap_or(10.0 * ten);
    let first = (low / step).ceil();
    (0..=MARKS).map(|i| (first + i as f64) * step).take_while(|mark| *mark <= high).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(values: &[f64], log: bool, own: &[f64]) -> Vec<String> {
        let axis = Axis::over(values, log, own).expect("drawable");
        axis.marks.iter().map(|m| axis.label(*m)).collect()
    }

    #[test]
    fn marks_are_round_numbers() {
        assert_eq!(labels(&[0.0, 95.0], false, &[]), ["0", "20", "40", "60", "80"]);
        assert_eq!(labels(&[0.2, 800.0], true, &[]), ["1", "10", "100", "1000"]);
        assert_eq!(labels(&[3.0, 40.0], true, &[]), ["5", "10", "20"]);
        assert_eq!(labels(&[64.0, 512.0], true, &[64.0, 128.0, 512.0]), ["64", "128", "512"]);
        assert_eq!(labels(&[5e6, 2e8], true, &[]), ["5e6", "1e7", "2e7", "5e7", "1e8", "2e8"]);
        assert!(!labels(&[7.0], true, &[]).is_empty(), "one value has an extent");
    }

    proptest::proptest! {
        #[test]
        fn any_values_give_few_marks_inside(values in proptest::collection::vec(proptest::num::f64::ANY, 0..6), log: bool) {
            if let Some(axis) = Axis::over(&values, log, &values) {
                proptest::prop_assert!(axis.ends.0 < axis.ends.1);
                proptest::prop_assert!(axis.marks.len() <= 4 * MARKS);
                proptest::prop_assert!(axis.marks.iter().all(|m| (axis.ends.0..=axis.ends.1).contains(m)));
            }
        }
    }
}
