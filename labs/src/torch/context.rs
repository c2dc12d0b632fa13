//! What every lab is given: a device, a way to report, and a way to measure.

use tch::Device;

use super::Error;
use super::input::StopFlag;
use super::memory::{empty_cache, free_bytes};
use super::output::Output;
use super::timing::{self, Repeats, Timing};
use crate::clock::mono_ns;
use crate::protocol::{Edge, Event, Expected, Hello, Point, Quantity, RunRequest, Text};

/// One lab's run.
pub struct Context {
    device: Device,
    hello: Hello,
    budget_bytes: Option<u64>,
    output: Output,
    stop: StopFlag,
}

impl Context {
    /// Seeds every generator and takes over the pipes.
    pub fn new(device: Device, hello: Hello, request: &RunRequest, output: Output, stop: StopFlag) -> Self {
        tch::manual_seed(request.seed as i64);
        Self { device, hello, budget_bytes: request.budget_bytes, output, stop }
    }

    /// Where tensors live.
    pub fn device(&self) -> Device {
        self.device
    }

    /// What the worker said about itself.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Reports one event.
    pub fn emit(&self, event: &Event) {
        self.output.emit(event);
    }

    /// Reports a measured point, taken in the way that `window` says.
    pub fn point(&self, metric: &str, series: &str, x: f64, y: Quantity, window: &str) {
        self.emit(&Event::Point(Point {
            metric: metric.into(),
            series: series.into(),
            x,
            y,
            window: window.into(),
            mono_ns: mono_ns(),
        }));
    }

    /// Reports the closed form of a point.
    pub fn expected(&self, expected: Expected) {
        self.emit(&Event::Expected(expected));
    }

    /// Says one sentence to the learner.
    pub fn note(&self, text: Text) {
        self.emit(&Event::Note { text, mono_ns: mono_ns() });
    }

    /// Reports that step `done` of `total` begins.
    pub fn progress(&self, done: u32, total: u32, label: Text) {
        self.emit(&Event::Progress { done, total, label });
    }

    /// Opens a phase; it ends when the guard goes.
    #[must_use = "the phase ends when this is dropped"]
    pub fn phase(&self, name: impl Into<String>) -> Phase<'_> {
        let phase = Phase { context: self, name: name.into() };
        phase.mark(Edge::Start);
        phase
    }

    /// Whether the app asked for the end.
    pub fn stopped(&self) -> bool {
        self.stop.is_set()
    }

    /// [`Error::Stopped`] once the app asked for the end.
    pub fn go_on(&self) -> Result<(), Error> {
        if self.stopped() { Err(Error::Stopped) } else { Ok(()) }
    }

    /// Times of `work`, by device events on CUDA and by the wall clock on the CPU.
    pub fn timed(&self, repeats: Repeats, work: impl FnMut() -> Result<(), Error>) -> Result<Timing, Error> {
        timing::time(self.device, repeats, &self.stop, work)
    }

    /// Bytes that the lab may take: `own` (its parameter), else the request's bound, else 90 % of what is free now.
    /// On a GPU a bound beyond what is free is kept, so that a learner can meet the allocator's refusal; on the CPU it
    /// is not, because there the kernel kills a process, and not always this one.
    pub fn budget_bytes(&self, own: Option<u64>) -> Result<u64, Error> {
        // What an earlier step left in the cache is free for the lab.
        empty_cache(self.device)?;
        let free = free_bytes(self.device).map(|bytes| bytes / 10 * 9);
        let asked = own.or(self.budget_bytes);
        match (asked, free) {
            (Some(asked), Some(free)) if !self.device.is_cuda() => Ok(asked.min(free)),
            (Some(asked), _) => Ok(asked),
            (None, Some(free)) => Ok(free),
            (None, None) => Err(Error::Torch("free memory cannot be read; set budget_mib".into())),
        }
    }
}

/// A phase that runs.
pub struct Phase<'a> {
    context: &'a Context,
    name: String,
}

impl Phase<'_> {
    fn mark(&self, edge: Edge) {
        self.context.emit(&Event::Phase { name: self.name.clone(), edge, mono_ns: mono_ns() });
    }
}

impl Drop for Phase<'_> {
    fn drop(&mut self) {
        self.mark(Edge::End);
    }
}
