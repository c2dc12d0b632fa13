//! The worker: reads one request from stdin, runs one lab, reports on stdout.
//!
//! Exit codes: 0 after `done` (and after `--hello`, `--version`), 1 after `failed` and when a pipe breaks, 2 for usage.

use std::any::Any;
use std::io::{BufReader, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use infralab_labs::clock::mono_ns;
use infralab_labs::protocol::{DeviceChoice, Event, Failure, Hello, Request, RunRequest};
use infralab_labs::spec::Params;
use infralab_labs::torch::output::Output;
use infralab_labs::torch::{Context, Error, hello, input, process};
use infralab_labs::{LABS, LabSpec, attention, find_lab, kv_cache, memory_ledger};

const USAGE: &str = "\
infralab-worker runs one lab for infralab: a request on stdin, events on stdout, one JSON object a line.

usage: infralab-worker                              read a request and run it
       infralab-worker --hello [--device DEVICE]    say what would run it: auto (default), cpu or cuda:N
       infralab-worker --version";

enum Command {
    Run,
    Hello(DeviceChoice),
    Version,
    Help,
}

fn main() {
    process::prepare_environment();
    let command = parse(std::env::args().skip(1)).unwrap_or_else(|why| {
        complain(&format!("{why}\n{USAGE}"));
        std::process::exit(2);
    });
    match command {
        Command::Help => say(USAGE),
        Command::Version => say(&format!(
            "infralab-worker {} (LibTorch {})",
            env!("CARGO_PKG_VERSION"),
            hello::libtorch_version()
        )),
        Command::Hello(device) => converse(|output| {
            let (_, hello) = guarded(|| hello::open(device).map_err(Error::from))?;
            output.emit(&Event::Hello(hello));
            Ok(None)
        }),
        Command::Run => converse(serve),
    }
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Command, String> {
    let Some(first) = arguments.next() else { return Ok(Command::Run) };
    let command = match first.as_str() {
        "--version" | "-V" => Command::Version,
        "--help" | "-h" => Command::Help,
        "--hello" => match arguments.next().as_deref() {
            None => Command::Hello(DeviceChoice::Auto),
            Some("--device") => Command::Hello(arguments.next().ok_or("--device needs a value")?.parse()?),
            Some(other) => return Err(format!("unknown argument `{other}`")),
        },
        other => return Err(format!("unknown argument `{other}`")),
    };
    match arguments.next() {
        Some(more) => Err(format!("unknown argument `{more}`")),
        None => Ok(command),
    }
}

/// Claims stdout, lets `speak` use it, reports how it ended and ends the process.
fn converse(speak: impl FnOnce(&Output) -> Result<Option<Event>, Failure>) -> ! {
    let output = Output::claim().unwrap_or_else(|e| {
        complain(&format!("stdout cannot be used: {e}. Start the worker with a pipe as its stdout."));
        std::process::exit(2);
    });
    process::die_with_parent();
    let (last, code) = match speak(&output) {
        Ok(last) => (last, 0),
        Err(failure) => (Some(Event::Failed(failure)), 1),
    };
    if let Some(last) = last {
        output.emit(&last);
    }
    output.flush();
    process::end(code);
}

/// One request, one run.
fn serve(output: &Output) -> Result<Option<Event>, Failure> {
    let mut stdin = BufReader::new(std::io::stdin());
    let request = match input::read_request(&mut stdin)? {
        Some(Request::Run(request)) => request,
        Some(Request::Stop) => return Ok(Some(Event::Done { stopped: true, mono_ns: mono_ns() })),
        None => {
            return Err(Failure {
                what: "the worker got no request".into(),
                why: "stdin ended before a line came".into(),
                next: "start labs with `infralab lab run`".into(),
            });
        }
    };
    let (lab, params) = checked(&request)?;
    let (device, hello) = guarded(|| hello::open(request.device).map_err(Error::from))?;
    output.emit(&Event::Hello(hello.clone()));
    preflight(lab, &params, &hello)?;
    let stop = input::listen(stdin).map_err(|e| Failure {
        what: "the worker cannot listen for a stop".into(),
        why: e.to_string(),
        next: "raise the limit on threads (ulimit -u) and start again".into(),
    })?;
    let outcome = guarded(|| {
        let ctx = Context::new(device, hello, &request, output.clone(), stop);
        match run_lab(&request.lab, &ctx, &params) {
            Ok(()) => Ok(false),
            Err(Error::Stopped) => Ok(true),
            Err(error) => Err(error),
        }
    });
    Ok(Some(Event::Done { stopped: outcome?, mono_ns: mono_ns() }))
}

/// The lab and the request's parameters, checked again: a request can come from anywhere.
fn checked(request: &RunRequest) -> Result<(&'static LabSpec, Params), Failure> {
    let lab = find_lab(&request.lab).ok_or_else(|| Failure {
        what: format!("this worker has no lab `{}`", request.lab),
        why: format!("it has {}", LABS.iter().map(|l| l.id.as_str()).collect::<Vec<_>>().join(", ")),
        next: "rebuild the worker with `infralab engine install`".into(),
    })?;
    let set: Vec<_> = request.params.iter().map(|(name, value)| (name.clone(), value.to_string())).collect();
    let params = lab.params_for(request.size, &set).map_err(|e| Failure {
        what: format!("lab `{}` cannot run with these parameters", request.lab),
        why: e.to_string(),
        next: format!("see `infralab lab show {}`", request.lab),
    })?;
    lab.refusal(&params, None).map_or_else(|| Ok((lab, params)), Err)
}

/// What only the device can tell: whether it can run these parameters, and whether it has the bytes to begin.
fn preflight(lab: &LabSpec, params: &Params, hello: &Hello) -> Result<(), Failure> {
    let kind = hello.device.kind;
    if let Some(failure) = lab.refusal(params, Some(kind)) {
        return Err(failure);
    }
    match (lab.need(kind, params), hello.device.free_memory_bytes) {
        (Some(need), Some(free)) if need.bytes > free as f64 => Err(lab.too_large(kind, &need, free as f64)),
        _ => Ok(()),
    }
}

fn run_lab(id: &str, ctx: &Context, params: &Params) -> Result<(), Error> {
    match id {
        "attention" => attention::run(ctx, params),
        "memory-ledger" => memory_ledger::run(ctx, params),
        "kv-cache" => kv_cache::run(ctx, params),
        other => Err(Error::Failed(Failure {
            what: format!("lab `{other}` has a specification and no code in this worker"),
            why: "app and worker are of different versions".into(),
            next: "rebuild the worker with `infralab engine install`".into(),
        })),
    }
}

/// Runs `work`; a panic becomes a failure like any other.
fn guarded<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Failure> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(outcome) => outcome.map_err(Error::into_failure),
        Err(panic) => Err(Failure {
            what: "the worker met a fault of its own".into(),
            why: panic_words(panic.as_ref()),
            next: "please report it with the run's log; another size or device may still work".into(),
        }),
    }
}

fn panic_words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without words").to_owned()
}

fn say(text: &str) {
    // A closed pipe is the reader's choice.
    let _ = writeln!(std::io::stdout(), "{text}");
}

fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "infralab-worker: {text}");
}
