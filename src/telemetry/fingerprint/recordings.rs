//! The rules against what an H200 did, second by second.

use super::*;
use crate::lab::LabEvent;
use crate::lab::history::{self, Place};

const SECOND: u64 = 1_000_000_000;

struct Recorded {
    machine: Machine,
    snapshots: Vec<Snapshot>,
}

impl Recorded {
    fn of(name: &str) -> Self {
        let shipped = history::shipped().into_iter().find(|run| match &run.place {
            Place::Shipped(shipped) => shipped.starts_with(&format!("gpu-{name}-h200")),
            Place::File(_) => false,
        });
        let shipped = shipped.unwrap_or_else(|| panic!("gpu-{name}-h200 ships"));
        let events = history::load(&shipped.place).expect("a shipped recording");
        let snapshots = events.into_iter().filter_map(|event| match event {
            LabEvent::Snapshot(snapshot) => Some(snapshot),
            _ => None,
        });
        Self { machine: shipped.header.machine, snapshots: snapshots.collect() }
    }

    /// What three seconds look like, from this second of the recording on.
    fn at(&self, second: u64) -> Fingerprint {
        let snapshots: Vec<&Snapshot> = self.snapshots.iter().collect();
        let start_ns = snapshots[0].mono_ns + second * SECOND;
        of(&self.machine, &snapshots, 0, start_ns, start_ns + LIVE_NS).expect("readings")
    }
}

#[test]
fn every_workload_is_known_by_its_readings() {
    let cases = [
        ("idle", 6..=12, Pattern::Idle),
        ("matmul", 8..=11, Pattern::ComputeBound),
        ("copy", 8..=11, Pattern::BandwidthBound),
        ("spin", 8..=11, Pattern::Spinning),
        ("tiny-ops", 7..=10, Pattern::LaunchBound),
        ("decode", 8..=11, Pattern::BandwidthBound),
        ("train", 12..=15, Pattern::ComputeBound),
        ("starved", 12..=15, Pattern::Starved),
        ("killed", 6..=9, Pattern::ComputeBound),
    ];
    for (name, seconds, pattern) in cases {
        let recorded = Recorded::of(name);
        for second in seconds {
            let found = recorded.at(second);
            assert_eq!(found.pattern(), Some(pattern), "{name} at {second} s: {}", found.line(Lang::En));
        }
    }
}

#[test]
fn util_says_100_where_one_sm_of_132_waits() {
    let line = Recorded::of("spin").at(9).line(Lang::En);
    assert_eq!(line, "spinning: GPU-Util 100 % ≥ 90 %, SM active 0.8 % ≤ 10 %, power of limit 18 % ≤ 40 %");
}

#[test]
fn a_killed_process_gives_its_memory_back_and_leaves_the_list() {
    let recorded = Recorded::of("killed");
    let gpu = |s: &Snapshot| s.gpus[0].clone();
    let at = |second: u64| {
        let until = recorded.snapshots[0].mono_ns + second * SECOND;
        gpu(recorded.snapshots.iter().rfind(|s| s.mono_ns <= until).expect("a snapshot"))
    };
    let running = at(9);
    assert!(running.memory_used_bytes.is_some_and(|bytes| bytes > 40 << 30));
    assert_eq!(running.processes.map(|p| p.len()), Some(1));
    let last = gpu(recorded.snapshots.last().expect("snapshots"));
    assert!(last.memory_used_bytes.is_some_and(|bytes| bytes < 1 << 30));
    assert_eq!(last.processes, Some(Vec::new()));
}

#[test]
fn the_measured_ceilings_come_from_the_recordings_that_reach_them() {
    let ceiling = |field| crate::lab::ceiling::of(Some("NVIDIA H200"), field).map(|c| c.value);
    let tensor = ceiling("tensor_pct").expect("a matmul is recorded");
    let dram = ceiling("dram_pct").expect("a copy is recorded");
    assert!((92.0..95.0).contains(&tensor) && (88.0..91.0).contains(&dram), "{tensor} {dram}");
}
