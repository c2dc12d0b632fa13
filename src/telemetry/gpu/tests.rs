//! Every kind of answer that a driver can give.

use std::cell::Cell;

use nvml_wrapper::error::NvmlError as E;

use super::fake::Fake;
use super::*;

const SECOND: u64 = 1_000_000_000;

fn gpu() -> Gpu<Fake> {
    Gpu::new(0, |pid| (pid != 7).then(|| format!("process-{pid}")))
}

/// Two snapshots a tenth of a second apart; the second one.
fn second_snapshot(fake: &Fake) -> GpuSnapshot {
    let mut gpu = gpu();
    gpu.snapshot(SECOND, || Ok(fake.clone()));
    gpu.snapshot(SECOND + SECOND / 10, || Ok(fake.clone()))
}

fn missing_fields(snapshot: &GpuSnapshot) -> Vec<&str> {
    snapshot.missing.keys().map(String::as_str).collect()
}

/// Names of the fields that are `null` when written as JSON.
fn null_fields(snapshot: &GpuSnapshot) -> Vec<String> {
    let json = serde_json::to_value(snapshot).expect("plain data");
    let fields = json.as_object().expect("an object").iter();
    fields.filter(|(_, value)| value.is_null()).map(|(field, _)| field.clone()).collect()
}

#[test]
fn a_gpu_that_answers_everything_misses_nothing() {
    let snapshot = second_snapshot(&Fake::new());
    let expected = GpuSnapshot {
        index: 0,
        util_pct: Some(100.0),
        memory_util_pct: Some(30.0),
        sm_pct: Some(97.5),
        sm_occupancy_pct: Some(45.0),
        tensor_pct: Some(61.5),
        dram_pct: Some(100.0),
        memory_used_bytes: Some(2 << 30),
        memory_total_bytes: Some(140 << 30),
        power_w: Some(612.345),
        sm_clock_mhz: Some(1980),
        memory_clock_mhz: Some(3201),
        clock_reasons: Some(vec!["software power cap".to_owned()]),
        temperature_c: Some(54),
        pcie_rx_mib_s: Some(12.5),
        pcie_tx_mib_s: Some(0.5),
        energy_mj: Some(123_456),
        processes: Some(vec![]),
        ..GpuSnapshot::default()
    };
    assert_eq!(snapshot, expected);
}

#[test]
fn the_first_snapshot_says_why_its_counters_are_missing() {
    let fake = Fake::new();
    let first = gpu().snapshot(SECOND, || Ok(fake.clone()));
    let mut gpm = GPM.to_vec();
    gpm.sort_unstable();
    assert_eq!(missing_fields(&first), gpm);
    assert!(first.missing["tensor_pct"].contains("first"));
    assert_eq!(first.power_w, Some(612.345));
}

#[test]
fn one_reading_that_fails_hides_no_other() {
    type Fail = fn(&str) -> Option<E>;
    let cases: [(Fail, &[&str]); 8] = [
        (|question| (question == "power").then_some(E::NotSupported), &["power_w"]),
        (|question| (question == "utilization").then_some(E::NoPermission), &["memory_util_pct", "util_pct"]),
        (
            |question| (question == "memory").then_some(E::Unknown),
            &["memory_total_bytes", "memory_used_bytes"],
        ),
        (|question| (question == "tensor").then_some(E::NotSupported), &["tensor_pct"]),
        (|question| (question == "gpm_pcie_rx").then_some(E::NoData), &["pcie_rx_mib_s"]),
        (|question| (question == "clock_reasons").then_some(E::FunctionNotFound), &["clock_reasons"]),
        (
            |question| (question == "energy").then(|| E::FailedToLoadSymbol("nvml…".to_owned())),
            &["energy_mj"],
        ),
        (|question| (question == "processes").then_some(E::Timeout), &["processes"]),
    ];
    for (fail, fields) in cases {
        let snapshot = second_snapshot(&Fake::failing(fail));
        assert_eq!(missing_fields(&snapshot), fields);
        assert_eq!(null_fields(&snapshot), fields);
        assert!(snapshot.missing.values().all(|why| !why.is_empty()));
    }
}

#[test]
fn every_missing_reading_is_null_and_has_a_reason_when_the_gpu_is_gone() {
    let snapshot = absent(3, "gone");
    assert_eq!(snapshot.index, 3);
    assert_eq!(missing_fields(&snapshot), null_fields(&snapshot));
    assert_eq!(snapshot.missing.len(), FIELDS.len());
}

#[test]
fn what_is_never_answered_is_asked_once_and_what_failed_is_asked_again() {
    let fake = Fake::failing(|question| match question {
        "power" => Some(E::NotSupported),
        "energy" => Some(E::Timeout),
        _ => None,
    });
    let mut gpu = gpu();
    for tick in 1..=5 {
        let snapshot = gpu.snapshot(tick * SECOND, || Ok(fake.clone()));
        assert!(snapshot.missing["power_w"].contains("not supported"));
    }
    assert_eq!((fake.asked("power"), fake.asked("energy")), (1, 5));
}

#[test]
fn one_counter_that_is_refused_leaves_the_other_counters() {
    let fake = Fake::failing(|question| (question == "sm").then_some(E::NotSupported));
    let mut gpu = gpu();
    let last =
        (1..=4).map(|tick| gpu.snapshot(tick * SECOND, || Ok(fake.clone()))).last().expect("four snapshots");
    assert_eq!(missing_fields(&last), ["sm_pct"]);
    assert_eq!(last.tensor_pct, Some(61.5));
}

#[test]
fn a_failed_sample_starts_the_counters_anew() {
    let fake = Fake::new();
    let mut gpu = gpu();
    gpu.snapshot(SECOND, || Ok(fake.clone()));
    fake.fail(|question| (question == "gpm_sample").then_some(E::Timeout));
    let failed = gpu.snapshot(2 * SECOND, || Ok(fake.clone()));
    assert_eq!(failed.missing["sm_pct"], failed.missing["pcie_rx_mib_s"]);
    fake.fail(|_| None);
    assert!(gpu.snapshot(3 * SECOND, || Ok(fake.clone())).missing["sm_pct"].contains("first"));
    assert_eq!(gpu.snapshot(4 * SECOND, || Ok(fake.clone())).sm_pct, Some(97.5));
}

#[test]
fn without_gpm_the_slow_pcie_counter_is_asked_once_a_second() {
    let fake = Fake::failing(|question| (question == "has_gpm").then_some(E::NotSupported));
    let mut gpu = gpu();
    for tick in 0..20 {
        let snapshot = gpu.snapshot(SECOND + tick * SECOND / 10, || Ok(fake.clone()));
        assert_eq!((snapshot.pcie_rx_mib_s, snapshot.pcie_tx_mib_s), (Some(2.0), Some(0.5)));
        assert!(snapshot.missing["dram_pct"].contains("Hopper"));
    }
    assert_eq!((fake.asked("pcie_rx"), fake.asked("gpm_sample")), (2, 0));
    assert!(!gpu.info().gpm);
}

#[test]
fn mig_is_named_as_the_reason() {
    let fake = Fake::failing(|question| {
        matches!(question, "is_mig" | "utilization" | "has_gpm").then_some(E::NotSupported)
    });
    let snapshot = second_snapshot(&fake);
    for field in ["util_pct", "sm_pct"] {
        assert!(snapshot.missing[field].contains("MIG is enabled"), "{}", snapshot.missing[field]);
    }
    assert_eq!(snapshot.power_w, Some(612.345));
    let mut gpu = gpu();
    gpu.connect(fake);
    assert_eq!(gpu.info().mig, Some(true));
}

#[test]
fn a_lost_gpu_is_left_alone_for_a_growing_while_and_comes_back() {
    let fake = Fake::new();
    let mut gpu = gpu();
    gpu.snapshot(SECOND, || Ok(fake.clone()));
    fake.fail(|question| (question == "utilization").then_some(E::GpuLost));
    let tries = Cell::new(0);
    let handle = || {
        tries.set(tries.get() + 1);
        Err(E::GpuLost)
    };
    let lost = gpu.snapshot(2 * SECOND, handle);
    assert!(gpu.is_lost());
    assert_eq!(null_fields(&lost).len(), FIELDS.len());
    assert!(lost.missing["power_w"].contains("Xid 79"));
    assert_eq!(fake.asked("temperature"), 1, "nothing more is asked of a GPU that said it is lost");
    // Tries at 3 (after 1 s), 5 (2 s), 9 (4 s), 17 (8 s), 33 (16 s), 63, 93 (30 s each).
    for tick in 3..=100 {
        gpu.snapshot(tick * SECOND, handle);
    }
    assert_eq!(tries.get(), 7);
    fake.fail(|_| None);
    let back = gpu.snapshot(200 * SECOND, || Ok(fake.clone()));
    assert!(!gpu.is_lost());
    assert_eq!(back.power_w, Some(612.345));
}

#[test]
fn a_gpu_of_which_nothing_answers_counts_as_lost() {
    let fake = Fake::failing(|_| Some(E::Unknown));
    let mut gpu = gpu();
    let snapshot = gpu.snapshot(SECOND, || Ok(fake.clone()));
    assert!(gpu.is_lost());
    assert!(snapshot.missing["power_w"].contains("unknown error"));
}

#[test]
fn a_gpu_that_supports_nothing_is_not_lost() {
    let fake = Fake::failing(|_| Some(E::NotSupported));
    let mut gpu = gpu();
    let snapshot = gpu.snapshot(SECOND, || Ok(fake.clone()));
    assert!(!gpu.is_lost());
    assert_eq!(null_fields(&snapshot).len(), FIELDS.len());
}

#[test]
fn a_driver_upgraded_under_us_comes_with_advice() {
    let why = reason(&E::LibRmVersionMismatch, false);
    assert!(why.contains("driver/library version mismatch") && why.contains("reboot"), "{why}");
}

#[test]
fn all_ones_and_impossible_numbers_are_missing() {
    let fake = Fake::new();
    fake.0.memory.set((u64::MAX, 140 << 30));
    fake.0.tensor.set(f64::NAN);
    let snapshot = second_snapshot(&fake);
    assert_eq!(missing_fields(&snapshot), ["memory_total_bytes", "memory_used_bytes", "tensor_pct"]);
}

#[test]
fn processes_without_a_real_pid_are_dropped_and_unknown_memory_is_no_number() {
    let process = |pid, used_gpu_memory| ProcessInfo {
        pid,
        used_gpu_memory,
        gpu_instance_id: None,
        compute_instance_id: None,
    };
    let fake = Fake::new();
    *fake.0.listed.borrow_mut() = vec![
        process(0, UsedGpuMemory::Used(5)),
        process(u32::MAX, UsedGpuMemory::Used(5)),
        process(7, UsedGpuMemory::Unavailable),
        process(8, UsedGpuMemory::Used(u64::MAX)),
        process(9, UsedGpuMemory::Used(1 << 30)),
    ];
    let named = |pid: u32, memory_bytes| GpuProcess {
        pid,
        name: Some(format!("process-{pid}")),
        memory_bytes,
        ..GpuProcess::default()
    };
    let expected = [named(9, Some(1 << 30)), GpuProcess { pid: 7, ..GpuProcess::default() }, named(8, None)];
    assert_eq!(second_snapshot(&fake).processes.as_deref(), Some(&expected[..]));
}

#[test]
fn clock_reasons_are_words_and_unknown_bits_are_not_hidden() {
    assert_eq!(questions::clock_reasons(0), Vec::<String>::new());
    assert_eq!(questions::clock_reasons(0x1), ["idle"]);
    assert_eq!(
        questions::clock_reasons(0x4 | 0x40 | 0x8000),
        ["software power cap", "hardware thermal slowdown", "unknown reason 0x8000"]
    );
}

#[test]
fn what_does_not_change_is_told_as_far_as_it_is_known() {
    let mut gpu = gpu();
    assert_eq!(gpu.info(), GpuInfo { index: 0, ..GpuInfo::default() });
    gpu.connect(Fake::failing(|question| {
        matches!(question, "power_limit" | "mig").then_some(E::NotSupported)
    }));
    let expected = GpuInfo {
        index: 0,
        name: Some("NVIDIA H200".to_owned()),
        uuid: Some("GPU-1".to_owned()),
        pci_bus_id: Some("00000000:1B:00.0".to_owned()),
        memory_total_bytes: Some(140 << 30),
        power_limit_w: None,
        max_sm_clock_mhz: Some(1980),
        gpm: true,
        mig: None,
        ..GpuInfo::default()
    };
    assert_eq!(gpu.info(), expected);
}
