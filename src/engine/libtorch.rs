//! A LibTorch on disk: which version it is, and where the libraries are that it loads.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::Fault;

/// The version that the worker's bindings are made for; no other works.
pub const LIBTORCH_VERSION: &str = "2.11.0";

/// A LibTorch of the right version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LibTorch {
    /// The directory with `lib` and `include`.
    pub dir: PathBuf,
    /// Its version with the build suffix, for example `2.11.0+cu130`.
    pub version: String,
}

impl LibTorch {
    /// Checks that `dir` is LibTorch 2.11.0. Also accepts a directory that holds one: an unpacked archive, a
    /// `site-packages`, or a virtual environment.
    pub fn at(dir: &Path) -> Result<Self, Fault> {
        let next = format!(
            "Name the directory that holds `lib` and `include` of LibTorch {LIBTORCH_VERSION} \
             (the `torch` directory of a Python environment, or an unpacked libtorch archive)."
        );
        let not_usable =
            |why: String| Fault::new(format!("{} is not usable", dir.display()), why, next.clone());
        let absolute = std::path::absolute(dir).map_err(|error| not_usable(error.to_string()))?;
        let Some(root) = candidates(&absolute).into_iter().find(|root| has_library(root)) else {
            let why = if dir.exists() { "it holds no libtorch_cpu library" } else { "it does not exist" };
            return Err(not_usable(why.into()));
        };
        if !root.join("include/torch").is_dir() {
            return Err(not_usable(
                "it has no headers (`include/torch`), which building the worker needs".into(),
            ));
        }
        let Some(version) = version_of(&root) else {
            return Err(not_usable("it does not say which version it is".into()));
        };
        if base(&version) != LIBTORCH_VERSION {
            return Err(not_usable(format!(
                "it is LibTorch {version}; the worker is made for {LIBTORCH_VERSION} only"
            )));
        }
        Ok(Self { dir: root, version })
    }

    /// The directories with the libraries that LibTorch loads: its own, then those of the NVIDIA packages beside it.
    pub fn library_dirs(&self) -> Vec<PathBuf> {
        let mut dirs = vec![self.dir.join("lib")];
        if let Some(site_packages) = self.dir.parent()
            && let Ok(entries) = fs::read_dir(site_packages.join("nvidia"))
        {
            let mut nvidia: Vec<_> =
                entries.flatten().map(|entry| entry.path().join("lib")).filter(|lib| lib.is_dir()).collect();
            nvidia.sort();
            dirs.extend(nvidia);
        }
        dirs
    }
}

fn candidates(dir: &Path) -> Vec<PathBuf> {
    let mut found = vec![dir.to_path_buf(), dir.join("torch"), dir.join("libtorch")];
    found.extend(site_packages(dir).map(|packages| packages.join("torch")));
    found
}

/// `lib/python3.*/site-packages` of a virtual environment.
pub(super) fn site_packages(venv: &Path) -> Option<PathBuf> {
    let mut found: Vec<_> = fs::read_dir(venv.join("lib"))
        .ok()?
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("python3."))
        .map(|entry| entry.path().join("site-packages"))
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found.pop()
}

fn has_library(root: &Path) -> bool {
    ["so", "dylib"].iter().any(|extension| root.join(format!("lib/libtorch_cpu.{extension}")).is_file())
}

fn version_of(root: &Path) -> Option<String> {
    // The archives have build-version, the wheels version.py, and both have the header.
    let read = |file: &str| fs::read_to_string(root.join(file)).ok();
    read("build-version")
        .and_then(|text| version_in_build_file(&text))
        .or_else(|| read("version.py").and_then(|text| version_in_python(&text)))
        .or_else(|| read("include/torch/headeronly/version.h").and_then(|text| version_in_header(&text)))
        .or_else(|| {
            read("include/torch/csrc/api/include/torch/version.h").and_then(|text| version_in_header(&text))
        })
}

fn version_in_build_file(text: &str) -> Option<String> {
    let word = text.split_whitespace().next()?;
    word.starts_with(|c: char| c.is_ascii_digit()).then(|| word.to_owned())
}

fn version_in_python(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix("__version__"))?;
    let quoted = value.split(['\'', '"']).nth(1)?;
    (!quoted.is_empty()).then(|| quoted.to_owned())
}

fn version_in_header(text: &str) -> Option<String> {
    let number = |part: &str| -> Option<u32> {
        let name = format!("TORCH_VERSION_{part}");
        text.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            (words.next() == Some("#define") && words.next() == Some(&name))
                .then(|| words.next())??
                .parse()
                .ok()
        })
    };
    Some(format!("{}.{}.{}", number("MAJOR")?, number("MINOR")?, number("PATCH")?))
}

/// The version without the build suffix.
fn base(version: &str) -> &str {
    version.split_once('+').map_or(version, |(base, _)| base)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fake::write_libtorch;

    #[test]
    fn each_place_that_states_the_version_is_understood() {
        assert_eq!(version_in_build_file("2.11.0+cpu\n").as_deref(), Some("2.11.0+cpu"));
        assert_eq!(version_in_build_file("\n"), None);
        let python =
            "from typing import Optional\n\n__all__ = ['__version__', 'x']\n__version__ = '2.11.0+cu130'\n";
        assert_eq!(version_in_python(python).as_deref(), Some("2.11.0+cu130"));
        assert_eq!(version_in_python("debug = False"), None);
        let header =
            "#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR 11\n#define TORCH_VERSION_PATCH 0\n";
        assert_eq!(version_in_header(header).as_deref(), Some("2.11.0"));
        assert_eq!(version_in_header("#define TORCH_VERSION_MAJOR 2\n"), None);
        assert_eq!(base("2.11.0+cu130"), "2.11.0");
        assert_ne!(base("2.11.0a0"), LIBTORCH_VERSION);
    }

    #[test]
    fn it_is_found_from_the_directories_around_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let packages = dir.path().join("venv/lib/python3.12/site-packages");
        write_libtorch(&packages.join("torch"), "2.11.0+cu130");
        for named in [packages.join("torch"), packages.clone(), dir.path().join("venv")] {
            let found = LibTorch::at(&named).expect("it is there");
            assert_eq!(found.dir, packages.join("torch"), "{}", named.display());
            assert_eq!(found.version, "2.11.0+cu130");
        }
    }

    #[test]
    fn nvidia_packages_beside_it_are_on_the_library_path() {
        let dir = tempfile::tempdir().expect("a directory");
        write_libtorch(&dir.path().join("torch"), "2.11.0");
        for package in ["cudnn/lib", "cu13/lib", "nothing"] {
            fs::create_dir_all(dir.path().join("nvidia").join(package)).expect("created");
        }
        let dirs = LibTorch::at(dir.path()).expect("it is there").library_dirs();
        let expected = ["torch/lib", "nvidia/cu13/lib", "nvidia/cudnn/lib"].map(|d| dir.path().join(d));
        assert_eq!(dirs, expected);
    }

    #[test]
    fn what_was_found_instead_is_said() {
        let dir = tempfile::tempdir().expect("a directory");
        let fault = LibTorch::at(&dir.path().join("nowhere")).expect_err("nothing");
        assert!(fault.why.contains("does not exist"), "{fault}");
        let fault = LibTorch::at(dir.path()).expect_err("empty");
        assert!(fault.why.contains("libtorch_cpu"), "{fault}");
        write_libtorch(dir.path(), "2.13.0+cpu");
        let fault = LibTorch::at(dir.path()).expect_err("another version");
        assert!(fault.why.contains("LibTorch 2.13.0+cpu") && fault.why.contains("2.11.0 only"), "{fault}");
        fs::remove_file(dir.path().join("build-version")).expect("removed");
        assert!(LibTorch::at(dir.path()).expect_err("no version").why.contains("which version"));
        fs::remove_dir_all(dir.path().join("include")).expect("removed");
        assert!(LibTorch::at(dir.path()).expect_err("no headers").why.contains("headers"));
    }
}
