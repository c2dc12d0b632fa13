//! `infralab note list | show`.

use std::process::ExitCode;

use serde_json::json;

use super::out;
use crate::lang::Lang;
use crate::library::{Library, Note, headings};
use crate::reader::{Document, to_ansi, to_plain};

/// Subcommands of `note`.
#[derive(Debug, clap::Subcommand)]
pub(super) enum NoteCommand {
    /// Every note, in the order of the route
    List {
        /// zh or en [default: by locale]
        #[arg(long)]
        lang: Option<Lang>,
        /// One object a line
        #[arg(long)]
        json: bool,
    },
    /// One note
    Show {
        /// Id, as `note list` shows it
        id: String,
        /// zh or en [default: by locale]
        #[arg(long)]
        lang: Option<Lang>,
        /// The Markdown as it is
        #[arg(long)]
        raw: bool,
        /// One object
        #[arg(long, conflicts_with = "raw")]
        json: bool,
    },
}

pub(super) fn run(command: NoteCommand, library: &Library, ui: Lang) -> anyhow::Result<ExitCode> {
    match command {
        NoteCommand::List { lang, json } => list(library, lang.unwrap_or(ui), json)?,
        NoteCommand::Show { id, lang, raw, json } => {
            let Some(note) = library.note(&id) else {
                eprintln!("infralab: no note `{id}`; `infralab note list` shows the ids");
                return Ok(ExitCode::FAILURE);
            };
            show(note, lang.unwrap_or(ui), raw, json)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(library: &Library, lang: Lang, as_json: bool) -> anyhow::Result<()> {
    for note in &library.notes {
        if as_json {
            out::json(&object(note, lang))?;
        } else {
            let text = note.text.get(lang);
            out::line(&format!("{:<26} {}  {}", note.id, note.phase, text.title))?;
        }
    }
    Ok(())
}

fn show(note: &Note, lang: Lang, raw: bool, as_json: bool) -> anyhow::Result<()> {
    let text = note.text.get(lang);
    if as_json {
        let mut object = object(note, lang);
        object["body"] = json!(text.body);
        object["headings"] = headings(&text.body)
            .iter()
            .map(|h| json!({"level": h.level, "text": h.text, "anchor": h.anchor}))
            .collect();
        return out::json(&object);
    }
    if raw {
        return out::line(text.body.trim_end());
    }
    let document = Document::parse(&format!("# {}\n\n{}", text.title, text.body));
    let layout = document.layout(out::columns());
    out::line((if out::styled() { to_ansi(&layout) } else { to_plain(&layout) }).trim_end())
}

fn object(note: &Note, lang: Lang) -> serde_json::Value {
    let text = note.text.get(lang);
    json!({
        "id": note.id, "lang": lang, "title": text.title, "summary": text.summary, "phase": note.phase,
        "layer": note.layer, "needs": note.needs, "terms": note.terms, "labs": note.labs,
        "sources": note.sources, "checked": note.checked,
    })
}
