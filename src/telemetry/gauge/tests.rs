use std::collections::BTreeSet;

use unicode_width::UnicodeWidthStr;

use super::*;
use crate::telemetry::GpuInfo;

#[test]
fn every_gauge_is_named_explained_and_told_apart() {
    let mut seen = BTreeSet::new();
    for gauge in all() {
        assert!(seen.insert((gauge.is_of_host(), gauge.field)), "{} twice", gauge.field);
        for (en, zh) in [gauge.name, gauge.means, gauge.trap] {
            assert!(!en.is_empty() && !zh.is_empty(), "{}", gauge.field);
        }
        assert!(gauge.name.0.width() <= 12 && gauge.name.1.width() <= 12, "{}", gauge.field);
        assert_eq!(gauge.is_of_host(), gauge.group == Group::Host, "{}", gauge.field);
    }
}

#[test]
fn every_gauge_and_every_pattern_leads_to_a_term() {
    let library = crate::library::Library::load(&crate::library::Source::Embedded);
    let patterns =
        crate::telemetry::fingerprint::Pattern::ALL.map(crate::telemetry::fingerprint::Pattern::term);
    for term in all().map(|gauge| gauge.term).chain(patterns) {
        assert!(library.term(term).is_some(), "{term} is not in the glossary");
    }
}

#[test]
fn fields_are_those_of_the_snapshot() {
    let gpu = serde_json::to_value(GpuSnapshot::default()).expect("plain data");
    let details = serde_json::to_value(GpuDetails::default()).expect("plain data");
    let host = serde_json::to_value(HostSnapshot::default()).expect("plain data");
    let host_details = serde_json::to_value(HostDetails::default()).expect("plain data");
    for gauge in
        all().filter(|gauge| !gauge.field.starts_with("cgroup_") && gauge.field != "worker_rss_bytes")
    {
        let object = match gauge.read {
            Read::Gpu(_) => &gpu,
            Read::GpuDetails(_) => &details,
            Read::Host(_) => &host,
            Read::HostDetails(_) => &host_details,
        };
        assert!(object.get(gauge.field).is_some(), "{} is no field", gauge.field);
    }
}

#[test]
fn a_value_that_is_not_asked_every_time_keeps_the_time_of_its_asking() {
    let with = |mono_ns, details: Option<GpuDetails>| Snapshot {
        mono_ns,
        gpus: vec![GpuSnapshot { details: details.map(Box::new), ..GpuSnapshot::default() }],
        ..Snapshot::default()
    };
    let asked = with(1, Some(GpuDetails { nvlink_rx_mib_s: Some(5.0), ..GpuDetails::default() }));
    let between = with(2, None);
    let gauge = gpu("nvlink_rx_mib_s").expect("a gauge");
    let (at, said) = gauge.newest(&[&asked, &between], 0).expect("it was asked");
    assert_eq!((at.mono_ns, said), (1, At::Value(5.0)));
    assert_eq!(gauge.points(&[&asked, &between], 0), [(1, Some(5.0))]);
    assert_eq!(gauge.at(&asked, 3), At::Missing(String::new()), "no such GPU");
}

#[test]
fn a_missing_reading_brings_its_reason() {
    let mut snapshot = Snapshot { gpus: vec![GpuSnapshot::default()], ..Snapshot::default() };
    snapshot.gpus[0].missing.insert("power_w".into(), "not supported".into());
    assert_eq!(gpu("power_w").map(|g| g.at(&snapshot, 0)), Some(At::Missing("not supported".into())));
}

#[test]
fn scales_have_the_limits_of_the_machine() {
    let machine = Machine {
        gpus: vec![GpuInfo { pcie_max_gen: Some(5), pcie_max_width: Some(16), ..GpuInfo::default() }],
        ..Machine::default()
    };
    let top = |field: &str| gpu(field).and_then(|gauge| gauge.top(&machine, 0));
    assert_eq!(top("sm_pct"), Some(100.0));
    assert_eq!(top("power_w"), None);
    assert!(top("pcie_rx_mib_s").is_some_and(|mib| (60_000.0..60_200.0).contains(&mib)));
}

#[test]
fn values_are_written_with_their_unit() {
    let show = |field: &str, value| gpu(field).expect("a gauge").show(value);
    assert_eq!(show("sm_pct", 0.76), "0.8 %");
    assert_eq!(show("sm_pct", 0.0), "0 %");
    assert_eq!(show("sm_pct", 97.4), "97 %");
    assert_eq!(show("power_w", 691.4), "691 W");
    assert_eq!(show("pcie_rx_mib_s", 51_200.0), "50.0 GiB/s");
}
