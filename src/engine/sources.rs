//! The sources of the worker. They are embedded in the program, so that it can build a worker that speaks its own
//! protocol wherever it is installed; a checkout with the same sources is preferred, because its `target` already
//! holds what its own builds (and CI) compiled.

use std::{
    fs,
    path::{Path, PathBuf},
};

use include_dir::{Dir, include_dir};

use super::Fault;

static LABS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/labs");
static LOCK: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.lock"));

/// Where the worker is built from.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Sources {
    /// The checkout that this program was built from, which still holds the same sources.
    Checkout {
        /// Its root.
        root: PathBuf,
    },
    /// The copy inside this program, written to `root` first.
    Embedded {
        /// Where it is written.
        root: PathBuf,
    },
}

impl Sources {
    /// Prefers the checkout.
    pub(super) fn choose(engine: &Path) -> Self {
        Self::choose_from(Path::new(env!("CARGO_MANIFEST_DIR")), engine)
    }

    fn choose_from(checkout: &Path, engine: &Path) -> Self {
        // `cargo install --git` builds in a checkout that belongs to cargo and may go away; not a place for a target.
        let belongs_to_cargo = checkout.components().any(|part| part.as_os_str() == "checkouts");
        if !belongs_to_cargo
            && fingerprint_on_disk(&checkout.join("labs")).as_deref() == Some(&*fingerprint())
        {
            Self::Checkout { root: checkout.to_path_buf() }
        } else {
            // Inside the engine's directory, so that `engine remove` takes it along, and always in the same place, so
            // that cargo recognises what it compiled before.
            Self::Embedded { root: engine.join("labs-src") }
        }
    }

    /// The directory to run cargo in.
    pub(super) fn root(&self) -> &Path {
        match self {
            Self::Checkout { root } | Self::Embedded { root } => root,
        }
    }

    /// Where cargo puts what it compiles.
    pub(super) fn target(&self, engine: &Path) -> PathBuf {
        match self {
            Self::Checkout { root } => root.join("target"),
            Self::Embedded { .. } => engine.join("target"),
        }
    }

    /// Writes the embedded copy; nothing to do for a checkout. A file that already has its content is left alone,
    /// so that cargo does not build again.
    pub(super) fn write(&self) -> Result<(), Fault> {
        let Self::Embedded { root } = self else { return Ok(()) };
        let write = || -> std::io::Result<()> {
            write_dir(&LABS, root)?;
            // Of its own workspace, wherever the data directory lies: cargo looks for one in the directories above.
            let manifest = LABS.get_file("Cargo.toml").map_or("", |file| file.contents_utf8().unwrap_or(""));
            write_changed(&root.join("Cargo.toml"), format!("{manifest}\n[workspace]\n").as_bytes())?;
            // Once; cargo then drops from it what only the app needs, and would do so again after every overwrite.
            let lock = root.join("Cargo.lock");
            if lock.exists() { Ok(()) } else { fs::write(lock, LOCK) }
        };
        write().map_err(|error| {
            Fault::new(
                format!("cannot write the worker's sources to {}", root.display()),
                error.to_string(),
                "Free space or fix the permissions, then install again.",
            )
        })
    }
}

/// Identifies the sources inside this program. Guides and tests are not part of it: they do not change the worker.
pub(super) fn fingerprint() -> String {
    let mut files = Vec::new();
    collect_embedded(&LABS, &mut files);
    combine(files)
}

fn collect_embedded(dir: &Dir<'static>, into: &mut Vec<(String, Vec<u8>)>) {
    for file in dir.files().filter(|file| counts(file.path())) {
        into.push((file.path().to_string_lossy().into_owned(), file.contents().to_vec()));
    }
    dir.dirs().for_each(|dir| collect_embedded(dir, into));
}

/// The same of a `labs` directory on disk; `None` when it cannot be read.
fn fingerprint_on_disk(labs: &Path) -> Option<String> {
    let mut files = Vec::new();
    collect_on_disk(labs, labs, &mut files).ok()?;
    Some(combine(files))
}

fn collect_on_disk(dir: &Path, root: &Path, into: &mut Vec<(String, Vec<u8>)>) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            collect_on_disk(&path, root, into)?;
            continue;
        }
        let name = path.strip_prefix(root).unwrap_or(&path);
        if counts(name) {
            into.push((name.to_string_lossy().into_owned(), fs::read(&path)?));
        }
    }
    Ok(())
}

/// Whether the file at `path`, counted from `labs`, is part of the worker.
fn counts(path: &Path) -> bool {
    !path.starts_with("tests")
        && path
            .extension()
            .is_some_and(|extension| ["rs", "toml", "cpp", "cc", "h"].iter().any(|known| extension == *known))
}

/// FNV-1a over names and contents in order of name. It tells builds apart; it is no protection against intent.
fn combine(mut files: Vec<(String, Vec<u8>)>) -> String {
    files.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for (name, contents) in &files {
        add(name.as_bytes());
        add(contents);
    }
    format!("fnv1a:{hash:016x}")
}

fn write_dir(dir: &Dir<'_>, root: &Path) -> std::io::Result<()> {
    fs::create_dir_all(root.join(dir.path()))?;
    for file in dir.files().filter(|file| file.path() != Path::new("Cargo.toml")) {
        write_changed(&root.join(file.path()), file.contents())?;
    }
    dir.dirs().try_for_each(|dir| write_dir(dir, root))
}

fn write_changed(path: &Path, contents: &[u8]) -> std::io::Result<()> {
    if fs::read(path).is_ok_and(|present| present == contents) { Ok(()) } else { fs::write(path, contents) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_checkout_holds_the_embedded_sources() {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR"));
        let chosen = Sources::choose(Path::new("/data/engine"));
        assert_eq!(chosen, Sources::Checkout { root: checkout.to_path_buf() });
        assert_eq!(chosen.target(Path::new("/data/engine")), checkout.join("target"));
    }

    #[test]
    fn the_embedded_copy_is_complete_and_written_once() {
        let dir = tempfile::tempdir().expect("a directory");
        let chosen = Sources::choose_from(Path::new("/gone"), dir.path());
        assert_eq!(chosen, Sources::Embedded { root: dir.path().join("labs-src") });
        chosen.write().expect("written");
        let manifest = chosen.root().join("Cargo.toml");
        let text = fs::read_to_string(&manifest).expect("readable");
        let parsed: toml::Table = text.parse().expect("still TOML");
        assert!(parsed.contains_key("workspace"));
        assert!(fs::read_to_string(chosen.root().join("Cargo.lock")).expect("readable").contains("\"tch\""));
        let written = |path: &Path| fs::metadata(path).and_then(|m| m.modified()).expect("it exists");
        let protocol = chosen.root().join("src/protocol/mod.rs");
        let before = (written(&manifest), written(&protocol));
        chosen.write().expect("again");
        assert_eq!(before, (written(&manifest), written(&protocol)));
    }

    #[test]
    fn a_changed_checkout_is_not_used_but_a_changed_guide_does_not_matter() {
        let dir = tempfile::tempdir().expect("a directory");
        let labs = dir.path().join("labs");
        write_dir(&LABS, &labs).expect("written");
        let manifest = LABS.get_file("Cargo.toml").expect("embedded").contents();
        fs::write(labs.join("Cargo.toml"), manifest).expect("written");
        let choose = || Sources::choose_from(dir.path(), Path::new("/e"));
        assert!(matches!(choose(), Sources::Checkout { .. }));
        fs::write(labs.join("src/attention/guide.en.md"), "new words").expect("written");
        assert!(matches!(choose(), Sources::Checkout { .. }));
        fs::write(labs.join("src/clock.rs"), "// changed").expect("written");
        assert!(matches!(choose(), Sources::Embedded { .. }));
    }

    #[test]
    fn the_fingerprint_sees_names_and_contents() {
        let file = |name: &str, contents: &str| (name.to_owned(), contents.as_bytes().to_vec());
        let one = combine(vec![file("a.rs", "1"), file("b.rs", "2")]);
        assert_eq!(one, combine(vec![file("b.rs", "2"), file("a.rs", "1")]), "order does not matter");
        for other in [
            vec![file("a.rs", "2"), file("b.rs", "1")],
            vec![file("a.rs", "1"), file("c.rs", "2")],
            vec![file("a.rs", "1")],
            vec![file("a.rs", "1b.rs2")],
        ] {
            assert_ne!(one, combine(other));
        }
    }
}
