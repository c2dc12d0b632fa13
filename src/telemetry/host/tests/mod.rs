//! The reader over copies of several machines' `/proc` and `/sys`.

mod tree;

use proptest::prelude::*;

use super::*;
use crate::telemetry::CgroupLimits;
use tree::{Tree, docker_v1, hybrid, laptop, pod};

const MS: u64 = 1_000_000;
/// Sectors of a MiB.
const MIB: u64 = 2048;

fn details(reader: &mut HostReader, ms: u64) -> HostDetails {
    *reader.snapshot_at(ms * MS, None).details.expect("details are due")
}

fn why(details: &HostDetails, field: &str) -> String {
    details.missing.get(field).cloned().unwrap_or_else(|| panic!("{field} is missing without a reason"))
}

#[test]
fn a_laptops_readings_are_those_of_its_hardware_alone() {
    let tree = laptop();
    let mut reader = tree.reader();
    let first = details(&mut reader, 0);
    assert_eq!(first.io_pressure_pct, Some(12.0));
    for field in ["cpus_pct", "disk_read_mib_s", "disk_write_mib_s", "network_rx_mib_s", "network_tx_mib_s"] {
        assert!(why(&first, field).contains("this is the first"), "{field}");
    }
    tree.set_cpus(&[[100, 0], [0, 100]]);
    tree.set_disks(&[
        ("nvme0n1", 10 * MIB, 4 * MIB),
        ("nvme0n1p1", 0, 0),
        ("nvme0n1p2", 10 * MIB, 4 * MIB),
        ("dm-0", 10 * MIB, 4 * MIB),
        ("loop0", 99 * MIB, 0),
    ]);
    let mib = 1 << 20;
    tree.set_networks(&[
        ("lo", 50 * mib, 50 * mib),
        ("wlp0s20f3", 6 * mib, 2 * mib),
        ("docker0", mib, mib),
        ("veth12ab", mib, mib),
        ("wg0", mib, mib),
    ]);
    let second = details(&mut reader, 2000);
    assert_eq!(second.cpus_pct, Some(vec![100.0, 0.0]));
    assert_eq!((second.disk_read_mib_s, second.disk_write_mib_s), (Some(5.0), Some(2.0)));
    assert_eq!((second.network_rx_mib_s, second.network_tx_mib_s), (Some(3.0), Some(1.0)));
    assert_eq!((second.cpu_pressure_pct, second.memory_pressure_pct), (Some(1.5), Some(0.25)));
    assert_eq!(second.cgroup, None);
    assert!(why(&second, "cgroup_cpu").contains("no control group sets a limit"));
}

#[test]
fn a_pods_limits_are_found_above_its_process() {
    let tree = pod();
    let mut reader = tree.reader();
    details(&mut reader, 0);
    tree.set(
        "sys/fs/cgroup/cpu.stat",
        "usage_usec 4000000\nnr_periods 120\nnr_throttled 15\nthrottled_usec 9\n",
    );
    tree.set_networks(&[("lo", 1 << 30, 1 << 30), ("eth0", 4 << 20, 2 << 20)]);
    let second = details(&mut reader, 2000);
    assert_eq!(
        second.cgroup,
        Some(CgroupLimits {
            cpu_limit: Some(2.5),
            cpu_used: Some(1.5),
            cpu_throttled_pct: Some(25.0),
            memory_limit_bytes: Some(16 << 30),
            memory_used_bytes: Some(4 << 30),
        })
    );
    assert_eq!((second.network_rx_mib_s, second.network_tx_mib_s), (Some(2.0), Some(1.0)));
}

#[test]
fn a_limit_that_is_changed_or_moved_is_followed() {
    let tree = pod();
    let mut reader = tree.reader();
    details(&mut reader, 0);
    tree.set("sys/fs/cgroup/worker/cpu.max", "50000 100000\n");
    let tighter = details(&mut reader, 1000);
    assert_eq!(tighter.cgroup.as_ref().and_then(|cgroup| cgroup.cpu_limit), Some(0.5));
    assert!(why(&tighter, "cgroup_cpu").contains("first"), "another group counts from here on");
    assert!(why(&tighter, "cgroup_throttled").contains("no nr_periods"));
    tree.set("proc/self/cgroup", "0::/\n");
    let moved = details(&mut reader, 2000);
    assert_eq!(moved.cgroup.and_then(|cgroup| cgroup.cpu_limit), Some(2.5));
    tree.set("sys/fs/cgroup/cpu.stat", "usage_usec 0\nnr_periods 0\nnr_throttled 0\n");
    assert!(why(&details(&mut reader, 3000), "cgroup_cpu").contains("went back"));
    assert!(why(&details(&mut reader, 4000), "cgroup_throttled").contains("no period"));
}

#[test]
fn docker_with_version_1_has_its_own_group_as_the_topmost() {
    let tree = docker_v1();
    let mut reader = tree.reader();
    details(&mut reader, 0);
    tree.set("sys/fs/cgroup/cpu,cpuacct/cpuacct.usage", "9500000000\n");
    tree.set("sys/fs/cgroup/cpu,cpuacct/cpu.stat", "nr_periods 60\nnr_throttled 1\nthrottled_time 9\n");
    assert_eq!(
        details(&mut reader, 1000).cgroup,
        Some(CgroupLimits {
            cpu_limit: Some(4.0),
            cpu_used: Some(2.5),
            cpu_throttled_pct: Some(10.0),
            memory_limit_bytes: None,
            memory_used_bytes: Some(2 << 30),
        })
    );
}

#[test]
fn in_a_hybrid_set_up_each_controller_is_read_where_it_is() {
    let tree = hybrid();
    let mut reader = tree.reader();
    details(&mut reader, 0);
    tree.set("sys/fs/cgroup/cpuacct/batch/cpuacct.usage", "1250000000\n");
    let second = details(&mut reader, 1000);
    assert_eq!(
        second.cgroup,
        Some(CgroupLimits {
            cpu_limit: None,
            cpu_used: Some(0.25),
            cpu_throttled_pct: None,
            memory_limit_bytes: Some(8 << 30),
            memory_used_bytes: Some(2 << 30),
        })
    );
    assert_eq!(why(&second, "cgroup_throttled"), "no quota is set");
}

#[test]
fn one_busy_thread_is_seen_on_a_host_of_128_processors() {
    let tree = Tree::bare();
    tree.set_cpus(&[[0, 0]; 128]);
    let mut reader = tree.reader();
    reader.snapshot_at(0, None);
    let mut cpus = [[0, 100]; 128];
    cpus[77] = [100, 0];
    tree.set_cpus(&cpus);
    let snapshot = reader.snapshot_at(1000 * MS, None);
    assert_eq!(snapshot.cpu_pct, Some(0.78125));
    assert_eq!(snapshot.cpu_busiest_pct, Some(100.0));
    let each = snapshot.details.and_then(|details| details.cpus_pct).expect("a second reading");
    assert_eq!((each.len(), each[76], each[77]), (128, 0.0, 100.0));
}

#[test]
fn the_load_is_read_ten_times_a_second_and_carried_between() {
    let tree = Tree::bare();
    let mut reader = tree.reader();
    let mut loads = Vec::new();
    for tick in 0..100_u64 {
        // Another load at every tick, so that a value that was read anew shows.
        tree.set_cpus(&[[tick * tick, tick * 50]; 2]);
        let snapshot = reader.snapshot_at(tick * 20 * MS, None);
        assert_eq!(snapshot.cpu_pct.is_none(), snapshot.missing.contains_key("cpu_pct"));
        loads.push(snapshot.cpu_pct);
    }
    let changes = loads.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!((10..=21).contains(&changes), "{changes} readings in 2 s: {loads:?}");
}

#[test]
fn details_come_at_once_again_soon_and_then_once_a_second() {
    let tree = laptop();
    let mut reader = tree.reader();
    let with_details: Vec<_> =
        (0..150_u64).filter(|tick| reader.snapshot_at(tick * 20 * MS, None).details.is_some()).collect();
    assert_eq!(with_details, [0, 3, 53, 103]);
}

#[test]
fn a_kernel_without_pressure_statistics_says_what_is_missing() {
    let tree = Tree::bare();
    let details = details(&mut tree.reader(), 0);
    assert_eq!(details.cpu_pressure_pct, None);
    assert!(why(&details, "io_pressure_pct").contains("CONFIG_PSI"));
    assert!(why(&details, "disk_read_mib_s").contains("cannot read /proc/diskstats"));
    assert!(why(&details, "network_rx_mib_s").contains("cannot read /proc/net/dev"));
    assert!(why(&details, "cgroup_memory").contains("cannot read /proc/self/cgroup"));
}

#[test]
fn without_any_file_everything_is_missing_with_its_reason() {
    let tree = Tree::bare();
    for file in ["proc/stat", "proc/meminfo", "proc/uptime"] {
        tree.remove(file);
    }
    let snapshot = tree.reader().snapshot_at(0, Some(1));
    let fields =
        ["cpu_busiest_pct", "cpu_pct", "memory_total_bytes", "memory_used_bytes", "worker_rss_bytes"];
    assert_eq!(snapshot.missing.keys().collect::<Vec<_>>(), fields);
    let details = snapshot.details.expect("details come first");
    assert!(why(&details, "cpus_pct").contains("cannot read /proc/stat"));
}

#[test]
fn processors_disks_and_cards_that_come_are_a_gap_and_then_count() {
    let tree = laptop().folder("sys/block/nvme1n1/device").folder("sys/class/net/enp3s0/device");
    let mut reader = tree.reader();
    details(&mut reader, 0);
    tree.set_cpus(&[[0, 100], [0, 100], [0, 9_000_000]]);
    tree.set_disks(&[("nvme0n1", 0, 0), ("nvme1n1", 1 << 40, 0)]);
    tree.set_networks(&[("wlp0s20f3", 0, 0), ("enp3s0", 1 << 50, 0)]);
    let snapshot = reader.snapshot_at(1000 * MS, None);
    assert!(snapshot.missing["cpu_pct"].contains("came or went"));
    let gap = snapshot.details.expect("details are due");
    assert!(why(&gap, "cpus_pct").contains("came or went"));
    assert!(why(&gap, "disk_read_mib_s").contains("nvme1n1 came"));
    assert!(why(&gap, "network_rx_mib_s").contains("enp3s0 came"));
    tree.set_cpus(&[[50, 150], [0, 200], [100, 9_000_000]]);
    tree.set_disks(&[("nvme0n1", 0, 0), ("nvme1n1", (1 << 40) + MIB, 0)]);
    tree.set_networks(&[("wlp0s20f3", 0, 0), ("enp3s0", (1 << 50) + (1 << 20), 0)]);
    let snapshot = reader.snapshot_at(2000 * MS, None);
    assert_eq!(snapshot.cpu_busiest_pct, Some(100.0));
    let after = snapshot.details.expect("details are due");
    assert_eq!((after.disk_read_mib_s, after.network_rx_mib_s), (Some(1.0), Some(1.0)));
}

#[test]
fn a_suspended_machine_is_a_gap_for_everything_that_is_counted() {
    let tree = laptop();
    let mut reader = tree.reader();
    details(&mut reader, 0);
    tree.set("proc/uptime", "5000.00 9000.00\n");
    tree.set_cpus(&[[50, 50]; 2]);
    // Noticed in a snapshot that reads the load alone, and told in the next that has details too.
    let woken = reader.snapshot_at(45 * MS, None);
    assert_eq!(woken.details, None);
    assert!(woken.missing["cpu_pct"].contains("suspended"));
    let gap = details(&mut reader, 60);
    for field in ["cpus_pct", "disk_read_mib_s", "network_tx_mib_s"] {
        assert!(why(&gap, field).contains("suspended"), "{field}");
    }
    tree.set("proc/uptime", "5001.00 9001.00\n");
    tree.set_cpus(&[[50, 150]; 2]);
    let after = details(&mut reader, 1060);
    assert_eq!((after.cpus_pct, after.disk_read_mib_s), (Some(vec![0.0, 0.0]), Some(0.0)));
}

#[test]
fn hidden_paths_network_disks_and_bonds_are_counted_once() {
    let tree = Tree::bare()
        .folder("sys/block/nvme0n1/device")
        .folder("sys/block/nvme0c0n1/device")
        .write("sys/block/nvme0c0n1/hidden", "1\n")
        .folder("sys/block/nbd0")
        .folder("sys/block/cciss!c0d0/device")
        .folder("sys/block/md0/slaves/sda")
        .folder("sys/class/net/bond0/bonding")
        .folder("sys/class/net/enp1s0/device")
        .folder("sys/class/net/enp2s0/device")
        .link("sys/class/net/enp1s0/master", "../bond0")
        .folder("sys/class/net/eth0/device")
        .link("sys/class/net/enp2s0/master", "../eth0")
        .folder("sys/class/net/bond0.100/lower_bond0")
        .folder("sys/class/net/net1")
        .folder("sys/class/net/vlan7");
    let disks = ["nvme0n1", "nvme0c0n1", "nbd0", "cciss/c0d0", "md0"];
    let networks = ["bond0", "enp1s0", "enp2s0", "eth0", "bond0.100", "net1", "vlan7"];
    let set = |count: u64| {
        tree.set_disks(&disks.map(|name| (name, count * MIB, 0)));
        tree.set_networks(&networks.map(|name| (name, count << 20, 0)));
    };
    let mut reader = tree.reader();
    set(0);
    details(&mut reader, 0);
    set(1);
    let second = details(&mut reader, 1000);
    assert_eq!(second.disk_read_mib_s, Some(3.0), "nvme0n1, nbd0 and cciss/c0d0");
    assert_eq!(second.network_rx_mib_s, Some(3.0), "enp1s0, eth0 and net1");
}

#[test]
fn a_machine_without_disks_or_cards_has_no_rate_of_zero() {
    let tree = laptop();
    tree.set_disks(&[("loop0", 0, 0)]);
    tree.set_networks(&[("lo", 0, 0), ("docker0", 0, 0)]);
    let details = details(&mut tree.reader(), 0);
    assert!(why(&details, "disk_read_mib_s").contains("no disk"));
    assert!(why(&details, "network_rx_mib_s").contains("no network interface"));
}

#[test]
fn the_workers_memory_is_followed_until_it_ends() {
    let tree = Tree::bare().write("proc/42/status", "Name:\tworker\nVmRSS:\t 102400 kB\n");
    let mut reader = tree.reader();
    assert_eq!(reader.snapshot_at(0, Some(42)).worker_rss_bytes, Some(104_857_600));
    let gone = reader.snapshot_at(20 * MS, Some(43));
    assert_eq!(gone.worker_rss_bytes, None);
    assert!(gone.missing["worker_rss_bytes"].contains("43"));
    assert!(!reader.snapshot_at(40 * MS, None).missing.contains_key("worker_rss_bytes"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_bytes_in_any_file_break_the_reader_or_make_a_share_over_100(
        contents in prop::collection::vec(prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            "([0-9]{1,20}|max|cpu[0-9]?|sda|eth0:| |\n){0,60}".prop_map(String::into_bytes),
        ], 12),
    ) {
        let tree = pod();
        let mut reader = tree.reader();
        let files = [
            "proc/stat", "proc/meminfo", "proc/uptime", "proc/diskstats", "proc/net/dev", "proc/pressure/io",
            "sys/fs/cgroup/cpu.max", "sys/fs/cgroup/cpu.stat", "sys/fs/cgroup/memory.max",
            "sys/fs/cgroup/memory.current", "proc/self/cgroup", "proc/self/mountinfo",
        ];
        for (second, (file, bytes)) in files.iter().zip(&contents).enumerate() {
            tree.set_bytes(file, bytes);
            let snapshot = reader.snapshot_at(second as u64 * 1000 * MS, Some(7));
            let details = snapshot.details.expect("details are due");
            let throttled = details.cgroup.and_then(|cgroup| cgroup.cpu_throttled_pct);
            let shares = [snapshot.cpu_pct, snapshot.cpu_busiest_pct, details.io_pressure_pct, throttled];
            prop_assert!(shares.into_iter().flatten().all(|pct| (0.0..=100.0).contains(&pct)), "{shares:?}");
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn this_machine_reads() {
    let machine = HostReader::machine();
    assert!(machine.hostname.is_some());
    assert!(machine.cpu_count.is_some_and(|count| count >= 1));
    let snapshot = HostReader::default().snapshot(Some(u32::MAX));
    assert_eq!(snapshot.memory_total_bytes, machine.memory_total_bytes);
    assert!(snapshot.memory_used_bytes.is_some_and(|used| used > 0));
    assert_eq!(snapshot.worker_rss_bytes, None);
    let first = ["cpu_busiest_pct", "cpu_pct", "worker_rss_bytes"];
    assert_eq!(snapshot.missing.keys().collect::<Vec<_>>(), first);
}
