//! Draws the pictures of the README: runs the built program in a pseudo-terminal, presses keys, and writes each screen
//! as SVG. `cargo run --release --example capture` rewrites `assets/screens/`.

#[path = "../tests/it/terminal.rs"]
#[allow(dead_code)]
mod terminal;

use std::fmt::Write as _;
use std::path::Path;

use terminal::Terminal;

const CELL: (f32, f32) = (8.4, 18.0);
const FOREGROUND: &str = "#d4d4d4";
const BACKGROUND: &str = "#1e1e1e";
const COLUMNS: u16 = 120;
const ROWS: u16 = 36;
const DOWN: &str = "\x1b[B";

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = std::env::current_exe().expect("this program");
    let program = program.parent().and_then(Path::parent).expect("target").join("infralab");
    let program = program.to_str().expect("UTF-8");
    let data = tempfile::tempdir().expect("temp dir");
    let data = data.path().to_str().expect("UTF-8").to_owned();
    // Each picture: file, locale, keys, and the text that tells that the screen is complete.
    let pictures: [(&str, &str, &[&str], &str); 7] = [
        ("note", "C.UTF-8", &["2", "\x1b[B\x1b[B\x1b[B", "\r", "\x1b[6~"], "phase 0 ·"),
        ("note-zh", "zh_CN.UTF-8", &["2", "\x1b[B\x1b[B\x1b[B", "\r"], "第 0 阶段 ·"),
        ("search", "C.UTF-8", &["/", "显存带宽"], "found in"),
        ("run", "C.UTF-8", &["6", "\r", "\x1b[C"], "completed"),
        (
            "ledger",
            "C.UTF-8",
            &["6", DOWN, DOWN, "\r", "\t", "\t", "\x1b[C", DOWN, DOWN, DOWN, DOWN, DOWN, DOWN],
            "unexplained",
        ),
        (
            "monitor",
            "C.UTF-8",
            &["6", DOWN, DOWN, DOWN, DOWN, "\r", DOWN, DOWN, DOWN, DOWN, "\x1b[C"],
            "means within command",
        ),
        ("calc", "C.UTF-8", &["7"], "source"),
    ];
    for (name, locale, keys, complete) in pictures {
        let mut terminal =
            Terminal::start(program, &["--data", &data], Some((COLUMNS, ROWS)), &[("LANG", locale)]);
        terminal.wait_for("infralab");
        terminal.wait_for("LibTorch");
        for key in keys {
            let before = terminal.text();
            terminal.send(key);
            terminal.wait_until("the screen changes", |screen| screen.contents() != before);
        }
        terminal.wait_for(complete);
        terminal.settle();
        let path = root.join("assets/screens").join(format!("{name}.svg"));
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("assets/screens");
        std::fs::write(&path, svg(terminal.screen())).expect("written");
        terminal.send("\x1b[21~");
        terminal.exit();
    }
}

/// Cells that look alike and stand side by side.
struct Run {
    text: String,
    column: u16,
    cells: u16,
    look: Look,
}

#[derive(Clone, PartialEq)]
struct Look {
    fg: String,
    bg: String,
    attributes: String,
}

fn look_of(cell: &vt100::Cell) -> Look {
    let (mut fg, mut bg) = (colour(cell.fgcolor(), FOREGROUND), colour(cell.bgcolor(), BACKGROUND));
    if cell.inverse() {
        std::mem::swap(&mut fg, &mut bg);
    }
    let attributes = [
        (cell.bold(), " font-weight=\"bold\""),
        (cell.italic(), " font-style=\"italic\""),
        (cell.dim(), " opacity=\"0.65\""),
        (cell.underline(), " text-decoration=\"underline\""),
    ];
    let attributes = attributes.iter().filter(|(on, _)| *on).map(|(_, text)| *text).collect();
    Look { fg, bg, attributes }
}

fn runs(screen: &vt100::Screen, row: u16) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for column in 0..screen.size().1.get() {
        let Some(cell) = screen.cell(row, column).filter(|c| !c.is_wide_continuation()) else { continue };
        let (look, cells) = (look_of(cell), if cell.is_wide() { 2 } else { 1 });
        let text = if cell.has_contents() { cell.contents() } else { " " };
        match runs.last_mut() {
            Some(run) if run.look == look && run.column + run.cells == column => {
                run.text.push_str(text);
                run.cells += cells;
            }
            _ => runs.push(Run { text: text.to_owned(), column, cells, look }),
        }
    }
    runs
}

fn svg(screen: &vt100::Screen) -> String {
    let (rows, columns) = screen.size();
    let (width, height) = (f32::from(columns.get()) * CELL.0, f32::from(rows.get()) * CELL.1);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"DejaVu Sans Mono, \
         Noto Sans Mono CJK SC, Sarasa Mono SC, Menlo, Consolas, monospace\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"{BACKGROUND}\"/>\n"
    );
    for row in 0..rows.get() {
        for run in runs(screen, row) {
            let (x, y) = (f32::from(run.column) * CELL.0, f32::from(row) * CELL.1);
            let width = f32::from(run.cells) * CELL.0;
            if run.look.bg != BACKGROUND {
                let (bg, height) = (&run.look.bg, CELL.1);
                let _ = writeln!(
                    out,
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height}\" fill=\"{bg}\"/>"
                );
            }
            if run.text.trim().is_empty() {
                continue;
            }
            // The length is given, so that a font of another width still fills exactly these cells.
            let text = run.text.replace('&', "&amp;").replace('<', "&lt;");
            let (fg, attributes, baseline) = (&run.look.fg, &run.look.attributes, y + CELL.1 * 0.75);
            let _ = writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{baseline:.1}\" textLength=\"{width:.1}\" lengthAdjust=\"spacingAndGlyphs\" \
                 xml:space=\"preserve\" fill=\"{fg}\"{attributes}>{text}</text>"
            );
        }
    }
    out.push_str("</svg>\n");
    out
}

/// The 16 colours that every terminal defines, as a usual dark scheme shows them.
fn colour(colour: vt100::Color, default: &str) -> String {
    const PALETTE: [&str; 16] = [
        "#000000", "#cd3131", "#0dbc79", "#c8a000", "#3b78ff", "#bc3fbc", "#11a8cd", "#d0d0d0", "#777777",
        "#f14c4c", "#23d18b", "#f5f543", "#6aa0ff", "#d670d6", "#29b8db", "#ffffff",
    ];
    match colour {
        vt100::Color::Default => default.to_owned(),
        vt100::Color::Idx(i) => PALETTE.get(usize::from(i)).copied().unwrap_or(default).to_owned(),
        vt100::Color::Rgb(r, g, b) => format!("#{r:02x}{g:02x}{b:02x}"),
    }
}
