//! Events out: one JSON object a line, on the stdout that was claimed before any C++ library could print there.

use std::fs::File;
use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use rustix::io::fcntl_dupfd_cloexec;
use rustix::stdio::{dup2_stdout, stderr, stdout};

use super::process;
use crate::protocol::Event;

/// A reader that pauses (a suspended terminal, a slow link) must not hold up a measurement; a run has a few hundred
/// lines, so this never fills before its end.
const QUEUE_LINES: usize = 4096;

enum Message {
    Line(String),
    Flush(SyncSender<()>),
}

/// The protocol's stdout. Clones write to the same queue, in order; nothing is dropped.
#[derive(Clone)]
pub struct Output {
    queue: SyncSender<Message>,
}

impl Output {
    /// Takes file descriptor 1 for the protocol and points it at stderr for everybody else.
    pub fn claim() -> std::io::Result<Self> {
        let pipe = File::from(fcntl_dupfd_cloexec(stdout(), 3)?);
        dup2_stdout(stderr())?;
        let (queue, lines) = sync_channel(QUEUE_LINES);
        std::thread::Builder::new().name("protocol-out".into()).spawn(move || write_lines(pipe, &lines))?;
        Ok(Self { queue })
    }

    /// Queues one event.
    pub fn emit(&self, event: &Event) {
        let mut line = serde_json::to_string(event).expect("events are plain data");
        line.push('\n');
        // The writer only goes away with the process.
        let _ = self.queue.send(Message::Line(line));
    }

    /// Returns when everything queued so far is written.
    pub fn flush(&self) {
        let (done, wait) = sync_channel(1);
        if self.queue.send(Message::Flush(done)).is_ok() {
            let _ = wait.recv();
        }
    }
}

fn write_lines(mut pipe: File, lines: &Receiver<Message>) {
    for message in lines {
        match message {
            // Nobody reads any more: the run has no purpose, and there is nobody to tell.
            Message::Line(line) if pipe.write_all(line.as_bytes()).is_err() => process::abandon(1),
            Message::Line(_) => {}
            Message::Flush(done) => {
                let _ = done.send(());
            }
        }
    }
}
