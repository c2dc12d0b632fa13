//! `infralab search`: notes, terms and labs that match.

use std::io::{self, IsTerminal, Write};
use std::ops::Range;
use std::process::ExitCode;

use crate::lang::Lang;
use crate::library::Library;
use crate::paths::{Paths, PathsError};
use crate::progress::Store;
use crate::search::{Filter, Kind, Results, SearchIndex};
use crate::visible::visible_line;

/// Arguments of `infralab search`.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct SearchArgs {
    /// Words to find: Chinese, English or pinyin; "…" keeps words together, the last one may be the beginning of a
    /// word; kind:term, phase:2, layer:serving and state:learning narrow the search
    #[arg(value_name = "QUERY")]
    pub query: Vec<String>,
    /// Only text of this language (zh or en)
    #[arg(long, value_name = "LANG")]
    pub lang: Option<Lang>,
    /// Only hits of this kind
    #[arg(long, value_name = "note|term|lab|own|run")]
    pub kind: Option<Kind>,
    /// Most hits to show
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub limit: usize,
    /// One JSON object: query, took_us, hits
    #[arg(long)]
    pub json: bool,
}

/// Prints the hits. Exit codes: 0 hits, 1 none, 2 an empty query.
pub(super) fn run(
    args: &SearchArgs,
    library: &Library,
    paths: impl FnOnce() -> Result<Paths, PathsError>,
    ui: Lang,
) -> anyhow::Result<ExitCode> {
    let query = args.query.join(" ");
    if query.trim().is_empty() {
        let usage = ui.pick(
            "search needs a word: infralab search kv cache",
            "要搜什么？例如：infralab search 显存 带宽",
        );
        writeln!(io::stderr(), "{usage}")?;
        return Ok(ExitCode::from(2));
    }
    // Marks only narrow a search; one that does not ask for them must not fail with them.
    let store = paths().map_err(anyhow::Error::from);
    let store = store.and_then(|paths| Ok(Store::open(&paths.progress_log())?));
    if let Err(error) = &store {
        writeln!(io::stderr(), "{}: {error:#}", ui.pick("searching without marks", "没有掌握标记可用"))?;
    }
    let progress = store.as_ref().ok().map(Store::progress);
    let filter = Filter {
        lang: args.lang,
        kind: args.kind,
        progress,
        prefer: ui,
        limit: args.limit,
        ..Filter::default()
    };
    let index = SearchIndex::build(library);
    if !query.is_ascii() {
        index.dictionary().load();
    }
    let results = index.search(&query, &filter);
    let mut out = io::BufWriter::new(io::stdout().lock());
    let printed = if args.json {
        serde_json::to_writer(&mut out, &results).map_err(io::Error::from).and_then(|()| writeln!(out))
    } else {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        print(&results, io::stdout().is_terminal() && !no_color, &mut out)
    };
    match printed.and_then(|()| out.flush()) {
        // The reader, `head` or a pager, has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        printed => printed?,
    }
    if !args.json
        && let Some(remark) = remark(&results, args, ui)
    {
        writeln!(io::stderr(), "{remark}")?;
    }
    Ok(if results.total == 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn print(results: &Results, bold: bool, out: &mut impl Write) -> io::Result<()> {
    for hit in &results.hits {
        let anchor = hit.anchor.as_ref().map(|a| format!("#{a}")).unwrap_or_default();
        let title = emphasised(&hit.title, &hit.title_highlights, bold);
        writeln!(out, "{:<4}  {}{anchor}  {title}", hit.kind.id(), hit.id)?;
        if !hit.snippet.text.is_empty() {
            writeln!(out, "      {}", emphasised(&hit.snippet.text, &hit.snippet.highlights, bold))?;
        }
    }
    Ok(())
}

/// What the hits do not say: that there are none, that they match in part, that there are more.
fn remark(results: &Results, args: &SearchArgs, ui: Lang) -> Option<String> {
    let query = visible_line(&results.query);
    if results.total == 0 {
        let narrowed = args.lang.is_some() || args.kind.is_some();
        return Some(match (ui, narrowed) {
            (Lang::En, false) => {
                format!("no hit for `{query}`; try fewer or shorter words, or the other language")
            }
            (Lang::En, true) => format!("no hit for `{query}`; try without --lang and --kind"),
            (Lang::Zh, false) => format!("没有找到“{query}”；少用几个词，或者换一种语言试试"),
            (Lang::Zh, true) => format!("没有找到“{query}”；去掉 --lang 和 --kind 再试"),
        });
    }
    if results.partial {
        return Some(match ui {
            Lang::En => format!("nothing matches all of `{query}`; these match part of it"),
            Lang::Zh => format!("没有完全符合“{query}”的内容；以上只符合一部分"),
        });
    }
    let (shown, total) = (results.hits.len(), results.total);
    (shown < total).then(|| match ui {
        Lang::En => format!("{shown} of {total} hits; --limit {total} shows all"),
        Lang::Zh => format!("共 {total} 条，显示了 {shown} 条；--limit {total} 显示全部"),
    })
}

fn emphasised(text: &str, highlights: &[Range<usize>], bold: bool) -> String {
    if !bold {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 16 * highlights.len());
    let mut done = 0;
    for range in highlights {
        out.push_str(&text[done..range.start]);
        out.push_str("\x1b[1m");
        out.push_str(&text[range.clone()]);
        out.push_str("\x1b[22m");
        done = range.end;
    }
    out.push_str(&text[done..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Source;

    fn printed(query: &str, bold: bool) -> String {
        let library = Library::load(&Source::Embedded);
        let results = SearchIndex::build(&library).search(query, &Filter { limit: 3, ..Filter::default() });
        let mut out = Vec::new();
        print(&results, bold, &mut out).expect("a vector takes everything");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn a_hit_is_two_lines_and_bold_only_where_asked() {
        let plain = printed("kv cache", false);
        assert!(plain.starts_with("term  kv-cache  KV cache\n      "), "{plain}");
        assert!(!plain.contains('\x1b'));
        let bold = printed("kv cache", true);
        assert!(bold.starts_with("term  kv-cache  \x1b[1mKV\x1b[22m \x1b[1mcache\x1b[22m\n"), "{bold}");
        assert_eq!(bold.replace("\x1b[1m", "").replace("\x1b[22m", ""), plain);
    }

    #[test]
    fn json_is_the_contract() {
        let library = Library::load(&Source::Embedded);
        let results = SearchIndex::build(&library).search("显存", &Filter::default());
        let json = serde_json::to_value(&results).expect("json");
        let keys = |v: &serde_json::Value| v.as_object().map(|o| o.keys().cloned().collect::<Vec<_>>());
        for key in ["query", "took_us", "hits", "facets"] {
            assert!(keys(&json).is_some_and(|k| k.iter().any(|k| k == key)), "{key}");
        }
        for key in ["kind", "id", "title", "lang", "score", "snippet", "anchor", "block", "highlights"] {
            assert!(keys(&json["hits"][0]).is_some_and(|k| k.iter().any(|k| k == key)), "{key}");
        }
        assert!(json["hits"][0]["snippet"].is_string());
    }
}
