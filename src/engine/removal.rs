//! Gives the engine's space back. Only what lies in the engine's own directory is ever deleted.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::{Fault, Set, install::lock, record::Record};
use crate::paths::Paths;

/// What would be deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Removal {
    /// The engine's directory.
    pub directory: PathBuf,
    /// Its entries with the bytes that each takes on disk, the largest first.
    pub entries: Vec<(PathBuf, u64)>,
    /// A LibTorch elsewhere that was used and stays.
    pub kept: Option<PathBuf>,
}

impl Removal {
    /// Bytes on disk that come free.
    pub fn total_bytes(&self) -> u64 {
        self.entries.iter().map(|(_, bytes)| bytes).sum()
    }
}

/// What [`remove`] would delete; no entries when there is nothing. Counts files, which can take a second.
pub fn plan_removal(paths: &Paths) -> Result<Removal, Fault> {
    let directory = paths.engine();
    let kept = Record::read(&directory).ok().flatten().filter(|r| r.set == Set::External).map(|r| r.libtorch);
    let mut entries = Vec::new();
    for path in children(&directory)? {
        let bytes = size(&path).map_err(|error| unreadable(&path, &error))?;
        entries.push((path, bytes));
    }
    entries.sort_by_key(|(path, bytes)| (std::cmp::Reverse(*bytes), path.clone()));
    Ok(Removal { directory, entries, kept })
}

/// Deletes what `removal` names.
pub fn remove(removal: &Removal) -> Result<(), Fault> {
    if !removal.directory.is_dir() {
        return Ok(());
    }
    let lock = lock(&removal.directory)?;
    for (path, _) in &removal.entries {
        // The plan came from this directory; a caller that changed it must not reach outside.
        if path.parent() != Some(&removal.directory) {
            continue;
        }
        delete(path).map_err(|error| {
            Fault::new(
                format!("cannot delete {}", path.display()),
                error.to_string(),
                "Fix its permissions, then run `infralab engine remove` again.",
            )
        })?;
    }
    drop(lock);
    let _ = fs::remove_file(removal.directory.join("lock"));
    // Stays when something came meanwhile, or when it is a link to another disk, which is the reader's.
    let _ = fs::remove_dir(&removal.directory);
    Ok(())
}

fn children(directory: &Path) -> Result<Vec<PathBuf>, Fault> {
    match fs::read_dir(directory) {
        Ok(entries) => entries
            .map(|entry| entry.map(|e| e.path()).map_err(|error| unreadable(directory, &error)))
            .collect(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(unreadable(directory, &error)),
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Fault {
    Fault::new(
        format!("cannot read {}", path.display()),
        error.to_string(),
        "Fix its permissions and try again.",
    )
}

/// Bytes on disk of a file or a tree; links count as themselves.
fn size(path: &Path) -> std::io::Result<u64> {
    let metadata = fs::symlink_metadata(path)?;
    // `blocks` counts 512 bytes, whatever the file system's block is.
    let mut bytes = metadata.blocks() * 512;
    if metadata.is_dir() {
        for entry in fs::read_dir(path)? {
            bytes += size(&entry?.path())?;
        }
    }
    Ok(bytes)
}

fn delete(path: &Path) -> std::io::Result<()> {
    let gone = match fs::symlink_metadata(path) {
        // Neither call follows links: what a link points to stays.
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match gone {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fake::Home;

    #[test]
    fn only_the_engine_goes() {
        let home = Home::new();
        let torch = home.external_libtorch("2.11.0");
        home.record(&torch, None);
        let engine = home.paths.engine();
        fs::create_dir_all(engine.join("venv/lib")).expect("created");
        fs::write(engine.join("venv/lib/big"), vec![1; 100_000]).expect("written");
        std::os::unix::fs::symlink(&torch, engine.join("link")).expect("linked");
        fs::write(home.paths.progress_log(), "{}").expect("written");

        let removal = plan_removal(&home.paths).expect("a plan");
        assert_eq!(removal.entries[0].0, engine.join("venv"));
        assert!((100_000..200_000).contains(&removal.total_bytes()), "{}", removal.total_bytes());
        assert_eq!(removal.kept.as_ref(), Some(&torch));
        remove(&removal).expect("removed");
        assert!(!engine.exists());
        assert!(torch.join("lib/libtorch_cpu.so").exists(), "an external LibTorch stays");
        assert!(home.paths.progress_log().exists(), "so does progress");
        assert!(plan_removal(&home.paths).expect("a plan").entries.is_empty());
    }

    #[test]
    fn a_changed_plan_does_not_reach_outside() {
        let home = Home::new();
        fs::create_dir_all(home.paths.engine()).expect("created");
        let outside = home.dir.path().join("outside");
        fs::write(&outside, "").expect("written");
        let mut removal = plan_removal(&home.paths).expect("a plan");
        removal.entries.push((outside.clone(), 0));
        removal.entries.push((home.paths.engine().join("../outside"), 0));
        remove(&removal).expect("nothing to do");
        assert!(outside.exists());
    }

    #[test]
    fn a_linked_engine_directory_is_emptied_and_its_link_stays() {
        let home = Home::new();
        let disk = home.dir.path().join("disk");
        fs::create_dir_all(disk.join("venv")).expect("created");
        fs::create_dir_all(home.paths.data()).expect("created");
        std::os::unix::fs::symlink(&disk, home.paths.engine()).expect("linked");
        remove(&plan_removal(&home.paths).expect("a plan")).expect("removed");
        assert!(disk.exists() && !disk.join("venv").exists());
    }

    #[test]
    fn nothing_is_removed_during_an_installation() {
        let home = Home::new();
        fs::create_dir_all(home.paths.engine().join("venv")).expect("created");
        let removal = plan_removal(&home.paths).expect("a plan");
        let held = lock(&home.paths.engine()).expect("free");
        assert!(remove(&removal).expect_err("held").why.contains("another infralab"));
        assert!(home.paths.engine().join("venv").exists());
        drop(held);
        remove(&removal).expect("free again");
    }
}
