//! Whether there is an engine, and where.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::{LibTorch, Set, packages::packages, pip, record::Record, sources};
use crate::paths::Paths;

/// Environment variable that names a worker to use instead of the installed one.
pub const WORKER_VARIABLE: &str = "INFRALAB_WORKER";
/// Environment variable that names a LibTorch to use instead of the installed one.
pub const LIBTORCH_VARIABLE: &str = "INFRALAB_LIBTORCH";

/// Finds the engine.
pub struct Engine;

/// What there is of the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum EngineState {
    /// No usable LibTorch.
    Absent {
        /// Why, for people.
        why: String,
    },
    /// LibTorch is there, but no worker that fits this program.
    NoWorker {
        /// The LibTorch.
        libtorch: LibTorch,
        /// How much of it there is.
        set: Set,
        /// Why, for people.
        why: String,
    },
    /// Labs can run.
    Ready(Ready),
}

/// An engine that can run labs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ready {
    /// The LibTorch; `None` where [`WORKER_VARIABLE`] names a worker that brings its own.
    pub libtorch: Option<LibTorch>,
    /// How much of LibTorch there is.
    pub set: Set,
    /// Directories for the loader's search path.
    pub library_path: Vec<PathBuf>,
    /// The worker.
    pub worker: PathBuf,
}

impl EngineState {
    /// The engine, when labs can run.
    pub fn ready(&self) -> Option<&Ready> {
        match self {
            Self::Ready(ready) => Some(ready),
            Self::Absent { .. } | Self::NoWorker { .. } => None,
        }
    }
}

impl std::fmt::Display for EngineState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Absent { why } => write!(f, "no LibTorch: {why}; `infralab engine install` gets it"),
            Self::NoWorker { why, .. } => write!(f, "no worker: {why}; `infralab engine install` builds it"),
            Self::Ready(Ready { libtorch: Some(libtorch), set, .. }) => {
                write!(f, "LibTorch {} ({set})", libtorch.version)
            }
            Self::Ready(ready) => write!(f, "worker {}", ready.worker.display()),
        }
    }
}

/// What the environment says. An empty variable counts as unset.
#[derive(Debug, Clone, Default)]
pub(super) struct Overrides {
    pub(super) worker: Option<PathBuf>,
    pub(super) libtorch: Option<PathBuf>,
}

impl Overrides {
    pub(super) fn from_environment() -> Self {
        let path =
            |name| std::env::var_os(name).filter(|value: &OsString| !value.is_empty()).map(PathBuf::from);
        Self { worker: path(WORKER_VARIABLE), libtorch: path(LIBTORCH_VARIABLE) }
    }
}

impl Engine {
    /// What there is: by the environment ([`WORKER_VARIABLE`], [`LIBTORCH_VARIABLE`]), else by the record of the last
    /// installation. Reads files only; starts nothing.
    pub fn locate(paths: &Paths) -> EngineState {
        locate(paths, &Overrides::from_environment())
    }
}

pub(super) fn locate(paths: &Paths, overrides: &Overrides) -> EngineState {
    let engine = paths.engine();
    let record = match Record::read(&engine) {
        Ok(record) => record,
        Err(fault) if overrides.worker.is_none() => return EngineState::Absent { why: fault.to_string() },
        Err(_) => None,
    };
    let libtorch = find_libtorch(&engine, record.as_ref(), overrides);

    if let Some(worker) = &overrides.worker {
        if !is_executable(worker) {
            let why =
                format!("{WORKER_VARIABLE} names {}, which is not an executable file", worker.display());
            return EngineState::Absent { why };
        }
        let (libtorch, set) = match libtorch {
            Ok((libtorch, set)) => (Some(libtorch), set),
            // A wrong directory that was asked for is worth a word; having none is fine for a worker of one's own.
            Err(why) if overrides.libtorch.is_some() => return EngineState::Absent { why },
            Err(_) => (None, Set::External),
        };
        return ready(libtorch, set, worker.clone());
    }

    let (libtorch, set) = match libtorch {
        Ok(found) => found,
        Err(why) => return EngineState::Absent { why },
    };
    match usable_worker(record.as_ref(), &libtorch) {
        Ok(worker) => ready(Some(libtorch), set, worker),
        Err(why) => EngineState::NoWorker { libtorch, set, why },
    }
}

fn ready(libtorch: Option<LibTorch>, set: Set, worker: PathBuf) -> EngineState {
    let library_path = libtorch.as_ref().map(LibTorch::library_dirs).unwrap_or_default();
    EngineState::Ready(Ready { libtorch, set, library_path, worker })
}

fn find_libtorch(
    engine: &Path,
    record: Option<&Record>,
    overrides: &Overrides,
) -> Result<(LibTorch, Set), String> {
    if let Some(dir) = &overrides.libtorch {
        return LibTorch::at(dir)
            .map(|libtorch| (libtorch, Set::External))
            .map_err(|fault| format!("{LIBTORCH_VARIABLE}: {}: {}", fault.what, fault.why));
    }
    let Some(record) = record else {
        let why = if engine.join("venv").exists() {
            "an installation was begun and not finished"
        } else {
            "LibTorch is not installed"
        };
        return Err(why.into());
    };
    let found = LibTorch::at(&record.libtorch).map_err(|fault| format!("{}: {}", fault.what, fault.why))?;
    if record.set != Set::External && !is_complete(engine, record.set) {
        return Err(format!("the {} set of LibTorch's packages is incomplete", record.set));
    }
    Ok((found, record.set))
}

/// Whether every package of `set` is unpacked.
pub(super) fn is_complete(engine: &Path, set: Set) -> bool {
    packages(set).is_ok_and(|packages| packages.iter().all(|package| pip::is_installed(engine, package)))
}

/// The recorded worker, when it is there and fits this program and this LibTorch.
pub(super) fn usable_worker(record: Option<&Record>, libtorch: &LibTorch) -> Result<PathBuf, String> {
    let built = record.and_then(|record| record.worker.as_ref()).ok_or("the worker has not been built")?;
    if !is_executable(&built.path) {
        return Err(format!("the worker {} is gone", built.path.display()));
    }
    if built.sources != sources::fingerprint() || built.infralab != env!("CARGO_PKG_VERSION") {
        return Err(format!(
            "the worker was built from other sources (by infralab {} at {})",
            built.infralab,
            built.date.strftime("%Y-%m-%d %H:%M UTC")
        ));
    }
    if built.libtorch != libtorch.dir {
        return Err(format!("the worker was built against another LibTorch, {}", built.libtorch.display()));
    }
    Ok(built.path.clone())
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::engine::fake::{Home, write_executable, write_libtorch};

    #[test]
    fn from_nothing_to_ready() {
        let home = Home::new();
        let none = Overrides::default();
        let state = locate(&home.paths, &none);
        assert_eq!(state, EngineState::Absent { why: "LibTorch is not installed".into() });

        let torch = home.external_libtorch("2.11.0+cpu");
        home.record(&torch, None);
        let EngineState::NoWorker { why, .. } = locate(&home.paths, &none) else { panic!("no worker yet") };
        assert_eq!(why, "the worker has not been built");

        let worker = home.paths.engine().join("infralab-worker");
        write_executable(&worker, "exit 0");
        home.record(&torch, Some(&worker));
        let state = locate(&home.paths, &none);
        let ready = state.ready().expect("everything is there");
        assert_eq!(ready.worker, worker);
        assert_eq!(ready.library_path, [torch.join("lib")]);
    }

    #[test]
    fn what_no_longer_fits_is_named() {
        let home = Home::new();
        let torch = home.external_libtorch("2.11.0");
        let worker = home.paths.engine().join("infralab-worker");
        write_executable(&worker, "exit 0");
        let mut record = home.record(&torch, Some(&worker));
        let mut why = |change: &dyn Fn(&mut super::super::record::Built)| {
            let original = record.worker.clone();
            change(record.worker.as_mut().expect("built"));
            record.write(&home.paths.engine()).expect("written");
            record.worker = original;
            match locate(&home.paths, &Overrides::default()) {
                EngineState::NoWorker { why, .. } => why,
                other => panic!("{other:?}"),
            }
        };
        assert!(why(&|built| built.sources = "fnv1a:0".into()).contains("other sources"));
        assert!(why(&|built| built.infralab = "0.0.1".into()).contains("infralab 0.0.1"));
        assert!(why(&|built| built.libtorch = "/elsewhere".into()).contains("/elsewhere"));
        assert!(why(&|built| built.path = "/gone".into()).contains("is gone"));
        fs::remove_dir_all(&torch).expect("removed");
        let EngineState::Absent { why } = locate(&home.paths, &Overrides::default()) else { panic!("gone") };
        assert!(why.contains("does not exist"), "{why}");
    }

    #[test]
    fn the_environment_wins() {
        let home = Home::new();
        let worker = home.dir.path().join("worker");
        let named = Overrides { worker: Some(worker.clone()), libtorch: None };
        let EngineState::Absent { why } = locate(&home.paths, &named) else { panic!("no such file") };
        assert!(why.contains(WORKER_VARIABLE), "{why}");
        write_executable(&worker, "exit 0");
        let state = locate(&home.paths, &named);
        let ready = state.ready().expect("a worker of one's own");
        assert_eq!((&ready.libtorch, &ready.library_path), (&None, &vec![]));

        let torch = home.dir.path().join("torch");
        let both = Overrides { libtorch: Some(torch.clone()), ..named };
        let EngineState::Absent { why } = locate(&home.paths, &both) else { panic!("no such LibTorch") };
        assert!(why.contains(LIBTORCH_VARIABLE), "{why}");
        write_libtorch(&torch, "2.11.0");
        let state = locate(&home.paths, &both);
        assert_eq!(state.ready().expect("both are there").library_path, [torch.join("lib")]);
    }

    #[test]
    fn an_unreadable_record_is_no_panic() {
        let home = Home::new();
        fs::create_dir_all(home.paths.engine()).expect("created");
        fs::write(Record::file(&home.paths.engine()), "][").expect("written");
        let EngineState::Absent { why } = locate(&home.paths, &Overrides::default()) else {
            panic!("unreadable")
        };
        assert!(why.contains("engine.toml"), "{why}");
    }
}
