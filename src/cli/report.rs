//! `infralab report`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};

use super::out;
use super::run::known;
use crate::lab::PastRun;
use crate::lab::history;
use crate::lab::report::document::Block;
use crate::lab::report::markdown::{self, Pictures};
use crate::lab::report::{Report, html, pick};
use crate::lang::Lang;
use crate::library::Library;
use crate::paths::Paths;
use crate::progress::Store;

/// Arguments of `report`.
#[derive(Debug, clap::Args)]
pub(super) struct ReportArgs {
    /// md or html
    #[arg(long, default_value = "md")]
    format: Format,
    /// Write to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Show these runs, and no others; may be repeated [default: the newest complete one of each lab, device and size]
    #[arg(long = "run", value_name = "ID")]
    runs: Vec<String>,
    /// Show the recordings that ship as well
    #[arg(long)]
    with_recordings: bool,
    /// en or zh [default: the locale's]
    #[arg(long)]
    lang: Option<Lang>,
}

/// Formats of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Markdown.
    Md,
    /// One HTML file.
    Html,
}

pub(super) fn run(
    args: &ReportArgs,
    library: &Library,
    paths: &Paths,
    lang: Lang,
) -> anyhow::Result<ExitCode> {
    let lang = args.lang.unwrap_or(lang);
    let listed = history::list(&paths.runs())?;
    let mut places = Vec::new();
    for id in &args.runs {
        let Some(place) = known(id, paths)? else { return Ok(ExitCode::FAILURE) };
        if !places.contains(&place) {
            places.push(place);
        }
    }
    if args.runs.is_empty() {
        places = pick(&listed, args.with_recordings).into_iter().map(|r| r.place.clone()).collect();
    }
    let mut shown = Vec::new();
    for place in &places {
        match PastRun::read(place) {
            Ok(run) if run.session.is_of_readings() => {
                eprintln!("infralab: left out: {} is a recording of readings, not of a lab", run.record.run);
            }
            Ok(run) => shown.push(run),
            // A file can go away or lose its header between the list and now.
            Err(error) => eprintln!("infralab: left out: {error}"),
        }
    }
    let terms = library.terms.iter().map(|t| t.id.as_str());
    let marks = match Store::open(&paths.progress_log()) {
        Ok(store) => Some(store.progress().count(terms)),
        Err(error) => {
            eprintln!("infralab: {error}");
            None
        }
    };
    let blocks = Report { listed: &listed, shown: &shown, marks, lang }.blocks();
    match &args.out {
        Some(file) => write(file, args.format, &blocks, lang)?,
        None if args.format == Format::Html => out::line(&html::write(&blocks, lang))?,
        None => {
            let note = lang.pick(
                "(Pictures are left out on stdout: `infralab report --out FILE` writes them into a folder beside FILE.)",
                "（标准输出中不含图：`infralab report --out FILE` 会把图写到 FILE 旁的文件夹。）",
            );
            out::line(&format!("{}\n\n{note}", markdown::write(&blocks, Pictures::LeftOut)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn write(file: &Path, format: Format, blocks: &[Block], lang: Lang) -> anyhow::Result<()> {
    let failed = |path: &Path| format!("the report cannot be written to {}", path.display());
    if let Some(parent) = file.parent().filter(|p| !p.as_os_str().is_empty()) {
        std::fs::create_dir_all(parent).with_context(|| failed(file))?;
    }
    let mut pictures = 0;
    let text = match format {
        Format::Html => html::write(blocks, lang),
        Format::Md => {
            let stem = file.file_stem().unwrap_or_default();
            let folder = file.with_file_name(stem);
            if folder == file {
                bail!(
                    "{}: give the file an ending, such as .md: its pictures go into a folder named without it",
                    file.display()
                );
            }
            for block in blocks {
                if let Block::Picture(picture) = block {
                    if pictures == 0 && !folder.is_dir() {
                        std::fs::create_dir(&folder).with_context(|| failed(&folder))?;
                    }
                    let path = folder.join(format!("{}.svg", picture.name));
                    std::fs::write(&path, &picture.svg).with_context(|| failed(&path))?;
                    pictures += 1;
                }
            }
            markdown::write(blocks, Pictures::In(&stem.to_string_lossy()))
        }
    };
    std::fs::write(file, text + "\n").with_context(|| failed(file))?;
    let beside = lang.pick(format!(", {pictures} pictures beside it"), format!("，旁边有 {pictures} 张图"));
    out::line(&format!("{}{}", file.display(), if pictures > 0 { beside } else { String::new() }))
}
