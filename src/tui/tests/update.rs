//! State, keys, then state: what each screen does.

use super::*;
use crate::engine::{Plan, Set};
use crate::lab::history::{Listed, Place};
use crate::lab::{Exited, Predictions};
use crate::tui::keys;
use crate::tui::msg::{Notice, Setup, Tab};
use crate::tui::screens::Screen;

fn at(app: &App) -> keys::Place {
    app.screen().place()
}

#[test]
fn digits_and_f_keys_go_to_the_main_screens_and_back() {
    let mut app = app((80, 24), Lang::En);
    for (key, place) in [
        ("2", keys::Place::Notes),
        ("4", keys::Place::Glossary),
        ("5", keys::Place::Labs),
        ("6", keys::Place::History),
        ("7", keys::Place::Calc),
        ("F3", keys::Place::Search),
        ("F1", keys::Place::Help),
    ] {
        press(&mut app, key);
        assert_eq!(at(&app), place, "{key}");
    }
    press(&mut app, "Esc Esc");
    assert_eq!(at(&app), keys::Place::Home);
    press(&mut app, "Esc");
    assert_eq!((at(&app), app.quit), (keys::Place::Home, false), "Esc never quits by itself");
    press(&mut app, "q");
    assert!(app.quit);
}

#[test]
fn a_screen_is_found_as_it_was_left() {
    let mut app = app((80, 24), Lang::En);
    press(&mut app, "2 Down Enter 4 2");
    assert_eq!(at(&app), keys::Place::Reader);
    assert!(drawn(&app).contains("Second note"));
    press(&mut app, "2");
    assert_eq!(at(&app), keys::Place::Notes, "the same digit again goes to its first page");
}

#[test]
fn marks_are_asked_for_and_shown_only_when_saved() {
    let mut app = app((80, 24), Lang::En);
    let effects = press(&mut app, "4 F5");
    let marked = Effect::Mark(vec![Subject::term("gpu-memory")], Some(Mark::Known));
    assert!(effects.contains(&marked), "{effects:?}");
    assert!(drawn(&app).contains("not marked"));
    app.update(Msg::Tell(Notice::bad("not saved: disk full")));
    assert!(drawn(&app).contains("not saved: disk full"));
    app.update(Msg::Progress(marks(&[("gpu-memory", Mark::Known)])));
    press(&mut app, "Up");
    assert!(drawn(&app).contains("✓ known"));
    let effects = press(&mut app, "x");
    assert_eq!(
        effects,
        [Effect::Mark(vec![Subject::term("gpu-memory")], None)],
        "the same mark again takes it away"
    );
    assert_eq!(press(&mut app, "F8"), [Effect::Undo]);
    app.update(Msg::Undone(Some("gpu-memory".into())));
    assert!(drawn(&app).contains("taken back: gpu-memory"));
}

#[test]
fn typing_goes_into_the_search_and_hits_open_in_either_language() {
    let mut app = app((80, 24), Lang::En);
    press(&mut app, "/");
    type_text(&mut app, "显存 q1");
    assert_eq!(at(&app), keys::Place::Search, "digits and letters are text here");
    press(&mut app, "Esc");
    type_text(&mut app, "显存");
    assert!(drawn(&app).contains("GPU memory"));
    press(&mut app, "Tab Tab Enter");
    assert_eq!(at(&app), keys::Place::Reader);
    assert!(drawn(&app).contains("GPU memory"));
    press(&mut app, "F2");
    assert!(drawn(&app).contains("显存"));
}

#[test]
fn links_lead_on_and_back() {
    let mut app = app((80, 24), Lang::En);
    press(&mut app, "2 Enter Tab Enter");
    assert!(drawn(&app).contains("what does not fit does not run"));
    press(&mut app, "Esc");
    assert!(drawn(&app).contains("Decode reads memory"));
}

#[test]
fn a_lab_is_predicted_and_started_and_its_events_shown() {
    let mut app = app((120, 40), Lang::En);
    press(&mut app, "5 Enter");
    type_text(&mut app, "6.25");
    let effects = press(&mut app, "F5");
    let Some(Effect::StartLab { request, predictions }) = effects.first() else { panic!("{effects:?}") };
    assert_eq!(
        predictions.get("naive_peak_extra_mib"),
        Some(&crate::lab::Prediction::number(6.25).expect("positive"))
    );
    assert_eq!(request.lab, "attention");
    assert_eq!(at(&app), keys::Place::Run);
    let mut finished = Vec::new();
    for event in recorded().into_iter().filter(|e| !matches!(e, LabEvent::Record(_))) {
        finished.extend(app.update(Msg::Lab(Box::new(event))));
    }
    assert!(
        finished.iter().any(|e| matches!(e, Effect::FinishRun(r) if r.outcome == "completed")),
        "{finished:?}"
    );
    assert!(drawn(&app).contains("completed"));
    let effects = press(&mut app, "F6");
    assert_eq!(effects, [], "nothing is left to stop");
}

#[test]
fn a_running_lab_can_be_stopped_and_no_second_one_started() {
    let mut app = app((120, 40), Lang::En);
    press(&mut app, "5 Enter F5");
    let header = recorded().into_iter().next().expect("a header");
    let effects = app.update(Msg::Lab(Box::new(header)));
    assert_eq!(effects, [Effect::SampleAt { hz: 5.0, watched: true }], "faster while a lab runs");
    assert_eq!(press(&mut app, "F6"), [Effect::StopLab]);
    press(&mut app, "Esc");
    assert!(drawn(&app).contains("● lab runs"));
    let effects = press(&mut app, "F5");
    assert!(!effects.iter().any(|e| matches!(e, Effect::StartLab { .. })), "{effects:?}");
    assert_eq!(at(&app), keys::Place::Run, "the one that runs is shown");
    press(&mut app, "1 5 5 Enter");
    assert_eq!(at(&app), keys::Place::Run);
    let exited = Exited { code: None, signal: Some(9), mono_ns: 1 };
    app.update(Msg::Lab(Box::new(LabEvent::Exited(exited))));
    assert!(!app.core.running());
}

#[test]
fn without_an_engine_the_lab_offers_to_set_it_up_or_to_watch_the_recording() {
    let mut app = app((120, 40), Lang::En);
    app.update(Msg::Engine(EngineStatus { ready: false, line: "no LibTorch".into() }));
    let effects = press(&mut app, "5 Enter F5");
    assert!(
        effects.contains(&Effect::PlanEngine)
            && !effects.iter().any(|e| matches!(e, Effect::StartLab { .. }))
    );
    assert_eq!(at(&app), keys::Place::Setup);
    assert_eq!(press(&mut app, "Enter"), [], "nothing is installed before it was shown");
    let plan = Box::new(Plan {
        set: Set::Slim,
        why: "no driver answers".into(),
        libtorch: None,
        packages: Vec::new(),
        python: None,
        build: None,
        destination: "/data/engine".into(),
    });
    app.update(Msg::Setup(Setup::Planned(plan.clone())));
    let screen = drawn(&app);
    assert!(screen.contains("slim set") && screen.contains("F6 plays the run"), "{screen}");
    assert_eq!(press(&mut app, "Enter"), [Effect::InstallEngine(plan)]);
    app.update(Msg::Setup(Setup::Running("downloading torch: 53.1 MB of 530.6 MB (10 %)".into())));
    assert!(drawn(&app).contains("(10 %)"));
    assert_eq!(press(&mut app, "Enter"), [], "once is enough");
    app.update(Msg::Setup(Setup::Done));
    press(&mut app, "Enter");
    assert_eq!(at(&app), keys::Place::Lab);
}

#[test]
fn a_recording_plays_at_its_own_pace() {
    let mut app = app((120, 40), Lang::En);
    let events = recorded();
    let LabEvent::Header(header) = events[0].clone() else { panic!("a header") };
    let place = Place::Shipped("attention.jsonl".into());
    app.update(Msg::History(vec![Listed { header, record: None, device: None, place: place.clone() }]));
    let effects = press(&mut app, "5 F6");
    assert!(
        effects.contains(&Effect::LoadRun { place, play: true, predictions: Predictions::new() }),
        "{effects:?}"
    );
    let start = 5_000_000_000;
    app.update(Msg::Tick(start));
    app.update(Msg::RunLoaded { shipped: true, events, play_from_ns: Some(start) });
    assert!(app.wants_ticks());
    assert!(drawn(&app).contains("RECORDING") && !drawn(&app).contains("completed"));
    app.update(Msg::Tick(start + 3_600_000_000_000));
    assert!(drawn(&app).contains("completed"));
    assert!(!app.wants_ticks());
}

#[test]
fn a_run_of_the_history_is_shown_as_it_ended() {
    let mut app = app((120, 40), Lang::En);
    let events = recorded();
    let LabEvent::Header(header) = events[0].clone() else { panic!("a header") };
    let place = Place::File("run.jsonl".into());
    app.update(Msg::History(vec![Listed { header, record: None, device: None, place: place.clone() }]));
    let effects = press(&mut app, "6 Enter");
    assert!(
        effects.contains(&Effect::LoadRun { place, play: false, predictions: Predictions::new() }),
        "{effects:?}"
    );
    app.update(Msg::RunLoaded { shipped: false, events, play_from_ns: None });
    assert!(drawn(&app).contains("completed") && drawn(&app).contains("past run"));
}

/// The fixture run as the history lists it, in a file of this name.
fn in_history(file: &str) -> Listed {
    let LabEvent::Header(header) = recorded()[0].clone() else { panic!("a header") };
    Listed { header, record: None, device: Some("a CPU".into()), place: Place::File(file.into()) }
}

#[test]
fn runs_are_chosen_in_the_history_and_compared() {
    let mut app = app((240, 60), Lang::En);
    app.update(Msg::History(vec![in_history("one.jsonl"), in_history("two.jsonl")]));
    press(&mut app, "6");
    assert_eq!(press(&mut app, "Space F6"), [], "one run is not enough");
    assert!(drawn(&app).contains("choose two runs or more"));
    let effects = press(&mut app, "Space F6");
    let places = ["one.jsonl", "two.jsonl"].map(|f| Place::File(f.into())).to_vec();
    assert_eq!(effects, [Effect::LoadRuns(places)]);
    let mut other = crate::lab::PastRun::of(recorded(), false).expect("a header");
    let first = other.clone();
    other.record.run = "other".into();
    let mut of_another_lab = other.clone();
    of_another_lab.record.lab = "kv-cache".into();
    app.update(Msg::RunsLoaded(vec![first.clone(), of_another_lab]));
    assert!(drawn(&app).contains("only runs of one lab"));
    assert_eq!(at(&app), keys::Place::History);
    app.update(Msg::RunsLoaded(vec![first, other]));
    assert_eq!(at(&app), keys::Place::Compare);
    let screen = drawn(&app);
    assert!(screen.contains("Nothing: device") && screen.contains("B·naive"), "{screen}");
    press(&mut app, "F2");
    assert!(drawn(&app).contains("没有差异"));
}

#[test]
fn the_history_is_filtered_by_typing() {
    let mut app = app((120, 40), Lang::En);
    app.update(Msg::History(vec![in_history("one.jsonl"), in_history("two.jsonl")]));
    press(&mut app, "6 Tab");
    type_text(&mut app, "TWO tiny");
    let screen = drawn(&app);
    assert!(screen.contains("two.jsonl") && !screen.contains("one.jsonl"), "{screen}");
    press(&mut app, "Enter");
    let effects = press(&mut app, "Enter");
    assert_eq!(
        effects,
        [Effect::LoadRun {
            place: Place::File("two.jsonl".into()),
            play: false,
            predictions: Predictions::new()
        }]
    );
    press(&mut app, "Esc");
    assert!(drawn(&app).contains("one.jsonl"), "Esc takes the filter away first");
}

#[test]
fn readings_are_drawn_only_where_they_are_shown() {
    let mut app = app((80, 24), Lang::En);
    app.dirty = false;
    app.update(Msg::Snapshot(Box::new(snapshot(1))));
    assert!(app.dirty, "home shows them");
    let effects = press(&mut app, "2");
    assert_eq!(effects, [Effect::SampleAt { hz: 0.5, watched: false }]);
    app.dirty = false;
    app.update(Msg::Snapshot(Box::new(snapshot(2))));
    assert!(!app.dirty, "a list of notes does not");
}

#[test]
fn a_released_key_does_nothing() {
    let mut app = app((80, 24), Lang::En);
    let mut key = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE);
    key.kind = crossterm::event::KeyEventKind::Release;
    app.update(Msg::Key(key));
    assert!(!app.quit);
}

#[test]
fn every_tab_has_a_first_page() {
    for tab in Tab::ALL {
        let _ = Screen::of(tab);
    }
}

#[test]
fn a_large_paste_is_one_search_and_is_cut() {
    let mut app = app((80, 24), Lang::En);
    press(&mut app, "/");
    app.update(Msg::Paste("k".repeat(1_000_000)));
    assert!(drawn(&app).contains("kkk"));
    press(&mut app, "Esc");
    app.update(Msg::Paste("显存".into()));
    assert!(drawn(&app).contains("GPU memory"));
}

#[test]
fn a_replay_can_be_stopped() {
    let mut app = app((120, 40), Lang::En);
    app.update(Msg::RunLoaded { shipped: true, events: recorded(), play_from_ns: Some(0) });
    assert!(app.wants_ticks());
    press(&mut app, "F6");
    assert!(!app.wants_ticks() && drawn(&app).contains("completed"));
}

#[test]
fn a_calculator_answers_as_one_types_and_keeps_the_last_good_answer() {
    let mut app = app((120, 40), Lang::En);
    press(&mut app, "7 F5");
    type_text(&mut app, "kv cache of a b");
    assert!(drawn(&app).contains("kv-cache"), "letters and digits are text in the filter");
    press(&mut app, "Enter Down Down Down");
    type_text(&mut app, "４Ki");
    let screen = drawn(&app);
    assert!(screen.contains("512 MiB = 536.9 MB") && screen.contains("= 4,096 token"), "{screen}");
    type_text(&mut app, "q");
    let screen = drawn(&app);
    assert!(screen.contains("before the mistake") && screen.contains("512 MiB"), "{screen}");
    assert!(screen.contains("has the unit `Kiq`"), "{screen}");
    assert!(!app.quit, "q is text in a field");
    press(&mut app, "Up Up Up Right");
    assert!(!drawn(&app).contains("Llama-3-8B ›"), "the arrows choose another model");
    press(&mut app, "Esc Esc Esc");
    assert_eq!(at(&app), keys::Place::Home);
    press(&mut app, "7 Enter Down Down Down");
    assert!(drawn(&app).contains("Kiq"), "forms stay as they were left");
}
