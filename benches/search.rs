//! How long a keystroke takes in a library of 400 notes, and how long the index takes to build.
//!
//! The notes are the shipped paragraphs in random order with some invented words, so that word frequencies are those
//! of real text while the vocabulary grows with the library. The goal is a keystroke under 5 ms.

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use infralab::lang::Lang;
use infralab::library::{Library, Source};
use infralab::search::{Filter, SearchIndex};

const NOTES: usize = 400;
const PARAGRAPHS_PER_NOTE: usize = 60;

/// A small generator, the same on every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

fn write_library(root: &Path) -> std::io::Result<()> {
    let shipped = Library::load(&Source::Embedded);
    let folder = root.join("content/0-bench");
    std::fs::create_dir_all(&folder)?;
    let mut dice = Dice(7);
    for lang in Lang::ALL {
        let paragraphs: Vec<&str> =
            shipped.notes.iter().flat_map(|n| n.text.get(lang).body.split("\n\n")).collect();
        for i in 0..NOTES {
            let mut note = format!(
                "+++\nid = \"n{i}\"\ntitle = \"{} {i}\"\nphase = 0\nlayer = \"system\"\norder = {i}\nterms = [\"kv-cache\"]\nsources = [\"bench\"]\nchecked = 2026-12-01\nsummary = \"{}\"\n+++\n",
                lang.pick("Memory and attention", "显存与注意力"),
                lang.pick("What fills the card.", "显存里住着谁。"),
            );
            for _ in 0..PARAGRAPHS_PER_NOTE {
                let paragraph = paragraphs[dice.below(paragraphs.len())];
                let _ = write!(note, "{paragraph}\n\nword{}\n\n", dice.below(20_000));
            }
            std::fs::write(folder.join(format!("n{i}.{}.md", lang.code())), note)?;
        }
    }
    std::fs::create_dir_all(root.join("glossary"))?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("glossary");
    for entry in std::fs::read_dir(source)? {
        let entry = entry?;
        std::fs::copy(entry.path(), root.join("glossary").join(entry.file_name()))?;
    }
    Ok(())
}

fn search(c: &mut Criterion) {
    let root = tempfile::tempdir().expect("a directory for the library");
    write_library(root.path()).expect("the library is written");
    let library = Library::load(&Source::Directory(root.path().to_owned()));
    assert_eq!(library.notes.len(), NOTES);

    let shipped = Library::load(&Source::Embedded);
    let mut group = c.benchmark_group("build");
    group.sample_size(10);
    group.bench_function("shipped", |b| {
        b.iter_batched(|| (), |()| SearchIndex::build(&shipped), BatchSize::PerIteration);
    });
    group.bench_function("400 notes", |b| {
        b.iter_batched(|| (), |()| SearchIndex::build(&library), BatchSize::PerIteration);
    });
    group.finish();

    let index = SearchIndex::build(&library);
    let filter = Filter { prefer: Lang::Zh, limit: 50, ..Filter::default() };
    let mut group = c.benchmark_group("keystroke");
    for typed in
        ["attention kv cache", "显存带宽瓶颈", "在线softmax", "what is the kv cache", "atentoin", "a"]
    {
        let keystrokes: Vec<&str> = typed.char_indices().map(|(at, c)| &typed[..at + c.len_utf8()]).collect();
        let mut next = keystrokes.iter().cycle();
        group.bench_function(typed, |b| {
            b.iter(|| index.search(black_box(next.next().expect("a cycle")), &filter));
        });
    }
    group.finish();
}

criterion_group!(benches, search);
criterion_main!(benches);
