//! What the control groups of this process allow and use. In a container this, not the host, is what there is.
//!
//! A limit may be set at any group above the process, and the tightest holds; what is used is counted at the group that
//! sets it, since all in that group share it. Without a limit it is counted at the process's own group.

mod limit;
mod place;

use limit::{Groups, parse_statistic};
use place::Place;

use super::kernel_file::{KernelFile, Root};
use super::pace::{FIRST, Moment};
use crate::telemetry::{CgroupLimits, Missing};

/// Names of the readings in [`Missing`] and of their gauges.
const CPU: &str = "cgroup_cpu";
const THROTTLED: &str = "cgroup_throttled";
const MEMORY: &str = "cgroup_memory";

/// Reads the control groups of this process.
#[derive(Debug)]
pub(super) struct Cgroup {
    root: Root,
    memberships: KernelFile,
    /// The text that the groups below were found by; a process can be moved.
    found_by: Option<String>,
    cpu: Option<Groups>,
    memory: Option<Groups>,
    /// Where processor time is counted apart from its limit, as in version 1.
    accounting: Option<Place>,
    cpu_use: CpuUse,
}

impl Cgroup {
    pub(super) fn new(root: &Root) -> Self {
        Self {
            root: root.clone(),
            memberships: root.file("/proc/self/cgroup"),
            found_by: None,
            cpu: None,
            memory: None,
            accounting: None,
            cpu_use: CpuUse::default(),
        }
    }

    /// Limits and use; `None`, with reasons, where no group sets a limit.
    pub(super) fn read(&mut self, at: Moment, missing: &mut Missing) -> Option<CgroupLimits> {
        let mut miss = |field: &str, why: String| {
            missing.insert(field.to_owned(), why);
        };
        if let Err(why) = self.find() {
            for field in [CPU, THROTTLED, MEMORY] {
                miss(field, why.clone());
            }
            return None;
        }
        let cpu_limit = self
            .cpu
            .as_mut()
            .and_then(|groups| groups.tightest_cpus().map(|(cpus, folder)| (cpus, folder.to_owned())));
        let memory_limit = self
            .memory
            .as_mut()
            .and_then(|groups| groups.tightest_bytes().map(|(bytes, folder)| (bytes, folder.to_owned())));
        if cpu_limit.is_none() && memory_limit.is_none() {
            let why = "no control group sets a limit here";
            for field in [CPU, THROTTLED, MEMORY] {
                miss(field, why.to_owned());
            }
            self.cpu_use = CpuUse::default();
            return None;
        }
        let (cpu_limit, cpu_folder) = cpu_limit.unzip();
        let (memory_limit_bytes, memory_folder) = memory_limit.unzip();
        let (used, throttled) = self.cpu_use(at, cpu_folder);
        let throttled = if cpu_limit.is_some() { throttled } else { Err("no quota is set".to_owned()) };
        let memory_used = self.memory_used(memory_folder);
        Some(CgroupLimits {
            cpu_limit,
            cpu_used: used.map_err(|why| miss(CPU, why)).ok(),
            cpu_throttled_pct: throttled.map_err(|why| miss(THROTTLED, why)).ok(),
            memory_limit_bytes,
            memory_used_bytes: memory_used.map_err(|why| miss(MEMORY, why)).ok(),
        })
    }

    /// Finds the groups again where the process is not where it was.
    fn find(&mut self) -> Result<(), String> {
        let memberships = self.memberships.text()?;
        if self.found_by.as_deref() == Some(&*memberships) {
            return Ok(());
        }
        let mounts = self.root.file("/proc/self/mountinfo").text()?.into_owned();
        let place = |controller| Place::find(controller, &memberships, &mounts);
        self.cpu = place("cpu").map(|place| Groups::of_cpu(&self.root, &place));
        self.memory = place("memory").map(|place| Groups::of_memory(&self.root, &place));
        self.accounting = place("cpuacct").filter(|place| !place.v2);
        self.found_by = Some(memberships.into_owned());
        self.cpu_use = CpuUse::default();
        Ok(())
    }

    fn cpu_use(&mut self, at: Moment, limited: Option<String>) -> (Result<f64, String>, Result<f64, String>) {
        let no_group = || Err("no group of the processor controller is visible".to_owned());
        let Some(groups) = &self.cpu else { return (no_group(), no_group()) };
        let Some(folder) = limited.or_else(|| groups.own().map(str::to_owned)) else {
            return (no_group(), no_group());
        };
        if self.cpu_use.folder != folder {
            self.cpu_use = if groups.v2 {
                CpuUse::of_v2(&self.root, folder)
            } else {
                CpuUse::of_v1(&self.root, folder, self.accounting.as_ref())
            };
        }
        self.cpu_use.read(at)
    }

    fn memory_used(&self, limited: Option<String>) -> Result<u64, String> {
        let groups = self.memory.as_ref().ok_or("no group of the memory controller is visible")?;
        let folder = limited.or_else(|| groups.own().map(str::to_owned)).ok_or("no group is visible")?;
        let (usage, given_back) = if groups.v2 {
            ("memory.current", "inactive_file")
        } else {
            ("memory.usage_in_bytes", "total_inactive_file")
        };
        let mut usage = self.root.file(&format!("{folder}/{usage}"));
        let usage: u64 = {
            let text = usage.text()?;
            text.trim().parse().map_err(|_| format!("{folder} tells no number of bytes in use"))?
        };
        let mut statistics = self.root.file(&format!("{folder}/memory.stat"));
        let cache = parse_statistic(&statistics.text()?, given_back)
            .ok_or_else(|| format!("{folder}/memory.stat has no {given_back} line"))?;
        Ok(usage.saturating_sub(cache))
    }
}

/// Processor time of one group.
#[derive(Debug, Default)]
struct CpuUse {
    folder: String,
    /// Enforcement of the quota, and in version 2 the time used.
    statistics: Option<KernelFile>,
    /// Time used, where that is a file of its own, ns.
    usage: Option<KernelFile>,
    before: Option<(u64, Counters)>,
}

/// Counters since the group was made.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Counters {
    used_ns: Result<u64, String>,
    /// Periods, and those in which the quota ran out.
    periods: Result<(u64, u64), String>,
}

impl CpuUse {
    fn of_v2(root: &Root, folder: String) -> Self {
        let statistics = Some(root.file(&format!("{folder}/cpu.stat")));
        Self { folder, statistics, ..Self::default() }
    }

    /// Version 1 counts time in a tree of its own, which has the same groups wherever both were set up by one hand;
    /// elsewhere the process's own group is the best that is known.
    fn of_v1(root: &Root, folder: String, accounting: Option<&Place>) -> Self {
        let exists = |folder: &str| root.path(folder).is_dir();
        let beside = |folder: &str| root.path(&format!("{folder}/cpuacct.usage")).is_file();
        let counted_at = if beside(&folder) {
            Some(folder.clone())
        } else {
            let candidates = accounting.map(|place| place.folders(exists)).unwrap_or_default();
            let same_name = |candidate: &&String| {
                candidate.rsplit_once('/').map(|(_, name)| name)
                    == folder.rsplit_once('/').map(|(_, name)| name)
            };
            candidates.iter().find(same_name).or(candidates.first()).cloned()
        };
        let usage = counted_at.map(|at| root.file(&format!("{at}/cpuacct.usage")));
        Self { usage, ..Self::of_v2(root, folder) }
    }

    /// Processors' worth of time since the call before, and the share of periods in which the quota ran out, percent.
    fn read(&mut self, at: Moment) -> (Result<f64, String>, Result<f64, String>) {
        let now = self.counters();
        let before = self.before.replace((at.now_ns, now.clone()));
        let Some((before_ns, before)) = before else {
            return (now.used_ns.and(Err(FIRST.to_owned())), now.periods.and(Err(FIRST.to_owned())));
        };
        let went_back = || "the control group's counters went back".to_owned();
        let used = || {
            let seconds = at.seconds_since(before_ns)?;
            let (now, before) = (now.used_ns?, before.used_ns.map_err(|_| FIRST.to_owned())?);
            Ok(now.checked_sub(before).ok_or_else(went_back)? as f64 / 1e9 / seconds)
        };
        let throttled = || {
            at.seconds_since(before_ns)?;
            let (now, before) = (now.periods?, before.periods.map_err(|_| FIRST.to_owned())?);
            let periods = now.0.checked_sub(before.0).ok_or_else(went_back)?;
            let throttled = now.1.checked_sub(before.1).ok_or_else(went_back)?;
            if periods == 0 {
                return Err("no period of the quota has passed since the reading before".to_owned());
            }
            // Both are read while the kernel counts, so that the second may be one ahead.
            Ok((throttled as f64 / periods as f64 * 100.0).min(100.0))
        };
        (used(), throttled())
    }

    fn counters(&mut self) -> Counters {
        let Self { folder, statistics, usage, .. } = self;
        let statistics = match statistics {
            Some(statistics) => statistics.text(),
            None => Err("no group of the processor controller is visible".to_owned()),
        };
        let line = |key: &str| {
            let text = statistics.as_deref().map_err(Clone::clone)?;
            parse_statistic(text, key).ok_or_else(|| format!("{folder}/cpu.stat has no {key} line"))
        };
        let used_ns = match usage {
            Some(usage) => usage.text().and_then(|text| {
                text.trim().parse().map_err(|_| "cpuacct.usage tells no number of nanoseconds".to_owned())
            }),
            None => line("usage_usec").map(|us| us.saturating_mul(1000)),
        };
        let periods = line("nr_periods").and_then(|periods| Ok((periods, line("nr_throttled")?)));
        Counters { used_ns, periods }
    }
}
