//! The attention lab without gradients, step by step, and refused.

use infralab_labs::find_lab;
use infralab_labs::protocol::{Check, DeviceKind, Event, WalkStep};
use infralab_labs::spec::{ParamValue, Size};

use super::process::Worker;
use super::{int, points, summary, word};

fn checks(events: &[Event]) -> Vec<&Check> {
    events.iter().filter_map(|e| if let Event::Check(c) = e { Some(c) } else { None }).collect()
}

fn walk(events: &[Event]) -> Vec<&WalkStep> {
    events.iter().filter_map(|e| if let Event::Walk(w) = e { Some(w) } else { None }).collect()
}

#[test]
fn the_steps_of_a_small_head_agree_with_libtorch() {
    for causal in ["yes", "no"] {
        let mut worker = Worker::run(&[("mode", word("steps")), ("causal", word(causal))]);
        let events = worker.events();
        assert_eq!(worker.exit().code(), Some(0));
        let steps = walk(&events);
        assert_eq!(steps.iter().map(|s| s.index).collect::<Vec<_>>(), (0..12).collect::<Vec<_>>());
        for step in &steps {
            assert_eq!(step.total, 12);
            for text in [&step.title, &step.explanation] {
                assert!(!text.en.is_empty() && !text.zh.is_empty());
            }
            match &step.check {
                None => assert_eq!(step.index, 0, "only the inputs have nothing to compare with"),
                Some(check) => assert!(check.tolerance <= 1e-9 && check.passed(), "{check:?}"),
            }
        }
        let checks = checks(&events);
        assert_eq!(checks.len(), 11);
        assert!(checks.iter().all(|c| c.passed && c.reference_max_abs > 0.1), "{checks:?}");

        let result = |index: usize| steps[index].matrices.last().expect("a result");
        let size = |index: usize| (result(index).rows.len(), result(index).rows[0].len());
        assert_eq!(
            [1, 4, 5, 6, 7, 9, 10, 11].map(size),
            [(5, 5), (5, 5), (5, 4), (5, 1), (5, 4), (5, 5), (5, 4), (5, 4)]
        );
        let hidden = result(3).rows.iter().flatten().filter(|x| x.is_none()).count();
        assert_eq!(hidden, if causal == "yes" { 10 } else { 0 });
        for row in &result(4).rows {
            let sum: f64 = row.iter().flatten().sum();
            assert!((sum - 1.0).abs() < 1e-12, "{row:?}");
        }
    }
}

#[test]
fn the_steps_measure_nothing_and_say_so() {
    let events = Worker::run(&[("mode", word("steps"))]).events();
    assert!(points(&events).is_empty() && matches!(events.last(), Some(Event::Done { stopped: false, .. })));
    let values = summary(&events);
    for prediction in &find_lab("attention").expect("lab").predictions {
        let value = &values[&prediction.name];
        assert!(value.value.is_none() && value.unit == prediction.unit);
        assert!(value.missing.as_deref().is_some_and(|why| why.contains("steps")), "{value:?}");
    }
}

#[test]
fn a_forward_alone_has_its_own_peaks_and_no_gradients() {
    for causal in ["yes", "no"] {
        let set = [("mode", "forward"), ("causal", causal)].map(|(k, v)| (k, word(v)));
        let events = Worker::run(&[&set[..], &[("repeats", int(1))]].concat()).events();
        let names: Vec<_> = checks(&events).iter().map(|c| (c.name.as_str(), c.passed)).collect();
        assert_eq!(names, [("naive.forward", true), ("flash.forward", true)]);
        let points = points(&events);
        assert!(
            points.keys().all(|(metric, ..)| metric.starts_with("forward_") && !metric.contains("backward"))
        );
        for event in &events {
            let Event::Expected(expected) = event else { continue };
            let key = (expected.metric.clone(), expected.series.clone(), expected.x as u64);
            let measured = points[&key].y.value.expect("measured");
            match expected.series.as_str() {
                "naive" => assert!((measured / expected.value - 1.0).abs() < 0.01, "{measured} {expected:?}"),
                _ => assert!(measured >= expected.value, "below the floor: {measured} {expected:?}"),
            }
        }
        let values = summary(&events);
        for name in ["naive_peak_extra_mib", "naive_growth", "fused_speedup"] {
            let missing = values[name].missing.as_deref();
            assert!(missing.is_some_and(|why| why.contains("no backward")), "{name}: {missing:?}");
        }
        let lab = find_lab("attention").expect("lab");
        let set = set.map(|(k, v)| (k.to_owned(), v.to_string()));
        let forms =
            lab.closed_forms_on(DeviceKind::Cpu, &lab.params_for(Size::Tiny, &set).expect("accepted"));
        let form = forms["naive_forward_mib"].value.value.expect("a number");
        let measured = values["naive_forward_mib"].value.expect("measured");
        assert!((measured / form - 1.0).abs() < 0.01, "{measured} {form}");
    }
}

#[test]
fn memory_grows_with_the_square_when_naive_and_in_line_when_fused() {
    for mode in ["both", "forward"] {
        let events = Worker::run(&[("mode", word(mode)), ("repeats", int(1))]).events();
        let exponent = |name: &str| summary(&events)[name].value.expect("two lengths");
        // Measured 1.94 and 2.00: beside the score copies, forward and backward holds two tensors that are linear in n.
        assert!((exponent("naive_memory_exponent") - 2.0).abs() < 0.1);
        // Measured 1.00 and 0.94 with two threads. Each thread's block of scores grows from 64·256 to 64·512 numbers,
        // beside what it holds whatever n is; with many threads these blocks are nearly all, and the forward gives 0.92.
        assert!((exponent("fused_memory_exponent") - 1.0).abs() < 0.15);
    }
}

#[test]
fn points_tell_the_range_of_their_repetitions() {
    let events = Worker::run(&[]).events();
    let mut timed = 0;
    for ((metric, ..), point) in points(&events) {
        if metric.contains("peak") {
            assert_eq!(point.y.range, None);
            continue;
        }
        timed += 1;
        let (value, [low, high]) = (point.y.value.expect("measured"), point.y.range.expect("repeated"));
        assert!(low <= value && value <= high, "{point:?}");
    }
    assert_eq!(timed, 2 * 4 * 4, "ms and TFLOP/s of two passes, two series, four lengths");
    let speedup = &summary(&events)["fused_speedup"];
    let (value, [low, high]) = (speedup.value.expect("measured"), speedup.range.expect("repeated"));
    assert!(low <= value && value <= high, "{speedup:?}");
}

#[test]
fn a_backend_that_the_device_cannot_have_is_refused_when_asked_for_alone() {
    for backend in ["cudnn", "efficient"] {
        let mut worker = Worker::run(&[("backend", word(backend))]);
        let events = worker.events();
        assert_eq!(worker.exit().code(), Some(1));
        let Some(Event::Failed(failure)) = events.last() else { panic!("{:?}", events.last()) };
        assert!(failure.what.contains(backend) && failure.next.contains("flash"), "{failure:?}");
    }
}

#[test]
fn the_unfused_backend_runs_by_name() {
    let params: [(&str, ParamValue); 2] = [("backend", word("math")), ("repeats", int(1))];
    let events = Worker::run(&params).events();
    assert!(points(&events).contains_key(&("peak_extra_mib".into(), "math".into(), 512)));
    assert!(checks(&events).iter().all(|c| c.passed));
    let fused = &summary(&events)["fused_memory_exponent"];
    assert!(fused.missing.as_deref().is_some_and(|why| why.contains("fused")), "{fused:?}");
}
