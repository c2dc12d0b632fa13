//! What `/proc` tells of single processes.

mod container;

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use crate::visible::visible_line;

/// Files of other processes are read no further than this.
const MOST_BYTES: u64 = 64 * 1024;

/// Who is behind a pid. All `None` where that pid is not visible from here, or means another process here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Identity {
    /// Command name.
    pub(super) name: Option<String>,
    /// User name, or `uid N`.
    pub(super) user: Option<String>,
    /// Container, pod or batch job.
    pub(super) container: Option<String>,
}

/// Who is behind a pid that NVML lists.
///
/// NVML tells pids of the host. Seen from a container the same number may be another process, so there a process counts
/// only when it has an NVIDIA device open.
pub(super) fn identify(pid: u32) -> Identity {
    let process = Path::new("/proc").join(pid.to_string());
    if in_first_pid_namespace() || has_gpu_open(&process.join("fd")) {
        identity(&process, Path::new("/etc/passwd"))
    } else {
        Identity::default()
    }
}

fn identity(process: &Path, passwd: &Path) -> Identity {
    let told = |file: &str| text(&process.join(file)).map(|text| visible_line(text.trim_end()));
    let Some(name) = told("comm").filter(|name| !name.is_empty()) else { return Identity::default() };
    let uid = text(&process.join("status")).as_deref().and_then(parse_uid);
    let user = uid.map(|uid| {
        let name = text(passwd).as_deref().and_then(|passwd| user_name(passwd, uid));
        name.map_or_else(|| format!("uid {uid}"), |name| visible_line(&name))
    });
    let cgroups = text(&process.join("cgroup")).unwrap_or_default();
    let container = container::of(&cgroups, None).and_then(|_| {
        let host_name = told("root/etc/hostname");
        container::of(&cgroups, host_name.as_deref()).map(|container| visible_line(&container))
    });
    Identity { name: Some(name), user, container }
}

/// The beginning of a regular file; opening a pipe that a container left there would wait for ever.
fn text(path: &Path) -> Option<String> {
    let file = fs::metadata(path).ok().filter(fs::Metadata::is_file).and_then(|_| File::open(path).ok())?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The real user id.
fn parse_uid(status: &str) -> Option<u32> {
    status.lines().find_map(|line| line.strip_prefix("Uid:"))?.split_whitespace().next()?.parse().ok()
}

fn user_name(passwd: &str, uid: u32) -> Option<String> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    })
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
    fn who_is_behind_a_process_is_read_from_its_files() {
        let root = tempfile::tempdir().expect("a directory");
        let write = |file: &str, text: &str| {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, text).expect("written");
        };
        let id = "0123456789abcdef".repeat(4);
        write("p/comm", "python3\u{1b}[2J\n");
        write("p/status", "Name:\tx\nUid:\t1000\t0\t0\t0\n");
        write("p/cgroup", &format!("0::/kubepods/pod9b7f3c1e-1111-2222-3333-444455556666/{id}\n"));
        write("p/root/etc/hostname", "vllm-0\n");
        write("passwd", "root:x:0:0::/root:/bin/sh\nbroken\nada:x:1000:1000::/home/ada:/bin/sh\n");
        let found = identity(&root.path().join("p"), &root.path().join("passwd"));
        assert_eq!(found.user.as_deref(), Some("ada"));
        assert_eq!(found.container.as_deref(), Some("pod vllm-0 / 0123456789ab"));
        assert!(found.name.is_some_and(|name| name.starts_with("python3") && !name.contains('\u{1b}')));
        let nameless = identity(&root.path().join("p"), Path::new("/no/such/file"));
        assert_eq!(nameless.user.as_deref(), Some("uid 1000"));
        assert_eq!(identity(Path::new("/no/such/process"), Path::new("/etc/passwd")), Identity::default());
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
