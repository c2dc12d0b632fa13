//! Writes a run as it happens.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::RunError;
use crate::lab::{Header, LabEvent, Record};

/// A run's file that grows.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    output: Output,
    written_bytes: u64,
    is_of_lab: bool,
}

#[derive(Debug)]
enum Output {
    Plain(BufWriter<File>),
    Compressed(GzEncoder<File>),
}

impl Output {
    fn to(file: File, path: &Path) -> Self {
        if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz")) {
            Self::Compressed(GzEncoder::new(file, Compression::default()))
        } else {
            Self::Plain(BufWriter::new(file))
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.write_all(bytes),
            Self::Compressed(file) => file.write_all(bytes),
        }
    }

    /// Hands everything to the system, so that a reader can have it: of deflate that takes a sync flush.
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.flush(),
            Self::Compressed(file) => file.flush(),
        }
    }
}

impl Writer {
    /// Creates `dir/<id>.jsonl` with its header.
    pub fn create(dir: &Path, header: &Header) -> Result<Self, RunError> {
        let path = dir.join(format!("{}.jsonl", header.run));
        let failed = |source| RunError::Write { path: path.clone(), source };
        std::fs::create_dir_all(dir).map_err(failed)?;
        let mut writer = Self::new(&path, true).map_err(failed)?;
        writer.write(&LabEvent::Header(header.clone()))?;
        Ok(writer)
    }

    /// Creates this file, for a recording of readings whose first event is the header; compressed when the name ends in
    /// `.gz`. A file that is there already is never written to.
    pub fn create_file(path: &Path) -> Result<Self, RunError> {
        Self::new(path, false).map_err(|source| {
            let source = if source.kind() == io::ErrorKind::AlreadyExists {
                io::Error::other("it exists already, and nothing is overwritten; give another name")
            } else {
                source
            };
            RunError::Record { path: path.into(), source }
        })
    }

    fn new(path: &Path, is_of_lab: bool) -> io::Result<Self> {
        let file = File::options().write(true).create_new(true).open(path)?;
        Ok(Self { path: path.into(), output: Output::to(file, path), written_bytes: 0, is_of_lab })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes written so far, before compression.
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Appends one event. Everything but snapshots and log lines is handed to the system at once, so that a crash of
    /// the app costs no result.
    pub fn write(&mut self, event: &LabEvent) -> Result<(), RunError> {
        self.append(event).map_err(|source| self.failed(source))?;
        let can_wait = matches!(event, LabEvent::Snapshot(_) | LabEvent::Log { .. });
        if can_wait { Ok(()) } else { self.flush() }
    }

    /// Hands what was written to the system: it survives the end of this process, of whatever kind.
    pub fn flush(&mut self) -> Result<(), RunError> {
        self.output.flush().map_err(|source| self.failed(source))
    }

    /// Writes the closing record and syncs the file.
    pub fn finish(mut self, record: Record) -> Result<PathBuf, RunError> {
        self.close(record).map_err(|source| self.failed(source))?;
        Ok(self.path)
    }

    fn close(&mut self, record: Record) -> io::Result<()> {
        if let Output::Compressed(stream) = &mut self.output {
            // The record is a stream of its own, which a list of runs finds without decompressing the rest.
            stream.try_finish()?;
            let file = stream.get_ref().try_clone()?;
            self.output = Output::Compressed(GzEncoder::new(file, Compression::default()));
        }
        self.append(&LabEvent::Record(Box::new(record)))?;
        match &mut self.output {
            Output::Plain(file) => {
                file.flush()?;
                file.get_ref().sync_all()
            }
            Output::Compressed(stream) => {
                stream.try_finish()?;
                stream.get_ref().sync_all()
            }
        }
    }

    fn append(&mut self, event: &LabEvent) -> io::Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        self.written_bytes += line.len() as u64;
        self.output.write_all(&line)
    }

    fn failed(&self, source: io::Error) -> RunError {
        let path = self.path.clone();
        if self.is_of_lab { RunError::Write { path, source } } else { RunError::Record { path, source } }
    }
}
