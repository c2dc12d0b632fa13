//! What holds for any query.

use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;
use unicode_width::UnicodeWidthStr;

use super::super::analyze;
use super::*;

/// Whether a highlight begins with a token and ends with one.
fn is_whole_tokens(text: &str, range: &std::ops::Range<usize>) -> bool {
    let tokens = analyze::tokens(text);
    tokens.iter().any(|t| t.range.start == range.start) && tokens.iter().any(|t| t.range.end == range.end)
}

/// A few for every run of the tests; `PROPTEST_CASES=100000` looks for longer.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(200)
}

fn any_query() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "显存", "注意力", "带宽", "KV", "缓存", "cache", "attention", "atention", "prefil", "的", "什么是", "GPU-Util",
            "FLOP/s", "gpumemory", "显", "tokens", "8,192", "2.11.0", "ｋｖ", "the", " ", "（", "AND", "decode", "\"",
            "“", "”", "xiancun", "xc", "kind:", "kind:term ", "层：", "state:none ", "*", "pre-fill", "-", "_", ":", "分布式",
        ])
        .prop_map(str::to_owned),
        1 => "\\PC{0,6}",
        1 => ".{0,3}",
    ];
    prop::collection::vec(piece, 0..6).prop_map(|p| p.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_a_query_and_highlights_are_true(query in any_query(), zh in any::<bool>(), one in any::<bool>()) {
        let prefer = if zh { Lang::Zh } else { Lang::En };
        let filter = Filter { prefer, lang: one.then_some(prefer), limit: 20, ..Filter::default() };
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
                    prop_assert!(text.get(range.clone()).is_some());
                    prop_assert!(is_whole_tokens(text, range), "{range:?} of {text:?} for {query:?}");
                }
            }
        }
    }

    #[test]
    fn width_and_composition_do_not_matter(query in any_query()) {
        let told = |query: &str| {
            let results = search(query, &Filter { limit: 20, ..Filter::default() });
            (results.total, results.partial, results.facets, results.hits)
        };
        let composed: String = query.nfc().collect();
        let decomposed: String = query.nfd().collect();
        prop_assert_eq!(told(&composed), told(&decomposed));
        // Printable ASCII has full-width twins; the space is one of its own.
        let wide: String = query
            .chars()
            .map(|c| match c {
                ' ' => '\u{3000}',
                '!'..='~' => char::from_u32(c as u32 + 0xfee0).unwrap_or(c),
                c => c,
            })
            .collect();
        let narrow: String = query.chars().map(|c| if c == '\u{3000}' { ' ' } else { c }).collect();
        prop_assert_eq!(told(&narrow), told(&wide));
    }
}
