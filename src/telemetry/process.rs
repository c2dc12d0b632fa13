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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

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
