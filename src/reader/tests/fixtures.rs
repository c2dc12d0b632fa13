//! The inputs that break other readers, and what they must look like.

use std::fmt::Write as _;

use super::super::*;
use crate::library::headings;

fn plain(markdown: &str, width: u16) -> String {
    to_plain(&Document::parse(markdown).layout(width))
}

#[track_caller]
fn shows(markdown: &str, width: u16, expected: &str) {
    assert_eq!(
        plain(markdown, width).trim_end(),
        expected.trim_matches('\n'),
        "\n{}",
        plain(markdown, width)
    );
}

#[test]
fn quotes_and_lists_nest_with_code_inside() {
    shows(
        "> quote\n> > nested\n> > ```rust\n> > fn f() {\n> > \tx\n> > }\n> > ```\n>\n> - item\n>   1. x\n",
        40,
        "
│ quote
│
│ │ nested
│ │
│ │ rust
│ │   fn f() {
│ │       x
│ │   }
│
│ ∙ item
│   1. x",
    );
}

#[test]
fn numbers_are_aligned_and_items_keep_their_blocks() {
    let mut list = String::new();
    for n in 1..=10 {
        let _ = writeln!(list, "{n}. item");
    }
    shows(
        &(list + "    - sub\n\nafter"),
        20,
        "
 1. item
 2. item
 3. item
 4. item
 5. item
 6. item
 7. item
 8. item
 9. item
10. item
    - sub

after",
    );
    shows("1. 2024 was a year\n2.\n3. ```\n   x\n   ```\n", 20, "1. 2024 was a year\n2.\n\n3.   x");
    shows("- [ ] todo\n- [x] done\n", 20, "[ ] todo\n[x] done");
    shows("1. q\n   > a\n2. q\n", 20, "1. q\n   │ a\n\n2. q");
}

#[test]
fn line_endings_fences_and_underlined_titles() {
    shows("Title\r\n=====\r\n\r\ntext\r\nmore\r\n", 40, "# Title\n\ntext more");
    shows("~~~\n*not* [[markup]]\n~~~", 40, "  *not* [[markup]]");
    shows("## at the end", 40, "## at the end");
    shows("a\tb\n\n\tcode\tx", 40, "a b\n\n  code    x");
    shows("", 40, "");
    shows("一行\n接一行 and\nLatin", 40, "一行接一行 and Latin");
    shows("一行\n[[a|接]]**一**\n行", 40, "一行接一行");
    shows("hard  \nbreak\\\nhere", 40, "hard\nbreak\nhere");
}

#[test]
fn text_that_looks_like_markup_stays() {
    for text in
        ["i_am_snake and post_tweet", "$5 and $10, $HOME, 2 * 3 * 4", "[markup] [/red] :smile: {x}", "<foo>"]
    {
        shows(text, 80, text);
    }
    shows("## H [[/test.md]]", 40, "## H /test.md");
}

#[test]
fn no_note_can_drive_the_terminal() {
    let text = plain(
        "a \x1b]0;PWNED\x07 &#27;[31m &#x9b; [x](http://a&#27;b) ![i&#7;](u)\n\n```a&#27;b\n\x1b\n```",
        80,
    );
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    assert!(text.contains("a ␛]0;PWNED␇ ␛[31m <U+009B> x (http://a␛b)"), "{text}");
}

#[test]
fn html_is_shown_unfolded_or_hidden() {
    shows(
        "<details><summary>Sum</summary>\n\nInside\n\n</details>\n\n<!-- hidden\nstill -->\n\na<br>b n<sup>2</sup> x<!-- c -->y <kbd>q</kbd> <a href=\"u\">z</a>",
        60,
        "
Sum

Inside

a
b n^2 xy q <a href=\"u\">z</a>",
    );
    shows("a\n\n<!-- closed --> b <!-- never\n\nclosed [[x|y]]", 60, "a\n\nb\n<!-- never\n\nclosed y");
    shows("<!-- never\n\nclosed [[x|y]]\n", 60, "<!-- never\nclosed y");
}

#[test]
fn links_show_where_they_lead_and_nothing_twice() {
    let document = Document::parse(
        "1. <https://a.org>\n2. [text](https://b.org)\n3. [https://c.org](https://c.org)\n4. [[kv-cache|KV 缓存]]\n5. [here](#top)\n6. ![图](p.png) ![](q.png)\n7. [](https://d.org) <me@x.org>\n",
    );
    let layout = document.layout(60);
    let text = to_plain(&layout);
    assert_eq!(
        text,
        "1. https://a.org\n2. text (https://b.org)\n3. https://c.org\n4. KV 缓存\n5. here\n6. [image: 图] [image: q.png]\n7. https://d.org me@x.org\n"
    );
    let wiki =
        layout.links.iter().find(|l| l.target == LinkTarget::Wiki("kv-cache".into())).expect("wiki link");
    assert_eq!(wiki.first_row, 3);
    assert!(layout.links.contains(&Link { target: LinkTarget::Anchor("top".into()), first_row: 4 }));
    for (id, link) in layout.links.iter().enumerate() {
        let spans = &layout.rows[link.first_row].spans;
        assert!(spans.iter().any(|span| span.link == Some(LinkId(id as u32))), "{link:?}");
    }
}

#[test]
fn wiki_links_are_those_of_the_library() {
    for source in [
        "[[a]] 和 [[b|*B*]] `[[code]]` \\[[c]] [[d\n]] [[]] [[[e]] [[f [[g]]",
        "> [[a]]\n> - [[b|c **d**]] **[[e]]** [[f](u)]]",
        "# [[h]]\n\n```\n[[no]]\n```\n\n    [[no]]\n",
        "| a |\n|---|\n| [[kv-cache\\|KV]] |",
    ] {
        let library: Vec<LinkTarget> =
            crate::library::wiki_links(source).map(|l| LinkTarget::Wiki(l.target.to_owned())).collect();
        let layout = Document::parse(source).layout(40);
        let wiki: Vec<LinkTarget> =
            layout.links.into_iter().map(|l| l.target).filter(|t| matches!(t, LinkTarget::Wiki(_))).collect();
        assert_eq!(wiki, library, "{source}");
    }
    shows("x [[b|*B*]] y", 20, "x *B* y");
}

#[test]
fn footnotes_stand_at_the_end() {
    shows(
        "中文[^1]。\n\n[^1]: The **note**.\n\n    More.\n\n> in a quote[^b]\n>\n> [^b]: From a quote.\n\nlast",
        20,
        "
中文[1]。

│ in a quote[b]

last

────────────────────
[1] The note.

    More.
[b] From a quote.",
    );
    let layout = Document::parse("a[^n]\n\n[^n]: b").layout(20);
    assert_eq!(layout.row_of_target(&LinkTarget::Footnote("n".into())), Some(3));
}

#[test]
fn corrections_are_told_from_quotes() {
    for (text, correction) in [
        ("> **Correction.** Claim", true),
        ("> **订正** 说法", true),
        ("> **订正：** 说法", true),
        ("> Correction. Claim", false),
        ("> **Corrections** are", false),
        ("> a\n>\n> **Correction.** b", false),
    ] {
        let layout = Document::parse(text).layout(40);
        let bar = layout.rows[0].spans[0].style.has(Style::CORRECTION);
        let label = layout.rows[0].spans[1].style.has(Style::CORRECTION_LABEL);
        assert_eq!((bar, label), (correction, correction), "{text}");
    }
}

#[test]
fn tables_fit_wrap_or_become_cards() {
    let table = "| 名 | n | what |\n|:-:|--:|---|\n| 显存 | 1 | [[kv-cache\\|KV]] of a very long snake_case_name |\n| x | 10 | |\n";
    shows(
        table,
        60,
        "
┌──────┬────┬──────────────────────────────────┐
│  名  │  n │ what                             │
├──────┼────┼──────────────────────────────────┤
│ 显存 │  1 │ KV of a very long snake_case_name │
│  x   │ 10 │                                  │
└──────┴────┴──────────────────────────────────┘"
            .replace("──────────────────────────────────", "───────────────────────────────────")
            .replace("what                             │", "what                              │")
            .replace("10 │                                  │", "10 │                                   │")
            .as_str(),
    );
    shows(
        table,
        34,
        "
┌──────┬────┬────────────────────┐
│  名  │  n │ what               │
├──────┼────┼────────────────────┤
│ 显存 │  1 │ KV of a very long  │
│      │    │ snake_case_name    │
├──────┼────┼────────────────────┤
│  x   │ 10 │                    │
└──────┴────┴────────────────────┘",
    );
    shows(
        table,
        20,
        "
名：显存
n: 1
what: KV of a very
long snake_case_name
────────────────
名：x
n: 10
what:",
    );
}

#[test]
fn odd_tables_lose_nothing() {
    let text = plain("| a | b |\n|---|---|\n| 1 | [[kv|shown]] | 3 | 4 \\| 5 |\n| 1 |\n| [[x]] |\n", 60);
    for part in ["1 │ shown │ 3 │ 4 | 5 │", "│ x "] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    shows("| a | b |\n|---|---|\n", 20, "┌───┬───┐\n│ a │ b │\n└───┴───┘");
    shows("| a | b |\n|---|---|\n", 5, "a\nb");
    shows("| a | b |\n|---|\n| c |", 40, "| a | b | |---| | c |");
}

#[test]
fn ascii_terminals_get_ascii() {
    let document = Document::parse("- a\n\n> **Correction.** b\n\n***\n\n| c |\n|---|\n| d |\n");
    let text = to_plain(&document.layout_with(20, Chrome::Ascii));
    assert!(text.is_ascii(), "{text}");
}

#[test]
fn bold_and_dim_are_all_that_a_pipe_to_a_terminal_gets() {
    let text = to_ansi(&Document::parse("# T\n\na **b** [c](http://d)").layout(40));
    assert_eq!(text, "\x1b[1m# \x1b[0m\x1b[1mT\x1b[0m\n\na \x1b[1mb\x1b[0m c\x1b[2m (http://d)\x1b[0m\n");
}

#[test]
fn headings_and_anchors_are_those_of_the_library() {
    let body = "# 注意力机制\n\nSetext *title*\n---\n\n## What is `KV cache`?\n\n## 注意力机制\n\n## 注意力机制-1\n\n## [[a|b]] & c\n\n## ！\n\n> ## in a quote\n\n- # in an item\n";
    let layout = Document::parse(body).layout(40);
    let anchors: Vec<(u8, String)> = layout.headings.iter().map(|h| (h.level, h.anchor.clone())).collect();
    let library: Vec<(u8, String)> = headings(body).into_iter().map(|h| (h.level, h.anchor)).collect();
    assert_eq!(anchors, library);
    for heading in &layout.headings {
        assert!(layout.rows[heading.row].text().contains(&heading.text), "{heading:?}");
        assert_eq!(layout.row_of_anchor(&heading.anchor), Some(heading.row));
    }
    assert_eq!(layout.headings[5].text, "b & c");
    assert_eq!(layout.heading_at(0), Some(0));
    assert_eq!(layout.heading_at(layout.rows.len()), Some(layout.headings.len() - 1));
}

#[test]
fn a_phrase_is_found_across_line_breaks() {
    let layout = Document::parse(
        "显存带宽决定解码。\n\nThe *Quick* brown\n\n| a | b |\n|--|--|\n| QUICK | İx brown |",
    )
    .layout(10);
    let parts = |query: &str| layout.find(query).into_iter().map(|m| m.parts).collect::<Vec<_>>();
    assert_eq!(parts("宽决定解"), [vec![(0, 6..10), (1, 0..4)]]);
    assert_eq!(parts("quick  BROWN"), [vec![(3, 4..9), (4, 0..5)]]);
    assert_eq!(parts("quick").len(), 2);
    assert_eq!(parts("brown").len(), 2);
    assert_eq!(parts(" "), Vec::<Vec<_>>::new());
    assert!(parts("│").is_empty(), "borders are no text");
    // Lower case is longer or shorter than upper case here.
    let layout = Document::parse("ⱢaȺ İx").layout(10);
    assert_eq!(layout.find("aⱥ")[0].parts, [(0, 1..3)]);
    assert_eq!(layout.find("i")[0].parts, [(0, 4..5)]);
}

#[test]
fn the_reading_position_survives_a_resize() {
    let mut text = String::new();
    for n in 0..40 {
        let _ = write!(text, "## 第 {n} 节\n\n{}\n\n", "显存带宽 memory ".repeat(n));
    }
    let document = Document::parse(&text);
    let (wide, narrow) = (document.layout(100), document.layout(30));
    for row in 0..wide.rows.len() {
        let there = narrow.row_of(wide.place_of(row));
        assert_eq!(narrow.block_at(there), wide.block_at(row));
    }
    assert_eq!(wide.row_of(wide.place_of(7)), 7);
    for block in 0..document.len() {
        assert_eq!(wide.block_at(wide.row_of_block(block)), block);
    }
    assert_eq!(wide.row_of(Place { block: 10_000, share: f32::NAN }), wide.row_of_block(10_000));
}
