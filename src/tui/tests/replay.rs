//! A run that is replayed: its line, its keys, and recordings of readings alone.

use infralab_labs::protocol::{DeviceChoice, Edge, Event, RunRequest};
use infralab_labs::spec::Size;

use super::*;
use crate::lab::{Header, MONITOR, Predictions};

const SECOND: u64 = 1_000_000_000;

/// Ten seconds of readings of two GPUs, a second apart, with a command from the second to the eighth.
fn readings() -> Vec<LabEvent> {
    let mut machine = machine();
    machine.gpus.push(GpuInfo { index: 1, name: Some("NVIDIA H200".into()), ..GpuInfo::default() });
    let phase = |edge, second: u64| {
        LabEvent::Worker(Event::Phase { name: "command".into(), edge, mono_ns: second * SECOND })
    };
    let header = LabEvent::Header(Header {
        format: crate::lab::history::FORMAT,
        run: "20261201-000000-monitor-gpu-0000".into(),
        infralab: "0".into(),
        request: RunRequest {
            lab: MONITOR.into(),
            size: Size::Full,
            device: DeviceChoice::Auto,
            params: std::collections::BTreeMap::new(),
            seed: 0,
            budget_bytes: None,
        },
        predictions: Predictions::new(),
        disturbances: Vec::new(),
        machine,
        unix_ms: 1_796_103_777_368,
        mono_ns: 0,
    });
    let mut events = vec![header];
    for second in 0..=10 {
        match second {
            2 => events.push(phase(Edge::Start, 2)),
            8 => events.push(phase(Edge::End, 8)),
            _ => {}
        }
        let mut readings = snapshot(second);
        readings.gpus.push(readings.gpus[0].clone());
        events.push(LabEvent::Snapshot(readings));
    }
    events.push(LabEvent::Worker(Event::Done { stopped: false, mono_ns: 10 * SECOND }));
    events
}

fn replayed(size: (u16, u16), lang: Lang) -> App {
    let mut app = app(size, lang);
    app.update(Msg::RunLoaded { shipped: false, events: readings(), play_from_ns: Some(0) });
    app
}

/// The line of the replay: the last above the keys.
fn line(app: &App) -> String {
    let screen = drawn(app);
    screen.lines().nth(usize::from(app.core.size.1) - 2).expect("a row").to_owned()
}

/// The times that the line tells, and the speed.
fn told(app: &App) -> String {
    let line = line(app);
    let words: Vec<&str> = line.split_whitespace().collect();
    let slash = words.iter().position(|w| *w == "/").expect("a time of a total");
    words[slash - 2..slash + 4].join(" ")
}

#[test]
fn it_plays_is_held_sought_stepped_and_changes_its_pace() {
    let mut app = replayed((120, 40), Lang::En);
    assert!(app.wants_ticks());
    app.update(Msg::Tick(SECOND));
    assert_eq!(told(&app), "1.0 s / 10.0 s ×1");
    press(&mut app, "+");
    app.update(Msg::Tick(2 * SECOND));
    assert_eq!(told(&app), "3.0 s / 10.0 s ×2");
    press(&mut app, "Space");
    assert!(!app.wants_ticks() && line(&app).contains("‖ held"), "{}", line(&app));
    for (keys, times) in [
        (".", "4.0 s / 10.0 s ×2"),
        (",", "3.0 s / 10.0 s ×2"),
        ("PgDn PgDn", "5.0 s / 10.0 s ×2"),
        ("PgUp", "4.0 s / 10.0 s ×2"),
        ("Home", "0.0 s / 10.0 s ×2"),
        ("-", "0.0 s / 10.0 s ×1"),
        ("- -", "0.0 s / 10.0 s ×0.2"),
        ("End", "10.0 s / 10.0 s ×0.2"),
    ] {
        press(&mut app, keys);
        assert_eq!(told(&app), times, "after {keys}");
    }
    assert!(line(&app).contains("■ at the end"));
    press(&mut app, "F8");
    assert!(app.wants_ticks(), "at the end it begins anew");
    press(&mut app, "F6");
    assert!(!app.wants_ticks() && drawn(&app).contains("completed") && !line(&app).contains('×'));
    press(&mut app, "PgUp");
    assert_eq!(told(&app), "9.0 s / 10.0 s ×0.2", "a run that is shown whole can be sought in");
}

#[test]
fn every_key_of_a_replay_has_one_that_is_no_printed_character() {
    let mut app = replayed((120, 40), Lang::En);
    let control = |app: &mut App, c| {
        app.update(Msg::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)));
        told(app)
    };
    assert_eq!(control(&mut app, 'n'), "1.0 s / 10.0 s ×1");
    assert_eq!(control(&mut app, 'n'), "2.0 s / 10.0 s ×1");
    assert_eq!(control(&mut app, 'p'), "1.0 s / 10.0 s ×1");
    assert_eq!(control(&mut app, 'u'), "1.0 s / 10.0 s ×2");
    assert_eq!(control(&mut app, 'd'), "1.0 s / 10.0 s ×1");
    press(&mut app, "。");
    assert_eq!(told(&app), "2.0 s / 10.0 s ×1", "as a Chinese input method writes it");
}

#[test]
fn a_replay_shows_what_there_was_at_its_position_and_no_more() {
    let mut app = replayed((120, 40), Lang::En);
    press(&mut app, ". Home");
    let start = drawn(&app);
    press(&mut app, "PgDn PgDn PgDn");
    let third = drawn(&app);
    assert!(!start.contains("command") && third.contains("command"), "{third}");
    press(&mut app, "End Home PgDn PgDn PgDn");
    assert_eq!(drawn(&app), third, "whatever way leads there");
}

#[test]
fn readings_alone_have_the_screen_to_themselves() {
    let mut app = replayed((120, 40), Lang::En);
    press(&mut app, "End");
    let screen = drawn(&app);
    assert!(screen.contains("Readings") && screen.contains("completed"), "{screen}");
    assert!(!screen.contains("reconcile") && !screen.contains("closed form"), "{screen}");
    assert!(screen.contains("next GPU") && !screen.contains("guide"), "its own keys: {screen}");
    assert!(!screen.contains("prediction"), "{screen}");
    press(&mut app, "Down");
    assert_ne!(drawn(&app), screen, "another gauge is selected");
    press(&mut app, "Up F9");
    assert_ne!(drawn(&app), screen, "the lens is on");
    press(&mut app, "F9 F9 F9 Tab");
    assert_ne!(drawn(&app), screen, "the other GPU");
    press(&mut app, "Tab");
    assert_eq!(drawn(&app), screen);
}

#[test]
fn a_running_lab_cannot_be_held() {
    let mut app = app((120, 40), Lang::En);
    press(&mut app, "5 Enter F5");
    app.update(Msg::Lab(Box::new(recorded()[0].clone())));
    press(&mut app, "F8");
    assert!(drawn(&app).contains("F5 replays it"));
}

#[test]
fn the_line_tells_its_state_by_words_and_shapes_at_every_width() {
    let mut lines = String::new();
    for lang in Lang::ALL {
        for columns in [30, 80, 120, 200] {
            let mut app = replayed((columns, 24), lang);
            press(&mut app, "PgDn PgDn PgDn");
            for keys in ["", "Space", "End"] {
                press(&mut app, keys);
                lines.extend([line(&app).as_str(), "\n"]);
            }
            app.core.glyphs = crate::tui::glyphs::Glyphs::Ascii;
            lines.extend([line(&app).as_str(), "\n"]);
        }
    }
    insta::assert_snapshot!("replay-lines", lines);
}

#[test]
fn no_size_is_too_small() {
    for size in [(1, 1), (30, 8), (31, 9), (40, 10), (300, 120)] {
        for (lang, events) in [(Lang::Zh, readings()), (Lang::En, recorded()), (Lang::En, Vec::new())] {
            let mut app = app(size, lang);
            app.update(Msg::RunLoaded { shipped: true, events, play_from_ns: Some(0) });
            for keys in ["", "PgDn", "Down F9 Tab Right", "Space . , + -", "End", "F6", "F5"] {
                press(&mut app, keys);
                drawn(&app);
            }
        }
    }
}
