//! How well a learner's predictions hold: do 80 % intervals hold four times of five, how far off is the middle guess,
//! is the side of the closed form right.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::history::Listed;
use super::{MONITOR, Record};

/// Share of intervals that should hold: learners give the one that they are 80 % sure of.
pub const TARGET: f64 = 0.8;
/// With fewer intervals there is no verdict.
pub const ENOUGH: usize = 8;
/// Predictions that count as recent.
pub const RECENT: usize = 10;

/// A prediction that was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    /// Lab.
    pub lab: String,
    /// Wall clock at the start of its run, ms since 1970.
    pub unix_ms: u64,
    /// `|ln(predicted / measured)|`.
    pub log_error: Option<f64>,
    /// Whether the interval held; `None` without one.
    pub interval_held: Option<bool>,
    /// Whether the side was right; `None` where none was said.
    pub side_held: Option<bool>,
}

/// Every measured prediction of these runs, oldest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Predicted(Vec<Scored>);

impl Predicted {
    /// Predictions of the learner's own runs; a run that is there twice counts once.
    pub fn own(runs: &[Listed]) -> Self {
        Self::of(runs.iter().filter(|r| !r.shipped()).filter_map(|r| r.record.as_ref()))
    }

    /// Predictions in these records; a run that is there twice counts once.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut seen = BTreeSet::new();
        let mut all: Vec<Scored> = records
            .into_iter()
            .filter(|record| record.lab != MONITOR && seen.insert(record.run.as_str()))
            .flat_map(|record| {
                record.predictions.iter().filter(|p| p.predicted.is_some() && p.measured.is_some()).map(|p| {
                    Scored {
                        lab: record.lab.clone(),
                        unix_ms: record.env.unix_ms,
                        log_error: p.error(),
                        interval_held: p.held(),
                        side_held: p.side_held,
                    }
                })
            })
            .collect();
        all.sort_by_key(|s| s.unix_ms);
        Self(all)
    }
}

/// The learner's calibration over all and over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calibration {
    /// All predictions.
    pub all: Score,
    /// What the intervals say.
    pub verdict: Verdict,
    /// The newest ten.
    pub recent: Score,
    /// Those before.
    pub before: Score,
    /// By lab.
    pub by_lab: BTreeMap<String, Score>,
    /// By month, `2026-12`.
    pub by_month: BTreeMap<String, Score>,
}

/// Some predictions together.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Score {
    /// How many were measured.
    pub predictions: usize,
    /// Median of measured over predicted or the reverse, whichever is above 1: 2 is off by a factor of two.
    pub median_factor: Option<f64>,
    /// Intervals that held.
    pub intervals: Share,
    /// Sides that were right.
    pub sides: Share,
}

/// A share with the interval that it is known to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Share {
    /// How many held.
    pub held: usize,
    /// Out of how many.
    pub of: usize,
    /// Percent; `None` out of none.
    pub share_pct: Option<f64>,
    /// 95 % interval of the true share (Wilson), percent.
    pub wilson_95_pct: Option<[f64; 2]>,
}

/// What the intervals say of their maker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Fewer than [`ENOUGH`] intervals.
    TooFew,
    /// Fewer hold than chance explains: the intervals are too narrow.
    OverConfident,
    /// Nothing speaks against 80 %.
    WellCalibrated,
    /// More hold than chance explains: the intervals are too wide.
    UnderConfident,
}

impl Calibration {
    /// Scores predictions.
    pub fn of(predicted: &Predicted) -> Self {
        let all = &predicted.0;
        let (before, recent) = all.split_at(all.len().saturating_sub(RECENT));
        let score = Score::of(all);
        Self {
            verdict: Verdict::of(score.intervals),
            all: score,
            recent: Score::of(recent),
            before: Score::of(before),
            by_lab: grouped(all, |s| s.lab.clone()),
            by_month: grouped(all, |s| month(s.unix_ms)),
        }
    }
}

fn grouped(all: &[Scored], key: impl Fn(&Scored) -> String) -> BTreeMap<String, Score> {
    let mut groups: BTreeMap<String, Vec<Scored>> = BTreeMap::new();
    for scored in all {
        groups.entry(key(scored)).or_default().push(scored.clone());
    }
    groups.into_iter().map(|(name, group)| (name, Score::of(&group))).collect()
}

fn month(unix_ms: u64) -> String {
    super::report::run::date(unix_ms).chars().take("2026-12".len()).collect()
}

impl Score {
    fn of(scored: &[Scored]) -> Self {
        let mut errors: Vec<f64> = scored.iter().filter_map(|s| s.log_error).collect();
        errors.sort_by(f64::total_cmp);
        let middle = errors.len() / 2;
        let median = match errors.len() {
            0 => None,
            n if n % 2 == 0 => Some(f64::midpoint(errors[middle - 1], errors[middle])),
            _ => Some(errors[middle]),
        };
        Self {
            predictions: scored.len(),
            median_factor: median.map(f64::exp),
            intervals: Share::of(scored.iter().filter_map(|s| s.interval_held)),
            sides: Share::of(scored.iter().filter_map(|s| s.side_held)),
        }
    }
}

impl Share {
    fn of(held: impl Iterator<Item = bool>) -> Self {
        let (held, of) = held.fold((0, 0), |(held, of), h| (held + usize::from(h), of + 1));
        if of == 0 {
            return Self::default();
        }
        let pct = |share: f64| 100.0 * share;
        Self {
            held,
            of,
            share_pct: Some(pct(held as f64 / of as f64)),
            wilson_95_pct: Some(wilson(held, of).map(pct)),
        }
    }
}

/// 95 % interval of a share by Wilson (1927): unlike the normal approximation it stays within 0 and 1 and holds for few.
fn wilson(held: usize, of: usize) -> [f64; 2] {
    /// 97.5 % quantile of the normal distribution.
    const Z: f64 = 1.959_963_984_540_054;
    let (n, p) = (of as f64, held as f64 / of as f64);
    let middle = (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let reach = Z / (1.0 + Z * Z / n) * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    [(middle - reach).max(0.0), (middle + reach).min(1.0)]
}

impl Verdict {
    fn of(intervals: Share) -> Self {
        match intervals.wilson_95_pct {
            Some([low, high]) if intervals.of >= ENOUGH => {
                if high < 100.0 * TARGET {
                    Self::OverConfident
                } else if low > 100.0 * TARGET {
                    Self::UnderConfident
                } else {
                    Self::WellCalibrated
                }
            }
            _ => Self::TooFew,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::history;

    fn scored(lab: &str, unix_ms: u64, log_error: f64, held: Option<bool>) -> Scored {
        Scored { lab: lab.into(), unix_ms, log_error: Some(log_error), interval_held: held, side_held: held }
    }

    fn verdict(held: usize, of: usize) -> Verdict {
        let all = (0..of).map(|i| scored("a", 0, 0.0, Some(i < held))).collect();
        Calibration::of(&Predicted(all)).verdict
    }

    #[test]
    fn wilson_matches_published_values() {
        // Newcombe (1998), table I: 81/263 and 0/20, method 3.
        for (held, of, low, high) in [(81, 263, 0.2553, 0.3662), (0, 20, 0.0, 0.1611)] {
            let [l, h] = wilson(held, of);
            assert!((l - low).abs() < 5e-5 && (h - high).abs() < 5e-5, "{held}/{of}: {l} {h}");
        }
    }

    #[test]
    fn the_verdict_needs_enough_intervals_and_more_than_chance() {
        assert_eq!(verdict(0, 7), Verdict::TooFew);
        assert_eq!(verdict(4, 8), Verdict::OverConfident);
        assert_eq!(verdict(8, 8), Verdict::WellCalibrated, "eight of eight can be luck");
        assert_eq!(verdict(16, 20), Verdict::WellCalibrated);
        assert_eq!(verdict(40, 40), Verdict::UnderConfident);
    }

    #[test]
    fn time_and_labs_are_scored_apart() {
        let month_ms = 31 * 24 * 3_600_000;
        let mut all: Vec<Scored> = (0..12).map(|i| scored("a", i, 2.0_f64.ln(), None)).collect();
        all.push(scored("b", 2 * month_ms, 0.0, Some(true)));
        let calibration = Calibration::of(&Predicted(all));
        assert_eq!((calibration.recent.predictions, calibration.before.predictions), (10, 3));
        assert_eq!(calibration.recent.intervals, calibration.all.intervals);
        assert!((calibration.all.median_factor.expect("errors") - 2.0).abs() < 1e-12);
        assert_eq!(calibration.by_lab["b"].median_factor, Some(1.0));
        assert_eq!(calibration.by_month.keys().collect::<Vec<_>>(), ["1970-01", "1970-03"]);
        assert_eq!(calibration.all.sides.of, 1);
    }

    #[test]
    fn old_records_are_scored_from_what_they_hold_and_copies_count_once() {
        let shipped = history::shipped();
        let records: Vec<&Record> = shipped.iter().filter_map(|r| r.record.as_ref()).collect();
        let twice = Predicted::of(records.iter().chain(&records).copied());
        assert_eq!(twice, Predicted::of(records.iter().copied()));
        let calibration = Calibration::of(&twice);
        assert_eq!(
            calibration.all.predictions,
            calibration.by_lab.values().map(|s| s.predictions).sum::<usize>()
        );
        assert!(calibration.by_lab["attention"].median_factor.is_some_and(|f| f > 1.0 && f < 2.0));
        assert_eq!(Predicted::own(&shipped), Predicted::default(), "recordings are nobody's predictions");
    }
}
