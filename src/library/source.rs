//! Where the text comes from: embedded at build time, or a directory with the same layout.

use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};

use super::Fault;

static CONTENT: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/content");
static GLOSSARY: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/glossary");

/// A file larger than this is not a note: 16 MiB.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Where notes and terms are read from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Source {
    /// The text that the program was built with.
    #[default]
    Embedded,
    /// A directory that holds `content/` and `glossary/`.
    Directory(PathBuf),
}

/// A text file of the library.
#[derive(Debug)]
pub(super) struct File {
    /// Path relative to the root, with `/`.
    pub(super) path: String,
    /// Decoded text, without a byte order mark.
    pub(super) text: String,
}

impl Source {
    /// Every Markdown file of `content/` and TOML file of `glossary/`, sorted by path.
    pub(super) fn files(&self, faults: &mut Vec<Fault>) -> Vec<File> {
        let mut files = Vec::new();
        match self {
            Self::Embedded => {
                embedded(&CONTENT, "content", &mut files);
                embedded(&GLOSSARY, "glossary", &mut files);
            }
            Self::Directory(root) => {
                for folder in ["content", "glossary"] {
                    walk(&root.join(folder), folder, &mut files, faults);
                }
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files
    }
}

fn embedded(dir: &Dir<'_>, prefix: &str, files: &mut Vec<File>) {
    for file in dir.files() {
        if let Some(text) = file.contents_utf8() {
            files.push(File { path: format!("{prefix}/{}", file.path().display()), text: text.to_owned() });
        }
    }
    for sub in dir.dirs() {
        embedded(sub, prefix, files);
    }
}

fn walk(dir: &Path, prefix: &str, files: &mut Vec<File>, faults: &mut Vec<Fault>) {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) => {
            faults.push(Fault { file: prefix.to_owned(), problem: format!("cannot be listed: {error}") });
            return;
        }
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}/{name}");
        let Ok(kind) = entry.file_type() else { continue };
        if name.starts_with('.') {
            continue;
        }
        if kind.is_dir() {
            walk(&entry.path(), &path, files, faults);
        } else if matches!(Path::new(&name).extension().and_then(|e| e.to_str()), Some("md" | "toml")) {
            // A pipe or a device would be read for ever.
            if !entry.path().is_file() {
                faults.push(Fault { file: path, problem: "is not a regular file".into() });
                continue;
            }
            match read(&entry.path()) {
                Ok((text, lossy)) => {
                    if lossy {
                        let problem = "is not UTF-8; unreadable bytes are shown as \u{fffd}".to_owned();
                        faults.push(Fault { file: path.clone(), problem });
                    }
                    files.push(File { path, text });
                }
                Err(error) => faults.push(Fault { file: path, problem: format!("cannot be read: {error}") }),
            }
        }
    }
}

/// The text, and whether bytes had to be replaced.
fn read(path: &Path) -> std::io::Result<(String, bool)> {
    let size = std::fs::metadata(path)?.len();
    if size > MAX_FILE_BYTES {
        return Err(std::io::Error::other(format!("{size} bytes, more than the limit of {MAX_FILE_BYTES}")));
    }
    let bytes = std::fs::read(path)?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let text = String::from_utf8_lossy(bytes);
    let lossy = matches!(text, std::borrow::Cow::Owned(_));
    Ok((text.into_owned(), lossy))
}
