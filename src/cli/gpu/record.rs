//! `infralab gpu --record`: readings into a file, alone or beside a command.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use infralab_labs::clock::mono_ns;
use infralab_labs::protocol::Failure;
use infralab_labs::spec::ParamValue;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::{GpuArgs, PATIENCE, warn_of_absence};
use crate::lab::Exited;
use crate::lab::history::Writer;
use crate::lab::recorder::Recorder;
use crate::telemetry::{Machine, Sampler, SamplerOptions, Snapshot, Telemetry};
use crate::units;
use crate::visible::visible_line;

/// Readings before a command starts: its beginning stands out against what was before, and counters need two.
const BEFORE: u64 = 2;
/// Readings go on for so long after a command: what it gives back is seen.
const AFTER: Duration = Duration::from_secs(1);

/// What the recorder waits for.
enum Happening {
    Telemetry(Telemetry),
    CommandEnded(Exited),
    Signal(i32),
}

/// The command beside which readings are taken.
enum Beside {
    Nothing,
    Waiting(Vec<OsString>),
    Running { pid: u32, is_interrupted: bool },
    Ended { exited: Exited, at: Instant },
}

/// Why the recording ends.
enum End {
    /// As was asked for.
    Whole,
    /// A signal came before.
    Stopped,
    /// It cannot go on.
    Failed(Failure),
}

struct Recording<'a> {
    args: &'a GpuArgs,
    recorder: Recorder,
    happenings: Receiver<Happening>,
    sender: Sender<Happening>,
    beside: Beside,
    patience: Duration,
    first_ns: Option<u64>,
    /// No more readings are taken: the seconds are over, or the file is full.
    has_enough: bool,
}

pub(super) fn record(args: &GpuArgs, path: &Path) -> anyhow::Result<ExitCode> {
    // First, so that a file that is there already is told of at once.
    let writer = Writer::create_file(path)?;
    let (sender, happenings) = mpsc::channel();
    tell_of_signals(sender.clone())?;
    let telemetry = sender.clone();
    let sink = Box::new(move |reading| {
        let _ = telemetry.send(Happening::Telemetry(reading));
    });
    let _sampler = Sampler::start(SamplerOptions { hz: args.asked_hz(), worker_pid: None }, sink)
        .context("the system gave no thread to take readings on")?;
    let patience = PATIENCE + Duration::from_secs_f64(1.0 / args.asked_hz());
    let (machine, end) = machine(&happenings, patience);
    // After a hang-up there is nobody to warn, and the recording goes on to its end.
    let _ = warn_of_absence(&machine, &mut io::stderr());
    let program = args.command.first().map(|program| {
        // The name alone: arguments hold passwords and paths, and recordings are shared.
        let name = Path::new(program).file_name().unwrap_or(program).to_string_lossy();
        ("command".to_owned(), ParamValue::Text(visible_line(&name)))
    });
    let hz = ("hz".to_owned(), ParamValue::Text(args.asked_hz().to_string()));
    let recorder = Recorder::begin(writer, machine, program.into_iter().chain([hz]))?;
    let beside = if args.command.is_empty() {
        if end.is_none() {
            tell(&format!("recording to {}; {}", path.display(), until(args)));
        }
        Beside::Nothing
    } else {
        Beside::Waiting(args.command.clone())
    };
    let mut recording =
        Recording { args, recorder, happenings, sender, beside, patience, first_ns: None, has_enough: false };
    let end = match end {
        Some(end) => Ok(end),
        None => recording.go_on(),
    };
    recording.end(end)
}

fn until(args: &GpuArgs) -> String {
    match args.seconds {
        Some(seconds) => format!("it ends after {seconds} s, or with Ctrl-C"),
        None => "Ctrl-C ends it".to_owned(),
    }
}

/// The machine; with it the end of a recording that ends before it began.
fn machine(happenings: &Receiver<Happening>, patience: Duration) -> (Machine, Option<End>) {
    let unknown = |why: &str| Machine { gpu_absent_because: Some(why.to_owned()), ..Machine::default() };
    match happenings.recv_timeout(patience) {
        Ok(Happening::Telemetry(Telemetry::Machine(machine))) => (machine, None),
        Ok(_) => (unknown("the recording was stopped before the driver answered"), Some(End::Stopped)),
        Err(_) => (unknown("the driver did not answer"), Some(End::Failed(hanging(patience)))),
    }
}

impl Recording<'_> {
    fn go_on(&mut self) -> anyhow::Result<End> {
        loop {
            let wait = match &self.beside {
                Beside::Ended { .. } if self.has_enough => return Ok(End::Whole),
                Beside::Ended { at, .. } => AFTER.saturating_sub(at.elapsed()),
                _ => self.patience,
            };
            match self.happenings.recv_timeout(wait) {
                Ok(Happening::Telemetry(Telemetry::Snapshot(snapshot))) => {
                    if let Some(end) = self.take(snapshot)? {
                        return Ok(end);
                    }
                }
                Ok(Happening::Telemetry(Telemetry::Machine(_))) => {}
                Ok(Happening::CommandEnded(exited)) => {
                    self.beside = Beside::Ended { exited: exited.clone(), at: Instant::now() };
                    self.recorder.command_ended(exited)?;
                }
                Ok(Happening::Signal(signal)) => match &mut self.beside {
                    // Without an end of its own this is how it ends.
                    Beside::Nothing if self.args.seconds.is_none() => return Ok(End::Whole),
                    // The terminal sent it to the command as well, whose end is part of the recording.
                    Beside::Running { is_interrupted, .. } if signal == SIGINT && !*is_interrupted => {
                        *is_interrupted = true;
                    }
                    Beside::Ended { .. } => return Ok(End::Whole),
                    _ => return Ok(End::Stopped),
                },
                Err(RecvTimeoutError::Timeout) if matches!(self.beside, Beside::Ended { .. }) => {
                    return Ok(End::Whole);
                }
                Err(_) => return Ok(End::Failed(hanging(self.patience))),
            }
        }
    }

    fn take(&mut self, snapshot: Snapshot) -> anyhow::Result<Option<End>> {
        let first_ns = *self.first_ns.get_or_insert(snapshot.mono_ns);
        let elapsed_s = snapshot.mono_ns.saturating_sub(first_ns) as f64 / 1e9;
        if !self.has_enough {
            self.recorder.take(snapshot)?;
        }
        // Half a period of room, as for live readings.
        let is_over =
            self.args.seconds.is_some_and(|seconds| elapsed_s + 0.5 / self.args.asked_hz() > seconds);
        if self.recorder.is_full() && !self.has_enough {
            tell("the recording holds as much as is ever read back; no more readings are taken");
        }
        self.has_enough |= is_over || self.recorder.is_full();
        match &mut self.beside {
            Beside::Nothing if self.has_enough => return Ok(Some(End::Whole)),
            Beside::Waiting(command) if self.recorder.snapshots() >= BEFORE || self.has_enough => {
                let command = std::mem::take(command);
                match start(&command, &self.sender) {
                    Ok((pid, at_ns)) => {
                        self.beside = Beside::Running { pid, is_interrupted: false };
                        self.recorder.command_starts(at_ns)?;
                    }
                    Err(error) => return Ok(Some(End::Failed(not_started(&command, &error)))),
                }
            }
            _ => {}
        }
        Ok(None)
    }

    /// Closes the file, and waits for a command that still runs where the file is all that went wrong.
    fn end(self, end: anyhow::Result<End>) -> anyhow::Result<ExitCode> {
        let path = self.recorder.path().display().to_string();
        let closed = match end {
            Ok(End::Whole) => self.recorder.close(false),
            Ok(End::Stopped) => self.recorder.close(true),
            Ok(End::Failed(failure)) => {
                let told = format!("{}: {}; {}", failure.what, failure.why, failure.next);
                self.recorder.fail(failure)?;
                wait_for_command(&self.beside, &self.happenings);
                anyhow::bail!("{told}");
            }
            Err(error) => {
                if matches!(self.beside, Beside::Running { .. }) {
                    tell(&format!("{error}; the command goes on"));
                }
                wait_for_command(&self.beside, &self.happenings);
                return Err(anyhow::anyhow!("{error}; what was recorded so far can be replayed"));
            }
        };
        let closed = closed?;
        let seconds = units::digits(closed.record.env.elapsed_s);
        tell(&format!(
            "{path}: {} readings in {seconds} s; `infralab gpu --replay {path}` plays them",
            closed.snapshots
        ));
        Ok(match &self.beside {
            Beside::Nothing => ExitCode::SUCCESS,
            Beside::Ended { exited, .. } if exited.code == Some(0) => ExitCode::SUCCESS,
            Beside::Ended { .. } | Beside::Waiting(_) => ExitCode::FAILURE,
            Beside::Running { pid, .. } => {
                tell(&format!("the command still runs, as process {pid}"));
                ExitCode::FAILURE
            }
        })
    }
}

/// Waits until the command has ended by itself, or a signal comes.
fn wait_for_command(beside: &Beside, happenings: &Receiver<Happening>) {
    if matches!(beside, Beside::Running { .. }) {
        let is_reading = |happening: &Happening| matches!(happening, Happening::Telemetry(_));
        let _ = happenings.iter().find(|happening| !is_reading(happening));
    }
}

/// Starts a command in the terminal's own process group, so that Ctrl-C reaches it, with the streams of this program.
fn start(command: &[OsString], sender: &Sender<Happening>) -> io::Result<(u32, u64)> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let at_ns = mono_ns();
    let mut child = Command::new(program).args(arguments).spawn()?;
    let pid = child.id();
    let sender = sender.clone();
    thread::spawn(move || {
        let status = child.wait();
        let (code, signal) = status.map_or((None, None), |s| (s.code(), s.signal()));
        let _ = sender.send(Happening::CommandEnded(Exited { code, signal, mono_ns: mono_ns() }));
    });
    Ok((pid, at_ns))
}

fn tell_of_signals(sender: Sender<Happening>) -> anyhow::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::spawn(move || {
        for signal in signals.forever() {
            if sender.send(Happening::Signal(signal)).is_err() {
                break;
            }
        }
    });
    Ok(())
}

fn hanging(patience: Duration) -> Failure {
    Failure {
        what: "the recording ended".into(),
        why: format!("no reading for {} s: the NVIDIA driver does not answer", patience.as_secs()),
        next: "see the kernel log (dmesg) for Xid errors".into(),
    }
}

fn not_started(command: &[OsString], error: &io::Error) -> Failure {
    let program = command.first().map(|program| visible_line(&program.to_string_lossy())).unwrap_or_default();
    Failure {
        what: format!("the command `{program}` cannot be started"),
        why: error.to_string(),
        next: "give a program in PATH, or its path, after `--`".into(),
    }
}

/// A line on stderr; stdout belongs to the command. After a hang-up there is nobody to tell.
fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "infralab: {text}");
}
