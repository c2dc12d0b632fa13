//! What the search promises, on the shipped content.

mod changes;
mod judged;
mod properties;

use std::sync::LazyLock;

use super::*;
use crate::library::Source;
use crate::progress::{Change, Entry, Mark, Progress, Subject};

/// The shipped content, with the dictionary loaded.
static INDEX: LazyLock<SearchIndex> = LazyLock::new(|| {
    let index = SearchIndex::build(&Library::load(&Source::Embedded));
    index.dictionary().load();
    index
});

fn search(query: &str, filter: &Filter<'_>) -> Results {
    INDEX.search(query, filter)
}

fn found(query: &str) -> Vec<String> {
    let hits = search(query, &Filter::default()).hits;
    hits.iter().map(|h| format!("{}:{}", h.kind.id(), h.id)).collect()
}

#[test]
fn languages_are_joined_by_names() {
    for (query, id) in [("显存", "gpu-memory"), ("KV缓存", "kv-cache"), ("张量并行", "tensor-parallelism")]
    {
        let filter = Filter { lang: Some(Lang::En), ..Filter::default() };
        let hits = search(query, &filter).hits;
        assert_eq!(hits[0].id, id, "{query}");
        assert!(hits.iter().all(|h| h.lang == Some(Lang::En)));
    }
    let zh = Filter { lang: Some(Lang::Zh), ..Filter::default() };
    assert_eq!(search("tensor parallelism", &zh).hits[0].title, "张量并行");
}

#[test]
fn everything_is_listed_once_and_in_the_preferred_language() {
    for prefer in Lang::ALL {
        let results = search("attention", &Filter { prefer, limit: 100, ..Filter::default() });
        let mut seen: Vec<(Kind, &str)> = results.hits.iter().map(|h| (h.kind, h.id.as_str())).collect();
        seen.sort_unstable_by_key(|(kind, id)| (kind.id(), *id));
        let before = seen.len();
        seen.dedup();
        assert_eq!(seen.len(), before);
        assert_eq!(results.hits[0].lang, Some(prefer));
        assert_eq!(results.total, results.hits.len());
    }
}

#[test]
fn the_other_language_is_shown_where_only_it_matches() {
    // The Chinese document knows the English title too, but has no such word to show.
    let filter = Filter { prefer: Lang::Zh, ..Filter::default() };
    let hit = &search("memory bills", &filter).hits[0];
    assert_eq!((hit.id.as_str(), hit.lang), ("training-inference-rl", Some(Lang::En)));
}

#[test]
fn kinds_and_limits_are_kept() {
    for kind in [Kind::Note, Kind::Term, Kind::Lab] {
        let results = search("attention", &Filter { kind: Some(kind), limit: 2, ..Filter::default() });
        assert!(!results.hits.is_empty() && results.hits.len() <= 2 && results.total >= results.hits.len());
        assert!(results.hits.iter().all(|h| h.kind == kind));
    }
    let none = search("attention", &Filter { limit: 0, ..Filter::default() });
    assert!(none.hits.is_empty() && none.total > 0);
}

#[test]
fn a_passage_names_its_heading_and_a_title_leads_to_the_beginning() {
    let notes = Filter { kind: Some(Kind::Note), prefer: Lang::Zh, ..Filter::default() };
    let hit = &search("六个仪表", &notes).hits[0];
    assert_eq!(hit.anchor.as_deref(), Some("六个仪表"));
    assert!(hit.snippet.text.starts_with("六个仪表"), "{}", hit.snippet.text);
    let hit = &search("数量级", &notes).hits[0];
    assert_eq!((hit.id.as_str(), &hit.anchor), ("units-and-orders", &None));
    for hit in search("显存", &Filter { limit: 50, ..notes }).hits {
        let library = Library::load(&Source::Embedded);
        let note = library.note(&hit.id).expect("a hit is a note");
        let anchors = crate::library::headings(&note.text.get(hit.lang.expect("a note has one")).body);
        assert!(hit.anchor.is_none_or(|a| anchors.iter().any(|h| h.anchor == a)), "{}", hit.id);
    }
}

#[test]
fn han_characters_are_not_matched_loosely() {
    // Both characters are common; the word is not there.
    let results = search("存显", &Filter::default());
    assert!(results.total == 0, "{results:?}");
    for hit in search("带宽", &Filter { prefer: Lang::Zh, ..Filter::default() }).hits {
        for range in &hit.snippet.highlights {
            assert_eq!(&hit.snippet.text[range.clone()], "带宽");
        }
    }
}

#[test]
fn what_matches_in_part_is_marked_so() {
    let results = search("显存 qqqqqq", &Filter::default());
    assert!(results.partial && results.hits[0].id == "gpu-memory");
    assert!(!search("显存", &Filter::default()).partial);
    assert_eq!(search("qqqqqq", &Filter::default()).total, 0);
}

#[test]
fn nothing_is_found_by_punctuation_alone() {
    for query in ["", " ", "（）", "\"", "::", "*", "“”", "\u{301}", "🙂"] {
        assert_eq!(search(query, &Filter::default()).total, 0, "{query}");
    }
}

#[test]
fn an_empty_library_is_searched_too() {
    let index = SearchIndex::build(&Library::default());
    assert!(index.search("注意力", &Filter::default()).hits.iter().all(|h| h.kind == Kind::Lab));
}

#[test]
fn a_pasted_page_is_a_query_like_any_other() {
    let page = "注意力 attention 显存 ".repeat(2000);
    let results = search(&page, &Filter::default());
    assert!(results.took_us < 2_000_000, "{} µs", results.took_us);
    assert!(!results.hits.is_empty());
}

#[test]
fn conditions_narrow_in_the_query_as_from_outside() {
    let typed = search("kind:term layer:serving 缓存", &Filter::default());
    let chosen = Filter { kind: Some(Kind::Term), layer: Some(Layer::Serving), ..Filter::default() };
    assert_eq!(typed.hits, search("缓存", &chosen).hits);
    assert!(typed.total > 0 && typed.hits.iter().all(|h| h.kind == Kind::Term));
    assert_eq!(search("类型：术语 层：推理服务 缓存", &Filter::default()).hits, typed.hits);
    let both = search("kind:term kind:lab 注意力", &Filter::default());
    assert!(both.hits.iter().any(|h| h.kind == Kind::Lab) && both.hits.iter().any(|h| h.kind == Kind::Term));
    let against = Filter { kind: Some(Kind::Note), ..Filter::default() };
    assert_eq!(search("kind:term 注意力", &against).total, 0);
    let all = search("kind:lab", &Filter::default());
    assert_eq!(all.total, infralab_labs::LABS.len());
    assert!(all.hits.iter().all(|h| !h.snippet.text.is_empty()));
    let hits = |query: &str| search(query, &Filter::default()).hits;
    assert_eq!(hits("nokind:term 显存"), hits("nokind term 显存"), "what is unknown is words");
}

#[test]
fn facets_count_what_another_choice_would_give() {
    let all = search("显存", &Filter { limit: 500, ..Filter::default() });
    let counted = |kind: Kind| all.hits.iter().filter(|h| h.kind == kind).count();
    for (kind, count) in &all.facets.kinds {
        assert_eq!(*count, counted(*kind));
    }
    assert_eq!(all.facets.kinds.iter().map(|(_, count)| count).sum::<usize>(), all.total);
    let terms = search("显存", &Filter { kind: Some(Kind::Term), ..Filter::default() });
    assert_eq!(terms.facets.kinds, all.facets.kinds);
    assert_eq!(terms.facets.layers.iter().map(|(_, count)| count).sum::<usize>(), terms.total);
}

#[test]
fn states_come_from_the_marks() {
    let mark = |id: &str, mark: Mark| Entry {
        v: 1,
        id: id.into(),
        at_ms: 1,
        change: Change::Mark { subject: Subject::term(id), mark: Some(mark) },
    };
    let mut progress = Progress::default();
    progress.extend([mark("gpu-memory", Mark::Learning), mark("hbm", Mark::Known)]);
    let filter = Filter { progress: Some(&progress), ..Filter::default() };
    let learning = search("state:learning 显存", &filter);
    assert_eq!(learning.hits.iter().map(|h| h.id.as_str()).collect::<Vec<_>>(), ["gpu-memory"]);
    assert_eq!(learning.hits[0].state, State::Learning);
    assert!(learning.facets.states.contains(&(State::Known, 1)));
    assert_eq!(search("状态:已掌握", &filter).hits[0].id, "hbm");
    assert_eq!(search("state:learning 显存", &Filter::default()).total, 0);
}

#[test]
fn quotes_keep_words_together() {
    let exact = search("\"score matrix\"", &Filter { limit: 100, lang: Some(Lang::En), ..Filter::default() });
    assert!(!exact.partial && exact.total > 0);
    let loose = search("matrix score", &Filter { limit: 100, lang: Some(Lang::En), ..Filter::default() });
    assert!(loose.total >= exact.total);
    let reversed = search("\"matrix score\"", &Filter::default());
    assert!(reversed.partial, "what nobody wrote is looked for word by word, and marked so");
    assert!(search("“显存带宽", &Filter::default()).hits.iter().any(|h| h.id == "memory-bandwidth"));
}

#[test]
fn a_star_asks_for_beginnings() {
    let whole = search("atten memory", &Filter { limit: 100, ..Filter::default() });
    let begun = search("atten* memory", &Filter { limit: 100, ..Filter::default() });
    assert!(begun.total > 0 && !begun.partial);
    assert!(whole.partial || whole.total <= begun.total);
}

#[test]
fn hyphens_and_spaces_do_not_matter() {
    for query in ["pre-fill", "prefill", "pre fill", "Pre‑Fill", "pre_fill"] {
        assert_eq!(found(query)[0], "term:prefill", "{query}");
    }
}

#[test]
fn the_search_works_before_the_dictionary_is_there() {
    let index = SearchIndex::build(&Library::load(&Source::Embedded));
    for (query, id) in
        [("显存", "gpu-memory"), ("什么是显存带宽", "memory-bandwidth"), ("KV缓存", "kv-cache")]
    {
        assert_eq!(index.search(query, &Filter::default()).hits[0].id, id, "{query}");
    }
    index.dictionary().load();
    assert!(index.dictionary().is_loaded());
}

#[test]
fn a_hit_opens_at_its_block() {
    let filter = Filter { kind: Some(Kind::Note), prefer: Lang::Zh, ..Filter::default() };
    let hit = &search("六个仪表", &filter).hits[0];
    let library = Library::load(&Source::Embedded);
    let text = library.note(&hit.id).expect("a note").text.zh.clone();
    let shown = crate::reader::Document::parse(&format!("*{}*\n\n{}", text.summary, text.body)).layout(80);
    let row = shown.row_of_block(hit.block.expect("a passage stands in a block"));
    assert!(shown.rows[row].text().contains("六个仪表"), "{}", shown.rows[row].text());
    assert_eq!(shown.row_of_anchor(hit.anchor.as_deref().expect("a heading")), Some(row));
}
