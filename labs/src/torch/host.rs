//! The host processor as a device: its name and its memory, from `/proc` and the control group.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// Model name of the processor.
pub fn cpu_name() -> Option<String> {
    let info = read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|l| l.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// RAM in bytes.
pub fn total_bytes() -> Option<u64> {
    meminfo_bytes(&read_to_string("/proc/meminfo").ok()?, "MemTotal")
}

/// Bytes that this process can still take without swapping: what the kernel calls available, or what the process's
/// control group leaves, whichever is less. In a container the second is the true bound.
pub fn free_bytes() -> Option<u64> {
    let available = meminfo_bytes(&read_to_string("/proc/meminfo").ok()?, "MemAvailable")?;
    Some(group_free_bytes().map_or(available, |left| left.min(available)))
}

fn meminfo_bytes(meminfo: &str, field: &str) -> Option<u64> {
    let line = meminfo.lines().find(|l| l.strip_prefix(field).is_some_and(|rest| rest.starts_with(':')))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib << 10)
}

/// Least room in the process's control group (version 2) and the groups above it.
fn group_free_bytes() -> Option<u64> {
    let root = Path::new("/sys/fs/cgroup");
    let groups = read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|l| l.strip_prefix("0::/"))?;
    let mut group: PathBuf = root.join(own);
    let mut least = None;
    while group.starts_with(root) {
        if let Some(left) = room(&group) {
            least = Some(least.map_or(left, |l: u64| l.min(left)));
        }
        if !group.pop() {
            break;
        }
    }
    least
}

fn room(group: &Path) -> Option<u64> {
    let number = |file: &str| read_to_string(group.join(file)).ok()?.trim().parse::<u64>().ok();
    let (limit, used) = (number("memory.max")?, number("memory.current")?);
    // File cache counts as used but is given up under pressure.
    let cache = read_to_string(group.join("memory.stat"))
        .ok()
        .and_then(|stat| stat.lines().find_map(|l| l.strip_prefix("inactive_file ")?.parse::<u64>().ok()))
        .unwrap_or(0);
    Some(limit.saturating_sub(used.saturating_sub(cache)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_fields_are_matched_whole() {
        let text = "MemTotal:       24682340 kB\nMemAvailableX: 1 kB\nMemAvailable:   23000000 kB\n";
        assert_eq!(meminfo_bytes(text, "MemAvailable"), Some(23_000_000 << 10));
        assert_eq!(meminfo_bytes(text, "MemFree"), None);
    }
}
