//! Sets the engine up on a thread of its own: planning may wait for a sick driver, installing takes minutes.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::msg::{EngineStatus, Msg, Setup};
use crate::engine::{self, Cancel, Engine, Host, Interrupted, Options, Plan, Progress};
use crate::paths::Paths;

/// Progress is told at most this often: compilers name a unit many times a second.
const TELL_EVERY: Duration = Duration::from_millis(200);
/// How long quitting waits for tools that were asked to end.
const FAREWELL: Duration = Duration::from_secs(3);

/// An installation that may be under way.
#[derive(Debug, Default)]
pub(super) struct SetupTask {
    cancel: Cancel,
    thread: Option<JoinHandle<()>>,
}

impl SetupTask {
    /// Finds out what it would take.
    pub(super) fn plan(paths: Paths, inbox: mpsc::Sender<Msg>) {
        std::thread::spawn(move || {
            let tell = |setup| drop(inbox.blocking_send(Msg::Setup(setup)));
            tell(Setup::Planning);
            tell(match engine::plan(&paths, &Options::default(), &Host::here()) {
                Ok(plan) => Setup::Planned(Box::new(plan)),
                Err(fault) => Setup::Failed(fault.to_string()),
            });
        });
    }

    /// Does what was planned, unless that is already under way.
    pub(super) fn install(&mut self, plan: Plan, paths: Paths, inbox: mpsc::Sender<Msg>) {
        if self.thread.as_ref().is_some_and(|t| !t.is_finished()) {
            return;
        }
        let cancel = self.cancel.clone();
        self.thread = Some(std::thread::spawn(move || {
            let tell = |setup| drop(inbox.blocking_send(Msg::Setup(setup)));
            let mut told = Instant::now();
            tell(Setup::Running(String::new()));
            let result = engine::install(&paths, &plan, &Host::here(), &cancel, &mut |progress| {
                let passing = progress.percent().is_some();
                if !matches!(progress, Progress::Line(_)) && (!passing || told.elapsed() >= TELL_EVERY) {
                    told = Instant::now();
                    tell(Setup::Running(crate::visible::visible_line(&progress.to_string())));
                }
            });
            tell(match result {
                Ok(_) => Setup::Done,
                Err(Interrupted::Cancelled) => Setup::Idle,
                Err(Interrupted::Fault(fault)) => Setup::Failed(fault.to_string()),
            });
            drop(inbox.blocking_send(Msg::Engine(EngineStatus::of(&Engine::locate(&paths)))));
        }));
    }

    /// Asks an installation to end and waits shortly: its tools must not outlive the program.
    pub(super) fn end(self) {
        self.cancel.request();
        let until = Instant::now() + FAREWELL;
        while self.thread.as_ref().is_some_and(|t| !t.is_finished()) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
