//! Where the reader is in each note, and how much of it was seen. Not part of the log: a place that is lost costs a key
//! press, and it changes with every page.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Notes whose places are kept; of more, those read longest ago are dropped.
const MOST: usize = 5000;

/// A place in a note that survives another width and the other language.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadingPlace {
    /// Block, counted from 0.
    pub block: usize,
    /// Share of the block above the first row of the screen, 0 to 1.
    pub share: f32,
    /// Most of the note that was ever above the last row of the screen, percent.
    pub seen_pct: u8,
    /// When, Unix time in ms: the newer place wins where two instances saved one.
    pub unix_ms: u64,
}

/// The file with the places of all notes.
#[derive(Debug)]
pub struct Places {
    path: PathBuf,
    of_notes: BTreeMap<String, ReadingPlace>,
    changed: bool,
}

impl Places {
    /// Reads the file. One that is missing or damaged is an empty one: it holds nothing that a page key does not mend.
    pub fn open(path: &Path) -> Self {
        Self { path: path.to_owned(), of_notes: read(path).unwrap_or_default(), changed: false }
    }

    /// All places, by note.
    pub fn all(&self) -> &BTreeMap<String, ReadingPlace> {
        &self.of_notes
    }

    /// Puts a place; [`Places::save`] writes it. The share that was seen only grows.
    pub fn put(&mut self, note: &str, place: ReadingPlace) {
        let seen_pct = self.of_notes.get(note).map_or(0, |before| before.seen_pct).max(place.seen_pct);
        self.of_notes.insert(note.to_owned(), ReadingPlace { seen_pct, ..place });
        self.changed = true;
    }

    /// Writes what changed, with what another instance wrote meanwhile; the file is whole at every moment.
    ///
    /// # Errors
    /// Where the file cannot be written; the one before stays.
    pub fn save(&mut self) -> io::Result<()> {
        if !self.changed {
            return Ok(());
        }
        for (note, theirs) in read(&self.path).unwrap_or_default() {
            let ours = self.of_notes.entry(note).or_insert(theirs);
            let seen_pct = ours.seen_pct.max(theirs.seen_pct);
            let newer = if theirs.unix_ms > ours.unix_ms { theirs } else { *ours };
            *ours = ReadingPlace { seen_pct, ..newer };
        }
        while self.of_notes.len() > MOST {
            let oldest =
                self.of_notes.iter().min_by_key(|(_, place)| place.unix_ms).map(|(note, _)| note.clone());
            let Some(oldest) = oldest else { break };
            self.of_notes.remove(&oldest);
        }
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory)?;
        }
        let new = self.path.with_extension(format!("json.{}", std::process::id()));
        let written = File::create(&new).and_then(|mut file| {
            file.write_all(&serde_json::to_vec(&self.of_notes)?)?;
            fs::rename(&new, &self.path)
        });
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        self.changed = written.is_err();
        written
    }
}

fn read(path: &Path) -> Option<BTreeMap<String, ReadingPlace>> {
    // Opening a pipe would wait for a writer for ever.
    path.is_file().then(|| fs::read(path).ok())?.and_then(|bytes| serde_json::from_slice(&bytes).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(block: usize, seen_pct: u8, unix_ms: u64) -> ReadingPlace {
        ReadingPlace { block, share: 0.5, seen_pct, unix_ms }
    }

    #[test]
    fn what_was_seen_only_grows_and_survives_the_program() {
        let dir = tempfile::tempdir().expect("dir");
        let path = dir.path().join("data/places.json");
        let mut places = Places::open(&path);
        places.put("note:a", place(7, 80, 1));
        places.put("note:a", place(2, 30, 2));
        places.save().expect("saved");
        assert_eq!(Places::open(&path).all()["note:a"], place(2, 80, 2));
        assert_eq!(
            fs::read_dir(path.parent().expect("data")).expect("data").count(),
            1,
            "nothing is left over"
        );
    }

    #[test]
    fn two_instances_keep_each_others_places() {
        let dir = tempfile::tempdir().expect("dir");
        let path = dir.path().join("places.json");
        let (mut first, mut second) = (Places::open(&path), Places::open(&path));
        first.put("a", place(1, 10, 5));
        first.put("b", place(1, 90, 5));
        second.put("b", place(9, 20, 6));
        first.save().expect("saved");
        second.save().expect("saved");
        let both = Places::open(&path);
        assert_eq!((both.all()["a"], both.all()["b"]), (place(1, 10, 5), place(9, 90, 6)));
    }

    #[test]
    fn a_damaged_file_and_one_that_cannot_be_written_end_nothing() {
        let dir = tempfile::tempdir().expect("dir");
        let path = dir.path().join("places.json");
        fs::write(&path, "{\"a\": 1").expect("written");
        let mut places = Places::open(&path);
        assert!(places.all().is_empty());
        places.put("a", place(1, 1, 1));
        places.save().expect("saved over the damaged one");
        let mut places = Places::open(&dir.path().join("places.json/below/a/file"));
        places.put("a", place(1, 1, 1));
        assert!(places.save().is_err());
        assert_eq!(places.all().len(), 1);
    }

    #[test]
    fn the_oldest_make_room() {
        let dir = tempfile::tempdir().expect("dir");
        let mut places = Places::open(&dir.path().join("places.json"));
        for i in 0..MOST as u64 + 3 {
            places.put(&format!("{i}"), place(0, 0, i));
        }
        places.save().expect("saved");
        assert_eq!(places.all().len(), MOST);
        assert!(!places.all().contains_key("2") && places.all().contains_key("3"));
    }
}
