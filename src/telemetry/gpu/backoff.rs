//! When something is done again.

/// When to try again what failed: after 1 s, then twice as long each time, up to 30 s.
#[derive(Debug, Default)]
pub(in crate::telemetry) struct Backoff {
    wait_ns: u64,
    retry_at_ns: u64,
}

impl Backoff {
    const FIRST_NS: u64 = 1_000_000_000;
    const LONGEST_NS: u64 = 30_000_000_000;

    /// Notes one more failure at `now_ns`.
    pub(in crate::telemetry) fn failed(&mut self, now_ns: u64) {
        self.wait_ns = (self.wait_ns * 2).clamp(Self::FIRST_NS, Self::LONGEST_NS);
        self.retry_at_ns = now_ns.saturating_add(self.wait_ns);
    }

    /// Whether the wait is over.
    pub(in crate::telemetry) fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.retry_at_ns
    }
}

/// Something that is done once in a while, however often it is thought of.
#[derive(Debug, Clone, Copy)]
pub(in crate::telemetry) struct Every {
    period_ns: u64,
    last_ns: Option<u64>,
}

impl Every {
    const FORGIVEN_NS: u64 = 50_000_000;

    /// Once in `period_ns`; for the first time when first thought of.
    pub(in crate::telemetry) const fn ns(period_ns: u64) -> Self {
        Self { period_ns, last_ns: None }
    }

    /// Whether its time has come, or it is `forced`; then the next time counts from now on. A sample that comes a little
    /// early must not put it off by a whole sample, so a little is forgiven.
    pub(in crate::telemetry) fn is_due(&mut self, now_ns: u64, forced: bool) -> bool {
        let enough_ns = self.period_ns - (self.period_ns / 20).min(Self::FORGIVEN_NS);
        let due = forced || self.last_ns.is_none_or(|last| now_ns.saturating_sub(last) >= enough_ns);
        if due {
            self.last_ns = Some(now_ns);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_every_second_is_done_once_a_second_at_any_rate() {
        for step_ms in [20_u64, 100, 333, 500, 999] {
            let mut every = Every::ns(1_000_000_000);
            let times =
                (0..20_000 / step_ms).filter(|i| every.is_due(i * step_ms * 1_000_000, false)).count();
            assert!((10..=21).contains(&times), "{times} times in 20 s, thought of every {step_ms} ms");
        }
        let mut every = Every::ns(1_000_000_000);
        assert!(every.is_due(5, false) && !every.is_due(6, false) && every.is_due(7, true));
        assert!(!every.is_due(900_000_000, false), "what was forced counts");
    }
}
