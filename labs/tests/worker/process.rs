//! A worker process and its pipes, with patience instead of sleeps.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use infralab_labs::find_lab;
use infralab_labs::protocol::{DeviceChoice, Event, Request, RunRequest};
use infralab_labs::spec::{ParamValue, Size};

/// A stuck worker fails its test; a busy machine does not.
const PATIENCE: Duration = Duration::from_mins(2);

/// A worker under test; killed when the test ends.
pub(crate) struct Worker {
    child: Child,
    /// `None` closes the pipe.
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stderr: Option<ChildStderr>,
    lines: Receiver<String>,
}

impl Worker {
    pub(crate) fn start(command: &mut Command) -> Self {
        let (mut worker, stdout) = Self::spawn(command);
        worker.lines = lines_of(stdout);
        worker
    }

    pub(crate) fn spawn(command: &mut Command) -> (Self, ChildStdout) {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the worker starts");
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let lines = channel().1;
        (Self { child, stdin, stderr, lines }, stdout.expect("piped"))
    }

    pub(crate) fn run(params: &[(&str, ParamValue)]) -> Self {
        let mut worker = Self::start(&mut command());
        worker.say(&run_request("attention", Size::Tiny, params));
        worker
    }

    pub(crate) fn say(&mut self, request: &Request) {
        self.say_raw(&serde_json::to_string(request).expect("plain data"));
    }

    pub(crate) fn say_raw(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().expect("open"), "{line}").expect("the worker reads");
    }

    fn next_line(&self) -> Option<String> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                panic!("the worker said nothing for {PATIENCE:?}")
            }
        }
    }

    /// Every event up to the end of stdout; a line that is not an event fails the test.
    pub(crate) fn events(&self) -> Vec<Event> {
        std::iter::from_fn(|| self.next_line())
            .map(|line| serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}")))
            .collect()
    }

    pub(crate) fn wait_for(&self, found: impl Fn(&Event) -> bool) {
        while let Some(line) = self.next_line() {
            if found(&serde_json::from_str(&line).expect("an event")) {
                return;
            }
        }
        panic!("the worker ended before the event came");
    }

    pub(crate) fn exit(&mut self) -> ExitStatus {
        self.child.wait().expect("the worker ends")
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn command() -> Command {
    Command::new(env!("CARGO_BIN_EXE_infralab-worker"))
}

fn lines_of(stdout: ChildStdout) -> Receiver<String> {
    let (send, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// A request as the app makes it: the defaults of `size` with `set` on top, unchecked.
pub(crate) fn run_request(lab: &str, size: Size, set: &[(&str, ParamValue)]) -> Request {
    let mut params = find_lab(lab).and_then(|l| l.params_for(size, &[]).ok()).unwrap_or_default();
    params.extend(set.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    Request::Run(RunRequest {
        lab: lab.into(),
        size,
        device: DeviceChoice::Cpu,
        params,
        seed: 7,
        budget_bytes: None,
    })
}
