//! Bytes that network interfaces receive and send, from `/proc/net/dev`.

use std::fs;
use std::path::Path;

use super::kernel_file::{KernelFile, Root};
use super::pace::Moment;
use super::rates::{Moved, Rates};

/// Beginnings of the names that container networks, tunnels and virtual switches give their interfaces. What goes
/// through these goes through a network card too, or never leaves the machine.
const VIRTUAL: &[&str] = &[
    "azv",
    "br-",
    "bridge",
    "cali",
    "cilium",
    "cni",
    "docker",
    "dummy",
    "eni",
    "erspan",
    "flannel",
    "gre",
    "ifb",
    "ip6",
    "ip_vti",
    "kube",
    "lxc",
    "lxd",
    "nodelocaldns",
    "ovs",
    "podman",
    "sit",
    "tailscale",
    "teql",
    "tunl",
    "veth",
    "virbr",
    "vmnet",
    "vnet",
    "vxlan",
    "weave",
    "wg",
    "zt",
];

/// Reads what network interfaces move.
#[derive(Debug)]
pub(super) struct Networks {
    root: Root,
    dev: KernelFile,
    /// Names in the file's order, and whether each counts: looked up again only when they change.
    known: Vec<(String, bool)>,
    rates: Rates,
}

impl Networks {
    pub(super) fn new(root: &Root) -> Self {
        // The link `/proc/net` leads to the network namespace of this process.
        Self {
            root: root.clone(),
            dev: root.file("/proc/net/dev"),
            known: Vec::new(),
            rates: Rates::default(),
        }
    }

    /// MiB/s received and sent since the call before.
    pub(super) fn mib_s(&mut self, at: Moment) -> Result<[f64; 2], String> {
        let now = self.counters();
        self.rates.mib_s(at, now)
    }

    fn counters(&mut self) -> Result<Vec<Moved>, String> {
        let Self { root, dev, known, .. } = self;
        let text = dev.text()?;
        let interfaces: Vec<_> = text.lines().filter_map(parse_interface).collect();
        if !interfaces.iter().map(|i| i.name).eq(known.iter().map(|(name, _)| name.as_str())) {
            *known = choose(&root.path("/sys/class/net"), interfaces.iter().map(|i| i.name));
        }
        let counted = interfaces.iter().zip(known.iter()).filter(|(_, (_, counts))| *counts);
        let moved: Vec<_> =
            counted.map(|(i, _)| Moved { device: i.name.to_owned(), bytes: i.bytes }).collect();
        if moved.is_empty() {
            Err("no network interface but loopback and virtual ones".to_owned())
        } else {
            Ok(moved)
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A network card, or what a hypervisor gives as one.
    Card,
    /// One end of a pair, or something unknown: in a container that is all there is.
    Plain,
    /// What would count a byte twice, or counts what never leaves the machine.
    Left,
}

/// Which of the interfaces count: cards, and what a container is given in their place.
fn choose<'a>(class: &Path, names: impl Iterator<Item = &'a str>) -> Vec<(String, bool)> {
    let kinds: Vec<_> = names.map(|name| (name, kind(class, name))).collect();
    let has_card = kinds.iter().any(|(_, kind)| *kind == Kind::Card);
    let counts = |name, kind| match kind {
        Kind::Card => true,
        // A pod may have a card of its own beside the pair that its network came with.
        Kind::Plain => !has_card || is_named_by_a_container_runtime(name),
        Kind::Left => false,
    };
    kinds.into_iter().map(|(name, kind)| (name.to_owned(), counts(name, kind))).collect()
}

/// `eth0`, or `net1` and so on where a pod has several networks.
fn is_named_by_a_container_runtime(name: &str) -> bool {
    let number = name.strip_prefix("eth").or_else(|| name.strip_prefix("net"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn kind(class: &Path, name: &str) -> Kind {
    let folder = class.join(name);
    if name == "lo" {
        return Kind::Left;
    }
    if folder.join("device").exists() {
        // Azure's synthetic card counts what its fast path (a second card below it) moves; the same holds for failover
        // pairs. A bond is no card, so its cards count and it does not.
        let master = fs::read_link(folder.join("master")).ok();
        let master = master.as_deref().and_then(Path::file_name).map(|name| class.join(name));
        let is_counted_above = master.is_some_and(|master| master.join("device").exists());
        return if is_counted_above { Kind::Left } else { Kind::Card };
    }
    let stands_on_others = fs::read_dir(&folder).is_ok_and(|entries| {
        let mut names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
        names.any(|entry| {
            let entry = entry.to_string_lossy();
            entry.starts_with("lower_") || entry == "bridge" || entry == "bonding"
        })
    });
    let is_virtual = stands_on_others || VIRTUAL.iter().any(|beginning| name.starts_with(beginning));
    if is_virtual { Kind::Left } else { Kind::Plain }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Interface<'a> {
    name: &'a str,
    /// Received and sent.
    bytes: [u64; 2],
}

fn parse_interface(line: &str) -> Option<Interface<'_>> {
    // Two lines of headings, then `name: bytes packets errs drop fifo frame compressed multicast bytes …`.
    let (name, columns) = line.rsplit_once(':')?;
    let mut columns = columns.split_whitespace();
    let received = columns.next()?.parse().ok()?;
    let sent = columns.nth(7)?.parse().ok()?;
    let name = name.trim();
    // A name that is a path would lead out of the folder it is looked up in.
    let is_name = !name.is_empty() && !name.contains('/') && name != "..";
    is_name.then_some(Interface { name, bytes: [received, sent] })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bytes_are_the_first_and_ninth_column() {
        let line = "  eth0: 1296 10 0 0 0 0 0 0 892 9 0 0 0 0 0 0";
        assert_eq!(parse_interface(line), Some(Interface { name: "eth0", bytes: [1296, 892] }));
        // Older kernels leave no room after the colon.
        let line = "eth0:4294967295 10 0 0 0 0 0 0 892 9 0 0 0 0 0 0";
        assert_eq!(parse_interface(line).map(|i| i.bytes[0]), Some(4_294_967_295));
        let heading =
            " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs";
        assert_eq!(parse_interface(heading), None);
    }

    #[test]
    fn names_that_container_runtimes_give_are_known() {
        for (name, expected) in
            [("eth0", true), ("net12", true), ("eth", false), ("eth0.100", false), ("netkit", false)]
        {
            assert_eq!(is_named_by_a_container_runtime(name), expected, "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_parser(text in "( |[0-9]{1,25}|eth0|:|\\PC){0,30}", bytes in any::<Vec<u8>>()) {
            let _ = parse_interface(&text);
            let _ = parse_interface(&String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn what_is_written_is_read(name in "[a-z][a-z0-9_.-]{0,14}", received: u64, sent: u64) {
            let line = format!("{name:>8}: {received} 1 2 3 4 5 6 7 {sent} 1 2 3 4 5 6 7");
            prop_assert_eq!(parse_interface(&line), Some(Interface { name: &name, bytes: [received, sent] }));
        }
    }
}
