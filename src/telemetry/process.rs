//! What `/proc` tells of single processes.

use std::fs;
use std::path::Path;

/// Command name of a process that NVML lists, where that pid can be trusted to mean the same process here.
///
/// NVML tells pids of the host. Seen from a container the same number may be another process, so there a name counts
/// only when that process has an NVIDIA device open.
pub(super) fn gpu_process_name(pid: u32) -> Option<String> {
    let process = Path::new("/proc").join(pid.to_string());
    let name = fs::read_to_string(process.join("comm")).ok()?;
    let trusted = in_first_pid_namespace() || has_gpu_open(&process.join("fd"));
    let name = name.trim_end();
    (trusted && !name.is_empty()).then(|| name.to_owned())
}

/// The kernel gives its first PID namespace this fixed inode number.
fn in_first_pid_namespace() -> bool {
    fs::read_link("/proc/self/ns/pid").is_ok_and(|namespace| namespace == Path::new("pid:[4026531836]"))
}

fn has_gpu_open(descriptors: &Path) -> bool {
    let Ok(descriptors) = fs::read_dir(descriptors) else { return false };
    descriptors
        .filter_map(|descriptor| fs::read_link(descriptor.ok()?.path()).ok())
        .any(|file| file.to_str().is_some_and(|file| file.starts_with("/dev/nvidia") || file == "/dev/dxg"))
}

/// Resident memory of a process, bytes, or why it is not known.
pub(super) fn resident_bytes(pid: u32) -> Result<u64, String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))
        .map_err(|_| format!("process {pid} has ended or is not visible from here"))?;
    parse_resident_bytes(&status).ok_or_else(|| format!("/proc/{pid}/status has no VmRSS line"))
}

fn parse_resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn resident_memory_is_read_in_bytes() {
        let status = "Name:\tinfralab-worker\nVmHWM:\t  204800 kB\nVmRSS:\t  102400 kB\nThreads:\t9\n";
        assert_eq!(parse_resident_bytes(status), Some(104_857_600));
    }

    #[test]
    fn a_status_without_the_line_is_not_zero_memory() {
        assert_eq!(parse_resident_bytes("Name:\tkworker/0:1\nState:\tI (idle)\n"), None);
        assert_eq!(parse_resident_bytes("VmRSS:\tmany kB\n"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_very_process_has_memory_and_a_missing_one_has_a_reason() {
        assert!(resident_bytes(std::process::id()).is_ok_and(|bytes| bytes > 100_000));
        let why = resident_bytes(u32::MAX).expect_err("no such pid");
        assert!(why.contains("4294967295"), "{why}");
    }

    #[test]
    fn a_process_uses_a_gpu_when_it_has_one_open() {
        let descriptors = tempfile::tempdir().expect("a directory");
        symlink("/dev/null", descriptors.path().join("0")).expect("a link");
        symlink("pipe:[42]", descriptors.path().join("1")).expect("a link");
        assert!(!has_gpu_open(descriptors.path()));
        symlink("/dev/nvidiactl", descriptors.path().join("2")).expect("a link");
        assert!(has_gpu_open(descriptors.path()));
        assert!(!has_gpu_open(Path::new("/no/such/directory")));
    }
}
