//! Readings over time in bounded memory, for charts and for averages over phases.
//!
//! A reading speaks for the time since the reading before it, which is what counters between two samples mean. A
//! missing reading is a gap over that time: it is drawn as a gap and enters no average. Whoever sees that readings have
//! stopped marks it with a push of `None`, so that the next reading does not speak for the silence.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

/// A bounded series of readings.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    points: VecDeque<Point>,
    capacity: usize,
    keeping: Keeping,
    last_ns: Option<u64>,
    latest: Option<f64>,
}

/// What a full series gives up.
#[derive(Debug, Clone, PartialEq)]
enum Keeping {
    /// The oldest reading.
    Newest,
    /// Half the resolution: a point stands for `readings` readings; `open` is the point being filled and how many it has.
    Whole { readings: u64, open: Option<(Point, u64)> },
}

/// Mean and maximum over a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Average {
    /// Mean, weighted by the time that each reading speaks for, in the unit of the readings.
    pub mean: f64,
    /// Largest reading, in the unit of the readings.
    pub max: f64,
    /// Share of the stretch that readings speak for, 0 to 1.
    pub covered: f64,
}

/// One or more readings that follow each other.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    from_ns: u64,
    to_ns: u64,
    /// Time with a value; the rest is gap.
    known_ns: u64,
    /// `None` where every reading was missing.
    value: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Value {
    mean: f64,
    max: f64,
}

/// A weighted mean that is exact for equal values.
#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    mean: f64,
    weight: f64,
}

impl Mean {
    fn add(&mut self, value: f64, weight: f64) {
        self.weight += weight;
        if self.weight > 0.0 {
            let share = weight / self.weight;
            // Nothing is added for equal values, so a constant series has exactly its constant as mean.
            self.mean += value * share - self.mean * share;
        }
    }
}

impl Series {
    /// Keeps the newest `capacity` readings, at least 2: for live panels.
    pub fn rolling(capacity: usize) -> Self {
        Self::new(capacity.max(2), Keeping::Newest)
    }

    /// Keeps the whole run in at most `capacity` points, at least 2 and even: a full series merges its points in pairs,
    /// keeping mean and maximum. A gap shorter than a point is then no longer drawn, but never counts as a value.
    pub fn whole_run(capacity: usize) -> Self {
        let capacity = capacity.max(2).checked_next_multiple_of(2).unwrap_or(usize::MAX - 1);
        Self::new(capacity, Keeping::Whole { readings: 1, open: None })
    }

    fn new(capacity: usize, keeping: Keeping) -> Self {
        Self { points: VecDeque::new(), capacity, keeping, last_ns: None, latest: None }
    }

    /// Adds a reading at a time of the shared clock. `None`, or a value that is not finite, is a gap; a time before the
    /// last one counts as the last one.
    pub fn push(&mut self, mono_ns: u64, value: Option<f64>) {
        let from_ns = self.last_ns.unwrap_or(mono_ns);
        let to_ns = mono_ns.max(from_ns);
        let value = value.filter(|value| value.is_finite());
        self.last_ns = Some(to_ns);
        self.latest = value;
        let known_ns = if value.is_some() { to_ns - from_ns } else { 0 };
        let value = value.map(|value| Value { mean: value, max: value });
        self.add(Point { from_ns, to_ns, known_ns, value });
    }

    fn add(&mut self, point: Point) {
        match &mut self.keeping {
            Keeping::Newest => {
                if self.points.len() == self.capacity {
                    self.points.pop_front();
                }
                self.points.push_back(point);
            }
            Keeping::Whole { readings, open } => {
                let (point, filled) = match open.take() {
                    Some((before, filled)) => (before.merged(point), filled + 1),
                    None => (point, 1),
                };
                if filled < *readings {
                    *open = Some((point, filled));
                    return;
                }
                self.points.push_back(point);
                if self.points.len() == self.capacity {
                    self.points = self.points.make_contiguous().chunks(2).filter_map(merged_all).collect();
                    *readings = readings.saturating_mul(2);
                }
            }
        }
    }

    /// Points kept, the one being filled included.
    pub fn len(&self) -> usize {
        self.points().count()
    }

    /// Whether nothing was pushed yet.
    pub fn is_empty(&self) -> bool {
        self.last_ns.is_none()
    }

    /// Most points that are kept.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The last reading; `None` when it was missing.
    pub fn latest(&self) -> Option<f64> {
        self.latest
    }

    /// Times of the oldest and the newest reading kept, ns of the shared clock.
    pub fn bounds_ns(&self) -> Option<(u64, u64)> {
        Some((self.points().next()?.from_ns, self.last_ns?))
    }

    /// Mean and maximum between two times of the shared clock, for example over a phase; `None` where nothing was read.
    pub fn between(&self, t0_ns: u64, t1_ns: u64) -> Option<Average> {
        self.average(i128::from(t0_ns), i128::from(t1_ns), true)
    }

    /// The time from `t0_ns` to `t1_ns` in `columns` equal parts; `None` in a part is a gap.
    pub fn columns(&self, t0_ns: u64, t1_ns: u64, columns: usize) -> Vec<Option<Average>> {
        self.resample(i128::from(t0_ns), i128::from(t1_ns), columns)
    }

    /// The last `span_ns` before `now_ns` in `columns` equal parts, the newest last.
    pub fn window(&self, now_ns: u64, span_ns: u64, columns: usize) -> Vec<Option<Average>> {
        // Soon after boot the window begins before the clock's zero.
        self.resample(i128::from(now_ns) - i128::from(span_ns), i128::from(now_ns), columns)
    }

    fn resample(&self, t0: i128, t1: i128, columns: usize) -> Vec<Option<Average>> {
        let edge = |column: usize| t0 + (t1 - t0).max(0) * column as i128 / columns as i128;
        (0..columns)
            .map(|column| self.average(edge(column), edge(column + 1), column + 1 == columns))
            .collect()
    }

    /// Average over `t0 <= t < t1`, or `<= t1` when the end belongs to the stretch.
    fn average(&self, t0: i128, t1: i128, with_end: bool) -> Option<Average> {
        if t1 < t0 {
            return None;
        }
        let first = self.points.partition_point(|point| i128::from(point.to_ns) < t0);
        let points = self.points.range(first..).chain(self.open());
        let points = points.take_while(|point| i128::from(point.from_ns) <= t1);
        let (mut lasting, mut momentary, mut max) = (Mean::default(), Mean::default(), f64::NEG_INFINITY);
        for point in points {
            let Some(value) = point.value else { continue };
            let (from, to) = (i128::from(point.from_ns), i128::from(point.to_ns));
            let shared = to.min(t1) - from.max(t0);
            let is_moment_inside = from == to && from >= t0 && (from < t1 || with_end);
            if shared <= 0 && !is_moment_inside {
                continue;
            }
            max = value.max.max(max);
            if point.known_ns == 0 {
                momentary.add(value.mean, 1.0);
            } else {
                lasting.add(value.mean, shared as f64 * (point.known_ns as f64 / (to - from) as f64));
            }
        }
        let span = (t1 - t0) as f64;
        let covered = if span > 0.0 { (lasting.weight / span).min(1.0) } else { 0.0 };
        // A reading without duration (the first of a series) shows where nothing else does.
        let mean = if lasting.weight > 0.0 { lasting } else { momentary };
        (mean.weight > 0.0).then_some(Average { mean: mean.mean, max, covered })
    }

    fn open(&self) -> Option<&Point> {
        match &self.keeping {
            Keeping::Whole { open: Some((point, _)), .. } => Some(point),
            _ => None,
        }
    }

    fn points(&self) -> impl Iterator<Item = &Point> {
        self.points.iter().chain(self.open())
    }
}

impl Point {
    fn merged(self, next: Self) -> Self {
        let value = match (self.value, next.value) {
            (Some(first), Some(second)) => {
                // Readings without duration count only among themselves.
                let moments = f64::from(u8::from(self.known_ns == 0 && next.known_ns == 0));
                let mut mean = Mean::default();
                mean.add(first.mean, self.known_ns as f64 + moments);
                mean.add(second.mean, next.known_ns as f64 + moments);
                Some(Value { mean: mean.mean, max: first.max.max(second.max) })
            }
            (one, other) => one.or(other),
        };
        let known_ns = self.known_ns.saturating_add(next.known_ns);
        Self { from_ns: self.from_ns, to_ns: next.to_ns, known_ns, value }
    }
}

fn merged_all(points: &[Point]) -> Option<Point> {
    points.iter().copied().reduce(Point::merged)
}
