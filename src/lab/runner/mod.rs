//! Starts a worker, turns its lines into events, and makes sure that it ends. The only file that knows processes. A
//! target is a command: the worker itself today, `ssh host worker` tomorrow.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use infralab_labs::clock::mono_ns;
use infralab_labs::protocol::{Event, Failure, PROTOCOL_VERSION, Request, RunRequest};
use rustix::process::{Pid, Signal, kill_process_group};
use thiserror::Error;

use super::{Exited, LabEvent, parse};

/// A worker that has not said hello after this long is ended: LibTorch loads from a cold disk in well under it.
const HELLO_TIMEOUT: Duration = Duration::from_secs(90);
/// Time between the polite request to stop and the kill.
pub const STOP_GRACE: Duration = Duration::from_secs(2);
/// A longer line is cut; no event is near this size.
const MAX_LINE_BYTES: u64 = 1 << 20;
/// Of what is printed beside the protocol, so much is kept per stream.
const MAX_LOG_BYTES: u64 = 4 << 20;

/// The worker could not be started.
#[derive(Debug, Error)]
#[error("the worker {program} cannot be started: {source}; run `infralab engine status`")]
pub struct StartError {
    program: String,
    source: std::io::Error,
}

/// Receives the events, on the threads of the runner. [`LabEvent::Exited`] is the last one.
pub type Sink = Arc<dyn Fn(LabEvent) + Send + Sync>;

/// A running worker. Dropping it kills the worker's process group.
#[derive(Debug)]
pub struct LabHandle {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    group: Pid,
    stdin: Mutex<Option<ChildStdin>>,
    exited: Mutex<bool>,
    exit: Condvar,
    /// It was asked to stop: whatever ends it now is that stop.
    stopping: AtomicBool,
}

/// Starts `command` in its own process group and sends it `request`.
pub fn start(mut command: Command, request: &RunRequest, sink: Sink) -> Result<LabHandle, StartError> {
    start_with_timeout(&mut command, request, sink, HELLO_TIMEOUT)
}

fn start_with_timeout(
    command: &mut Command,
    request: &RunRequest,
    sink: Sink,
    hello_timeout: Duration,
) -> Result<LabHandle, StartError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|source| StartError { program, source })?;
    let group = Pid::from_child(&child);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let shared = Arc::new(Shared {
        group,
        stdin: Mutex::new(stdin),
        exited: Mutex::new(false),
        exit: Condvar::new(),
        stopping: AtomicBool::new(false),
    });
    shared.send(&Request::Run(request.clone()));

    let (hello_tx, hello_rx) = mpsc::channel();
    let readers = [
        stdout.map(|out| {
            let (sink, shared) = (Arc::clone(&sink), Arc::clone(&shared));
            std::thread::spawn(move || read_events(out, &sink, &shared, &hello_tx))
        }),
        stderr.map(|err| {
            let sink = Arc::clone(&sink);
            std::thread::spawn(move || {
                let printed = AtomicU64::new(0);
                each_line(err, |line| log(&sink, &printed, line));
            })
        }),
    ];
    watch_for_hello(Arc::clone(&shared), hello_rx, hello_timeout, Arc::clone(&sink));
    let waiter = Arc::clone(&shared);
    std::thread::spawn(move || wait(child, &waiter, readers, &sink));
    Ok(LabHandle { shared })
}

impl LabHandle {
    /// Asks the worker to stop; after [`STOP_GRACE`] its process group is killed. Returns at once.
    pub fn stop(&self) {
        self.shared.send(&Request::Stop);
        self.shared.end_within(STOP_GRACE);
    }

    /// Asks the worker to stop, waits for its end, kills it after [`STOP_GRACE`].
    pub fn stop_and_wait(&self) {
        self.shared.send(&Request::Stop);
        if !self.shared.wait_for_exit(STOP_GRACE) {
            self.shared.kill();
            self.shared.wait_for_exit(Duration::from_secs(1));
        }
    }
}

impl Drop for LabHandle {
    fn drop(&mut self) {
        if !self.shared.wait_for_exit(Duration::ZERO) {
            self.shared.kill();
        }
    }
}

impl Shared {
    /// A worker that is gone cannot be written to; its exit is reported anyway, so the error says nothing new.
    fn send(&self, request: &Request) {
        if matches!(request, Request::Stop) {
            self.stopping.store(true, Ordering::SeqCst);
        }
        let mut stdin = self.stdin.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(pipe), Ok(mut line)) = (stdin.as_mut(), serde_json::to_string(request)) {
            line.push('\n');
            let _ = pipe.write_all(line.as_bytes()).and_then(|()| pipe.flush());
        }
    }

    /// Kills the group unless it ends by itself within `grace`; returns at once.
    fn end_within(self: &Arc<Self>, grace: Duration) {
        let shared = Arc::clone(self);
        std::thread::spawn(move || {
            if !shared.wait_for_exit(grace) {
                shared.kill();
            }
        });
    }

    fn kill(&self) {
        let _ = kill_process_group(self.group, Signal::KILL);
    }

    fn wait_for_exit(&self, timeout: Duration) -> bool {
        let exited = self.exited.lock().unwrap_or_else(PoisonError::into_inner);
        let (exited, _) = self
            .exit
            .wait_timeout_while(exited, timeout, |exited| !*exited)
            .unwrap_or_else(PoisonError::into_inner);
        *exited
    }
}

fn wait(mut child: Child, shared: &Shared, readers: [Option<std::thread::JoinHandle<()>>; 2], sink: &Sink) {
    let status = child.wait();
    // What the worker started must not outlive it, nor hold its pipes open.
    shared.kill();
    for reader in readers.into_iter().flatten() {
        let _ = reader.join();
    }
    if shared.stopping.load(Ordering::SeqCst) {
        // Counts only where the worker did not say so itself.
        sink(LabEvent::Worker(Event::Done { stopped: true, mono_ns: mono_ns() }));
    }
    let (code, signal) = status.map_or((None, None), |s| (s.code(), s.signal()));
    *shared.exited.lock().unwrap_or_else(PoisonError::into_inner) = true;
    shared.exit.notify_all();
    sink(LabEvent::Exited(Exited { code, signal, mono_ns: mono_ns() }));
}

fn watch_for_hello(shared: Arc<Shared>, hello: mpsc::Receiver<()>, timeout: Duration, sink: Sink) {
    std::thread::spawn(move || {
        if hello.recv_timeout(timeout) == Err(RecvTimeoutError::Timeout) {
            sink(LabEvent::Worker(Event::Failed(Failure {
                what: format!("the worker said nothing for {} s", timeout.as_secs_f64()),
                why: "it may hang while it loads LibTorch or opens the GPU".into(),
                next: "try `infralab lab run … --device cpu`, and `infralab doctor` for the driver".into(),
            })));
            shared.kill();
        }
    });
}

fn read_events(out: impl Read, sink: &Sink, shared: &Arc<Shared>, hello: &mpsc::Sender<()>) {
    let printed = AtomicU64::new(0);
    each_line(out, |line| match parse::<Event>(&line) {
        Ok(event) => {
            if matches!(event, Event::Hello(_)) {
                let _ = hello.send(());
            }
            match &event {
                // Whatever it would do next is not what this program asked for.
                Event::Hello(hello) if hello.protocol != PROTOCOL_VERSION => {
                    shared.end_within(Duration::ZERO);
                }
                Event::Done { .. } | Event::Failed(_) => shared.end_within(STOP_GRACE),
                _ => {}
            }
            sink(LabEvent::Worker(event));
        }
        // Not an event: a library printed, or a newer worker speaks. Keep it readable.
        Err(_) => log(sink, &printed, line),
    });
}

/// Keeps what was printed until there is too much of it: a worker that prints for ever must not fill the disk.
fn log(sink: &Sink, printed: &AtomicU64, line: String) {
    let before = printed.fetch_add(line.len() as u64, Ordering::Relaxed);
    let after = before + line.len() as u64;
    if after <= MAX_LOG_BYTES {
        sink(LabEvent::Log { line });
    } else if before <= MAX_LOG_BYTES {
        sink(LabEvent::Log {
            line: format!("… more than {MAX_LOG_BYTES} bytes were printed; the rest is dropped"),
        });
    }
}

/// Calls `take` with each line, decoded lossily, with control characters made visible; a line without end is cut.
fn each_line(from: impl Read, mut take: impl FnMut(String)) {
    let mut from = BufReader::new(from);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        match from.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes) {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let text = String::from_utf8_lossy(&bytes);
                let text = text.trim_end_matches(['\n', '\r']);
                if !text.is_empty() {
                    take(crate::visible::visible_line(text));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
