//! Readings of one GPU as text.

use std::io::{self, Write};

use super::text::{Rows, gib, of_total, visible, with_limit};
use crate::telemetry::{GpuDetails, GpuEvent, GpuInfo, GpuProcess, GpuSnapshot, MigInstance, xid};

/// Everything of one GPU, a reading a line.
pub(super) fn write(out: &mut impl Write, info: &GpuInfo, gpu: &GpuSnapshot) -> io::Result<()> {
    let name = info.name.as_deref().map_or("name N/A".into(), visible);
    let bus = info.pci_bus_id.as_deref().unwrap_or("bus N/A");
    let uuid = info.uuid.as_deref().unwrap_or("UUID N/A");
    let mig = if info.mig == Some(true) { ", MIG enabled" } else { "" };
    let unified = if info.unified_memory { ", unified memory" } else { "" };
    writeln!(out, "GPU {}   {name}, {}, {}{mig}{unified}", gpu.index, visible(bus), visible(uuid))?;
    let mhz = |value: Option<u32>| value.map(|value| format!("{value} MHz"));
    let bytes = |value: Option<u64>| value.map(|bytes| format!("{:.2} GiB", gib(bytes)));
    let mut rows = Rows { out: &mut *out, missing: &gpu.missing };
    rows.row("kernel resident", "util_pct", pct(gpu.util_pct))?;
    rows.row("memory accessed", "memory_util_pct", pct(gpu.memory_util_pct))?;
    rows.row("SM active", "sm_pct", pct(gpu.sm_pct))?;
    rows.row("SM occupancy", "sm_occupancy_pct", pct(gpu.sm_occupancy_pct))?;
    rows.row("tensor active", "tensor_pct", pct(gpu.tensor_pct))?;
    rows.row("FP64 active", "fp64_pct", pct(gpu.fp64_pct))?;
    rows.row("FP32 active", "fp32_pct", pct(gpu.fp32_pct))?;
    rows.row("FP16 active", "fp16_pct", pct(gpu.fp16_pct))?;
    rows.row("DRAM active", "dram_pct", pct(gpu.dram_pct))?;
    rows.row("memory", "memory_used_bytes", of_total(gpu.memory_used_bytes, gpu.memory_total_bytes))?;
    rows.row("memory reserved", "memory_reserved_bytes", bytes(gpu.memory_reserved_bytes))?;
    rows.row("memory free", "memory_free_bytes", bytes(gpu.memory_free_bytes))?;
    rows.row("power", "power_w", gpu.power_w.map(|power| with_limit(power, info.power_limit_w, "W")))?;
    let max = info.max_sm_clock_mhz.map(f64::from);
    let sm_clock = gpu.sm_clock_mhz.map(|clock| with_limit(f64::from(clock), max, "MHz"));
    rows.row("SM clock", "sm_clock_mhz", sm_clock)?;
    rows.row("memory clock", "memory_clock_mhz", mhz(gpu.memory_clock_mhz))?;
    let reasons = gpu.clock_reasons.as_ref();
    let reasons = reasons.map(|words| if words.is_empty() { "nothing".to_owned() } else { words.join(", ") });
    rows.row("clock held by", "clock_reasons", reasons)?;
    rows.row("temperature", "temperature_c", gpu.temperature_c.map(|degrees| temperature(degrees, info)))?;
    rows.row("PCIe in", "pcie_rx_mib_s", rate(gpu.pcie_rx_mib_s))?;
    rows.row("PCIe out", "pcie_tx_mib_s", rate(gpu.pcie_tx_mib_s))?;
    rows.row("energy", "energy_mj", gpu.energy_mj.map(|mj| format!("{:.1} kJ", mj as f64 / 1e6)))?;
    if let Some(details) = &gpu.details {
        write_details(out, info, details)?;
    }
    let processes = gpu.processes.as_deref();
    let mut rows = Rows { out: &mut *out, missing: &gpu.missing };
    rows.row("processes", "processes", processes.map(|processes| processes.len().to_string()))?;
    for process in processes.unwrap_or_default() {
        write_process(out, process)?;
    }
    for event in &gpu.events {
        writeln!(out, "  event            {}", words(event))?;
    }
    Ok(())
}

fn write_details(out: &mut impl Write, info: &GpuInfo, details: &GpuDetails) -> io::Result<()> {
    let count = |value: Option<u64>| value.map(|count| count.to_string());
    let of = |now: Option<u32>, most: Option<u32>| {
        Some(match (now?, most) {
            (now, Some(most)) => format!("{now} of {most}"),
            (now, None) => now.to_string(),
        })
    };
    let mut rows = Rows { out: &mut *out, missing: &details.missing };
    rows.row("P-state", "p_state", details.p_state.map(|state| format!("P{state}")))?;
    rows.row("PCIe generation", "pcie_gen", of(details.pcie_gen, info.pcie_max_gen))?;
    rows.row("PCIe lanes", "pcie_width", of(details.pcie_width, info.pcie_max_width))?;
    rows.row("PCIe replays", "pcie_replays", count(details.pcie_replays))?;
    rows.row("BAR1", "bar1_used_bytes", of_total(details.bar1_used_bytes, details.bar1_total_bytes))?;
    rows.row("NVLink in", "nvlink_rx_mib_s", rate(details.nvlink_rx_mib_s))?;
    rows.row("NVLink out", "nvlink_tx_mib_s", rate(details.nvlink_tx_mib_s))?;
    rows.row("encoder", "encoder_pct", pct(details.encoder_pct))?;
    rows.row("decoder", "decoder_pct", pct(details.decoder_pct))?;
    rows.row("ECC corrected", "ecc_corrected", count(details.ecc_corrected))?;
    rows.row("ECC uncorrected", "ecc_uncorrected", count(details.ecc_uncorrected))?;
    let remapped = details.remapped_rows.map(|rows| {
        let pending = if rows.pending { ", one waits for a reset" } else { "" };
        let failed = if rows.failed { ", and remapping FAILED" } else { "" };
        format!(
            "{} after corrected, {} after uncorrected errors{pending}{failed}",
            rows.corrected, rows.uncorrected
        )
    });
    rows.row("rows remapped", "remapped_rows", remapped)?;
    if let Some(why) = details.missing.get("events") {
        writeln!(out, "  events           N/A ({})", visible(why))?;
    }
    details.mig.iter().try_for_each(|instance| write_instance(out, instance))
}

fn write_instance(out: &mut impl Write, instance: &MigInstance) -> io::Result<()> {
    let id = instance.gpu_instance.map_or_else(|| "?".to_owned(), |id| id.to_string());
    let name = instance.name.as_deref().map_or("name N/A".into(), visible);
    writeln!(out, "  MIG instance {id}   {name}")?;
    let mut rows = Rows { out, missing: &instance.missing };
    let memory = of_total(instance.memory_used_bytes, instance.memory_total_bytes);
    rows.row("  memory", "memory_used_bytes", memory)?;
    rows.row("  SM active", "sm_pct", pct(instance.sm_pct))?;
    rows.row("  SM occupancy", "sm_occupancy_pct", pct(instance.sm_occupancy_pct))?;
    rows.row("  tensor active", "tensor_pct", pct(instance.tensor_pct))?;
    rows.row("  DRAM active", "dram_pct", pct(instance.dram_pct))
}

fn write_process(out: &mut impl Write, process: &GpuProcess) -> io::Result<()> {
    let name = process.name.as_deref().map_or("(not visible from here)".into(), visible);
    let memory =
        process.memory_bytes.map_or_else(|| "N/A".to_owned(), |bytes| format!("{:.2} GiB", gib(bytes)));
    let user = process.user.as_deref().map(|user| format!("  {}", visible(user))).unwrap_or_default();
    let container = process.container.as_deref().map(|c| format!("  {}", visible(c))).unwrap_or_default();
    let instance = process.gpu_instance.map(|id| format!("  MIG instance {id}")).unwrap_or_default();
    writeln!(out, "    {:>10}  {memory:>11}  {name}{user}{container}{instance}", process.pid)
}

fn pct(value: Option<f64>) -> Option<String> {
    value.map(|value| format!("{value:.1} %"))
}

fn rate(value: Option<f64>) -> Option<String> {
    value.map(|value| format!("{value:.1} MiB/s"))
}

/// The temperature and how far it is from where clocks are held back.
fn temperature(degrees: u32, info: &GpuInfo) -> String {
    match info.max_temperature_c.or(info.slowdown_temperature_c) {
        Some(limit) => format!("{degrees} °C, {} below {limit} °C", i64::from(limit) - i64::from(degrees)),
        None => format!("{degrees} °C"),
    }
}

fn words(event: &GpuEvent) -> String {
    match event {
        GpuEvent::Xid { code: Some(code) } => match xid::words(*code) {
            Some((words, _)) => format!("Xid {code}: {words}"),
            None => format!("Xid {code}: see NVIDIA's list of Xid errors"),
        },
        GpuEvent::Xid { code: None } => "Xid, number unknown: see the kernel log".to_owned(),
        GpuEvent::EccCorrected => "a memory error that ECC corrected".to_owned(),
        GpuEvent::EccUncorrected => "a memory error that ECC could not correct".to_owned(),
    }
}
