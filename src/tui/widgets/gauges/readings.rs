//! What the panels are drawn from.

use crate::lab::session::Span;
use crate::lab::{LabSession, session};
use crate::telemetry::{Machine, Series, Snapshot};
use crate::tui::app::Core;

/// Live side panels show the last minute.
const SIDE_WINDOW_NS: u64 = 60_000_000_000;

/// Readings of a stretch of time.
#[derive(Debug)]
pub(in crate::tui) struct Readings<'a> {
    /// The machine that they are of.
    pub(in crate::tui) machine: &'a Machine,
    /// In order of time; those before `from_ns` are not drawn.
    pub(in crate::tui) snapshots: Vec<&'a Snapshot>,
    /// The GPU that the lab runs on, or the first.
    pub(in crate::tui) gpu: usize,
    /// Start of the time axis, shared clock, ns.
    pub(in crate::tui) from_ns: u64,
    /// End of the time axis, which is now in live panels.
    pub(in crate::tui) to_ns: u64,
    /// Phases of the lab.
    pub(in crate::tui) spans: &'a [Span],
    /// Curves of the lab's charts, in the order of their colours: a phase has the colour of its curve.
    pub(in crate::tui) curves: Vec<&'a str>,
    /// The lab's own process.
    pub(in crate::tui) worker_pid: Option<u32>,
    /// The run, where they are of one.
    pub(in crate::tui) session: Option<&'a LabSession>,
    /// Whether they are of this machine and go on: then an old reading is worth a word.
    pub(in crate::tui) live: bool,
}

impl<'a> Readings<'a> {
    /// The newest stretch of live readings, `length_ns` long, up to `until_ns` where the picture stands still.
    pub(in crate::tui) fn live(core: &'a Core, length_ns: u64, until_ns: Option<u64>) -> Self {
        let newest = core.live.back().map_or(core.now_ns, |s| s.mono_ns);
        let to_ns = until_ns.unwrap_or(newest);
        let worker = core.active.as_ref().filter(|s| s.exited.is_none());
        Self {
            machine: &core.machine,
            snapshots: core.live.iter().filter(|s| s.mono_ns <= to_ns).collect(),
            gpu: 0,
            from_ns: to_ns.saturating_sub(length_ns),
            to_ns,
            spans: worker.map_or(&[], |s| &s.spans),
            curves: worker.map(curves).unwrap_or_default(),
            worker_pid: worker.and_then(|s| s.hello.as_ref()).map(|h| h.pid),
            session: None,
            live: until_ns.is_none(),
        }
    }

    /// The last minute, for a side panel.
    pub(in crate::tui) fn last_minute(core: &'a Core) -> Self {
        Self { spans: &[], ..Self::live(core, SIDE_WINDOW_NS, None) }
    }

    /// The whole of a run, on the machine that it ran on.
    pub(in crate::tui) fn of_run(run: &'a LabSession, machine: &'a Machine, live: bool) -> Self {
        let uuid = run.hello.as_ref().and_then(|h| h.device.uuid.as_deref());
        let from_ns = run.start_ns();
        Self {
            machine,
            snapshots: run.snapshots.iter().collect(),
            gpu: gpu_by_uuid(machine, uuid),
            from_ns,
            to_ns: run.now_ns.max(from_ns + 1),
            spans: &run.spans,
            curves: curves(run),
            worker_pid: run.hello.as_ref().map(|h| h.pid),
            session: Some(run),
            live,
        }
    }

    /// The newest snapshot.
    pub(in crate::tui) fn newest(&self) -> Option<&'a Snapshot> {
        self.snapshots.last().copied()
    }

    /// Snapshots a second, of the newest few; `None` with fewer than two.
    pub(in crate::tui) fn hz(&self) -> Option<f64> {
        let few = &self.snapshots[self.snapshots.len().saturating_sub(5)..];
        let (first, last) = (few.first()?, few.last()?);
        let elapsed_s = last.mono_ns.checked_sub(first.mono_ns)? as f64 / 1e9;
        (elapsed_s > 0.0).then(|| (few.len() - 1) as f64 / elapsed_s)
    }

    /// Points as a series.
    pub(in crate::tui) fn series(points: &[(u64, Option<f64>)]) -> Series {
        let mut series = Series::rolling(points.len());
        for (ns, value) in points {
            series.push(*ns, *value);
        }
        series
    }
}

fn curves(run: &session::LabSession) -> Vec<&str> {
    let names = run.charts.values().flat_map(|c| c.measured.keys().chain(c.expected.keys()));
    let names: std::collections::BTreeSet<&str> = names.map(String::as_str).collect();
    names.into_iter().collect()
}

/// Position of the GPU with this uuid among the machine's, else the first.
fn gpu_by_uuid(machine: &Machine, uuid: Option<&str>) -> usize {
    uuid.and_then(|u| machine.gpus.iter().position(|g| g.uuid.as_deref() == Some(u))).unwrap_or(0)
}
