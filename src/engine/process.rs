//! Runs one tool in a process group of its own, hands its output on line by line, and ends the whole group when the
//! caller cancels or goes away.

use std::{
    collections::VecDeque,
    io::Read,
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// How often a silent tool is looked after.
const TICK: Duration = Duration::from_millis(50);

/// How long a tool may take to tidy up after SIGINT before SIGKILL.
const GRACE: Duration = Duration::from_secs(3);

/// How long to wait for output after the tool has ended: a daemon it left behind may hold the pipe open for ever.
const DRAIN: Duration = Duration::from_millis(500);

/// How many of the last lines are kept for an error.
const TAIL_LINES: usize = 20;

/// A wish to stop, shared between whoever waits and whoever decides.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks for the work to end.
    pub fn request(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether the work should end.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// Lets SIGINT, SIGTERM and SIGHUP ask for the end, for the rest of the program's life.
    pub fn on_signals(&self) -> std::io::Result<()> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&self.0))?;
        }
        Ok(())
    }
}

/// Which pipe a line came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pipe {
    Out,
    Err,
}

/// How a tool ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// By itself, with success.
    Done,
    /// By itself, without; with its last lines.
    Failed { status: ExitStatus, tail: Vec<String> },
    /// On [`Cancel`].
    Cancelled,
    /// By this program, because it took too long.
    TimedOut,
}

/// Runs `command` to its end. A line ends at LF or at CR, since progress displays use the latter.
pub(super) fn run(
    command: &mut Command,
    cancel: &Cancel,
    on_line: &mut dyn FnMut(Pipe, &str),
) -> std::io::Result<Ended> {
    run_within(command, Duration::MAX, cancel, on_line)
}

/// [`run`], for no longer than `patience`.
pub(super) fn run_within(
    command: &mut Command,
    patience: Duration,
    cancel: &Cancel,
    on_line: &mut dyn FnMut(Pipe, &str),
) -> std::io::Result<Ended> {
    if cancel.requested() {
        return Ok(Ended::Cancelled);
    }
    let begun = Instant::now();
    let interrupted = || {
        if cancel.requested() {
            Some(Ended::Cancelled)
        } else {
            (begun.elapsed() > patience).then_some(Ended::TimedOut)
        }
    };
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut group = Group(command.spawn()?);
    let (lines, inbox) = mpsc::sync_channel(1024);
    if let Some(out) = group.0.stdout.take() {
        read_lines(out, Pipe::Out, lines.clone());
    }
    if let Some(err) = group.0.stderr.take() {
        read_lines(err, Pipe::Err, lines.clone());
    }
    drop(lines);

    let mut tail = VecDeque::with_capacity(TAIL_LINES);
    let mut ended: Option<Instant> = None;
    loop {
        match inbox.recv_timeout(TICK) {
            Ok((pipe, line)) => {
                on_line(pipe, &line);
                if tail.len() == TAIL_LINES {
                    tail.pop_front();
                }
                tail.push_back(line);
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
        if let Some(ended) = interrupted() {
            group.end(GRACE);
            return Ok(ended);
        }
        if ended.is_none() && group.0.try_wait()?.is_some() {
            ended = Some(Instant::now());
        }
        if ended.is_some_and(|at| at.elapsed() > DRAIN) {
            break;
        }
    }
    let status = loop {
        if let Some(status) = group.0.try_wait()? {
            break status;
        }
        // A tool may close its output and go on.
        if let Some(ended) = interrupted() {
            group.end(GRACE);
            return Ok(ended);
        }
        std::thread::sleep(TICK);
    };
    Ok(if status.success() { Ended::Done } else { Ended::Failed { status, tail: tail.into() } })
}

/// `exit code 1` or `signal 9`.
pub(super) fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown status".into(),
    }
}

fn read_lines(mut from: impl Read + Send + 'static, pipe: Pipe, to: mpsc::SyncSender<(Pipe, String)>) {
    std::thread::spawn(move || {
        let mut pending = Vec::new();
        let mut chunk = [0; 8192];
        loop {
            let count = match from.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            pending.extend_from_slice(&chunk[..count]);
            while let Some(end) = pending.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
                let line: Vec<u8> = pending.drain(..=end).collect();
                if send(&line[..end], pipe, &to).is_err() {
                    return;
                }
            }
        }
        let _ = send(&pending, pipe, &to);
    });
}

fn send(
    line: &[u8],
    pipe: Pipe,
    to: &mpsc::SyncSender<(Pipe, String)>,
) -> Result<(), mpsc::SendError<(Pipe, String)>> {
    let line = String::from_utf8_lossy(line).trim_end().to_owned();
    if line.is_empty() { Ok(()) } else { to.send((pipe, line)) }
}

/// A child that leads a process group. Dropping it before it has ended kills the group.
struct Group(Child);

impl Group {
    fn leader(&self) -> Option<Pid> {
        Pid::from_raw(self.0.id().cast_signed())
    }

    /// Whether the leader runs. Does not reap it: until then its id, which names the group, cannot be reused.
    fn leader_runs(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.leader().is_some_and(|pid| matches!(waitid(WaitId::Pid(pid), look), Ok(None)))
    }

    /// SIGINT, so that pip removes its temporary files; SIGKILL to whatever is left of the group after `grace`.
    fn end(&mut self, grace: Duration) {
        let Some(leader) = self.leader() else { return };
        // Failure means that no process of the group is left, which is what is wanted.
        let _ = kill_process_group(leader, Signal::INT);
        let deadline = Instant::now() + grace;
        while self.leader_runs() && Instant::now() < deadline {
            std::thread::sleep(TICK);
        }
        let _ = kill_process_group(leader, Signal::KILL);
        let _ = self.0.wait();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            self.end(Duration::ZERO);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn lines_end_at_line_feed_and_carriage_return() {
        let mut seen = Vec::new();
        let ended = run(&mut sh("printf 'a\\rb\\n\\nc'"), &Cancel::default(), &mut |pipe, line| {
            seen.push((pipe, line.to_owned()));
        })
        .expect("sh runs");
        assert!(matches!(ended, Ended::Done));
        assert_eq!(seen, [(Pipe::Out, "a".into()), (Pipe::Out, "b".into()), (Pipe::Out, "c".into())]);
    }

    #[test]
    fn a_failure_keeps_the_last_lines() {
        let script = "i=0; while [ $i -lt 50 ]; do i=$((i+1)); echo line $i; done; exit 3";
        let Ended::Failed { status, tail } =
            run(&mut sh(script), &Cancel::default(), &mut |_, _| {}).expect("sh runs")
        else {
            panic!("it exits with 3");
        };
        assert_eq!(describe(status), "exit code 3");
        assert_eq!(tail.len(), TAIL_LINES);
        assert_eq!(tail.last().map(String::as_str), Some("line 50"));
    }

    #[test]
    fn cancelling_ends_grandchildren_too() {
        let cancel = Cancel::default();
        let mut grandchild = None;
        let ended = run(&mut sh("sleep 600 & echo $!; wait"), &cancel, &mut |_, line| {
            grandchild = line.parse().ok();
            cancel.request();
        })
        .expect("sh runs");
        assert!(matches!(ended, Ended::Cancelled));
        let pid = Pid::from_raw(grandchild.expect("its id")).expect("not 0");
        // An orphan stays a zombie until init reaps it; gone or zombie are both ended.
        let deadline = Instant::now() + Duration::from_secs(10);
        while alive(pid) {
            assert!(Instant::now() < deadline, "the grandchild still runs");
            std::thread::yield_now();
        }
    }

    fn alive(pid: Pid) -> bool {
        match std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())) {
            Ok(stat) => {
                !stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with(['Z', 'X']))
            }
            Err(_) => rustix::process::test_kill_process(pid).is_ok() && !cfg!(target_os = "linux"),
        }
    }

    #[test]
    fn a_daemon_that_keeps_the_pipe_open_does_not_block() {
        let begun = Instant::now();
        let mut daemon = None;
        let ended = run(&mut sh("sleep 600 & echo $!"), &Cancel::default(), &mut |_, line| {
            daemon = line.parse().ok().and_then(Pid::from_raw);
        })
        .expect("sh runs");
        assert!(matches!(ended, Ended::Done));
        assert!(begun.elapsed() < Duration::from_mins(1));
        rustix::process::kill_process(daemon.expect("its id"), Signal::KILL).expect("it was left alone");
    }

    #[test]
    fn patience_ends() {
        let patience = Duration::from_millis(100);
        let mut command = sh("sleep 600");
        let ended = run_within(&mut command, patience, &Cancel::default(), &mut |_, _| {}).expect("sh runs");
        assert!(matches!(ended, Ended::TimedOut));
    }

    #[test]
    fn nothing_starts_after_a_cancel() {
        let cancel = Cancel::default();
        cancel.request();
        let ended = run(&mut Command::new("/does/not/exist"), &cancel, &mut |_, _| {}).expect("not started");
        assert!(matches!(ended, Ended::Cancelled));
    }
}
