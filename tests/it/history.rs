//! Runs on disk as scripts see them: filters and comparisons.

use serde_json::Value;

use crate::cli::told_in as infralab;

const TINY: &str = "20261201-020307-attention-tiny-9b08";

/// Id of the attention run that ships.
fn shipped() -> String {
    let data = tempfile::tempdir().expect("dir");
    let (_, out, _) = infralab(&["run", "list", "--lab", "attention", "--json"], data.path());
    let run: Value = serde_json::from_str(out.lines().next().expect("one ships")).expect("object");
    run["run"].as_str().expect("an id").to_owned()
}

fn fixture() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/runs/attention-tiny.jsonl");
    std::fs::read_to_string(path).expect("the fixture")
}

/// A data directory with these runs.
fn data(runs: &[(&str, &str)]) -> tempfile::TempDir {
    let data = tempfile::tempdir().expect("dir");
    std::fs::create_dir(data.path().join("runs")).expect("mkdir");
    for (name, text) in runs {
        std::fs::write(data.path().join("runs").join(format!("{name}.jsonl")), text).expect("write");
    }
    data
}

#[test]
fn the_list_is_filtered_and_names_what_is_no_run() {
    let data = data(&[(TINY, &fixture()), ("a-copy", &fixture()), ("junk", "junk\n")]);
    let (code, out, _) = infralab(&["run", "list", "--json"], data.path());
    assert_eq!(code, 0);
    let runs: Vec<Value> = out.lines().map(|l| serde_json::from_str(l).expect("object")).collect();
    assert!(runs.iter().any(|r| r["run"] == TINY && r["file"] == "a-copy.jsonl"), "{out}");
    let junk = runs.iter().find(|r| r["file"] == "junk.jsonl").expect("named");
    assert!(junk["unreadable_because"].as_str().is_some_and(|w| w.contains("header")), "{junk}");
    let filtered = |args: &[&str]| {
        let (code, out, _) = infralab(&[&["run", "list"], args].concat(), data.path());
        (code, out.lines().count())
    };
    assert_eq!(filtered(&["--device", "xeon"]), (0, 2));
    assert_eq!(filtered(&["--device", "xeon", "--limit", "1"]), (0, 1));
    assert_eq!(filtered(&["--size", "full", "--lab", "attention", "--outcome", "completed"]), (0, 1));
    assert_eq!(filtered(&["--outcome", "cut-off"]), (1, 0));
}

#[test]
fn a_comparison_tells_the_environment_first_and_is_one_object_in_json() {
    let data = data(&[(TINY, &fixture())]);
    let h200 = shipped();
    let (code, out, err) = infralab(&["run", "compare", &h200, TINY], data.path());
    assert_eq!(code, 0, "{err}");
    let place = |words: &str| out.find(words).unwrap_or_else(|| panic!("{words} in {out}"));
    assert!(place("580.159.04") < place("head_dim") && place("head_dim") < place("fused_speedup"));
    let (_, out, _) = infralab(&["run", "compare", &h200, TINY, "--json"], data.path());
    let object: Value = serde_json::from_str(&out).expect("one object");
    assert_eq!(object["environment_differences"][0]["name"], "device");
    assert_eq!(object["summary"][0]["values"][1]["unit"], "TFLOP/s");
    let (_, out, _) = infralab(&["run", "compare", &h200, TINY, "--md"], data.path());
    assert!(out.starts_with("# attention · comparison\n"), "{out}");
    assert_eq!(infralab(&["run", "compare", &h200, "nope"], data.path()).0, 1);
    assert_eq!(infralab(&["run", "compare", &shipped()], data.path()).0, 2);
}

#[test]
fn runs_of_two_labs_are_refused_in_words() {
    let other = fixture().replace("\"lab\":\"attention\"", "\"lab\":\"another\"").replace("9b08", "0000");
    let data = data(&[(TINY, &fixture()), ("other", &other)]);
    let (code, out, err) = infralab(&["run", "compare", TINY, "other"], data.path());
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("`attention`") && err.contains("`another`"), "{err}");
}

#[test]
fn exports_hold_ranges() {
    let ranged = fixture().replace(
        "\"value\":0.199979,\"unit\":\"ms\"",
        "\"value\":0.199979,\"unit\":\"ms\",\"range\":[0.19,0.25]",
    );
    let data = data(&[(TINY, &ranged)]);
    let (_, out, _) = infralab(&["run", "export", TINY, "--format", "csv"], data.path());
    assert!(out.starts_with("metric,series,x,value,unit,closed_form,missing,window,min,max\n"), "{out}");
    assert!(out.lines().any(|l| l.starts_with("forward_backward_ms,naive,64,") && l.ends_with(",0.19,0.25")));
    let (_, out, _) = infralab(&["run", "export", TINY], data.path());
    assert!(out.contains("0.2000 \\[0.1900 … 0.2500\\]"), "{out}");
    assert!(out.contains("infralab lab run attention --size tiny --device auto --seed 42"), "{out}");
}
