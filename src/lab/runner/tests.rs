use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use infralab_labs::protocol::DeviceChoice;
use infralab_labs::spec::Size;

use super::*;

fn request() -> RunRequest {
    RunRequest {
        lab: "attention".into(),
        size: Size::Tiny,
        device: DeviceChoice::Cpu,
        params: infralab_labs::spec::Params::new(),
        seed: 0,
        budget_bytes: None,
    }
}

fn sh(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

fn run(script: &str, hello_timeout: Duration) -> (LabHandle, Receiver<LabEvent>) {
    let (tx, rx) = channel();
    let sink: Sink = Arc::new(move |event| {
        let _ = tx.send(event);
    });
    let handle = start_with_timeout(&mut sh(script), &request(), sink, hello_timeout).expect("sh starts");
    (handle, rx)
}

/// Everything up to and including the exit.
fn all(rx: &Receiver<LabEvent>) -> Vec<LabEvent> {
    let mut events = Vec::new();
    loop {
        let event = rx.recv_timeout(Duration::from_secs(20)).expect("an exit within 20 s");
        let last = matches!(event, LabEvent::Exited(_));
        events.push(event);
        if last {
            return events;
        }
    }
}

fn exit_of(events: &[LabEvent]) -> &Exited {
    match events.last() {
        Some(LabEvent::Exited(exited)) => exited,
        other => panic!("{other:?}"),
    }
}

#[test]
fn nonsense_on_stdout_becomes_log_lines_with_controls_made_visible() {
    let (_handle, rx) =
        run(r#"printf 'hello\n\033]0;X\007\n{"type":"dream"}\n\377\n'; echo oops >&2"#, HELLO_TIMEOUT);
    let mut lines: Vec<String> = all(&rx)
        .into_iter()
        .filter_map(|e| if let LabEvent::Log { line } = e { Some(line) } else { None })
        .collect();
    lines.sort();
    assert_eq!(lines, ["hello", "oops", r#"{"type":"dream"}"#, "\u{241b}]0;X\u{2407}", "\u{fffd}"]);
}

#[test]
fn a_worker_that_is_done_but_does_not_end_is_ended() {
    let script = r#"echo '{"type":"done","stopped":false,"mono_ns":1}'; exec sleep 1000"#;
    let (_handle, rx) = run(script, HELLO_TIMEOUT);
    assert_eq!(exit_of(&all(&rx)).signal, Some(9));
}

#[test]
fn what_is_printed_for_ever_is_cut() {
    let (_handle, rx) = run(
        "yes xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx | head -c 20000000 >&2",
        HELLO_TIMEOUT,
    );
    let lines: Vec<String> = all(&rx)
        .into_iter()
        .filter_map(|e| if let LabEvent::Log { line } = e { Some(line) } else { None })
        .collect();
    let kept: usize = lines.iter().map(String::len).sum();
    assert!(kept as u64 <= MAX_LOG_BYTES + 200, "{kept}");
    assert!(lines.last().is_some_and(|l| l.contains("dropped")));
}

#[test]
fn a_line_without_end_does_not_eat_the_memory() {
    let (_handle, rx) = run("head -c 3000000 /dev/zero | tr '\\0' x", HELLO_TIMEOUT);
    let longest = all(&rx).iter().map(|e| if let LabEvent::Log { line } = e { line.len() } else { 0 }).max();
    assert_eq!(longest, Some(MAX_LINE_BYTES as usize));
}

#[test]
fn a_killed_worker_is_reported_with_its_signal() {
    let (_handle, rx) = run("kill -9 $$", HELLO_TIMEOUT);
    assert_eq!(exit_of(&all(&rx)).signal, Some(9));
}

#[test]
fn a_silent_worker_is_ended() {
    let (_handle, rx) = run("exec sleep 1000", Duration::from_millis(50));
    let events = all(&rx);
    assert!(
        matches!(&events[0], LabEvent::Worker(Event::Failed(f)) if f.what.contains("said nothing")),
        "{events:?}"
    );
    assert_eq!(exit_of(&events).signal, Some(9));
}

#[test]
fn a_worker_that_ignores_the_stop_is_killed_with_its_children() {
    let (handle, rx) = run("trap '' TERM; sleep 1000 & echo child $!; wait; sleep 1000", HELLO_TIMEOUT);
    let LabEvent::Log { line } = rx.recv_timeout(Duration::from_secs(20)).expect("child") else {
        panic!("no line")
    };
    let child: i32 = line.trim_start_matches("child ").parse().expect("pid");
    let asked = Instant::now();
    handle.stop();
    let events = all(&rx);
    assert_eq!(exit_of(&events).signal, Some(9));
    let stopped = events.iter().any(|e| matches!(e, LabEvent::Worker(Event::Done { stopped: true, .. })));
    assert!(stopped, "a stop that had to be forced is a stop: {events:?}");
    assert!(asked.elapsed() >= STOP_GRACE);
    // The child was killed with the group: it is gone, or a zombie that its new parent has yet to collect. A process
    // that dies may still be seen running for a moment.
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        if stat.is_empty() || stat.contains(") Z ") {
            break;
        }
        assert!(Instant::now() < end, "{stat}");
        std::thread::yield_now();
    }
}

#[test]
fn a_worker_that_listens_stops_at_once() {
    let (handle, rx) = run("read run; read stop; echo got \"$stop\"", HELLO_TIMEOUT);
    handle.stop_and_wait();
    let events = all(&rx);
    let heard = |e: &LabEvent| matches!(e, LabEvent::Log { line } if line == r#"got {"type":"stop"}"#);
    assert!(events.iter().any(heard), "{events:?}");
    assert_eq!(exit_of(&events).code, Some(0));
}

#[test]
fn dropping_the_handle_kills_the_worker() {
    let (handle, rx) = run("exec sleep 1000", HELLO_TIMEOUT);
    drop(handle);
    assert_eq!(exit_of(&all(&rx)).signal, Some(9));
}

#[test]
fn a_missing_program_says_where_to_look() {
    let sink: Sink = Arc::new(|_| {});
    let error = start(Command::new("/nowhere/infralab-worker"), &request(), sink).unwrap_err().to_string();
    assert!(error.contains("/nowhere/infralab-worker") && error.contains("engine status"), "{error}");
}
