//! What holds for every note at every width, and how long it may take.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::super::glyph::{glyphs, width};
use super::super::*;
use crate::library::{Library, Source};

/// Rows no wider than asked, except for a single glyph that is wider itself.
fn assert_fits(layout: &Layout) -> Result<(), TestCaseError> {
    for row in &layout.rows {
        let cells: usize = row.spans.iter().map(|span| width(&span.text)).sum();
        let single = glyphs(row.text().trim_end()).count() <= 1;
        prop_assert!(cells <= usize::from(layout.width) || single, "{:?} at {}", row.text(), layout.width);
    }
    Ok(())
}

/// Every character that is not white space, and how often.
fn letters(text: &str) -> HashMap<char, usize> {
    let mut count = HashMap::new();
    for c in text.chars().filter(|c| !c.is_whitespace()) {
        *count.entry(c).or_default() += 1;
    }
    count
}

/// What the parser of the standard calls text, by its own events.
fn visible_text(markdown: &str) -> String {
    use pulldown_cmark::{Event, Options, Parser};
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_FOOTNOTES;
    let mut text = String::new();
    for event in Parser::new_ext(&crate::visible::visible(markdown), options) {
        if let Event::Text(t) | Event::Code(t) = event {
            text.push_str(&t);
        }
    }
    // Entities may spell control characters.
    crate::visible::visible(&text).into_owned()
}

fn assert_nothing_lost(text: &str, layout: &Layout) -> Result<(), TestCaseError> {
    let rows: String = layout.rows.iter().map(Row::text).collect();
    let shown = letters(&rows);
    for (c, count) in letters(text) {
        let found = shown.get(&c).copied().unwrap_or(0);
        prop_assert!(found >= count, "{c:?}: {found} of {count} at {}\n{}", layout.width, to_plain(layout));
    }
    Ok(())
}

#[test]
fn depth_and_length_take_linear_time_and_no_stack() {
    let start = Instant::now();
    for text in [
        "> ".repeat(1_000) + "deep",
        "- ".repeat(1_000) + "deep",
        (0..1_000).fold(String::new(), |all, n| all + &"  ".repeat(n) + "- deep\n"),
        "> ".repeat(50_000) + "deep",
        "x".repeat(200_000) + " deep",
        "字".repeat(70_000) + " deep",
        "a\u{301}".repeat(60_000) + " deep",
        "*a **b ".repeat(20_000) + "deep",
        "[[".repeat(100_000) + "deep]]",
        "[a](".repeat(20_000) + "deep",
        "`".repeat(100_000) + "deep",
        "<a ".repeat(50_000) + "deep",
        "## same\n\n".repeat(20_000) + "deep",
        format!("|{}\n|{}\n|{}deep|", "a|".repeat(2_000), "-|".repeat(2_000), "b|".repeat(1_999)),
    ] {
        let document = Document::parse(&text);
        for width in [1, 20, 80] {
            let layout = document.layout(width);
            let rows: String = layout.rows.iter().map(|row| row.text().trim().to_owned()).collect();
            assert!(rows.contains("deep"), "{}", &text[..20]);
        }
    }
    assert!(start.elapsed() < Duration::from_mins(1), "{:?}", start.elapsed());
}

#[test]
fn shipped_notes_fit_every_width_and_lose_nothing() {
    let library = Library::load(&Source::Embedded);
    for text in library.notes.iter().flat_map(|note| [&note.text.en.body, &note.text.zh.body]) {
        let document = Document::parse(text);
        let expected = visible_text(text).replace(['[', ']', '|'], "");
        for width in [1, 7, 20, 39, 40, 58, 78, 80, 100, 120, 300] {
            let layout = document.layout(width);
            assert_fits(&layout).expect("fits");
            if width > 1 {
                assert_nothing_lost(&without_wiki_targets(text, &layout, &expected), &layout)
                    .expect("complete");
            }
        }
    }
}

/// Takes the targets of wiki links that show other words out of the text that is expected.
fn without_wiki_targets(source: &str, layout: &Layout, expected: &str) -> String {
    let mut hidden = HashMap::new();
    for link in &layout.links {
        if let LinkTarget::Wiki(target) = &link.target
            && source.contains(&format!("[[{target}|"))
        {
            for (c, count) in letters(target) {
                *hidden.entry(c).or_insert(0) += count;
            }
        }
    }
    let mut keep = |c: &char| match hidden.get_mut(c) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => true,
    };
    expected.chars().filter(|c| keep(c)).collect()
}

fn markdown() -> impl Strategy<Value = String> {
    let inline = prop_oneof![
        "[a-z]{1,12}",
        "[显存带宽决定]{1,9}",
        "[，。！（）「」…]",
        Just("👩‍🔬".to_owned()),
        Just("⚠\u{fe0f}".to_owned()),
        Just("e\u{301}".to_owned()),
        Just("`a  b`".to_owned()),
        Just("**强** *x*".to_owned()),
        Just("~~s~~".to_owned()),
        Just("[[a|词 b]]".to_owned()),
        Just("[t](http://u/v)".to_owned()),
        Just("![alt](i.png)".to_owned()),
        Just("&amp; &#27;".to_owned()),
        Just("<br>".to_owned()),
        Just("[^1]".to_owned()),
        Just("  \n".to_owned()),
        Just("\n".to_owned()),
    ];
    let line = prop::collection::vec(inline, 1..12).prop_map(|parts| parts.join(" "));
    let block = (
        prop_oneof![
            Just(""),
            Just("# "),
            Just("> "),
            Just("> > "),
            Just("- "),
            Just("12. "),
            Just("  - [x] "),
            Just("```\n\t"),
            Just("[^1]: "),
            Just("| a | 字 |\n|:-:|--:|\n| "),
            Just("> **订正** "),
            Just("    "),
        ],
        line,
        prop_oneof![Just("\n"), Just("\n\n"), Just("\n```\n"), Just(" | x | y |\n\n")],
    )
        .prop_map(|(start, line, end)| format!("{start}{line}{end}"));
    prop::collection::vec(block, 0..10).prop_map(|blocks| blocks.concat())
}

proptest! {
    #[test]
    fn any_note_fits_and_loses_nothing(text in markdown(), width in 1_u16..=200) {
        let document = Document::parse(&text);
        let layout = document.layout(width);
        assert_fits(&layout)?;
        let expected = visible_text(&text).replace(['[', ']', '|'], "");
        assert_nothing_lost(&without_wiki_targets(&text, &layout, &expected), &layout)?;
        prop_assert!(layout.headings.iter().all(|h| h.row < layout.rows.len()));
        prop_assert!(layout.rows.windows(2).all(|pair| pair[0].block <= pair[1].block));
    }

    #[test]
    fn any_text_at_all_can_be_read(text in "(\\PC|[-*#>|`~\\[\\]()!<&\\\\_ \n\t\r]){0,200}", width in 0_u16..=120) {
        let layout = Document::parse(&text).layout(width);
        assert_fits(&layout)?;
        let ascii = Document::parse(&text).layout_with(width, Chrome::Ascii);
        prop_assert_eq!(ascii.rows.len(), layout.rows.len());
        let _ = layout.find("a");
    }
}

#[test]
fn every_width_holds_wide_and_joined_glyphs() {
    let text = "# 第一节 👩‍🔬 heading\n\n显存⚠\u{fe0f}带宽，（e\u{301}）🇨🇳🇨🇳 ｶﾞ and https://a.example/long/path。\n\n1. > 引用 `代码 code`\n   > ```\n   > 字\t👩‍🔬\n   > ```\n2. [[a|词]]\n\n| 名 | 👩‍🔬 |\n|:-:|--:|\n| 显存带宽 | e\u{301} |\n";
    let document = Document::parse(text);
    for width in 1..=200 {
        let layout = document.layout(width);
        assert_fits(&layout).expect("fits");
        let expected = visible_text(text).replace(['[', ']', '|'], "");
        assert_nothing_lost(&without_wiki_targets(text, &layout, &expected), &layout).expect("complete");
    }
}
