//! Rates out of counters that several devices keep.

use super::pace::{FIRST, Moment};

const MIB: f64 = (1_u64 << 20) as f64;

/// Bytes that a device has moved since it is there: in (or read) and out (or written).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Moved {
    pub(super) device: String,
    pub(super) bytes: [u64; 2],
}

/// Remembers counters.
#[derive(Debug, Default)]
pub(super) struct Rates {
    before: Option<(u64, Vec<Moved>)>,
}

impl Rates {
    /// MiB/s of all devices together since the call before, in and out, or why there is a gap.
    pub(super) fn mib_s(&mut self, at: Moment, now: Result<Vec<Moved>, String>) -> Result<[f64; 2], String> {
        let now = now.inspect_err(|_| self.before = None)?;
        let (before_ns, before) = match &self.before {
            Some((before_ns, before)) => (*before_ns, before.as_slice()),
            None => (0, &[] as &[_]),
        };
        let rates = if self.before.is_none() {
            Err(FIRST.to_owned())
        } else {
            at.seconds_since(before_ns).and_then(|seconds| {
                let bytes = moved_since(before, &now)?;
                Ok(bytes.map(|bytes| bytes as f64 / MIB / seconds))
            })
        };
        self.before = Some((at.now_ns, now));
        rates
    }
}

/// A device that came has no counter to compare with, one that went took its last bytes along, and a counter that went
/// back was reset or ran over: a sum without them would be wrong without saying so.
fn moved_since(before: &[Moved], now: &[Moved]) -> Result<[u64; 2], String> {
    let find = |moved: &[Moved], device: &str| moved.iter().any(|moved| moved.device == device);
    if let Some(gone) = before.iter().find(|moved| !find(now, &moved.device)) {
        return Err(format!("{} went since the reading before", gone.device));
    }
    let mut sum = [0_u64; 2];
    for moved in now {
        let Some(before) = before.iter().find(|before| before.device == moved.device) else {
            return Err(format!("{} came since the reading before", moved.device));
        };
        for (way, sum) in sum.iter_mut().enumerate() {
            let bytes = moved.bytes[way].checked_sub(before.bytes[way]).ok_or_else(|| {
                format!("the counter of {} went back: it was reset or ran over", moved.device)
            })?;
            *sum = sum.saturating_add(bytes);
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(ms: u64) -> Moment {
        Moment { now_ns: ms * 1_000_000, slept: false }
    }

    fn moved(devices: &[(&str, u64, u64)]) -> Vec<Moved> {
        let moved = |(device, read, written): &(&str, u64, u64)| Moved {
            device: (*device).to_owned(),
            bytes: [*read, *written],
        };
        devices.iter().map(moved).collect()
    }

    #[test]
    fn rates_are_the_sum_over_devices_by_the_time_between() {
        let mut rates = Rates::default();
        assert_eq!(
            rates.mib_s(at(0), Ok(moved(&[("sda", 0, 0), ("sdb", 7 << 20, 0)]))),
            Err(FIRST.to_owned())
        );
        let later = Ok(moved(&[("sda", 3 << 20, 0), ("sdb", 10 << 20, 1 << 20)]));
        assert_eq!(rates.mib_s(at(2000), later), Ok([3.0, 0.5]));
    }

    #[test]
    fn what_cannot_be_compared_is_a_gap_and_the_next_reading_counts_again() {
        let mut rates = Rates::default();
        let why = |result: Result<[f64; 2], String>| result.expect_err("a gap");
        let _ = rates.mib_s(at(0), Ok(moved(&[("sda", 9 << 20, 0)])));
        // A 32-bit counter that ran over looks the same as one that was reset.
        assert!(why(rates.mib_s(at(1000), Ok(moved(&[("sda", 1, 0)])))).contains("went back"));
        assert_eq!(rates.mib_s(at(2000), Ok(moved(&[("sda", 1 + (1 << 20), 0)]))), Ok([1.0, 0.0]));
        let two = Ok(moved(&[("sda", 2 << 20, 0), ("sdb", 5 << 40, 0)]));
        assert!(why(rates.mib_s(at(3000), two)).starts_with("sdb came"));
        assert!(why(rates.mib_s(at(4000), Ok(moved(&[("sdb", 5 << 40, 0)])))).starts_with("sda went"));
        assert_eq!(why(rates.mib_s(at(5000), Err("no file".to_owned()))), "no file");
        assert_eq!(why(rates.mib_s(at(6000), Ok(moved(&[("sdb", 6 << 40, 0)])))), FIRST);
        let slept = Moment { slept: true, ..at(7000) };
        assert!(why(rates.mib_s(slept, Ok(moved(&[("sdb", 7 << 40, 0)])))).contains("suspended"));
    }

    proptest! {
        #[test]
        fn a_rate_is_never_negative_nor_infinite(counters in prop::collection::vec(any::<[u64; 2]>(), 2..20)) {
            let mut rates = Rates::default();
            for (second, bytes) in counters.into_iter().enumerate() {
                let moved = vec![Moved { device: "eth0".to_owned(), bytes }];
                if let Ok(ways) = rates.mib_s(at(second as u64 * 1000), Ok(moved)) {
                    prop_assert!(ways.iter().all(|rate| rate.is_finite() && *rate >= 0.0));
                }
            }
        }
    }
}
