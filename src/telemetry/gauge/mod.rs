//! Gauges: what a reading is called, how it is taken out of a snapshot, over which time it was taken, what it means and
//! where it misleads. The panels and the command line show them; nothing here knows a terminal.

mod activity;
mod host;
mod link;
mod memory;
mod power;
#[cfg(test)]
mod tests;

use super::{GpuDetails, GpuSnapshot, HostDetails, HostSnapshot, Machine, Missing, Snapshot};
use crate::lang::Lang;
use crate::units::{binary_bytes, digits};

/// A text in English and in Chinese.
pub type Bilingual = (&'static str, &'static str);

/// What belongs together on a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Group {
    /// What the GPU's units are doing.
    Activity,
    /// Device memory.
    Memory,
    /// Power, clocks and temperature.
    Power,
    /// PCIe, NVLink, encoders and decoders.
    Link,
    /// The host.
    Host,
}

impl Group {
    /// All, in the order of the screen.
    pub const ALL: [Self; 5] = [Self::Activity, Self::Memory, Self::Power, Self::Link, Self::Host];

    /// Name.
    pub fn name(self, lang: Lang) -> &'static str {
        let (en, zh) = match self {
            Self::Activity => ("activity", "计算活动"),
            Self::Memory => ("memory", "显存"),
            Self::Power => ("power, clocks", "功率与时钟"),
            Self::Link => ("links", "链路"),
            Self::Host => ("host", "主机"),
        };
        lang.pick(en, zh)
    }
}

/// Unit of a gauge's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Percent.
    Percent,
    /// Bytes.
    Bytes,
    /// Watts.
    Watts,
    /// Megahertz.
    Megahertz,
    /// Degrees Celsius.
    Celsius,
    /// MiB per second.
    MibPerSecond,
    /// Processors' worth of time.
    Processors,
}

/// The time that a reading speaks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// The time since the snapshot before: a counter's difference, so nothing is missed and nothing is late.
    SincePrevious,
    /// The time since the GPM counters were read before: the driver moves them ten times a second, so a tenth of a
    /// second or a little more, however often snapshots are taken.
    SinceCounters,
    /// The time since the details before, a second or two.
    SinceDetails,
    /// About a second, and told about a second late: the driver's own average.
    DriverSecond,
    /// The moment of the reading.
    Moment,
    /// The last ten seconds, by the kernel's decaying average.
    TenSeconds,
}

impl Window {
    /// Whether a reader that comes by less often gets the mean over the time since it last came, instead of a value of
    /// that moment.
    pub fn accumulates(self) -> bool {
        matches!(self, Self::SincePrevious | Self::SinceCounters | Self::SinceDetails)
    }

    /// In words.
    pub fn words(self, lang: Lang) -> &'static str {
        let (en, zh) = match self {
            Self::SincePrevious => ("mean since the sample before, not late", "上次采样以来的均值，不滞后"),
            Self::SinceCounters => (
                "mean since the reading before, 0.1 s at least, not late",
                "上次读数以来（至少 0.1 s）的均值，不滞后",
            ),
            Self::SinceDetails => ("mean over the last second or two", "最近一两秒的均值"),
            Self::DriverSecond => {
                ("driver's mean over about 1 s, about 1 s late", "驱动约 1 s 的均值，滞后约 1 s")
            }
            Self::Moment => ("value of the moment", "采样瞬间的值"),
            Self::TenSeconds => ("kernel's mean over 10 s", "内核的 10 s 均值"),
        };
        lang.pick(en, zh)
    }
}

/// How a value is taken out of a snapshot.
#[derive(Debug, Clone, Copy)]
pub enum Read {
    /// Of the GPU, in every snapshot or, for what the driver tells less often, in some.
    Gpu(fn(&GpuSnapshot) -> Option<f64>),
    /// Of the GPU, about once a second.
    GpuDetails(fn(&GpuDetails) -> Option<f64>),
    /// Of the host, in every snapshot.
    Host(fn(&HostSnapshot) -> Option<f64>),
    /// Of the host, about once a second.
    HostDetails(fn(&HostDetails) -> Option<f64>),
}

/// One gauge.
#[derive(Debug)]
pub struct Gauge {
    /// Name of the field in snapshots and in JSON.
    pub field: &'static str,
    /// Short name, at most twelve columns.
    pub name: Bilingual,
    /// What it stands with.
    pub group: Group,
    /// Unit of its values.
    pub unit: Unit,
    /// The time that a value speaks for.
    pub window: Window,
    /// How to get it.
    pub read: Read,
    /// What it measures, in one sentence.
    pub means: Bilingual,
    /// Where it misleads, in one sentence.
    pub trap: Bilingual,
    /// Id of the term that explains it.
    pub term: &'static str,
}

/// What a snapshot says of a gauge.
#[derive(Debug, Clone, PartialEq)]
pub enum At {
    /// A value, in the unit of the gauge.
    Value(f64),
    /// It was asked for and could not be had; why.
    Missing(String),
    /// It is not asked in every snapshot, and not in this one.
    NotAsked,
}

impl At {
    /// The value, where there is one.
    pub fn value(&self) -> Option<f64> {
        if let Self::Value(value) = self { Some(*value) } else { None }
    }
}

/// Every gauge, in the order of the screen.
pub fn all() -> impl Iterator<Item = &'static Gauge> {
    let groups = [activity::GAUGES, memory::GAUGES, power::GAUGES, link::GAUGES, host::GAUGES];
    groups.into_iter().flatten()
}

/// The gauge of a field of the GPU; the host has fields of the same name.
pub fn gpu(field: &str) -> Option<&'static Gauge> {
    all().find(|gauge| gauge.field == field && gauge.group != Group::Host)
}

impl Gauge {
    /// Whether it is the host's and not a GPU's.
    pub fn is_of_host(&self) -> bool {
        matches!(self.read, Read::Host(_) | Read::HostDetails(_))
    }

    /// What a snapshot says, of the GPU at position `gpu`.
    pub fn at(&self, snapshot: &Snapshot, gpu: usize) -> At {
        // What was asked in vain has a reason, so nothing with no reason was not asked for.
        let missing = |missing: &Missing| missing.get(self.field).cloned().map_or(At::NotAsked, At::Missing);
        match self.read {
            Read::Host(read) => {
                read(&snapshot.host).map_or_else(|| missing(&snapshot.host.missing), At::Value)
            }
            Read::HostDetails(read) => match &snapshot.host.details {
                Some(details) => read(details).map_or_else(|| missing(&details.missing), At::Value),
                None => At::NotAsked,
            },
            Read::Gpu(read) => match snapshot.gpus.get(gpu) {
                Some(readings) => read(readings).map_or_else(|| missing(&readings.missing), At::Value),
                None => At::Missing(String::new()),
            },
            Read::GpuDetails(read) => match snapshot.gpus.get(gpu) {
                Some(readings) => match &readings.details {
                    Some(details) => read(details).map_or_else(|| missing(&details.missing), At::Value),
                    // A GPU that is gone says so for everything.
                    None => missing(&readings.missing),
                },
                None => At::Missing(String::new()),
            },
        }
    }

    /// The newest snapshot that says something of it, and what: values that are not asked every time keep their age.
    pub fn newest<'a>(&self, snapshots: &[&'a Snapshot], gpu: usize) -> Option<(&'a Snapshot, At)> {
        snapshots.iter().rev().map(|s| (*s, self.at(s, gpu))).find(|(_, at)| *at != At::NotAsked)
    }

    /// Time and value of every snapshot that says something of it; `None` is a gap.
    pub fn points(&self, snapshots: &[&Snapshot], gpu: usize) -> Vec<(u64, Option<f64>)> {
        let said = snapshots.iter().map(|s| (s.mono_ns, self.at(s, gpu)));
        said.filter(|(_, at)| *at != At::NotAsked).map(|(ns, at)| (ns, at.value())).collect()
    }

    /// Value at the top of a scale that does not move; `None` where nothing limits it or the limit is not known.
    pub fn top(&self, machine: &Machine, gpu: usize) -> Option<f64> {
        let info = machine.gpus.get(gpu);
        match (self.field, self.unit) {
            (_, Unit::Percent) => Some(100.0),
            ("memory_used_bytes" | "worker_rss_bytes", _) if self.is_of_host() => {
                machine.memory_total_bytes.map(|bytes| bytes as f64)
            }
            ("memory_used_bytes" | "memory_reserved_bytes" | "memory_free_bytes", _) => {
                info?.memory_total_bytes.map(|bytes| bytes as f64)
            }
            ("power_w", _) => info?.power_limit_w,
            ("sm_clock_mhz", _) => info?.max_sm_clock_mhz.map(f64::from),
            ("temperature_c", _) => info?.slowdown_temperature_c.or(Some(100)).map(f64::from),
            ("pcie_rx_mib_s" | "pcie_tx_mib_s", _) => {
                let (generation, lanes) = (info?.pcie_max_gen?, info?.pcie_max_width?);
                Some(infralab_labs::formulas::pcie::bytes_per_s(generation, lanes)? / f64::from(1 << 20))
            }
            ("cgroup_cpu", _) => machine.cpu_count.map(f64::from),
            _ => None,
        }
    }

    /// A value with its unit.
    pub fn show(&self, value: f64) -> String {
        match self.unit {
            Unit::Percent if value > 0.0 && value < 9.95 => format!("{value:.1} %"),
            Unit::Percent => format!("{value:.0} %"),
            Unit::Bytes => binary_bytes(value),
            Unit::Watts => format!("{value:.0} W"),
            Unit::Megahertz => format!("{value:.0} MHz"),
            Unit::Celsius => format!("{value:.0} °C"),
            Unit::MibPerSecond if value < 10_000.0 => format!("{} MiB/s", digits(value)),
            Unit::MibPerSecond => format!("{:.1} GiB/s", value / 1024.0),
            Unit::Processors => format!("{value:.2} CPUs"),
        }
    }
}
