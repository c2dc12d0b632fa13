//! What this host offers to install and build with: Python, cargo, a C++ compiler, and the driver.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde::Serialize;

use super::{Driver, Fault};

/// Oldest and newest minor version of Python 3 with a wheel of LibTorch 2.11.
const PYTHON_MINORS: std::ops::RangeInclusive<u32> = 10..=14;

/// Names to look for: the default first, then versions that a host may have beside an old default.
const PYTHON_NAMES: [&str; 6] =
    ["python3", "python3.13", "python3.12", "python3.11", "python3.14", "python3.10"];

/// The wheels are built for `manylinux_2_28`.
const MINIMUM_GLIBC: (u32, u32) = (2, 28);

/// Prints version and C library, then fails where a virtual environment with pip cannot be made.
const PYTHON_PROBE: &str = "import sys, platform; \
    print('.'.join(map(str, sys.version_info[:3])), *platform.libc_ver()); \
    import venv, ensurepip";

/// A program that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tool {
    /// Where it is.
    pub path: PathBuf,
    /// What it says of itself, for example `3.11.7`.
    pub version: String,
}

/// The host as the installation sees it; tests make their own.
#[derive(Debug, Clone)]
pub struct Host {
    search_path: OsString,
    cxx: Option<OsString>,
    driver: Driver,
}

impl Host {
    /// This host. Asks the driver, which can take seconds.
    pub fn here() -> Self {
        Self {
            search_path: std::env::var_os("PATH").unwrap_or_default(),
            cxx: std::env::var_os("CXX").filter(|name| !name.is_empty()),
            driver: Driver::probe(),
        }
    }

    #[cfg(test)]
    pub(super) fn with(search_path: impl Into<OsString>, driver: Driver) -> Self {
        Self { search_path: search_path.into(), cxx: None, driver }
    }

    /// What the driver said.
    pub fn driver(&self) -> &Driver {
        &self.driver
    }

    /// A command that finds other programs where this host does.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("PATH", &self.search_path);
        command
    }

    /// A Python that has wheels of LibTorch and can make a virtual environment.
    pub fn python(&self) -> Result<Tool, Fault> {
        let mut first_fault = None;
        for path in PYTHON_NAMES.iter().filter_map(|name| self.find(OsStr::new(name))) {
            match self.judge_python(path) {
                Ok(tool) => return Ok(tool),
                Err(fault) => drop(first_fault.get_or_insert(fault)),
            }
        }
        Err(first_fault.unwrap_or_else(|| {
            Fault::new(
                "Python is missing",
                "pip, which downloads LibTorch, needs python3 and none is on PATH",
                "Install it (Debian and Ubuntu: apt install python3-venv), or name a LibTorch with --libtorch DIR.",
            )
        }))
    }

    fn judge_python(&self, path: PathBuf) -> Result<Tool, Fault> {
        let shown = path.display().to_string();
        let output = self
            .command(&path)
            .args(["-c", PYTHON_PROBE])
            .env_remove("PYTHONHOME")
            .env_remove("PYTHONPATH")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| {
                Fault::new(format!("{shown} does not start"), error.to_string(), "Repair this Python.")
            })?;
        let stdout = String::from_utf8_lossy(&output.stdout);
        let mut words = stdout.split_whitespace();
        let version = words.next().unwrap_or_default().to_owned();
        if version_in(&version).is_none_or(|(major, minor, _)| major != 3 || !PYTHON_MINORS.contains(&minor))
        {
            return Err(Fault::new(
                format!("{shown} cannot be used"),
                format!(
                    "it is Python {version}; LibTorch has wheels for 3.{} to 3.{}",
                    PYTHON_MINORS.start(),
                    PYTHON_MINORS.end()
                ),
                "Install such a Python, for example python3.12 with its venv package.",
            ));
        }
        if !output.status.success() {
            return Err(Fault::new(
                format!("{shown} cannot make a virtual environment"),
                last_line(&output.stderr),
                "Install the missing part (Debian and Ubuntu: apt install python3-venv).",
            ));
        }
        if cfg!(target_os = "linux") {
            let libc = (words.next().unwrap_or("another C library"), words.next().unwrap_or_default());
            let new_enough =
                version_in(libc.1).is_some_and(|(major, minor, _)| (major, minor) >= MINIMUM_GLIBC);
            if libc.0 != "glibc" || !new_enough {
                return Err(Fault::new(
                    "LibTorch does not run on this system",
                    format!(
                        "its wheels need glibc 2.28 or newer; {shown} is linked with {} {}",
                        libc.0, libc.1
                    ),
                    "Use a newer distribution or a container of one (musl has no wheels), or --libtorch DIR.",
                ));
            }
        }
        Ok(Tool { path, version })
    }

    /// A cargo that is new enough for the worker.
    pub fn cargo(&self) -> Result<Tool, Fault> {
        let minimum = env!("CARGO_PKG_RUST_VERSION");
        let next = "Install or update Rust (https://rustup.rs, then `rustup update stable`), \
                    or name a worker that was built elsewhere in INFRALAB_WORKER.";
        let missing = || Fault::new("cargo is missing", "the worker is built here, which needs Rust", next);
        let path = self.find(OsStr::new("cargo")).ok_or_else(missing)?;
        let version = self.version_line(&path)?;
        if version_in(&version) < version_in(minimum) {
            let why = format!("{} says `{version}`; the worker needs {minimum} or newer", path.display());
            return Err(Fault::new("cargo is too old", why, next));
        }
        Ok(Tool { path, version })
    }

    /// The C++ compiler that the build of LibTorch's bindings will use.
    pub fn cxx(&self) -> Result<Tool, Fault> {
        let name = self.cxx.as_deref().unwrap_or(OsStr::new("c++"));
        let Some(path) = self.find(name) else {
            return Err(Fault::new(
                "a C++ compiler is missing",
                format!("the bindings of LibTorch are C++ and `{}` is not on PATH", name.display()),
                "Install one (Debian and Ubuntu: apt install g++), or name yours in CXX.",
            ));
        };
        let version = self.version_line(&path)?;
        Ok(Tool { path, version })
    }

    fn version_line(&self, path: &Path) -> Result<String, Fault> {
        let failed = |why: String| {
            Fault::new(format!("{} does not work", path.display()), why, "Repair or reinstall it.")
        };
        let output = self
            .command(path)
            .arg("--version")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            return Err(failed(last_line(&output.stderr)));
        }
        Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().trim().to_owned())
    }

    /// The first executable file of this name on the search path, or `name` itself when it is a path.
    fn find(&self, name: &OsStr) -> Option<PathBuf> {
        let executable =
            |path: &PathBuf| path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok();
        if Path::new(name).components().count() > 1 {
            return Some(PathBuf::from(name)).filter(executable);
        }
        std::env::split_paths(&self.search_path).map(|directory| directory.join(name)).find(executable)
    }
}

fn last_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no reason given").trim().to_owned()
}

/// The first dotted number in `text`; missing parts are 0.
pub(super) fn version_in(text: &str) -> Option<(u32, u32, u32)> {
    let dotted = text
        .split(|c: char| !c.is_ascii_digit() && c != '.')
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'))?;
    let mut parts = dotted.split('.').map(|part| part.parse().unwrap_or(0));
    Some((parts.next()?, parts.next().unwrap_or(0), parts.next().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fake::Bin;

    #[test]
    fn versions_are_found_in_text() {
        assert_eq!(version_in("cargo 1.95.0 (f2d3ce0bd 2026-03-21)"), Some((1, 95, 0)));
        assert_eq!(version_in("g++ (Debian 12.2.0-14) 12.2.0"), Some((12, 2, 0)));
        assert_eq!(version_in("pip 26.3 from /x/python3.11/site-packages"), Some((26, 3, 0)));
        assert_eq!(version_in("2.36"), Some((2, 36, 0)));
        assert_eq!(version_in("no number"), None);
    }

    #[test]
    fn an_old_default_python_is_passed_over() {
        let bin = Bin::new();
        bin.script("python3", "echo 3.8.10 glibc 2.31");
        let fault = bin.host().python().expect_err("3.8 has no wheel");
        assert!(fault.why.contains("3.8.10"), "{fault}");
        bin.script("python3.12", "echo 3.12.3 glibc 2.39");
        let python = bin.host().python().expect("the newer one");
        assert_eq!(python.version, "3.12.3");
        assert_eq!(python.path, bin.path("python3.12"));
    }

    #[test]
    fn a_python_without_venv_says_what_is_missing() {
        let bin = Bin::new();
        bin.script("python3", "echo 3.12.3 glibc 2.39; echo \"No module named 'ensurepip'\" >&2; exit 1");
        let fault = bin.host().python().expect_err("no ensurepip");
        assert!(fault.why.contains("ensurepip") && fault.next.contains("python3-venv"), "{fault}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_old_or_other_c_library_is_refused() {
        for (line, named) in [("3.12.3 glibc 2.17", "glibc 2.17"), ("3.12.3", "another C library")] {
            let bin = Bin::new();
            bin.script("python3", &format!("echo {line}"));
            let fault = bin.host().python().expect_err("no wheel");
            assert!(fault.why.contains(named), "{fault}");
        }
    }

    #[test]
    fn missing_and_old_tools_come_with_advice() {
        let bin = Bin::new();
        assert!(bin.host().cargo().expect_err("none").next.contains("rustup"));
        assert!(bin.host().cxx().expect_err("none").next.contains("g++"));
        assert!(bin.host().python().expect_err("none").next.contains("python3-venv"));
        bin.script("cargo", "echo 'cargo 1.70.0 (x 2023-01-01)'");
        assert!(bin.host().cargo().expect_err("old").why.contains("1.70.0"));
        bin.script("cargo", "echo 'cargo 1.95.0'");
        assert_eq!(bin.host().cargo().expect("new enough").version, "cargo 1.95.0");
    }
}
