//! The host's own readings, from `/proc`.

use std::collections::BTreeMap;
use std::fs;

use super::{HostSnapshot, Machine, process};

/// Reads the host; remembers the processors' counters, since their load is a difference.
#[derive(Debug, Default)]
pub(super) struct HostReader {
    before: Option<CpuTimes>,
}

impl HostReader {
    /// What does not change of the host. GPUs are not looked at.
    pub(super) fn machine() -> Machine {
        let hostname = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Machine {
            hostname: Some(hostname).filter(|name| !name.is_empty()),
            cpu: read("/proc/cpuinfo").ok().and_then(|text| parse_cpu_model(&text)),
            cpu_count: read("/proc/stat").ok().and_then(|text| parse_cpu_count(&text)),
            memory_total_bytes: read("/proc/meminfo").ok().and_then(|text| parse_meminfo(&text).total_bytes),
            ..Machine::default()
        }
    }

    /// Readings of this moment.
    pub(super) fn snapshot(&mut self, worker_pid: Option<u32>) -> HostSnapshot {
        let mut missing = BTreeMap::new();
        let cpu = read("/proc/stat").and_then(|text| self.cpu_pct(&text));
        let memory = read("/proc/meminfo").map(|text| parse_meminfo(&text));
        let no_line = |name: &str| format!("/proc/meminfo has no {name} line");
        let total = memory.clone().and_then(|memory| memory.total_bytes.ok_or_else(|| no_line("MemTotal")));
        let used = memory.and_then(|memory| memory.used_bytes().ok_or_else(|| no_line("MemAvailable")));
        let mut keep = |field: &str, why| missing.insert(field.to_owned(), why);
        HostSnapshot {
            cpu_pct: cpu.map_err(|why| keep("cpu_pct", why)).ok(),
            memory_used_bytes: used.map_err(|why| keep("memory_used_bytes", why)).ok(),
            memory_total_bytes: total.map_err(|why| keep("memory_total_bytes", why)).ok(),
            worker_rss_bytes: worker_pid.and_then(|pid| {
                process::resident_bytes(pid).map_err(|why| keep("worker_rss_bytes", why)).ok()
            }),
            missing,
            ..HostSnapshot::default()
        }
    }

    fn cpu_pct(&mut self, stat: &str) -> Result<f64, String> {
        let now = parse_cpu_times(stat).ok_or("/proc/stat has no line for all processors")?;
        let before =
            self.before.replace(now).ok_or("counted between two snapshots, and this is the first")?;
        now.busy_pct_since(before)
            .ok_or_else(|| "the processors' counters did not move since the last".to_owned())
    }
}

fn read(path: &str) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))
}

/// Time of all processors since boot, in clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CpuTimes {
    busy: u64,
    idle: u64,
}

impl CpuTimes {
    fn busy_pct_since(self, before: Self) -> Option<f64> {
        // The kernel lets the time spent waiting for I/O go back a little.
        let busy = self.busy.saturating_sub(before.busy);
        let idle = self.idle.saturating_sub(before.idle);
        let total = busy.saturating_add(idle);
        (total > 0).then(|| busy as f64 / total as f64 * 100.0)
    }
}

fn parse_cpu_times(stat: &str) -> Option<CpuTimes> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|field| field.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal guest guest_nice; guest time is part of user time already.
    let [user, nice, system, idle, rest @ ..] = ticks.as_slice() else { return None };
    let iowait = rest.first().copied().unwrap_or(0);
    let interrupts_and_steal = rest.iter().skip(1).take(3);
    let busy = [user, nice, system].into_iter().chain(interrupts_and_steal);
    Some(CpuTimes {
        busy: busy.fold(0, |sum, ticks| sum.saturating_add(*ticks)),
        idle: idle.saturating_add(iowait),
    })
}

fn parse_cpu_count(stat: &str) -> Option<u32> {
    let is_one = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()))
    };
    Some(stat.lines().filter(is_one).count() as u32).filter(|count| *count > 0)
}

fn parse_cpu_model(cpuinfo: &str) -> Option<String> {
    // x86 and RISC-V write `model name`, POWER `cpu`, some Arm boards `Model`; Arm servers name no model here.
    let keys = ["model name", "cpu", "Model"];
    let value_of = |key: &str| {
        cpuinfo.lines().filter_map(|line| line.split_once(':')).find(|(name, _)| name.trim() == key)
    };
    let (_, model) = keys.iter().find_map(|key| value_of(key))?;
    // Some models are padded with spaces on the inside.
    let model = model.split_whitespace().collect::<Vec<_>>().join(" ");
    (!model.is_empty()).then_some(model)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Memory {
    total_bytes: Option<u64>,
    available_bytes: Option<u64>,
}

impl Memory {
    fn used_bytes(self) -> Option<u64> {
        Some(self.total_bytes?.saturating_sub(self.available_bytes?))
    }
}

fn parse_meminfo(meminfo: &str) -> Memory {
    let bytes_of = |key: &str| {
        let value = meminfo.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        value.trim().strip_suffix("kB")?.trim_end().parse::<u64>().ok()?.checked_mul(1024)
    };
    Memory { total_bytes: bytes_of("MemTotal"), available_bytes: bytes_of("MemAvailable") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STAT: &str = "\
cpu  1000 50 300 8000 150 20 30 50 400 10
cpu0 500 25 150 4000 75 10 15 25 200 5
cpu1 500 25 150 4000 75 10 15 25 200 5
intr 12345 0 0
ctxt 987
btime 1700000000
processes 4242
";

    #[test]
    fn load_is_the_busy_share_between_two_readings() {
        let mut host = HostReader::default();
        assert!(host.cpu_pct(STAT).expect_err("nothing to compare with").contains("first"));
        // 60 ticks of work (user 40, softirq 10, steal 10), 40 idle (30 + 10 waiting); guest ticks count once.
        let later = "cpu  1040 50 300 8030 160 20 40 60 440 10\n";
        assert_eq!(host.cpu_pct(later), Ok(60.0));
        assert!(host.cpu_pct(later).is_err(), "no tick has passed");
    }

    #[test]
    fn counters_that_go_back_do_not_give_a_negative_load() {
        let before = CpuTimes { busy: 100, idle: 500 };
        assert_eq!(CpuTimes { busy: 110, idle: 499 }.busy_pct_since(before), Some(100.0));
        assert_eq!(CpuTimes { busy: 0, idle: 0 }.busy_pct_since(before), None);
    }

    #[test]
    fn an_old_kernel_with_four_columns_still_reads() {
        assert_eq!(parse_cpu_times("cpu 10 0 5 85\n"), Some(CpuTimes { busy: 15, idle: 85 }));
        assert_eq!(parse_cpu_times("cpu 10 0 5\n"), None);
        assert_eq!(parse_cpu_times("cpu0 10 0 5 85\n"), None);
    }

    #[test]
    fn processors_are_counted_without_their_sum() {
        assert_eq!(parse_cpu_count(STAT), Some(2));
        assert_eq!(parse_cpu_count("intr 1\n"), None);
    }

    #[test]
    fn used_memory_is_what_is_not_available() {
        let meminfo =
            "MemTotal:       16384000 kB\nMemFree:          512000 kB\nMemAvailable:    8192000 kB\n";
        let memory = parse_meminfo(meminfo);
        assert_eq!(memory.total_bytes, Some(16_777_216_000));
        assert_eq!(memory.used_bytes(), Some(8_388_608_000));
    }

    #[test]
    fn without_an_available_line_used_memory_is_unknown() {
        let memory = parse_meminfo("MemTotal: 1024 kB\nMemFree: 512 kB\nMemTotalOther: 7 kB\n");
        assert_eq!(memory.total_bytes, Some(1_048_576));
        assert_eq!(memory.used_bytes(), None);
    }

    #[test]
    fn the_cpu_model_is_found_and_tidied() {
        let x86 = "processor\t: 0\nmodel\t\t: 143\nmodel name\t: Intel(R) Xeon(R)   Platinum 8480C \n";
        assert_eq!(parse_cpu_model(x86).as_deref(), Some("Intel(R) Xeon(R) Platinum 8480C"));
        assert_eq!(
            parse_cpu_model("processor\t: 0\ncpu\t\t: POWER9, altivec supported\n").as_deref(),
            Some("POWER9, altivec supported")
        );
        assert_eq!(parse_cpu_model("processor\t: 0\nCPU part\t: 0xd4f\n"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_machine_reads() {
        let machine = HostReader::machine();
        assert!(machine.hostname.is_some());
        assert!(machine.cpu_count.is_some_and(|count| count >= 1));
        let snapshot = HostReader::default().snapshot(Some(u32::MAX));
        assert_eq!(snapshot.memory_total_bytes, machine.memory_total_bytes);
        assert!(snapshot.memory_used_bytes.is_some_and(|used| used > 0));
        assert_eq!(snapshot.worker_rss_bytes, None);
        assert_eq!(snapshot.missing.keys().collect::<Vec<_>>(), ["cpu_pct", "worker_rss_bytes"]);
    }

    proptest! {
        #[test]
        fn no_text_breaks_a_parser(text in "(cpu|cpu0|MemTotal:|MemAvailable:|model name|:| |[0-9]{1,25}|kB|\n|\\PC){0,40}") {
            let _ = parse_cpu_count(&text);
            let _ = parse_cpu_model(&text);
            let _ = parse_meminfo(&text).used_bytes();
            if let Some(times) = parse_cpu_times(&text) {
                let pct = times.busy_pct_since(CpuTimes { busy: 0, idle: 0 });
                prop_assert!(pct.is_none_or(|pct| (0.0..=100.0).contains(&pct)));
            }
        }
    }
}
