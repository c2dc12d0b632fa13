//! Files of the kernel that are read again and again: opened once, read into one buffer.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// More than any of these files has on the largest machines; whatever is longer is not what it says it is.
const LARGEST_BYTES: usize = 32 << 20;

/// Where `/` is; a directory with a copy of another machine's files in tests.
#[derive(Debug, Clone)]
pub(super) struct Root(PathBuf);

impl Root {
    pub(super) fn system() -> Self {
        Self(PathBuf::from("/"))
    }

    #[cfg(test)]
    pub(super) fn at(directory: &Path) -> Self {
        Self(directory.to_owned())
    }

    /// The place of an absolute path.
    pub(super) fn path(&self, absolute: &str) -> PathBuf {
        self.0.join(absolute.trim_start_matches('/'))
    }

    /// A file to be read often, by its absolute path.
    pub(super) fn file(&self, absolute: &str) -> KernelFile {
        KernelFile { path: self.path(absolute), name: absolute.to_owned(), open: None, bytes: Vec::new() }
    }
}

/// A file of `/proc` or `/sys` whose text the kernel makes anew at every reading from its beginning.
#[derive(Debug)]
pub(super) struct KernelFile {
    path: PathBuf,
    name: String,
    open: Option<File>,
    bytes: Vec<u8>,
}

impl KernelFile {
    /// The text of this moment, or why there is none.
    pub(super) fn text(&mut self) -> Result<Cow<'_, str>, String> {
        let Self { path, name, open, bytes } = self;
        match read_again(path, open, bytes) {
            Ok(len) => Ok(String::from_utf8_lossy(&bytes[..len])),
            Err(error) => Err(format!("cannot read {name}: {error}")),
        }
    }

    /// Absolute path on the machine that it tells of.
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

fn read_again(path: &Path, open: &mut Option<File>, bytes: &mut Vec<u8>) -> io::Result<usize> {
    let file = match open.take() {
        Some(file) => file,
        None => File::open(path)?,
    };
    let len = read_whole(&file, bytes)?;
    // Kept only after a success: a handle to a group or process that is gone fails for ever.
    *open = Some(file);
    Ok(len)
}

fn read_whole(file: &File, bytes: &mut Vec<u8>) -> io::Result<usize> {
    let mut len = 0;
    loop {
        if len == bytes.len() {
            if len >= LARGEST_BYTES {
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it does not end"));
            }
            bytes.resize((len * 2).max(4096), 0);
        }
        match file.read_at(&mut bytes[len..], len as u64) {
            Ok(0) => return Ok(len),
            Ok(read) => len += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_reads_anew_each_time_and_does_not_show_what_was_longer_before() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("stat");
        let long = "cpu 1 2 3\n".repeat(2000);
        fs::write(&path, &long).expect("written");
        let mut file = Root::at(directory.path()).file("/stat");
        assert_eq!(file.text().as_deref(), Ok(long.as_str()));
        fs::write(&path, "short").expect("written");
        assert_eq!(file.text().as_deref(), Ok("short"));
    }

    #[test]
    fn a_file_that_comes_later_is_found_and_one_that_is_not_there_says_so() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut file = Root::at(directory.path()).file("/proc/none");
        assert!(file.text().expect_err("not there").starts_with("cannot read /proc/none: "));
        fs::create_dir(directory.path().join("proc")).expect("made");
        fs::write(directory.path().join("proc/none"), [0xff, b'a']).expect("written");
        assert_eq!(file.text().as_deref(), Ok("\u{fffd}a"), "bytes that are no text do no harm");
    }
}
