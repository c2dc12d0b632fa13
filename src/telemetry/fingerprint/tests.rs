//! Rules against made-up readings; recordings are judged where they are read.

use super::*;
use crate::telemetry::{GpuInfo, GpuSnapshot};

fn machine() -> Machine {
    Machine { gpus: vec![GpuInfo { power_limit_w: Some(700.0), ..GpuInfo::default() }], ..Machine::default() }
}

fn judged(readings: &GpuSnapshot) -> Fingerprint {
    let snapshots: Vec<Snapshot> = (1..=10)
        .map(|i| Snapshot { mono_ns: i * 500_000_000, gpus: vec![readings.clone()], ..Snapshot::default() })
        .collect();
    let snapshots: Vec<&Snapshot> = snapshots.iter().collect();
    of(&machine(), &snapshots, 0, 2_000_000_000, 5_000_000_000).expect("readings")
}

fn busy() -> GpuSnapshot {
    GpuSnapshot {
        util_pct: Some(100.0),
        sm_pct: Some(95.0),
        tensor_pct: Some(20.0),
        dram_pct: Some(20.0),
        fp32_pct: Some(5.0),
        power_w: Some(600.0),
        clock_reasons: Some(Vec::new()),
        ..GpuSnapshot::default()
    }
}

#[test]
fn each_rule_is_reached() {
    let pattern = |readings: GpuSnapshot| judged(&readings).pattern();
    assert_eq!(pattern(busy()), Some(Pattern::Mixed));
    assert_eq!(pattern(GpuSnapshot { fp32_pct: Some(70.0), ..busy() }), Some(Pattern::ComputeBound));
    assert_eq!(pattern(GpuSnapshot { dram_pct: Some(80.0), ..busy() }), Some(Pattern::BandwidthBound));
    assert_eq!(pattern(GpuSnapshot { sm_pct: Some(20.0), ..busy() }), Some(Pattern::LaunchBound));
    assert_eq!(pattern(GpuSnapshot { util_pct: Some(40.0), ..busy() }), Some(Pattern::Starved));
    let one_sm = GpuSnapshot { sm_pct: Some(0.76), power_w: Some(130.0), ..busy() };
    assert_eq!(pattern(one_sm), Some(Pattern::Spinning));
    let nothing = GpuSnapshot { util_pct: Some(0.0), sm_pct: Some(0.0), ..busy() };
    assert_eq!(pattern(nothing), Some(Pattern::Idle));
    let hot = Some(vec!["hardware thermal slowdown".to_owned()]);
    assert_eq!(pattern(GpuSnapshot { clock_reasons: hot, ..busy() }), Some(Pattern::Throttled));
}

#[test]
fn what_cannot_be_judged_says_what_is_missing() {
    let mut readings = GpuSnapshot { sm_pct: None, ..busy() };
    readings.util_pct = Some(0.0);
    readings.missing.insert("sm_pct".into(), "GPM counters need a Hopper GPU".into());
    let found = judged(&readings);
    assert_eq!(found.pattern(), None);
    assert!(found.line(Lang::En).contains("SM active is missing (GPM counters"), "{}", found.line(Lang::En));
}

#[test]
fn the_line_shows_rule_and_reading_and_a_power_cap() {
    let capped = Some(vec!["software power cap".to_owned()]);
    let found = judged(&GpuSnapshot { tensor_pct: Some(92.7), clock_reasons: capped, ..busy() });
    assert_eq!(found.line(Lang::En), "compute-bound: busiest pipe 93 % ≥ 50 % · power limit holds the clock");
    let near = judged(&GpuSnapshot { tensor_pct: Some(49.8), ..busy() });
    assert_eq!(near.pattern(), Some(Pattern::Mixed), "49.8 is not rounded up to the limit");
}

#[test]
fn every_pattern_has_a_rule_words_and_a_letter_of_its_own() {
    let letters: std::collections::BTreeSet<char> = Pattern::ALL.iter().map(|p| p.letter()).collect();
    assert_eq!(letters.len(), Pattern::ALL.len());
    for pattern in Pattern::ALL {
        assert!(RULES.iter().any(|rule| rule.pattern == pattern));
        assert!(!pattern.means(Lang::En).is_empty() && !pattern.means(Lang::Zh).is_empty());
    }
}

#[test]
fn an_empty_stretch_and_an_unknown_gpu_have_no_fingerprint() {
    let snapshot = Snapshot { mono_ns: 5, gpus: vec![busy()], ..Snapshot::default() };
    assert_eq!(of(&machine(), &[], 0, 0, 10), None);
    assert_eq!(of(&machine(), &[&snapshot], 1, 0, 10), None);
    assert_eq!(of(&machine(), &[&snapshot], 0, 6, 10).and_then(|f| f.pattern()), None);
}
