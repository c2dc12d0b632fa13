use super::*;
use crate::lab::{Header, LabSession, Prediction, Record};
use infralab_labs::protocol::{DeviceChoice, RunRequest};
use infralab_labs::spec::Size;

fn header(run: &str, unix_ms: u64) -> Header {
    Header {
        format: FORMAT,
        run: run.into(),
        infralab: "0".into(),
        request: RunRequest {
            lab: "attention".into(),
            size: Size::Tiny,
            device: DeviceChoice::Auto,
            params: infralab_labs::find_lab("attention")
                .expect("lab")
                .params_for(Size::Tiny, &[])
                .expect("ok"),
            seed: 1,
            budget_bytes: None,
        },
        predictions: [("naive_growth".to_owned(), Prediction::number(3.0).expect("positive"))].into(),
        disturbances: Vec::new(),
        machine: crate::telemetry::Machine::default(),
        unix_ms,
        mono_ns: 5,
    }
}

#[test]
fn what_is_written_is_read_back() {
    let dir = tempfile::tempdir().expect("dir");
    let mut writer = Writer::create(dir.path(), &header("one", 1)).expect("create");
    let log = LabEvent::Log { line: "x".into() };
    writer.write(&log).expect("write");
    let mut session = LabSession::default();
    session.apply(LabEvent::Header(header("one", 1)));
    let record = Record::of(&session).expect("record");
    assert_eq!(record.predictions[1].predicted, Some(3.0));
    let path = writer.finish(record.clone()).expect("finish");
    let events = load(&Place::File(path)).expect("load");
    assert_eq!(events[0], LabEvent::Header(header("one", 1)));
    assert_eq!(events[1], log);
    assert_eq!(events[2], LabEvent::Record(Box::new(record)));
}

#[test]
fn the_list_is_newest_first_and_survives_strange_files() {
    let dir = tempfile::tempdir().expect("dir");
    for (id, at) in [("b-old", 10), ("a-new", 20)] {
        drop(Writer::create(dir.path(), &header(id, at)).expect("create"));
    }
    std::fs::write(dir.path().join("junk.jsonl"), b"\xff\x00nonsense").expect("write");
    let runs = list(dir.path()).expect("list");
    let own: Vec<&str> = runs.iter().filter(|r| !r.shipped()).map(|r| r.header.run.as_str()).collect();
    assert_eq!(own, ["a-new", "b-old"]);
    assert!(runs[0].record.is_none(), "a run without a closing record was cut off");
    assert!(matches!(find(dir.path(), "a-"), Ok(Place::File(_))));
    assert!(matches!(find(dir.path(), "zzz"), Err(RunError::Unknown(_))));
}

#[test]
fn what_is_no_run_is_named_with_the_reason_and_copies_by_their_file() {
    let dir = tempfile::tempdir().expect("dir");
    let path = |name: &str| dir.path().join(name);
    drop(Writer::create(dir.path(), &header("one", 1)).expect("create"));
    std::fs::copy(path("one.jsonl"), path("kept.jsonl")).expect("copy");
    std::fs::write(path("empty.jsonl"), "").expect("write");
    std::fs::write(path("junk.jsonl"), "{\"type\":\"log\",\"line\":\"x\"}\n").expect("write");
    std::fs::create_dir(path("folder.jsonl")).expect("mkdir");
    std::fs::write(path("notes.txt"), "not ours").expect("write");
    let (runs, unreadable) = scan(dir.path()).expect("scan");
    let names: Vec<Option<String>> = runs.iter().filter(|r| !r.shipped()).map(Listed::known_as).collect();
    assert_eq!(names, [Some("kept.jsonl".into()), None]);
    assert_eq!(find(dir.path(), "kept").expect("by file"), Place::File(path("kept.jsonl")));
    assert_eq!(find(dir.path(), "one").expect("by id"), Place::File(path("one.jsonl")));
    let why: Vec<(String, &str)> = unreadable
        .iter()
        .map(|u| (u.path.file_name().expect("a name").to_string_lossy().into_owned(), u.why.as_str()))
        .collect();
    assert_eq!(
        why,
        [
            ("empty.jsonl".to_owned(), "it is empty"),
            ("folder.jsonl".to_owned(), "it is not a regular file"),
            ("junk.jsonl".to_owned(), "its first line is no header of a run"),
        ]
    );
}

#[test]
fn a_run_that_was_cut_off_still_tells_its_device_and_filters_find_it() {
    let dir = tempfile::tempdir().expect("dir");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/runs/attention-tiny.jsonl");
    let text = std::fs::read_to_string(fixture).expect("the fixture");
    let whole = text.lines().count();
    let head = text.lines().take(whole - 1).collect::<Vec<_>>().join("\n");
    std::fs::write(dir.path().join("20261201-020307-attention-tiny-9b08.jsonl"), head).expect("write");
    let runs = list(dir.path()).expect("list");
    let run = &runs[0];
    assert_eq!((run.outcome(), run.device.as_deref()), ("cut off", Some("Intel(R) Xeon(R) Processor")));
    let passes = |filter: Filter| runs.iter().filter(|r| filter.passes(r)).count();
    assert_eq!(passes(Filter { device: Some("xeon".into()), ..Filter::default() }), 1);
    assert_eq!(passes(Filter { size: Some(Size::Tiny), ..Filter::default() }), 1);
    assert_eq!(passes(Filter { outcome: Some("completed".into()), ..Filter::default() }), shipped().len());
    assert_eq!(passes(Filter { lab: Some("nope".into()), ..Filter::default() }), 0);
    assert!(run.matches("XEON tiny", "") && run.matches("中断", "中断") && !run.matches("xeon full", ""));
}

#[test]
fn two_runs_of_one_id_are_refused() {
    let dir = tempfile::tempdir().expect("dir");
    let _first = Writer::create(dir.path(), &header("same", 1)).expect("create");
    assert!(
        Writer::create(dir.path(), &header("same", 1)).unwrap_err().to_string().contains("the lab goes on")
    );
}

#[test]
fn a_line_without_end_is_cut_and_too_many_lines_are_told() {
    let begins = serde_json::to_string(&LabEvent::Header(header("one", 1))).expect("JSON") + "\n";
    let events = read((begins.clone() + &"显".repeat(100_000)).as_bytes()).expect("read");
    let [LabEvent::Header(_), LabEvent::Log { line }] = events.as_slice() else { panic!("{}", events.len()) };
    assert!(line.len() <= MOST_LOG_BYTES + 3 && line.ends_with("显…"), "{}", line.len());
    let error = read((begins + &"x\n".repeat(MOST_EVENTS)).as_bytes()).expect_err("too many");
    assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
}

#[test]
fn shipped_recordings_are_found_by_their_names_and_labs_come_first() {
    let dir = tempfile::tempdir().expect("dir");
    let place = find(dir.path(), "gpu-matmul-h200").expect("it ships");
    assert_eq!(place, Place::Shipped("gpu-matmul-h200.jsonl.gz".into()));
    let kinds: Vec<bool> = shipped().iter().map(Listed::is_of_readings).collect();
    assert!(kinds.is_sorted() && kinds.contains(&true) && kinds.contains(&false), "{kinds:?}");
}
