//! Everything that happens outside the app: files, processes, readings. Effects are performed here and nowhere else;
//! their answers come back as messages.

use std::sync::Arc;

use infralab_labs::clock::mono_ns;
use infralab_labs::protocol::RunRequest;
use tokio::sync::mpsc;

use super::msg::{Effect, EngineStatus, Msg, Notice};
use super::setup_task::SetupTask;
use super::terminal::Screen;
use crate::engine::{self, Engine, EngineState};
use crate::lab::history::{self, Place, Writer};
use crate::lab::preflight::RunLock;
use crate::lab::runner::{self, LabHandle};
use crate::lab::{Header, LabEvent, PastRun, Predictions};
use crate::library::Library;
use crate::paths::Paths;
use crate::progress::Store;
use crate::search::SearchIndex;
use crate::telemetry::{Machine, Sampler, SamplerOptions, Snapshot, Telemetry};

/// Samples a second until the app asks otherwise.
const FIRST_HZ: f64 = 2.0;

/// Handles to the world.
pub(super) struct Outside {
    paths: Paths,
    inbox: mpsc::Sender<Msg>,
    store: Store,
    sampler: Sampler,
    machine: Machine,
    /// Newest readings: what the machine was doing before a run.
    newest: Option<Snapshot>,
    lab: Option<LabHandle>,
    /// Held while a lab runs.
    lock: Option<RunLock>,
    recording: Option<Writer>,
    setup: SetupTask,
}

impl Outside {
    /// Starts what answers by itself: readings, the search index, the engine's state, marks and runs.
    pub(super) fn start(
        paths: Paths,
        library: Arc<Library>,
        inbox: mpsc::Sender<Msg>,
    ) -> anyhow::Result<Self> {
        let sampler = {
            let inbox = inbox.clone();
            Sampler::start(
                SamplerOptions { hz: FIRST_HZ, worker_pid: None },
                Box::new(move |telemetry| {
                    // A full inbox drops readings: a gap is better than a sampler that waits.
                    let _ = inbox.try_send(match telemetry {
                        Telemetry::Machine(machine) => Msg::Machine(Box::new(machine)),
                        Telemetry::Snapshot(snapshot) => Msg::Snapshot(Box::new(snapshot)),
                    });
                }),
            )?
        };
        let faults = library.faults.len();
        let index = inbox.clone();
        std::thread::spawn(move || {
            let built = SearchIndex::build(&library);
            let dictionary = built.dictionary();
            let _ = index.blocking_send(Msg::SearchReady(Box::new(built)));
            // The index answers without it until it is there.
            dictionary.load();
        });
        let log = paths.progress_log();
        let (store, unread) = match Store::open(&log) {
            Ok(store) => (store, None),
            Err(error) => (Store::unavailable(&log), Some(error.to_string())),
        };
        let outside = Self {
            paths,
            inbox,
            store,
            sampler,
            machine: Machine::default(),
            newest: None,
            lab: None,
            lock: None,
            recording: None,
            setup: SetupTask::default(),
        };
        outside.tell_progress();
        if let Some(error) = unread {
            outside.send(Msg::Tell(Notice::bad(error)));
        } else if outside.store.unreadable_lines > 0 {
            let text = format!(
                "{} lines of the progress log cannot be read and are kept as they are",
                outside.store.unreadable_lines
            );
            outside.send(Msg::Tell(Notice::bad(text)));
        }
        if faults > 0 {
            let text = format!(
                "{faults} faults in notes and terms: `infralab check` names them / 内容有 {faults} 处错误，运行 `infralab check` 查看"
            );
            outside.send(Msg::Tell(Notice::bad(text)));
        }
        outside.list_runs();
        outside.check_engine();
        Ok(outside)
    }

    /// Sees a message before the app does: what a run says is on disk before it is on the screen.
    pub(super) fn before(&mut self, msg: &Msg) {
        match msg {
            Msg::Machine(machine) => self.machine = (**machine).clone(),
            Msg::Lab(event) => {
                self.record(event);
                match &**event {
                    LabEvent::Worker(infralab_labs::protocol::Event::Hello(hello)) => {
                        self.sampler.set_worker_pid(Some(hello.pid));
                    }
                    LabEvent::Exited(_) => {
                        self.sampler.set_worker_pid(None);
                        self.lab = None;
                        self.lock = None;
                    }
                    _ => {}
                }
            }
            Msg::Snapshot(snapshot) => {
                if self.recording.is_some() {
                    self.record(&LabEvent::Snapshot((**snapshot).clone()));
                }
                self.newest = Some((**snapshot).clone());
                self.look_for_marks_of_others();
            }
            _ => {}
        }
    }

    /// Performs one effect.
    pub(super) fn perform(&mut self, effect: Effect, screen: &mut Screen) {
        match effect {
            Effect::Mark(subjects, mark) => {
                for subject in subjects {
                    if let Err(error) = self.store.mark(subject, mark) {
                        self.send(Msg::Tell(Notice::bad(error.to_string())));
                        break;
                    }
                }
                self.refresh_progress();
            }
            Effect::Undo => {
                match self.store.undo() {
                    Ok(entry) => self.send(Msg::Undone(entry.map(|e| e.change.subject().to_owned()))),
                    Err(error) => self.send(Msg::Tell(Notice::bad(error.to_string()))),
                }
                self.refresh_progress();
            }
            Effect::StartLab { request, predictions } => self.start_lab(&request, predictions),
            Effect::StopLab => {
                if let Some(lab) = &self.lab {
                    lab.stop();
                }
            }
            Effect::PlanEngine => SetupTask::plan(self.paths.clone(), self.inbox.clone()),
            Effect::InstallEngine(plan) => self.setup.install(*plan, self.paths.clone(), self.inbox.clone()),
            Effect::FinishRun(record) => {
                if let Some(writer) = self.recording.take() {
                    match writer.finish(*record) {
                        Ok(_) => self.list_runs(),
                        Err(error) => self.send(Msg::Tell(Notice::bad(error.to_string()))),
                    }
                }
            }
            Effect::LoadRun { place, play, predictions } => match history::load(&place) {
                Ok(mut events) => {
                    if let (Some(LabEvent::Header(header)), false) =
                        (events.first_mut(), predictions.is_empty())
                    {
                        header.predictions = predictions;
                    }
                    let shipped = matches!(place, Place::Shipped(_));
                    self.send(Msg::RunLoaded { shipped, events, play_from_ns: play.then(mono_ns) });
                }
                Err(error) => self.send(Msg::Tell(Notice::bad(error.to_string()))),
            },
            Effect::LoadRuns(places) => {
                let runs: Result<Vec<PastRun>, _> = places.iter().map(PastRun::read).collect();
                self.send(match runs {
                    Ok(runs) => Msg::RunsLoaded(runs),
                    Err(error) => Msg::Tell(Notice::bad(error.to_string())),
                });
            }
            Effect::SampleAt { hz, watched } => {
                self.sampler.set_watched(watched);
                self.sampler.set_hz(hz);
            }
            Effect::Redraw => screen.clear(),
            Effect::Suspend => screen.suspend(),
        }
    }

    /// Stops what runs and waits for its end; what the lab said last is in the inbox then.
    pub(super) fn stop_all(&mut self) {
        if let Some(lab) = &self.lab {
            lab.stop_and_wait();
        }
        std::mem::take(&mut self.setup).end();
    }

    fn start_lab(&mut self, request: &RunRequest, predictions: Predictions) {
        let EngineState::Ready(ready) = Engine::locate(&self.paths) else {
            self.check_engine();
            return;
        };
        let lock = RunLock::take(self.paths.data());
        let machine = self.machine.clone();
        let header = Header::new(request.clone(), predictions, machine, self.newest.as_ref(), &lock);
        self.lock = Some(lock);
        match Writer::create(&self.paths.runs(), &header) {
            Ok(writer) => self.recording = Some(writer),
            Err(error) => self.send(Msg::Tell(Notice::bad(error.to_string()))),
        }
        self.send_lab(LabEvent::Header(header));
        let inbox = self.inbox.clone();
        let sink: runner::Sink = Arc::new(move |event| {
            let _ = inbox.blocking_send(Msg::Lab(Box::new(event)));
        });
        match runner::start(engine::worker_command(&ready), request, sink) {
            Ok(lab) => self.lab = Some(lab),
            Err(error) => {
                let exited = crate::lab::Exited { code: None, signal: None, mono_ns: mono_ns() };
                self.lock = None;
                self.send_lab(LabEvent::Log { line: error.to_string() });
                self.send_lab(LabEvent::Exited(exited));
            }
        }
    }

    fn record(&mut self, event: &LabEvent) {
        // The writer wrote the header itself.
        if matches!(event, LabEvent::Header(_)) {
            return;
        }
        if let Some(writer) = &mut self.recording
            && let Err(error) = writer.write(event)
        {
            self.recording = None;
            self.send(Msg::Tell(Notice::bad(error.to_string())));
        }
    }

    /// Another instance may have appended to the log. Cheap enough for every reading: only what is new is read.
    fn look_for_marks_of_others(&mut self) {
        let known = self.store.progress().entries().len();
        // A log that cannot be read was told at the start, and is told again when a mark is put.
        if self.store.refresh().is_ok() && self.store.progress().entries().len() > known {
            self.tell_progress();
        }
    }

    fn refresh_progress(&mut self) {
        if let Err(error) = self.store.refresh() {
            self.send(Msg::Tell(Notice::bad(error.to_string())));
        }
        self.tell_progress();
    }

    fn tell_progress(&self) {
        self.send(Msg::Progress(Arc::new(self.store.progress().clone())));
    }

    fn list_runs(&self) {
        match history::list(&self.paths.runs()) {
            Ok(runs) => self.send(Msg::History(runs)),
            Err(error) => self.send(Msg::Tell(Notice::bad(error.to_string()))),
        }
    }

    fn check_engine(&self) {
        self.send(Msg::Engine(EngineStatus::of(&Engine::locate(&self.paths))));
    }

    fn send_lab(&self, event: LabEvent) {
        self.send(Msg::Lab(Box::new(event)));
    }

    /// The loop that empties the inbox is the one that calls this, so a full inbox must not block it; the inbox is
    /// far larger than what one message can cause.
    fn send(&self, msg: Msg) {
        let _ = self.inbox.try_send(msg);
    }
}
