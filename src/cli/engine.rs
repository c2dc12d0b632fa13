//! `infralab engine status | install | remove`.

use std::{
    io::{BufRead, IsTerminal, Write},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::{Context, bail};
use infralab_labs::protocol::{DeviceKind, Hello};

use super::install_progress::Display;
use crate::{
    engine::{self, Cancel, Devices, DriverVerdict, Engine, EngineState, Host, Interrupted, Options, Set},
    paths::Paths,
    units::binary_bytes,
};

/// LibTorch and the worker that runs the labs.
#[derive(Debug, Clone, clap::Subcommand)]
pub(super) enum EngineCommand {
    /// Show whether labs can run here and what is missing (exit code 0: they can, 1: they cannot)
    Status,
    /// Download LibTorch, build the worker, and ask it who it is; goes on where an earlier try ended
    Install(InstallArgs),
    /// Delete LibTorch and the worker, and give their space back
    Remove {
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

/// Arguments of `infralab engine install`.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct InstallArgs {
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Use the LibTorch 2.11.0 in this directory instead of downloading one [env: INFRALAB_LIBTORCH]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["cpu", "gpu"])]
    libtorch: Option<PathBuf>,
    /// Leave the GPU libraries out, even where a GPU answers
    #[arg(long, conflicts_with = "gpu")]
    cpu: bool,
    /// Take the GPU libraries, even where no GPU answers
    #[arg(long)]
    gpu: bool,
}

/// Runs the command. An error means that the set-up is at fault.
pub(super) fn run(command: &EngineCommand, paths: &Paths) -> anyhow::Result<ExitCode> {
    match command {
        EngineCommand::Status => status(paths),
        EngineCommand::Install(args) => install(paths, args),
        EngineCommand::Remove { yes } => remove(paths, *yes),
    }
}

fn status(paths: &Paths) -> anyhow::Result<ExitCode> {
    let state = Engine::locate(paths);
    let mut out = std::io::stdout().lock();
    for line in describe(&state) {
        writeln!(out, "{line}")?;
    }
    if let EngineState::Ready(ready) = &state
        && ready.set == Set::Slim
        && Host::here().driver().verdict() == DriverVerdict::Usable
    {
        writeln!(
            out,
            "A GPU answers, and its libraries are not installed: `infralab engine install` adds them."
        )?;
    }
    Ok(ExitCode::from(u8::from(state.ready().is_none())))
}

/// The state in a few lines: what there is, what is missing, and the next command.
pub(super) fn describe(state: &EngineState) -> Vec<String> {
    const NEXT: &str = "Next: infralab engine install";
    match state {
        EngineState::Absent { why } => vec![format!("engine: absent: {why}"), NEXT.into()],
        EngineState::NoWorker { libtorch, set, why } => vec![
            format!("engine: not ready: {why}"),
            format!("LibTorch {} ({set} set) in {}", libtorch.version, libtorch.dir.display()),
            NEXT.into(),
        ],
        EngineState::Ready(ready) => {
            let mut lines = vec!["engine: ready".to_owned()];
            if let Some(libtorch) = &ready.libtorch {
                lines.push(format!(
                    "LibTorch {} ({} set) in {}",
                    libtorch.version,
                    ready.set,
                    libtorch.dir.display()
                ));
            }
            lines.push(format!("worker {}", ready.worker.display()));
            lines
        }
    }
}

fn install(paths: &Paths, args: &InstallArgs) -> anyhow::Result<ExitCode> {
    let devices = match (args.cpu, args.gpu) {
        (true, _) => Devices::Cpu,
        (_, true) => Devices::Gpu,
        _ => Devices::Auto,
    };
    // Not left to clap, for which an empty variable would be an error and a set one would conflict with --cpu.
    let from_environment = || match devices {
        Devices::Auto => {
            std::env::var_os(engine::LIBTORCH_VARIABLE).filter(|dir| !dir.is_empty()).map(PathBuf::from)
        }
        Devices::Cpu | Devices::Gpu => None,
    };
    let options = Options { libtorch: args.libtorch.clone().or_else(from_environment), devices };
    let host = Host::here();
    let plan = engine::plan(paths, &options, &host)?;
    let asks = !plan.is_empty() && !args.yes;
    if asks {
        someone_to_ask()?;
    }
    let mut err = std::io::stderr();
    for line in plan.lines() {
        writeln!(err, "{line}")?;
    }
    if asks && !agreed("Continue?")? {
        writeln!(err, "Nothing was changed.")?;
        return Ok(ExitCode::from(1));
    }

    let cancel = Cancel::default();
    cancel.on_signals().context("cannot listen for Ctrl-C")?;
    let mut display = Display::new(err.is_terminal());
    let result = engine::install(paths, &plan, &host, &cancel, &mut |progress| {
        // A closed stderr is no reason to stop.
        let _ = display.show(&mut std::io::stderr().lock(), &progress);
    });
    display.clear(&mut std::io::stderr().lock())?;
    match result {
        Ok(installed) => {
            let mut out = std::io::stdout().lock();
            for line in answered(&installed.hello, plan.set) {
                writeln!(out, "{line}")?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(Interrupted::Cancelled) => {
            writeln!(err, "{}", Interrupted::Cancelled)?;
            Ok(ExitCode::from(130))
        }
        Err(Interrupted::Fault(fault)) => Err(fault.into()),
    }
}

/// What the worker said, for people.
fn answered(hello: &Hello, set: Set) -> Vec<String> {
    let device = &hello.device;
    let mut lines = vec![format!(
        "The engine is ready: worker {}, LibTorch {}{}.",
        hello.worker,
        hello.libtorch,
        hello.cudnn.as_ref().map_or(String::new(), |version| format!(", cuDNN {version}"))
    )];
    let memory =
        device.total_memory_bytes.map_or(String::new(), |bytes| format!(", {}", binary_bytes(bytes as f64)));
    lines.push(match device.kind {
        DeviceKind::Cuda => {
            format!("Labs run on {}{memory} (CUDA devices: {}).", device.name, hello.cuda_devices)
        }
        DeviceKind::Cpu => {
            format!("Labs run on the CPU: {}{memory}, {} threads.", device.name, hello.cpu_threads)
        }
    });
    // Only where a GPU was expected does the reason matter.
    if set != Set::Slim
        && let Some(why) = &hello.cuda_absent_because
    {
        lines.push(format!("CUDA is not in use: {why}"));
    }
    lines
}

fn remove(paths: &Paths, yes: bool) -> anyhow::Result<ExitCode> {
    let removal = engine::plan_removal(paths)?;
    let mut err = std::io::stderr();
    if removal.entries.is_empty() {
        writeln!(err, "There is no engine in {}.", removal.directory.display())?;
        return Ok(ExitCode::SUCCESS);
    }
    if !yes {
        someone_to_ask()?;
    }
    writeln!(
        err,
        "Deletes {} in {}:",
        binary_bytes(removal.total_bytes() as f64),
        removal.directory.display()
    )?;
    for (path, bytes) in &removal.entries {
        let name = path.file_name().unwrap_or_default().display().to_string();
        writeln!(err, "  {name:<24} {:>10}", binary_bytes(*bytes as f64))?;
    }
    if let Some(kept) = &removal.kept {
        writeln!(err, "The LibTorch in {} is not infralab's and stays.", kept.display())?;
    }
    if !yes && !agreed("Delete?")? {
        writeln!(err, "Nothing was changed.")?;
        return Ok(ExitCode::from(1));
    }
    engine::remove(&removal)?;
    writeln!(
        std::io::stdout().lock(),
        "Deleted; {} are free again.",
        binary_bytes(removal.total_bytes() as f64)
    )?;
    Ok(ExitCode::SUCCESS)
}

/// Without a terminal there is nobody to ask, which is an error of usage.
fn someone_to_ask() -> anyhow::Result<()> {
    if !std::io::stdin().is_terminal() {
        bail!("this needs consent and the input is not a terminal; add --yes to go on without a question");
    }
    Ok(())
}

/// Asks on the terminal.
fn agreed(question: &str) -> anyhow::Result<bool> {
    let stdin = std::io::stdin();
    let mut err = std::io::stderr();
    write!(err, "{question} [y/N] ")?;
    err.flush()?;
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer)?;
    let answer = answer.trim().to_lowercase();
    Ok(["y", "yes", "是", "ｙ"].contains(&answer.as_str()))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Program {
        #[command(subcommand)]
        command: EngineCommand,
    }

    #[test]
    fn arguments_exclude_each_other() {
        for wrong in [&["x", "install", "--cpu", "--gpu"][..], &["x", "install", "--cpu", "--libtorch", "/t"]]
        {
            Program::try_parse_from(wrong).expect_err("they contradict");
        }
        let parsed = Program::try_parse_from(["x", "install", "--yes", "--cpu"]).expect("valid");
        assert!(matches!(parsed.command, EngineCommand::Install(InstallArgs { yes: true, cpu: true, .. })));
    }

    #[test]
    fn every_state_names_the_next_command() {
        let lines = describe(&EngineState::Absent { why: "LibTorch is not installed".into() });
        assert_eq!(lines, ["engine: absent: LibTorch is not installed", "Next: infralab engine install"]);
    }

    #[test]
    fn without_a_terminal_consent_must_be_given_in_advance() {
        if std::io::stdin().is_terminal() {
            return;
        }
        assert!(someone_to_ask().expect_err("nobody to ask").to_string().contains("--yes"));
    }
}
