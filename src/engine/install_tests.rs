use std::fs;

use super::*;
use crate::engine::{
    Devices, DriverVerdict, Options,
    driver::tests as drivers,
    fake::{Bin, Home},
    locate::{Overrides, locate},
    plan,
};

fn run(bin: &Bin, home: &Home, options: &Options) -> (Result<Installed, Interrupted>, Vec<Progress>) {
    run_on(&bin.host(), home, options, &Cancel::default())
}

fn run_on(
    host: &Host,
    home: &Home,
    options: &Options,
    cancel: &Cancel,
) -> (Result<Installed, Interrupted>, Vec<Progress>) {
    let mut seen = Vec::new();
    let result = plan(&home.paths, options, host)
        .map_err(Interrupted::from)
        .and_then(|plan| install(&home.paths, &plan, host, cancel, &mut |progress| seen.push(progress)));
    (result, seen)
}

#[test]
fn the_steps_come_in_order_and_end_in_a_hello() {
    let (bin, home) = (Bin::with_tools(), Home::new());
    let (result, seen) = run(&bin, &home, &Options::default());
    let installed = result.expect("installed");
    assert_eq!(installed.hello.libtorch, "2.11.0");
    let torch = home.paths.engine().join("venv/lib/python3.12/site-packages/torch");
    assert_eq!(
        bin.take_log(),
        [
            "venv",
            "download torch==2.11.0",
            "install torch-2.11.0",
            "download nvidia-cuda-runtime==13.0.96",
            "install nvidia_cuda_runtime-13.0.96",
            "download nvidia-cuda-cupti==13.0.85",
            "install nvidia_cuda_cupti-13.0.85",
            &format!("cargo build with {} checked", torch.display()),
        ]
    );
    let steps: Vec<_> = seen
        .iter()
        .filter_map(|progress| match progress {
            Progress::Finished { step, .. } => Some(*step),
            _ => None,
        })
        .collect();
    assert_eq!(steps, [Step::Environment, Step::Packages, Step::Build, Step::Verify]);
    assert!(seen.iter().any(|p| matches!(p, Progress::Build { done: 3, total: 10, now } if now == "tch")));
    let downloaded = seen.iter().rev().find_map(|p| match p {
        Progress::Download { done_bytes, total_bytes, .. } => Some((*done_bytes, *total_bytes)),
        _ => None,
    });
    let (done, total) = downloaded.expect("progress was reported");
    assert!(done > 500_000_000 && done <= total, "{done} of {total}");
    assert!(!home.paths.engine().join("wheels").exists(), "wheels are not kept");

    let state = locate(&home.paths, &Overrides::default());
    assert_eq!(state.ready(), Some(&installed.ready));
}

#[test]
fn a_finished_installation_is_only_verified() {
    let (bin, home) = (Bin::with_tools(), Home::new());
    run(&bin, &home, &Options::default()).0.expect("installed");
    bin.take_log();
    let (result, seen) = run(&bin, &home, &Options::default());
    result.expect("still installed");
    assert_eq!(bin.take_log(), [""; 0]);
    assert!(
        seen.contains(&Progress::Skipped(Step::Packages)) && seen.contains(&Progress::Skipped(Step::Build))
    );
}

#[test]
fn a_failed_download_goes_on_where_it_was() {
    let (bin, home) = (Bin::with_tools(), Home::new());
    bin.fail("nvidia-cuda-cupti==13.0.85", true);
    let Err(Interrupted::Fault(fault)) = run(&bin, &home, &Options::default()).0 else { panic!("it fails") };
    assert!(fault.what.contains("nvidia-cuda-cupti"), "{fault}");
    assert!(fault.why.starts_with("ERROR: nvidia-cuda-cupti==13.0.85 fails (exit code 1)"), "{fault}");
    assert!(fault.next.contains("PIP_INDEX_URL"), "{fault}");
    bin.take_log();
    bin.fail("nvidia-cuda-cupti==13.0.85", false);
    run(&bin, &home, &Options::default()).0.expect("installed");
    let log = bin.take_log();
    assert_eq!(log[..2], ["download nvidia-cuda-cupti==13.0.85", "install nvidia_cuda_cupti-13.0.85"]);
    assert!(log[2].starts_with("cargo build"), "{log:?}");
}

#[test]
fn a_wheel_that_does_not_unpack_is_fetched_again() {
    let (bin, home) = (Bin::with_tools(), Home::new());
    bin.fail("torch-2.11.0", true);
    run(&bin, &home, &Options::default()).0.expect_err("it does not unpack");
    bin.take_log();
    bin.fail("torch-2.11.0", false);
    run(&bin, &home, &Options::default()).0.expect("installed");
    assert_eq!(bin.take_log()[..2], ["download torch==2.11.0", "install torch-2.11.0"]);
}

#[test]
fn a_failed_build_keeps_libtorch() {
    let (bin, home) = (Bin::with_tools(), Home::new());
    bin.fail("cargo", true);
    let Err(Interrupted::Fault(fault)) = run(&bin, &home, &Options::default()).0 else { panic!("it fails") };
    assert!(fault.why.contains("error: linker not found"), "{fault}");
    assert!(matches!(
        locate(&home.paths, &Overrides::default()),
        crate::engine::EngineState::NoWorker { set: Set::Slim, .. }
    ));
    bin.take_log();
    bin.fail("cargo", false);
    run(&bin, &home, &Options::default()).0.expect("installed");
    assert_eq!(bin.take_log().len(), 1, "only cargo runs again");
}

#[test]
fn a_cancel_stops_between_the_lines_and_the_next_goes_on() {
    let (bin, home) = (Bin::with_tools(), Home::new());
    let (host, cancel) = (bin.host(), Cancel::default());
    let plan = plan(&home.paths, &Options::default(), &host).expect("a plan");
    let result = install(&home.paths, &plan, &host, &cancel, &mut |progress| {
        if matches!(progress, Progress::Unpack { .. }) {
            cancel.request();
        }
    });
    assert_eq!(result.expect_err("cancelled"), Interrupted::Cancelled);
    bin.take_log();
    run(&bin, &home, &Options::default()).0.expect("installed");
    assert_eq!(bin.take_log()[0], "install torch-2.11.0", "the wheel that was fetched is used");
}

#[test]
fn a_driver_that_comes_later_adds_its_libraries_and_keeps_the_worker() {
    let (bin, home) = (Bin::with_tools(), Home::new());
    run(&bin, &home, &Options::default()).0.expect("slim");
    bin.take_log();
    let driver = drivers::with("580.159.04", (9, 0));
    assert_eq!(driver.verdict(), DriverVerdict::Usable);
    let host = bin.host_with(driver);
    let (result, _) = run_on(&host, &home, &Options::default(), &Cancel::default());
    assert_eq!(result.expect("full").ready.set, Set::Full);
    let log = bin.take_log();
    assert_eq!(log.len(), 24, "twelve packages, no environment, no build: {log:?}");
    assert!(!log.iter().any(|line| line.contains("torch")), "{log:?}");
    // And a driver that is gone for a while does not throw them away.
    let (result, _) = run(&bin, &home, &Options::default());
    assert_eq!(result.expect("full").ready.set, Set::Full);
}

#[test]
fn an_old_driver_stops_before_anything_is_written() {
    let (bin, home) = (Bin::with_tools(), Home::new());
    let host = bin.host_with(drivers::with("535.104.05", (9, 0)));
    let (result, _) = run_on(&host, &home, &Options::default(), &Cancel::default());
    assert!(matches!(result, Err(Interrupted::Fault(_))));
    assert!(bin.take_log().is_empty() && !home.paths.data().exists());
    let cpu = Options { devices: Devices::Cpu, libtorch: None };
    run_on(&host, &home, &cpu, &Cancel::default()).0.expect("slim on request");
}

#[test]
fn an_environment_whose_python_is_gone_is_made_anew() {
    let (bin, home) = (Bin::with_tools(), Home::new());
    run(&bin, &home, &Options::default()).0.expect("installed");
    fs::remove_file(home.paths.engine().join("venv/bin/python3")).expect("removed");
    bin.take_log();
    run(&bin, &home, &Options::default()).0.expect("LibTorch needs no Python to run");
    assert!(bin.take_log().is_empty());
    let gpu = Options { devices: Devices::Gpu, libtorch: None };
    let planned = plan(&home.paths, &gpu, &bin.host()).expect("a plan");
    assert_eq!(planned.packages.len(), 15, "all of them again");
    run(&bin, &home, &gpu).0.expect("installed");
    assert_eq!(bin.take_log()[0], "venv");
}

#[test]
fn only_one_installation_at_a_time() {
    let (bin, home) = (Bin::with_tools(), Home::new());
    fs::create_dir_all(home.paths.engine()).expect("created");
    let _held = lock(&home.paths.engine()).expect("free");
    let Err(Interrupted::Fault(fault)) = run(&bin, &home, &Options::default()).0 else {
        panic!("it is held")
    };
    assert!(fault.why.contains("another infralab"), "{fault}");
}
