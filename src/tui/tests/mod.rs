//! The interface without a terminal: keys in, state, effects and drawn screens out.

mod replay;
mod screens;
mod sizes;
mod update;

use std::path::Path;
use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::app::App;
use super::msg::{Effect, EngineStatus, Msg};
use super::theme::Theme;
use crate::lab::LabEvent;
use crate::lang::Lang;
use crate::library::{Library, Source};
use crate::progress::{Mark, Progress, Store, Subject};
use crate::search::SearchIndex;
use crate::telemetry::{GpuInfo, GpuSnapshot, HostSnapshot, Machine, Snapshot};

/// An app with the fixture library, an index and an engine, on a terminal of this size.
fn app(size: (u16, u16), lang: Lang) -> App {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/library");
    let library = Arc::new(Library::load(&Source::Directory(root)));
    assert_eq!(library.faults, []);
    let mut app = App::new(Arc::clone(&library), lang, Theme::Dark, size);
    app.update(Msg::SearchReady(Box::new(SearchIndex::build(&library))));
    app.update(Msg::Engine(EngineStatus { ready: true, line: "LibTorch 2.11.0 (slim)".into() }));
    app.update(Msg::Machine(Box::new(machine())));
    app
}

/// A machine with one GPU whose fan, and so on, does not answer.
fn machine() -> Machine {
    Machine {
        hostname: Some("node-1".into()),
        cpu: Some("a CPU".into()),
        cpu_count: Some(8),
        memory_total_bytes: Some(64 << 30),
        driver: Some("580.0".into()),
        cuda_driver: Some("13.0".into()),
        gpus: vec![GpuInfo {
            index: 0,
            name: Some("NVIDIA H200".into()),
            uuid: Some("GPU-1".into()),
            memory_total_bytes: Some(140 << 30),
            power_limit_w: Some(700.0),
            max_sm_clock_mhz: Some(1980),
            gpm: true,
            ..GpuInfo::default()
        }],
        gpu_absent_because: None,
    }
}

/// Readings at a second after the start.
fn snapshot(second: u64) -> Snapshot {
    let busy = f64::from(u32::try_from(second * 20 % 100).expect("small"));
    Snapshot {
        mono_ns: second * 1_000_000_000,
        host: HostSnapshot {
            cpu_pct: Some(25.0),
            memory_used_bytes: Some(16 << 30),
            ..HostSnapshot::default()
        },
        gpus: vec![GpuSnapshot {
            util_pct: Some(100.0),
            sm_pct: Some(busy),
            tensor_pct: Some(busy / 2.0),
            memory_used_bytes: Some(70 << 30),
            power_w: Some(350.0),
            sm_clock_mhz: Some(1980),
            temperature_c: Some(45),
            processes: Some(Vec::new()),
            missing: [("dram_pct".to_owned(), "needs two samples".to_owned())].into(),
            ..GpuSnapshot::default()
        }],
        cost_us: 300,
        cpu_us: Some(250),
    }
}

/// Events of a real run at size tiny on a CPU.
fn recorded() -> Vec<LabEvent> {
    fixture("attention-tiny")
}

/// Events of a run among the fixtures.
fn fixture(name: &str) -> Vec<LabEvent> {
    let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/runs");
    let place = crate::lab::history::Place::File(runs.join(format!("{name}.jsonl")));
    crate::lab::history::load(&place).expect("the fixture run")
}

/// Marks as the store would tell them.
fn marks(marks: &[(&str, Mark)]) -> Arc<Progress> {
    let dir = tempfile::tempdir().expect("dir");
    let mut store = Store::open(&dir.path().join("p.jsonl")).expect("open");
    for (term, mark) in marks {
        store.mark(Subject::term(*term), Some(*mark)).expect("mark");
    }
    Arc::new(store.progress().clone())
}

/// Presses keys, written with spaces between: `4 Down F5 / a`.
fn press(app: &mut App, keys: &str) -> Vec<Effect> {
    keys.split_whitespace()
        .flat_map(|key| {
            let code = match key {
                "Enter" => KeyCode::Enter,
                "Esc" => KeyCode::Esc,
                "Tab" => KeyCode::Tab,
                "BackTab" => KeyCode::BackTab,
                "Up" => KeyCode::Up,
                "Down" => KeyCode::Down,
                "Left" => KeyCode::Left,
                "Right" => KeyCode::Right,
                "PgDn" => KeyCode::PageDown,
                "PgUp" => KeyCode::PageUp,
                "Home" => KeyCode::Home,
                "End" => KeyCode::End,
                "Space" => KeyCode::Char(' '),
                key if key.len() > 1 && key.starts_with('F') => {
                    KeyCode::F(key[1..].parse().expect("a function key"))
                }
                key => {
                    let mut chars = key.chars();
                    let first = chars.next().expect("a character");
                    assert!(chars.next().is_none(), "unknown key {key}");
                    KeyCode::Char(first)
                }
            };
            app.update(Msg::Key(KeyEvent::new(code, KeyModifiers::NONE)))
        })
        .collect()
}

/// Types a text.
fn type_text(app: &mut App, text: &str) {
    for c in text.chars() {
        app.update(Msg::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE)));
    }
}

/// The screen as text, a line per row.
fn drawn(app: &App) -> String {
    let (columns, rows) = app.core.size;
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a backend");
    terminal.draw(|frame| super::screens::draw(app, frame)).expect("drawn");
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for y in 0..rows {
        let mut x = 0;
        let mut line = String::new();
        while x < columns {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            // The cell after a wide character is hidden by it.
            x += unicode_width::UnicodeWidthStr::width(symbol).max(1) as u16;
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
