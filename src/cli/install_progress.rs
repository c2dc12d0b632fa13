//! The progress of `infralab engine install`: one line that is drawn over on a terminal, few lines in a log.

use std::io::{self, Write};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::engine::Progress;

/// In a log, a step is reported each time so many percent are done.
const LOG_EVERY_PCT: u64 = 20;

/// Draws progress.
pub(super) struct Display {
    terminal: bool,
    drawn: bool,
    last_logged_pct: Option<u64>,
}

impl Display {
    /// For a terminal, or for a file or pipe.
    pub(super) fn new(terminal: bool) -> Self {
        Self { terminal, drawn: false, last_logged_pct: None }
    }

    pub(super) fn show(&mut self, out: &mut impl Write, progress: &Progress) -> io::Result<()> {
        let text = progress.to_string();
        match progress {
            Progress::Started(_) => {
                self.last_logged_pct = None;
                self.passing(out, &text, None)
            }
            Progress::Skipped(_) | Progress::Finished { .. } => self.lasting(out, &text),
            Progress::Download { .. } | Progress::Unpack { .. } | Progress::Build { .. } => {
                self.passing(out, &text, progress.percent())
            }
            Progress::Line(line) if line.starts_with("WARNING:") || line.starts_with("error") => {
                self.lasting(out, &plain(line))
            }
            Progress::Line(_) => Ok(()),
        }
    }

    /// Removes the line that is drawn over.
    pub(super) fn clear(&mut self, out: &mut impl Write) -> io::Result<()> {
        if std::mem::take(&mut self.drawn) {
            write!(out, "\r\x1b[K")?;
        }
        out.flush()
    }

    fn lasting(&mut self, out: &mut impl Write, text: &str) -> io::Result<()> {
        self.clear(out)?;
        writeln!(out, "{text}")
    }

    fn passing(&mut self, out: &mut impl Write, text: &str, pct: Option<u64>) -> io::Result<()> {
        if self.terminal {
            // A line that wraps could not be drawn over; asked anew each time, since a window can shrink.
            // Some pseudo-terminals say 0, which means that they do not know.
            let columns = rustix::termios::tcgetwinsize(io::stderr()).map_or(0, |size| size.ws_col);
            let columns = if columns == 0 { 80 } else { columns };
            write!(out, "\r\x1b[K{}", cut(&plain(text), usize::from(columns).saturating_sub(1)))?;
            self.drawn = true;
            return out.flush();
        }
        let due = match (pct, self.last_logged_pct) {
            (Some(now), Some(last)) => now >= last + LOG_EVERY_PCT || now < last,
            (Some(_), None) | (None, _) => true,
        };
        if due {
            self.last_logged_pct = pct.map(|now| now - now % LOG_EVERY_PCT).or(self.last_logged_pct);
            writeln!(out, "{}", plain(text))?;
        }
        Ok(())
    }
}

/// Without control characters: tools print what they like, and this goes to a terminal.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The start of `text` that fits into `columns` cells.
fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used < columns
    };
    let mut short: String = text.chars().take_while(fits).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::engine::Step;

    fn download(done_mb: u64) -> Progress {
        Progress::Download {
            package: "torch".into(),
            done_bytes: done_mb * 1_000_000,
            total_bytes: 1_000_000_000,
            bytes_per_s: Some(20e6),
            left: Some(Duration::from_secs(75)),
        }
    }

    fn shown(terminal: bool, all: &[Progress]) -> String {
        let mut display = Display::new(terminal);
        let mut out = Vec::new();
        for progress in all {
            display.show(&mut out, progress).expect("memory");
        }
        display.clear(&mut out).expect("memory");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn a_log_gets_few_lines_and_no_control_characters() {
        let mut all = vec![Progress::Started(Step::Packages)];
        all.extend((0..=1000).map(download));
        all.push(Progress::Finished { step: Step::Packages, took: Duration::from_secs(61) });
        let text = shown(false, &all);
        assert_eq!(text.lines().count(), 1 + 6 + 1, "{text}");
        assert!(
            text.contains("downloading torch: 200.0 MB of 1000.0 MB (20 %), 20.0 MB/s, 1:15 min left\n"),
            "{text}"
        );
        assert!(text.ends_with("LibTorch: done in 1:01 min\n"), "{text}");
        assert!(!text.contains('\x1b') && !text.contains('\r'));
    }

    #[test]
    fn a_terminal_gets_one_line_that_goes_away() {
        let text = shown(true, &[download(1), download(2)]);
        assert!(!text.contains('\n'), "{text:?}");
        assert!(text.ends_with("\r\x1b[K"), "{text:?}");
    }

    #[test]
    fn tools_cannot_drive_the_terminal() {
        let now = "\x1b]0;PWNED\x07tch".to_owned();
        let text = shown(false, &[Progress::Build { done: 1, total: 2, now }]);
        assert!(!text.contains('\x1b') && text.contains("PWNED"), "{text:?}");
    }

    #[test]
    fn lines_are_cut_by_cells() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("显存带宽", 6), "显存…");
        assert_eq!(cut("显存带宽", 0), "…");
    }
}
