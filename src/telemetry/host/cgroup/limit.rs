//! The groups above a process, and the tightest limit that one of them sets.

use super::super::kernel_file::{KernelFile, Root};
use super::place::Place;

/// A limit of version 1 that is this large is none: the kernel writes the largest number of whole pages.
const UNLIMITED_BYTES: u64 = 1 << 60;

/// Files of the limits of each group, from the process's own up.
#[derive(Debug)]
pub(super) struct Groups {
    pub(super) v2: bool,
    levels: Vec<Level>,
}

#[derive(Debug)]
struct Level {
    folder: String,
    limit: KernelFile,
    /// Length of the quota's period, where that is a file of its own.
    period: Option<KernelFile>,
}

impl Groups {
    /// Groups of the processor controller.
    pub(super) fn of_cpu(root: &Root, place: &Place) -> Self {
        let (limit, period) =
            if place.v2 { ("cpu.max", None) } else { ("cpu.cfs_quota_us", Some("cpu.cfs_period_us")) };
        Self::new(root, place, limit, period)
    }

    /// Groups of the memory controller.
    pub(super) fn of_memory(root: &Root, place: &Place) -> Self {
        let limit = if place.v2 { "memory.max" } else { "memory.limit_in_bytes" };
        Self::new(root, place, limit, None)
    }

    fn new(root: &Root, place: &Place, limit: &str, period: Option<&str>) -> Self {
        let level = |folder: String| Level {
            limit: root.file(&format!("{folder}/{limit}")),
            period: period.map(|period| root.file(&format!("{folder}/{period}"))),
            folder,
        };
        let folders = place.folders(|folder| root.path(folder).is_dir());
        Self { v2: place.v2, levels: folders.into_iter().map(level).collect() }
    }

    /// Processors allowed by the tightest quota, and the folder of the group that sets it.
    pub(super) fn tightest_cpus(&mut self) -> Option<(f64, &str)> {
        let limits = self.levels.iter_mut().filter_map(|level| {
            let limit = level.limit.text().ok()?;
            let cpus = match &mut level.period {
                Some(period) => parse_quota(&limit, &period.text().ok()?),
                None => parse_cpu_max(&limit),
            };
            Some((cpus?, level.folder.as_str()))
        });
        limits.min_by(|(one, _), (other, _)| one.total_cmp(other))
    }

    /// Bytes allowed by the tightest limit, and the folder of the group that sets it.
    pub(super) fn tightest_bytes(&mut self) -> Option<(u64, &str)> {
        let limits = self
            .levels
            .iter_mut()
            .filter_map(|level| Some((parse_bytes(&level.limit.text().ok()?)?, level.folder.as_str())));
        limits.min_by_key(|(bytes, _)| *bytes)
    }

    /// Folder of the process's own group.
    pub(super) fn own(&self) -> Option<&str> {
        self.levels.first().map(|level| level.folder.as_str())
    }
}

/// `max 100000` or `250000 100000`; `None` without a limit.
fn parse_cpu_max(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    parse_quota(quota, period)
}

/// Quota and period in microseconds; the quota is `-1` or `max` without a limit.
fn parse_quota(quota: &str, period: &str) -> Option<f64> {
    let quota: u64 = quota.trim().parse().ok()?;
    let period: u64 = period.trim().parse().ok()?;
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

fn parse_bytes(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|bytes| *bytes < UNLIMITED_BYTES)
}

/// A line `key value` of a group's statistics.
pub(super) fn parse_statistic(text: &str, key: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))?;
    value.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn no_limit_has_many_spellings() {
        assert_eq!(parse_cpu_max("max 100000\n"), None);
        assert_eq!(parse_cpu_max("250000 100000\n"), Some(2.5));
        assert_eq!(parse_quota("-1\n", "100000\n"), None);
        assert_eq!(parse_quota("50000\n", "100000\n"), Some(0.5));
        assert_eq!(parse_quota("50000\n", "0\n"), None);
        assert_eq!(parse_bytes("max\n"), None);
        assert_eq!(parse_bytes("9223372036854771712\n"), None);
        assert_eq!(parse_bytes("17179869184\n"), Some(16 << 30));
    }

    #[test]
    fn a_statistic_is_found_by_its_whole_name() {
        let text = "inactive_file_max 1\ninactive_file 4096\n";
        assert_eq!(parse_statistic(text, "inactive_file"), Some(4096));
        assert_eq!(parse_statistic(text, "file"), None);
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_parsers(text in "(max|-1| |[0-9]{1,25}|usage_usec|\n|\\PC){0,20}", bytes in any::<Vec<u8>>()) {
            for text in [text.as_str(), &String::from_utf8_lossy(&bytes)] {
                prop_assert!(parse_cpu_max(text).is_none_or(|cpus| cpus.is_finite() && cpus > 0.0));
                let _ = parse_bytes(text);
                let _ = parse_statistic(text, "usage_usec");
            }
        }

        #[test]
        fn what_is_written_is_read(quota in 1_u64..1 << 40, period in 1_u64..1 << 30, bytes in 0..UNLIMITED_BYTES) {
            let cpus = Some(quota as f64 / period as f64);
            prop_assert_eq!(parse_cpu_max(&format!("{quota} {period}\n")), cpus);
            prop_assert_eq!(parse_quota(&format!("{quota}\n"), &format!("{period}\n")), cpus);
            prop_assert_eq!(parse_bytes(&format!("{bytes}\n")), Some(bytes));
            prop_assert_eq!(parse_statistic(&format!("a 1\nkey {bytes}\n"), "key"), Some(bytes));
        }
    }
}
