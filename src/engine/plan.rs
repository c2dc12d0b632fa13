//! What an installation would do, decided before anything is downloaded: which packages, how large, where to, what
//! builds the worker. Everything that can be known to fail fails here.

use std::{
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::LIBTORCH_VERSION;
use super::{
    DriverVerdict, Fault, Host, LibTorch, MINIMUM_DRIVER, Package, Set, Sources, Tool,
    locate::{is_complete, usable_worker},
    packages::packages,
    pip,
    record::Record,
};
use crate::paths::{Paths, nearest_existing};
use crate::units::{binary_bytes, decimal_bytes};

/// Room that a release build of the worker takes, bytes; measured 0.33 GB, and compilers write temporary files.
const BUILD_BYTES: u64 = 500_000_000;

/// Which devices the labs are to run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Devices {
    /// On GPUs where a driver answers, else on the CPU.
    #[default]
    Auto,
    /// On the CPU, even where a GPU answers.
    Cpu,
    /// On GPUs, even where none answers: for an image or a shared home that a GPU host will use.
    Gpu,
}

/// What was asked for.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Use the LibTorch in this directory instead of downloading one.
    pub libtorch: Option<PathBuf>,
    /// Which devices.
    pub devices: Devices,
}

/// What an installation will do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// How much of LibTorch.
    pub set: Set,
    /// Why this much, for people.
    pub why: String,
    /// A LibTorch that is there and will be used; `None` when wheels are.
    pub libtorch: Option<LibTorch>,
    /// Packages that are not installed yet, in order.
    pub packages: Vec<Package>,
    /// The Python that makes the environment; `None` when no package is missing.
    pub python: Option<Tool>,
    /// How the worker is built; `None` when the present one fits.
    pub build: Option<BuildPlan>,
    /// The directory that everything goes to.
    pub destination: PathBuf,
}

/// How the worker will be built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BuildPlan {
    /// From what.
    pub sources: Sources,
    /// With which cargo.
    pub cargo: Tool,
    /// With which C++ compiler.
    pub cxx: Tool,
}

impl Plan {
    /// Bytes to download.
    pub fn download_bytes(&self) -> u64 {
        self.packages.iter().map(|package| package.download_bytes).sum()
    }

    /// Bytes that the packages take once installed.
    pub fn installed_bytes(&self) -> u64 {
        self.packages.iter().map(|package| package.installed_bytes).sum()
    }

    /// Bytes that must be free while it runs: the packages, the largest wheel beside them, and the build.
    pub fn needed_bytes(&self) -> u64 {
        self.package_bytes() + self.build_bytes()
    }

    /// Whether everything is there and only the verification is left.
    pub fn is_empty(&self) -> bool {
        self.packages.is_empty() && self.build.is_none()
    }

    /// Bytes that are free at the destination, where the file system tells.
    pub fn free_bytes(&self) -> Option<u64> {
        free_bytes(&self.destination)
    }

    /// What will happen, for people, a line each.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![match &self.libtorch {
            Some(libtorch) => format!(
                "LibTorch {} in {}: used as it is, nothing to download.",
                libtorch.version,
                libtorch.dir.display()
            ),
            None => format!("LibTorch {LIBTORCH_VERSION}, {} set: {}.", self.set, self.why),
        }];
        if !self.packages.is_empty() {
            for package in &self.packages {
                lines.push(format!(
                    "  {:<32} {:>9}",
                    package.requirement(),
                    decimal_bytes(package.download_bytes as f64)
                ));
            }
            let free = self
                .free_bytes()
                .map_or(String::new(), |free| format!(", {} are free", binary_bytes(free as f64)));
            lines.push(format!(
                "Downloads {}; takes {} on disk, {} while it installs{free}.",
                decimal_bytes(self.download_bytes() as f64),
                binary_bytes(self.installed_bytes() as f64),
                binary_bytes(self.needed_bytes() as f64)
            ));
        }
        if let Some(build) = &self.build {
            let from = match &build.sources {
                Sources::Checkout { root } => format!("the checkout {}", root.display()),
                Sources::Embedded { .. } => "the sources in this program".into(),
            };
            lines.push(format!(
                "Builds the worker from {from} with {}; the first time takes minutes.",
                build.cargo.version
            ));
        }
        if self.is_empty() {
            lines.push("Everything is installed; asking the worker.".into());
        } else {
            lines.push(format!("Everything goes to {}.", self.destination.display()));
        }
        lines
    }

    fn package_bytes(&self) -> u64 {
        let largest = self.packages.iter().map(|package| package.download_bytes).max().unwrap_or(0);
        self.installed_bytes() + largest
    }

    fn build_bytes(&self) -> u64 {
        if self.build.is_some() { BUILD_BYTES } else { 0 }
    }
}

/// Decides what to install. Downloads and writes nothing.
pub fn plan(paths: &Paths, options: &Options, host: &Host) -> Result<Plan, Fault> {
    let engine = paths.engine();
    // A record that cannot be read is replaced by the installation.
    let record = Record::read(&engine).ok().flatten();
    let (external, set, why) = choose(options, host, record.as_ref(), &engine)?;

    let mut missing = match external {
        Some(_) => Vec::new(),
        None => packages(set)?,
    };
    // To add to an environment that must be made anew, everything is needed again; as it is, it may still do.
    let complete = missing.iter().all(|package| pip::is_installed(&engine, package));
    if complete || !pip::must_be_remade(&engine) {
        missing.retain(|package| !pip::is_installed(&engine, package));
    }
    let python = if missing.is_empty() { None } else { Some(host.python()?) };

    let present = match &external {
        Some(libtorch) => Some(libtorch.clone()),
        None if missing.iter().any(|package| package.name == "torch") => None,
        None => pip::libtorch_dir(&engine).and_then(|dir| LibTorch::at(&dir).ok()),
    };
    let fits = present.is_some_and(|libtorch| usable_worker(record.as_ref(), &libtorch).is_ok());
    let build = if fits {
        None
    } else {
        Some(BuildPlan { sources: Sources::choose(&engine), cargo: host.cargo()?, cxx: host.cxx()? })
    };

    let plan = Plan { set, why, libtorch: external, packages: missing, python, build, destination: engine };
    check_room(&plan)?;
    Ok(plan)
}

type Choice = (Option<LibTorch>, Set, String);

fn choose(options: &Options, host: &Host, record: Option<&Record>, engine: &Path) -> Result<Choice, Fault> {
    if let Some(dir) = &options.libtorch {
        let libtorch = LibTorch::at(dir)?;
        let why = format!("LibTorch {} is in {}", libtorch.version, libtorch.dir.display());
        return Ok((Some(libtorch), Set::External, why));
    }
    match options.devices {
        Devices::Cpu => Ok((None, Set::Slim, "asked for without GPU libraries".into())),
        Devices::Gpu => Ok((None, Set::Full, "asked for with GPU libraries".into())),
        Devices::Auto => {
            // What was chosen once stays chosen while it works.
            if let Some(record) = record.filter(|record| record.set == Set::External)
                && let Ok(libtorch) = LibTorch::at(&record.libtorch)
            {
                let why =
                    format!("LibTorch {} in {} was chosen before", libtorch.version, libtorch.dir.display());
                return Ok((Some(libtorch), Set::External, why));
            }
            let (set, why) = by_driver(host)?;
            if set == Set::Slim
                && record.is_some_and(|r| r.set == Set::Full)
                && is_complete(engine, Set::Full)
            {
                return Ok((None, Set::Full, "the full set is installed already".into()));
            }
            Ok((None, set, why))
        }
    }
}

fn by_driver(host: &Host) -> Result<(Set, String), Fault> {
    match host.driver().verdict() {
        DriverVerdict::Usable => {
            let version = host.driver().version.as_deref().unwrap_or("of unknown version");
            Ok((Set::Full, format!("the NVIDIA driver {version} answers")))
        }
        DriverVerdict::Absent { because } => Ok((Set::Slim, format!("no GPU to use: {because}"))),
        DriverVerdict::NoSupportedGpu { gpus } => {
            Ok((Set::Slim, format!("CUDA 13 supports compute capability 7.5 and newer, and found {gpus}")))
        }
        DriverVerdict::TooOld { version } => Err(Fault::new(
            "the NVIDIA driver is too old for this LibTorch",
            format!(
                "it is {version}; LibTorch is built with CUDA 13.0, which needs {MINIMUM_DRIVER} or newer"
            ),
            "Update the driver, or run `infralab engine install --cpu` to run the labs on the CPU.",
        )),
    }
}

fn check_room(plan: &Plan) -> Result<(), Fault> {
    let mut needs = vec![(plan.destination.clone(), plan.package_bytes())];
    if let Some(build) = &plan.build {
        let target = build.sources.target(&plan.destination);
        if device(&target) == device(&plan.destination) {
            needs[0].1 += plan.build_bytes();
        } else {
            needs.push((target, plan.build_bytes()));
        }
    }
    for (path, needed) in needs {
        // A file system that does not tell is given the benefit of the doubt.
        if let Some(free) = free_bytes(&path)
            && free < needed
        {
            return Err(Fault::new(
                format!("not enough room in {}", nearest_existing(&path).display()),
                format!("the engine needs {:.1} GiB and {:.1} GiB are free", gib(needed), gib(free)),
                "Free some, or choose another disk with --data DIR or INFRALAB_DATA.",
            ));
        }
    }
    Ok(())
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 30)
}

/// Bytes that this user may still write where `path` is or will be.
fn free_bytes(path: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(nearest_existing(path)).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

fn device(path: &Path) -> Option<u64> {
    nearest_existing(path).metadata().ok().map(|metadata| metadata.dev())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{
        Driver, driver,
        fake::{Bin, Home, write_executable},
    };

    fn no_driver() -> Driver {
        Driver { absent_because: Some("no libnvidia-ml.so.1".into()), ..Driver::default() }
    }

    fn plan_with(driver: Driver, options: &Options) -> Result<Plan, Fault> {
        let bin = Bin::with_tools();
        plan(&Home::new().paths, options, &bin.host_with(driver))
    }

    #[test]
    fn the_driver_decides_how_much() {
        let auto = Options::default();
        let slim = plan_with(no_driver(), &auto).expect("a plan");
        assert_eq!(slim.set, Set::Slim);
        assert!(slim.why.contains("no libnvidia-ml.so.1"), "{}", slim.why);
        let full = plan_with(driver::tests::with("580.159.04", (9, 0)), &auto).expect("a plan");
        assert_eq!(full.set, Set::Full);
        assert!(full.download_bytes() > 4 * slim.download_bytes());
        let volta = plan_with(driver::tests::with("580.159.04", (7, 0)), &auto).expect("a plan");
        assert_eq!(volta.set, Set::Slim);
        assert!(volta.why.contains("7.0"), "{}", volta.why);
    }

    #[test]
    fn an_old_driver_is_refused_with_advice_and_can_be_overruled() {
        let old = || driver::tests::with("550.54.15", (9, 0));
        let fault = plan_with(old(), &Options::default()).expect_err("CUDA 13 needs 580");
        assert!(fault.why.contains("550.54.15") && fault.why.contains(MINIMUM_DRIVER), "{fault}");
        assert!(fault.next.contains("--cpu"), "{fault}");
        for (devices, set) in [(Devices::Cpu, Set::Slim), (Devices::Gpu, Set::Full)] {
            let options = Options { devices, libtorch: None };
            assert_eq!(plan_with(old(), &options).expect("as asked").set, set);
        }
    }

    #[test]
    fn a_missing_tool_is_found_before_the_download() {
        let home = Home::new();
        for missing in ["python3", "cargo", "c++"] {
            let bin = Bin::with_tools();
            std::fs::remove_file(bin.path(missing)).expect("it was there");
            plan(&home.paths, &Options::default(), &bin.host_with(no_driver())).expect_err(missing);
        }
        assert!(!home.paths.engine().exists(), "planning writes nothing");
    }

    #[test]
    fn an_external_libtorch_needs_no_python_and_is_remembered() {
        let home = Home::new();
        let bin = Bin::with_tools();
        std::fs::remove_file(bin.path("python3")).expect("it was there");
        let host = bin.host_with(no_driver());
        let dir = home.external_libtorch("2.11.0+cpu");
        let options = Options { libtorch: Some(dir.clone()), ..Options::default() };
        let first = plan(&home.paths, &options, &host).expect("a plan");
        assert_eq!((first.set, first.packages.len(), first.python.is_none()), (Set::External, 0, true));
        assert!(first.build.is_some());

        let worker = home.paths.engine().join("infralab-worker");
        write_executable(&worker, "exit 0");
        home.record(&dir, Some(&worker));
        let again = plan(&home.paths, &Options::default(), &host).expect("a plan");
        assert_eq!(again.libtorch.as_ref().map(|found| &found.dir), Some(&dir));
        assert!(again.is_empty());
    }

    #[test]
    fn too_little_room_is_said_in_numbers() {
        let mut plan = plan_with(no_driver(), &Options::default()).expect("a plan");
        assert!(plan.needed_bytes() > plan.installed_bytes() + plan.packages[0].download_bytes);
        plan.packages[0].installed_bytes = u64::MAX / 4;
        let fault = check_room(&plan).expect_err("no disk has that");
        assert!(fault.why.contains("GiB are free") && fault.next.contains("--data"), "{fault}");
    }
}
