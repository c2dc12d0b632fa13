//! Taking the terminal and giving it back, on every way out: return, error, panic, signal, hang-up, suspension.

use std::io::{self, Stdout, Write};
use std::time::Duration;

use anyhow::Context;
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::execute;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, getpid, kill_process};
use tokio::sync::mpsc;

use super::app::App;
use super::msg::Msg;
use super::screens;

/// What a terminal that does not know its size is taken for.
const ASSUMED: (u16, u16) = (80, 24);

/// A size that can be drawn on: a pty may report 0×0.
pub(super) fn usable(columns: u16, rows: u16) -> (u16, u16) {
    if columns == 0 || rows == 0 { ASSUMED } else { (columns, rows) }
}

/// The terminal in raw mode on the alternate screen; dropping it gives it back.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes the terminal; a panic gives it back before it prints.
    pub(super) fn enter() -> anyhow::Result<Self> {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            give_back();
            before(info);
        }));
        take().context("the terminal cannot be put into raw mode")?;
        match fresh() {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                give_back();
                Err(error).context("the terminal cannot be drawn on")
            }
        }
    }

    /// Columns and rows.
    pub(super) fn size() -> (u16, u16) {
        crossterm::terminal::size().map_or(ASSUMED, |(columns, rows)| usable(columns, rows))
    }

    /// Draws what changed.
    pub(super) fn draw(&mut self, app: &App) -> anyhow::Result<()> {
        self.terminal.draw(|frame| screens::draw(app, frame)).context("the terminal cannot be written to")?;
        Ok(())
    }

    /// Forgets what is on the screen, so that the next frame is drawn whole. `Terminal::clear` would ask the terminal
    /// where its cursor is, and wait two seconds for one that does not answer.
    pub(super) fn clear(&mut self) {
        use crossterm::terminal::{Clear, ClearType};
        let _ = execute!(io::stdout(), Clear(ClearType::All));
        if let Ok(terminal) = fresh() {
            self.terminal = terminal;
        }
    }

    /// Gives the terminal back, stops this process until `fg`, takes the terminal again.
    pub(super) fn suspend(&mut self) {
        give_back();
        let _ = kill_process(getpid(), Signal::STOP);
        let _ = take();
        self.clear();
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// A terminal that believes its screen to be blank.
fn fresh() -> io::Result<Terminal<CrosstermBackend<Stdout>>> {
    let size = crossterm::terminal::size().unwrap_or((0, 0));
    let viewport = if usable(size.0, size.1) == size {
        Viewport::Fullscreen
    } else {
        Viewport::Fixed(Rect::new(0, 0, ASSUMED.0, ASSUMED.1))
    };
    Terminal::with_options(CrosstermBackend::new(io::stdout()), TerminalOptions { viewport })
}

fn take() -> io::Result<()> {
    crossterm::terminal::enable_raw_mode()?;
    execute!(io::stdout(), crossterm::terminal::EnterAlternateScreen, EnableBracketedPaste)
}

/// Every step is tried, whatever became of the one before.
fn give_back() {
    let mut out = io::stdout();
    let _ = execute!(out, DisableBracketedPaste);
    let _ = execute!(out, crossterm::terminal::LeaveAlternateScreen, crossterm::cursor::Show);
    let _ = crossterm::terminal::disable_raw_mode();
    let _ = out.flush();
}

/// Ends the program when the terminal goes away while hang-up signals are ignored: the event source would spin.
pub(super) fn watch_for_hangup(inbox: mpsc::Sender<Msg>) {
    std::thread::spawn(move || {
        let stdin = io::stdin();
        loop {
            let mut fds = [PollFd::new(&stdin, PollFlags::empty())];
            let pause = Timespec { tv_sec: 1, tv_nsec: 0 };
            match poll(&mut fds, Some(&pause)) {
                Ok(_) if fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR) => break,
                Ok(_) => {}
                Err(error) if error == rustix::io::Errno::INTR => {}
                Err(_) => return,
            }
        }
        let _ = inbox.blocking_send(Msg::Quit);
        // The loop may hang in a read that never returns.
        std::thread::sleep(Duration::from_secs(1));
        std::process::exit(1);
    });
}
