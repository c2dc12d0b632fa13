//! `infralab glossary list | show | mark`.

use std::process::ExitCode;

use serde_json::json;

use super::out;
use crate::lang::Lang;
use crate::library::{Library, Term};
use crate::paths::Paths;
use crate::progress::{Mark, Progress, Store, Subject};
use crate::reader::{Document, to_ansi, to_plain};

/// Subcommands of `glossary`.
#[derive(Debug, clap::Subcommand)]
pub(super) enum GlossaryCommand {
    /// Every term, layer by layer
    List {
        /// One object a line
        #[arg(long)]
        json: bool,
    },
    /// One term, by id, name or alias in either language
    Show {
        /// For example `kv-cache`, `显存`, `OOM`
        term: String,
        /// One object
        #[arg(long)]
        json: bool,
    },
    /// Mark a term
    Mark {
        /// Id, name or alias
        term: String,
        /// known, learning or todo
        mark: Mark,
        /// One object
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn run(
    command: &GlossaryCommand,
    library: &Library,
    paths: &Paths,
    lang: Lang,
) -> anyhow::Result<ExitCode> {
    let (name, json) = match command {
        GlossaryCommand::List { json } => {
            list(library, open(paths)?.progress(), lang, *json)?;
            return Ok(ExitCode::SUCCESS);
        }
        GlossaryCommand::Show { term, json } | GlossaryCommand::Mark { term, json, .. } => (term, *json),
    };
    let Some(term) = library.term(name) else {
        eprintln!("infralab: no term `{name}`; try `infralab search {name}`");
        return Ok(ExitCode::FAILURE);
    };
    let mut store = open(paths)?;
    if let GlossaryCommand::Mark { mark, .. } = command {
        store.mark(Subject::term(&term.id), Some(*mark))?;
        if !json {
            out::line(&format!("{}: {}", term.name(lang), mark.word()))?;
            return Ok(ExitCode::SUCCESS);
        }
    }
    if json {
        out::json(&object(term, store.progress()))?;
    } else {
        show(term, library, store.progress(), lang)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The store; lines of the log that it cannot read are told, and stay in the file.
fn open(paths: &Paths) -> anyhow::Result<Store> {
    let store = Store::open(&paths.progress_log())?;
    if store.unreadable_lines > 0 {
        let (path, lines) = (paths.progress_log(), store.unreadable_lines);
        eprintln!(
            "infralab: {lines} lines of {} are not understood and are kept as they are",
            path.display()
        );
    }
    Ok(store)
}

fn list(library: &Library, progress: &Progress, lang: Lang, json: bool) -> anyhow::Result<()> {
    for term in &library.terms {
        if json {
            out::json(&object(term, progress))?;
        } else {
            let mark = progress.term(&term.id).map_or("-", Mark::word);
            out::line(&format!("{mark:<9} {:<14} {:<28} {}", term.layer.id(), term.id, term.name(lang)))?;
        }
    }
    Ok(())
}

fn show(term: &Term, library: &Library, progress: &Progress, lang: Lang) -> anyhow::Result<()> {
    let mark = progress.term(&term.id).map_or("-", Mark::word);
    let head = format!("# {} · {}\n\n{} · {} · {mark}\n\n", term.en, term.zh, term.id, term.layer.name(lang));
    let document = Document::parse(&(head + &library.term_markdown(term, lang)));
    let layout = document.layout(out::columns());
    out::line((if out::styled() { to_ansi(&layout) } else { to_plain(&layout) }).trim_end())
}

fn object(term: &Term, progress: &Progress) -> serde_json::Value {
    json!({
        "id": term.id, "en": term.en, "zh": term.zh, "layer": term.layer, "phase": term.phase,
        "mark": progress.term(&term.id), "needs": term.needs, "aliases": term.aliases,
        "short": term.short, "long": term.long,
        "not": term.not.iter().map(|n| json!({"term": n.term, "difference": n.difference})).collect::<Vec<_>>(),
        "sources": term.sources,
    })
}
