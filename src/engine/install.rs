//! Carries a [`Plan`] out. Every step leaves its result on disk before the next begins, so that after a failure or a
//! Ctrl-C the next installation does only what is missing.

use std::{
    fs::{File, TryLockError},
    path::Path,
    time::Instant,
};

use infralab_labs::protocol::{DeviceChoice, Hello};

use super::{
    Cancel, Fault, Host, Interrupted, LibTorch, Package, Plan, Progress, Ready, Set, Step, build,
    packages::packages,
    pip::{self, Pip},
    progress::{Rate, time_left},
    record::{Built, Record},
    sources, worker,
};
use crate::paths::Paths;

/// An engine that has answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Installed {
    /// The engine.
    pub ready: Ready,
    /// What the worker said.
    pub hello: Hello,
}

/// Does what `plan` says, then asks the worker who it is.
pub fn install(
    paths: &Paths,
    plan: &Plan,
    host: &Host,
    cancel: &Cancel,
    on: &mut dyn FnMut(Progress),
) -> Result<Installed, Interrupted> {
    let engine = paths.engine();
    paths.ensure(&engine).map_err(|error| {
        Fault::new("the engine has no place", error.to_string(), "Nothing was downloaded.")
    })?;
    let _lock = lock(&engine)?;

    let libtorch = match &plan.libtorch {
        Some(libtorch) => libtorch.clone(),
        None => install_packages(host, &engine, plan, cancel, on)?,
    };
    let mut record = record_libtorch(&engine, &libtorch, plan.set)?;

    let path = match &plan.build {
        None => {
            on(Progress::Skipped(Step::Build));
            super::locate::usable_worker(Some(&record), &libtorch)
                .map_err(|why| Fault::new("the engine changed meanwhile", why, "Install again."))?
        }
        Some(plan) => {
            let path = timed(Step::Build, on, |on| build::build(host, &engine, plan, &libtorch, cancel, on))?;
            record.worker = Some(Built {
                path: path.clone(),
                sources: sources::fingerprint(),
                infralab: env!("CARGO_PKG_VERSION").into(),
                libtorch: libtorch.dir.clone(),
                date: jiff::Timestamp::now(),
            });
            record.write(&engine)?;
            path
        }
    };

    let library_path = libtorch.library_dirs();
    let ready = Ready { libtorch: Some(libtorch), set: plan.set, library_path, worker: path };
    let hello = timed(Step::Verify, on, |_| worker::hello(&ready, DeviceChoice::Auto, cancel))?;
    Ok(Installed { ready, hello })
}

/// Held while the engine's directory is changed; it ends with the value, and with the process.
#[derive(Debug)]
pub(super) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing is not enough: a process that is being started at this moment still has the file open.
        let _ = self.0.unlock();
    }
}

/// Only one at a time may change the engine's directory.
pub(super) fn lock(engine: &Path) -> Result<Lock, Fault> {
    let path = engine.join("lock");
    let fault = |why: String, next: &str| Fault::new("the engine's directory is not free", why, next);
    let file = File::create(&path).map_err(|error| {
        fault(format!("{}: {error}", path.display()), "Fix the permissions of the data directory.")
    })?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(fault(
            "another infralab is installing or removing the engine".into(),
            "Wait until it has finished.",
        )),
        // Some network file systems have no locks; that is no reason to refuse.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(Lock(file)),
    }
}

fn record_libtorch(engine: &Path, libtorch: &LibTorch, set: Set) -> Result<Record, Fault> {
    let mut record = Record::new(libtorch.dir.clone(), libtorch.version.clone(), set);
    // A worker stays usable when packages come beside its LibTorch; whether it does is checked where it matters.
    record.worker = Record::read(engine).ok().flatten().and_then(|before| before.worker);
    record.write(engine)?;
    Ok(record)
}

fn install_packages(
    host: &Host,
    engine: &Path,
    plan: &Plan,
    cancel: &Cancel,
    on: &mut dyn FnMut(Progress),
) -> Result<LibTorch, Interrupted> {
    if let Some(python) = &plan.python {
        on(Progress::Started(Step::Environment));
        let begun = Instant::now();
        let (pip, had_work) =
            Pip::ready(host, engine, python, cancel, &mut |line| on(Progress::Line(line.to_owned())))?;
        on(if had_work {
            Progress::Finished { step: Step::Environment, took: begun.elapsed() }
        } else {
            Progress::Skipped(Step::Environment)
        });
        // Of the whole set: an environment that did not start was made anew, and lost what the plan saw in it.
        let all = packages(plan.set)?;
        timed(Step::Packages, on, |on| install_each(&pip, engine, &all, cancel, on))?;
    } else {
        on(Progress::Skipped(Step::Packages));
    }
    let dir = pip::libtorch_dir(engine).unwrap_or_else(|| engine.join("venv"));
    Ok(LibTorch::at(&dir)?)
}

fn install_each(
    pip: &Pip<'_>,
    engine: &Path,
    packages: &[Package],
    cancel: &Cancel,
    on: &mut dyn FnMut(Progress),
) -> Result<(), Interrupted> {
    let total_bytes = packages.iter().map(|package| package.download_bytes).sum();
    let mut before = 0;
    for package in packages {
        if !pip::is_installed(engine, package) {
            // Each package starts its own rate: unpacking lies between them.
            let mut rate = Rate::default();
            let wheel = {
                // Both closures report; a cell lets them share the one reporter.
                let on = std::cell::RefCell::new(&mut *on);
                pip.fetch(
                    package,
                    cancel,
                    &mut |bytes| {
                        let done_bytes = (before + bytes).min(total_bytes);
                        let bytes_per_s = rate.at(Instant::now(), done_bytes);
                        let left = time_left(total_bytes - done_bytes, bytes_per_s);
                        let package = package.name.to_owned();
                        on.borrow_mut()(Progress::Download {
                            package,
                            done_bytes,
                            total_bytes,
                            bytes_per_s,
                            left,
                        });
                    },
                    &mut |line| on.borrow_mut()(Progress::Line(line.to_owned())),
                )?
            };
            on(Progress::Unpack { package: package.name.to_owned() });
            pip.unpack(package, &wheel, cancel, &mut |line| on(Progress::Line(line.to_owned())))?;
        }
        before += package.download_bytes;
    }
    pip.tidy()
}

fn timed<T>(
    step: Step,
    on: &mut dyn FnMut(Progress),
    work: impl FnOnce(&mut dyn FnMut(Progress)) -> Result<T, Interrupted>,
) -> Result<T, Interrupted> {
    on(Progress::Started(step));
    let begun = Instant::now();
    let result = work(on)?;
    on(Progress::Finished { step, took: begun.elapsed() });
    Ok(result)
}

#[cfg(test)]
#[path = "install_tests.rs"]
mod tests;
