//! Builds the worker with cargo and puts it beside LibTorch.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    Cancel, Fault, Host, Interrupted, LibTorch, Progress, Sources,
    plan::BuildPlan,
    process::{self, Ended, Pipe},
};

/// Variables that would make the bindings look for another LibTorch, or not look at its version.
const FOREIGN: [&str; 8] = [
    "LIBTORCH_USE_PYTORCH",
    "LIBTORCH_BYPASS_VERSION_CHECK",
    "LIBTORCH_INCLUDE",
    "LIBTORCH_LIB",
    "LIBTORCH_STATIC",
    "LIBTORCH_CXX11_ABI",
    "TORCH_CUDA_VERSION",
    "CARGO_TARGET_DIR",
];

/// Builds the worker of `plan` against `libtorch` and copies it to the engine's directory.
pub(super) fn build(
    host: &Host,
    engine: &Path,
    plan: &BuildPlan,
    libtorch: &LibTorch,
    cancel: &Cancel,
    on: &mut dyn FnMut(Progress),
) -> Result<PathBuf, Interrupted> {
    plan.sources.write()?;
    let mut executable = None;
    let mut command = command(host, engine, plan, libtorch);
    let ended = process::run(&mut command, cancel, &mut |pipe, line| match pipe {
        Pipe::Out => executable = worker_of(line).or(executable.take()),
        Pipe::Err => match progress_of(line) {
            Some(progress) => on(progress),
            None => on(Progress::Line(line.to_owned())),
        },
    });
    let not_built = |why: String| {
        Fault::new(
            "the worker was not built",
            why,
            "Fix what is named above and install again; LibTorch and what is compiled are kept.",
        )
    };
    match ended {
        Ok(Ended::Done) => {}
        Ok(Ended::Cancelled | Ended::TimedOut) => return Err(Interrupted::Cancelled),
        Ok(Ended::Failed { status, tail }) => {
            let lines: Vec<_> =
                tail.iter().filter(|line| line.starts_with("error")).map(String::as_str).collect();
            let said = if lines.is_empty() { "cargo did not say why".into() } else { lines.join(" ") };
            return Err(not_built(format!("{said} ({})", process::describe(status))).into());
        }
        Err(error) => return Err(not_built(error.to_string()).into()),
    }
    let built = executable.ok_or_else(|| not_built("cargo named no executable".into()))?;
    put(&built, &engine.join("infralab-worker"))
        .map_err(|error| not_built(format!("copying it from {} failed: {error}", built.display())).into())
}

fn command(host: &Host, engine: &Path, plan: &BuildPlan, libtorch: &LibTorch) -> Command {
    let mut command = host.command(&plan.cargo.path);
    command
        .args([
            "build",
            "--release",
            "--package",
            "infralab-labs",
            "--bin",
            "infralab-worker",
            "--features",
            "torch",
        ])
        .args(["--message-format", "json-render-diagnostics", "--target-dir"])
        .arg(plan.sources.target(engine))
        .current_dir(plan.sources.root());
    if matches!(plan.sources, Sources::Checkout { .. }) {
        // A checkout's lock file is its owner's; building must not touch it.
        command.arg("--locked");
    }
    for variable in FOREIGN {
        command.env_remove(variable);
    }
    command
        .env("LIBTORCH", &libtorch.dir)
        // Cargo hides its progress when nobody seems to look. The width keeps names from being cut.
        .env("CARGO_TERM_PROGRESS_WHEN", "always")
        .env("CARGO_TERM_PROGRESS_WIDTH", "200")
        .env("CARGO_TERM_COLOR", "never");
    command
}

/// The worker's path, when `line` is cargo's message about it.
fn worker_of(line: &str) -> Option<PathBuf> {
    let message: serde_json::Value = serde_json::from_str(line).ok()?;
    let is_worker =
        message["reason"] == "compiler-artifact" && message["target"]["name"] == "infralab-worker";
    is_worker.then(|| message["executable"].as_str().map(PathBuf::from))?
}

/// `    Building [=====>        ] 45/120: tch, torch-sys(build)` as progress.
fn progress_of(line: &str) -> Option<Progress> {
    let rest = line.trim_start().strip_prefix("Building [")?;
    let (_, rest) = rest.split_once("] ")?;
    let (count, now) = rest.split_once(':').unwrap_or((rest, ""));
    let (done, total) = count.split_once('/')?;
    Some(Progress::Build {
        done: done.trim().parse().ok()?,
        total: total.trim().parse().ok()?,
        now: now.trim().to_owned(),
    })
}

/// Copies, then renames: a worker that runs keeps its file, and none is ever half there.
fn put(from: &Path, to: &Path) -> std::io::Result<PathBuf> {
    let new = to.with_extension("new");
    fs::copy(from, &new)?;
    fs::rename(&new, to)?;
    Ok(to.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_is_understood() {
        let line = "    Building [=========>                ] 45/120: tch, torch-sys(build)";
        let now = "tch, torch-sys(build)".to_owned();
        assert_eq!(progress_of(line), Some(Progress::Build { done: 45, total: 120, now }));
        assert_eq!(progress_of("   Compiling tch v0.24.0"), None);
        assert_eq!(progress_of("Building [===> ] soon"), None);

        let message = |name: &str, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","target":{{"name":"{name}"}},"executable":{executable}}}"#
            )
        };
        assert_eq!(worker_of(&message("infralab-worker", "\"/t/w\"")), Some("/t/w".into()));
        assert_eq!(worker_of(&message("infralab-worker", "null")), None);
        assert_eq!(worker_of(&message("build-script-build", "\"/t/b\"")), None);
        assert_eq!(worker_of("not JSON"), None);
    }
}
