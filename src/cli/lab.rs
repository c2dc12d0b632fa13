//! `infralab lab list | show | run`.

use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use anyhow::{Context as _, bail};
use infralab_labs::protocol::{DeviceChoice, DeviceKind, Event, RunRequest};
use infralab_labs::spec::{Params, Size};
use infralab_labs::{LABS, LabSpec, find_lab};
use serde_json::json;

use super::{USAGE, lab_text, out};
use crate::engine::{self, Engine, EngineState};
use crate::lab::history::Writer;
use crate::lab::preflight::{Fit, RunLock};
use crate::lab::session::Status;
use crate::lab::{Header, LabEvent, LabSession, Prediction, Predictions, Record, runner};
use crate::lang::Lang;
use crate::paths::{Paths, PathsError};
use crate::telemetry::{Machine, Sampler, SamplerOptions, Snapshot, Telemetry};

/// Subcommands of `lab`.
#[derive(Debug, clap::Subcommand)]
pub(super) enum LabCommand {
    /// Every lab
    List {
        /// One object a line
        #[arg(long)]
        json: bool,
    },
    /// Question, closed form, parameters and predictions of a lab
    Show {
        /// Lab id
        id: String,
        /// One object
        #[arg(long)]
        json: bool,
    },
    /// Run a lab and record the run
    Run(RunArgs),
}

/// Arguments of `lab run`.
#[derive(Debug, clap::Args)]
pub(super) struct RunArgs {
    /// Lab id
    id: String,
    /// auto, cpu or cuda:N
    #[arg(long, default_value = "auto")]
    device: DeviceChoice,
    /// tiny (seconds on a CPU), small (a laptop), full (a data-centre GPU)
    #[arg(long, default_value = "tiny")]
    size: Size,
    /// A parameter, may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,
    /// A prediction, may be repeated: VALUE, then if you like the interval you are 80 % sure of and the side of the
    /// closed form, as in `naive_growth=4:3.5..4.5:about` (below, about, above)
    #[arg(long, value_name = "NAME=VALUE[:LOW..HIGH][:SIDE]", value_parser = pair)]
    predict: Vec<(String, String)>,
    /// Seed of the random inputs
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Every event as a JSON line, the record last
    #[arg(long)]
    json: bool,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("use NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

pub(super) fn run(
    command: LabCommand,
    paths: impl Fn() -> Result<Paths, PathsError>,
    lang: Lang,
) -> anyhow::Result<ExitCode> {
    let known = |id: &str| {
        find_lab(id).ok_or_else(|| {
            let ids = LABS.iter().map(|l| l.id.as_str()).collect::<Vec<_>>().join(", ");
            anyhow::anyhow!("unknown lab `{id}`; there is: {ids}")
        })
    };
    match command {
        LabCommand::List { json } => {
            for lab in LABS.iter() {
                if json {
                    out::json(
                        &json!({"id": lab.id, "title": lab.title, "phase": lab.phase, "question": lab.question}),
                    )?;
                } else {
                    out::line(&format!("{:<12} {}", lab.id, lang.pick(&lab.title.en, &lab.title.zh)))?;
                }
            }
            Ok(ExitCode::SUCCESS)
        }
        LabCommand::Show { id, json } => {
            let lab = known(&id)?;
            if json {
                out::json(&lab_text::object(lab))?;
            } else {
                out::line(&lab_text::text(lab, lang))?;
            }
            Ok(ExitCode::SUCCESS)
        }
        LabCommand::Run(args) => start(known(&args.id)?, &args, &paths()?, lang),
    }
}

fn start(lab: &LabSpec, args: &RunArgs, paths: &Paths, lang: Lang) -> anyhow::Result<ExitCode> {
    once_each("--set", &args.set)?;
    once_each("--predict", &args.predict)?;
    let params = lab.params_for(args.size, &args.set)?;
    let request = RunRequest {
        lab: lab.id.clone(),
        size: args.size,
        device: args.device,
        params,
        seed: args.seed,
        budget_bytes: None,
    };
    let predictions = predictions(lab, &request.params, &args.predict)?;
    let ready = match Engine::locate(paths) {
        EngineState::Ready(ready) => ready,
        missing @ (EngineState::Absent { .. } | EngineState::NoWorker { .. }) => {
            eprintln!("infralab: {missing}");
            return Ok(ExitCode::from(USAGE));
        }
    };
    let (tx, rx) = mpsc::channel();
    let (machine, first, sampler) = sample(tx.clone())?;
    let fit = Fit::of(lab, &request, &machine, first.as_ref());
    let refusal = lab.refusal(&request.params, Some(fit.kind)).or_else(|| fit.refusal(lab));
    if let Some(failure) = refusal {
        eprintln!("infralab: {}: {}; {}", failure.what, failure.why, failure.next);
        return Ok(ExitCode::from(USAGE));
    }
    let lock = RunLock::take(paths.data());
    let header = Header::new(request.clone(), predictions, machine, first.as_ref(), &lock);
    let mut writer = match Writer::create(&paths.runs(), &header) {
        Ok(writer) => Some(writer),
        Err(error) => {
            eprintln!("infralab: {error}");
            None
        }
    };
    let sink: runner::Sink = Arc::new(move |event| {
        let _ = tx.send(event);
    });
    let handle = runner::start(engine::worker_command(&ready), &request, sink)?;
    stop_on_signal(handle)?;

    let mut session = LabSession::default();
    let mut printer = lab_text::Printer::new(lang, args.json);
    let header = LabEvent::Header(header);
    printer.print(&header)?;
    session.apply(header);
    // A reader that went away must not end the run: it is being recorded.
    let mut printing = true;
    // After the worker's end readings go on until its memory is back on the device.
    while !session.settled() {
        let event =
            if session.exited.is_some() { rx.recv_timeout(LAST_READINGS).ok() } else { rx.recv().ok() };
        let Some(event) = event else { break };
        if let LabEvent::Worker(Event::Hello(hello)) = &event {
            sampler.set_worker_pid(Some(hello.pid));
        }
        if let Some(file) = &mut writer
            && let Err(error) = file.write(&event)
        {
            eprintln!("infralab: {error}");
            writer = None;
        }
        printing = printing && printer.print(&event).is_ok();
        session.apply(event);
    }
    let Some(record) = Record::of(&session) else { bail!("the run has no header") };
    let recorded = writer.is_some();
    if let Some(writer) = writer {
        writer.finish(record.clone())?;
    }
    if printing {
        printer.finish(&session, &record)?;
    }
    // A script must see when it did not get what it asked for: the whole run, checks that hold, a number, a record.
    let whole = session.status == Status::Completed && recorded;
    let wrong = session.checks.iter().any(|c| !c.passed);
    let empty = session.checks.is_empty() && session.summary.values().all(|q| q.value.is_none());
    Ok(ExitCode::from(u8::from(!whole || wrong || empty)))
}

fn once_each(option: &str, pairs: &[(String, String)]) -> anyhow::Result<()> {
    for (i, (name, _)) in pairs.iter().enumerate() {
        anyhow::ensure!(!pairs[..i].iter().any(|(n, _)| n == name), "{option} {name} is given twice");
    }
    Ok(())
}

/// A driver that stops answering must not keep an ended run open.
const LAST_READINGS: Duration = Duration::from_secs(3);

fn predictions(lab: &LabSpec, params: &Params, given: &[(String, String)]) -> anyhow::Result<Predictions> {
    given
        .iter()
        .map(|(name, value)| {
            if !lab.predictions.iter().any(|p| &p.name == name) {
                let names = lab.predictions.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(", ");
                bail!("lab `{}` does not ask for `{name}`; it asks for {names}", lab.id);
            }
            let prediction: Prediction = value.parse().with_context(|| format!("prediction `{name}`"))?;
            // Some closed forms exist on one kind of device alone; on which this run will be is not asked here.
            let kinds = [DeviceKind::Cpu, DeviceKind::Cuda];
            let has_form = kinds.iter().any(|k| lab.closed_forms_on(*k, params).contains_key(name));
            if prediction.side.is_some() && !has_form {
                bail!("prediction `{name}` has no closed form before the run, so no side of it; leave the side out");
            }
            Ok((name.clone(), prediction))
        })
        .collect()
}

/// Starts readings for the run and waits shortly for what the machine is and what it is doing.
fn sample(events: mpsc::Sender<LabEvent>) -> std::io::Result<(Machine, Option<Snapshot>, Sampler)> {
    const RUN_HZ: f64 = 10.0;
    const MACHINE_TIMEOUT: Duration = Duration::from_secs(5);
    const FIRST_TIMEOUT: Duration = Duration::from_secs(1);
    /// The first reading has no load yet: load is a difference of two.
    const READINGS: usize = 2;
    let (machine_tx, machine_rx) = mpsc::channel();
    let (first_tx, first_rx) = mpsc::channel();
    let sampler = Sampler::start(
        SamplerOptions { hz: RUN_HZ, worker_pid: None },
        Box::new(move |telemetry| match telemetry {
            Telemetry::Machine(machine) => drop(machine_tx.send(machine)),
            Telemetry::Snapshot(snapshot) => {
                let _ = first_tx.send(snapshot.clone());
                let _ = events.send(LabEvent::Snapshot(snapshot));
            }
        }),
    )?;
    let machine = machine_rx.recv_timeout(MACHINE_TIMEOUT).unwrap_or_else(|_| Machine {
        gpu_absent_because: Some("the driver did not answer within 5 s".into()),
        ..Machine::default()
    });
    let readings = (0..READINGS).map_while(|_| first_rx.recv_timeout(FIRST_TIMEOUT).ok());
    Ok((machine, readings.last(), sampler))
}

/// Ctrl-C and SIGTERM stop the lab politely; a second one kills it.
fn stop_on_signal(handle: runner::LabHandle) -> anyhow::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::spawn(move || {
        let mut arrived = signals.forever();
        if arrived.next().is_some() {
            handle.stop();
        }
        let _ = arrived.next();
        drop(handle);
    });
    Ok(())
}
