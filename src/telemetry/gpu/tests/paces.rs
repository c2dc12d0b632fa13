//! What is asked how often, and what is carried between.

use super::*;
use crate::telemetry::GpuEvent;

#[test]
fn the_first_snapshot_says_why_its_counters_are_missing() {
    let first = take(&mut gpu(), &Fake::new(), SECOND);
    let mut gpm = counters::FIELDS.to_vec();
    gpm.sort_unstable();
    assert_eq!(missing_fields(&first.missing), gpm);
    assert!(first.missing["tensor_pct"].contains("first"));
    assert_eq!(missing_fields(&details(&first).missing), counters::LINKS);
    assert_eq!(first.power_w, Some(612.345));
}

#[test]
fn counters_are_read_ten_times_a_second_at_most_and_left_out_without_a_reason_between() {
    let fake = Fake::new();
    let mut gpu = gpu();
    let told: Vec<bool> = (0..50)
        .map(|tick| {
            let snapshot = take(&mut gpu, &fake, SECOND + tick * SECOND / 50);
            let missing =
                counters::FIELDS.iter().filter(|field| snapshot.missing.contains_key(**field)).count();
            assert_eq!(missing, if tick == 0 { counters::FIELDS.len() } else { 0 });
            snapshot.sm_pct.is_some()
        })
        .collect();
    assert_eq!(told.iter().filter(|told| **told).count(), 9);
    assert!(told[5] && !told[6] && told[10]);
}

#[test]
fn counters_that_have_not_moved_are_no_zero() {
    let fake = Fake::new();
    let mut gpu = gpu();
    take(&mut gpu, &fake, SECOND);
    fake.0.dram.set(f64::NAN);
    let still = take(&mut gpu, &fake, SECOND + TENTH);
    assert_eq!((still.sm_pct, still.dram_pct), (None, None));
    assert!(still.missing.is_empty(), "{:?}", still.missing);
    fake.0.dram.set(50.0);
    let moved = take(&mut gpu, &fake, SECOND + 2 * TENTH);
    assert_eq!(
        (moved.sm_pct, moved.dram_pct),
        (Some(97.5), Some(50.0)),
        "since the sample before the empty one"
    );
    // A GPU that never tells DRAM still tells the rest.
    fake.0.dram.set(f64::NAN);
    let late = take(&mut gpu, &fake, 3 * SECOND);
    assert_eq!(late.sm_pct, Some(97.5));
    assert!(late.missing["dram_pct"].contains("no figure"));
}

#[test]
fn one_counter_that_is_refused_leaves_the_other_counters() {
    let fake = Fake::failing(|question| (question == "sm").then_some(E::NotSupported));
    let mut gpu = gpu();
    let last = (1..=4).map(|tick| take(&mut gpu, &fake, tick * SECOND)).last().expect("four snapshots");
    assert_eq!(missing_fields(&last.missing), ["sm_pct"]);
    assert_eq!(last.tensor_pct, Some(61.5));
}

#[test]
fn a_failed_sample_starts_the_counters_anew() {
    let fake = Fake::new();
    let mut gpu = gpu();
    take(&mut gpu, &fake, SECOND);
    fake.fail(|question| (question == "gpm_sample").then_some(E::Timeout));
    let failed = take(&mut gpu, &fake, 2 * SECOND);
    assert_eq!(failed.missing["sm_pct"], failed.missing["pcie_rx_mib_s"]);
    fake.fail(|_| None);
    assert!(take(&mut gpu, &fake, 3 * SECOND).missing["sm_pct"].contains("first"));
    assert_eq!(take(&mut gpu, &fake, 4 * SECOND).sm_pct, Some(97.5));
}

#[test]
fn counters_are_left_alone_while_nobody_looks_and_when_they_are_switched_off() {
    let fake = Fake::new();
    let mut gpu = gpu();
    for tick in 1..=5 {
        let ask = Ask { now_ns: tick * SECOND, forced: false, counters: false };
        let snapshot = gpu.snapshot(ask, Ok(Vec::new()), || Ok(fake.clone()));
        assert_eq!((snapshot.sm_pct, snapshot.power_w), (None, Some(612.345)));
    }
    assert_eq!(fake.asked("gpm_sample"), 0);
    assert!(take(&mut gpu, &fake, 6 * SECOND).missing["sm_pct"].contains("first"));
    let mut off = Gpu::new(0, identify, Some("switched off".to_owned()));
    assert_eq!(take(&mut off, &fake, SECOND).missing["sm_pct"], "switched off");
    assert!(!off.info().gpm);
}

#[test]
fn without_gpm_the_slow_pcie_counter_is_asked_once_a_second() {
    let fake = Fake::failing(|question| (question == "has_gpm").then_some(E::NotSupported));
    let mut gpu = gpu();
    for tick in 0..20 {
        let snapshot = take(&mut gpu, &fake, SECOND + tick * TENTH);
        assert_eq!((snapshot.pcie_rx_mib_s, snapshot.pcie_tx_mib_s), (Some(2.0), Some(0.5)));
        assert!(snapshot.missing["dram_pct"].contains("Hopper"));
    }
    assert_eq!((fake.asked("pcie_rx"), fake.asked("gpm_sample")), (2, 0));
    assert!(!gpu.info().gpm);
}

#[test]
fn slow_questions_are_asked_every_two_seconds_and_their_answers_carried() {
    let fake = Fake::new();
    let mut gpu = gpu();
    let snapshots: Vec<_> = (0..40).map(|tick| take(&mut gpu, &fake, SECOND + tick * TENTH)).collect();
    assert_eq!(snapshots.iter().filter(|s| s.details.is_some()).count(), 4, "once a second in four seconds");
    assert_eq!(snapshots.iter().filter(|s| s.energy_mj.is_some()).count(), 1);
    assert!(snapshots.iter().all(|s| !s.missing.contains_key("energy_mj")), "not asked is not missing");
    assert_eq!((fake.asked("bar1"), fake.asked("p_state"), fake.asked("temperature")), (2, 4, 40));
    assert!(snapshots.iter().filter_map(|s| s.details.as_ref()).all(|d| d.bar1_used_bytes.is_some()));
    let carried = details(&snapshots[10]);
    assert_eq!(missing_fields(&carried.missing), counters::LINKS, "a reason is carried too");
}

#[test]
fn what_is_forced_is_asked_at_once() {
    let fake = Fake::new();
    let mut gpu = gpu();
    take(&mut gpu, &fake, SECOND);
    let ask = Ask { now_ns: SECOND + TENTH, forced: true, counters: true };
    let forced = gpu.snapshot(ask, Ok(Vec::new()), || Ok(fake.clone()));
    assert!(forced.energy_mj.is_some() && forced.details.is_some());
}

#[test]
fn processes_are_asked_when_memory_changes_and_once_a_second() {
    let fake = Fake::new();
    *fake.0.listed.borrow_mut() = vec![process(9, UsedGpuMemory::Used(1 << 30))];
    let mut gpu = gpu();
    for tick in 0..10 {
        let snapshot = take(&mut gpu, &fake, SECOND + tick * TENTH);
        assert_eq!(snapshot.processes.map(|p| p.len()), Some(1), "carried forward");
    }
    assert_eq!(fake.asked("processes"), 1);
    fake.0.memory.set(MemoryUse { used: 3 << 30, ..fake.0.memory.get() });
    fake.0.listed.borrow_mut().clear();
    let gone = take(&mut gpu, &fake, 2 * SECOND - TENTH / 2);
    assert_eq!(gone.processes, Some(vec![]));
    assert_eq!(fake.asked("processes"), 2);
}

#[test]
fn events_pass_and_their_absence_has_a_reason() {
    let fake = Fake::new();
    let mut gpu = gpu();
    let ask = Ask { now_ns: SECOND, forced: false, counters: true };
    let xid = GpuEvent::Xid { code: Some(79) };
    let snapshot = gpu.snapshot(ask, Ok(vec![xid.clone()]), || Ok(fake.clone()));
    assert_eq!(snapshot.events, [xid]);
    let later = Ask { now_ns: 2 * SECOND, ..ask };
    let snapshot = gpu.snapshot(later, Err("no events here"), || Ok(fake.clone()));
    assert_eq!(details(&snapshot).missing["events"], "no events here");
}
