//! The report and the calibration as scripts see them.

use std::path::Path;

use serde_json::Value;

use crate::cli::told_in as infralab;

/// A data directory with the fixture run, changed by `change`.
fn data(change: impl Fn(String) -> String) -> tempfile::TempDir {
    let data = tempfile::tempdir().expect("dir");
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/runs/attention-tiny.jsonl");
    let text = change(std::fs::read_to_string(fixture).expect("the fixture"));
    std::fs::create_dir(data.path().join("runs")).expect("mkdir");
    std::fs::write(data.path().join("runs/20261201-020307-attention-tiny-9b08.jsonl"), text).expect("write");
    data
}

#[test]
fn markdown_goes_to_stdout_without_pictures_and_to_a_file_with_them() {
    let data = data(|text| text);
    let (code, out, err) = infralab(&["report"], data.path());
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("naive_growth 3.731×") && !out.contains(".svg"), "{out}");
    assert!(out.contains("Pictures are left out"), "{out}");
    assert!(!out.contains("NVIDIA H200"), "a recording is not the learner's");
    let file = data.path().join("my page.md");
    let path = file.to_str().expect("UTF-8");
    let (code, _, err) = infralab(&["report", "--out", path, "--with-recordings"], data.path());
    assert_eq!(code, 0, "{err}");
    let text = std::fs::read_to_string(&file).expect("written");
    let pictures: Vec<&str> =
        text.split("](<").skip(1).filter_map(|rest| rest.split_once(">)").map(|(name, _)| name)).collect();
    assert!(pictures.len() >= 10, "{text}");
    for picture in pictures {
        let svg = std::fs::read_to_string(data.path().join(picture)).expect(picture);
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    }
    assert!(text.contains("NVIDIA H200"));
}

#[test]
fn html_is_one_file_and_a_hostile_device_is_only_words() {
    let data = data(|text| text.replace("Intel(R)", "<script>alert(1)</script>"));
    let (code, out, _) = infralab(&["report", "--format", "html", "--lang", "zh"], data.path());
    assert_eq!(code, 0);
    assert!(out.starts_with("<!DOCTYPE html>") && out.trim_end().ends_with("</html>"));
    assert!(!out.contains("<script") && out.contains("&lt;script&gt;alert(1)"), "{out}");
    assert!(out.contains("<svg") && out.contains("第 1 阶段"));
}

#[test]
fn named_runs_are_shown_alone_and_faults_are_told() {
    let data = data(|text| text);
    let (_, list, _) = infralab(&["run", "list", "--lab", "attention", "--size", "full"], data.path());
    let id = list.split_whitespace().next().expect("one ships");
    let (_, out, _) = infralab(&["report", "--run", id], data.path());
    assert!(out.contains("NVIDIA H200") && !out.contains("naive_growth 3.731×"), "{out}");
    assert_eq!(infralab(&["report", "--run", "nope"], data.path()).0, 1);
    let nowhere = Path::new("/dev/null/x.md");
    let (code, _, err) = infralab(&["report", "--out", nowhere.to_str().expect("UTF-8")], data.path());
    assert!(code == 2 && err.contains("cannot be written"), "{err}");
    let (code, _, err) = infralab(&["report", "--out", "plain"], data.path());
    assert!(code == 2 && err.contains("ending"), "{err}");
}

#[test]
fn calibration_is_one_object_and_words() {
    let interval = "\"naive_growth\",\"formula\":\"512² / 256²\",\"predicted\":4.0,";
    let data = data(|text| text.replace(interval, &format!("{interval}\"interval\":[3.5,4.5],")));
    let (code, out, _) = infralab(&["run", "calibration", "--json"], data.path());
    assert_eq!(code, 0);
    let object: Value = serde_json::from_str(&out).expect("one object");
    assert_eq!(
        (&object["all"]["predictions"], &object["verdict"]),
        (&Value::from(2), &Value::from("too_few"))
    );
    assert_eq!(object["all"]["intervals"]["held"], 1);
    assert_eq!(object["by_lab"]["attention"]["sides"]["share_pct"], Value::Null);
    let (_, out, _) = infralab(&["run", "calibration"], data.path());
    assert!(out.contains("Too few to tell") && out.contains("100 % (1/1)"), "{out}");
}
