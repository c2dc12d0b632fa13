//! What the search costs: time to build, memory, and a keystroke, for the shipped content and for 10,000 documents of
//! 50 MB whose words follow Zipf's law, half of them Chinese.

#![expect(clippy::print_stdout, reason = "the figures are what it is run for")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use infralab::lang::Lang;
use infralab::library::{Library, Source};
use infralab::search::{Extra, Filter, OwnNote, SearchIndex};

const DOCUMENTS: usize = 10_000;
const BYTES_PER_DOCUMENT: usize = 5_000;
const WORDS: usize = 60_000;
const ROUNDS: usize = 5;

const TYPED: [&str; 14] = [
    "attention kv cache",
    "显存带宽瓶颈",
    "在线softmax",
    "what is the kv cache",
    "atentoin",
    "tensor parallelism",
    "the of and to",
    "的一是在有",
    "为什么解码阶段受显存带宽限制",
    "flash attention v2 显存",
    "xiancun daikuan",
    "KV缓存",
    "memroy bandwidht",
    "qzxv 没有的词",
];

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn zipf(&mut self, n: usize) -> usize {
        let unit = (self.below(1 << 24) + 1) as f64 / f64::from(1 << 24);
        ((n as f64).powf(unit) - 1.0) as usize % n
    }
}

fn is_han(c: char) -> bool {
    ('\u{4e00}'..='\u{9fff}').contains(&c)
}

struct Words {
    of: [Vec<String>; 2],
}

impl Words {
    fn new(shipped: &Library, dice: &mut Dice) -> Self {
        let mut counts = [const { std::collections::BTreeMap::<String, usize>::new() }; 2];
        let mut add = |list: usize, word: &str| *counts[list].entry(word.to_owned()).or_default() += 1;
        for note in &shipped.notes {
            for word in
                note.text.en.body.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty())
            {
                add(0, word);
            }
            for run in note.text.zh.body.split(|c: char| !is_han(c)) {
                let chars: Vec<char> = run.chars().collect();
                for piece in chars.chunks(2) {
                    add(1, &piece.iter().collect::<String>());
                }
            }
        }
        let of = counts.map(|counts| {
            let mut words: Vec<_> = counts.into_iter().filter(|(w, _)| !w.is_empty()).collect();
            words.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            words.into_iter().map(|(word, _)| word).collect::<Vec<_>>()
        });
        let mut words = Self { of };
        while words.of[0].len() < WORDS {
            let syllables = 2 + dice.below(3);
            let word = (0..syllables).fold(String::new(), |mut word, _| {
                word.push(char::from(b"bcdfghklmnprstvw"[dice.below(16)]));
                word.push(char::from(b"aeiou"[dice.below(5)]));
                word
            });
            words.of[0].push(word);
        }
        while words.of[1].len() < WORDS {
            let length = 1 + usize::from(dice.below(4) > 0) + usize::from(dice.below(4) == 0);
            let han = |dice: &mut Dice| char::from_u32(0x4e00 + 5 * dice.zipf(3_000) as u32).unwrap_or('显');
            words.of[1].push((0..length).map(|_| han(dice)).collect());
        }
        words
    }

    fn sentence(&self, lang: Lang, dice: &mut Dice, out: &mut String) {
        for i in 0..8 + dice.below(12) {
            let foreign = dice.below(12) == 0;
            let list = usize::from((lang == Lang::Zh) != foreign);
            if i > 0 && (lang == Lang::En || foreign) {
                out.push(' ');
            }
            out.push_str(&self.of[list][dice.zipf(WORDS)]);
        }
        out.push_str(lang.pick(". ", "。"));
    }

    fn document(&self, lang: Lang, dice: &mut Dice) -> String {
        let mut text = String::with_capacity(BYTES_PER_DOCUMENT + 400);
        while text.len() < BYTES_PER_DOCUMENT {
            match dice.below(10) {
                0 => text.push_str("## "),
                1 | 2 => text.push_str("- "),
                3 => text.push_str("> "),
                _ => self.sentence(lang, dice, &mut text),
            }
            self.sentence(lang, dice, &mut text);
            text.push_str("\n\n");
        }
        text
    }
}

fn write_library(root: &Path, words: &Words, dice: &mut Dice) -> std::io::Result<()> {
    let folder = root.join("content/0-bench");
    std::fs::create_dir_all(&folder)?;
    for i in 0..DOCUMENTS / 2 {
        for lang in Lang::ALL {
            let (mut title, mut note) = (String::new(), String::new());
            words.sentence(lang, dice, &mut title);
            let _ = write!(
                note,
                "+++\nid = \"n{i}\"\ntitle = \"{title}\"\nphase = 0\nlayer = \"system\"\norder = {i}\nterms = [\"kv-cache\"]\nsources = [\"bench\"]\nchecked = 2026-12-01\nsummary = \"{title}\"\n+++\n"
            );
            note.push_str(&words.document(lang, dice));
            std::fs::write(folder.join(format!("n{i}.{}.md", lang.code())), note)?;
        }
    }
    std::fs::create_dir_all(root.join("glossary"))?;
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("glossary"))? {
        let entry = entry?;
        std::fs::copy(entry.path(), root.join("glossary").join(entry.file_name()))?;
    }
    Ok(())
}

fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    pages.and_then(|s| s.split(' ').nth(1)?.parse::<u64>().ok()).unwrap_or(0) * 4096
}

fn quantiles(name: &str, what: &str, took: &mut [(Duration, String)]) {
    took.sort_unstable();
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize].0.as_secs_f64() * 1e3;
    let (p50, p99, max) = (at(0.5), at(0.99), at(1.0));
    println!("{name:<26} {what} p50 {p50:.3} ms, p99 {p99:.3} ms, max {max:.3} ms");
}

fn keystrokes(name: &str, index: &SearchIndex) {
    let filter = Filter { prefer: Lang::Zh, limit: 50, ..Filter::default() };
    let mut took: Vec<(Duration, String)> = Vec::new();
    for typed in TYPED.into_iter().cycle().take(ROUNDS * TYPED.len()) {
        for (at, c) in typed.char_indices() {
            let query = &typed[..at + c.len_utf8()];
            let started = Instant::now();
            black_box(index.search(black_box(query), &filter));
            took.push((started.elapsed(), query.to_owned()));
        }
    }
    quantiles(name, "keystroke", &mut took);
    for (took, query) in took.iter().rev().take(3) {
        println!("{:<26}   {:>8.3} ms  {query}", "", took.as_secs_f64() * 1e3);
    }
}

fn built(name: &str, build: impl FnOnce() -> SearchIndex) -> SearchIndex {
    let (before, started) = (resident_bytes(), Instant::now());
    let index = build();
    let (seconds, bytes) = (started.elapsed().as_secs_f64(), resident_bytes().saturating_sub(before));
    println!("{name:<26} built in {seconds:.3} s, {:.1} MB", bytes as f64 / 1e6);
    let (before, started) = (resident_bytes(), Instant::now());
    index.dictionary().load();
    let (seconds, bytes) = (started.elapsed().as_secs_f64(), resident_bytes().saturating_sub(before));
    println!("{name:<26} dictionary loaded in {seconds:.3} s, {:.1} MB", bytes as f64 / 1e6);
    index
}

fn own_note(id: usize, words: &Words, dice: &mut Dice) -> Extra {
    let lang = Lang::ALL[id % 2];
    let mut title = String::new();
    words.sentence(lang, dice, &mut title);
    let markdown = words.document(lang, dice);
    Extra::Own(OwnNote { id: format!("own-{id}"), title, markdown, ..OwnNote::default() })
}

fn shipped() {
    let library = Library::load(&Source::Embedded);
    let index = built("shipped", || SearchIndex::build(&library));
    keystrokes("shipped", &index);
}

fn bilingual() {
    let mut dice = Dice(7);
    let words = Words::new(&Library::load(&Source::Embedded), &mut dice);
    let root = tempfile::tempdir().expect("a directory for the library");
    write_library(root.path(), &words, &mut dice).expect("the library is written");
    let library = Library::load(&Source::Directory(root.path().to_owned()));
    let bytes: usize = library.notes.iter().map(|n| n.text.en.body.len() + n.text.zh.body.len()).sum();
    let name = "5,000 notes, 2 languages";
    println!("{name:<26} {:.1} MB of text", bytes as f64 / 1e6);
    let index = built(name, || SearchIndex::build(&library));
    keystrokes(name, &index);
}

fn own() {
    let mut dice = Dice(11);
    let library = Library::load(&Source::Embedded);
    let words = Words::new(&library, &mut dice);
    let notes: Vec<Extra> = (0..DOCUMENTS).map(|id| own_note(id, &words, &mut dice)).collect();
    let name = "10,000 own notes";
    let mut index = built(name, || SearchIndex::build_with(&library, &notes));
    keystrokes(name, &index);
    let mut took: Vec<(Duration, String)> = Vec::new();
    for _ in 0..500 {
        let note = own_note(dice.below(DOCUMENTS), &words, &mut dice);
        let started = Instant::now();
        index.put(&note);
        took.push((started.elapsed(), String::new()));
    }
    quantiles(name, "one saved", &mut took);
}

const SCENARIOS: [(&str, fn()); 3] = [("shipped", shipped), ("bilingual", bilingual), ("own", own)];

fn main() -> std::io::Result<()> {
    let asked = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    for (name, run) in SCENARIOS {
        match asked.as_deref() {
            Some(asked) if asked == name => run(),
            Some(_) => {}
            None => {
                let program = std::env::current_exe()?;
                std::process::Command::new(program).arg(name).status()?;
            }
        }
    }
    Ok(())
}
