//! Recording readings and playing them again, as scripts and people do.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::cli::told_in as infralab;
use crate::terminal::Terminal;

const PROGRAM: &str = env!("CARGO_BIN_EXE_infralab");

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// What a replay without waiting prints, by type.
fn replayed(file: &Path) -> Vec<String> {
    let data = tempfile::tempdir().expect("dir");
    let (_, out, _) = infralab(&["gpu", "--replay", text(file), "--speed", "0", "--json"], data.path());
    let types = out.lines().map(|l| serde_json::from_str::<Value>(l).expect("an object")["type"].clone());
    types.map(|t| t.as_str().expect("a type").to_owned()).collect()
}

fn record_of(file: &Path) -> Value {
    let data = tempfile::tempdir().expect("dir");
    let (code, out, err) = infralab(&["run", "show", text(file), "--json"], data.path());
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).expect("an object")
}

/// Lines of the file, decompressed.
fn lines(file: &Path) -> Vec<Value> {
    let mut all = String::new();
    let file = std::fs::File::open(file).expect("the recording");
    flate2::read::MultiGzDecoder::new(file).read_to_string(&mut all).expect("gzip");
    all.lines().map(|l| serde_json::from_str(l).expect("an object")).collect()
}

/// Waits until a recording that goes on holds so many snapshots for whoever reads it.
fn wait_for_snapshots(file: &Path, count: usize) {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !file.exists() || replayed(file).iter().filter(|t| *t == "snapshot").count() < count {
        assert!(std::time::Instant::now() < end, "no {count} snapshots in {}", file.display());
    }
}

fn recorder(file: &Path, more: &[&str]) -> std::process::Child {
    Command::new(PROGRAM)
        .args(["gpu", "--record", text(file), "--hz", "20"])
        .args(more)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs")
}

fn send(child: &std::process::Child, signal: Signal) {
    kill_process(Pid::from_raw(child.id() as i32).expect("pid"), signal).expect("kill");
}

#[test]
fn what_is_recorded_is_listed_replayed_and_never_overwritten() {
    let data = tempfile::tempdir().expect("dir");
    std::fs::create_dir(data.path().join("runs")).expect("mkdir");
    for name in ["plain.jsonl", "small.jsonl.gz"] {
        let file = data.path().join("runs").join(name);
        let args = ["gpu", "--record", text(&file), "--hz", "20", "--seconds", "0.5"];
        let (code, out, err) = infralab(&args, data.path());
        assert_eq!((code, out.as_str()), (0, ""), "{err}");
        assert!(err.contains("readings in") && err.contains("--replay"), "{err}");
        let types = replayed(&file);
        assert_eq!(types[0], "machine");
        let snapshots = types.iter().filter(|t| *t == "snapshot").count();
        assert!((2..=12).contains(&snapshots), "{types:?}");
        let (_, lines, _) = infralab(&["gpu", "--replay", text(&file), "--speed", "100"], data.path());
        assert_eq!(lines.lines().filter(|l| l.contains("CPU")).count(), snapshots, "{lines}");
        let before = std::fs::read(&file).expect("the recording");
        let (code, _, err) = infralab(&args, data.path());
        assert_eq!(code, 2, "{err}");
        assert!(err.contains("nothing is overwritten"), "{err}");
        assert_eq!(std::fs::read(&file).expect("the recording"), before);
    }
    let (_, out, _) =
        infralab(&["run", "list", "--lab", "monitor", "--outcome", "completed", "--json"], data.path());
    let runs: Vec<Value> = out.lines().map(|l| serde_json::from_str(l).expect("object")).collect();
    let own: Vec<&Value> = runs.iter().filter(|r| r["recording"] == false).collect();
    assert_eq!(own.len(), 2, "{out}");
    assert!(own.iter().all(|r| r["size"].is_null() && r["device"].is_string()), "{out}");
    let (code, out, _) = infralab(&["gpu", "--replay", "small", "--speed", "0"], data.path());
    assert!(code == 0 && !out.is_empty(), "by its file's name");
    let (_, report, _) = infralab(&["report"], data.path());
    assert!(!report.contains("monitor") && report.contains("history: 0"), "{report}");
    let (_, report, err) = infralab(&["report", "--run", "small"], data.path());
    assert!(!report.contains("monitor-gpu") && err.contains("not of a lab"), "{err}");
}

#[test]
fn a_command_is_a_phase_its_output_passes_and_its_arguments_stay_private() {
    let data = tempfile::tempdir().expect("dir");
    let file = data.path().join("x.jsonl.gz");
    let script = "echo out; echo err >&2; exit 3 # token=hunter2";
    let args = ["gpu", "--record", text(&file), "--hz", "20", "--", "sh", "-c", script];
    let (code, out, err) = infralab(&args, data.path());
    assert_eq!((code, out.as_str()), (1, "out\n"), "{err}");
    assert!(err.contains("err\n"), "{err}");
    let record = record_of(&file);
    assert_eq!(record["summary"]["command_exit_code"]["value"], 3.0);
    assert_eq!((&record["outcome"], &record["params"]["command"]), (&"completed".into(), &"sh".into()));
    let lines = lines(&file);
    let phases: Vec<(&Value, &Value)> =
        lines.iter().filter(|l| l["type"] == "phase").map(|l| (&l["name"], &l["edge"])).collect();
    assert_eq!(phases, [(&"command".into(), &"start".into()), (&"command".into(), &"end".into())]);
    let first = lines.iter().position(|l| l["type"] == "phase").expect("a phase");
    assert_eq!(lines[..first].iter().filter(|l| l["type"] == "snapshot").count(), 2, "how it was before");
    assert!(!serde_json::to_string(&lines).expect("JSON").contains("hunter2"));
    let (_, out, _) = infralab(&["run", "show", text(&file)], data.path());
    assert!(out.lines().any(|l| l.contains("command_exit_code") && l.ends_with(" 3.000")), "{out}");
}

#[test]
fn a_command_that_cannot_be_started_is_told_and_the_file_is_whole() {
    let data = tempfile::tempdir().expect("dir");
    let file = data.path().join("x.jsonl");
    let args = ["gpu", "--record", text(&file), "--hz", "20", "--", "no-such-program-here"];
    let (code, _, err) = infralab(&args, data.path());
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("no-such-program-here") && err.contains("PATH"), "{err}");
    assert_eq!(record_of(&file)["outcome"], "failed");
}

#[test]
fn an_interrupt_closes_the_file_and_what_came_before_the_asked_end_is_stopped() {
    let dir = tempfile::tempdir().expect("dir");
    for (name, more, signal, outcome) in [
        ("open.jsonl.gz", &[][..], Signal::INT, "completed"),
        ("ended.jsonl", &["--seconds", "1000"], Signal::TERM, "stopped"),
    ] {
        let file = dir.path().join(name);
        let child = recorder(&file, more);
        wait_for_snapshots(&file, 1);
        send(&child, signal);
        let output = child.wait_with_output().expect("output");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{err}");
        assert!(err.contains("Ctrl-C") && err.contains("readings in"), "{err}");
        assert_eq!(record_of(&file)["outcome"], outcome);
    }
}

#[test]
fn a_recorder_that_is_killed_leaves_a_run_that_can_be_read() {
    let dir = tempfile::tempdir().expect("dir");
    let file = dir.path().join("x.jsonl.gz");
    let mut child = recorder(&file, &[]);
    wait_for_snapshots(&file, 10);
    child.kill().expect("killed");
    child.wait().expect("gone");
    assert!(replayed(&file).len() > 10);
    assert_eq!(record_of(&file)["outcome"], "cut off");
}

#[test]
fn control_c_reaches_the_command_and_the_recording_waits_for_its_end() {
    let data = tempfile::tempdir().expect("dir");
    let file = data.path().join("x.jsonl.gz");
    let script = "trap 'echo caught; exit 7' INT; echo ready; while :; do sleep 0.05; done";
    let args = ["gpu", "--record", text(&file), "--hz", "20", "--", "sh", "-c", script];
    let mut terminal = Terminal::start(PROGRAM, &args, Some((100, 30)), &[]);
    terminal.wait_for("ready");
    terminal.send("\x03");
    terminal.wait_for("caught");
    terminal.wait_for("readings in");
    assert_eq!(terminal.exit().exit_code(), 1, "the command failed");
    let record = record_of(&file);
    assert_eq!(record["summary"]["command_exit_code"]["value"], 7.0);
    assert_eq!(record["outcome"], "completed");
}

#[test]
fn runs_of_labs_are_read_compressed_by_their_bytes_and_not_by_their_name() {
    let data = tempfile::tempdir().expect("dir");
    let runs = data.path().join("runs");
    std::fs::create_dir(&runs).expect("mkdir");
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/runs/attention-tiny.jsonl");
    let plain = std::fs::read(fixture).expect("the fixture");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&plain).expect("into memory");
    let compressed = encoder.finish().expect("into memory");
    std::fs::write(runs.join("a.jsonl.gz"), &compressed).expect("write");
    std::fs::write(runs.join("b.jsonl"), &compressed).expect("write");
    std::fs::write(runs.join("c.jsonl.gz"), &plain).expect("write");
    std::fs::write(runs.join("d.jsonl.gz"), &compressed[..compressed.len() * 2 / 3]).expect("write");
    let (_, out, _) = infralab(&["run", "list", "--device", "xeon", "--json"], data.path());
    let runs: Vec<Value> = out.lines().map(|l| serde_json::from_str(l).expect("object")).collect();
    let told = |file: &str| runs.iter().find(|r| r["file"] == file).map(|r| r["outcome"].clone());
    for file in ["a.jsonl.gz", "b.jsonl", "c.jsonl.gz"] {
        assert_eq!(told(file), Some("completed".into()), "{out}");
    }
    assert_eq!(told("d.jsonl.gz"), Some("cut off".into()), "{out}");
    let (_, whole, _) = infralab(&["run", "export", "a", "--format", "csv"], data.path());
    let (_, same, _) = infralab(&["run", "export", "c", "--format", "csv"], data.path());
    let (_, part, _) = infralab(&["run", "export", "d", "--format", "csv"], data.path());
    assert_eq!(whole, same);
    let known: Vec<&str> = whole.lines().collect();
    assert!((2..known.len()).contains(&part.lines().count()), "{part}");
    assert!(part.lines().all(|line| known.contains(&line)), "{part}");
}
