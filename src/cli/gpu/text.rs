//! Readings as text. A missing one is `N/A` with its reason.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

use super::gpu_text;
use crate::telemetry::{GpuInfo, Machine, Snapshot};

const GIB: f64 = (1_u64 << 30) as f64;

/// Text from outside with its control characters replaced, so that a device or process name cannot drive the terminal.
pub(super) fn visible(text: &str) -> Cow<'_, str> {
    if text.chars().any(char::is_control) {
        Cow::Owned(text.replace(char::is_control, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Everything of one moment, a reading a line.
pub(super) fn write_block(out: &mut impl Write, machine: &Machine, snapshot: &Snapshot) -> io::Result<()> {
    let text = |text: &Option<String>| text.as_deref().map_or("N/A".into(), visible).into_owned();
    let count = machine.cpu_count.map_or_else(|| "N/A".to_owned(), |count| format!("{count} processors"));
    writeln!(out, "host    {}, {}, {count}", text(&machine.hostname), text(&machine.cpu))?;
    let host = &snapshot.host;
    let mut rows = Rows { out, missing: &host.missing };
    rows.row("CPU", "cpu_pct", host.cpu_pct.map(|pct| format!("{pct:.1} %")))?;
    rows.row("memory", "memory_used_bytes", of_total(host.memory_used_bytes, host.memory_total_bytes))?;
    super::host_text::write_rows(out, snapshot)?;
    if machine.driver.is_some() || machine.cuda_driver.is_some() {
        writeln!(out, "driver  {}, CUDA up to {}", text(&machine.driver), text(&machine.cuda_driver))?;
    }
    for gpu in &snapshot.gpus {
        let info = machine.gpus.iter().find(|info| info.index == gpu.index);
        gpu_text::write(out, info.unwrap_or(&GpuInfo::default()), gpu)?;
    }
    let cpu = snapshot.cpu_us.map_or_else(|| "N/A".to_owned(), ms);
    writeln!(out, "sample  {}, {cpu} of it processor time", ms(snapshot.cost_us))
}

/// Rows of a label and a value, or the reason for none.
pub(super) struct Rows<'a, W> {
    pub(super) out: &'a mut W,
    pub(super) missing: &'a BTreeMap<String, String>,
}

impl<W: Write> Rows<'_, W> {
    pub(super) fn row(&mut self, label: &str, field: &str, value: Option<String>) -> io::Result<()> {
        let value = value.unwrap_or_else(|| match self.missing.get(field) {
            Some(why) => format!("N/A ({})", visible(why)),
            None => "N/A".to_owned(),
        });
        writeln!(self.out, "  {label:<16} {value}")
    }
}

/// One line per GPU, or one of the host where there is none.
pub(super) fn write_lines(out: &mut impl Write, elapsed_s: f64, snapshot: &Snapshot) -> io::Result<()> {
    if snapshot.gpus.is_empty() {
        let host = &snapshot.host;
        let memory = of_total(host.memory_used_bytes, host.memory_total_bytes);
        let memory = memory.unwrap_or_else(|| "N/A".to_owned());
        return writeln!(
            out,
            "{elapsed_s:>8.2} s  host  CPU {}  memory {memory}",
            short(host.cpu_pct, 5, 1, " %")
        );
    }
    for gpu in &snapshot.gpus {
        let memory = gpu.memory_used_bytes.map(gib);
        let total = gpu.memory_total_bytes.map(gib);
        // Counters move ten times a second; between, there is nothing to tell and nothing amiss.
        let counter = |field: &str, value: Option<f64>| match value {
            None if !gpu.missing.contains_key(field) => format!("{:>7}", "-"),
            value => short(value, 5, 1, " %"),
        };
        writeln!(
            out,
            "{elapsed_s:>8.2} s  gpu {}  util {}  SM {}  tensor {}  DRAM {}  memory {} of {}  {}  {}  {}",
            gpu.index,
            short(gpu.util_pct, 3, 0, " %"),
            counter("sm_pct", gpu.sm_pct),
            counter("tensor_pct", gpu.tensor_pct),
            counter("dram_pct", gpu.dram_pct),
            short(memory, 6, 2, ""),
            short(total, 6, 2, " GiB"),
            short(gpu.power_w, 4, 0, " W"),
            short(gpu.sm_clock_mhz.map(f64::from), 4, 0, " MHz"),
            short(gpu.temperature_c.map(f64::from), 3, 0, " °C"),
        )?;
    }
    Ok(())
}

/// A reading in a column of its own width, `N/A` included.
fn short(value: Option<f64>, width: usize, decimals: usize, unit: &str) -> String {
    match value {
        Some(value) => format!("{value:>width$.decimals$}{unit}"),
        None => format!("{:>width$}", "N/A", width = width + unit.chars().count()),
    }
}

fn ms(us: u64) -> String {
    format!("{:.2} ms", us as f64 / 1000.0)
}

pub(super) fn gib(bytes: u64) -> f64 {
    bytes as f64 / GIB
}

pub(super) fn of_total(used: Option<u64>, total: Option<u64>) -> Option<String> {
    let used = gib(used?);
    Some(match total {
        Some(total) => format!("{used:.2} of {:.2} GiB", gib(total)),
        None => format!("{used:.2} GiB"),
    })
}

pub(super) fn with_limit(value: f64, limit: Option<f64>, unit: &str) -> String {
    match limit {
        Some(limit) => format!("{value:.0} of {limit:.0} {unit}"),
        None => format!("{value:.0} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::{
        GpuDetails, GpuEvent, GpuProcess, GpuSnapshot, HostSnapshot, MigInstance, RemappedRows,
    };

    fn machine() -> Machine {
        Machine {
            hostname: Some("node-17".to_owned()),
            cpu: Some("Intel(R) Xeon(R) Platinum 8480C".to_owned()),
            cpu_count: Some(96),
            memory_total_bytes: Some(2 << 40),
            driver: Some("580.159.04".to_owned()),
            cuda_driver: Some("13.0".to_owned()),
            gpus: vec![GpuInfo {
                index: 0,
                name: Some("NVIDIA H200".to_owned()),
                uuid: Some("GPU-0a1b".to_owned()),
                pci_bus_id: Some("00000000:1B:00.0".to_owned()),
                power_limit_w: Some(700.0),
                max_sm_clock_mhz: Some(1980),
                max_temperature_c: Some(87),
                pcie_max_gen: Some(5),
                gpm: true,
                ..GpuInfo::default()
            }],
            gpu_absent_because: None,
        }
    }

    fn details() -> GpuDetails {
        GpuDetails {
            p_state: Some(0),
            pcie_gen: Some(5),
            pcie_replays: Some(0),
            remapped_rows: Some(RemappedRows { corrected: 1, pending: true, ..RemappedRows::default() }),
            mig: vec![MigInstance { gpu_instance: Some(3), sm_pct: Some(40.0), ..MigInstance::default() }],
            missing: [("encoder_pct".to_owned(), "not supported by this GPU or driver".to_owned())].into(),
            ..GpuDetails::default()
        }
    }

    fn snapshot() -> Snapshot {
        let missing = [("temperature_c".to_owned(), "not supported by this GPU or driver".to_owned())];
        let process = |pid, name: Option<&str>, memory_bytes| GpuProcess {
            pid,
            name: name.map(str::to_owned),
            memory_bytes,
            ..GpuProcess::default()
        };
        let gpu = GpuSnapshot {
            index: 0,
            util_pct: Some(98.0),
            memory_util_pct: Some(31.0),
            sm_pct: Some(97.46),
            sm_occupancy_pct: Some(45.0),
            tensor_pct: Some(61.5),
            dram_pct: Some(100.0),
            memory_used_bytes: Some(12 << 30),
            memory_total_bytes: Some(140 << 30),
            power_w: Some(612.3),
            sm_clock_mhz: Some(1755),
            memory_clock_mhz: Some(3201),
            clock_reasons: Some(vec!["software power cap".to_owned()]),
            temperature_c: None,
            pcie_rx_mib_s: Some(12.5),
            pcie_tx_mib_s: Some(0.5),
            energy_mj: Some(123_456_789),
            events: vec![GpuEvent::Xid { code: Some(31) }, GpuEvent::EccCorrected],
            details: Some(Box::new(details())),
            processes: Some(vec![
                GpuProcess {
                    user: Some("ada".into()),
                    container: Some("pod vllm-0".into()),
                    ..process(4242, Some("worker\u{1b}[2J"), Some(11 << 30))
                },
                process(7, None, None),
            ]),
            missing: BTreeMap::from(missing),
            ..GpuSnapshot::default()
        };
        let host = HostSnapshot {
            cpu_pct: Some(12.34),
            memory_used_bytes: Some(100 << 30),
            memory_total_bytes: Some(2 << 40),
            ..HostSnapshot::default()
        };
        Snapshot { mono_ns: 0, host, gpus: vec![gpu], cost_us: 420, cpu_us: Some(300) }
    }

    fn written(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).expect("memory takes everything");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn a_block_has_every_reading_with_its_unit_or_reason() {
        let block = written(|out| write_block(out, &machine(), &snapshot()));
        insta::assert_snapshot!(block);
    }

    #[test]
    fn a_line_keeps_its_columns_when_readings_are_missing() {
        let full = written(|out| write_lines(out, 1.5, &snapshot()));
        let columns = "    1.50 s  gpu 0  util  98 %  SM  97.5 %  tensor  61.5 %  DRAM 100.0 %  \
                       memory  12.00 of 140.00 GiB   612 W  1755 MHz     N/A\n";
        assert_eq!(full, columns);
        let absent = Snapshot { gpus: vec![GpuSnapshot::default()], ..Snapshot::default() };
        let absent = written(|out| write_lines(out, 1.5, &absent));
        assert_eq!(absent.chars().count(), full.chars().count(), "{absent}");
        assert_eq!(absent.matches("N/A").count(), 6);
        assert_eq!(absent.matches(" - ").count(), 3, "counters that were not asked are not missing");
    }

    #[test]
    fn without_a_gpu_the_line_is_the_hosts() {
        let host_only = Snapshot { gpus: vec![], ..snapshot() };
        let line = written(|out| write_lines(out, 0.0, &host_only));
        assert_eq!(line, "    0.00 s  host  CPU  12.3 %  memory 100.00 of 2048.00 GiB\n");
    }
}
