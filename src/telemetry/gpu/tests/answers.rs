//! What is answered, refused and lost.

use std::cell::Cell;

use super::*;

#[test]
fn a_gpu_that_answers_everything_misses_nothing() {
    let snapshot = second_snapshot(&Fake::new());
    let details = GpuDetails {
        p_state: Some(0),
        bar1_used_bytes: Some(1 << 20),
        bar1_total_bytes: Some(256 << 30),
        pcie_gen: Some(5),
        pcie_width: Some(16),
        pcie_replays: Some(2),
        nvlink_rx_mib_s: Some(100.0),
        nvlink_tx_mib_s: Some(200.0),
        encoder_pct: Some(100.0),
        decoder_pct: Some(7.0),
        ecc_corrected: Some(3),
        ecc_uncorrected: Some(0),
        remapped_rows: Some(crate::telemetry::RemappedRows { corrected: 1, ..Default::default() }),
        mig: Vec::new(),
        missing: BTreeMap::new(),
    };
    let expected = GpuSnapshot {
        index: 0,
        util_pct: Some(100.0),
        memory_util_pct: Some(30.0),
        sm_pct: Some(97.5),
        sm_occupancy_pct: Some(45.0),
        tensor_pct: Some(61.5),
        fp64_pct: Some(0.0),
        fp32_pct: Some(3.5),
        fp16_pct: Some(1.5),
        dram_pct: Some(100.0),
        memory_used_bytes: Some(2 << 30),
        memory_reserved_bytes: Some(1 << 29),
        memory_free_bytes: Some(137 << 30),
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
        events: Vec::new(),
        details: Some(Box::new(details)),
        missing: BTreeMap::new(),
    };
    assert_eq!(snapshot, expected);
}

#[test]
fn one_reading_that_fails_hides_no_other() {
    type Fail = fn(&str) -> Option<E>;
    let memory =
        ["memory_free_bytes", "memory_reserved_bytes", "memory_total_bytes", "memory_used_bytes"].as_slice();
    let cases: [(Fail, &[&str]); 8] = [
        (|question| (question == "power").then_some(E::NotSupported), &["power_w"]),
        (|question| (question == "utilization").then_some(E::NoPermission), &["memory_util_pct", "util_pct"]),
        (|question| (question == "memory").then_some(E::Unknown), memory),
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
        assert_eq!(missing_fields(&snapshot.missing), fields);
        assert_eq!(null_fields(&snapshot), fields);
        assert!(snapshot.missing.values().all(|why| !why.is_empty()));
        assert!(snapshot.details.is_some_and(|details| details.missing.is_empty()));
    }
}

#[test]
fn one_detail_that_fails_hides_no_other() {
    let cases: [(&str, &[&str]); 9] = [
        ("p_state", &["p_state"]),
        ("bar1", &["bar1_total_bytes", "bar1_used_bytes"]),
        ("pcie_gen", &["pcie_gen"]),
        ("pcie_width", &["pcie_width"]),
        ("pcie_replays", &["pcie_replays"]),
        ("encoder", &["encoder_pct"]),
        ("ecc_uncorrected", &["ecc_uncorrected"]),
        ("remapped_rows", &["remapped_rows"]),
        ("gpm_links", &["nvlink_rx_mib_s", "nvlink_tx_mib_s"]),
    ];
    for error in [E::NotSupported, E::Timeout] {
        for (question, fields) in cases {
            // The closure of the fake is a plain function, so the question is told by a thread-local.
            QUESTION.set(question);
            let fail: fn(&str) -> Option<E> = match error {
                E::NotSupported => |q| (q == QUESTION.get()).then_some(E::NotSupported),
                _ => |q| (q == QUESTION.get()).then_some(E::Timeout),
            };
            let snapshot = second_snapshot(&Fake::failing(fail));
            assert_eq!(missing_fields(&details(&snapshot).missing), fields, "{question}");
            assert_eq!(null_fields(details(&snapshot)), fields, "{question}");
            assert!(snapshot.missing.is_empty(), "{:?}", snapshot.missing);
        }
    }
}

thread_local! {
    static QUESTION: Cell<&'static str> = const { Cell::new("") };
}

#[test]
fn every_missing_reading_is_null_and_has_a_reason_when_the_gpu_is_gone() {
    let snapshot = absent(3, "gone");
    assert_eq!(snapshot.index, 3);
    assert!(null_fields(&snapshot).iter().all(|field| snapshot.missing.contains_key(field)));
    let details = null_fields(&GpuDetails::default());
    assert!(details.iter().all(|field| snapshot.missing.contains_key(field)), "details are missing too");
    assert_eq!(snapshot.missing.len(), null_fields(&snapshot).len() + details.len());
}

#[test]
fn what_is_never_answered_is_asked_once_and_what_failed_is_asked_again() {
    let fake = Fake::failing(|question| match question {
        "power" => Some(E::NotSupported),
        "temperature" => Some(E::Timeout),
        _ => None,
    });
    let mut gpu = gpu();
    for tick in 1..=5 {
        let snapshot = take(&mut gpu, &fake, tick * SECOND);
        assert!(snapshot.missing["power_w"].contains("not supported"));
    }
    assert_eq!((fake.asked("power"), fake.asked("temperature")), (1, 5));
}

#[test]
fn mig_is_named_as_the_reason_and_its_instances_are_listed() {
    let fake = Fake::failing(|question| {
        matches!(question, "is_mig" | "utilization" | "has_gpm").then_some(E::NotSupported)
    });
    fake.0.instances.set(1);
    let snapshot = second_snapshot(&fake);
    for field in ["util_pct", "sm_pct"] {
        assert!(snapshot.missing[field].contains("MIG is enabled"), "{}", snapshot.missing[field]);
    }
    assert_eq!(snapshot.power_w, Some(612.345));
    let instances = &details(&snapshot).mig;
    assert_eq!(instances.len(), 1);
    assert_eq!((instances[0].gpu_instance, instances[0].sm_pct), (Some(1), Some(97.5)));
    let mut gpu = gpu();
    gpu.connect(fake);
    assert_eq!(gpu.info().mig, Some(true));
}

#[test]
fn a_lost_gpu_is_left_alone_for_a_growing_while_and_comes_back() {
    let fake = Fake::new();
    let mut gpu = gpu();
    take(&mut gpu, &fake, SECOND);
    fake.fail(|question| (question == "utilization").then_some(E::GpuLost));
    let tries = Cell::new(0);
    let mut lost_at = |second: u64| {
        let ask = Ask { now_ns: second * SECOND, forced: true, counters: true };
        gpu.snapshot(ask, Ok(Vec::new()), || {
            tries.set(tries.get() + 1);
            Err(E::GpuLost)
        })
    };
    let lost = lost_at(2);
    assert_eq!(null_fields(&lost).len(), FIELDS.len());
    assert!(lost.missing["power_w"].contains("Xid 79"));
    assert_eq!(fake.asked("temperature"), 1, "nothing more is asked of a GPU that said it is lost");
    // Tries at 3 (after 1 s), 5 (2 s), 9 (4 s), 17 (8 s), 33 (16 s), 63, 93 (30 s each).
    (3..=100).for_each(|second| drop(lost_at(second)));
    assert_eq!(tries.get(), 7);
    assert!(gpu.is_lost());
    fake.fail(|_| None);
    let back = take(&mut gpu, &fake, 200 * SECOND);
    assert!(!gpu.is_lost());
    assert_eq!(back.power_w, Some(612.345));
    assert!(back.missing["sm_pct"].contains("first"), "counters begin anew");
}

#[test]
fn a_gpu_of_which_nothing_answers_counts_as_lost() {
    let fake = Fake::failing(|_| Some(E::Unknown));
    let mut gpu = gpu();
    let snapshot = take(&mut gpu, &fake, SECOND);
    assert!(gpu.is_lost());
    assert!(snapshot.missing["power_w"].contains("unknown error"));
}

#[test]
fn a_gpu_that_supports_nothing_is_not_lost() {
    let fake = Fake::failing(|_| Some(E::NotSupported));
    let mut gpu = gpu();
    let snapshot = take(&mut gpu, &fake, SECOND);
    assert!(!gpu.is_lost());
    assert_eq!(null_fields(&snapshot).len(), FIELDS.len());
    assert_eq!(null_fields(details(&snapshot)).len(), super::super::details::FIELDS.len());
}

#[test]
fn sixteen_gpus_fail_each_on_its_own() {
    let mut gpus: Vec<(Gpu<Fake>, Fake)> =
        (0..16).map(|i| (Gpu::new(i, identify, None), Fake::new())).collect();
    gpus[5].1.fail(|_| Some(E::GpuLost));
    gpus[9].1.fail(|question| (question == "power").then_some(E::NotSupported));
    let snapshots: Vec<_> = gpus.iter_mut().map(|(gpu, fake)| take(gpu, fake, SECOND)).collect();
    for (i, snapshot) in snapshots.iter().enumerate() {
        assert_eq!(snapshot.index as usize, i);
        assert_eq!(snapshot.power_w.is_none(), i == 5 || i == 9, "GPU {i}");
        assert_eq!(snapshot.temperature_c.is_none(), i == 5, "GPU {i}");
    }
}

#[test]
fn a_driver_upgraded_under_us_comes_with_advice() {
    let why = reason(&E::LibRmVersionMismatch, false);
    assert!(why.contains("driver/library version mismatch") && why.contains("reboot"), "{why}");
}

#[test]
fn all_ones_and_impossible_numbers_are_missing() {
    let fake = Fake::new();
    fake.0.memory.set(MemoryUse { used: u64::MAX, ..fake.0.memory.get() });
    fake.0.tensor.set(f64::NAN);
    fake.0.energy.set(u64::MAX);
    let snapshot = second_snapshot(&fake);
    let mut expected = [MEMORY, &["tensor_pct", "energy_mj"]].concat();
    expected.sort_unstable();
    assert_eq!(missing_fields(&snapshot.missing), expected);
}

#[test]
fn unified_memory_is_what_the_processes_use_and_never_the_hosts() {
    let fake = Fake::failing(|question| match question {
        "memory" => Some(E::NotSupported),
        _ => None,
    });
    fake.0.name.replace("NVIDIA GB10".to_owned());
    *fake.0.listed.borrow_mut() =
        vec![process(8, UsedGpuMemory::Used(3 << 30)), process(9, UsedGpuMemory::Used(1 << 30))];
    let mut unified = gpu();
    let snapshot = take(&mut unified, &fake, SECOND);
    assert!(unified.info().unified_memory);
    assert_eq!((snapshot.memory_used_bytes, snapshot.memory_total_bytes), (Some(4 << 30), None));
    assert!(snapshot.missing["memory_total_bytes"].contains("host's memory"));
    assert!(!snapshot.missing.contains_key("memory_used_bytes"));
    fake.0.name.replace("NVIDIA H200".to_owned());
    let mut other = gpu();
    assert!(take(&mut other, &fake, SECOND).missing["memory_used_bytes"].contains("not supported"));
    assert!(!other.info().unified_memory);
}

#[test]
fn processes_without_a_real_pid_are_dropped_and_unknown_memory_is_no_number() {
    let fake = Fake::new();
    *fake.0.listed.borrow_mut() = vec![
        process(0, UsedGpuMemory::Used(5)),
        process(u32::MAX, UsedGpuMemory::Used(5)),
        process(7, UsedGpuMemory::Unavailable),
        process(8, UsedGpuMemory::Used(u64::MAX)),
        process(9, UsedGpuMemory::Used(1 << 30)),
    ];
    // One that computes and draws is listed twice.
    *fake.0.drawing.borrow_mut() =
        vec![process(9, UsedGpuMemory::Used(1 << 30)), process(10, UsedGpuMemory::Used(1 << 20))];
    let named = |pid: u32, memory_bytes| {
        let Identity { name, user, container } = identify(pid);
        GpuProcess { pid, name, user, container, gpu_instance: None, memory_bytes }
    };
    let expected = [named(9, Some(1 << 30)), named(10, Some(1 << 20)), named(7, None), named(8, None)];
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
    let fake = Fake::failing(|question| matches!(question, "power_limit" | "mig").then_some(E::NotSupported));
    fake.0.name.replace("NVIDIA\u{1b}[2J H200".to_owned());
    gpu.connect(fake);
    let info = gpu.info();
    assert!(
        info.name.as_deref().is_some_and(|name| !name.contains('\u{1b}')),
        "control characters are visible"
    );
    let expected = GpuInfo {
        index: 0,
        name: info.name.clone(),
        uuid: Some("GPU-1".to_owned()),
        pci_bus_id: Some("00000000:1B:00.0".to_owned()),
        memory_total_bytes: Some(140 << 30),
        power_limit_w: None,
        max_sm_clock_mhz: Some(1980),
        gpm: true,
        mig: None,
        ecc: Some(true),
        max_temperature_c: Some(87),
        slowdown_temperature_c: Some(89),
        shutdown_temperature_c: Some(95),
        pcie_max_gen: Some(5),
        pcie_max_width: Some(16),
        unified_memory: false,
    };
    assert_eq!(info, expected);
}
