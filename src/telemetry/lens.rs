//! The sampling lens: what a monitor that comes by every 1, 5 or 15 s would have seen of a series.
//!
//! Of a value of the moment it sees the newest reading at the time it comes; of a counter it sees the mean over the time
//! since it last came. It knows nothing between its visits, so what it saw stands until the next. When its visits fall is
//! arbitrary; here they fall on whole multiples of the period of the shared clock.

use super::gauge::Window;

/// How often the monitor comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lens {
    /// There is none.
    #[default]
    Off,
    /// Every second.
    OneSecond,
    /// Every five seconds.
    FiveSeconds,
    /// Every fifteen seconds, a usual interval of Prometheus.
    FifteenSeconds,
}

impl Lens {
    /// The next one in turn.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Off => Self::OneSecond,
            Self::OneSecond => Self::FiveSeconds,
            Self::FiveSeconds => Self::FifteenSeconds,
            Self::FifteenSeconds => Self::Off,
        }
    }

    /// Seconds between two visits; `None` without a lens.
    pub fn period_s(self) -> Option<u64> {
        match self {
            Self::Off => None,
            Self::OneSecond => Some(1),
            Self::FiveSeconds => Some(5),
            Self::FifteenSeconds => Some(15),
        }
    }
}

/// What was seen at one visit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    /// When, shared clock, ns.
    pub at_ns: u64,
    /// What; `None` where the series had nothing to say.
    pub value: Option<f64>,
}

/// The visits between the first and the last point, and what each saw. Points are in order of time.
pub fn seen(points: &[(u64, Option<f64>)], window: Window, period_s: u64) -> Vec<Seen> {
    let period = period_s.saturating_mul(1_000_000_000).max(1);
    let (Some((first, _)), Some((last, _))) = (points.first(), points.last()) else { return Vec::new() };
    let mut visits = Vec::new();
    let mut next = 0;
    let mut at_ns = first.div_ceil(period) * period;
    let mut newest = None;
    while at_ns <= *last {
        let mut sum = (0.0, 0.0);
        while let Some((ns, value)) = points.get(next).filter(|(ns, _)| *ns <= at_ns) {
            let since = next.checked_sub(1).map_or(0, |before| ns - points[before].0);
            if let Some(value) = value {
                sum = (sum.0 + value * since as f64, sum.1 + since as f64);
            }
            newest = *value;
            next += 1;
        }
        let mean = (sum.1 > 0.0).then(|| sum.0 / sum.1);
        visits.push(Seen { at_ns, value: if window.accumulates() { mean } else { newest } });
        at_ns += period;
    }
    visits
}

/// What the monitor shows at each of `columns` equal parts between two times: its newest visit before the part's end.
pub fn columns(seen: &[Seen], from_ns: u64, to_ns: u64, columns: usize) -> Vec<Option<f64>> {
    let length = u128::from(to_ns.saturating_sub(from_ns));
    (0..columns)
        .map(|column| {
            let end = from_ns + (length * (column as u128 + 1) / columns as u128) as u64;
            let visit = seen.partition_point(|visit| visit.at_ns <= end).checked_sub(1)?;
            seen[visit].value
        })
        .collect()
}

/// Largest value that was seen.
pub fn highest(seen: &[Seen]) -> Option<f64> {
    seen.iter().filter_map(|visit| visit.value).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: u64 = 1_000_000;

    /// Ten readings a second, 100 for the first 300 ms of every second from 10 s on, else 0.
    fn bursts() -> Vec<(u64, Option<f64>)> {
        let at = |i: u64| 10_000 + i * 100;
        (1..=100)
            .map(|i| (at(i) * MS, Some(if at(i) % 1000 <= 300 && at(i) % 1000 > 0 { 100.0 } else { 0.0 })))
            .collect()
    }

    #[test]
    fn a_visitor_of_the_moment_misses_bursts_that_a_counter_keeps() {
        let points = bursts();
        let moments = seen(&points, Window::Moment, 5);
        assert_eq!(moments.iter().map(|v| v.at_ns / 1_000_000_000).collect::<Vec<_>>(), [15, 20]);
        assert_eq!(highest(&moments), Some(0.0), "it comes at whole seconds, when the bursts are over");
        let counters = seen(&points, Window::SincePrevious, 5);
        assert!(counters.iter().all(|v| v.value.is_some_and(|v| (28.0..=31.0).contains(&v))), "{counters:?}");
    }

    #[test]
    fn what_was_seen_stands_until_the_next_visit_and_nothing_before_the_first() {
        let visits = [Seen { at_ns: 100, value: Some(1.0) }, Seen { at_ns: 200, value: None }];
        assert_eq!(columns(&visits, 0, 400, 4), [Some(1.0), None, None, None]);
        assert_eq!(columns(&visits, 0, 150, 3), [None, Some(1.0), Some(1.0)]);
        assert_eq!(columns(&[], 0, 10, 2), [None, None]);
    }

    #[test]
    fn a_gap_is_seen_as_a_gap() {
        let points = [(1_000 * MS, Some(5.0)), (2_000 * MS, None), (3_000 * MS, Some(7.0))];
        let values = |window| seen(&points, window, 1).iter().map(|v| v.value).collect::<Vec<_>>();
        assert_eq!(values(Window::Moment), [Some(5.0), None, Some(7.0)]);
        assert_eq!(values(Window::SincePrevious), [None, None, Some(7.0)]);
        assert!(seen(&[], Window::Moment, 1).is_empty());
    }

    proptest! {
        #[test]
        fn a_visitor_never_sees_more_than_there_was(
            gaps in proptest::collection::vec((1_u64..3_000, proptest::option::of(0.0..100.0_f64)), 1..60),
            period in 1_u64..20,
            moment: bool,
        ) {
            let mut at = 0;
            let points: Vec<_> = gaps.into_iter().map(|(gap, v)| { at += gap * MS; (at, v) }).collect();
            let window = if moment { Window::Moment } else { Window::SincePrevious };
            let visits = seen(&points, window, period);
            let most = points.iter().filter_map(|p| p.1).fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(visits.iter().filter_map(|v| v.value).all(|v| v <= most + 1e-9));
            prop_assert!(visits.windows(2).all(|w| w[1].at_ns - w[0].at_ns == period * 1_000_000_000));
        }
    }
}
