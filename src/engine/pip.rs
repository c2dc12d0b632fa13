//! The virtual environment under the engine's directory, and pip in it. Packages are fetched and unpacked one by one
//! and each leaves a trace on disk, so an installation that was interrupted goes on where it was.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    Cancel, Fault, Host, Interrupted, LIBTORCH_VERSION, Package, Tool,
    host::version_in,
    libtorch::site_packages,
    process::{self, Ended},
};

/// First pip with `--progress-bar raw` (24.1) and `--resume-retries` (25.1).
const PIP_WANTED: (u32, u32, u32) = (25, 1, 0);

/// How often a broken download is resumed before pip gives up.
const RESUME_RETRIES: &str = "20";

/// pip in the engine's virtual environment.
pub(super) struct Pip<'a> {
    host: &'a Host,
    engine: &'a Path,
    /// Whether pip prints `Progress 1 of 2` lines.
    raw_progress: bool,
}

/// Where LibTorch lies once its wheel is unpacked.
pub(super) fn libtorch_dir(engine: &Path) -> Option<PathBuf> {
    site_packages(&engine.join("venv")).map(|packages| packages.join("torch"))
}

/// Whether `package` is unpacked completely.
pub(super) fn is_installed(engine: &Path, package: &Package) -> bool {
    // pip writes this file after everything else of the package.
    site_packages(&engine.join("venv")).is_some_and(|packages| {
        packages.join(format!("{}.dist-info/INSTALLER", package.file_stem())).is_file()
    })
}

/// Whether an environment is there that must be made anew before anything can be installed in it.
pub(super) fn must_be_remade(engine: &Path) -> bool {
    let venv = engine.join("venv");
    // `exists` follows links: the Python that the environment was made with may have been replaced.
    venv.exists() && (!venv.join("bin/python3").exists() || holds_another_libtorch(&venv))
}

/// Whether the environment holds another version of LibTorch, left by an older infralab.
fn holds_another_libtorch(venv: &Path) -> bool {
    let wanted = format!("torch-{LIBTORCH_VERSION}");
    site_packages(venv).and_then(|packages| fs::read_dir(packages).ok()).is_some_and(|entries| {
        entries.flatten().any(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.starts_with("torch-") && name.ends_with(".dist-info") && !name.starts_with(&wanted)
        })
    })
}

impl<'a> Pip<'a> {
    /// Makes the environment with `python`, or takes the one that is there, and brings its pip up to date where that
    /// works. The second part is whether there was something to do.
    pub(super) fn ready(
        host: &'a Host,
        engine: &'a Path,
        python: &Tool,
        cancel: &Cancel,
        on_line: &mut dyn FnMut(&str),
    ) -> Result<(Self, bool), Interrupted> {
        let venv = engine.join("venv");
        let mut pip = Self { host, engine, raw_progress: false };
        let mut version = if must_be_remade(engine) { None } else { pip.version() };
        let had_work = version.is_none_or(|version| version < PIP_WANTED);
        if version.is_none() {
            let mut command = host.command(&python.path);
            command.args(["-m", "venv", "--clear"]).arg(&venv);
            run(&mut command, cancel, on_line, |why| {
                let next = "Install the venv part of Python (Debian and Ubuntu: apt install python3-venv) and try again.";
                Fault::new(format!("cannot make the virtual environment {}", venv.display()), why, next)
            })?;
            version = pip.version();
        }
        if version.is_some_and(|version| version < PIP_WANTED) {
            let mut command = pip.command("install");
            command.args(["--no-cache-dir", "--upgrade", "pip"]);
            // An index without a newer pip is no reason to stop: the old one works, and shows less.
            match run(&mut command, cancel, on_line, |why| Fault::new("pip stays as it is", why, "")) {
                Ok(()) => version = pip.version(),
                Err(Interrupted::Cancelled) => return Err(Interrupted::Cancelled),
                Err(Interrupted::Fault(fault)) => on_line(&format!("{}: {}", fault.what, fault.why)),
            }
        }
        let Some(version) = version else {
            let next =
                "Run `infralab engine remove`, then install again; or name a LibTorch with --libtorch DIR.";
            let why = format!("{} was made without a working pip", venv.display());
            return Err(Fault::new("pip does not start", why, next).into());
        };
        pip.raw_progress = version >= PIP_WANTED;
        Ok((pip, had_work))
    }

    /// Fetches the wheel of `package`, unless an earlier try has; `on_bytes` gets the bytes so far.
    pub(super) fn fetch(
        &self,
        package: &Package,
        cancel: &Cancel,
        on_bytes: &mut dyn FnMut(u64),
        on_line: &mut dyn FnMut(&str),
    ) -> Result<PathBuf, Interrupted> {
        if let Some(wheel) = wheel_in(package, &self.wheels()) {
            return Ok(wheel);
        }
        // pip copies a finished download to its place, which can be interrupted half-way; only a rename cannot.
        let incoming = self.wheels().join("incoming");
        let prepared = remove_if_there(&incoming).and_then(|()| fs::create_dir_all(&incoming));
        prepared.map_err(|error| disk_fault(&incoming, &error))?;
        let mut command = self.command("download");
        command
            .args(["--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--dest"])
            .arg(&incoming)
            // By default pip collects downloads in /tmp, which is often too small for this one.
            .env("TMPDIR", &incoming)
            .env("PIP_RESUME_RETRIES", RESUME_RETRIES);
        if self.raw_progress {
            command.args(["--progress-bar", "raw"]);
        }
        command.arg(package.requirement());
        run(
            &mut command,
            cancel,
            &mut |line| match raw_progress(line) {
                Some(bytes) => on_bytes(bytes),
                None => on_line(line),
            },
            |why| {
                Fault::new(
                    format!("{} was not downloaded", package.requirement()),
                    why,
                    "Check the network, or name a mirror in PIP_INDEX_URL; then install again: what is finished is kept.",
                )
            },
        )?;
        let wheel = wheel_in(package, &incoming).ok_or_else(|| {
            let why = "pip reported success and left no wheel".to_owned();
            Fault::new(format!("{} was not downloaded", package.requirement()), why, "Install again.")
        })?;
        let kept = self.wheels().join(wheel.file_name().unwrap_or_default());
        fs::rename(&wheel, &kept).map_err(|error| disk_fault(&kept, &error))?;
        Ok(kept)
    }

    /// Unpacks `wheel`, then deletes it. One that cannot be unpacked is deleted too, so that the next try fetches it
    /// again.
    pub(super) fn unpack(
        &self,
        package: &Package,
        wheel: &Path,
        cancel: &Cancel,
        on_line: &mut dyn FnMut(&str),
    ) -> Result<(), Interrupted> {
        let mut command = self.command("install");
        command
            // What an interrupted try left would look installed without the third.
            .args(["--no-index", "--no-deps", "--ignore-installed", "--no-compile", "--no-cache-dir"])
            .arg(wheel)
            .env("TMPDIR", self.wheels());
        let done = run(&mut command, cancel, on_line, |why| {
            let next = "Check that the disk has room, then install again.";
            Fault::new(format!("{} was not unpacked", package.requirement()), why, next)
        });
        if !matches!(done, Err(Interrupted::Cancelled)) {
            remove_if_there(wheel).map_err(|error| disk_fault(wheel, &error))?;
        }
        done
    }

    /// Removes what only the download needed.
    pub(super) fn tidy(&self) -> Result<(), Interrupted> {
        let wheels = self.wheels();
        remove_if_there(&wheels).map_err(|error| disk_fault(&wheels, &error).into())
    }

    fn wheels(&self) -> PathBuf {
        self.engine.join("wheels")
    }

    fn version(&self) -> Option<(u32, u32, u32)> {
        let python = self.engine.join("venv/bin/python3");
        let output = self.host.command(&python).args(["-m", "pip", "--version"]).output().ok()?;
        output.status.success().then(|| version_in(&String::from_utf8_lossy(&output.stdout)))?
    }

    fn command(&self, what: &str) -> Command {
        let mut command = self.host.command(&self.engine.join("venv/bin/python3"));
        command
            .args(["-m", "pip", what, "--no-input", "--disable-pip-version-check", "--no-color"])
            .env("PYTHONUNBUFFERED", "1");
        // Settings that would put the packages somewhere else, or find other ones. Where packages come from
        // (PIP_INDEX_URL, proxies, certificates) stays the reader's choice.
        for variable in
            ["PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_PREFIX", "PIP_USER", "PIP_REQUIRE_HASHES"]
        {
            command.env_remove(variable);
        }
        command
    }
}

/// The wheel of `package` in `dir`.
fn wheel_in(package: &Package, dir: &Path) -> Option<PathBuf> {
    let start = format!("{}-", package.file_stem());
    fs::read_dir(dir).ok()?.flatten().map(|entry| entry.path()).find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // A build of one's own index may carry a suffix: torch-2.11.0+cpu-….
        (name.starts_with(&start) || name.starts_with(&format!("{}+", package.file_stem())))
            && name.ends_with(".whl")
    })
}

/// Runs pip or Python; `fault` turns what it said last into an error.
fn run(
    command: &mut Command,
    cancel: &Cancel,
    on_line: &mut dyn FnMut(&str),
    fault: impl Fn(String) -> Fault,
) -> Result<(), Interrupted> {
    match process::run(command, cancel, &mut |_, line| on_line(line)) {
        Ok(Ended::Done) => Ok(()),
        Ok(Ended::Cancelled | Ended::TimedOut) => Err(Interrupted::Cancelled),
        Ok(Ended::Failed { status, tail }) => {
            // pip says what matters in lines that begin so; they are often not the last.
            let mut errors: Vec<_> = tail.iter().filter(|line| line.starts_with("ERROR:")).collect();
            if errors.is_empty() {
                errors.extend(tail.last());
            }
            let said = errors.iter().map(|line| line.as_str()).collect::<Vec<_>>().join(" ");
            Err(fault(format!("{} ({})", said, process::describe(status))).into())
        }
        Err(error) => Err(fault(error.to_string()).into()),
    }
}

/// The first number of `Progress 262144 of 214085489`.
fn raw_progress(line: &str) -> Option<u64> {
    let mut words = line.split_whitespace();
    (words.next() == Some("Progress")).then(|| words.next()?.parse().ok())?
}

fn remove_if_there(path: &Path) -> std::io::Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn disk_fault(path: &Path, error: &std::io::Error) -> Fault {
    Fault::new(
        format!("cannot write {}", path.display()),
        error.to_string(),
        "Free space or fix the permissions, then install again.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_progress_lines_are_progress() {
        assert_eq!(raw_progress("Progress 262144 of 214085489"), Some(262_144));
        assert_eq!(raw_progress("Progress x of y"), None);
        assert_eq!(raw_progress("Saved ./torch-2.11.0.whl"), None);
    }

    #[test]
    fn another_version_of_libtorch_is_noticed() {
        let dir = tempfile::tempdir().expect("a directory");
        let packages = dir.path().join("lib/python3.12/site-packages");
        fs::create_dir_all(packages.join("torch-2.11.0.dist-info")).expect("created");
        assert!(!holds_another_libtorch(dir.path()));
        fs::create_dir_all(packages.join("torch-2.11.0+cpu.dist-info")).expect("created");
        assert!(!holds_another_libtorch(dir.path()));
        fs::create_dir_all(packages.join("torch-2.13.0.dist-info")).expect("created");
        assert!(holds_another_libtorch(dir.path()));
    }
}
