//! `infralab doctor`: whether this host has what infralab needs, and what to do where it has not.

use std::{io::IsTerminal, io::Write, process::ExitCode};

use serde::Serialize;

use super::engine::describe;
use crate::{
    engine::{Driver, DriverVerdict, Engine, EngineState, Fault, Host, MINIMUM_DRIVER, Tool},
    paths::Paths,
};

/// Smallest terminal that every screen is made for.
const SMALLEST: (u16, u16) = (80, 24);

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    /// As it should be.
    Ok,
    /// Something will be missing, the rest works.
    Warn,
    /// infralab does not work so.
    Fail,
}

#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    level: Level,
    found: String,
    /// What to do; `None` when nothing needs doing.
    next: Option<String>,
}

#[derive(Debug, Serialize)]
struct Report {
    infralab: &'static str,
    ok: bool,
    checks: Vec<Check>,
    engine: EngineState,
    driver: Driver,
}

/// Runs every check. Exit code 1 when one fails.
pub(super) fn run(json: bool, paths: &Paths) -> anyhow::Result<ExitCode> {
    let host = Host::here();
    let state = Engine::locate(paths);
    let environment = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let mut checks = vec![
        terminal(size(), environment),
        locale(environment),
        data(paths),
        driver(host.driver()),
        engine(&state),
    ];
    let needed = state.ready().is_none();
    checks.push(tool("python3", host.python(), needed));
    checks.push(tool("cargo", host.cargo(), needed));
    checks.push(tool("C++ compiler", host.cxx(), needed));

    let ok = checks.iter().all(|check| check.level != Level::Fail);
    let report = Report {
        infralab: env!("CARGO_PKG_VERSION"),
        ok,
        checks,
        engine: state,
        driver: host.driver().clone(),
    };
    let mut out = std::io::stdout().lock();
    if json {
        writeln!(out, "{}", serde_json::to_string(&report)?)?;
    } else {
        for line in lines(&report) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(ExitCode::from(u8::from(!ok)))
}

fn lines(report: &Report) -> Vec<String> {
    // Versions and paths come from elsewhere and may hold anything.
    let plain = |text: &str| text.replace(char::is_control, " ");
    let mut lines = vec![format!("infralab {}", report.infralab)];
    for check in &report.checks {
        let level = match check.level {
            Level::Ok => "OK  ",
            Level::Warn => "warn",
            Level::Fail => "FAIL",
        };
        lines.push(format!("{level}  {:<15} {}", check.name, plain(&check.found)));
        if let Some(next) = &check.next {
            lines.push(format!("      {:<15} → {}", "", plain(next)));
        }
    }
    lines
}

fn ok(name: &'static str, found: impl Into<String>) -> Check {
    Check { name, level: Level::Ok, found: found.into(), next: None }
}

fn warn(name: &'static str, found: impl Into<String>, next: impl Into<String>) -> Check {
    Check { name, level: Level::Warn, found: found.into(), next: Some(next.into()) }
}

/// Columns and rows, when standard output is a terminal.
fn size() -> Option<(u16, u16)> {
    let out = std::io::stdout();
    if !out.is_terminal() {
        return None;
    }
    // 0 means that the terminal does not know.
    rustix::termios::tcgetwinsize(out)
        .ok()
        .filter(|size| size.ws_col > 0)
        .map(|size| (size.ws_col, size.ws_row))
}

fn terminal(size: Option<(u16, u16)>, environment: impl Fn(&str) -> Option<String>) -> Check {
    let name = "terminal";
    let term = environment("TERM");
    let colours = if environment("NO_COLOR").is_some() {
        "no colours (NO_COLOR)"
    } else if environment("COLORTERM").is_some_and(|value| value == "truecolor" || value == "24bit") {
        "true colour"
    } else if term.as_deref().is_some_and(|term| term.contains("256color") || term.contains("direct")) {
        "256 colours"
    } else {
        "16 colours"
    };
    let kind = format!("TERM={}, {colours}", term.as_deref().unwrap_or("(not set)"));
    let Some((columns, rows)) = size else {
        return ok(name, format!("size unknown, output is not a terminal; {kind}"));
    };
    let found = format!("{columns}×{rows}, {kind}");
    if term.as_deref().is_none_or(|term| term == "dumb") {
        return warn(name, found, "Set TERM to what your terminal is, for example xterm-256color.");
    }
    if columns < SMALLEST.0 || rows < SMALLEST.1 {
        let next = format!(
            "Enlarge the window to {}×{} or more; less works, and shows less.",
            SMALLEST.0, SMALLEST.1
        );
        return warn(name, found, next);
    }
    ok(name, found)
}

fn locale(environment: impl Fn(&str) -> Option<String>) -> Check {
    // The order in which the C library looks.
    let set = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| Some((name, environment(name)?)));
    match set {
        Some((name, value)) => {
            let lower = value.to_lowercase();
            if lower.contains("utf-8") || lower.contains("utf8") {
                ok("locale", format!("{name}={value}"))
            } else {
                warn(
                    "locale",
                    format!("{name}={value} is not UTF-8"),
                    "export LC_ALL=C.UTF-8, or tmux and ssh may garble Chinese.",
                )
            }
        }
        None => warn("locale", "not set", "export LANG=C.UTF-8, or tmux and ssh may garble Chinese."),
    }
}

fn data(paths: &Paths) -> Check {
    match paths.check_data() {
        Ok(()) if paths.data().exists() => ok("data directory", paths.data().display().to_string()),
        Ok(()) => ok("data directory", format!("{} (made when needed)", paths.data().display())),
        Err(error) => Check {
            name: "data directory",
            level: Level::Fail,
            found: error.to_string(),
            next: Some("Progress and runs cannot be kept until this is mended.".into()),
        },
    }
}

fn driver(driver: &Driver) -> Check {
    let name = "NVIDIA driver";
    let version = driver.version.as_deref().unwrap_or("of unknown version");
    let gpus = driver.gpus.iter().map(|gpu| gpu.name.as_str()).collect::<Vec<_>>().join(", ");
    match driver.verdict() {
        DriverVerdict::Usable => ok(name, format!("{version}: {gpus}")),
        // A machine without a GPU is not at fault.
        DriverVerdict::Absent { because } => ok(name, format!("none, labs run on the CPU: {because}")),
        DriverVerdict::TooOld { .. } => {
            let next = format!("Labs on the GPU need {MINIMUM_DRIVER} or newer: update it, or use the CPU.");
            warn(name, format!("{version}: {gpus}"), next)
        }
        DriverVerdict::NoSupportedGpu { gpus } => warn(
            name,
            format!("{version}: {gpus}"),
            "CUDA 13 needs compute capability 7.5 or newer: labs run on the CPU.",
        ),
    }
}

fn engine(state: &EngineState) -> Check {
    match state {
        EngineState::Ready(_) => ok("engine", describe(state).join("; ").trim_start_matches("engine: ")),
        EngineState::Absent { why } | EngineState::NoWorker { why, .. } => {
            warn("engine", why, "infralab engine install; until then labs show recorded runs.")
        }
    }
}

fn tool(name: &'static str, found: Result<Tool, Fault>, needed: bool) -> Check {
    match found {
        Ok(tool) => ok(name, format!("{} ({})", tool.version, tool.path.display())),
        Err(fault) if needed => warn(name, format!("{}: {}", fault.what, fault.why), fault.next),
        Err(fault) => ok(name, format!("not needed now: {}", fault.what)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(pairs: &'static [(&str, &str)]) -> impl Fn(&str) -> Option<String> {
        move |name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    }

    #[test]
    fn terminals_are_judged_by_size_and_kind() {
        let xterm = from(&[("TERM", "xterm-256color")]);
        assert_eq!(terminal(Some((80, 24)), &xterm).level, Level::Ok);
        assert_eq!(terminal(Some((79, 24)), &xterm).level, Level::Warn);
        assert_eq!(terminal(None, &xterm).level, Level::Ok);
        assert_eq!(terminal(Some((200, 50)), from(&[("TERM", "dumb")])).level, Level::Warn);
        assert_eq!(terminal(Some((200, 50)), from(&[])).level, Level::Warn);
        let colours = |pairs| terminal(Some((80, 24)), from(pairs)).found;
        assert!(colours(&[("TERM", "xterm"), ("COLORTERM", "truecolor")]).contains("true colour"));
        assert!(
            colours(&[("TERM", "xterm"), ("NO_COLOR", "1"), ("COLORTERM", "truecolor")])
                .contains("no colours")
        );
    }

    #[test]
    fn the_first_locale_variable_counts() {
        assert_eq!(locale(from(&[("LANG", "en_US.UTF-8")])).level, Level::Ok);
        assert_eq!(locale(from(&[("LANG", "zh_CN.utf8")])).level, Level::Ok);
        assert_eq!(locale(from(&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")])).level, Level::Warn);
        assert_eq!(locale(from(&[])).level, Level::Warn);
    }

    #[test]
    fn only_an_unusable_data_directory_fails() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("file");
        std::fs::write(&file, "").expect("written");
        let check = data(&Paths::new(Some(&file)).expect("absolute"));
        assert_eq!(check.level, Level::Fail);
        let check = data(&Paths::new(Some(dir.path())).expect("absolute"));
        assert_eq!(check.level, Level::Ok);
    }

    #[test]
    fn an_old_driver_is_a_warning_and_none_is_not() {
        let old = Driver { version: Some("535.1".into()), gpus: vec![], absent_because: None };
        assert_eq!(driver(&old).level, Level::Warn);
        let none = Driver { absent_because: Some("no library".into()), ..Driver::default() };
        assert_eq!(driver(&none).level, Level::Ok);
    }

    #[test]
    fn tools_matter_only_until_the_engine_is_there() {
        let missing = || {
            Err(Fault {
                what: "Python is missing".into(),
                why: "none on PATH".into(),
                next: "Install it.".into(),
            })
        };
        assert_eq!(tool("python3", missing(), true).level, Level::Warn);
        assert_eq!(tool("python3", missing(), false).level, Level::Ok);
    }

    #[test]
    fn the_text_has_one_line_per_check_and_one_per_advice() {
        let report = Report {
            infralab: "0.1.0",
            ok: true,
            checks: vec![ok("a", "x\x1b[2J"), warn("b", "y", "do it")],
            engine: EngineState::Absent { why: "none".into() },
            driver: Driver::default(),
        };
        let lines = lines(&report);
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert!(!lines.concat().contains('\x1b'), "{lines:?}");
    }
}
