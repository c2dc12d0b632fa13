use std::path::Path;

use infralab_labs::protocol::{Quantity, Text};

use super::*;
use crate::lab::history::{Place, load};
use crate::lab::{LabEvent, Prediction};

fn tiny() -> Vec<LabEvent> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/runs/attention-tiny.jsonl");
    load(&Place::File(path)).expect("the fixture run")
}

/// The fixture run under another id, changed by `change`.
fn run(id: &str, change: impl FnOnce(&mut PastRun)) -> PastRun {
    let mut run = PastRun::of(tiny(), false).expect("a header");
    run.record.run = id.into();
    change(&mut run);
    run
}

#[test]
fn the_same_conditions_are_said_to_be_the_same() {
    let (a, b) = (run("a", |_| {}), run("b", |_| {}));
    let comparison = Comparison::of(&[&a, &b], Lang::En).expect("comparable");
    assert!(comparison.same_conditions());
    let growth = comparison.summary.iter().find(|v| v.name == "naive_growth").expect("a result");
    assert_eq!(growth.against_first[0], None);
    assert_eq!(growth.against_first[1], Some(Against { ratio: Some(1.0), within_spread: None }));
    assert!(comparison.charts[0].metric == "forward_backward_ms", "the lab's order");
    assert_eq!(comparison.charts[0].x_name, "n");
}

#[test]
fn environment_and_parameters_are_told_where_they_differ() {
    let a = run("a", |_| {});
    let b = run("b", |b| {
        b.record.env.driver = Some("580.1".into());
        b.record.env.disturbances = vec![Text { en: "another process".into(), zh: "另一个进程".into() }];
        b.record.params.insert("repeats".into(), infralab_labs::spec::ParamValue::Int(50));
    });
    let comparison = Comparison::of(&[&a, &b], Lang::Zh).expect("comparable");
    let names: Vec<Aspect> = comparison.environment_differences.iter().map(|d| d.name).collect();
    assert_eq!(names, [Aspect::Driver, Aspect::Disturbances]);
    assert_eq!(comparison.environment_differences[1].values, [None, Some("另一个进程".into())]);
    let repeats = &comparison.parameter_differences[0];
    assert_eq!((repeats.name.as_str(), repeats.values[1].as_deref()), ("repeats", Some("50")));
}

#[test]
fn ranges_decide_what_is_spread_and_units_what_is_comparable() {
    let with = |id: &str, value: f64, range: [f64; 2], unit: &str| {
        let q = Quantity { range: Some(range), ..Quantity::some(value, unit) };
        run(id, |r| drop(r.record.summary.insert("time".into(), q)))
    };
    let a = with("a", 10.0, [9.0, 11.0], "ms");
    let near = with("b", 11.5, [11.0, 12.0], "ms");
    let far = with("c", 20.0, [19.0, 21.0], "ms");
    let other = with("d", 0.01, [0.01, 0.01], "s");
    let comparison = Comparison::of(&[&a, &near, &far, &other], Lang::En).expect("comparable");
    let time = comparison.summary.iter().find(|v| v.name == "time").expect("time");
    let spread: Vec<_> = time.against_first.iter().map(|a| a.and_then(|a| a.within_spread)).collect();
    assert_eq!(spread, [None, Some(true), Some(false), None]);
    assert_eq!(time.against_first[2].and_then(|a| a.ratio), Some(2.0));
    let seconds = time.values[3].as_ref().expect("a value");
    assert_eq!((seconds.value, seconds.missing.as_deref()), (None, Some("this run tells it in s")));
}

#[test]
fn a_real_gpu_beside_a_cpu_shares_no_x_and_only_some_names() {
    let shipped = PastRun::read(&Place::Shipped("attention-h200.jsonl".into())).expect("ships");
    let cpu = run("a", |_| {});
    let comparison = Comparison::of(&[&shipped, &cpu], Lang::En).expect("one lab");
    assert_eq!(comparison.environment_differences[0].name, Aspect::Device);
    assert!(comparison.charts.is_empty(), "1024 … 16384 and 64 … 512 have no x in common");
    let peak = comparison.summary.iter().find(|v| v.name == "naive_peak_extra_mib").expect("in both");
    assert_eq!(peak.against_first[1].and_then(|a| a.ratio), Some(6.25 / 33024.0));
    assert_eq!(comparison.runs[0].letter, "A");
    assert!(comparison.runs[0].recording && !comparison.runs[1].recording);
}

#[test]
fn what_cannot_be_compared_is_refused_in_words() {
    let a = run("a", |_| {});
    let other = run("b", |b| b.record.lab = "kv-cache".into());
    let refused = |runs: &[&PastRun]| Comparison::of(runs, Lang::En).expect_err("refused").to_string();
    assert!(refused(&[&a]).contains("two runs"));
    assert!(refused(&[&a, &a]).contains("`a` is named twice"));
    let words = refused(&[&a, &other]);
    assert!(words.contains("`attention`") && words.contains("`kv-cache`"), "{words}");
}

#[test]
fn a_guess_is_shown_and_not_judged_against_another() {
    let a = run("a", |_| {});
    let b = run("b", |b| {
        let guess = Prediction::new(5.0, Some((4.0, 6.0)), None).expect("valid");
        b.record.predictions[1].predicted = Some(guess.value);
        b.record.predictions[1].interval = guess.interval;
    });
    let comparison = Comparison::of(&[&a, &b], Lang::En).expect("comparable");
    let growth = comparison.predictions.iter().find(|v| v.name == "naive_growth").expect("predicted");
    assert_eq!(growth.values[1].as_ref().and_then(|q| q.range), Some([4.0, 6.0]));
    assert_eq!(growth.against_first, [None, None]);
    assert_eq!((letter(0), letter(25), letter(26)), ("A".into(), "Z".into(), "27".into()));
}
