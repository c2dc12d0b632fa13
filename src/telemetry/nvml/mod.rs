//! NVML: finding the library, what it says of the driver, and its answers to the questions of [`super::gpu`].

mod device;
mod events;
mod gpus;

use std::ffi::{OsStr, OsString};

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

use super::gpu::{Answer, reason};
use crate::visible::visible_line;
pub use gpus::GPM_VARIABLE;
pub(super) use gpus::Gpus;

/// Environment variable that names the NVML library to open instead of the usual ones.
pub const LIBRARY_VARIABLE: &str = "INFRALAB_NVML";

/// Names to try in turn. Since driver 560, and in containers, only the first may exist; the last is where WSL keeps it.
const LIBRARIES: [&str; 3] = ["libnvidia-ml.so.1", "libnvidia-ml.so", "/usr/lib/wsl/lib/libnvidia-ml.so.1"];

/// Opens NVML, or says in one line which libraries were tried and why none would do.
pub(super) fn open() -> Result<Nvml, String> {
    let chosen = std::env::var_os(LIBRARY_VARIABLE).filter(|path| !path.is_empty());
    first_that_opens(&candidates(chosen), |path| Nvml::builder().lib_path(path).init())
}

fn candidates(chosen: Option<OsString>) -> Vec<OsString> {
    // No falling back from a chosen library: readings from another one than asked for would mislead.
    chosen.map_or_else(|| LIBRARIES.map(OsString::from).to_vec(), |path| vec![path])
}

fn first_that_opens<T>(paths: &[OsString], open: impl Fn(&OsStr) -> Answer<T>) -> Result<T, String> {
    let mut failures: Vec<(Vec<String>, String)> = Vec::new();
    for path in paths {
        let name = path.to_string_lossy().into_owned();
        let why = match open(path) {
            Ok(nvml) => return Ok(nvml),
            Err(NvmlError::FailedToLoadSymbol(_)) => {
                "it is not an NVML library, or one older than any supported".to_owned()
            }
            Err(error) => reason(&error, false),
        };
        // The loader begins with the name, which would part reasons that are the same.
        let why = why.strip_prefix(&format!("{name}: ")).unwrap_or(&why).to_owned();
        match failures.iter_mut().find(|(_, known)| *known == why) {
            Some((names, _)) => names.push(name),
            None => failures.push((vec![name], why)),
        }
    }
    let tried: Vec<String> =
        failures.iter().map(|(names, why)| format!("{}: {why}", names.join(", "))).collect();
    Err(visible_line(&one_line(&format!("NVML did not open. Tried {}", tried.join("; ")))))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> Vec<OsString> {
        names.iter().map(OsString::from).collect()
    }

    #[test]
    fn the_versioned_name_comes_first_and_a_chosen_library_stands_alone() {
        assert_eq!(candidates(None).first(), Some(&OsString::from("libnvidia-ml.so.1")));
        assert_eq!(candidates(Some("/opt/nvml.so".into())), paths(&["/opt/nvml.so"]));
    }

    #[test]
    fn a_library_that_will_not_do_makes_way_for_the_next() {
        let opened = first_that_opens(&paths(&["a", "b", "c"]), |path| match path.to_str() {
            Some("b") => Ok("b"),
            _ => Err(NvmlError::LibraryNotFound),
        });
        assert_eq!(opened, Ok("b"));
    }

    #[test]
    fn every_library_that_was_tried_is_named_once_with_its_reason() {
        let failed = first_that_opens(&paths(&["a", "b", "c"]), |path| -> Answer<()> {
            Err(if path == "b" { NvmlError::LibRmVersionMismatch } else { NvmlError::LibraryNotFound })
        });
        let why = failed.expect_err("nothing opens");
        assert!(
            why.starts_with("NVML did not open. Tried a, c: a shared library couldn't be found"),
            "{why}"
        );
        assert!(why.contains("b: driver/library version mismatch"), "{why}");
        assert!(why.contains("reboot"), "{why}");
        assert_eq!(why.lines().count(), 1);
    }

    #[test]
    fn the_words_of_the_loader_are_passed_on() {
        let missing = paths(&["/no/such/libnvidia-ml.so.1", "/no/such/libnvidia-ml.so"]);
        let failed = first_that_opens(&missing, |path| Nvml::builder().lib_path(path).init());
        let why = failed.expect_err("no such file");
        assert!(why.contains("/no/such/libnvidia-ml.so.1, /no/such/libnvidia-ml.so: "), "{why}");
        assert!(why.to_lowercase().contains("no such file"), "{why}");
    }

    #[test]
    fn a_library_that_is_not_nvml_is_told_so() {
        // The C library is loaded by every test program on Linux.
        let failed = first_that_opens(&paths(&["libc.so.6"]), |path| Nvml::builder().lib_path(path).init());
        let why = failed.expect_err("libc has no nvmlInit");
        assert!(why.contains("not an NVML library") || why.contains("libc.so.6"), "{why}");
    }
}
