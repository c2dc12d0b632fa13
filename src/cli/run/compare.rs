//! `infralab run compare`.

use std::process::ExitCode;

use super::super::{USAGE, out};
use super::known;
use crate::lab::PastRun;
use crate::lab::compare::Comparison;
use crate::lab::report::markdown::Pictures;
use crate::lab::report::{comparison, markdown};
use crate::lang::Lang;
use crate::paths::Paths;

/// Arguments of `run compare`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct CompareArgs {
    /// Two or more run ids, their beginnings, or files; the first is what the others are measured against
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    ids: Vec<String>,
    /// One object
    #[arg(long, conflicts_with = "md")]
    json: bool,
    /// Markdown instead of text
    #[arg(long)]
    md: bool,
}

pub(super) fn compare(args: &CompareArgs, paths: &Paths, lang: Lang) -> anyhow::Result<ExitCode> {
    let mut runs = Vec::new();
    for id in &args.ids {
        let Some(place) = known(id, paths)? else { return Ok(ExitCode::FAILURE) };
        runs.push(PastRun::read(&place)?);
    }
    let comparison = match Comparison::of(&runs.iter().collect::<Vec<_>>(), lang) {
        Ok(comparison) => comparison,
        Err(error) => {
            eprintln!("infralab: {error}");
            return Ok(ExitCode::from(USAGE));
        }
    };
    if args.json {
        out::json(&comparison)?;
    } else {
        let blocks = comparison::blocks(&comparison, lang);
        if args.md { out::line(&markdown::write(&blocks, Pictures::LeftOut))? } else { out::page(&blocks)? }
    }
    Ok(ExitCode::SUCCESS)
}
