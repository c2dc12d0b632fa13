//! Judged queries over the shipped content, and properties that hold for any query.

use std::sync::LazyLock;

use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use super::*;
use crate::library::Source;

static INDEX: LazyLock<SearchIndex> = LazyLock::new(|| SearchIndex::build(&Library::load(&Source::Embedded)));

fn search(query: &str, filter: &Filter) -> Results {
    INDEX.search(query, filter)
}

fn found(query: &str) -> Vec<String> {
    let hits = search(query, &Filter::default()).hits;
    hits.iter().map(|h| format!("{}:{}", h.kind.id(), h.id)).collect()
}

/// Query, what a reader expects to see, and how far down the list at most.
const JUDGED: &[(&str, &str, usize)] = &[
    // Names and other names, English.
    ("kv cache", "term:kv-cache", 1),
    ("KV", "term:kv-cache", 1),
    ("kvcache", "term:kv-cache", 1),
    ("attention", "term:attention", 1),
    ("self-attention", "term:attention", 1),
    ("VRAM", "term:gpu-memory", 1),
    ("gpu memory", "term:gpu-memory", 1),
    ("oom", "term:out-of-memory", 1),
    ("TP", "term:tensor-parallelism", 1),
    ("K8s", "term:kubernetes", 1),
    ("accelerator", "term:gpu", 1),
    ("roce v2", "term:roce", 3),
    ("paged attention", "term:pagedattention", 1),
    ("throughput", "term:tokens-per-second", 1),
    ("gpu utilization", "term:gpu-util", 1),
    ("canary", "term:canary-release", 1),
    ("IB", "term:infiniband", 1),
    ("TCO", "term:total-cost-of-ownership", 1),
    // Names and other names, Chinese.
    ("显存", "term:gpu-memory", 1),
    ("显存带宽", "term:memory-bandwidth", 1),
    ("注意力", "term:attention", 1),
    ("注意力机制", "term:attention", 1),
    ("张量并行", "term:tensor-parallelism", 1),
    ("流水线", "term:pipeline-parallelism", 3),
    ("算力", "term:flop-s", 1),
    ("爆显存", "term:out-of-memory", 1),
    ("参数", "term:parameter", 1),
    ("网卡", "term:nic", 1),
    ("限流", "term:rate-limiting", 1),
    ("灰度", "term:canary-release", 1),
    ("量化", "term:quantization", 1),
    ("词元", "term:token", 1),
    ("分布式训练", "term:distributed-training-job", 1),
    ("显", "term:gpu-memory", 5),
    ("液冷", "term:data-center-cooling", 1),
    ("链路追踪", "term:distributed-tracing", 1),
    ("利用率", "term:gpu-util", 3),
    ("检查点", "term:checkpoint", 1),
    // Mixed scripts.
    ("KV缓存", "term:kv-cache", 1),
    ("KV 缓存", "term:kv-cache", 1),
    ("GPU利用率", "term:gpu-util", 1),
    ("CUDA运行时", "term:cuda-runtime", 1),
    ("NVIDIA驱动", "term:gpu-driver", 1),
    ("GPU共享", "term:gpu-sharing", 1),
    ("分页KV缓存", "term:pagedattention", 1),
    ("softmax 分数矩阵", "note:attention-first-look", 3),
    ("RDMA 网卡", "term:rdma", 3),
    // Symbols, width, punctuation.
    ("ＫＶ　ｃａｃｈｅ", "term:kv-cache", 1),
    ("“显存带宽”", "term:memory-bandwidth", 1),
    ("（KV）", "term:kv-cache", 1),
    ("FLOP/s", "term:flop-s", 1),
    ("tokens/s", "term:tokens-per-second", 1),
    ("CI/CD", "term:ci-cd", 1),
    ("nvidia.com/gpu", "term:device-plugin", 1),
    ("utilization.gpu", "term:gpu-util", 1),
    ("GPU-Util", "term:gpu-util", 1),
    ("nvidia-smi", "term:nvidia-smi", 1),
    ("attention:", "term:attention", 1),
    ("(prefill AND", "term:prefill", 3),
    ("《显存》", "term:gpu-memory", 1),
    ("vllm:kv_cache_usage_perc", "note:life-of-a-token", 3),
    // While typing.
    ("atten", "term:attention", 2),
    ("kv ca", "term:kv-cache", 1),
    ("prefi", "term:prefill", 1),
    ("infini", "term:infiniband", 1),
    ("quan", "term:quantization", 1),
    ("tensor par", "term:tensor-parallelism", 1),
    ("kube", "term:kubernetes", 2),
    ("check", "term:checkpoint", 3),
    // Slips.
    ("atention", "term:attention", 2),
    ("quantizaton", "term:quantization", 2),
    ("kuberentes", "term:kubernetes", 2),
    ("inifniband", "term:infiniband", 2),
    ("chekpoint", "term:checkpoint", 2),
    ("gpumemory", "term:gpu-memory", 1),
    // Other forms of a word.
    ("tokenizers", "term:tokenizer", 2),
    ("caching", "term:kv-cache", 5),
    ("decoding", "term:decode", 3),
    ("schedulers", "term:kube-scheduler", 3),
    // Questions.
    ("什么是显存带宽", "term:memory-bandwidth", 1),
    ("显存的带宽", "term:memory-bandwidth", 3),
    ("what is the kv cache", "term:kv-cache", 1),
    ("how does attention work", "term:attention", 5),
    ("why is prefill compute bound", "term:prefill", 5),
    // Notes and labs.
    ("life of a token", "note:life-of-a-token", 1),
    ("一个词元的一生", "note:life-of-a-token", 1),
    ("数量级", "note:units-and-orders", 1),
    ("orders of magnitude", "note:units-and-orders", 1),
    ("占空比", "note:reading-gpu-util", 3),
    ("duty cycle", "note:reading-gpu-util", 3),
    ("SDPA", "note:attention-first-look", 3),
    ("全景", "note:panorama", 3),
    ("六个仪表", "note:reading-gpu-util", 1),
    ("memory bills", "note:training-inference-rl", 2),
    ("融合算子", "lab:attention", 3),
    ("显存墙", "lab:attention", 3),
    ("naive and fused", "lab:attention", 3),
];

#[test]
fn judged_queries_find_what_a_reader_expects() {
    let misses: Vec<String> = JUDGED
        .iter()
        .filter_map(|(query, expected, rank)| {
            let found = found(query);
            let place = found.iter().position(|f| f == expected);
            place
                .is_none_or(|p| p >= *rank)
                .then(|| format!("{query}: {expected} not within {rank} of {found:?}"))
        })
        .collect();
    assert!(misses.is_empty(), "{} of {}:\n{}", misses.len(), JUDGED.len(), misses.join("\n"));
}

#[test]
fn languages_are_joined_by_names() {
    for (query, id) in [("显存", "gpu-memory"), ("KV缓存", "kv-cache"), ("张量并行", "tensor-parallelism")]
    {
        let filter = Filter { lang: Some(Lang::En), ..Filter::default() };
        let hits = search(query, &filter).hits;
        assert_eq!(hits[0].id, id, "{query}");
        assert!(hits.iter().all(|h| h.lang == Lang::En));
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
        assert_eq!(results.hits[0].lang, prefer);
        assert_eq!(results.total, results.hits.len());
    }
}

#[test]
fn the_other_language_is_shown_where_only_it_matches() {
    // The Chinese document knows the English title too, but has no such word to show.
    let filter = Filter { prefer: Lang::Zh, ..Filter::default() };
    let hit = &search("memory bills", &filter).hits[0];
    assert_eq!((hit.id.as_str(), hit.lang), ("training-inference-rl", Lang::En));
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
        let anchors = crate::library::headings(&note.text.get(hit.lang).body);
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

/// Whether a highlighted piece of text is what a token of the query can match.
fn is_a_form_of(shown: &str, query: &str) -> bool {
    let mut stems = Stems::new();
    let asked = analyze::tokens(query);
    analyze::tokens(shown).iter().all(|s| {
        let stem = stems.stem(&s.text);
        asked.iter().any(|a| {
            let near = || {
                let (mut a, mut b) = (a.text.chars().collect::<Vec<_>>(), s.text.chars().collect::<Vec<_>>());
                a.sort_unstable();
                b.sort_unstable();
                a.len() >= 5 && b.len() + 1 >= a.len()
            };
            a.text == s.text
                || !a.han
                    && !s.han
                    && (s.text.starts_with(&a.text)
                        || stem == stems.stem(&a.text)
                        || a.text.contains(&s.text)
                        || near())
        })
    })
}

fn any_query() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "显存", "注意力", "带宽", "KV", "缓存", "cache", "attention", "atention", "prefil", "的", "什么是", "GPU-Util",
            "FLOP/s", "gpumemory", "显", "tokens", "8,192", "2.11.0", "ｋｖ", "the", " ", "（", "AND", "decode",
        ])
        .prop_map(str::to_owned),
        1 => "\\PC{0,6}",
        1 => ".{0,3}",
    ];
    prop::collection::vec(piece, 0..6).prop_map(|p| p.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_a_query_and_highlights_are_true(query in any_query(), zh in any::<bool>(), one in any::<bool>()) {
        let prefer = if zh { Lang::Zh } else { Lang::En };
        let filter = Filter { prefer, lang: one.then_some(prefer), limit: 20, kind: None };
        let results = search(&query, &filter);
        prop_assert!(results.hits.len() <= 20 && results.total >= results.hits.len());
        for pair in results.hits.windows(2) {
            prop_assert!(pair[0].score >= pair[1].score);
        }
        for hit in &results.hits {
            prop_assert!(hit.snippet.text.width() <= SNIPPET_COLUMNS, "{}", hit.snippet.text);
            prop_assert!(!hit.snippet.text.contains('\n') && !hit.snippet.text.contains("[["));
            for (text, ranges) in
                [(&hit.snippet.text, &hit.snippet.highlights), (&hit.title, &hit.title_highlights)]
            {
                let mut end = 0;
                for range in ranges {
                    prop_assert!(range.start >= end && range.end > range.start);
                    end = range.end;
                    let shown = text.get(range.clone());
                    prop_assert!(shown.is_some_and(|s| is_a_form_of(s, &query)), "{shown:?} for {query:?}");
                }
            }
        }
    }
}
