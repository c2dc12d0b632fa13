//! What a learner knows, as an append-only log of events: the log is the only truth, the state is folded from it.

mod log;
mod places;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

pub use log::{Log, LogError};
pub use places::{Places, ReadingPlace};

/// Mastery of a term or note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// Can explain it and use its numbers.
    Known,
    /// Being learned.
    Learning,
    /// On the list.
    Todo,
}

impl Mark {
    /// The three, most mastered first.
    pub const ALL: [Self; 3] = [Self::Known, Self::Learning, Self::Todo];

    /// The word on the command line and in the log.
    pub fn word(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::Learning => "learning",
            Self::Todo => "todo",
        }
    }
}

impl std::str::FromStr for Mark {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|m| m.word() == text)
            .ok_or_else(|| format!("unknown mark `{text}`: use known, learning or todo"))
    }
}

/// What a mark is put on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Subject {
    /// `term` or `note`.
    pub kind: SubjectKind,
    /// Id of the term or note.
    pub id: String,
}

/// Kind of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SubjectKind {
    /// A glossary term.
    Term,
    /// A note.
    Note,
}

impl Subject {
    /// A term.
    pub fn term(id: impl Into<String>) -> Self {
        Self { kind: SubjectKind::Term, id: id.into() }
    }

    /// A note.
    pub fn note(id: impl Into<String>) -> Self {
        Self { kind: SubjectKind::Note, id: id.into() }
    }
}

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Format version.
    pub v: u32,
    /// Unique over machines and instances: lets logs be merged and entries be undone.
    pub id: String,
    /// Wall clock, ms since 1970.
    pub at_ms: u64,
    /// What happened.
    #[serde(flatten)]
    pub change: Change,
}

/// What can happen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Change {
    /// A mark was put (`Some`) or taken away (`None`).
    Mark {
        /// On what.
        subject: Subject,
        /// The new mark.
        mark: Option<Mark>,
    },
    /// An earlier entry no longer counts.
    Undo {
        /// Id of that entry.
        entry: String,
    },
}

impl Change {
    /// What it is about, by id.
    pub fn subject(&self) -> &str {
        match self {
            Self::Mark { subject, .. } => &subject.id,
            Self::Undo { entry } => entry,
        }
    }
}

/// The state folded from the log.
#[derive(Debug, Default, Clone)]
pub struct Progress {
    entries: Vec<Entry>,
    ids: HashSet<String>,
    marks: HashMap<Subject, Mark>,
}

impl Progress {
    /// Folds entries in; an entry that is already there is ignored.
    pub fn extend(&mut self, entries: impl IntoIterator<Item = Entry>) {
        let before = self.entries.len();
        self.entries.extend(entries.into_iter().filter(|e| self.ids.insert(e.id.clone())));
        if self.entries.len() > before {
            // Merged logs may interleave; ids break ties so that every machine folds the same way.
            self.entries.sort_by(|a, b| (a.at_ms, &a.id).cmp(&(b.at_ms, &b.id)));
            self.fold();
        }
    }

    fn fold(&mut self) {
        let undone: HashSet<&str> = self
            .entries
            .iter()
            .filter_map(|e| match &e.change {
                Change::Undo { entry } => Some(entry.as_str()),
                Change::Mark { .. } => None,
            })
            .collect();
        self.marks.clear();
        for entry in self.entries.iter().filter(|e| !undone.contains(e.id.as_str())) {
            if let Change::Mark { subject, mark } = &entry.change {
                match mark {
                    Some(mark) => self.marks.insert(subject.clone(), *mark),
                    None => self.marks.remove(subject),
                };
            }
        }
    }

    /// The mark on a term.
    pub fn term(&self, id: &str) -> Option<Mark> {
        self.marks.get(&Subject::term(id)).copied()
    }

    /// The mark on a note.
    pub fn note(&self, id: &str) -> Option<Mark> {
        self.marks.get(&Subject::note(id)).copied()
    }

    /// How many of these terms carry each mark: known, learning, todo, none.
    pub fn count<'a>(&self, terms: impl IntoIterator<Item = &'a str>) -> [usize; 4] {
        let mut counts = [0; 4];
        for id in terms {
            counts[self.term(id).map_or(3, |m| m as usize)] += 1;
        }
        counts
    }

    /// The newest mark that still counts, which `undo` would take back.
    pub fn last_mark(&self) -> Option<&Entry> {
        let undone: HashSet<&str> = self
            .entries
            .iter()
            .filter_map(|e| if let Change::Undo { entry } = &e.change { Some(entry.as_str()) } else { None })
            .collect();
        self.entries
            .iter()
            .rev()
            .find(|e| matches!(e.change, Change::Mark { .. }) && !undone.contains(e.id.as_str()))
    }

    /// All entries, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

/// A log on disk with the state folded from it. Saving writes first and changes the state only when that succeeded,
/// so what a screen shows is what is on disk.
#[derive(Debug)]
pub struct Store {
    log: Log,
    progress: Progress,
    /// Lines of the log that could not be read, kept in the file as they are.
    pub unreadable_lines: usize,
}

impl Store {
    /// Opens the log under the data directory; a log that does not exist yet is empty.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        let mut store = Self { log: Log::new(path), progress: Progress::default(), unreadable_lines: 0 };
        store.refresh()?;
        Ok(store)
    }

    /// A store that has nothing and whose saves fail with the reason why the log could not be opened.
    pub fn unavailable(path: &Path) -> Self {
        Self { log: Log::new(path), progress: Progress::default(), unreadable_lines: 0 }
    }

    /// Reads what other instances appended since the last look.
    pub fn refresh(&mut self) -> Result<(), LogError> {
        let (entries, unreadable) = self.log.read_new()?;
        self.unreadable_lines += unreadable;
        self.progress.extend(entries);
        Ok(())
    }

    /// The state.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Puts or takes away a mark, on disk before it returns.
    pub fn mark(&mut self, subject: Subject, mark: Option<Mark>) -> Result<(), LogError> {
        self.append(Change::Mark { subject, mark })
    }

    /// Takes back the newest mark; `None` when there is none.
    pub fn undo(&mut self) -> Result<Option<Entry>, LogError> {
        let Some(last) = self.progress.last_mark().cloned() else { return Ok(None) };
        self.append(Change::Undo { entry: last.id.clone() })?;
        Ok(Some(last))
    }

    /// Adds entries of another log that are not here yet; returns how many.
    pub fn merge(&mut self, entries: Vec<Entry>) -> Result<usize, LogError> {
        let new: Vec<Entry> = entries.into_iter().filter(|e| !self.progress.ids.contains(&e.id)).collect();
        if !new.is_empty() {
            self.log.append(&new)?;
        }
        let count = new.len();
        self.progress.extend(new);
        Ok(count)
    }

    fn append(&mut self, change: Change) -> Result<(), LogError> {
        let newest = self.progress.entries.last().map_or(0, |e| e.at_ms);
        // A clock that was set back must not put this entry before the ones that the learner just saw.
        let at_ms = infralab_labs::clock::unix_ms().max(newest + 1);
        let entry = Entry { v: log::FORMAT, id: log::unique_id(at_ms), at_ms, change };
        self.log.append(std::slice::from_ref(&entry))?;
        self.progress.extend([entry]);
        Ok(())
    }
}

/// Reads entries out of the text of a log, skipping lines that cannot be read; returns how many those were.
pub fn parse_log(text: &str) -> (Vec<Entry>, usize) {
    log::parse(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("new/progress.jsonl");
        (dir, path)
    }

    #[test]
    fn a_mark_is_on_disk_when_the_call_returns() {
        let (_dir, path) = store();
        Store::open(&path).expect("open").mark(Subject::term("gpu"), Some(Mark::Known)).expect("mark");
        let again = Store::open(&path).expect("open");
        assert_eq!(again.progress().term("gpu"), Some(Mark::Known));
        assert_eq!(again.progress().note("gpu"), None);
        assert_eq!(again.progress().count(["gpu", "cpu"]), [1, 0, 0, 1]);
    }

    #[test]
    fn two_instances_lose_nothing() {
        let (_dir, path) = store();
        let (mut a, mut b) = (Store::open(&path).expect("a"), Store::open(&path).expect("b"));
        a.mark(Subject::term("gpu"), Some(Mark::Known)).expect("a");
        b.mark(Subject::term("cpu"), Some(Mark::Todo)).expect("b");
        a.refresh().expect("refresh");
        assert_eq!(a.progress().term("cpu"), Some(Mark::Todo));
        assert_eq!(Store::open(&path).expect("c").progress().term("gpu"), Some(Mark::Known));
    }

    #[test]
    fn many_writers_at_once_lose_nothing() {
        let (_dir, path) = store();
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    let mut store = Store::open(path).expect("open");
                    for i in 0..20 {
                        store
                            .mark(Subject::term(format!("t{writer}-{i}")), Some(Mark::Learning))
                            .expect("mark");
                    }
                });
            }
        });
        let all = Store::open(&path).expect("open");
        assert_eq!((all.progress().entries().len(), all.unreadable_lines), (160, 0));
    }

    #[test]
    fn a_torn_last_line_costs_only_itself_at_every_byte() {
        let (_dir, path) = store();
        let mut first = Store::open(&path).expect("open");
        first.mark(Subject::term("gpu"), Some(Mark::Known)).expect("mark");
        let whole = std::fs::read(&path).expect("read");
        first.mark(Subject::term("cpu"), Some(Mark::Known)).expect("mark");
        let both = std::fs::read(&path).expect("read");
        for cut in whole.len()..both.len() {
            std::fs::write(&path, &both[..cut]).expect("write");
            let mut torn = Store::open(&path).expect("open");
            assert_eq!(torn.progress().term("gpu"), Some(Mark::Known), "cut at {cut}");
            torn.mark(Subject::term("nic"), Some(Mark::Todo)).expect("mark");
            let after = Store::open(&path).expect("open");
            assert_eq!(after.progress().term("nic"), Some(Mark::Todo), "cut at {cut}");
            assert_eq!(after.progress().term("gpu"), Some(Mark::Known), "cut at {cut}");
        }
    }

    #[test]
    fn undo_takes_back_the_newest_mark_and_can_be_repeated() {
        let (_dir, path) = store();
        let mut store = Store::open(&path).expect("open");
        store.mark(Subject::term("gpu"), Some(Mark::Todo)).expect("mark");
        store.mark(Subject::term("gpu"), Some(Mark::Known)).expect("mark");
        store.undo().expect("undo");
        assert_eq!(store.progress().term("gpu"), Some(Mark::Todo));
        store.undo().expect("undo");
        assert_eq!(store.progress().term("gpu"), None);
        assert_eq!(store.undo().expect("undo"), None);
    }

    #[test]
    fn lines_of_a_newer_version_are_kept_and_counted() {
        let (_dir, path) = store();
        let mut store = Store::open(&path).expect("open");
        store.mark(Subject::term("gpu"), Some(Mark::Known)).expect("mark");
        let mut text = std::fs::read_to_string(&path).expect("read");
        text.push_str("{\"v\":9,\"id\":\"x\",\"at_ms\":1,\"type\":\"dream\"}\n");
        std::fs::write(&path, &text).expect("write");
        let mut again = Store::open(&path).expect("open");
        assert_eq!(again.unreadable_lines, 1);
        again.mark(Subject::term("cpu"), Some(Mark::Known)).expect("mark");
        assert!(std::fs::read_to_string(&path).expect("read").contains("dream"));
    }

    #[test]
    fn a_log_that_cannot_be_written_says_so_and_keeps_the_state() {
        let dir = tempfile::tempdir().expect("temp dir");
        // A directory where the file should be fails for every user, root included.
        let path = dir.path().join("progress.jsonl");
        std::fs::create_dir(&path).expect("mkdir");
        assert!(Store::open(&path).is_err());
        let mut store = Store::unavailable(&path);
        let error = store.mark(Subject::term("gpu"), Some(Mark::Known)).unwrap_err().to_string();
        assert!(error.contains("progress.jsonl") && error.contains("earlier marks"), "{error}");
        assert_eq!(store.progress().term("gpu"), None);
    }

    #[test]
    fn a_full_disk_is_reported_and_nothing_is_shown_as_saved() {
        if !Path::new("/dev/full").exists() {
            return;
        }
        let mut store = Store::unavailable(Path::new("/dev/full"));
        let error = store.mark(Subject::term("gpu"), Some(Mark::Known)).unwrap_err().to_string();
        assert!(error.contains("not saved"), "{error}");
        assert_eq!(store.progress().term("gpu"), None);
    }
}
