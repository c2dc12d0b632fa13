//! The sampler's thread. A driver call that hangs cannot be cancelled, so no other thread ever makes one: this one
//! opens NVML, reads, and may be left behind when it no longer answers.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{fmt, io};

use infralab_labs::clock::mono_ns;
use serde::Serialize;

use super::gpu::{Ask, Backoff};
use super::host::HostReader;
use super::nvml::{self, Gpus};
use super::{Machine, Snapshot};

/// Slowest and fastest rate, snapshots per second.
pub const HZ_RANGE: std::ops::RangeInclusive<f64> = 0.1..=50.0;

/// How long a dropped sampler waits for its thread before it leaves it behind.
const FAREWELL: Duration = Duration::from_millis(500);

/// How a sampler begins; both can be changed while it runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SamplerOptions {
    /// Snapshots per second, brought into [`HZ_RANGE`].
    pub hz: f64,
    /// Process whose resident memory is read too.
    pub worker_pid: Option<u32>,
}

impl Default for SamplerOptions {
    fn default() -> Self {
        Self { hz: 2.0, worker_pid: None }
    }
}

/// What a sampler delivers: the machine, then snapshots, and the machine again when it is another, as when its driver is
/// loaded late.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Telemetry {
    /// What does not change; comes first.
    Machine(Machine),
    /// Readings of one moment.
    Snapshot(Snapshot),
}

/// Takes what a sampler delivers, on the sampler's thread.
pub type Sink = Box<dyn FnMut(Telemetry) + Send>;

/// A running sampler. Dropping it ends it.
pub struct Sampler {
    control: Arc<Control>,
    ended: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    /// Starts the thread; the caller waits for no driver. Fails only when the system gives no thread.
    pub fn start(options: SamplerOptions, sink: Sink) -> io::Result<Self> {
        let control = Arc::new(Control::new(options));
        let (alive, ended) = mpsc::channel::<()>();
        let thread = thread::Builder::new().name("telemetry".to_owned()).spawn({
            let control = Arc::clone(&control);
            move || {
                // Dropped when the thread ends, in whatever way, which the waiting side sees.
                let _alive = alive;
                sample(&control, sink);
            }
        })?;
        Ok(Self { control, ended, thread: Some(thread) })
    }

    /// Changes the rate, snapshots per second, brought into [`HZ_RANGE`]; takes effect at once.
    pub fn set_hz(&self, hz: f64) {
        self.control.change(|wishes| {
            wishes.period = period(hz);
            wishes.fresh += 1;
        });
    }

    /// Changes the process whose resident memory is read; everything is read anew at the next snapshot, so that what the
    /// process costs can be told from what came before.
    pub fn set_worker_pid(&self, pid: Option<u32>) {
        self.control.change(|wishes| {
            wishes.worker_pid = pid;
            wishes.fresh += 1;
        });
    }

    /// Whether somebody looks. While nobody does, the GPM counters are left alone for those who need them.
    pub fn set_watched(&self, watched: bool) {
        self.control.change(|wishes| wishes.watched = watched);
    }
}

impl fmt::Debug for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sampler").field("wishes", &*self.control.lock()).finish_non_exhaustive()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.control.change(|wishes| wishes.stop = true);
        let has_ended = self.ended.recv_timeout(FAREWELL) == Err(RecvTimeoutError::Disconnected);
        if let Some(thread) = self.thread.take().filter(|_| has_ended) {
            // A sink that panicked has told so already; there is nothing to add here.
            let _ = thread.join();
        }
    }
}

/// What the owner wants of the thread.
#[derive(Debug, Clone, Copy)]
struct Wishes {
    period: Duration,
    worker_pid: Option<u32>,
    watched: bool,
    /// Counts the wishes to read everything anew.
    fresh: u64,
    stop: bool,
}

struct Control {
    wishes: Mutex<Wishes>,
    changed: Condvar,
}

impl Control {
    fn new(options: SamplerOptions) -> Self {
        let wishes = Wishes {
            period: period(options.hz),
            worker_pid: options.worker_pid,
            watched: true,
            fresh: 0,
            stop: false,
        };
        Self { wishes: Mutex::new(wishes), changed: Condvar::new() }
    }

    /// Wishes are whole after every statement, so those of a panicked holder are good too.
    fn lock(&self) -> MutexGuard<'_, Wishes> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Wishes)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Waits for the next tick and tells the wishes then; `None` when the thread shall end.
    fn next_tick(&self, ticks: &mut Ticks) -> Option<Wishes> {
        let mut wishes = self.lock();
        loop {
            if wishes.stop {
                return None;
            }
            let now = Instant::now();
            let due = ticks.due(wishes.period);
            if due <= now {
                ticks.pass(now, wishes.period);
                return Some(*wishes);
            }
            let (woken, _) =
                self.changed.wait_timeout(wishes, due - now).unwrap_or_else(PoisonError::into_inner);
            wishes = woken;
        }
    }
}

fn period(hz: f64) -> Duration {
    let hz = if hz.is_nan() { SamplerOptions::default().hz } else { hz };
    Duration::from_secs_f64(1.0 / hz.clamp(*HZ_RANGE.start(), *HZ_RANGE.end()))
}

/// Ticks on a fixed grid: a late one does not shift those after it, and those that were slept through are left out.
#[derive(Debug)]
struct Ticks {
    last: Option<Instant>,
    start: Instant,
}

impl Ticks {
    fn starting(start: Instant) -> Self {
        Self { last: None, start }
    }

    fn due(&self, period: Duration) -> Instant {
        self.last.map_or(self.start, |last| last + period)
    }

    /// Notes that the tick that was due has happened at `now`.
    fn pass(&mut self, now: Instant, period: Duration) {
        let due = self.due(period);
        let missed = now.saturating_duration_since(due).as_nanos() / period.as_nanos().max(1);
        // The longest sleep that still counts exactly; after 2^32 ticks the grid may as well start anew.
        self.last = Some(u32::try_from(missed).map_or(now, |missed| due + period * missed));
    }
}

fn sample(control: &Control, mut sink: Sink) {
    let mut machine = HostReader::machine();
    let mut host = HostReader::default();
    let mut ticks = Ticks::starting(Instant::now());
    let mut backoff = Backoff::default();
    let mut told: Option<Machine> = None;
    let mut fresh = 0;
    // Each turn is one life of the library: it is opened anew while no GPU answers, as after a driver upgrade, when a
    // container has lost its devices, or when the driver is loaded after this program has started.
    loop {
        let opened = nvml::open();
        let mut gpus = if machine.gpus.is_empty() {
            Gpus::discover(opened.as_ref(), &mut machine)
        } else {
            Gpus::rejoin(opened.as_ref(), &machine.gpus)
        };
        if told.as_ref() != Some(&machine) {
            sink(Telemetry::Machine(machine.clone()));
            told = Some(machine.clone());
        }
        loop {
            let Some(wishes) = control.next_tick(&mut ticks) else { return };
            let (started, cpu) = (Instant::now(), thread_cpu());
            let now_ns = mono_ns();
            let ask = Ask { now_ns, forced: wishes.fresh != fresh, counters: wishes.watched };
            fresh = wishes.fresh;
            let gpus_now = gpus.snapshot(ask);
            let host_now = host.snapshot(wishes.worker_pid);
            sink(Telemetry::Snapshot(Snapshot {
                mono_ns: now_ns,
                gpus: gpus_now,
                host: host_now,
                cost_us: started.elapsed().as_micros() as u64,
                cpu_us: Some(thread_cpu().saturating_sub(cpu).as_micros() as u64),
            }));
            if !gpus.are_lost() {
                backoff = Backoff::default();
            } else if backoff.is_due(now_ns) {
                backoff.failed(now_ns);
                break;
            }
        }
    }
}

/// Processor time of this thread.
fn thread_cpu() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    fn at(hz: f64) -> SamplerOptions {
        SamplerOptions { hz, worker_pid: None }
    }

    fn into_channel(sender: Sender<Telemetry>) -> Sink {
        Box::new(move |telemetry| {
            let _ = sender.send(telemetry);
        })
    }

    fn next_snapshot(received: &Receiver<Telemetry>) -> Snapshot {
        match received.recv_timeout(PATIENCE) {
            Ok(Telemetry::Snapshot(snapshot)) => snapshot,
            other => panic!("a snapshot was due, not {other:?}"),
        }
    }

    #[test]
    fn rates_are_brought_into_range() {
        assert_eq!(period(10.0), Duration::from_millis(100));
        assert_eq!(period(1e9), Duration::from_millis(20));
        assert_eq!(period(-1.0), Duration::from_secs(10));
        assert_eq!(period(f64::INFINITY), Duration::from_millis(20));
        assert_eq!(period(f64::NAN), Duration::from_millis(500));
    }

    #[test]
    fn ticks_keep_their_grid() {
        let period = Duration::from_millis(100);
        let start = Instant::now();
        let after = |ms| start + Duration::from_millis(ms);
        let mut ticks = Ticks::starting(start);
        assert_eq!(ticks.due(period), start);
        ticks.pass(after(7), period);
        assert_eq!(ticks.due(period), after(100), "a late tick does not shift the next");
        ticks.pass(after(100), period);
        ticks.pass(after(530), period);
        assert_eq!(ticks.due(period), after(600), "ticks slept through are left out");
        assert_eq!(ticks.due(Duration::from_secs(1)), after(1500), "a new rate counts from the last tick");
    }

    #[test]
    fn the_machine_comes_first_and_then_snapshots_in_order() {
        let (sender, received) = channel();
        let sampler = Sampler::start(at(50.0), into_channel(sender)).expect("a thread");
        let machine = match received.recv_timeout(PATIENCE) {
            Ok(Telemetry::Machine(machine)) => machine,
            other => panic!("the machine was due, not {other:?}"),
        };
        assert_eq!(machine.gpus.is_empty(), machine.gpu_absent_because.is_some());
        let first = next_snapshot(&received);
        let second = next_snapshot(&received);
        assert!(first.mono_ns < second.mono_ns);
        assert_eq!(second.gpus.len(), machine.gpus.len());
        assert_eq!(second.host.worker_rss_bytes, None);
        drop(sampler);
        while received.try_recv().is_ok() {}
        assert!(received.recv().is_err(), "the thread has ended and let its sink go");
    }

    #[test]
    fn rate_and_worker_change_while_it_waits() {
        let (sender, received) = channel();
        let sampler = Sampler::start(at(0.1), into_channel(sender)).expect("a thread");
        assert!(matches!(received.recv_timeout(PATIENCE), Ok(Telemetry::Machine(_))));
        next_snapshot(&received);
        let changed = Instant::now();
        sampler.set_worker_pid(Some(std::process::id()));
        sampler.set_hz(50.0);
        let snapshot = next_snapshot(&received);
        assert!(changed.elapsed() < Duration::from_secs(9), "the old period of 10 s was not waited for");
        assert!(snapshot.host.worker_rss_bytes.is_some() || cfg!(not(target_os = "linux")));
    }

    #[test]
    fn a_thread_that_hangs_is_left_behind() {
        let (entered_sender, entered) = channel();
        let (release, wait) = channel::<()>();
        let sink: Sink = Box::new(move |_| {
            let _ = entered_sender.send(());
            let _ = wait.recv();
        });
        let sampler = Sampler::start(at(50.0), sink).expect("a thread");
        entered.recv_timeout(PATIENCE).expect("the sink is entered");
        let dropped = Instant::now();
        drop(sampler);
        assert!(dropped.elapsed() >= FAREWELL);
        assert!(dropped.elapsed() < PATIENCE);
        drop(release);
    }

    #[test]
    fn a_sink_that_panics_does_not_take_its_owner_along() {
        let (entered_sender, entered) = channel();
        let sink: Sink = Box::new(move |_| {
            let _ = entered_sender.send(());
            std::panic::panic_any("on purpose");
        });
        let sampler = Sampler::start(at(50.0), sink).expect("a thread");
        entered.recv_timeout(PATIENCE).expect("the sink is entered");
        drop(sampler);
    }

    #[test]
    fn lines_tell_their_type() {
        let line = serde_json::to_value(Telemetry::Snapshot(Snapshot::default())).expect("plain data");
        assert_eq!(line["type"], "snapshot");
        assert_eq!(line["host"]["cpu_pct"], serde_json::Value::Null);
    }
}
