//! The GPU in one or two lines, what it looks like, and a line per GPU where there are several.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span as TextSpan};
use ratatui::widgets::{Paragraph, Wrap};

use super::{Readings, Selection};
use crate::telemetry::fingerprint::{self, Fingerprint, LIVE_NS};
use crate::telemetry::{GpuDetails, GpuInfo, GpuSnapshot};
use crate::tui::app::Core;
use crate::tui::theme::{Role, SELECTED};
use crate::units;

/// Name, state and health of the selected GPU, the most important first.
pub(super) fn draw(
    frame: &mut Frame<'_>,
    area: Rect,
    core: &Core,
    readings: &Readings<'_>,
    selection: &Selection,
) {
    let (lang, theme) = (core.lang, core.theme);
    let machine = readings.machine;
    let gpu = selection.gpu(machine);
    let Some(info) = machine.gpus.get(gpu) else {
        let because = machine.gpu_absent_because.as_deref();
        let because = because.unwrap_or(lang.pick("not looked at yet", "还没有探测"));
        let text = format!("{}{because}", lang.pick("No GPU readings: ", "没有 GPU 读数："));
        let paragraph = Paragraph::new(text).style(theme.style(Role::Dim)).wrap(Wrap { trim: true });
        frame.render_widget(paragraph, area);
        return;
    };
    let mut spans = vec![TextSpan::styled(title(info, machine.gpus.len()), theme.style(Role::Accent))];
    let newest = readings.newest();
    if let Some(age) = core.late_ns().filter(|_| readings.live) {
        let text = lang.pick(
            format!("  ! readings are {} old: the driver does not answer", units::seconds(age)),
            format!("  ! 读数已是 {} 前的：驱动没有响应", units::seconds(age)),
        );
        spans.push(TextSpan::styled(text, theme.style(Role::Bad)));
    }
    if let Some(readings_now) = newest.and_then(|s| s.gpus.get(gpu)) {
        let details = readings.snapshots.iter().rev().find_map(|s| s.gpus.get(gpu)?.details.as_deref());
        for (text, role) in facts(info, readings_now, details, core) {
            spans.push(TextSpan::styled(" · ", theme.style(Role::Dim)));
            spans.push(TextSpan::styled(text, theme.style(role)));
        }
    }
    frame.render_widget(Paragraph::new(Line::from(spans)).wrap(Wrap { trim: true }), area);
}

fn title(info: &GpuInfo, of: usize) -> String {
    let name = info.name.as_deref().unwrap_or("GPU");
    if of > 1 { format!("{name} #{} / {of}", info.index) } else { name.to_owned() }
}

/// State and health in words; what is out of order first.
fn facts(
    info: &GpuInfo,
    now: &GpuSnapshot,
    details: Option<&GpuDetails>,
    core: &Core,
) -> Vec<(String, Role)> {
    let lang = core.lang;
    let mut facts = Vec::new();
    if let (None, Some(why)) = (now.util_pct.or(now.power_w), now.missing.get("power_w")) {
        facts.push((format!("{}: {why}", lang.pick("LOST", "失联")), Role::Bad));
        return facts;
    }
    if let Some(reasons) = now.clock_reasons.as_ref().filter(|r| !r.is_empty()) {
        let words = reasons.iter().map(|r| clock_reason(r, core)).collect::<Vec<_>>().join(", ");
        let calm = reasons.iter().all(|r| r == "idle" || r == "software power cap");
        let text = lang.pick(format!("clock held by {words}"), format!("时钟受限：{words}"));
        facts.push((text, if calm { Role::Dim } else { Role::Bad }));
    }
    if let Some(details) = details {
        let errors = details.ecc_uncorrected.unwrap_or(0);
        if errors > 0 {
            facts.push((format!("ECC {}: {errors}", lang.pick("uncorrected", "不可纠正错误")), Role::Bad));
        }
        if let Some(rows) = details.remapped_rows.filter(|rows| rows.pending || rows.failed) {
            let what = if rows.failed {
                lang.pick("row remapping FAILED", "行重映射失败")
            } else {
                lang.pick("a row waits for a reset", "有行待复位后重映射")
            };
            facts.push((what.to_owned(), Role::Bad));
        }
    }
    if info.mig == Some(true) {
        facts.push(("MIG".to_owned(), Role::Warn));
    }
    if info.unified_memory {
        facts.push((lang.pick("unified memory", "统一内存").to_owned(), Role::Dim));
    }
    if let (Some(now), Some(limit)) =
        (now.temperature_c, info.max_temperature_c.or(info.slowdown_temperature_c))
    {
        let margin = i64::from(limit) - i64::from(now);
        let role = if margin <= 5 { Role::Warn } else { Role::Dim };
        facts.push((
            lang.pick(
                format!("{now} °C, {margin} below {limit}"),
                format!("{now} °C，离 {limit} 还有 {margin}"),
            ),
            role,
        ));
    }
    if let Some(details) = details {
        facts.extend(details.p_state.map(|p| (format!("P{p}"), Role::Dim)));
        if let (Some(generation), Some(width)) = (details.pcie_gen, details.pcie_width) {
            let most = info.pcie_max_gen.zip(info.pcie_max_width);
            // A link below its best while the GPU works is worth a colour; at rest it is saving power.
            let busy = now.util_pct.is_some_and(|util| util > 20.0);
            let narrow = most.is_some_and(|(_, lanes)| width < lanes);
            let slow = most.is_some_and(|(best, _)| generation < best) && busy;
            let of = match most {
                Some((best, lanes)) if (best, lanes) != (generation, width) => format!(" ({best}×{lanes})"),
                _ => String::new(),
            };
            let role = if narrow || slow { Role::Warn } else { Role::Dim };
            facts.push((format!("PCIe {generation}×{width}{of}"), role));
        }
        if let Some(corrected) = details.ecc_corrected {
            facts.push((
                lang.pick(format!("ECC {corrected} corrected"), format!("ECC 已纠正 {corrected}")),
                Role::Dim,
            ));
        }
    }
    facts
}

/// Why a clock is held back, in the reader's language.
fn clock_reason(reason: &str, core: &Core) -> String {
    let zh = match reason {
        "idle" => "空闲",
        "application clocks setting" => "应用时钟设置",
        "software power cap" => "功率上限",
        "hardware slowdown" => "硬件降速",
        "sync boost with another GPU" => "与其他 GPU 同步",
        "software thermal slowdown" => "软件热降频",
        "hardware thermal slowdown" => "硬件热降频",
        "hardware power brake" => "供电刹车",
        "display clock setting" => "显示时钟设置",
        other => other,
    };
    core.lang.pick(reason, zh).to_owned()
}

/// What the readings of the selected phase, or of the newest seconds, look like.
pub(super) fn fingerprint(readings: &Readings<'_>, selection: &Selection, gpu: usize) -> Option<Fingerprint> {
    let (from_ns, to_ns) = match selection.span(readings) {
        Some(span) => (span.start_ns, span.end_ns.unwrap_or(readings.to_ns)),
        None => (readings.to_ns.saturating_sub(LIVE_NS), readings.to_ns),
    };
    fingerprint::of(readings.machine, &readings.snapshots, gpu, from_ns, to_ns)
}

/// One line: pattern, rule and readings.
pub(super) fn draw_fingerprint(
    frame: &mut Frame<'_>,
    area: Rect,
    core: &Core,
    readings: &Readings<'_>,
    selection: &Selection,
) {
    if area.is_empty() {
        return;
    }
    let gpu = selection.gpu(readings.machine);
    let Some(found) = fingerprint(readings, selection, gpu) else { return };
    let line = found.line(core.lang);
    let (name, rest) = match found.pattern() {
        Some(pattern) => line.split_at(pattern.name(core.lang).len()),
        None => ("", line.as_str()),
    };
    let spans = vec![
        TextSpan::styled("⇒ ", core.theme.style(Role::Dim)),
        TextSpan::styled(name.to_owned(), core.theme.style(Role::Warn)),
        TextSpan::styled(rest.to_owned(), core.theme.style(Role::Dim)),
    ];
    frame.render_widget(Line::from(spans), area);
}

/// A line per GPU; the selected one is always among those that fit.
pub(super) fn draw_table(
    frame: &mut Frame<'_>,
    area: Rect,
    core: &Core,
    readings: &Readings<'_>,
    selection: &Selection,
) {
    if area.height < 2 {
        return;
    }
    let (machine, selected) = (readings.machine, selection.gpu(readings.machine));
    let head = format!(
        "{:>3} {:>5} {:>5} {:>6} {:>5} {:>6} {:>6} {:>5} {}",
        "#",
        "Util",
        "SM",
        core.lang.pick("Tensor", "Tensor"),
        "DRAM",
        "GiB",
        "W",
        "°C",
        core.lang.pick("looks", "状态"),
    );
    frame.render_widget(Line::styled(head, core.theme.style(Role::Dim)), Rect { height: 1, ..area });
    let fit = usize::from(area.height - 1);
    let first = (selected + 1).saturating_sub(fit).min(machine.gpus.len().saturating_sub(fit));
    for (line, (gpu, info)) in machine.gpus.iter().enumerate().skip(first).take(fit).enumerate() {
        let row = Rect { y: area.y + 1 + line as u16, height: 1, ..area };
        let style = if gpu == selected { SELECTED } else { ratatui::style::Style::new() };
        frame.render_widget(Line::styled(table_row(core, readings, gpu, info), style), row);
    }
}

fn table_row(core: &Core, readings: &Readings<'_>, gpu: usize, info: &GpuInfo) -> String {
    let none = GpuSnapshot::default();
    let now = readings.newest().and_then(|s| s.gpus.get(gpu)).unwrap_or(&none);
    let cell = |value: Option<f64>, width: usize| match value {
        Some(value) => format!("{value:>width$.0}"),
        None => format!("{:>width$}", "N/A"),
    };
    let looks = fingerprint(readings, &Selection::default(), gpu);
    let looks = looks.map_or_else(String::new, |found| match found.pattern() {
        Some(pattern) => pattern.name(core.lang).to_owned(),
        None => now.missing.get("power_w").or(now.missing.get("sm_pct")).cloned().unwrap_or_default(),
    });
    format!(
        "{:>3} {} {} {} {} {} {} {} {looks}",
        info.index,
        cell(now.util_pct, 5),
        cell(now.sm_pct, 5),
        cell(now.tensor_pct, 6),
        cell(now.dram_pct, 5),
        cell(now.memory_used_bytes.map(|b| b as f64 / f64::from(1 << 30)), 6),
        cell(now.power_w, 6),
        cell(now.temperature_c.map(f64::from), 5),
    )
}
