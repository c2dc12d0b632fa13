//! The gauges of one GPU and the host: rows with their history, a chart of the selected one, what it means, what all of
//! them together look like, and the phases of a lab on the same time axis.
//!
//! A reading that is missing shows N/A with its reason; a gap in the history stays a gap.

mod averages;
mod chart;
mod foot;
mod head;
mod layout;
mod processes;
mod readings;
mod rows;
mod strip;

use ratatui::Frame;
use ratatui::layout::Rect;

pub(in crate::tui) use readings::Readings;

use crate::lab::session::Span;
use crate::telemetry::{Gauge, Lens, Machine};
use crate::tui::app::Core;

/// Lengths of the history that live panels show, seconds.
const WINDOWS_S: [u64; 4] = [60, 300, 10, 30];

/// What is selected in the panels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::tui) struct Selection {
    /// Field of the selected gauge, and whether it is the host's; `None`: the first.
    gauge: Option<(&'static str, bool)>,
    gpu: usize,
    lens: Lens,
    window: usize,
    /// A phase, whose means are shown instead of the newest values.
    span: Option<usize>,
}

impl Selection {
    /// The selected gauge; `None` where nothing is read at all.
    pub(in crate::tui) fn gauge(&self, readings: &Readings<'_>) -> Option<&'static Gauge> {
        let shown = rows::shown(readings, self.gpu(readings.machine));
        shown.get(self.position(&shown)).copied()
    }

    fn position(&self, shown: &[&'static Gauge]) -> usize {
        let is = |g: &&'static Gauge| self.gauge == Some((g.field, g.is_of_host()));
        shown.iter().position(is).unwrap_or(0)
    }

    /// The GPU whose gauges are shown.
    pub(in crate::tui) fn gpu(&self, machine: &Machine) -> usize {
        self.gpu.min(machine.gpus.len().saturating_sub(1))
    }

    /// Shows the gauges of a GPU.
    pub(in crate::tui) fn show_gpu(&mut self, gpu: usize) {
        self.gpu = gpu;
    }

    /// The gauge so many rows on.
    pub(in crate::tui) fn move_gauge(&mut self, rows: isize, readings: &Readings<'_>) {
        let shown = rows::shown(readings, self.gpu(readings.machine));
        let last = shown.len().saturating_sub(1);
        let at = self.position(&shown).saturating_add_signed(rows).min(last);
        self.gauge = shown.get(at).map(|g| (g.field, g.is_of_host()));
    }

    /// The next or the previous GPU.
    pub(in crate::tui) fn turn_gpu(&mut self, forward: bool, machine: &Machine) {
        let count = machine.gpus.len().max(1);
        self.gpu = (self.gpu(machine) + if forward { 1 } else { count - 1 }) % count;
    }

    /// The next or the previous phase; beyond either end none is selected.
    pub(in crate::tui) fn turn_span(&mut self, forward: bool, spans: &[Span]) {
        self.span = match (self.span.filter(|i| *i < spans.len()), forward) {
            (None, true) => (!spans.is_empty()).then_some(0),
            (None, false) => spans.len().checked_sub(1),
            (Some(i), true) => Some(i + 1).filter(|i| *i < spans.len()),
            (Some(i), false) => i.checked_sub(1),
        };
    }

    /// Another sampling lens.
    pub(in crate::tui) fn turn_lens(&mut self) {
        self.lens = self.lens.next();
    }

    /// Another length of the history.
    pub(in crate::tui) fn turn_window(&mut self) {
        self.window = (self.window + 1) % WINDOWS_S.len();
    }

    /// Length of the history of live panels, ns.
    pub(in crate::tui) fn window_ns(&self) -> u64 {
        WINDOWS_S[self.window % WINDOWS_S.len()] * 1_000_000_000
    }

    /// The selected phase.
    fn span<'a>(&self, readings: &Readings<'a>) -> Option<&'a Span> {
        readings.spans.get(self.span?)
    }
}

/// Draws everything that fits: the monitor, and the device's side of a run.
pub(in crate::tui) fn draw(
    frame: &mut Frame<'_>,
    area: Rect,
    core: &Core,
    readings: &Readings<'_>,
    selection: &Selection,
) {
    let gpu = selection.gpu(readings.machine);
    let gauges = rows::shown(readings, gpu).len();
    let parts = layout::parts(area, readings.machine.gpus.len(), readings.spans.len(), gauges);
    head::draw(frame, parts.head, core, readings, selection);
    head::draw_fingerprint(frame, parts.fingerprint, core, readings, selection);
    head::draw_table(frame, parts.gpus, core, readings, selection);
    rows::draw(frame, parts.rows, core, readings, Some(selection), parts.row_columns);
    chart::draw(frame, parts.chart, core, readings, selection);
    strip::draw(frame, parts.strip, core, readings, selection);
    processes::draw(frame, parts.processes, core, readings, selection);
    foot::draw(frame, parts.meaning, core, readings, selection);
    foot::draw_cost(frame, parts.cost, core, readings, selection);
}

/// Draws the rows alone, the most telling first: what stands beside other things.
pub(in crate::tui) fn draw_side(frame: &mut Frame<'_>, area: Rect, core: &Core, readings: &Readings<'_>) {
    let selection = Selection { gpu: readings.gpu, ..Selection::default() };
    let parts = layout::side(area, readings.spans.len());
    head::draw(frame, parts.head, core, readings, &selection);
    head::draw_fingerprint(frame, parts.fingerprint, core, readings, &selection);
    rows::draw(frame, parts.rows, core, readings, None, 1);
    processes::draw(frame, parts.processes, core, readings, &selection);
    strip::draw(frame, parts.strip, core, readings, &selection);
    foot::draw_cost(frame, parts.cost, core, readings, &selection);
}
