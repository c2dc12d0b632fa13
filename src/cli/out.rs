//! Writing to stdout so that a closed pipe ends the command quietly instead of panicking.

use std::io::{self, Write};

use serde::Serialize;

use crate::lab::report::document::Block;
use crate::lab::report::markdown::{self, Pictures};
use crate::reader::{Document, to_ansi, to_plain};

/// Writes a line.
pub(super) fn line(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// Writes one JSON object on a line.
pub(super) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    line(&serde_json::to_string(value)?)
}

/// Whether an error only says that nobody reads any more.
pub(super) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
            || cause
                .downcast_ref::<serde_json::Error>()
                .is_some_and(|e| e.io_error_kind() == Some(io::ErrorKind::BrokenPipe))
    })
}

/// Writes a page as the reader shows it.
pub(super) fn page(blocks: &[Block]) -> anyhow::Result<()> {
    let layout = Document::parse(&markdown::write(blocks, Pictures::LeftOut)).layout(columns());
    line((if styled() { to_ansi(&layout) } else { to_plain(&layout) }).trim_end())
}

/// Columns for text: the terminal's, within reason, or 80 in a pipe.
pub(super) fn columns() -> u16 {
    let size = rustix::termios::tcgetwinsize(io::stdout()).map_or(0, |s| s.ws_col);
    if size == 0 { 80 } else { size.clamp(20, 100) }
}

/// Whether stdout may carry bold and dim.
pub(super) fn styled() -> bool {
    use std::io::IsTerminal;
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}
