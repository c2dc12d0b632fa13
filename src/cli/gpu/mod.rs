//! `infralab gpu`: readings of this machine, once or as a stream, for people or as JSON; recorded, and played again.

mod gpu_text;
mod host_text;
mod record;
mod replay;
mod text;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use anyhow::{Context, bail};
use serde::Serialize;

use crate::paths::{Paths, PathsError};
use crate::telemetry::sampler::HZ_RANGE;
use crate::telemetry::{Machine, Sampler, SamplerOptions, Snapshot, Telemetry};

/// Time between the two samples of `--once`: counters are differences.
const ONCE_HZ: f64 = 5.0;

/// Readings per second as lines, unless asked otherwise.
const LINE_HZ: f64 = 1.0;
/// The same of recordings: as often as the driver moves its counters.
const RECORD_HZ: f64 = 10.0;

/// A driver that says nothing for this long, beyond the time between snapshots, is taken to hang.
const PATIENCE: Duration = Duration::from_secs(30);

/// Show readings of this machine and its GPUs, record them, or play a recording; on a terminal the monitor of the
/// interface, else lines.
#[derive(Debug, Clone, PartialEq, clap::Args)]
pub(super) struct GpuArgs {
    /// Show one reading and end; --hz and --seconds do not apply
    #[arg(long)]
    pub once: bool,
    /// Readings per second, 0.1 to 50 [default: 2 on screen, 10 recorded, 1 as lines]
    #[arg(long, value_name = "N", value_parser = parse_hz)]
    pub hz: Option<f64>,
    /// End after this many seconds
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    pub seconds: Option<f64>,
    /// Print JSON: the machine first, then one object a line
    #[arg(long)]
    pub json: bool,
    /// Record to this new file, compressed when its name ends in .gz; Ctrl-C ends it
    ///
    /// With a COMMAND after `--`, until that has ended: its time is the phase `command`, its exit code is recorded, and
    /// --seconds only ends the taking of readings. Of the command its name is recorded, not its arguments.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["once", "json"])]
    pub record: Option<PathBuf>,
    /// Play the readings of a run: its id, the beginning of it, or a file, compressed or not; on a terminal on the screen,
    /// where it can be held, stepped and sought, unless --speed or --json ask for lines
    #[arg(long, value_name = "FILE|ID", conflicts_with_all = ["once", "hz", "seconds", "record"])]
    pub replay: Option<String>,
    /// How many times faster than recorded, as lines; 0: without waiting
    #[arg(long, value_name = "X", requires = "replay")]
    pub speed: Option<f64>,
    /// Command to run while readings are recorded; exit code 1 when it fails
    #[arg(last = true, value_name = "COMMAND", requires = "record")]
    pub command: Vec<OsString>,
}

impl GpuArgs {
    /// Whether nothing asks for lines or for an end, so that a terminal may show the monitor instead.
    #[cfg(feature = "tui")]
    pub(super) fn may_open_monitor(&self) -> bool {
        !(self.once || self.json || self.record.is_some() || self.replay.is_some()) && self.seconds.is_none()
    }

    /// The run that a terminal may show playing.
    #[cfg(feature = "tui")]
    pub(super) fn may_play(&self) -> Option<&str> {
        self.replay.as_deref().filter(|_| self.speed.is_none() && !self.json && self.seconds.is_none())
    }

    /// Readings per second.
    fn asked_hz(&self) -> f64 {
        let usual = if self.record.is_some() { RECORD_HZ } else { LINE_HZ };
        self.hz.unwrap_or(usual)
    }
}

fn parse_hz(text: &str) -> Result<f64, String> {
    let hz: f64 = text.parse().map_err(|_| "not a number; give readings per second, 0.1 to 50".to_owned())?;
    if HZ_RANGE.contains(&hz) { Ok(hz) } else { Err("readings per second must be from 0.1 to 50".to_owned()) }
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    if seconds.is_finite() && seconds > 0.0 {
        Ok(seconds)
    } else {
        Err("seconds must be more than 0".to_owned())
    }
}

/// Runs the command. `paths` are asked for only where a recording may be among the runs. Without NVML it shows the host
/// and says on stderr, in text mode, why there are no GPU readings.
pub(super) fn run(
    args: &GpuArgs,
    paths: impl FnOnce() -> Result<Paths, PathsError>,
) -> anyhow::Result<ExitCode> {
    if let Some(path) = &args.record {
        return record::record(args, path);
    }
    if let Some(id) = &args.replay {
        return replay::replay(args, id, &paths()?);
    }
    let hz = if args.once { ONCE_HZ } else { args.asked_hz() };
    let (sender, received) = mpsc::channel();
    let sink = Box::new(move |telemetry| {
        // Nobody listens any more once the command is ending.
        let _ = sender.send(telemetry);
    });
    let sampler = Sampler::start(SamplerOptions { hz, worker_pid: None }, sink)
        .context("the system gave no thread to take readings on")?;
    let source = Source { received, patience: PATIENCE + Duration::from_secs_f64(1.0 / hz) };
    let (out, warn) = (&mut io::stdout().lock(), &mut io::stderr().lock());
    let shown = if args.once {
        show_once(args, &source, &|| sampler.set_hz(hz), out, warn)
    } else {
        stream(args, &source, out, warn)
    };
    match shown {
        Err(error) if is_broken_pipe(&error) => Ok(ExitCode::SUCCESS),
        shown => shown.map(|()| ExitCode::SUCCESS),
    }
}

/// Whoever reads the output, `head` for example, has seen enough.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

struct Source {
    received: Receiver<Telemetry>,
    patience: Duration,
}

impl Source {
    fn next(&self) -> anyhow::Result<Telemetry> {
        let Ok(telemetry) = self.received.recv_timeout(self.patience) else {
            bail!(
                "no reading for {} s: the NVIDIA driver does not answer. See the kernel log (dmesg) for Xid errors",
                self.patience.as_secs()
            );
        };
        Ok(telemetry)
    }

    fn machine(&self) -> anyhow::Result<Machine> {
        match self.next()? {
            Telemetry::Machine(machine) => Ok(machine),
            Telemetry::Snapshot(_) => {
                bail!("a snapshot came before the machine; this is a fault of infralab")
            }
        }
    }

    fn snapshot(&self) -> anyhow::Result<Snapshot> {
        loop {
            if let Telemetry::Snapshot(snapshot) = self.next()? {
                return Ok(snapshot);
            }
        }
    }
}

#[derive(Serialize)]
struct Once {
    machine: Machine,
    snapshot: Snapshot,
}

/// Shows the second reading of all, since counters need two; `refresh` has it ask for what is not asked every time.
fn show_once(
    args: &GpuArgs,
    source: &Source,
    refresh: &dyn Fn(),
    out: &mut impl Write,
    warn: &mut impl Write,
) -> anyhow::Result<()> {
    let machine = source.machine()?;
    source.snapshot()?;
    refresh();
    let mut snapshot = source.snapshot()?;
    // Where the first reading took long, the second came too soon after it for what the host tells once in a while.
    for _ in 0..3 {
        if snapshot.host.details.is_some() {
            break;
        }
        refresh();
        let Ok(later) = source.snapshot() else { break };
        snapshot = later;
    }
    if args.json {
        return write_line(out, &Once { machine, snapshot });
    }
    warn_of_absence(&machine, warn)?;
    text::write_block(out, &machine, &snapshot)?;
    Ok(out.flush()?)
}

fn stream(
    args: &GpuArgs,
    source: &Source,
    out: &mut impl Write,
    warn: &mut impl Write,
) -> anyhow::Result<()> {
    let machine = source.machine()?;
    if !args.json {
        warn_of_absence(&machine, warn)?;
    }
    if args.json {
        write_line(out, &Telemetry::Machine(machine))?;
    }
    let mut start_ns = None;
    loop {
        let snapshot = source.snapshot()?;
        let start_ns = *start_ns.get_or_insert(snapshot.mono_ns);
        let elapsed_s = snapshot.mono_ns.saturating_sub(start_ns) as f64 / 1e9;
        if args.json {
            write_line(out, &Telemetry::Snapshot(snapshot))?;
        } else {
            text::write_lines(out, elapsed_s, &snapshot)?;
            out.flush()?;
        }
        // Half a period of room, so that a tick that came a little late or early does not change the count.
        if args.seconds.is_some_and(|seconds| elapsed_s + 0.5 / args.asked_hz() > seconds) {
            return Ok(());
        }
    }
}

fn write_line(out: &mut impl Write, object: &impl Serialize) -> anyhow::Result<()> {
    let line = serde_json::to_string(object)?;
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

fn warn_of_absence(machine: &Machine, warn: &mut impl Write) -> anyhow::Result<()> {
    if let Some(why) = &machine.gpu_absent_because {
        writeln!(warn, "no GPU readings: {}", text::visible(why))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::telemetry::GpuSnapshot;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        gpu: GpuArgs,
    }

    fn args(line: &str) -> Result<GpuArgs, clap::Error> {
        Command::try_parse_from(format!("gpu {line}").split_whitespace()).map(|command| command.gpu)
    }

    fn source(telemetry: Vec<Telemetry>) -> Source {
        let (sender, received) = mpsc::channel();
        for telemetry in telemetry {
            sender.send(telemetry).expect("the receiver is here");
        }
        Source { received, patience: Duration::ZERO }
    }

    fn machine() -> Telemetry {
        Telemetry::Machine(Machine {
            gpu_absent_because: Some("no\u{1b}library".to_owned()),
            ..Machine::default()
        })
    }

    fn snapshot(ms: u64) -> Telemetry {
        let gpus = vec![GpuSnapshot { power_w: Some(ms as f64), ..GpuSnapshot::default() }];
        Telemetry::Snapshot(Snapshot { mono_ns: 5_000_000_000 + ms * 1_000_000, gpus, ..Snapshot::default() })
    }

    type Show = fn(&GpuArgs, &Source, &mut Vec<u8>, &mut Vec<u8>) -> anyhow::Result<()>;

    fn once(args: &GpuArgs, source: &Source, out: &mut Vec<u8>, warn: &mut Vec<u8>) -> anyhow::Result<()> {
        show_once(args, source, &|| {}, out, warn)
    }

    fn shown(show: Show, line: &str, telemetry: Vec<Telemetry>) -> (String, String, anyhow::Result<()>) {
        let (mut out, mut warn) = (Vec::new(), Vec::new());
        let result = show(&args(line).expect("good arguments"), &source(telemetry), &mut out, &mut warn);
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (text(out), text(warn), result)
    }

    fn objects(lines: &str) -> Vec<serde_json::Value> {
        lines.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect()
    }

    #[test]
    fn rates_and_times_out_of_range_are_usage_errors() {
        for line in [
            "--hz 0",
            "--hz 0.09",
            "--hz 51",
            "--hz NaN",
            "--hz fast",
            "--seconds 0",
            "--seconds inf",
            "--seconds -1",
        ] {
            assert_eq!(args(line).expect_err(line).exit_code(), 2, "{line}");
        }
        for line in
            ["--record x --json", "--record x --replay y", "--speed 2", "--replay x --hz 2", "-- true"]
        {
            assert_eq!(args(line).expect_err(line).exit_code(), 2, "{line}");
        }
        let command = args("--record x --seconds 2 -- sh -c true").map(|args| args.command);
        assert_eq!(command.ok(), Some(["sh", "-c", "true"].map(OsString::from).to_vec()));
        assert_eq!(args("--hz 0.1").map(|args| args.hz).ok(), Some(Some(0.1)));
        assert_eq!(args("--hz 50 --seconds 2.5").map(|args| args.seconds).ok(), Some(Some(2.5)));
    }

    #[test]
    #[cfg(feature = "tui")]
    fn the_monitor_is_for_those_who_asked_for_nothing_else() {
        let may = |line| args(line).map(|args| args.may_open_monitor()).ok();
        assert_eq!(["", "--hz 10"].map(may), [Some(true); 2]);
        assert_eq!(
            ["--once", "--json", "--seconds 3", "--record x", "--replay x"].map(may),
            [Some(false); 5]
        );
    }

    #[test]
    fn once_as_json_is_one_object_with_the_second_reading() {
        let (out, warn, result) = shown(once, "--once --json", vec![machine(), snapshot(0), snapshot(200)]);
        result.expect("shown");
        let objects = objects(&out);
        assert_eq!(objects.len(), 1);
        assert_eq!(objects[0]["snapshot"]["gpus"][0]["power_w"], 200.0);
        assert_eq!(objects[0]["snapshot"]["gpus"][0]["sm_pct"], serde_json::Value::Null);
        assert!(objects[0]["machine"]["gpu_absent_because"].is_string());
        assert_eq!(warn, "");
    }

    #[test]
    fn a_json_stream_begins_with_the_machine_and_ends_in_time() {
        let telemetry = vec![machine(), snapshot(0), snapshot(501), snapshot(999), snapshot(1500)];
        let (out, _, result) = shown(stream, "--json --hz 2 --seconds 1", telemetry);
        result.expect("shown");
        let types: Vec<_> = objects(&out).iter().map(|object| object["type"].clone()).collect();
        assert_eq!(types, ["machine", "snapshot", "snapshot", "snapshot"]);
    }

    #[test]
    fn the_reason_for_no_gpu_goes_to_stderr_without_control_characters() {
        let (out, warn, result) = shown(stream, "--hz 2 --seconds 0.1", vec![machine(), snapshot(0)]);
        result.expect("shown");
        assert!(warn.starts_with("no GPU readings: no") && !warn.contains('\u{1b}'), "{warn:?}");
        assert_eq!(out.lines().count(), 1);
    }

    #[test]
    fn a_driver_that_hangs_is_told_of() {
        let (_, _, result) = shown(stream, "", vec![machine()]);
        assert!(result.expect_err("no snapshot").to_string().contains("does not answer"));
    }

    #[test]
    fn a_closed_pipe_is_no_error() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for line in ["--json", ""] {
            let arguments = args(line).expect("good arguments");
            let source = source(vec![machine(), snapshot(0)]);
            let error =
                stream(&arguments, &source, &mut Closed, &mut Vec::new()).expect_err("the pipe is closed");
            assert!(is_broken_pipe(&error), "{error}");
        }
    }
}
