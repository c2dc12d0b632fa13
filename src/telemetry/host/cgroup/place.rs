//! Where a process stands in the trees of control groups, of version 1, 2 or both at once.

use std::path::Path;

/// The groups of one controller that hold for a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// Whether the controller is in the single tree of version 2.
    pub(super) v2: bool,
    /// Where the tree is mounted.
    mount: String,
    /// The group below it, `""` for the topmost that is visible.
    own: String,
}

impl Place {
    /// Finds the groups of a controller from the texts of `/proc/self/cgroup` and `/proc/self/mountinfo`; `None` where
    /// no tree is mounted that has them.
    pub(super) fn find(controller: &str, memberships: &str, mounts: &str) -> Option<Self> {
        let memberships: Vec<_> = memberships.lines().filter_map(Membership::parse).collect();
        // In hybrid set-ups a controller is in one tree only: in that of version 1 if it is named there.
        let of_v1 = memberships.iter().find(|m| m.controllers.split(',').any(|name| name == controller));
        let (membership, v2) = match of_v1 {
            Some(membership) => (membership, false),
            None => (memberships.iter().find(|m| m.hierarchy == "0" && m.controllers.is_empty())?, true),
        };
        let fits = |mount: &Mount| {
            if v2 { mount.kind == "cgroup2" } else { mount.kind == "cgroup" && mount.has(controller) }
        };
        let mounts: Vec<_> = mounts.lines().filter_map(Mount::parse).filter(fits).collect();
        let below = |mount: &Mount| below(&membership.path, &mount.root).map(str::to_owned);
        let (mount, own) = match mounts.iter().find_map(|mount| Some((mount, below(mount)?))) {
            Some((mount, own)) => (mount, own),
            // A container of version 1 is told the host's path but shown only its own group, as the topmost.
            None => (mounts.first()?, String::new()),
        };
        Some(Self { v2, mount: mount.point.clone(), own })
    }

    /// Folders of the process's own group and of all groups above it that are visible. Each one's limits hold.
    pub(super) fn folders(&self, exists: impl Fn(&str) -> bool) -> Vec<String> {
        let full = format!("{}{}", self.mount, self.own);
        // What is not there was named from another point of view; then the topmost group is all that is known.
        let own = if exists(&full) { self.own.as_str() } else { "" };
        let ancestors = Path::new(own).ancestors().filter_map(Path::to_str);
        let folder = |group: &str| format!("{}{}", self.mount, group.trim_end_matches('/'));
        let mut folders: Vec<_> = ancestors.map(folder).collect();
        folders.dedup();
        folders
    }
}

/// Path of a group below the one that is mounted.
fn below<'a>(path: &'a str, mounted: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(mounted.trim_end_matches('/'))?;
    let is_whole_name = rest.is_empty() || rest.starts_with('/');
    // `..` tells of a group outside of the container's namespace, which cannot be seen.
    let is_visible = !rest.split('/').any(|name| name == "..");
    (is_whole_name && is_visible).then(|| rest.trim_end_matches('/'))
}

/// A line of `/proc/self/cgroup`.
#[derive(Debug, PartialEq, Eq)]
struct Membership {
    hierarchy: String,
    controllers: String,
    path: String,
}

impl Membership {
    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.splitn(3, ':');
        let mut next = || parts.next().map(str::to_owned);
        let membership = Self { hierarchy: next()?, controllers: next()?, path: next()? };
        membership.path.starts_with('/').then_some(membership)
    }
}

/// A line of `/proc/self/mountinfo`.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    /// Which part of the file system is mounted.
    root: String,
    point: String,
    kind: String,
    options: String,
}

impl Mount {
    fn parse(line: &str) -> Option<Self> {
        // id parent device root point options [tags…] - type source options
        let (place, what) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, point) = (unescape(place.next()?), unescape(place.next()?));
        let mut what = what.split(' ');
        let kind = what.next()?.to_owned();
        let options = what.nth(1)?.to_owned();
        Some(Self { root, point: point.trim_end_matches('/').to_owned(), kind, options })
    }

    fn has(&self, controller: &str) -> bool {
        self.options.split(',').any(|option| option == controller)
    }
}

/// The kernel writes spaces, tabs, line feeds and backslashes of paths as `\040` and so on.
fn unescape(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let octal = tail.get(..3).filter(|_| *first == b'\\').and_then(|digits| {
            digits.iter().try_fold(0_u32, |value, digit| Some(value * 8 + char::from(*digit).to_digit(8)?))
        });
        let escaped = octal.and_then(|value| u8::try_from(value).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &tail[3..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const V2_MOUNT: &str = "35 24 0:30 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

    fn folders(controller: &str, memberships: &str, mounts: &str) -> Vec<String> {
        Place::find(controller, memberships, mounts).map_or_else(Vec::new, |place| place.folders(|_| true))
    }

    #[test]
    fn groups_are_listed_from_the_own_one_up() {
        assert_eq!(
            folders("cpu", "0::/user.slice/app.scope\n", V2_MOUNT),
            ["/sys/fs/cgroup/user.slice/app.scope", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup",]
        );
        assert_eq!(folders("cpu", "0::/\n", V2_MOUNT), ["/sys/fs/cgroup"]);
        assert_eq!(folders("cpu", "0::/\n", ""), [""; 0]);
        assert_eq!(
            folders("cpu", "0::/../../other\n", V2_MOUNT),
            ["/sys/fs/cgroup"],
            "outside of the namespace"
        );
    }

    #[test]
    fn a_container_of_version_1_is_told_the_hosts_path() {
        let memberships = "5:memory:/docker/0a1b\n4:cpu,cpuacct:/docker/0a1b\n0::/\n";
        let mounted =
            "90 80 0:31 /docker/0a1b /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n";
        assert_eq!(folders("cpu", memberships, mounted), ["/sys/fs/cgroup/cpu,cpuacct"]);
        assert_eq!(folders("memory", memberships, mounted), [""; 0]);
        let elsewhere = mounted.replace("0:31 /docker/0a1b", "0:31 /kubepods/x");
        assert_eq!(folders("cpuacct", memberships, &elsewhere), ["/sys/fs/cgroup/cpu,cpuacct"]);
    }

    #[test]
    fn a_group_that_is_not_there_leaves_the_topmost() {
        let place = Place::find("memory", "0::/gone\n", V2_MOUNT).expect("a place");
        assert_eq!(place.folders(|_| false), ["/sys/fs/cgroup"]);
    }

    #[test]
    fn a_name_is_not_taken_for_the_beginning_of_another() {
        assert_eq!(below("/docker/abc/x", "/docker/ab"), None);
        assert_eq!(below("/docker/ab/x", "/docker/ab"), Some("/x"));
        assert_eq!(below("/", "/"), Some(""));
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_parsers(
            memberships in "(0::|4:cpu,cpuacct:|/|\\.\\.|a|\n|\\PC){0,30}",
            mounts in "([0-9]{1,3}| |/|cgroup2?|-| - |cpu|\\\\0?[0-9]|\n|\\PC){0,40}",
            bytes in any::<Vec<u8>>(),
        ) {
            let _ = folders("cpu", &memberships, &mounts);
            let text = String::from_utf8_lossy(&bytes);
            let _ = folders("cpu", &text, &text);
            let _ = unescape(&text);
        }

        #[test]
        fn what_is_written_is_read(root in "/[a-z \\\\\t]{0,12}[a-z]", point in "/[a-z \\\\\t]{0,12}[a-z]") {
            let escape = |path: &str| {
                path.replace('\\', "\\134").replace(' ', "\\040").replace('\t', "\\011")
            };
            let line = format!(
                "35 24 0:30 {} {} rw shared:9 master:1 - cgroup none rw,cpu,cpuacct", escape(&root), escape(&point)
            );
            let mount = Mount::parse(&line).expect("a good line");
            prop_assert!(mount.has("cpu") && !mount.has("memory"));
            prop_assert_eq!((mount.root, mount.point), (root, point));
        }
    }
}
