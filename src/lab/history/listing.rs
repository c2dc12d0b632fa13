//! What runs there are, and which of them pass a filter.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use infralab_labs::protocol::Event;
use infralab_labs::spec::Size;

use super::{Place, RunError, SHIPPED, content, stem};
use crate::lab::record::watched;
use crate::lab::{Header, LabEvent, MONITOR, Record, parse};
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
        let of_readings = || watched(&header).map(|d| d.name);
        Self { device: of_record.or(device).or_else(of_readings), header, record, place }
    }

    /// Whether it is a recording of readings alone, and of no lab.
    pub fn is_of_readings(&self) -> bool {
        self.header.request.lab == MONITOR
    }

    /// Word for its size; a recording of readings has none.
    pub fn size_name(&self) -> &'static str {
        if self.is_of_readings() { "–" } else { self.header.request.size.name() }
    }

    /// Whether it is a recording that ships with the program.
    pub fn shipped(&self) -> bool {
        matches!(self.place, Place::Shipped(_))
    }

    /// How it ended: the record's word, or `cut off` without one.
    pub fn outcome(&self) -> &str {
        self.record.as_ref().map_or("cut off", |r| r.outcome.as_str())
    }

    /// Name of its file where that is not its id: a copy, or a recording that ships with the program.
    pub fn known_as(&self) -> Option<String> {
        let name = match &self.place {
            Place::File(path) => path.file_name().unwrap_or_default().to_string_lossy(),
            Place::Shipped(name) => stem(name).unwrap_or(name).into(),
        };
        (stem(&name) != Some(&self.header.run)).then(|| visible_line(&name))
    }

    /// Whether every word occurs in its id, lab, size, device, outcome or file name, in any case. `more` are further
    /// words that it answers to.
    pub fn matches(&self, words: &str, more: &str) -> bool {
        let text = [
            self.header.run.as_str(),
            &self.header.request.lab,
            self.size_name(),
            self.device.as_deref().unwrap_or_default(),
            self.outcome(),
            &self.known_as().unwrap_or_default(),
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
            let is_named_so =
                |p: &PathBuf| p.file_name().is_some_and(|name| stem(&name.to_string_lossy()).is_some());
            for path in entries.flatten().map(|e| e.path()).filter(is_named_so) {
                match listed(&path) {
                    Ok(run) => runs.push(run),
                    Err(error) => unreadable.push(Unreadable { path, why: error.to_string() }),
                }
            }
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(source) => return Err(RunError::Read { path: dir.into(), source }),
    }
    let age = |run: &Listed| (run.header.unix_ms, run.header.run.clone(), run.known_as());
    runs.sort_by_cached_key(|run| std::cmp::Reverse(age(run)));
    unreadable.sort_by(|a, b| a.path.cmp(&b.path));
    runs.extend(shipped());
    Ok((runs, unreadable))
}

/// Recordings that ship with the program: of labs, then of readings, by name.
pub fn shipped() -> Vec<Listed> {
    let files = SHIPPED.files().filter(|file| stem(&file.path().display().to_string()).is_some());
    let mut runs: Vec<Listed> = files
        .filter_map(|file| {
            let ends = ends_of(Cursor::new(file.contents()), file.contents().len() as u64).ok()?;
            Some(ends.listed(Place::Shipped(file.path().display().to_string())))
        })
        .collect();
    runs.sort_by_key(Listed::is_of_readings);
    runs
}

fn listed(path: &Path) -> io::Result<Listed> {
    // Opening a pipe would wait for a writer for ever.
    if !path.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let file = File::open(path)?;
    let size_bytes = file.metadata()?.len();
    Ok(ends_of(BufReader::new(file), size_bytes)?.listed(Place::File(path.into())))
}

/// Both ends of a run.
struct Ends {
    header: Header,
    record: Option<Record>,
    /// Name of the device out of the worker's greeting, where no record tells it.
    greeted: Option<String>,
}

impl Ends {
    fn listed(self, place: Place) -> Listed {
        Listed::new(self.header, self.record, self.greeted, place)
    }
}

fn ends_of(mut from: impl BufRead + Seek, size_bytes: u64) -> io::Result<Ends> {
    if size_bytes == 0 {
        return Err(io::Error::other("it is empty"));
    }
    let is_compressed = content::is_compressed(from.fill_buf()?);
    let mut first = Vec::new();
    content::open(&mut from)?.take(END_BYTES).read_until(b'\n', &mut first)?;
    let Ok(LabEvent::Header(header)) = parse(&String::from_utf8_lossy(&first)) else {
        return Err(io::Error::other("its first line is no header of a run"));
    };
    from.seek(SeekFrom::Start(size_bytes.saturating_sub(END_BYTES)))?;
    let mut end = Vec::new();
    from.read_to_end(&mut end)?;
    let record = if !is_compressed {
        closing(&String::from_utf8_lossy(&end))
    } else if let Some(record) = content::last_stream(&end).as_deref().and_then(closing) {
        Some(record)
    } else {
        // Compressed by another program, or cut off: the end is only known to who has read the whole.
        from.seek(SeekFrom::Start(0))?;
        closing(&last_line(content::open(&mut from)?)?)
    };
    // A run that was cut off has no record to name the device; its greeting does.
    let greeted = if record.is_none() {
        from.seek(SeekFrom::Start(0))?;
        greeted(content::open(&mut from)?)?
    } else {
        None
    };
    Ok(Ends { header, record, greeted })
}

/// The record in the last line.
fn closing(end: &str) -> Option<Record> {
    match parse(end.lines().next_back()?) {
        Ok(LabEvent::Record(record)) => Some(*record),
        _ => None,
    }
}

/// The last line, up to where the file is damaged.
fn last_line(mut from: impl BufRead) -> io::Result<String> {
    let (mut line, mut last) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        match from.read_until(b'\n', &mut line) {
            Ok(0) => return Ok(String::from_utf8_lossy(&last).into_owned()),
            Ok(_) => std::mem::swap(&mut line, &mut last),
            // The rest is lost, and with it how the run ended.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(String::new()),
            Err(error) => return Err(error),
        }
    }
}

/// Name of the device out of the worker's greeting, which comes early.
fn greeted(from: impl BufRead) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    match from.take(END_BYTES).read_to_end(&mut head) {
        Err(error) if error.kind() != io::ErrorKind::InvalidData => return Err(error),
        _ => {}
    }
    let head = String::from_utf8_lossy(&head);
    let greeting = head.lines().filter(|l| l.contains("hello")).find_map(|line| match parse(line) {
        Ok(LabEvent::Worker(Event::Hello(hello))) => Some(hello.device.name),
        _ => None,
    });
    Ok(greeting)
}
