//! The command line as scripts see it.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn infralab(args: &[&str], data: &std::path::Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_infralab"))
        .args(args)
        .env("INFRALAB_DATA", data)
        .env("LANG", "C.UTF-8")
        .env_remove("LC_ALL")
        .env_remove("INFRALAB_WORKER")
        .env_remove("INFRALAB_LIBTORCH")
        .stdin(Stdio::null())
        .output()
        .expect("the program runs")
}

pub(crate) fn in_temp(args: &[&str]) -> (i32, String, String) {
    let data = tempfile::tempdir().expect("temp dir");
    told_in(args, data.path())
}

/// Exit code and what was printed, with this data directory.
pub(crate) fn told_in(args: &[&str], data: &std::path::Path) -> (i32, String, String) {
    told(&infralab(args, data))
}

fn told(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

#[test]
fn without_a_terminal_the_screens_say_so_in_one_line() {
    let (code, out, err) = in_temp(&[]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert_eq!(err.lines().count(), 1, "{err}");
    assert!(err.contains("needs a terminal"), "{err}");
}

#[test]
fn an_unreadable_data_directory_is_told() {
    let dir = tempfile::tempdir().expect("temp dir");
    let file = dir.path().join("file");
    std::fs::write(&file, "").expect("write");
    let (code, _, err) = told(&infralab(&["glossary", "mark", "gpu", "known"], &file));
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("file") && err.matches("os error").count() <= 1, "{err}");
}

#[test]
fn search_answers_in_both_languages_and_joins_them() {
    for (query, id) in [
        ("显存", "gpu-memory"),
        ("gpu memory", "gpu-memory"),
        ("KV缓存", "kv-cache"),
        ("OOM", "out-of-memory"),
    ] {
        let (code, out, err) = in_temp(&["search", query, "--json"]);
        assert_eq!(code, 0, "{query}: {err}");
        let found: Value = serde_json::from_str(&out).expect("one object");
        assert_eq!(found["query"], query);
        assert!(found["took_us"].is_u64());
        let hits = found["hits"].as_array().expect("hits");
        assert!(hits.iter().take(3).any(|h| h["id"] == id), "{query}: {out}");
        for field in ["kind", "id", "title", "lang", "score", "snippet", "anchor"] {
            assert!(hits[0].get(field).is_some(), "{field} in {out}");
        }
    }
    let (code, _, err) = in_temp(&["search", "zzzqqqxxx"]);
    assert_eq!(code, 1, "{err}");
    for strange in ["(", "a:b", "AND", "“显存带宽”", "（KV）", "\"", "*", "\\"] {
        let (code, _, err) = in_temp(&["search", strange]);
        assert!(code == 0 || code == 1, "{strange}: {code} {err}");
    }
}

#[test]
fn notes_are_listed_and_shown() {
    let (code, out, _) = in_temp(&["note", "list", "--json"]);
    assert_eq!(code, 0);
    let ids: Vec<String> = out
        .lines()
        .map(|l| {
            serde_json::from_str::<Value>(l).expect("an object a line")["id"].as_str().expect("id").to_owned()
        })
        .collect();
    assert!(ids.len() >= 6, "{ids:?}");
    for lang in ["en", "zh"] {
        let (code, out, _) = in_temp(&["note", "show", &ids[0], "--lang", lang]);
        assert_eq!(code, 0);
        assert!(out.len() > 1000 && !out.contains("+++"), "{out}");
        assert!(!out.contains('\x1b'), "no escape codes in a pipe");
    }
    let (code, _, err) = in_temp(&["note", "show", "nope"]);
    assert_eq!(code, 1);
    assert!(err.contains("note list"), "{err}");
}

#[test]
fn marks_are_put_shown_exported_merged_and_taken_back() {
    let (one, two) = (tempfile::tempdir().expect("dir"), tempfile::tempdir().expect("dir"));
    let run = |args: &[&str]| told(&infralab(args, one.path()));
    assert_eq!(run(&["glossary", "mark", "显存", "known"]).0, 0);
    assert_eq!(run(&["glossary", "mark", "kv-cache", "learning"]).0, 0);
    let (_, out, _) = run(&["glossary", "show", "gpu-memory", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&out).expect("object")["mark"], "known");
    let (_, exported, _) = run(&["progress", "export"]);
    let file = two.path().join("export.jsonl");
    std::fs::write(&file, &exported).expect("write");
    let path = file.to_str().expect("UTF-8");
    let (code, out, _) = told(&infralab(&["progress", "import", path], two.path()));
    assert_eq!((code, out.starts_with("2 new events")), (0, true), "{out}");
    let (_, out, _) = told(&infralab(&["progress", "import", path], two.path()));
    assert!(out.starts_with("0 new events, 2 already here"), "{out}");
    assert_eq!(run(&["progress", "undo"]).0, 0);
    let (_, out, _) = run(&["glossary", "show", "kv-cache", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&out).expect("object")["mark"], Value::Null);
    assert_eq!(run(&["glossary", "mark", "nope", "known"]).0, 1);
    assert_eq!(run(&["glossary", "mark", "gpu", "mastered"]).0, 2);
}

#[test]
fn the_shipped_content_passes_its_own_check() {
    let (code, out, _) = in_temp(&["check"]);
    assert_eq!(code, 0, "{out}");
}

#[test]
fn labs_tell_what_they_ask_and_refuse_what_they_cannot_do() {
    let (code, out, _) = in_temp(&["lab", "show", "attention", "--json"]);
    assert_eq!(code, 0);
    let lab: Value = serde_json::from_str(&out).expect("object");
    assert!(lab["predictions"].as_array().is_some_and(|p| p.len() >= 2));
    for (args, part) in [
        (&["lab", "run", "nope"][..], "there is: attention"),
        (&["lab", "run", "attention", "--set", "batch=0"], "from 1 to 256"),
        (&["lab", "run", "attention", "--set", "colour=red"], "it has batch"),
        (&["lab", "run", "attention", "--predict", "luck=7"], "asks for"),
        (&["lab", "run", "attention", "--predict", "naive_growth=often"], "not a number"),
        (&["lab", "run", "attention", "--device", "tpu"], "cuda:N"),
        (&["lab", "run", "attention", "--size", "huge"], "tiny, small or full"),
        (&["lab", "run", "attention"], "engine install"),
    ] {
        let (code, _, err) = in_temp(args);
        assert_eq!(code, 2, "{args:?}: {err}");
        assert!(err.contains(part), "{args:?}: {err}");
    }
}

#[test]
fn one_reading_of_the_machine_is_one_object_and_missing_is_null() {
    let (code, out, err) = in_temp(&["gpu", "--once", "--json"]);
    assert_eq!(code, 0, "{err}");
    let object: Value = serde_json::from_str(&out).expect("one object");
    let host = &object["snapshot"]["host"];
    assert!(host["memory_total_bytes"].as_u64().is_some_and(|b| b > 0), "{out}");
    assert!(host["cpu_pct"].as_f64().is_some_and(|p| (0.0..=100.0).contains(&p)), "{out}");
    let gpus = object["snapshot"]["gpus"].as_array().expect("gpus");
    if gpus.is_empty() {
        assert!(
            object["machine"]["gpu_absent_because"].as_str().is_some_and(|w| w.contains("libnvidia-ml")),
            "{out}"
        );
    }
}

#[test]
fn a_closed_pipe_ends_a_command_quietly() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_infralab"))
        .args(["glossary", "list", "--json"])
        .env("INFRALAB_DATA", tempfile::tempdir().expect("dir").path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("output");
    assert_eq!(told(&output), (0, String::new(), String::new()));
}

#[test]
fn shipped_recordings_are_listed_shown_exported_and_replayed() {
    let (code, out, _) = in_temp(&["run", "list", "--json"]);
    assert_eq!(code, 0);
    let runs: Vec<Value> = out.lines().map(|l| serde_json::from_str(l).expect("object")).collect();
    let run = runs.iter().find(|r| r["recording"] == true && r["lab"] == "attention").expect("a recording");
    assert_eq!((&run["size"], &run["outcome"]), (&Value::from("full"), &Value::from("completed")));
    assert!(run["device"].as_str().is_some_and(|d| d.contains("H200")));
    let id = run["run"].as_str().expect("id");
    let (code, out, _) = in_temp(&["run", "replay", id, "--speed", "0", "--json"]);
    assert_eq!(code, 0);
    let last: Value = serde_json::from_str(out.lines().next_back().expect("lines")).expect("object");
    assert_eq!(last["type"], "record");
    assert_eq!(last["summary"]["naive_peak_extra_mib"]["value"], 33024.0);
    assert_eq!(last["predictions"][0]["residual"], 0.0);
    let (code, out, _) = in_temp(&["run", "export", id, "--format", "csv"]);
    assert_eq!(code, 0);
    assert!(out.lines().any(|l| l.starts_with("peak_extra_mib,naive,8192,33024,MiB,33024")), "{out}");
    let (code, out, _) = in_temp(&["run", "export", id]);
    assert_eq!(code, 0);
    assert!(out.contains("| naive_peak_extra_mib | MiB |"), "{out}");
    assert_eq!(in_temp(&["run", "show", "nope"]).0, 1);
}

#[test]
fn escapes_in_a_run_file_and_pipes_in_its_place_do_no_harm() {
    let data = tempfile::tempdir().expect("dir");
    let runs = data.path().join("runs");
    std::fs::create_dir(&runs).expect("mkdir");
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/runs/attention-tiny.jsonl");
    let text = std::fs::read_to_string(fixture).expect("the fixture");
    std::fs::write(runs.join("evil.jsonl"), text.replace("Intel(R)", "\\u001b]0;EVIL\\u0007"))
        .expect("write");
    let made = Command::new("mkfifo").arg(runs.join("pipe.jsonl")).status().expect("mkfifo");
    assert!(made.success());
    for args in [&["run", "list"][..], &["run", "export", "2026", "--format", "md"]] {
        let id = if args.len() > 2 {
            Some(told(&infralab(&["run", "list", "--json"], data.path())).1)
        } else {
            None
        };
        let first = id.and_then(|l| serde_json::from_str::<Value>(l.lines().next()?).ok());
        let run = first.and_then(|v| v["run"].as_str().map(str::to_owned)).unwrap_or_default();
        let args: Vec<&str> = args.iter().map(|a| if *a == "2026" { run.as_str() } else { a }).collect();
        let (code, out, err) = told(&infralab(&args, data.path()));
        assert_eq!(code, 0, "{args:?}: {err}");
        assert!(out.contains("EVIL") && !out.contains('\x1b') && !out.contains('\x07'), "{out:?}");
    }
}

#[test]
fn a_damaged_progress_log_is_told_and_kept() {
    let data = tempfile::tempdir().expect("dir");
    let log = data.path().join("progress.jsonl");
    std::fs::write(&log, b"\xff\x00 junk\nmore junk\n").expect("write");
    let (code, _, err) = told(&infralab(&["glossary", "mark", "gpu", "known"], data.path()));
    assert_eq!(code, 0);
    assert!(err.contains("2 lines") && err.contains("kept"), "{err}");
    assert!(std::fs::read(&log).expect("read").starts_with(b"\xff\x00 junk\nmore junk\n"));
}
