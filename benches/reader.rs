//! How long a note takes from Markdown to rows: the longest shipped one, and one of 5 MB with 40,000 headings.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use infralab::library::{Library, Source};
use infralab::reader::Document;

const WIDTH: u16 = 80;
const HEADINGS: usize = 40_000;

fn rows(text: &str) -> usize {
    Document::parse(text).layout(WIDTH).rows.len()
}

fn reader(c: &mut Criterion) {
    let library = Library::load(&Source::Embedded);
    let longest =
        library.notes.iter().map(|n| n.text.zh.body.as_str()).max_by_key(|b| b.len()).expect("notes");
    c.bench_function("longest shipped note, Chinese", |b| b.iter(|| rows(black_box(longest))));

    let section = |n: usize| {
        format!(
            "## 第 {n} 节 heading\n\n显存带宽决定解码速度，text with **strong** words and `code` here; enough to \
             fill two lines of it.\n\n"
        )
    };
    let huge: String = (0..HEADINGS).map(section).collect();
    let mut group = c.benchmark_group("huge");
    group.sample_size(10);
    group.bench_function("5 MB with 40,000 headings", |b| b.iter(|| rows(black_box(&huge))));
    group.finish();
}

criterion_group!(benches, reader);
criterion_main!(benches);
