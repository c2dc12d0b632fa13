//! Copies of `/proc` and `/sys` of several kinds of machines.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::super::HostReader;
use super::super::kernel_file::Root;

/// A directory that stands for `/`.
pub(super) struct Tree(TempDir);

const MEMINFO: &str = "\
MemTotal:       16384000 kB
MemFree:          512000 kB
MemAvailable:    8192000 kB
Buffers:          102400 kB
";

impl Tree {
    /// A machine with two processors and nothing else.
    pub(super) fn bare() -> Self {
        let tree = Self(tempfile::tempdir().expect("a directory"));
        tree.write("proc/meminfo", MEMINFO).write("proc/uptime", "1000.00 4000.00\n").cpus(&[[0, 0]; 2])
    }

    pub(super) fn reader(&self) -> HostReader {
        HostReader::new(&Root::at(self.0.path()))
    }

    pub(super) fn write(self, path: &str, text: &str) -> Self {
        self.set(path, text);
        self
    }

    /// Writes over a file in place, as the kernel's files change under an open handle.
    pub(super) fn set(&self, path: &str, text: &str) {
        self.set_bytes(path, text.as_bytes());
    }

    pub(super) fn set_bytes(&self, path: &str, bytes: &[u8]) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().expect("below the root")).expect("made");
        fs::write(path, bytes).expect("written");
    }

    pub(super) fn remove(&self, path: &str) {
        fs::remove_file(self.0.path().join(path)).expect("removed");
    }

    pub(super) fn folder(self, path: &str) -> Self {
        fs::create_dir_all(self.0.path().join(path)).expect("made");
        self
    }

    pub(super) fn link(self, path: &str, to: &str) -> Self {
        symlink(to, self.0.path().join(path)).expect("linked");
        self
    }

    fn cpus(self, each: &[[u64; 2]]) -> Self {
        self.set_cpus(each);
        self
    }

    /// Busy and idle ticks of each processor.
    pub(super) fn set_cpus(&self, each: &[[u64; 2]]) {
        let sum = |way: usize| each.iter().map(|ticks| ticks[way]).sum::<u64>();
        let mut text = format!("cpu  {} 0 0 {} 0 0 0 0 0 0\n", sum(0), sum(1));
        for (number, [busy, idle]) in each.iter().enumerate() {
            writeln!(text, "cpu{number} {busy} 0 0 {idle} 0 0 0 0 0 0").expect("a string");
        }
        text.push_str("intr 12345 0 0\nctxt 987\nbtime 1700000000\n");
        self.set("proc/stat", &text);
    }

    /// Sectors read and written of each block device.
    pub(super) fn set_disks(&self, devices: &[(&str, u64, u64)]) {
        let line = |(name, read, written): &(&str, u64, u64)| {
            format!(" 259 0 {name} 10 0 {read} 5 20 0 {written} 9 0 3 14 0 0 0 0 0 0\n")
        };
        self.set("proc/diskstats", &devices.iter().map(line).collect::<String>());
    }

    /// Bytes received and sent of each interface.
    pub(super) fn set_networks(&self, interfaces: &[(&str, u64, u64)]) {
        let mut text =
            "Inter-|   Receive                            |  Transmit\n face |bytes packets|bytes\n"
                .to_owned();
        for (name, received, sent) in interfaces {
            writeln!(text, "{name:>6}: {received} 9 0 0 0 0 0 0 {sent} 8 0 0 0 0 0 0").expect("a string");
        }
        self.set("proc/net/dev", &text);
    }

    pub(super) fn set_pressure(&self, cpu: &str, memory: &str, io: &str) {
        for (resource, share) in [("cpu", cpu), ("memory", memory), ("io", io)] {
            let text = format!("some avg10={share} avg60=9.00 avg300=9.00 total=62715648\n");
            self.set(&format!("proc/pressure/{resource}"), &text);
        }
    }
}

/// A laptop with an encrypted disk, Docker, and no limits.
pub(super) fn laptop() -> Tree {
    let tree = Tree::bare()
        .folder("sys/block/nvme0n1/device")
        .folder("sys/block/dm-0/slaves/nvme0n1p2")
        .folder("sys/block/loop0")
        .folder("sys/block/zram0")
        .folder("sys/class/net/lo")
        .folder("sys/class/net/wlp0s20f3/device")
        .folder("sys/class/net/docker0/bridge")
        .folder("sys/class/net/br-0a1b/bridge")
        .folder("sys/class/net/veth12ab")
        .folder("sys/class/net/wg0")
        .write("proc/self/cgroup", "0::/user.slice/user-1000.slice/app.scope\n")
        .write("proc/self/mountinfo", "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n")
        .write("sys/fs/cgroup/cpu.stat", "usage_usec 1\n");
    for group in ["user.slice", "user.slice/user-1000.slice", "user.slice/user-1000.slice/app.scope"] {
        tree.set(&format!("sys/fs/cgroup/{group}/cpu.max"), "max 100000\n");
        tree.set(&format!("sys/fs/cgroup/{group}/memory.max"), "max\n");
    }
    tree.set_pressure("1.50", "0.25", "12.00");
    tree.set_disks(&[
        ("nvme0n1", 0, 0),
        ("nvme0n1p1", 0, 0),
        ("nvme0n1p2", 0, 0),
        ("dm-0", 0, 0),
        ("loop0", 0, 0),
    ]);
    tree.set_networks(&[
        ("lo", 0, 0),
        ("wlp0s20f3", 0, 0),
        ("docker0", 0, 0),
        ("veth12ab", 0, 0),
        ("wg0", 0, 0),
    ]);
    tree
}

/// A pod: its own group as the topmost, one end of a pair as its network, the quota at the pod's and not at the
/// process's group.
pub(super) fn pod() -> Tree {
    let tree = Tree::bare()
        .folder("sys/block/nvme0n1/device")
        .folder("sys/class/net/eth0")
        .write("proc/self/cgroup", "0::/worker\n")
        .write(
            "proc/self/mountinfo",
            "900 800 0:28 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n\
             901 800 0:29 / /proc rw - proc proc rw\n",
        )
        .write("sys/fs/cgroup/cpu.max", "250000 100000\n")
        .write("sys/fs/cgroup/worker/cpu.max", "max 100000\n")
        .write("sys/fs/cgroup/memory.max", "17179869184\n")
        .write("sys/fs/cgroup/worker/memory.max", "34359738368\n")
        .write("sys/fs/cgroup/memory.current", "6442450944\n")
        .write("sys/fs/cgroup/memory.stat", "anon 1\nfile 3\ninactive_file 2147483648\nactive_file 1\n")
        .write("sys/fs/cgroup/worker/memory.current", "4096\n");
    tree.set(
        "sys/fs/cgroup/cpu.stat",
        "usage_usec 1000000\nnr_periods 100\nnr_throttled 10\nthrottled_usec 5\n",
    );
    tree.set("sys/fs/cgroup/worker/cpu.stat", "usage_usec 0\n");
    tree.set_pressure("0.00", "0.00", "0.00");
    tree.set_disks(&[("nvme0n1", 0, 0)]);
    tree.set_networks(&[("lo", 0, 0), ("eth0", 0, 0)]);
    tree
}

/// A container of Docker with control groups of version 1: it is told the host's path and shown only its own group.
pub(super) fn docker_v1() -> Tree {
    let id = "0a1b2c3d";
    let mount = |controllers: &str, number: u32| {
        format!(
            "{number} 80 0:{number} /docker/{id} /sys/fs/cgroup/{controllers} ro - cgroup cgroup rw,{controllers}\n"
        )
    };
    Tree::bare()
        .write(
            "proc/self/cgroup",
            &format!("9:memory:/docker/{id}\n4:cpu,cpuacct:/docker/{id}\n0::/docker/{id}\n"),
        )
        .write("proc/self/mountinfo", &(mount("cpu,cpuacct", 40) + &mount("memory", 41)))
        .write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "400000\n")
        .write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n")
        .write("sys/fs/cgroup/cpu,cpuacct/cpu.stat", "nr_periods 50\nnr_throttled 0\nthrottled_time 0\n")
        .write("sys/fs/cgroup/cpu,cpuacct/cpuacct.usage", "7000000000\n")
        .write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
        .write("sys/fs/cgroup/memory/memory.usage_in_bytes", "3221225472\n")
        .write("sys/fs/cgroup/memory/memory.stat", "inactive_file 5\ntotal_inactive_file 1073741824\n")
}

/// A host where memory is limited in a tree of version 1 while processes are kept in one of version 2.
pub(super) fn hybrid() -> Tree {
    Tree::bare()
        .write("proc/self/cgroup", "4:memory:/batch/job7\n2:cpuacct:/batch\n1:cpu:/\n0::/session.scope\n")
        .write(
            "proc/self/mountinfo",
            "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
             33 31 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n\
             35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
             41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
        )
        .write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
        .write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
        .write("sys/fs/cgroup/cpu/cpu.stat", "nr_periods 0\nnr_throttled 0\n")
        .write("sys/fs/cgroup/cpuacct/batch/cpuacct.usage", "1000000000\n")
        .write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
        .write("sys/fs/cgroup/memory/batch/memory.limit_in_bytes", "8589934592\n")
        .write("sys/fs/cgroup/memory/batch/memory.usage_in_bytes", "2147483648\n")
        .write("sys/fs/cgroup/memory/batch/memory.stat", "total_inactive_file 0\n")
        .write("sys/fs/cgroup/memory/batch/job7/memory.limit_in_bytes", "9223372036854771712\n")
        .write("sys/fs/cgroup/unified/memory.max", "1\n")
}
