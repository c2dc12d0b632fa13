//! The file: JSON lines, appended under a lock with one write each and synced before the call returns.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{FlockOperation, flock};
use thiserror::Error;

use super::Entry;

/// Version of the entries that this program writes.
pub(super) const FORMAT: u32 = 1;

/// The log could not be read or written.
#[derive(Debug, Error)]
pub enum LogError {
    /// Reading failed.
    #[error("progress in {path} cannot be read ({source}); marks will not be shown until that is mended", path = .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Writing failed; the file is as it was.
    #[error("not saved: {path} cannot be written ({source}); earlier marks are safe, free space or mend permissions and mark again", path = .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// A log file and how far it has been read.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    read_to: u64,
}

impl Log {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), read_to: 0 }
    }

    /// Entries after the last one read, and how many lines could not be understood. A line without its line feed is
    /// left for later: another instance may be writing it.
    pub(super) fn read_new(&mut self) -> Result<(Vec<Entry>, usize), LogError> {
        let failed = |source| LogError::Read { path: self.path.clone(), source };
        // Opening a pipe would wait for a writer for ever.
        if self.path.exists() && !self.path.is_file() {
            return Err(failed(io::Error::other("it is not a regular file")));
        }
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
            Err(e) => return Err(failed(e)),
        };
        // A file shorter than before was replaced: read it anew, known entries are recognised by id.
        let length = file.metadata().map_err(failed)?.len();
        if length < self.read_to {
            self.read_to = 0;
        }
        file.seek(SeekFrom::Start(self.read_to)).map_err(failed)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
        self.read_to += whole as u64;
        Ok(parse(&String::from_utf8_lossy(&bytes[..whole])))
    }

    /// Appends entries with one write and syncs.
    pub(super) fn append(&self, entries: &[Entry]) -> Result<(), LogError> {
        self.try_append(entries).map_err(|source| LogError::Write { path: self.path.clone(), source })
    }

    fn try_append(&self, entries: &[Entry]) -> io::Result<()> {
        if let Some(dir) = self.path.parent() {
            std::fs::create_dir_all(dir)?;
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&self.path)?;
        flock(&file, FlockOperation::LockExclusive)?;
        let before = file.metadata()?.len();
        let mut bytes = Vec::new();
        if before > 0 && !ends_with_line_feed(&mut file)? {
            // A write that was cut short before us: close its line, so that only it is lost.
            bytes.push(b'\n');
        }
        for entry in entries {
            serde_json::to_writer(&mut bytes, entry)?;
            bytes.push(b'\n');
        }
        let written = file.write_all(&bytes).and_then(|()| file.sync_data());
        if written.is_err() {
            // Half a line on a full disk would be taken for a torn write; cut it off where that is possible.
            let _ = file.set_len(before);
        }
        // Closing is not enough: a process that is being started at this moment still has the file open.
        let _ = flock(&file, FlockOperation::Unlock);
        written
    }
}

fn ends_with_line_feed(file: &mut File) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// Entries of a log's text, and the number of lines that are not entries of a known version.
pub(super) fn parse(text: &str) -> (Vec<Entry>, usize) {
    let mut unreadable = 0;
    let entries = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .filter_map(|line| {
            let entry = serde_json::from_str::<Entry>(line).ok().filter(|e| e.v <= FORMAT);
            unreadable += usize::from(entry.is_none());
            entry
        })
        .collect();
    (entries, unreadable)
}

/// An id that no other entry of any machine has: time, process, count, and the host's boot-time noise by address
/// space layout.
pub(super) fn unique_id(at_ms: u64) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let noise = {
        use std::hash::{BuildHasher, RandomState};
        RandomState::new().hash_one(at_ms) as u32
    };
    format!("{at_ms:x}-{:x}-{count:x}-{noise:x}", std::process::id())
}
