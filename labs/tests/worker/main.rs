//! The built worker at size `tiny` on the CPU, spoken to as the app speaks to it. The dynamic linker must find LibTorch:
//!
//! ```sh
//! export LIBTORCH=<site-packages>/torch
//! LD_LIBRARY_PATH=$LIBTORCH/lib cargo test -p infralab-labs --features torch
//! ```

mod kv_cache;
mod memory_ledger;
mod modes;
mod process;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use infralab_labs::find_lab;
use infralab_labs::protocol::{
    DeviceKind, Edge, Event, PROTOCOL_VERSION, Point, Quantity, Request, WallCause,
};
use infralab_labs::spec::{ParamValue, Size};

use process::{Worker, command, run_request};

fn int(n: i64) -> ParamValue {
    ParamValue::Int(n)
}

fn word(text: &str) -> ParamValue {
    ParamValue::Text(text.into())
}

/// Many repetitions: minutes of work, in short steps.
fn endless() -> Vec<(&'static str, ParamValue)> {
    vec![("repeats", int(1000)), ("min_n", int(1024)), ("max_n", int(2048)), ("compare_n", int(2048))]
}

fn is_phase(name: &'static str) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Phase { name: n, edge: Edge::Start, .. } if n.starts_with(name))
}

fn points(events: &[Event]) -> BTreeMap<(String, String, u64), &Point> {
    let points = events.iter().filter_map(|e| if let Event::Point(p) = e { Some(p) } else { None });
    points.map(|p| ((p.metric.clone(), p.series.clone(), p.x as u64), p)).collect()
}

fn summary(events: &[Event]) -> &BTreeMap<String, Quantity> {
    let values =
        events.iter().find_map(|e| if let Event::Summary { values } = e { Some(values) } else { None });
    values.expect("a summary")
}

#[test]
fn a_tiny_run_says_hello_passes_its_checks_measures_every_point_and_is_done() {
    let mut worker = Worker::run(&[]);
    let events = worker.events();
    assert_eq!(worker.exit().code(), Some(0));

    let Event::Hello(hello) = &events[0] else { panic!("first came {:?}", events[0]) };
    assert_eq!((hello.protocol, hello.device.kind), (PROTOCOL_VERSION, DeviceKind::Cpu));
    assert!(hello.libtorch.starts_with("2.11.0") && hello.cudnn.is_none() && hello.cpu_threads >= 1);
    assert!(hello.cuda_absent_because.as_deref().is_some_and(|why| why.contains("asked for")));
    assert!(matches!(events.last(), Some(Event::Done { stopped: false, .. })));

    let checks: Vec<_> =
        events.iter().filter_map(|e| if let Event::Check(c) = e { Some(c) } else { None }).collect();
    assert_eq!(checks.len(), 8, "forward and three gradients of naive and flash");
    for check in checks {
        assert!(
            check.passed && check.max_abs_error <= check.tolerance * check.reference_max_abs,
            "{check:?}"
        );
        assert!(check.reference_max_abs > 0.1, "a reference of zeros would pass anything: {check:?}");
    }

    let points = points(&events);
    for chart in &find_lab("attention").expect("lab").charts {
        for series in ["naive", "flash"] {
            for n in [64, 128, 256, 512] {
                let point = points[&(chart.metric.clone(), series.to_owned(), n)];
                assert!(point.y.value.is_some_and(|v| v > 0.0) && point.y.unit == chart.unit, "{point:?}");
                assert!(!point.window.is_empty());
            }
        }
    }
    for name in ["naive_peak_extra_mib", "naive_growth", "fused_speedup", "best_forward_tflops"] {
        assert!(summary(&events)[name].value.is_some_and(|v| v > 0.0), "{name}");
    }
    assert!(!summary(&events).contains_key("naive_wall_n"));
}

#[test]
fn phases_open_and_close_and_time_only_goes_forward() {
    let events = Worker::run(&[]).events();
    let mut open: Vec<&str> = Vec::new();
    let mut last = 0;
    for event in &events {
        if let Event::Phase { name, edge, mono_ns } = event {
            assert!(*mono_ns >= last);
            last = *mono_ns;
            match edge {
                Edge::Start => open.push(name),
                Edge::End => assert_eq!(open.pop(), Some(name.as_str())),
            }
        }
    }
    assert!(open.is_empty() && last > 0);
    let steps = events
        .iter()
        .filter_map(|e| if let Event::Progress { done, total, .. } = e { Some((done, total)) } else { None });
    let steps: Vec<_> = steps.collect();
    assert!(steps.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 == w[1].1), "{steps:?}");
    assert!(steps.last().is_some_and(|(done, total)| done == total));
}

#[test]
fn the_measured_peak_is_the_closed_form() {
    for causal in ["yes", "no"] {
        let events = Worker::run(&[("causal", word(causal)), ("repeats", int(1))]).events();
        let points = points(&events);
        for event in &events {
            let Event::Expected(expected) = event else { continue };
            let key = (expected.metric.clone(), expected.series.clone(), expected.x as u64);
            let measured = points[&key].y.value.expect("measured");
            match expected.series.as_str() {
                "naive" => assert!((measured / expected.value - 1.0).abs() < 0.01, "{measured} {expected:?}"),
                _ => assert!(measured >= expected.value, "below the floor: {measured} {expected:?}"),
            }
        }
        let form = find_lab("attention").expect("lab");
        let params = form.params_for(Size::Tiny, &[]).expect("defaults");
        let form = &form.closed_forms_on(DeviceKind::Cpu, &params)["naive_peak_extra_mib"];
        let measured = summary(&events)["naive_peak_extra_mib"].value.expect("measured");
        assert!((measured / form.value.value.expect("form") - 1.0).abs() < 0.01, "{measured} {form:?}");
    }
}

#[test]
fn a_stop_ends_the_run_with_what_was_measured() {
    let mut worker = Worker::run(&endless());
    worker.wait_for(is_phase("naive.forward"));
    worker.say(&Request::Stop);
    let events = worker.events();
    assert_eq!(worker.exit().code(), Some(0));
    assert!(matches!(events.last(), Some(Event::Done { stopped: true, .. })));
    let speedup = &summary(&events)["fused_speedup"];
    assert!(speedup.value.is_none() && speedup.missing.as_deref().is_some_and(|why| why.contains("stopped")));
}

#[test]
fn the_end_of_stdin_ends_the_worker() {
    let mut worker = Worker::run(&endless());
    worker.wait_for(is_phase("naive.forward"));
    worker.stdin = None;
    assert!(worker.events().iter().all(|e| !matches!(e, Event::Done { .. } | Event::Failed(_))));
    assert_eq!(worker.exit().code(), Some(1));
}

#[test]
fn a_closed_stdout_ends_the_worker() {
    let (mut worker, stdout) = Worker::spawn(&mut command());
    worker.say(&run_request("attention", Size::Tiny, &endless()));
    let mut first = String::new();
    let mut stdout = BufReader::new(stdout);
    stdout.read_line(&mut first).expect("hello");
    assert!(first.contains("\"hello\""));
    drop(stdout);
    // Stdin stays open, so only the broken pipe can end it.
    let mut log = String::new();
    worker.stderr.take().expect("piped").read_to_string(&mut log).expect("text");
    assert_eq!(worker.exit().code(), Some(1));
    assert!(!log.contains("panicked"), "{log}");
}

#[test]
fn requests_that_cannot_be_run_fail_in_words() {
    let bad = |line: &str| {
        let mut worker = Worker::start(&mut command());
        worker.say_raw(line);
        let events = worker.events();
        assert_eq!(worker.exit().code(), Some(1), "{line}");
        match <[Event; 1]>::try_from(events) {
            Ok([Event::Failed(failure)]) => failure,
            other => panic!("{line}: {other:?}"),
        }
    };
    let json = |request: &Request| serde_json::to_string(request).expect("plain data");
    assert!(bad("nonsense").what.contains("request"));
    assert!(bad(&json(&run_request("no-such-lab", Size::Tiny, &[]))).why.contains("attention"));
    assert!(
        bad(&json(&run_request("attention", Size::Tiny, &[("heads", int(0))]))).why.contains("from 1 to")
    );
    let beside = run_request("attention", Size::Tiny, &[("compare_n", int(100))]);
    let mut worker = Worker::start(&mut command());
    worker.say(&beside);
    assert!(matches!(worker.events().last(), Some(Event::Failed(f)) if f.what.contains("compare_n")));
    let cuda = json(&run_request("attention", Size::Tiny, &[])).replace(r#""cpu""#, r#""cuda:99""#);
    assert!(bad(&cuda).what.contains("cuda:99"));
}

#[test]
fn no_request_is_a_failure_too() {
    let mut worker = Worker::start(&mut command());
    worker.stdin = None;
    assert!(matches!(&worker.events()[..], [Event::Failed(f)] if f.what.contains("no request")));
    assert_eq!(worker.exit().code(), Some(1));
}

#[test]
fn prints_of_other_libraries_go_to_stderr() {
    let mut worker = Worker::start(command().env("MKL_VERBOSE", "1").env("ONEDNN_VERBOSE", "1"));
    worker.say(&run_request("attention", Size::Tiny, &[("dtype", word("bf16")), ("repeats", int(1))]));
    let mut stderr = worker.stderr.take().expect("piped");
    let log = std::thread::spawn(move || {
        let mut log = Vec::new();
        stderr.read_to_end(&mut log).map(|_| String::from_utf8_lossy(&log).to_lowercase())
    });
    assert!(matches!(worker.events().last(), Some(Event::Done { .. })));
    let log = log.join().expect("reader").expect("stderr");
    assert!(
        log.contains("mkl_verbose") || log.contains("onednn_verbose"),
        "nothing was printed, so nothing was tested"
    );
}

#[test]
fn a_small_budget_is_a_wall_and_the_run_goes_on() {
    let mut worker = Worker::run(&[("budget_mib", int(4)), ("repeats", int(1))]);
    let events = worker.events();
    assert_eq!(worker.exit().code(), Some(0));
    let wall =
        events.iter().find_map(|e| if let Event::Wall(w) = e { Some(w) } else { None }).expect("a wall");
    assert_eq!((wall.series.as_str(), wall.x, wall.cause), ("naive", 512.0, WallCause::Budget));
    assert!(wall.needed_bytes > wall.budget_bytes && wall.budget_bytes == 4 << 20);
    assert!(wall.text.en.contains("512") && wall.text.zh.contains("512"));
    let values = summary(&events);
    assert_eq!(values["naive_wall_n"].value, Some(512.0));
    assert!(values["naive_peak_extra_mib"].missing.is_some());
    assert!(matches!(events.last(), Some(Event::Done { stopped: false, .. })));
}

#[test]
fn a_refusal_of_the_allocator_is_a_wall_and_the_run_goes_on() {
    // 2 GiB of addresses hold LibTorch (0.8) and the naive pass at n = 2048 (0.4), not the one at 4096 (1.6).
    let script = "ulimit -v 2097152; exec \"$0\"";
    let mut worker = Worker::start(
        Command::new("sh")
            .args(["-c", script, env!("CARGO_BIN_EXE_infralab-worker")])
            .env("OMP_NUM_THREADS", "2")
            .env("MALLOC_ARENA_MAX", "2"),
    );
    let params = [
        ("repeats", int(1)),
        ("heads", int(8)),
        ("head_dim", int(8)),
        ("min_n", int(2048)),
        ("max_n", int(4096)),
        ("compare_n", int(2048)),
        ("budget_mib", int(1 << 20)),
    ];
    worker.say(&run_request("attention", Size::Tiny, &params));
    let events = worker.events();
    let walls: Vec<_> =
        events.iter().filter_map(|e| if let Event::Wall(w) = e { Some(w) } else { None }).collect();
    let met: Vec<_> = walls.iter().map(|w| (w.series.as_str(), w.x, w.cause)).collect();
    assert_eq!(met, [("naive", 4096.0, WallCause::OutOfMemory)], "{:?}", events.last());
    for (series, n) in [("naive", 2048), ("flash", 2048), ("flash", 4096)] {
        assert!(
            points(&events).contains_key(&("forward_backward_ms".into(), series.into(), n)),
            "{series} {n}"
        );
    }
    assert!(matches!(events.last(), Some(Event::Done { stopped: false, .. })));
}

#[test]
fn the_command_line_keeps_its_contract() {
    let run = |arguments: &[&str]| command().args(arguments).stdin(Stdio::null()).output().expect("runs");
    let version = run(&["--version"]);
    assert_eq!(version.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&version.stdout).contains("LibTorch 2.11.0"));
    let hello = run(&["--hello", "--device", "cpu"]);
    assert_eq!(hello.status.code(), Some(0));
    let text = String::from_utf8(hello.stdout).expect("text");
    assert_eq!(text.lines().count(), 1);
    assert!(matches!(serde_json::from_str(&text).expect("an event"), Event::Hello(h) if h.cuda_devices == 0));
    for usage in
        [&["--nope"][..], &["--hello", "--device"], &["--hello", "--device", "tpu"], &["--version", "x"]]
    {
        let refused = run(usage);
        assert_eq!(refused.status.code(), Some(2), "{usage:?}");
        assert!(refused.stdout.is_empty() && String::from_utf8_lossy(&refused.stderr).contains("usage:"));
    }
}
