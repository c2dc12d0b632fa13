//! Rows of the host in `infralab gpu --once`, from the gauges, which know their names and units.

use std::io::{self, Write};

use crate::lang::Lang;
use crate::telemetry::gauge::{self, At, Gauge};
use crate::telemetry::{CgroupLimits, Snapshot};
use crate::visible::visible_line;

/// Rows that are written beside the host's name.
const WRITTEN_ALREADY: [&str; 2] = ["cpu_pct", "memory_used_bytes"];

/// A row per reading of the host. What nobody asked for, such as the memory of a worker that is not there, is left out;
/// what could not be had is `N/A` with its reason.
pub(super) fn write_rows(out: &mut impl Write, snapshot: &Snapshot) -> io::Result<()> {
    let cgroup = snapshot.host.details.as_deref().map(|details| (details.cgroup.as_ref(), &details.missing));
    for gauge in gauge::all().filter(|gauge| gauge.is_of_host() && !WRITTEN_ALREADY.contains(&gauge.field)) {
        // One reason for all three, and told once.
        if gauge.field.starts_with("cgroup_") && matches!(cgroup, Some((None, _))) {
            continue;
        }
        let value = match gauge.at(snapshot, 0) {
            At::Value(value) => of_limit(gauge, value, cgroup.and_then(|(limits, _)| limits)),
            At::Missing(why) if !why.is_empty() => format!("N/A ({})", visible_line(&why)),
            At::Missing(_) | At::NotAsked => continue,
        };
        write_row(out, Lang::En.pick(gauge.name.0, gauge.name.1), &value)?;
    }
    match cgroup {
        Some((None, missing)) => match missing.get("cgroup_cpu") {
            Some(why) => write_row(out, "control group", &visible_line(why)),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

fn write_row(out: &mut impl Write, label: &str, value: &str) -> io::Result<()> {
    writeln!(out, "  {label:<16} {value}")
}

/// A value, and the limit that the control group sets to it.
fn of_limit(gauge: &Gauge, value: f64, limits: Option<&CgroupLimits>) -> String {
    let limit = limits.and_then(|limits| match gauge.field {
        "cgroup_cpu" => limits.cpu_limit,
        "cgroup_memory" => limits.memory_limit_bytes.map(|bytes| bytes as f64),
        _ => None,
    });
    match limit {
        Some(limit) => format!("{} of {}", gauge.show(value), gauge.show(limit)),
        None => gauge.show(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::{HostDetails, HostSnapshot, Missing};

    fn written(details: Option<HostDetails>) -> String {
        let host = HostSnapshot {
            cpu_pct: Some(3.0),
            cpu_busiest_pct: Some(99.6),
            details: details.map(Box::new),
            ..HostSnapshot::default()
        };
        let mut out = Vec::new();
        write_rows(&mut out, &Snapshot { host, ..Snapshot::default() }).expect("memory takes everything");
        String::from_utf8(out).expect("UTF-8")
    }

    fn missing(field: &str, why: &str) -> Missing {
        Missing::from([(field.to_owned(), why.to_owned())])
    }

    #[test]
    fn every_reading_has_its_unit_its_limit_or_its_reason() {
        let details = HostDetails {
            cpu_pressure_pct: Some(0.25),
            memory_pressure_pct: Some(0.0),
            disk_read_mib_s: Some(1536.0),
            disk_write_mib_s: Some(0.5),
            network_rx_mib_s: Some(12_288.0),
            network_tx_mib_s: Some(0.0),
            cgroup: Some(CgroupLimits {
                cpu_limit: Some(2.5),
                cpu_used: Some(1.5),
                cpu_throttled_pct: Some(25.0),
                memory_limit_bytes: Some(16 << 30),
                memory_used_bytes: Some(4 << 30),
            }),
            missing: missing("io_pressure_pct", "no\u{1b}[2J file"),
            ..HostDetails::default()
        };
        insta::assert_snapshot!(written(Some(details)), @"
          Busiest CPU      100 %
          CPU wait         0.2 %
          Mem wait         0 %
          I/O wait         N/A (no␛[2J file)
          Disk read        1536 MiB/s
          Disk write       0.5000 MiB/s
          Net in           12.0 GiB/s
          Net out          0 MiB/s
          Quota used       1.50 CPUs of 2.50 CPUs
          Throttled        25 %
          Mem of limit     4.00 GiB of 16.00 GiB
        ");
    }

    #[test]
    fn between_details_only_what_was_asked_is_written() {
        assert_eq!(written(None), "  Busiest CPU      100 %\n");
    }

    #[test]
    fn a_machine_without_limits_says_so_once() {
        let why = "no control group sets a limit here";
        let text =
            written(Some(HostDetails { missing: missing("cgroup_cpu", why), ..HostDetails::default() }));
        assert!(text.ends_with(&format!("  control group    {why}\n")), "{text}");
        assert_eq!(text.lines().count(), 2, "{text}");
    }
}
