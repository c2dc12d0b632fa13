//! Memory of the host and of single processes.

use super::kernel_file::{KernelFile, Root};

/// RAM in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ram {
    pub(super) total: Option<u64>,
    available: Option<u64>,
}

impl Ram {
    /// What is not available.
    pub(super) fn used(self) -> Option<u64> {
        Some(self.total?.saturating_sub(self.available?))
    }
}

pub(super) fn parse_meminfo(meminfo: &str) -> Ram {
    let bytes_of = |key| meminfo.lines().find_map(|line| kib_line(line, key));
    Ram { total: bytes_of("MemTotal:"), available: bytes_of("MemAvailable:") }
}

/// Bytes of a line `key  123 kB`; the kernel says kB and means KiB.
fn kib_line(line: &str, key: &str) -> Option<u64> {
    let kib: u64 = line.strip_prefix(key)?.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kib.checked_mul(1024)
}

/// Reads the host's memory and that of one process.
#[derive(Debug)]
pub(super) struct Memory {
    root: Root,
    meminfo: KernelFile,
    process: Option<(u32, KernelFile)>,
}

impl Memory {
    pub(super) fn new(root: &Root) -> Self {
        Self { root: root.clone(), meminfo: root.file("/proc/meminfo"), process: None }
    }

    pub(super) fn ram(&mut self) -> Result<Ram, String> {
        self.meminfo.text().map(|text| parse_meminfo(&text))
    }

    /// Resident memory of a process, bytes, or why it is not known. The file stays open, so another process that gets
    /// the same number later is not taken for it.
    pub(super) fn resident_bytes(&mut self, pid: u32) -> Result<u64, String> {
        if self.process.as_ref().is_none_or(|(open, _)| *open != pid) {
            self.process = Some((pid, self.root.file(&format!("/proc/{pid}/status"))));
        }
        let gone = || format!("process {pid} has ended or is not visible from here");
        let (_, status) = self.process.as_mut().ok_or_else(gone)?;
        let text = status.text().map_err(|_| gone())?;
        parse_resident_bytes(&text).ok_or_else(|| format!("/proc/{pid}/status has no VmRSS line"))
    }

    /// Lets the file of a process go that is not asked for any more.
    pub(super) fn forget_process(&mut self) {
        self.process = None;
    }
}

fn parse_resident_bytes(status: &str) -> Option<u64> {
    status.lines().find_map(|line| kib_line(line, "VmRSS:"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn used_memory_is_what_is_not_available() {
        let meminfo =
            "MemTotal:       16384000 kB\nMemFree:          512000 kB\nMemAvailable:    8192000 kB\n";
        let ram = parse_meminfo(meminfo);
        assert_eq!(ram.total, Some(16_777_216_000));
        assert_eq!(ram.used(), Some(8_388_608_000));
    }

    #[test]
    fn without_an_available_line_used_memory_is_unknown() {
        let ram = parse_meminfo("MemTotal: 1024 kB\nMemFree: 512 kB\nMemTotalOther: 7 kB\n");
        assert_eq!(ram.total, Some(1_048_576));
        assert_eq!(ram.used(), None);
    }

    #[test]
    fn resident_memory_is_read_in_bytes_and_never_made_up() {
        let status = "Name:\tinfralab-worker\nVmHWM:\t  204800 kB\nVmRSS:\t  102400 kB\nThreads:\t9\n";
        assert_eq!(parse_resident_bytes(status), Some(104_857_600));
        assert_eq!(parse_resident_bytes("Name:\tkworker/0:1\nState:\tI (idle)\n"), None);
        assert_eq!(parse_resident_bytes("VmRSS:\tmany kB\n"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_very_process_has_memory_and_a_missing_one_has_a_reason() {
        let mut memory = Memory::new(&Root::system());
        assert!(memory.resident_bytes(std::process::id()).is_ok_and(|bytes| bytes > 100_000));
        let why = memory.resident_bytes(u32::MAX).expect_err("no such pid");
        assert!(why.contains("4294967295"), "{why}");
        assert!(memory.resident_bytes(std::process::id()).is_ok());
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_parsers(
            text in "(MemTotal:|MemAvailable:|VmRSS:| |[0-9]{1,25}|kB|\n|\\PC){0,40}",
            bytes in any::<Vec<u8>>(),
        ) {
            for text in [text.as_str(), &String::from_utf8_lossy(&bytes)] {
                let _ = parse_meminfo(text).used();
                let _ = parse_resident_bytes(text);
            }
        }

        #[test]
        fn what_is_written_is_read(total in 0..1_u64 << 50, available in 0..1_u64 << 50) {
            let ram = parse_meminfo(&format!("MemTotal: {total:>9} kB\nMemAvailable:{available:>9} kB\n"));
            prop_assert_eq!(ram.total, Some(total * 1024));
            prop_assert_eq!(ram.used(), Some(total.saturating_sub(available) * 1024));
            prop_assert_eq!(parse_resident_bytes(&format!("VmRSS:\t{total} kB\n")), Some(total * 1024));
        }
    }
}
