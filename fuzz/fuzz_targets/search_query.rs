//! Any text is a query: no panic, and highlights that lie within the text. `cargo +nightly fuzz run search_query`.
#![no_main]

use std::sync::LazyLock;

use infralab::library::{Library, Source};
use infralab::search::{Filter, SearchIndex};
use libfuzzer_sys::fuzz_target;

static INDEX: LazyLock<SearchIndex> = LazyLock::new(|| {
    let index = SearchIndex::build(&Library::load(&Source::Embedded));
    index.dictionary().load();
    index
});

fuzz_target!(|query: &str| {
    let results = INDEX.search(query, &Filter::default());
    for hit in &results.hits {
        for range in &hit.snippet.highlights {
            assert!(hit.snippet.text.get(range.clone()).is_some_and(|text| !text.is_empty()));
        }
        for range in &hit.title_highlights {
            assert!(hit.title.get(range.clone()).is_some_and(|text| !text.is_empty()));
        }
    }
});
