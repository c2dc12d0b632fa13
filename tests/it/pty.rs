//! The program in a real terminal: it starts, shows, and gives the terminal back on every way out.

use rustix::process::{Pid, Signal, kill_process};

use super::terminal::Terminal;

const PROGRAM: &str = env!("CARGO_BIN_EXE_infralab");

fn start(size: Option<(u16, u16)>, env: &[(&str, &str)]) -> (Terminal, tempfile::TempDir) {
    let data = tempfile::tempdir().expect("temp dir");
    let dir = data.path().to_str().expect("UTF-8").to_owned();
    (Terminal::start(PROGRAM, &["--data", &dir], size, env), data)
}

fn assert_restored(terminal: &Terminal) {
    let bytes = String::from_utf8_lossy(&terminal.bytes);
    let after = |on: &str, off: &str| bytes.rfind(off) > bytes.rfind(on);
    assert!(after("\x1b[?1049h", "\x1b[?1049l"), "the alternate screen is left");
    assert!(after("\x1b[?2004h", "\x1b[?2004l"), "bracketed paste is off");
    assert!(after("\x1b[?25l", "\x1b[?25h"), "the cursor is shown");
}

#[test]
fn it_opens_and_q_leaves_the_terminal_as_it_was() {
    let (mut terminal, _data) = start(Some((80, 24)), &[]);
    terminal.wait_for("Next to read");
    let asked = terminal.bytes.windows(4).any(|w| w == b"\x1b[6n" || w == b"\x1b]11");
    assert!(!asked, "nothing is asked of a terminal that may never answer");
    terminal.send("q");
    assert!(terminal.exit().success());
    assert_restored(&terminal);
}

#[test]
fn control_c_and_signals_restore_the_terminal() {
    for signal in [None, Some(Signal::TERM), Some(Signal::HUP), Some(Signal::INT)] {
        let (mut terminal, _data) = start(Some((80, 24)), &[]);
        terminal.wait_for("Next to read");
        match signal {
            None => terminal.send("\x03"),
            Some(signal) => {
                let pid = Pid::from_raw(terminal.pid() as i32).expect("pid");
                kill_process(pid, signal).expect("kill");
            }
        }
        terminal.exit();
        assert_restored(&terminal);
    }
}

#[test]
fn a_terminal_that_goes_away_ends_the_program() {
    // `script` holds the terminal in which the program runs; without it the terminal is gone, as when ssh drops.
    let data = tempfile::tempdir().expect("temp dir");
    let command = format!("{PROGRAM} --data {}", data.path().display());
    let mut outer = Terminal::start("script", &["-qec", &command, "/dev/null"], Some((80, 24)), &[]);
    outer.wait_for("Next to read");
    let program = process_with(data.path().to_str().expect("UTF-8"), outer.pid());
    kill_process(Pid::from_raw(outer.pid() as i32).expect("pid"), Signal::KILL).expect("kill");
    let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while std::path::Path::new(&format!("/proc/{program}/cmdline")).exists() {
        assert!(std::time::Instant::now() < end, "process {program} outlives its terminal");
        std::thread::yield_now();
    }
}

/// The newest process, other than `not`, that has `argument` as one of its arguments.
fn process_with(argument: &str, not: u32) -> u32 {
    std::fs::read_dir("/proc")
        .expect("/proc")
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != not)
        .filter(|pid: &u32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.split(|b| *b == 0).any(|a| a == argument.as_bytes())
        })
        .max()
        .expect("the program runs")
}

#[test]
fn a_terminal_without_a_size_is_taken_for_80_by_24() {
    let (mut terminal, _data) = start(None, &[]);
    terminal.wait_for("Next to read");
    terminal.send("q");
    assert!(terminal.exit().success());
}

#[test]
fn any_size_can_be_had_while_it_runs() {
    let (mut terminal, _data) = start(Some((80, 24)), &[]);
    terminal.wait_for("Next to read");
    for (columns, rows) in [(1, 1), (7, 3), (200, 50), (30, 8), (300, 100)] {
        terminal.resize(columns, rows);
    }
    // The switch of languages stands at the right end of the first row.
    terminal.wait_until("the last size", |screen| {
        (280..300).any(|column| screen.cell(0, column).is_some_and(|c| c.contents() == "F"))
    });
    terminal.send("\x1b[21~");
    assert!(terminal.exit().success());
}

#[test]
fn a_note_is_read_searched_for_in_both_languages_and_a_term_marked() {
    let (mut terminal, data) = start(Some((100, 30)), &[]);
    terminal.wait_for("Next to read");
    terminal.send("2");
    terminal.wait_for("Phase 0");
    terminal.send("\r");
    terminal.wait_for("phase 0 ·");
    terminal.send("/");
    terminal.wait_for("words, Chinese or English");
    terminal.send("gpu memory");
    terminal.wait_for("found in");
    terminal.send("\x1b");
    terminal.wait_for("words, Chinese or English");
    terminal.send("显存");
    terminal.wait_for("GPU memory");
    // One at a time: two escapes in one read are another key.
    terminal.send("\x1b");
    terminal.wait_for("words, Chinese or English");
    terminal.send("\x1b");
    terminal.wait_for("Next to read");
    terminal.send("4");
    terminal.wait_for("filter:");
    terminal.send("\x1b[15~");
    terminal.wait_for("✓ known");
    terminal.send("q");
    assert!(terminal.exit().success());
    let log = std::fs::read_to_string(data.path().join("progress.jsonl")).expect("the log");
    assert!(log.contains("\"mark\":\"known\""), "{log}");
}

#[test]
fn the_language_follows_the_locale_and_a_key() {
    let (mut terminal, _data) = start(Some((80, 24)), &[("LANG", "zh_CN.UTF-8")]);
    terminal.wait_for("接着读");
    terminal.send("\x1bOQ");
    terminal.wait_for("Next to read");
    terminal.send("q");
    assert!(terminal.exit().success());
}

#[test]
fn no_color_means_no_colour_codes() {
    let (mut terminal, _data) = start(Some((80, 24)), &[("NO_COLOR", "1")]);
    terminal.wait_for("Next to read");
    terminal.send("q");
    terminal.exit();
    let text = String::from_utf8_lossy(&terminal.bytes).into_owned();
    let colours = text
        .split("\x1b[")
        .skip(1)
        .filter_map(|s| s.split_once('m').map(|(codes, _)| codes.to_owned()))
        .filter(|codes| codes.chars().all(|c| c.is_ascii_digit() || c == ';'))
        .any(|codes| codes.split(';').any(|c| matches!(c.parse::<u32>(), Ok(30..=38 | 40..=48 | 90..=107))));
    assert!(!colours, "{text:?}");
}

#[test]
fn a_mark_put_by_another_instance_shows_up() {
    let (mut terminal, data) = start(Some((100, 30)), &[]);
    terminal.wait_for("Next to read");
    terminal.send("4");
    terminal.wait_for("filter:");
    let marked = std::process::Command::new(PROGRAM)
        .args(["--data", data.path().to_str().expect("UTF-8"), "glossary", "mark", "gpu", "known"])
        .status()
        .expect("the program runs");
    assert!(marked.success());
    terminal.wait_for("✓1");
    terminal.send("q");
    assert!(terminal.exit().success());
}
