//! Gauges with their history: one GPU and the host, lab phases as a strip on the same time axis. A reading that is
//! missing shows N/A with its reason; a gap in the history stays a gap.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span as TextSpan};
use ratatui::widgets::{Paragraph, Sparkline, Wrap};

use crate::lab::session::Span;
use crate::telemetry::{GpuInfo, GpuSnapshot, Machine, Series, Snapshot};
use crate::tui::app::Core;
use crate::tui::theme::Role;
use crate::units::binary_bytes;

/// Columns of the name and of the value.
const NAME: u16 = 11;
const VALUE: u16 = 18;
/// Top of every history: shares are scaled to it.
const FULL: f64 = 1000.0;
/// Live panels show the last minute.
const LIVE_WINDOW_NS: u64 = 60_000_000_000;

/// What a panel shows.
pub(in crate::tui) struct View<'a> {
    machine: &'a Machine,
    snapshots: &'a [&'a Snapshot],
    gpu: usize,
    from_ns: u64,
    to_ns: u64,
    spans: &'a [Span],
    /// Curves of the charts, in the order of their colours: a phase has the colour of its curve.
    curves: &'a [&'a str],
}

impl<'a> View<'a> {
    /// The last minute of readings.
    pub(in crate::tui) fn live(machine: &'a Machine, snapshots: &'a [&'a Snapshot], now_ns: u64) -> Self {
        let to_ns = snapshots.last().map_or(now_ns, |s| s.mono_ns);
        Self {
            machine,
            snapshots,
            gpu: 0,
            from_ns: to_ns.saturating_sub(LIVE_WINDOW_NS),
            to_ns,
            spans: &[],
            curves: &[],
        }
    }

    /// The whole of a run on one GPU, with its phases.
    pub(in crate::tui) fn run(
        machine: &'a Machine,
        snapshots: &'a [&'a Snapshot],
        gpu: usize,
        window: (u64, u64),
        spans: &'a [Span],
        curves: &'a [&'a str],
    ) -> Self {
        Self { machine, snapshots, gpu, from_ns: window.0, to_ns: window.1, spans, curves }
    }
}

/// Takes a reading out of a snapshot.
type Read = Box<dyn Fn(&Snapshot) -> Option<f64>>;

/// One gauge.
struct Gauge {
    name: (&'static str, &'static str),
    /// Field whose reason explains a missing reading.
    field: &'static str,
    read: Read,
    /// Value at the top of the history.
    full: f64,
    /// The value as printed, given the top.
    show: fn(f64, f64) -> String,
}

fn percent(value: f64, _: f64) -> String {
    format!("{value:.0} %")
}

/// `12.3 / 140.4 GiB`, or without the total where it is not known.
fn memory_of(value: f64, full: f64) -> String {
    let gib = |bytes: f64| bytes / f64::from(1 << 30);
    if full.is_finite() { format!("{:.1} / {:.1} GiB", gib(value), gib(full)) } else { binary_bytes(value) }
}

fn gpu_gauges(info: &GpuInfo, gpu: usize) -> Vec<Gauge> {
    let gauge = |name, field, full: f64, show, read: fn(&GpuSnapshot) -> Option<f64>| Gauge {
        name,
        field,
        full,
        show,
        read: Box::new(move |s: &Snapshot| s.gpus.get(gpu).and_then(read)),
    };
    let memory = info.memory_total_bytes.map_or(f64::INFINITY, |b| b as f64);
    let clock = info.max_sm_clock_mhz.map_or(f64::INFINITY, f64::from);
    // PCIe 5 x16 moves about 55 GiB/s one way; the scale only needs to be fixed.
    let pcie_mib_s = 56_000.0;
    vec![
        gauge(("GPU-Util", "GPU-Util"), "util_pct", 100.0, percent, |g| g.util_pct),
        gauge(("SM", "SM 活跃"), "sm_pct", 100.0, percent, |g| g.sm_pct),
        gauge(("Tensor", "张量核心"), "tensor_pct", 100.0, percent, |g| g.tensor_pct),
        gauge(("DRAM", "显存带宽"), "dram_pct", 100.0, percent, |g| g.dram_pct),
        gauge(("Memory", "显存"), "memory_used_bytes", memory, memory_of, |g| {
            g.memory_used_bytes.map(|b| b as f64)
        }),
        gauge(
            ("Power", "功率"),
            "power_w",
            info.power_limit_w.unwrap_or(f64::INFINITY),
            |w, _| format!("{w:.0} W"),
            |g| g.power_w,
        ),
        gauge(
            ("SM clock", "SM 时钟"),
            "sm_clock_mhz",
            clock,
            |m, _| format!("{m:.0} MHz"),
            |g| g.sm_clock_mhz.map(f64::from),
        ),
        gauge(
            ("Temp", "温度"),
            "temperature_c",
            100.0,
            |c, _| format!("{c:.0} °C"),
            |g| g.temperature_c.map(f64::from),
        ),
        gauge(
            ("PCIe rx", "PCIe 入"),
            "pcie_rx_mib_s",
            pcie_mib_s,
            |m, _| format!("{m:.0} MiB/s"),
            |g| g.pcie_rx_mib_s,
        ),
        gauge(
            ("PCIe tx", "PCIe 出"),
            "pcie_tx_mib_s",
            pcie_mib_s,
            |m, _| format!("{m:.0} MiB/s"),
            |g| g.pcie_tx_mib_s,
        ),
    ]
}

fn host_gauges(machine: &Machine) -> Vec<Gauge> {
    let memory = machine.memory_total_bytes.map_or(f64::INFINITY, |b| b as f64);
    let gauge = |name, field, full, show, read: fn(&Snapshot) -> Option<f64>| Gauge {
        name,
        field,
        full,
        show,
        read: Box::new(read),
    };
    vec![
        gauge(("CPU", "CPU"), "cpu_pct", 100.0, percent, |s| s.host.cpu_pct),
        gauge(("RAM", "内存"), "memory_used_bytes", memory, memory_of, |s| {
            s.host.memory_used_bytes.map(|b| b as f64)
        }),
        gauge(
            ("Worker RSS", "实验进程"),
            "worker_rss_bytes",
            memory,
            |b, _| binary_bytes(b),
            |s| s.host.worker_rss_bytes.map(|b| b as f64),
        ),
    ]
}

/// Draws the panel; rows that do not fit are left out from the end.
pub(in crate::tui) fn draw(frame: &mut Frame<'_>, area: Rect, core: &Core, view: &View<'_>) {
    let (lang, theme) = (core.lang, core.theme);
    let mut rows = Rows { area, used: 0 };
    if let Some(info) = view.machine.gpus.get(view.gpu) {
        let name = info.name.as_deref().unwrap_or("GPU");
        let of = view.machine.gpus.len();
        let title = if of > 1 { format!("{name}  #{} / {of}", info.index) } else { name.to_owned() };
        rows.line(frame, Line::styled(title, theme.style(Role::Accent)));
        for gauge in gpu_gauges(info, view.gpu) {
            let missing =
                |s: &Snapshot| s.gpus.get(view.gpu).and_then(|g| g.missing.get(gauge.field).cloned());
            draw_gauge(frame, &mut rows, core, view, &gauge, &missing);
        }
        draw_processes(frame, &mut rows, core, view);
    } else {
        let because = view.machine.gpu_absent_because.as_deref();
        let because = because.unwrap_or(lang.pick("not looked at yet", "还没有探测"));
        let text = format!("{}{because}", lang.pick("No GPU readings: ", "没有 GPU 读数："));
        rows.paragraph(frame, &text, 4, theme.style(Role::Dim));
    }
    let host = view.machine.hostname.clone().unwrap_or_else(|| lang.pick("host", "主机").to_owned());
    rows.line(frame, Line::styled(host, theme.style(Role::Accent)));
    let newest = view.snapshots.last();
    for gauge in host_gauges(view.machine) {
        // No worker is no missing reading.
        let no_worker = gauge.field == "worker_rss_bytes" && newest.is_none_or(|s| (gauge.read)(s).is_none());
        if no_worker {
            continue;
        }
        let missing = |s: &Snapshot| s.host.missing.get(gauge.field).cloned();
        draw_gauge(frame, &mut rows, core, view, &gauge, &missing);
    }
    draw_strip(frame, &mut rows, core, view);
    draw_footnote(frame, &mut rows, core, view);
}

fn draw_gauge(
    frame: &mut Frame<'_>,
    rows: &mut Rows,
    core: &Core,
    view: &View<'_>,
    gauge: &Gauge,
    missing: &dyn Fn(&Snapshot) -> Option<String>,
) {
    let Some(row) = rows.next(1) else { return };
    let newest = view.snapshots.last();
    let value = newest.and_then(|s| (gauge.read)(s));
    let name = core.lang.pick(gauge.name.0, gauge.name.1);
    frame.render_widget(Line::raw(name), Rect { width: NAME.min(row.width), ..row });
    let rest = Rect { x: row.x + NAME.min(row.width), width: row.width.saturating_sub(NAME), ..row };
    let Some(value) = value else {
        let why = newest.and_then(|s| missing(s)).unwrap_or_default();
        frame.render_widget(Line::styled(format!("N/A  {why}"), core.theme.style(Role::Dim)), rest);
        return;
    };
    frame.render_widget(
        Line::raw((gauge.show)(value, gauge.full)),
        Rect { width: VALUE.min(rest.width), ..rest },
    );
    let history = Rect { x: rest.x + VALUE.min(rest.width), width: rest.width.saturating_sub(VALUE), ..rest };
    if history.width > 0 && gauge.full.is_finite() {
        let columns = columns(view, usize::from(history.width), &gauge.read);
        let data: Vec<Option<u64>> = columns
            .into_iter()
            .map(|v| v.map(|v| (v / gauge.full * FULL).clamp(0.0, FULL).round() as u64))
            .collect();
        let line = Sparkline::default()
            .data(data)
            .max(FULL as u64)
            .absent_value_symbol(" ")
            .style(core.theme.style(Role::Good));
        frame.render_widget(line, history);
    }
}

/// Mean reading per column of the window; `None` where no reading speaks for it.
fn columns(view: &View<'_>, count: usize, read: &dyn Fn(&Snapshot) -> Option<f64>) -> Vec<Option<f64>> {
    let mut series = Series::rolling(view.snapshots.len());
    for snapshot in view.snapshots {
        series.push(snapshot.mono_ns, read(snapshot));
    }
    series.columns(view.from_ns, view.to_ns, count).into_iter().map(|a| a.map(|a| a.mean)).collect()
}

fn draw_processes(frame: &mut Frame<'_>, rows: &mut Rows, core: &Core, view: &View<'_>) {
    let Some(gpu) = view.snapshots.last().and_then(|s| s.gpus.get(view.gpu)) else { return };
    let text = match &gpu.processes {
        Some(processes) if processes.is_empty() => core.lang.pick("no processes", "没有进程").to_owned(),
        Some(processes) => processes
            .iter()
            .map(|p| {
                let name =
                    p.name.as_deref().unwrap_or(core.lang.pick("outside this namespace", "命名空间之外"));
                let memory = p.memory_bytes.map_or("N/A".into(), |b| binary_bytes(b as f64));
                format!("{name} ({}) {memory}", p.pid)
            })
            .collect::<Vec<_>>()
            .join(", "),
        None => format!("N/A  {}", gpu.missing.get("processes").map_or("", String::as_str)),
    };
    let Some(row) = rows.next(1) else { return };
    let name = core.lang.pick("Processes", "进程");
    frame.render_widget(Line::raw(name), Rect { width: NAME.min(row.width), ..row });
    let rest = Rect { x: row.x + NAME.min(row.width), width: row.width.saturating_sub(NAME), ..row };
    frame.render_widget(Line::styled(text, core.theme.style(Role::Dim)), rest);
}

/// One letter per phase and column: the first letter of its name that no other has, capital for a backward.
fn draw_strip(frame: &mut Frame<'_>, rows: &mut Rows, core: &Core, view: &View<'_>) {
    if view.spans.is_empty() || rows.area.width <= NAME + VALUE {
        return;
    }
    let Some(row) = rows.next(1) else { return };
    let columns = usize::from(row.width - NAME - VALUE);
    let length = view.to_ns.saturating_sub(view.from_ns).max(1);
    frame.render_widget(Line::raw(core.lang.pick("Phases", "阶段")), Rect { width: NAME, ..row });
    let current = view.spans.iter().rev().find(|s| s.end_ns.is_none()).or(view.spans.last());
    if let Some(span) = current {
        let name = Rect { x: row.x + NAME, width: VALUE - 1, ..row };
        frame.render_widget(Line::styled(span.name.clone(), core.theme.style(Role::Dim)), name);
    }
    let mut text = Vec::with_capacity(columns);
    let mut groups: Vec<(&str, char)> = Vec::new();
    for column in 0..columns as u64 {
        let from = view.from_ns + (u128::from(length) * u128::from(column) / columns as u128) as u64;
        let to = view.from_ns + (u128::from(length) * u128::from(column + 1) / columns as u128) as u64;
        let span =
            view.spans.iter().rev().find(|s| s.start_ns < to && s.end_ns.unwrap_or(view.to_ns) >= from);
        let (letter, style) = span.map_or((' ', ratatui::style::Style::new()), |s| {
            let group = s.name.split('.').next().unwrap_or_default();
            let at = groups.iter().position(|(g, _)| *g == group).unwrap_or_else(|| {
                let free = |c: &char| groups.iter().all(|(_, taken)| taken != c);
                groups.push((group, group.chars().find(free).unwrap_or('?')));
                groups.len() - 1
            });
            let letter = groups[at].1;
            let letter = if s.name.contains("backward") { letter.to_ascii_uppercase() } else { letter };
            let curve = view.curves.iter().position(|c| *c == group);
            (letter, curve.map_or(core.theme.style(Role::Dim), |i| core.theme.curve(i)))
        });
        text.push(TextSpan::styled(letter.to_string(), style));
    }
    let strip = Rect { x: row.x + NAME + VALUE, width: columns as u16, ..row };
    frame.render_widget(Line::from(text), strip);
}

fn draw_footnote(frame: &mut Frame<'_>, rows: &mut Rows, core: &Core, view: &View<'_>) {
    let Some(newest) = view.snapshots.last() else { return };
    let length = crate::units::seconds(view.to_ns.saturating_sub(view.from_ns));
    let cost = newest.cost_us as f64 / 1000.0;
    let text = core.lang.pick(
        format!("{length} · a sample costs {cost:.1} ms · GPU-Util and power lag by about 1 s; SM, tensor, DRAM do not"),
        format!("{length} · 每次采样 {cost:.1} ms · GPU-Util 与功率滞后约 1 s；SM、张量、显存带宽不滞后"),
    );
    let text = if view.machine.gpus.is_empty() {
        core.lang.pick(
            format!("{length} · a sample costs {cost:.1} ms"),
            format!("{length} · 每次采样 {cost:.1} ms"),
        )
    } else {
        text
    };
    rows.paragraph(frame, &text, 3, core.theme.style(Role::Dim));
}

/// Hands out rows from the top until none are left.
struct Rows {
    area: Rect,
    used: u16,
}

impl Rows {
    fn next(&mut self, height: u16) -> Option<Rect> {
        let left = self.area.height - self.used;
        (left > 0 && self.area.width > 0).then(|| {
            let height = height.min(left);
            let row = Rect { y: self.area.y + self.used, height, ..self.area };
            self.used += height;
            row
        })
    }

    fn line(&mut self, frame: &mut Frame<'_>, line: Line<'_>) {
        if let Some(row) = self.next(1) {
            frame.render_widget(line, row);
        }
    }

    fn paragraph(&mut self, frame: &mut Frame<'_>, text: &str, most: u16, style: ratatui::style::Style) {
        let width = usize::from(self.area.width.max(1));
        let needed = unicode_width::UnicodeWidthStr::width(text).div_ceil(width) as u16;
        // Breaking at words can take one row more than the text is wide.
        let rows = if needed > 1 { needed + 1 } else { 1 };
        if let Some(row) = self.next(rows.min(most)) {
            frame.render_widget(Paragraph::new(text.to_owned()).wrap(Wrap { trim: true }).style(style), row);
        }
    }
}

/// The GPU of a machine with this uuid, else the first.
pub(in crate::tui) fn gpu_by_uuid(machine: &Machine, uuid: Option<&str>) -> usize {
    uuid.and_then(|u| machine.gpus.iter().position(|g| g.uuid.as_deref() == Some(u))).unwrap_or(0)
}
