//! Processes on the GPU, its MIG instances, and what happened to it.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span as TextSpan};

use super::{Readings, Selection};
use crate::lang::Lang;
use crate::telemetry::{GpuEvent, GpuProcess, MigInstance, xid};
use crate::tui::app::Core;
use crate::tui::theme::Role;
use crate::units::{binary_bytes, seconds};

/// Draws a line per event, MIG instance and process; in a single line the most important of them.
pub(super) fn draw(
    frame: &mut Frame<'_>,
    area: Rect,
    core: &Core,
    readings: &Readings<'_>,
    selection: &Selection,
) {
    let gpu = selection.gpu(readings.machine);
    if area.height == 0 || readings.machine.gpus.is_empty() {
        return;
    }
    let lines = lines(core, readings, gpu);
    let fit = usize::from(area.height);
    let hidden = lines.len().saturating_sub(fit);
    for (i, line) in lines.into_iter().take(fit).enumerate() {
        let row = Rect { y: area.y + i as u16, height: 1, ..area };
        frame.render_widget(line, row);
        if hidden > 0 && i + 1 == fit {
            let more = Line::styled(format!(" +{hidden} "), core.theme.style(Role::Dim)).right_aligned();
            frame.render_widget(more, row);
        }
    }
}

fn lines(core: &Core, readings: &Readings<'_>, gpu: usize) -> Vec<Line<'static>> {
    let (lang, theme) = (core.lang, core.theme);
    let dim = theme.style(Role::Dim);
    let mut lines: Vec<Line<'static>> = Vec::new();
    // What happened stays on the screen as long as it is within the picture, the newest first.
    for snapshot in readings.snapshots.iter().rev().filter(|s| s.mono_ns >= readings.from_ns) {
        for event in snapshot.gpus.get(gpu).into_iter().flat_map(|g| &g.events) {
            let ago = seconds(readings.to_ns.saturating_sub(snapshot.mono_ns));
            let text = lang.pick(
                format!("! {} · {ago} ago", event_words(event, lang)),
                format!("! {} · {ago} 前", event_words(event, lang)),
            );
            lines.push(Line::styled(text, theme.style(Role::Bad)));
        }
    }
    let details = readings.snapshots.iter().rev().find_map(|s| s.gpus.get(gpu)?.details.as_deref());
    for instance in details.map(|d| d.mig.as_slice()).unwrap_or_default() {
        lines.push(Line::raw(mig_words(instance)));
    }
    let newest = readings.snapshots.iter().rev().find_map(|s| s.gpus.get(gpu));
    match newest.map(|g| (&g.processes, g)) {
        Some((Some(processes), _)) if processes.is_empty() => {
            lines.push(Line::styled(lang.pick("no processes on this GPU", "这块 GPU 上没有进程"), dim));
        }
        Some((Some(processes), _)) => {
            lines.extend(processes.iter().map(|process| process_line(core, readings, process)));
        }
        Some((None, reading)) => {
            let why = reading.missing.get("processes").cloned().unwrap_or_default();
            lines.push(Line::styled(format!("{}  N/A  {why}", lang.pick("processes", "进程")), dim));
        }
        None => {}
    }
    lines
}

fn process_line(core: &Core, readings: &Readings<'_>, process: &GpuProcess) -> Line<'static> {
    let lang = core.lang;
    let dim = core.theme.style(Role::Dim);
    let outside = lang.pick("outside this namespace", "命名空间之外");
    let name = process.name.clone().unwrap_or_else(|| outside.to_owned());
    let memory = process.memory_bytes.map_or_else(|| "N/A".to_owned(), |bytes| binary_bytes(bytes as f64));
    let mut spans = vec![TextSpan::raw(format!("{:>8}  {memory:>10}  ", process.pid)), TextSpan::raw(name)];
    if readings.worker_pid == Some(process.pid) {
        spans.push(TextSpan::styled(lang.pick("  ● this lab", "  ● 本实验"), core.theme.style(Role::Good)));
    }
    let more = [
        process.user.clone(),
        process.container.clone(),
        process.gpu_instance.map(|id| format!("MIG GI {id}")),
    ];
    let more: Vec<String> = more.into_iter().flatten().collect();
    if !more.is_empty() {
        spans.push(TextSpan::styled(format!("  {}", more.join(" · ")), dim));
    }
    Line::from(spans)
}

fn mig_words(instance: &MigInstance) -> String {
    let pct = |value: Option<f64>| value.map_or_else(|| "N/A".to_owned(), |v| format!("{v:.0} %"));
    let id = instance.gpu_instance.map_or_else(|| "GI ?".to_owned(), |id| format!("GI {id}"));
    let name = instance.name.as_deref().unwrap_or("MIG");
    let memory = instance.memory_used_bytes.map_or_else(|| "N/A".to_owned(), |b| binary_bytes(b as f64));
    format!(
        "{id}  {name}  {memory}  SM {}  tensor {}  DRAM {}",
        pct(instance.sm_pct),
        pct(instance.tensor_pct),
        pct(instance.dram_pct)
    )
}

/// An event in words.
fn event_words(event: &GpuEvent, lang: Lang) -> String {
    match event {
        GpuEvent::Xid { code: Some(code) } => match xid::words(*code) {
            Some((en, zh)) => format!("Xid {code}{}{}", lang.pick(": ", "："), lang.pick(en, zh)),
            None => format!("Xid {code}"),
        },
        GpuEvent::Xid { code: None } => "Xid ?".to_owned(),
        GpuEvent::EccCorrected => lang.pick("ECC error, corrected", "ECC 错误，已纠正").to_owned(),
        GpuEvent::EccUncorrected => lang.pick("ECC error, NOT corrected", "ECC 错误，不可纠正").to_owned(),
    }
}
