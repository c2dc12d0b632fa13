//! The command line: one short file per command, and the only place that prints.

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod calc;
mod check;
mod doctor;
mod engine;
mod glossary;
mod gpu;
mod install_progress;
mod lab;
mod lab_text;
mod note;
mod out;
mod pace;
mod progress;
mod report;
mod run;
mod search;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, Subcommand};

use crate::lang::Lang;
use crate::library::{Library, Source};
use crate::paths::{DATA_VARIABLE, Paths};

/// Usage or set-up is wrong.
pub(crate) const USAGE: u8 = 2;

/// A study companion for AI infrastructure: notes, glossary, labs on real devices.
#[derive(Debug, Parser)]
#[command(name = "infralab", version, about, disable_help_subcommand = true)]
struct Cli {
    /// Directory for progress, runs and the engine [default: INFRALAB_DATA, else the XDG data directory]
    #[arg(long, global = true, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Read notes and terms from this directory instead of the built-in text
    #[arg(long, global = true, value_name = "DIR")]
    content: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Search notes, terms and labs in Chinese and English
    Search(search::SearchArgs),
    /// List or show notes
    #[command(subcommand)]
    Note(note::NoteCommand),
    /// List, show or mark terms
    #[command(subcommand)]
    Glossary(glossary::GlossaryCommand),
    /// Closed forms as calculators: memory, time, FLOPs, failures
    Calc(calc::CalcArgs),
    /// List, show or run labs
    #[command(subcommand)]
    Lab(lab::LabCommand),
    /// List, show, compare, export or replay runs
    #[command(subcommand)]
    Run(run::RunCommand),
    /// Your runs as one page for your own repository: what each phase of the route demands, measured and missing
    ///
    /// HTML is one file with its pictures inside. Markdown with --out FILE puts the pictures into a folder beside it,
    /// named like the file without its ending; on stdout it has none.
    Report(report::ReportArgs),
    /// Readings of GPUs and host, live, recorded or played again
    Gpu(gpu::GpuArgs),
    /// Export, import or undo progress
    #[command(subcommand)]
    Progress(progress::ProgressCommand),
    /// Find, install or remove LibTorch and the worker
    #[command(subcommand)]
    Engine(engine::EngineCommand),
    /// Lint notes, terms, links and labs
    Check(check::CheckArgs),
    /// Check this machine and say what to do next
    Doctor {
        /// One object
        #[arg(long)]
        json: bool,
    },
}

/// Runs the program.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // clap prints help and version to stdout with code 0, mistakes to stderr with code 2.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(USAGE));
        }
    };
    // A file that may not grow any further (`ulimit -f`) is then an error of a write, which is told, and not a signal
    // that ends the program in the middle of a run.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    match run(cli) {
        Ok(code) => code,
        Err(error) if out::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("infralab: {}", told(&error));
            ExitCode::from(USAGE)
        }
    }
}

/// The error and its causes; many of our errors already hold the words of their cause.
fn told(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |told, cause| match told {
        told if told.is_empty() => cause,
        told if told.contains(&cause) => told,
        told => format!("{told}: {cause}"),
    })
}

fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    let lang = Lang::from_env(|k| std::env::var(k).ok());
    let data = cli.data.clone().or_else(|| std::env::var_os(DATA_VARIABLE).map(PathBuf::from));
    let paths = || Paths::new(data.as_deref());
    let source = cli.content.clone().map_or(Source::Embedded, Source::Directory);
    let library = || Library::load(&source);
    Ok(match cli.command {
        None => interface(paths()?, source, lang)?,
        Some(Command::Search(args)) => search::run(&args, &library(), paths, lang)?,
        Some(Command::Note(command)) => note::run(command, &library(), lang)?,
        Some(Command::Glossary(command)) => glossary::run(&command, &library(), &paths()?, lang)?,
        Some(Command::Calc(args)) => calc::run(&args, lang)?,
        Some(Command::Lab(command)) => lab::run(command, paths, lang)?,
        Some(Command::Run(command)) => run::run(&command, &paths()?)?,
        Some(Command::Report(args)) => report::run(&args, &library(), &paths()?, lang)?,
        #[cfg(feature = "tui")]
        Some(Command::Gpu(args)) if args.may_open_monitor() && crate::tui::has_terminal() => {
            let start = crate::tui::Start::Monitor { hz: args.hz };
            screens(paths()?, source, lang, start)?
        }
        #[cfg(feature = "tui")]
        Some(Command::Gpu(args)) if args.may_play().is_some() && crate::tui::has_terminal() => {
            let paths = paths()?;
            match run::known(args.may_play().unwrap_or_default(), &paths)? {
                Some(place) => screens(paths, source, lang, crate::tui::Start::Replay(place))?,
                None => ExitCode::FAILURE,
            }
        }
        Some(Command::Gpu(args)) => gpu::run(&args, paths)?,
        Some(Command::Progress(command)) => progress::run(command, &paths()?)?,
        Some(Command::Engine(command)) => engine::run(&command, &paths()?)?,
        Some(Command::Check(args)) => check::run(&args, source)?,
        Some(Command::Doctor { json }) => doctor::run(json, &paths()?)?,
    })
}

#[cfg(feature = "tui")]
fn interface(paths: Paths, source: Source, lang: Lang) -> anyhow::Result<ExitCode> {
    if !crate::tui::has_terminal() {
        eprintln!(
            "infralab: needs a terminal for its screens; `infralab --help` lists the commands that do not"
        );
        return Ok(ExitCode::from(USAGE));
    }
    screens(paths, source, lang, crate::tui::Start::Home)
}

#[cfg(feature = "tui")]
fn screens(paths: Paths, source: Source, lang: Lang, start: crate::tui::Start) -> anyhow::Result<ExitCode> {
    crate::tui::run(crate::tui::Options { paths, source, lang, start })?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(not(feature = "tui"))]
#[allow(clippy::unnecessary_wraps, reason = "the same signature as with screens")]
fn interface(_: Paths, _: Source, _: Lang) -> anyhow::Result<ExitCode> {
    eprintln!("infralab: built without its screens; `infralab --help` lists the commands");
    Ok(ExitCode::from(USAGE))
}
