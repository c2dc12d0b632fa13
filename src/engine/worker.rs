//! Starting the worker, and asking it who it is.

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
    process::Command,
    time::Duration,
};

use infralab_labs::protocol::{DeviceChoice, Event, Hello, PROTOCOL_VERSION};

use super::{
    Cancel, Fault, Interrupted, Ready,
    process::{self, Ended, Pipe},
};

/// The variable that the loader reads.
const LOADER_VARIABLE: &str = if cfg!(target_os = "macos") { "DYLD_LIBRARY_PATH" } else { "LD_LIBRARY_PATH" };

/// How long a worker may take to say hello. Loading LibTorch from a cold network file system is what takes long.
const HELLO_PATIENCE: Duration = Duration::from_mins(2);

/// The worker with the environment that it needs, ready for arguments and stdio.
pub fn worker_command(ready: &Ready) -> Command {
    let mut command = Command::new(&ready.worker);
    if !ready.library_path.is_empty() {
        command.env(
            LOADER_VARIABLE,
            loader_path(&ready.library_path, std::env::var_os(LOADER_VARIABLE).as_deref()),
        );
    }
    // NVML counts GPUs in this order; CUDA would put the fastest first.
    command.env("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    command
}

/// `dirs`, then what was there. Entries that no search path can hold (with a colon) are left out.
fn loader_path(dirs: &[PathBuf], inherited: Option<&OsStr>) -> OsString {
    let inherited: Vec<_> = inherited
        .into_iter()
        .flat_map(std::env::split_paths)
        // An empty entry means the current directory, which nobody wants to load libraries from.
        .filter(|dir| !dir.as_os_str().is_empty())
        .collect();
    let all = dirs.iter().chain(&inherited).filter(|dir| !dir.as_os_str().as_encoded_bytes().contains(&b':'));
    std::env::join_paths(all).unwrap_or_default()
}

/// Starts the worker for `device`, only to say who it is and what it runs on.
pub fn hello(ready: &Ready, device: DeviceChoice, cancel: &Cancel) -> Result<Hello, Interrupted> {
    let mut command = worker_command(ready);
    command.args(["--hello", "--device", &device.to_string()]);
    let not_verified = |why: String| {
        Interrupted::from(Fault::new(
            format!("the worker {} did not say hello", ready.worker.display()),
            why,
            "Run `infralab engine install` to build it again; `infralab doctor` shows what it needs.",
        ))
    };

    let mut said = None;
    let mut failure = None;
    let ended = process::run_within(&mut command, HELLO_PATIENCE, cancel, &mut |pipe, line| {
        // Libraries may print too; what is not an event is not for us.
        match serde_json::from_str(line) {
            Ok(Event::Hello(hello)) if pipe == Pipe::Out => said = Some(hello),
            Ok(Event::Failed(failed)) if pipe == Pipe::Out => failure = Some(failed),
            _ => {}
        }
    })
    .map_err(|error| not_verified(error.to_string()))?;

    match (said, failure, ended) {
        (_, _, Ended::Cancelled) => Err(Interrupted::Cancelled),
        (Some(hello), None, Ended::Done) => check(hello, ready),
        (_, Some(failed), _) => {
            Err(not_verified(format!("{}: {}. {}", failed.what, failed.why, failed.next)))
        }
        (_, _, Ended::TimedOut) => {
            Err(not_verified(format!("no answer within {} s", HELLO_PATIENCE.as_secs())))
        }
        (_, _, Ended::Failed { status, tail }) => {
            let last = tail.last().map_or(String::new(), |line| format!(", saying `{line}`"));
            Err(not_verified(format!("it ended with {}{last}", process::describe(status))))
        }
        (None, None, Ended::Done) => Err(not_verified("it ended without a word".into())),
    }
}

fn check(hello: Hello, ready: &Ready) -> Result<Hello, Interrupted> {
    if hello.protocol == PROTOCOL_VERSION {
        return Ok(hello);
    }
    Err(Fault::new(
        format!("the worker {} speaks another protocol", ready.worker.display()),
        format!(
            "it says version {} (worker {}); this infralab speaks {PROTOCOL_VERSION}",
            hello.protocol, hello.worker
        ),
        "Run `infralab engine install` to build the worker of this version.",
    )
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{
        Set,
        fake::{Bin, hello_line},
    };

    fn ready(bin: &Bin, script: &str) -> Ready {
        let worker = bin.script("worker", script);
        Ready { libtorch: None, set: Set::External, library_path: vec!["/torch/lib".into()], worker }
    }

    #[test]
    fn the_loader_path_keeps_what_the_caller_had_after_ours() {
        let dirs = ["/torch/lib".into(), "/odd:name/lib".into(), "/nvidia/cu13/lib".into()];
        assert_eq!(loader_path(&dirs, None), "/torch/lib:/nvidia/cu13/lib");
        assert_eq!(loader_path(&dirs[..1], Some(OsStr::new("/mine::/yours"))), "/torch/lib:/mine:/yours");
    }

    #[test]
    fn hello_is_asked_with_device_order_and_library_path() {
        let bin = Bin::new();
        let line = hello_line(PROTOCOL_VERSION);
        let script = format!(
            "[ \"$CUDA_DEVICE_ORDER\" = PCI_BUS_ID ] || exit 4\n\
             case \"${LOADER_VARIABLE}\" in /torch/lib*) ;; *) exit 5;; esac\n\
             [ \"$*\" = '--hello --device cuda:1' ] || exit 6\n\
             echo 'a library prints'\necho '{line}'"
        );
        let hello =
            hello(&ready(&bin, &script), DeviceChoice::Cuda(1), &Cancel::default()).expect("it answers");
        assert_eq!(hello.libtorch, "2.11.0");
    }

    #[test]
    fn every_other_answer_is_explained() {
        let failed = r#"{"type":"failed","what":"no cuda:7","why":"one GPU answers","next":"Use cuda:0."}"#;
        for (script, part) in [
            (format!("echo '{}'", hello_line(PROTOCOL_VERSION + 1)), "another protocol"),
            ("exit 0".to_owned(), "without a word"),
            (
                "echo 'libcudart.so.13: cannot open shared object file' >&2; exit 127".to_owned(),
                "libcudart.so.13",
            ),
            (format!("echo '{failed}'; exit 1"), "one GPU answers"),
            ("kill -9 $$".to_owned(), "signal 9"),
        ] {
            let bin = Bin::new();
            let fault =
                hello(&ready(&bin, &script), DeviceChoice::Auto, &Cancel::default()).expect_err("not well");
            assert!(fault.to_string().contains(part), "{script}: {fault}");
            assert!(fault.to_string().contains("engine install"), "{fault}");
        }
    }
}
