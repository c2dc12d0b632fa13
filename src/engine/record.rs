//! The record of an installation, `engine.toml`: what was installed, from which sources, when.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{Fault, Set};

/// Version of the file's layout.
const FORMAT: u32 = 1;

/// What `engine.toml` holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) format: u32,
    /// The directory with LibTorch's `lib` and `include`.
    pub(super) libtorch: PathBuf,
    pub(super) libtorch_version: String,
    pub(super) set: Set,
    /// `None` until the worker has been built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) worker: Option<Built>,
}

/// A worker that was built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Built {
    pub(super) path: PathBuf,
    /// [`fingerprint`](super::sources::fingerprint) of what it was built from.
    pub(super) sources: String,
    /// Version of the infralab that built it.
    pub(super) infralab: String,
    /// The LibTorch that it was built against.
    pub(super) libtorch: PathBuf,
    /// When.
    pub(super) date: jiff::Timestamp,
}

impl Record {
    pub(super) fn new(libtorch: PathBuf, libtorch_version: String, set: Set) -> Self {
        Self { format: FORMAT, libtorch, libtorch_version, set, worker: None }
    }

    pub(super) fn file(engine: &Path) -> PathBuf {
        engine.join("engine.toml")
    }

    /// The record in `engine`; `Ok(None)` when there is none.
    pub(super) fn read(engine: &Path) -> Result<Option<Self>, Fault> {
        let file = Self::file(engine);
        let unreadable = |why: String| {
            let next = format!(
                "Delete it and run `infralab engine install`; nothing is downloaded twice. ({})",
                file.display()
            );
            Fault::new("the record of the engine cannot be read", why, next)
        };
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(unreadable(error.to_string())),
        };
        let record: Self = toml::from_str(&text).map_err(|error| unreadable(error.message().to_owned()))?;
        if record.format != FORMAT {
            return Err(unreadable(format!("it has format {}, this infralab knows {FORMAT}", record.format)));
        }
        Ok(Some(record))
    }

    /// Replaces the record in one step, so that no reader sees half of it.
    pub(super) fn write(&self, engine: &Path) -> Result<(), Fault> {
        let file = Self::file(engine);
        let failed = |why: String| {
            Fault::new(
                format!("cannot write {}", file.display()),
                why,
                "Free space or fix the permissions, then install again.",
            )
        };
        let text = toml::to_string(self).map_err(|error| failed(error.to_string()))?;
        let new = file.with_extension("toml.new");
        fs::write(&new, text)
            .and_then(|()| fs::rename(&new, &file))
            .map_err(|error| failed(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let dir = tempfile::tempdir().expect("a directory");
        assert_eq!(Record::read(dir.path()).expect("none is no fault"), None);
        assert_eq!(Record::read(&dir.path().join("nowhere")).expect("none is no fault"), None);
        let mut record = Record::new("/opt/torch".into(), "2.11.0+cu130".into(), Set::Slim);
        record.write(dir.path()).expect("written");
        assert_eq!(Record::read(dir.path()).expect("readable"), Some(record.clone()));
        record.worker = Some(Built {
            path: "/x/infralab-worker".into(),
            sources: "fnv1a:0".into(),
            infralab: "0.1.0".into(),
            libtorch: "/opt/torch".into(),
            date: "2026-12-01T00:00:00Z".parse().expect("a date"),
        });
        record.write(dir.path()).expect("written");
        assert_eq!(Record::read(dir.path()).expect("readable"), Some(record));
    }

    #[test]
    fn a_damaged_or_newer_record_names_the_way_out() {
        let dir = tempfile::tempdir().expect("a directory");
        let newer = "format = 9\nlibtorch = '/x'\nlibtorch_version = '2.11.0'\nset = 'slim'\n";
        for text in ["\0garbage", "format = 1", newer] {
            fs::write(Record::file(dir.path()), text).expect("written");
            let fault = Record::read(dir.path()).expect_err("unreadable");
            assert!(fault.next.contains("engine install"), "{fault}");
        }
    }
}
