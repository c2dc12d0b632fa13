//! The terminal interface; the only module that knows ratatui and crossterm. One task, one bounded inbox, one loop.

mod app;
mod glyphs;
mod keys;
mod markdown;
mod msg;
mod outside;
mod pace;
mod screens;
mod setup_task;
mod terminal;
#[cfg(test)]
mod tests;
mod theme;
mod widgets;

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use crossterm::event::{Event, EventStream};
use futures_util::StreamExt;
use infralab_labs::clock::mono_ns;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use crate::lab::Predictions;
use crate::lang::Lang;
use crate::library::Source;
use crate::paths::Paths;
use app::App;
use glyphs::Glyphs;
use msg::{Effect, Msg};
use outside::Outside;
use terminal::Screen;
use theme::Theme;

pub use keys::{BINDINGS, Binding, Place};

/// At most 30 frames a second.
const FRAME: Duration = Duration::from_millis(33);
/// Clocks and replays move ten times a second.
const TICK: Duration = Duration::from_millis(100);
/// How long the last words of a lab are waited for when the program is quit.
const FAREWELL: Duration = Duration::from_secs(1);
/// Messages that may wait; samplers and workers drop or block beyond it.
const INBOX: usize = 4096;

/// What the interface is started with.
#[derive(Debug)]
pub struct Options {
    /// Directories.
    pub paths: Paths,
    /// Where notes and terms come from.
    pub source: Source,
    /// First language.
    pub lang: Lang,
    /// First screen.
    pub start: Start,
}

/// The screen that is shown first.
#[derive(Debug, Clone, PartialEq)]
pub enum Start {
    /// The home screen.
    Home,
    /// The monitor.
    Monitor {
        /// Samples a second of panels, unless the usual.
        hz: Option<f64>,
    },
    /// A run that plays, above the monitor.
    Replay(crate::lab::history::Place),
}

/// Whether there is a terminal to draw on and to read keys from.
pub fn has_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Runs the interface until it is quit. The terminal is restored on every way out.
pub fn run(options: Options) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the event loop cannot be started")?;
    let result = runtime.block_on(async_run(options));
    // A driver call that hangs must not keep the program from ending.
    runtime.shutdown_timeout(Duration::from_millis(200));
    result
}

async fn async_run(options: Options) -> anyhow::Result<()> {
    let (inbox, mut messages) = mpsc::channel(INBOX);
    let library = Arc::new(crate::library::Library::load(&options.source));
    // Before the terminal is taken: a signal that comes any later must give it back.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut screen = Screen::enter()?;
    let theme = Theme::from_env(|k| std::env::var(k).ok());
    let mut app = App::new(Arc::clone(&library), options.lang, theme, Screen::size());
    app.core.glyphs = Glyphs::from_env(|k| std::env::var(k).ok());
    let mut replay = None;
    match options.start {
        Start::Home => {}
        Start::Monitor { hz } => app.open_monitor(hz),
        Start::Replay(place) => {
            app.open_monitor(None);
            replay = Some(Effect::LoadRun { place, play: true, predictions: Predictions::new() });
        }
    }
    // The first frame waits for nothing: the index, the engine, the runs and the readings arrive as messages.
    screen.draw(&app)?;
    app.dirty = false;
    let mut outside = Outside::start(options.paths, library, inbox.clone())?;
    terminal::watch_for_hangup(inbox);
    if let Some(effect) = replay {
        outside.perform(effect, &mut screen);
    }

    let mut keys = EventStream::new();
    let mut frame = interval(FRAME);
    let mut tick = interval(TICK);
    frame.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !app.quit {
        let msg = tokio::select! {
            biased;
            // First, so that a flood of messages cannot starve the screen.
            _ = frame.tick(), if app.dirty => {
                screen.draw(&app)?;
                app.dirty = false;
                continue;
            }
            _ = terminate.recv() => Msg::Quit,
            _ = hangup.recv() => Msg::Quit,
            _ = interrupt.recv() => Msg::Quit,
            key = keys.next() => match key {
                Some(Ok(Event::Key(key))) => Msg::Key(key),
                Some(Ok(Event::Paste(text))) => Msg::Paste(text),
                Some(Ok(Event::Resize(columns, rows))) => {
                    let (columns, rows) = terminal::usable(columns, rows);
                    Msg::Resize(columns, rows)
                }
                Some(Ok(_)) => continue,
                // The terminal is gone.
                Some(Err(_)) | None => Msg::Quit,
            },
            Some(msg) = messages.recv() => msg,
            _ = tick.tick(), if app.wants_ticks() => Msg::Tick(mono_ns()),
        };
        outside.before(&msg);
        for effect in app.update(msg) {
            outside.perform(effect, &mut screen);
        }
    }
    outside.stop_all();
    // A run that was stopped by quitting gets its closing record too.
    while app.core.running() {
        let Ok(Some(msg)) = tokio::time::timeout(FAREWELL, messages.recv()).await else { break };
        outside.before(&msg);
        for effect in app.update(msg) {
            outside.perform(effect, &mut screen);
        }
    }
    for effect in app.finish_run() {
        outside.perform(effect, &mut screen);
    }
    Ok(())
}
