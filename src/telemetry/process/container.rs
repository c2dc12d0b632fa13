//! The container, pod or batch job that a process belongs to, out of its control groups.
//!
//! Paths are as kubelet, containerd, CRI-O, Docker, Podman, LXC and Slurm make them, with both cgroup drivers
//! (`cgroupfs` writes directories, `systemd` slices and scopes).

/// Digits of an id that are shown, as `docker ps` does.
const SHORT: usize = 12;

/// What the control groups in a `/proc/PID/cgroup` name, shortened; `host_name` is the process's own, which is the pod's
/// name where there is one. `None` outside a container.
pub(super) fn of(cgroups: &str, host_name: Option<&str>) -> Option<String> {
    // A line is `number:controllers:path`; the first that names something says it for all.
    cgroups.lines().filter_map(|line| line.splitn(3, ':').nth(2)).find_map(|path| named(path, host_name))
}

fn named(path: &str, host_name: Option<&str>) -> Option<String> {
    let parts = || path.split('/').filter(|part| !part.is_empty());
    let container = parts().rev().find_map(container_id);
    if let Some(uid) = parts().find_map(pod_uid) {
        // A pod's host name is its name, unless the pod says otherwise; on the host's network it is the node's.
        let pod = host_name.filter(|name| !name.is_empty()).map_or_else(|| short(&uid), str::to_owned);
        let container = container.map(|(_, id)| format!(" / {}", short(id))).unwrap_or_default();
        return Some(format!("pod {pod}{container}"));
    }
    if let Some((runtime, id)) = container {
        return Some(format!(
            "{} {}",
            runtime.or_else(|| parts().find_map(parent)).unwrap_or("container"),
            short(id)
        ));
    }
    if let Some(name) =
        parts().find_map(|part| part.strip_prefix("lxc.payload.")).or_else(|| after(path, "lxc"))
    {
        return Some(format!("lxc {name}"));
    }
    parts().find_map(|part| part.strip_prefix("job_")).map(|job| format!("slurm job {job}"))
}

/// The id of a container in a part of a path, and the runtime where the part names it.
fn container_id(part: &str) -> Option<(Option<&'static str>, &str)> {
    const SCOPES: [(&str, &str); 7] = [
        ("cri-containerd-", "containerd"),
        ("crio-", "cri-o"),
        ("docker-", "docker"),
        ("libpod-", "podman"),
        ("nerdctl-", "nerdctl"),
        ("containerd-", "containerd"),
        ("buildkit-", "buildkit"),
    ];
    let bare = part.strip_suffix(".scope").unwrap_or(part);
    let named = SCOPES.iter().find_map(|(prefix, name)| Some((Some(*name), bare.strip_prefix(prefix)?)));
    // containerd without the systemd driver writes `<slice>:cri-containerd:<id>`.
    let (runtime, id) = named.unwrap_or_else(|| (None, bare.rsplit(':').next().unwrap_or(bare)));
    (id.len() >= 32 && id.bytes().all(|b| b.is_ascii_hexdigit())).then_some((runtime, id))
}

/// The uid of a pod: `pod<uid>` or `kubepods-burstable-pod<uid with underscores>.slice`.
fn pod_uid(part: &str) -> Option<String> {
    let bare = part.strip_suffix(".slice").unwrap_or(part);
    let uid =
        if bare.starts_with("kubepods") { bare.rsplit_once("-pod")?.1 } else { bare.strip_prefix("pod")? };
    let uid = uid.replace('_', "-");
    (uid.len() >= 32 && uid.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')).then_some(uid)
}

fn parent(part: &str) -> Option<&'static str> {
    match part {
        "docker" | "docker.slice" => Some("docker"),
        "libpod_parent" | "machine.slice" => Some("podman"),
        _ => None,
    }
}

/// The part of a path that follows `name`.
fn after<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    let mut parts = path.split('/');
    parts.find(|part| *part == name)?;
    parts.next().filter(|part| !part.is_empty())
}

fn short(id: &str) -> String {
    id.chars().take(SHORT).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn container(path: &str) -> Option<String> {
        of(&format!("0::{path}\n"), None)
    }

    #[test]
    fn every_runtime_is_known_by_its_paths() {
        let cases = [
            (format!("/docker/{ID}"), "docker 0123456789ab"),
            (format!("/system.slice/docker-{ID}.scope"), "docker 0123456789ab"),
            (format!("/machine.slice/libpod-{ID}.scope/container"), "podman 0123456789ab"),
            (format!("/libpod_parent/libpod-{ID}"), "podman 0123456789ab"),
            (format!("/system.slice/nerdctl-{ID}.scope"), "nerdctl 0123456789ab"),
            ("/lxc.payload.trainer/init.scope".to_owned(), "lxc trainer"),
            ("/lxc/trainer/ns".to_owned(), "lxc trainer"),
            ("/slurm/uid_1000/job_4711/step_0/task_0".to_owned(), "slurm job 4711"),
            ("/system.slice/slurmstepd.scope/job_12/step_0".to_owned(), "slurm job 12"),
        ];
        for (path, name) in cases {
            assert_eq!(container(&path).as_deref(), Some(name), "{path}");
        }
    }

    #[test]
    fn pods_are_named_by_their_host_name_else_by_their_uid() {
        let uid = "9b7f3c1e-1111-2222-3333-444455556666";
        let paths = [
            format!("/kubepods/burstable/pod{uid}/{ID}"),
            format!(
                "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{}.slice/cri-containerd-{ID}.scope",
                uid.replace('-', "_")
            ),
            format!("/kubepods.slice/kubepods-pod{}.slice/crio-{ID}.scope", uid.replace('-', "_")),
            format!(
                "/system.slice/containerd.service/kubepods-besteffort-pod{uid}.slice:cri-containerd:{ID}"
            ),
        ];
        for path in &paths[..3] {
            assert_eq!(container(path).as_deref(), Some("pod 9b7f3c1e-111 / 0123456789ab"), "{path}");
            let named = of(&format!("0::{path}"), Some("vllm-0"));
            assert_eq!(named.as_deref(), Some("pod vllm-0 / 0123456789ab"), "{path}");
        }
        assert!(container(&paths[3]).is_some_and(|name| name.contains("0123456789ab")));
    }

    #[test]
    fn version_one_and_hybrid_files_are_read_line_by_line() {
        let text =
            format!("12:pids:/user.slice\n11:memory:/docker/{ID}\n1:name=systemd:/docker/{ID}\n0::/\n");
        assert_eq!(of(&text, None).as_deref(), Some("docker 0123456789ab"));
    }

    #[test]
    fn a_process_of_the_host_is_in_no_container() {
        for path in [
            "/",
            "/init.scope",
            "/user.slice/user-1000.slice/session-3.scope",
            "/system.slice/sshd.service",
            "",
        ] {
            assert_eq!(container(path), None, "{path}");
        }
        assert_eq!(of("", None), None);
        assert_eq!(of("nonsense\n::\n:", None), None);
    }

    proptest! {
        #[test]
        fn nothing_that_stands_there_is_too_strange(text in "\\PC{0,200}", name in "\\PC{0,20}") {
            let _ = of(&text, Some(&name));
        }
    }
}
