//! What runs there are, and which of them pass a filter.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use infralab_labs::protocol::Event;
use infralab_labs::spec::Size;

use super::{Place, RunError, SHIPPED};
use crate::lab::{Header, LabEvent, Record, parse};
use crate::visible::visible_line;

/// The end of a run file that is searched for its closing record, and the beginning that is searched for its device.
const END_BYTES: u64 = 256 << 10;

/// A line of the history.
#[derive(Debug, Clone)]
pub struct Listed {
    /// How it began.
    pub header: Header,
    /// How it ended; `None` when it was cut off.
    pub record: Option<Record>,
    /// Name of the device; `None` when the worker never said.
    pub device: Option<String>,
    /// Where it is.
    pub place: Place,
}

/// A file among the runs that is not one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The file.
    pub path: PathBuf,
    /// Why it is not listed as a run.
    pub why: String,
}

/// Which runs to list; what is `None` lets every run pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Id of the lab.
    pub lab: Option<String>,
    /// Part of the device's name, in any case.
    pub device: Option<String>,
    /// Size that was asked for.
    pub size: Option<Size>,
    /// How it ended: `completed`, `stopped`, `failed` or `cut off`.
    pub outcome: Option<String>,
}

impl Listed {
    fn new(header: Header, record: Option<Record>, device: Option<String>, place: Place) -> Self {
        let of_record = record.as_ref().and_then(|r| r.device.as_ref()).map(|d| d.name.clone());
        Self { device: of_record.or(device), header, record, place }
    }

    /// Whether it is a recording that ships with the program.
    pub fn shipped(&self) -> bool {
        matches!(self.place, Place::Shipped(_))
    }

    /// How it ended: the record's word, or `cut off` without one.
    pub fn outcome(&self) -> &str {
        self.record.as_ref().map_or("cut off", |r| r.outcome.as_str())
    }

    /// Name of its file where that is not its id: a copy.
    pub fn copied_as(&self) -> Option<String> {
        let Place::File(path) = &self.place else { return None };
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        (stem != self.header.run)
            .then(|| visible_line(&path.file_name().unwrap_or_default().to_string_lossy()))
    }

    /// Whether every word occurs in its id, lab, size, device, outcome or file name, in any case. `more` are further
    /// words that it answers to.
    pub fn matches(&self, words: &str, more: &str) -> bool {
        let text = [
            self.header.run.as_str(),
            &self.header.request.lab,
            self.header.request.size.name(),
            self.device.as_deref().unwrap_or_default(),
            self.outcome(),
            &self.copied_as().unwrap_or_default(),
            more,
        ]
        .join(" ")
        .to_lowercase();
        words.to_lowercase().split_whitespace().all(|word| text.contains(word))
    }
}

impl Filter {
    /// Whether a run is to be listed.
    pub fn passes(&self, run: &Listed) -> bool {
        let is = |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|w| w == found);
        let device = run.device.as_deref().unwrap_or_default().to_lowercase();
        is(&self.lab, &run.header.request.lab)
            && is(&self.outcome, run.outcome())
            && self.size.is_none_or(|size| size == run.header.request.size)
            && self.device.as_ref().is_none_or(|part| device.contains(&part.to_lowercase()))
    }
}

/// Every run under `dir`, newest first, then the shipped recordings. Files that are not runs are left out.
pub fn list(dir: &Path) -> Result<Vec<Listed>, RunError> {
    scan(dir).map(|(runs, _)| runs)
}

/// [`list`], and the files under `dir` that look like runs and are not, in the order of their names.
pub fn scan(dir: &Path) -> Result<(Vec<Listed>, Vec<Unreadable>), RunError> {
    let (mut runs, mut unreadable) = (Vec::new(), Vec::new());
    match std::fs::read_dir(dir) {
        Ok(entries) => {
            for path in
                entries.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "jsonl"))
            {
                match ends_of(&path) {
                    Ok(run) => runs.push(run),
                    Err(error) => unreadable.push(Unreadable { path, why: error.to_string() }),
                }
            }
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(source) => return Err(RunError::Read { path: dir.into(), source }),
    }
    let age = |run: &Listed| (run.header.unix_ms, run.header.run.clone(), run.copied_as());
    runs.sort_by_cached_key(|run| std::cmp::Reverse(age(run)));
    unreadable.sort_by(|a, b| a.path.cmp(&b.path));
    runs.extend(shipped());
    Ok((runs, unreadable))
}

/// Recordings that ship with the program.
pub fn shipped() -> Vec<Listed> {
    SHIPPED
        .files()
        .filter_map(|file| {
            let text = file.contents_utf8()?;
            let (header, record) = ends(text.lines().next()?, text.lines().next_back()?)?;
            Some(Listed::new(header, record, None, Place::Shipped(file.path().display().to_string())))
        })
        .collect()
}

fn ends_of(path: &Path) -> io::Result<Listed> {
    // Opening a pipe would wait for a writer for ever.
    if !path.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut reader = BufReader::new(File::open(path)?);
    let mut first = Vec::new();
    reader.by_ref().take(END_BYTES).read_until(b'\n', &mut first)?;
    let size = reader.get_ref().metadata()?.len();
    if size == 0 {
        return Err(io::Error::other("it is empty"));
    }
    reader.seek(SeekFrom::Start(size.saturating_sub(END_BYTES)))?;
    let mut tail = Vec::new();
    reader.read_to_end(&mut tail)?;
    let (first, tail) = (String::from_utf8_lossy(&first), String::from_utf8_lossy(&tail));
    let (header, record) = ends(&first, tail.lines().next_back().unwrap_or_default())
        .ok_or_else(|| io::Error::other("its first line is no header of a run"))?;
    // A run that was cut off has no record to name the device; its greeting does.
    let device = if record.is_none() { greeted(&mut reader)? } else { None };
    Ok(Listed::new(header, record, device, Place::File(path.into())))
}

fn ends(first: &str, last: &str) -> Option<(Header, Option<Record>)> {
    let LabEvent::Header(header) = parse(first).ok()? else { return None };
    let record = match parse(last) {
        Ok(LabEvent::Record(record)) => Some(*record),
        _ => None,
    };
    Some((header, record))
}

/// Name of the device out of the worker's greeting, which comes early.
fn greeted(reader: &mut BufReader<File>) -> io::Result<Option<String>> {
    reader.seek(SeekFrom::Start(0))?;
    let mut head = Vec::new();
    reader.take(END_BYTES).read_to_end(&mut head)?;
    let head = String::from_utf8_lossy(&head);
    let greeting = head.lines().filter(|l| l.contains("hello")).find_map(|line| match parse(line) {
        Ok(LabEvent::Worker(Event::Hello(hello))) => Some(hello.device.name),
        _ => None,
    });
    Ok(greeting)
}
