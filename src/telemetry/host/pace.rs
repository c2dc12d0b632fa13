//! When to do what is done less often than snapshots are taken, and over which time a rate was counted.

use std::time::Duration;

use super::kernel_file::{KernelFile, Root};

/// Longer than the slowest sampler's period. A mean over more says nothing of now: the program or machine stood still.
const LONGEST_S: f64 = 30.0;

/// Containers may be shown their uptime in whole seconds, so less than this may be rounding.
const SLEEP_S: f64 = 1.5;

/// Why a difference has no value the first time.
pub(super) const FIRST: &str = "counted between two readings, and this is the first";

/// Why a difference over a suspension has no value.
pub(super) const SLEPT: &str = "the machine was suspended since the reading before";

/// Says when something is due, on average no more often than `every`.
#[derive(Debug)]
pub(super) struct Pace {
    every: Duration,
    /// The second time comes early, so that what is a difference is soon there.
    second_after: Duration,
    /// Ticks jitter: one this little early counts, or a period equal to the tick's would leave out every other one.
    early: Duration,
    due_ns: Option<u64>,
}

impl Pace {
    pub(super) fn new(every_ms: u64, second_after_ms: u64, early_ms: u64) -> Self {
        let [every, second_after, early] = [every_ms, second_after_ms, early_ms].map(Duration::from_millis);
        Self { every, second_after, early, due_ns: None }
    }

    /// Whether it is due now; then it is taken as done.
    pub(super) fn is_due(&mut self, now_ns: u64) -> bool {
        let later = |ns: u64, by: Duration| ns.saturating_add(by.as_nanos() as u64);
        match self.due_ns {
            // The second reading is not to come early once more.
            None => self.due_ns = Some(later(later(now_ns, self.second_after), self.early)),
            Some(due_ns) if later(now_ns, self.early) >= due_ns => {
                self.due_ns = Some(later(due_ns.max(now_ns), self.every));
            }
            Some(_) => return false,
        }
        true
    }
}

/// Notices that the machine was suspended: uptime goes on meanwhile and the monotonic clock does not.
#[derive(Debug)]
pub(super) struct SleepWatch {
    uptime: KernelFile,
    ahead_s: Option<f64>,
}

impl SleepWatch {
    pub(super) fn new(root: &Root) -> Self {
        Self { uptime: root.file("/proc/uptime"), ahead_s: None }
    }

    /// Whether it was suspended since the last call.
    pub(super) fn has_slept(&mut self, now_ns: u64) -> bool {
        let uptime_s = self.uptime.text().ok().and_then(|text| parse_uptime_s(&text));
        let ahead_s = uptime_s.map(|uptime_s| uptime_s - now_ns as f64 / 1e9);
        let before_s = std::mem::replace(&mut self.ahead_s, ahead_s);
        before_s.zip(ahead_s).is_some_and(|(before_s, ahead_s)| ahead_s - before_s > SLEEP_S)
    }
}

fn parse_uptime_s(uptime: &str) -> Option<f64> {
    uptime.split_whitespace().next()?.parse().ok().filter(|seconds: &f64| seconds.is_finite())
}

/// The moment of a reading of counters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) now_ns: u64,
    /// Whether the machine was suspended since the reading before.
    pub(super) slept: bool,
}

impl Moment {
    /// Seconds since the reading before, or why a mean over them would mislead.
    pub(super) fn seconds_since(self, before_ns: u64) -> Result<f64, String> {
        if self.slept {
            return Err(SLEPT.to_owned());
        }
        let seconds = self.now_ns.saturating_sub(before_ns) as f64 / 1e9;
        if seconds > LONGEST_S {
            return Err(format!("nothing was read for {seconds:.0} s, so a rate would not be of now"));
        }
        if seconds > 0.0 {
            Ok(seconds)
        } else {
            Err("no time has passed since the reading before".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: u64 = 1_000_000;

    fn times_due(pace: &mut Pace, every_ms: u64, count: u64) -> usize {
        (0..count).filter(|tick| pace.is_due(5_000 * MS + tick * every_ms * MS)).count()
    }

    #[test]
    fn fast_ticks_are_thinned_out_and_slow_ones_are_all_taken() {
        // 10 s of 50 ticks a second: at 0, at 40 ms, and then every 100 ms.
        assert_eq!(times_due(&mut Pace::new(100, 40, 5), 20, 500), 101);
        assert_eq!(times_due(&mut Pace::new(100, 40, 5), 100, 100), 100);
        assert_eq!(times_due(&mut Pace::new(1000, 50, 50), 10_000, 3), 3);
    }

    #[test]
    fn a_tick_that_comes_a_little_early_is_not_left_out() {
        let mut pace = Pace::new(100, 40, 5);
        for ms in [0, 100, 202, 300, 399, 500] {
            assert!(pace.is_due(ms * MS), "{ms}");
        }
        assert!(!pace.is_due(550 * MS));
    }

    #[test]
    fn a_rate_over_a_standstill_is_refused() {
        let at = |now_s: u64, slept| Moment { now_ns: now_s * 1_000_000_000, slept };
        assert_eq!(at(12, false).seconds_since(2_000_000_000), Ok(10.0));
        assert!(at(12, true).seconds_since(2_000_000_000).is_err_and(|why| why.contains("suspended")));
        assert!(at(60, false).seconds_since(2_000_000_000).is_err_and(|why| why.contains("58 s")));
        assert!(at(2, false).seconds_since(2_000_000_000).is_err());
        assert!(at(1, false).seconds_since(2_000_000_000).is_err());
    }

    proptest! {
        #[test]
        fn never_more_often_than_told(gaps in prop::collection::vec(0_u64..400, 1..200)) {
            let mut pace = Pace::new(100, 40, 5);
            let mut now_ms = 0;
            let mut times = 0;
            for gap in gaps {
                now_ms += gap;
                times += u64::from(pace.is_due(now_ms * MS));
            }
            prop_assert!(times <= now_ms / 100 + 2, "{times} times in {now_ms} ms");
        }

        #[test]
        fn uptime_reads_as_written(seconds in 0.0..1e9_f64, any in any::<Vec<u8>>()) {
            prop_assert_eq!(parse_uptime_s(&format!("{seconds} 17.25\n")), Some(seconds));
            let _ = parse_uptime_s(&String::from_utf8_lossy(&any));
        }
    }
}
