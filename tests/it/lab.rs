//! Labs through a worker: a script that plays one, and the real one where it is installed.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::terminal::Terminal;

const PROGRAM: &str = env!("CARGO_BIN_EXE_infralab");

fn script(dir: &Path, body: &str) -> String {
    let (text, path) = (dir.join("worker.sh"), dir.join("worker"));
    std::fs::write(&text, format!("#!/bin/sh\n{body}\n")).expect("write");
    // Made by another process: a test that starts a program at this moment would pass the open file on to it, and a
    // file that is open for writing cannot be run.
    let made = Command::new("install").args(["-m", "755"]).arg(&text).arg(&path).status().expect("install");
    assert!(made.success());
    path.to_str().expect("UTF-8").to_owned()
}

fn run_with(body: &str) -> (Output, tempfile::TempDir) {
    let data = tempfile::tempdir().expect("dir");
    let worker = script(data.path(), body);
    let output = Command::new(PROGRAM)
        .args(["lab", "run", "attention", "--json"])
        .env("INFRALAB_DATA", data.path())
        .env("INFRALAB_WORKER", worker)
        .stdin(Stdio::null())
        .output()
        .expect("the program runs");
    (output, data)
}

fn record(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(text.lines().next_back().expect("lines")).expect("the last line is an object")
}

const HELLO: &str = r#"{"type":"hello","protocol":1,"worker":"0","libtorch":"2.11.0","cudnn":null,"device":{"kind":"cpu","index":null,"name":"a CPU","uuid":null,"total_memory_bytes":null,"free_memory_bytes":null,"compute_capability":null,"sm_count":null},"cuda_devices":0,"cuda_absent_because":null,"pid":1,"cpu_threads":1,"mono_ns":1,"unix_ms":1}"#;

#[test]
fn a_worker_that_talks_nonsense_fails_the_run_and_keeps_its_words() {
    let (output, data) = run_with("echo hello; printf '\\033]0;X\\007\\n'; echo oops >&2; exit 3");
    assert_eq!(output.status.code(), Some(1));
    let record = record(&output);
    assert_eq!((&record["type"], &record["outcome"]), (&Value::from("record"), &Value::from("failed")));
    assert!(record["failure"]["why"].as_str().is_some_and(|w| w.contains("code 3")), "{record}");
    assert!(!output.stdout.contains(&0x1b), "no escape code passes");
    let runs: Vec<_> = std::fs::read_dir(data.path().join("runs")).expect("runs").collect();
    assert_eq!(runs.len(), 1, "the failed run is in the history");
}

#[test]
fn a_worker_that_is_killed_or_speaks_another_version_is_told() {
    let (output, _data) = run_with(&format!("echo '{HELLO}'; kill -9 $$"));
    assert!(record(&output)["failure"]["why"].as_str().is_some_and(|w| w.contains("signal 9")));
    let other = HELLO.replace("\"protocol\":1", "\"protocol\":77");
    let (output, _data) = run_with(&format!("echo '{other}'; exec sleep 1000"));
    assert!(record(&output)["failure"]["why"].as_str().is_some_and(|w| w.contains("77")));
}

#[test]
fn a_worker_that_is_not_there_is_a_set_up_fault() {
    let data = tempfile::tempdir().expect("dir");
    let output = Command::new(PROGRAM)
        .args(["lab", "run", "attention"])
        .env("INFRALAB_DATA", data.path())
        .env("INFRALAB_WORKER", "/nowhere/worker")
        .output()
        .expect("the program runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/nowhere/worker"));
}

/// The data directory with the engine that these tests use: `INFRALAB_DATA`, as `.ci/run` sets it. Without the variable
/// there is nothing to run for real; with it, the engine must be there.
fn engine() -> Option<String> {
    let data = std::env::var("INFRALAB_DATA").ok()?;
    let status = Command::new(PROGRAM).args(["engine", "status"]).env("INFRALAB_DATA", &data).output();
    let output = status.expect("the program runs");
    assert!(output.status.success(), "no engine in {data}: {}", String::from_utf8_lossy(&output.stdout));
    Some(data)
}

#[test]
fn the_attention_lab_runs_for_real_at_tiny() {
    let Some(data) = engine() else { return };
    let output = Command::new(PROGRAM)
        .args(["lab", "run", "attention", "--size", "tiny", "--device", "cpu", "--json"])
        .args(["--predict", "naive_growth=4", "--predict", "naive_peak_extra_mib=8"])
        .env("INFRALAB_DATA", &data)
        .output()
        .expect("the program runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let events: Vec<Value> =
        text.lines().map(|l| serde_json::from_str(l).expect("an object a line")).collect();
    let checks: Vec<&Value> = events.iter().filter(|e| e["type"] == "check").collect();
    assert!(checks.len() >= 8 && checks.iter().all(|c| c["passed"] == true), "{checks:?}");
    let record = record(&output);
    assert_eq!(record["outcome"], "completed");
    let growth =
        record["predictions"].as_array().expect("predictions").iter().find(|p| p["name"] == "naive_growth");
    let growth = growth.expect("naive_growth");
    assert_eq!((&growth["predicted"], &growth["closed_form"]), (&Value::from(4.0), &Value::from(4.0)));
    assert!(growth["measured"].as_f64().is_some_and(|g| g > 0.0));
    let run = record["run"].as_str().expect("run");
    let shown =
        Command::new(PROGRAM).args(["run", "show", run]).env("INFRALAB_DATA", &data).output().expect("show");
    assert!(String::from_utf8_lossy(&shown.stdout).contains("naive_growth"));
}

#[test]
fn a_lab_is_predicted_run_and_found_in_the_history_on_the_screens() {
    let Some(data) = engine() else { return };
    let mut terminal = Terminal::start(PROGRAM, &["--data", &data], Some((120, 40)), &[]);
    terminal.wait_for("Next to read");
    terminal.wait_for("LibTorch 2.11.0");
    terminal.send("5\r");
    terminal.wait_for("Predict");
    terminal.send("8\x1b[B4");
    terminal.send("\x1b[15~");
    terminal.wait_for("completed");
    terminal.wait_for("naive_growth");
    terminal.send("6");
    terminal.wait_for("attention     tiny");
    terminal.send("q");
    assert!(terminal.exit().success());
}

/// The form of the first lab, with a script as the worker.
fn at_the_form(data: &Path, worker: &str) -> Terminal {
    let worker = script(data, worker);
    let path = data.to_str().expect("UTF-8");
    let mut terminal =
        Terminal::start(PROGRAM, &["--data", path], Some((100, 30)), &[("INFRALAB_WORKER", &worker)]);
    terminal.wait_for("Next to read");
    terminal.wait_for("worker");
    terminal.send("5\r");
    terminal.wait_for("Predict");
    terminal
}

#[test]
fn a_lab_that_runs_while_one_quits_is_stopped_and_recorded() {
    let data = tempfile::tempdir().expect("dir");
    // Says hello, then runs until it is told to stop.
    let body = format!(
        "echo '{HELLO}'; read run; read stop; echo '{{\"type\":\"done\",\"stopped\":true,\"mono_ns\":2}}'"
    );
    let mut terminal = at_the_form(data.path(), &body);
    terminal.send("\x1b[15~");
    terminal.wait_for("running");
    terminal.send("\x1b[21~");
    assert!(terminal.exit().success());
    let run = std::fs::read_dir(data.path().join("runs")).expect("runs").flatten().next().expect("a run");
    let text = std::fs::read_to_string(run.path()).expect("read");
    let last: Value = serde_json::from_str(text.lines().next_back().expect("lines")).expect("object");
    assert_eq!((&last["type"], &last["outcome"]), (&Value::from("record"), &Value::from("stopped")));
}

#[test]
fn ten_starts_and_stops_leave_no_descriptor_no_thread_and_no_process() {
    let data = tempfile::tempdir().expect("dir");
    // A child of its own, as data loaders are, and no answer to the polite stop but the end of the pipe.
    let body = format!(
        "sleep 1000 & echo '{HELLO}'; read run; read stop; echo '{{\"type\":\"done\",\"stopped\":true,\"mono_ns\":2}}'"
    );
    let mut terminal = at_the_form(data.path(), &body);
    let count =
        |what: &str, pid: u32| std::fs::read_dir(format!("/proc/{pid}/{what}")).expect("/proc").count();
    let mut after_first = None;
    for _ in 0..10 {
        terminal.send("\x1b[15~");
        terminal.wait_for("● running");
        terminal.send("\x1b[17~");
        terminal.wait_for("■ stopped");
        terminal.send("\x1b");
        terminal.wait_for("Predict");
        // Threads of the run end right after its last event; they may not have by now.
        let pid = terminal.pid();
        let (fds, tasks) = *after_first.get_or_insert_with(|| (count("fd", pid), count("task", pid)));
        let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while count("fd", pid) > fds || count("task", pid) > tasks {
            assert!(std::time::Instant::now() < end, "{fds} descriptors and {tasks} threads have grown");
            std::thread::yield_now();
        }
    }
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", terminal.pid()));
    assert_eq!(children.unwrap_or_default().trim(), "", "no worker is left");
    terminal.send("\x1b[21~");
    assert!(terminal.exit().success());
    assert_eq!(
        std::fs::read_dir(data.path().join("runs"))
            .expect("runs")
            .flatten()
            .filter(|e| e.path().extension().is_some())
            .count(),
        10
    );
}

#[test]
fn every_lab_runs_for_real_at_tiny_and_measures_what_it_asks() {
    let Some(data) = engine() else { return };
    for lab in infralab_labs::LABS.iter() {
        let output = Command::new(PROGRAM)
            .args(["lab", "run", &lab.id, "--size", "tiny", "--device", "cpu", "--json"])
            .env("INFRALAB_DATA", &data)
            .output()
            .expect("the program runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{}: {errors}", lab.id);
        let record = record(&output);
        assert_eq!(record["outcome"], "completed", "{}", lab.id);
        let predictions = record["predictions"].as_array().expect("predictions");
        assert_eq!(predictions.len(), lab.predictions.len());
        for prediction in predictions {
            assert!(prediction["measured"].as_f64().is_some_and(|m| m > 0.0), "{}: {prediction}", lab.id);
        }
    }
}
