//! How far an installation is, and how fast.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use crate::units::{decimal_bytes, duration};

/// The steps, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// A virtual environment with a recent pip.
    Environment,
    /// LibTorch's packages, downloaded and unpacked one by one.
    Packages,
    /// The worker, compiled.
    Build,
    /// The worker, asked who it is.
    Verify,
}

impl Step {
    /// What the step does, for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Environment => "Python environment",
            Self::Packages => "LibTorch",
            Self::Build => "worker",
            Self::Verify => "verification",
        }
    }
}

/// What an installation reports while it runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// A step starts.
    Started(Step),
    /// A step had been finished before and is not repeated.
    Skipped(Step),
    /// A step ended well.
    Finished {
        /// Which.
        step: Step,
        /// How long it took.
        took: Duration,
    },
    /// Bytes arrive.
    Download {
        /// Package that comes now.
        package: String,
        /// Bytes of all packages so far, those of an earlier try included.
        done_bytes: u64,
        /// Bytes of all packages.
        total_bytes: u64,
        /// Rate over the last seconds; `None` until it is known.
        bytes_per_s: Option<f64>,
        /// Time left at that rate.
        left: Option<Duration>,
    },
    /// A package is unpacked.
    Unpack {
        /// Which.
        package: String,
    },
    /// Crates are compiled.
    Build {
        /// Units done.
        done: u32,
        /// Units in all, as far as cargo knows.
        total: u32,
        /// What is compiled now.
        now: String,
    },
    /// A line that a tool printed, for a log.
    Line(String),
}

impl std::fmt::Display for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mb = |bytes: u64| decimal_bytes(bytes as f64);
        match self {
            Self::Started(step) => write!(f, "{}…", step.label()),
            Self::Skipped(step) => write!(f, "{}: already there", step.label()),
            Self::Finished { step, took } => write!(f, "{}: done in {}", step.label(), duration(*took)),
            Self::Download { package, done_bytes, total_bytes, bytes_per_s, left } => {
                let pct = self.percent().unwrap_or(0);
                let (done, total) = (mb(*done_bytes), mb(*total_bytes));
                write!(f, "downloading {package}: {done} of {total} ({pct} %)")?;
                if let Some(rate) = bytes_per_s {
                    write!(f, ", {}/s", decimal_bytes(*rate))?;
                }
                left.map_or(Ok(()), |left| write!(f, ", {} left", duration(left)))
            }
            Self::Unpack { package } => write!(f, "unpacking {package}"),
            Self::Build { done, total, now } => write!(f, "building the worker: {done} of {total}: {now}"),
            Self::Line(line) => f.write_str(line),
        }
    }
}

impl Progress {
    /// How much of the step is done, where that is known.
    pub fn percent(&self) -> Option<u64> {
        match self {
            Self::Download { done_bytes, total_bytes, .. } => Some(done_bytes * 100 / (*total_bytes).max(1)),
            Self::Build { done, total, .. } => Some(u64::from(*done) * 100 / u64::from(*total).max(1)),
            _ => None,
        }
    }
}

/// Rate of a growing count over a sliding window.
#[derive(Debug, Default)]
pub(super) struct Rate {
    seen: VecDeque<(Instant, u64)>,
}

impl Rate {
    const WINDOW: Duration = Duration::from_secs(5);
    /// Less time than this tells nothing.
    const LEAST: Duration = Duration::from_millis(300);

    /// Notes that `count` was reached at `now`; gives the rate per second when enough time lies in the window.
    pub(super) fn at(&mut self, now: Instant, count: u64) -> Option<f64> {
        self.seen.push_back((now, count));
        while self.seen.len() > 2 && now.duration_since(self.seen[1].0) >= Self::WINDOW {
            self.seen.pop_front();
        }
        let (since, first) = self.seen[0];
        let elapsed = now.duration_since(since);
        (elapsed >= Self::LEAST && count > first).then(|| (count - first) as f64 / elapsed.as_secs_f64())
    }
}

/// Time for `left` more at `rate` per second; `None` beyond a day, where it says nothing.
pub(super) fn time_left(left: u64, rate: Option<f64>) -> Option<Duration> {
    let seconds = left as f64 / rate?;
    (seconds < 86_400.0).then(|| Duration::from_secs_f64(seconds.max(0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_follows_the_last_seconds() {
        let start = Instant::now();
        let after = |ms| start + Duration::from_millis(ms);
        let mut rate = Rate::default();
        assert_eq!(rate.at(start, 0), None);
        assert_eq!(rate.at(after(100), 1000), None, "too early");
        assert_eq!(rate.at(after(1000), 10_000), Some(10_000.0));
        // Ten times faster from here: after more than one window the slow start is forgotten.
        for second in 2..10 {
            rate.at(after(second * 1000), 10_000 + (second - 1) * 100_000);
        }
        let last = rate.at(after(10_000), 910_000).expect("known");
        assert!((last - 100_000.0).abs() < 1.0, "{last}");
    }

    #[test]
    fn a_stall_has_no_rate() {
        let start = Instant::now();
        let mut rate = Rate::default();
        rate.at(start, 5);
        assert_eq!(rate.at(start + Duration::from_secs(9), 5), None);
        assert_eq!(time_left(10, None), None);
        assert_eq!(time_left(10, Some(5.0)), Some(Duration::from_secs(2)));
        assert_eq!(time_left(u64::MAX, Some(1e-9)), None);
    }
}
