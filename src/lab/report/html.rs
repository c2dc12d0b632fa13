//! A page as one HTML file: no script, nothing to load, readable in light and dark.

use std::fmt::Write as _;

use super::document::{Block, Span, Table, Words};
use crate::lang::Lang;
use crate::visible::visible_line;

/// Colours come from the reader's choice of light or dark; pictures keep a light ground because their lines are dark.
const STYLE: &str = "\
:root{color-scheme:light dark;--fg:#1b1f24;--bg:#fff;--dim:#59636e;--rule:#d1d9e0;--code:#f3f5f7}\
@media(prefers-color-scheme:dark){:root{--fg:#e6edf3;--bg:#0d1117;--dim:#9198a1;--rule:#3d444d;--code:#1b222b}}\
body{font:16px/1.55 system-ui,\"PingFang SC\",\"Microsoft YaHei\",\"Noto Sans CJK SC\",sans-serif;color:var(--fg);background:var(--bg);max-width:60rem;margin:2rem auto;padding:0 1rem}\
h1,h2,h3{line-height:1.25}h2{margin-top:2.5em;border-bottom:1px solid var(--rule);padding-bottom:.2em}h3{margin-top:2em}\
.table{overflow-x:auto}table{border-collapse:collapse;margin:1em 0;font-variant-numeric:tabular-nums;font-size:.9em}\
th,td{border:1px solid var(--rule);padding:.25em .6em;text-align:left;vertical-align:top}th{background:var(--code)}\
.n{text-align:right;white-space:nowrap}code,pre{font-family:ui-monospace,Menlo,Consolas,monospace;background:var(--code);border-radius:4px}\
code{padding:.1em .3em;font-size:.9em}pre{padding:.7em 1em;overflow-x:auto}pre code{padding:0}\
figure{margin:1.5em 0}figure svg{max-width:100%;height:auto;background:#fff;border:1px solid var(--rule);border-radius:6px}\
figcaption{color:var(--dim);font-size:.9em}";

/// The page; its title is its first heading.
pub fn write(blocks: &[Block], lang: Lang) -> String {
    let title = blocks.iter().find_map(|b| match b {
        Block::Heading(_, text) => Some(escaped(text)),
        _ => None,
    });
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"{}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n",
        lang.pick("en", "zh-CN"),
        title.unwrap_or_default(),
    );
    for block in blocks {
        write_block(&mut text, block);
    }
    text.push_str("</body>\n</html>");
    text
}

fn write_block(text: &mut String, block: &Block) {
    // Writing to a string cannot fail.
    let _ = match block {
        Block::Heading(level, words) => {
            let level = (*level).clamp(1, 6);
            writeln!(text, "<h{level}>{}</h{level}>", escaped(words))
        }
        Block::Paragraph(line) => writeln!(text, "<p>{}</p>", words(line)),
        Block::List(items) => {
            let items = items.iter().map(|item| format!("<li>{}</li>\n", words(item)));
            writeln!(text, "<ul>\n{}</ul>", items.collect::<String>())
        }
        Block::Table(table) => writeln!(text, "{}", self::table(table)),
        Block::Command(command) => {
            writeln!(text, "<pre><code>{}</code></pre>", escaped(command))
        }
        // The drawing is ours, and every string in it was escaped when it was drawn.
        Block::Picture(picture) => writeln!(
            text,
            "<figure>\n{}<figcaption>{}</figcaption>\n</figure>",
            picture.svg,
            escaped(&picture.caption)
        ),
    };
}

fn table(table: &Table) -> String {
    let cell = |tag: &str, i: usize, text: &str| {
        let class = if table.numeric(i) { " class=\"n\"" } else { "" };
        format!("<{tag}{class}>{}</{tag}>", escaped(text))
    };
    let row = |tag: &str, cells: &[String]| {
        let cells = cells.iter().enumerate().map(|(i, c)| cell(tag, i, c));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let rows = table.rows.iter().map(|r| row("td", r)).collect::<String>();
    format!("<div class=\"table\"><table>\n{}{rows}</table></div>", row("th", &table.head))
}

fn words(line: &Words) -> String {
    line.0
        .iter()
        .map(|span| match span {
            Span::Plain(text) => escaped(text),
            Span::Code(text) => format!("<code>{}</code>", escaped(text)),
            Span::Strong(text) => format!("<strong>{}</strong>", escaped(text)),
        })
        .collect()
}

/// Text for elements and attributes.
fn escaped(text: &str) -> String {
    let text = visible_line(text);
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_never_markup() {
        let hostile = "\"><script>alert(1)</script>&amp;'";
        let page = [
            Block::Heading(1, hostile.into()),
            Block::paragraph(Words::new().plain(hostile).code(hostile).strong(hostile)),
            Block::List(vec![hostile.into()]),
            Block::Table(Table { head: vec![hostile.into()], rows: vec![vec![hostile.into()]] }),
            Block::Command(hostile.into()),
        ];
        let text = write(&page, Lang::En);
        assert!(!text.contains("<script"), "{text}");
        assert_eq!(text.matches("&lt;script&gt;").count(), 9, "the title has it too");
        assert!(text.contains("&amp;amp;&#39;"), "what looks escaped is escaped again");
    }
}
