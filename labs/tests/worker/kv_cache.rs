//! The lab `kv-cache`: bytes to the byte, one result for every way of decoding, and refusals in words.

use infralab_labs::find_lab;
use infralab_labs::protocol::{Check, DeviceKind, Event, Request, WallCause};
use infralab_labs::spec::{ParamValue, Size};

use super::process::{Worker, command, run_request};
use super::{int, is_phase, points, summary, word};

const LAB: &str = "kv-cache";

/// One thread: these shapes are too small to share, and idle threads of one worker slow down the others.
fn start(set: &[(&str, ParamValue)]) -> Worker {
    let mut worker = Worker::start(command().env("OMP_NUM_THREADS", "1"));
    worker.say(&run_request(LAB, Size::Tiny, set));
    worker
}

fn run(set: &[(&str, ParamValue)]) -> Vec<Event> {
    let mut worker = start(set);
    let events = worker.events();
    assert_eq!(worker.exit().code(), Some(0), "{:?}", events.last());
    assert!(matches!(events.last(), Some(Event::Done { stopped: false, .. })));
    events
}

fn value(events: &[Event], name: &str) -> f64 {
    let quantity = &summary(events)[name];
    quantity.value.unwrap_or_else(|| panic!("{name}: {quantity:?}"))
}

/// The closed form that the app shows for these parameters.
fn form(set: &[(&str, ParamValue)], name: &str) -> f64 {
    let lab = find_lab(LAB).expect("lab");
    let mut params = lab.params_for(Size::Tiny, &[]).expect("defaults");
    params.extend(set.iter().map(|(k, v)| ((*k).to_owned(), v.clone())));
    lab.closed_forms_on(DeviceKind::Cpu, &params)[name].value.value.expect("a value")
}

fn checks(events: &[Event]) -> Vec<&Check> {
    events.iter().filter_map(|e| if let Event::Check(c) = e { Some(c) } else { None }).collect()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs()
}

#[test]
fn a_tiny_run_measures_every_prediction_and_its_parts_add_up() {
    let events = run(&[("repeats", int(1))]);
    let lab = find_lab(LAB).expect("lab");
    for prediction in &lab.predictions {
        assert!(value(&events, &prediction.name) > 0.0, "{}", prediction.name);
        assert_eq!(summary(&events)[&prediction.name].unit, prediction.unit);
    }
    let points = points(&events);
    for context in [8, 16, 32, 64] {
        for policy in ["cat", "preallocated", "paged"] {
            let point = points[&("ms_per_token".into(), policy.into(), context)];
            assert!(point.y.value.is_some_and(|ms| ms > 0.0) && !point.window.is_empty());
        }
    }
    let parts: f64 =
        events.iter().filter_map(|e| if let Event::Residual(p) = e { Some(p.value) } else { None }).sum();
    let above = value(&events, "ms_per_token") - value(&events, "floor_ms_per_token");
    assert!((parts - above).abs() < 1e-9, "{parts} against {above}");
}

#[test]
fn every_kind_of_attention_leaves_its_closed_form_to_the_byte() {
    for kind in ["mha", "gqa", "mqa", "mla"] {
        for (dtype, batch) in [("fp32", 1), ("bf16", 3)] {
            let set = [
                ("attention", word(kind)),
                ("dtype", word(dtype)),
                ("batch", int(batch)),
                ("experiment", word("growth")),
            ];
            let events = run(&set);
            for name in ["kv_bytes_per_token", "kv_mib", "cat_copied_mib"] {
                let (measured, form) = (value(&events, name), form(&set, name));
                assert!(close(measured, form), "{kind} {dtype} {name}: {measured} against {form}");
            }
        }
    }
}

#[test]
fn the_allocator_counts_what_each_policy_should_hold_at_every_step() {
    let events = run(&[("experiment", word("growth")), ("page", int(7)), ("batch", int(2))]);
    let points = points(&events);
    let mut compared = 0;
    for event in &events {
        let Event::Expected(expected) = event else { continue };
        let key = (expected.metric.clone(), expected.series.clone(), expected.x as u64);
        let measured = points[&key].y.value.expect("measured");
        assert!(close(measured, expected.value), "{measured} against {expected:?}");
        compared += 1;
    }
    assert!(compared > 60, "three policies and the copied bytes at some twenty steps: {compared}");
    let reserved = points[&("reserved_mib".into(), "cat".into(), 80)];
    assert!(reserved.y.value.is_none() && reserved.y.missing.is_some());
    for event in &events {
        let Event::Ledger(ledger) = event else { continue };
        assert_eq!(ledger.unexplained_bytes(), 0, "{ledger:?}");
    }
}

#[test]
fn every_way_of_decoding_gives_the_logits_of_a_computation_without_a_cache() {
    let kinds = ["mha", "gqa", "mqa", "mla"];
    let cases = kinds.iter().flat_map(|kind| [(*kind, "fp32"), (*kind, "bf16")]);
    for (kind, dtype) in cases.chain([("gqa", "fp16")]) {
        let events =
            run(&[("attention", word(kind)), ("dtype", word(dtype)), ("experiment", word("admission"))]);
        let checks = checks(&events);
        let names: Vec<_> = checks.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["preallocated", "cat", "paged", "fixed-capacity"].map(|n| format!("{n}.logits")));
        for check in checks {
            assert!(
                check.passed && check.max_abs_error <= check.tolerance * check.reference_max_abs,
                "{kind} {dtype} {check:?}"
            );
            assert!(check.reference_max_abs > 0.1, "a reference of zeros would pass anything: {check:?}");
        }
    }
}

#[test]
fn as_many_sequences_are_admitted_as_the_closed_form_says() {
    let set =
        [("experiment", word("admission")), ("page", int(24)), ("context", int(50)), ("budget_mib", int(5))];
    let events = run(&set);
    assert!(close(value(&events, "sequences_paged"), form(&set, "sequences_paged")));
    let points = points(&events);
    let expected: Vec<_> =
        events.iter().filter_map(|e| if let Event::Expected(x) = e { Some(x) } else { None }).collect();
    assert!(expected.len() > 4);
    for one in expected {
        let key = ("sequences".to_owned(), one.series.clone(), one.x as u64);
        assert!(close(points[&key].y.value.expect("measured"), one.value), "{one:?}");
    }
    // 5 MiB over 512 B · 256 tokens.
    assert!(close(value(&events, "sequences_contiguous"), 40.0));
    let wall = events.iter().find_map(|e| if let Event::Wall(w) = e { Some(w) } else { None });
    let wall = wall.expect("the first that was not admitted");
    assert_eq!((wall.x as u64, wall.cause), (41, WallCause::Budget));
    assert!(wall.needed_bytes > wall.budget_bytes && wall.budget_bytes == 5 << 20);
}

#[test]
fn the_plan_trap_and_graphs_say_why_they_are_not_on_the_cpu() {
    let events = run(&[("experiment", word("plan-trap"))]);
    for name in ["default_new", "default_seen", "fixed_capacity", "flash"] {
        let quantity = &summary(&events)[&format!("plan_trap_{name}_ms")];
        assert!(quantity.value.is_none());
        assert!(quantity.missing.as_deref().is_some_and(|why| why.contains("cuDNN")), "{quantity:?}");
    }
    let notes =
        events.iter().filter_map(|e| if let Event::Note { text, .. } = e { Some(text) } else { None });
    assert!(notes.into_iter().any(|t| t.en.contains("plan trap") && t.zh.contains("计划陷阱")));
    let graph = &summary(&events)["graph_ms_per_token"];
    assert!(graph.missing.as_deref().is_some_and(|why| why.contains("not chosen")));
}

#[test]
fn what_does_not_fit_the_budget_is_a_wall_and_the_run_goes_on() {
    // 80 tokens of 16 KiB are 1.25 MiB; max_len reserves 4 MiB.
    let set = [
        ("heads", int(32)),
        ("kv_heads", int(32)),
        ("head_dim", int(32)),
        ("budget_mib", int(2)),
        ("experiment", word("growth")),
    ];
    let events = run(&set);
    let walls: Vec<_> =
        events.iter().filter_map(|e| if let Event::Wall(w) = e { Some(w) } else { None }).collect();
    assert_eq!(walls.len(), 1, "{walls:?}");
    assert_eq!((walls[0].series.as_str(), walls[0].cause), ("preallocated", WallCause::Budget));
    assert_eq!((walls[0].needed_bytes, walls[0].budget_bytes), (4 << 20, 2 << 20));
    assert!(close(value(&events, "kv_mib"), 1.25));
}

#[test]
fn heads_that_do_not_go_together_are_refused_with_the_reason() {
    let refused = |set: &[(&str, ParamValue)]| {
        let mut worker = start(set);
        let events = worker.events();
        assert_eq!(worker.exit().code(), Some(1));
        match events.into_iter().next_back() {
            Some(Event::Failed(failure)) => failure,
            other => panic!("{other:?}"),
        }
    };
    assert!(refused(&[("heads", int(6)), ("kv_heads", int(4))]).what.contains("does not divide"));
    assert!(refused(&[("kv_heads", int(8))]).why.contains("no query head reads"));
    assert!(refused(&[("context", int(1000))]).what.contains("max_len"));
    assert!(refused(&[("dtype", word("fp8"))]).why.contains("bf16, fp16, fp32"));
}

#[test]
fn a_stop_ends_the_run_with_what_was_measured() {
    let mut worker = start(&[("repeats", int(1000))]);
    worker.wait_for(is_phase("decode."));
    worker.say(&Request::Stop);
    let events = worker.events();
    assert_eq!(worker.exit().code(), Some(0));
    assert!(matches!(events.last(), Some(Event::Done { stopped: true, .. })));
    assert!(close(value(&events, "kv_bytes_per_token"), 512.0));
    let missing = &summary(&events)["sequences_paged"];
    assert!(missing.missing.as_deref().is_some_and(|why| why.contains("stopped")));
}
