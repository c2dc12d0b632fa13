//! `infralab check [DIR]`: the content lint.

use std::path::PathBuf;
use std::process::ExitCode;

use super::out;
use crate::library::{Library, Source, check};

/// Arguments of `check`.
#[derive(Debug, clap::Args)]
pub(super) struct CheckArgs {
    /// Directory that holds content/ and glossary/ [default: the built-in text, or --content]
    dir: Option<PathBuf>,
}

pub(super) fn run(args: &CheckArgs, source: Source) -> anyhow::Result<ExitCode> {
    let source = args.dir.clone().map_or(source, Source::Directory);
    let library = Library::load(&source);
    let faults = check(&library);
    for fault in &faults {
        out::line(&fault.to_string())?;
    }
    let (notes, terms) = (library.notes.len(), library.terms.len());
    out::line(&format!(
        "{notes} notes, {terms} terms, {} labs: {} faults",
        infralab_labs::LABS.len(),
        faults.len()
    ))?;
    Ok(ExitCode::from(u8::from(!faults.is_empty())))
}
