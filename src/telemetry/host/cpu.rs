//! Load of the processors, from `/proc/stat`.
//!
//! The kernel sums every interrupt of every processor to make that file, which takes most of a millisecond on a large
//! host; so it is read ten times a second at most, and snapshots between carry the last load.

use super::kernel_file::{KernelFile, Root};
use super::pace::{FIRST, Moment, SLEPT};

/// Counters are rounded to ticks one by one, so that a sum of two can go back by one or two; more is a reset.
const ROUNDING_TICKS: u64 = 4;

/// Load since the reading before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Load {
    /// Of all processors together, percent of the machine.
    pub(super) all_pct: f64,
    /// Of the busiest one, percent of that processor.
    pub(super) busiest_pct: Option<f64>,
}

/// Reads the load of the processors.
#[derive(Debug)]
pub(super) struct Cpu {
    stat: KernelFile,
    slept: bool,
    load: Result<Load, String>,
    last: Option<Times>,
    at_details: Option<Times>,
    /// Kept for its buffer.
    spare: Times,
}

impl Cpu {
    pub(super) fn new(root: &Root) -> Self {
        Self {
            stat: root.file("/proc/stat"),
            slept: false,
            load: Err(FIRST.to_owned()),
            last: None,
            at_details: None,
            spare: Times::default(),
        }
    }

    /// Load between the last two readings.
    pub(super) fn load(&self) -> &Result<Load, String> {
        &self.load
    }

    /// Notes whether the machine was suspended since the last reading.
    pub(super) fn note_sleep(&mut self, slept: bool) {
        self.slept |= slept;
    }

    /// Reads the counters.
    pub(super) fn read(&mut self) {
        self.load = self.load_since_last();
    }

    fn load_since_last(&mut self) -> Result<Load, String> {
        let slept = std::mem::take(&mut self.slept);
        let before = self.last.take();
        let mut now = std::mem::take(&mut self.spare);
        parse_times(&self.stat.text()?, &mut now)?;
        let load = match &before {
            _ if slept => Err(SLEPT.to_owned()),
            Some(before) => now.load_since(before),
            None => Err(FIRST.to_owned()),
        };
        self.last = Some(now);
        self.spare = before.unwrap_or_default();
        load
    }

    /// Load of each processor since the last call, percent, in the kernel's order.
    pub(super) fn each_pct(&mut self, now: Moment) -> Result<Vec<f32>, String> {
        let Some(last) = &self.last else {
            self.at_details = None;
            return Err(self.load.as_ref().err().cloned().unwrap_or_else(|| FIRST.to_owned()));
        };
        let each = match &self.at_details {
            _ if now.slept => Err(SLEPT.to_owned()),
            Some(before) => last.each_pct_since(before),
            None => Err(FIRST.to_owned()),
        };
        match &mut self.at_details {
            Some(before) => before.clone_from(last),
            None => self.at_details = Some(last.clone()),
        }
        each
    }
}

/// Time since boot, in clock ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Ticks {
    busy: u64,
    idle: u64,
}

impl Ticks {
    fn busy_pct_since(self, before: Self) -> Result<f64, String> {
        let went_back = |now: u64, before: u64| now.saturating_add(ROUNDING_TICKS) < before;
        if went_back(self.busy, before.busy) || went_back(self.idle, before.idle) {
            return Err("the processors' counters went back".to_owned());
        }
        let busy = self.busy.saturating_sub(before.busy);
        let total = busy.saturating_add(self.idle.saturating_sub(before.idle));
        if total == 0 {
            return Err("the processors' counters did not move since the last".to_owned());
        }
        Ok(busy as f64 / total as f64 * 100.0)
    }

    /// The columns after `cpu` or `cpu7`.
    fn parse(columns: &str) -> Option<Self> {
        // user nice system idle iowait irq softirq steal guest guest_nice; guest time is part of user time already.
        let mut ticks = [0_u64; 8];
        let mut found = 0;
        for (place, column) in ticks.iter_mut().zip(columns.split_ascii_whitespace()) {
            let Ok(value) = column.parse() else { break };
            *place = value;
            found += 1;
        }
        let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
        let sum = |ticks: &[u64]| ticks.iter().fold(0_u64, |sum, ticks| sum.saturating_add(*ticks));
        // Time moves from waiting for I/O to idle after the fact; only their sum never goes back.
        (found >= 4).then(|| Self {
            busy: sum(&[user, nice, system, irq, softirq, steal]),
            idle: sum(&[idle, iowait]),
        })
    }
}

/// Times of all processors and of each one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Times {
    all: Ticks,
    /// Number and times.
    each: Vec<(u32, Ticks)>,
}

impl Times {
    fn has_those_of(&self, before: &Self) -> Result<(), String> {
        let (now, before) = (&self.each, &before.each);
        let same_number = |((now, _), (before, _)): (&(u32, Ticks), &(u32, Ticks))| now == before;
        if now.len() == before.len() && now.iter().zip(before).all(same_number) {
            return Ok(());
        }
        let (now, before) = (now.len(), before.len());
        Err(format!("processors came or went since the reading before ({before} then, {now} now)"))
    }

    fn load_since(&self, before: &Self) -> Result<Load, String> {
        self.has_those_of(before)?;
        let all_pct = self.all.busy_pct_since(before.all)?;
        let each = self.each.iter().zip(&before.each);
        let busiest_pct = each
            .filter_map(|((_, now), (_, before))| now.busy_pct_since(*before).ok())
            .max_by(f64::total_cmp);
        Ok(Load { all_pct, busiest_pct })
    }

    fn each_pct_since(&self, before: &Self) -> Result<Vec<f32>, String> {
        self.has_those_of(before)?;
        if self.each.is_empty() {
            return Err("/proc/stat has no line for single processors".to_owned());
        }
        let each = self.each.iter().zip(&before.each);
        each.map(|((number, now), (_, before))| {
            let pct = now.busy_pct_since(*before).map_err(|why| format!("processor {number}: {why}"))?;
            Ok(pct as f32)
        })
        .collect()
    }
}

fn parse_times(stat: &str, times: &mut Times) -> Result<(), String> {
    times.each.clear();
    let mut all = None;
    // These lines come first; those after them, one of interrupts among them, can be long.
    for line in stat.lines().map_while(|line| line.strip_prefix("cpu")) {
        let (number, columns) = line.split_once(' ').unwrap_or((line, ""));
        match (number.parse(), Ticks::parse(columns)) {
            (Ok(number), Some(ticks)) => times.each.push((number, ticks)),
            (Err(_), ticks) if number.is_empty() => all = ticks,
            _ => {}
        }
    }
    times.all = all.ok_or("/proc/stat has no line for all processors")?;
    Ok(())
}

/// Logical processors that are in use.
pub(super) fn parse_count(stat: &str) -> Option<u32> {
    let mut times = Times::default();
    // A missing line of their sum does not make the others fewer.
    let _ = parse_times(stat, &mut times);
    Some(times.each.len() as u32).filter(|count| *count > 0)
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
";

    fn times(stat: &str) -> Times {
        let mut times = Times::default();
        parse_times(stat, &mut times).expect("a good text");
        times
    }

    #[test]
    fn load_is_the_busy_share_between_two_readings() {
        // 60 ticks of work (user 40, softirq 10, steal 10), 40 idle (30 + 10 waiting); guest ticks count once.
        let later = "\
cpu  1040 50 300 8030 160 20 40 60 440 10
cpu0 540 25 150 4000 75 10 25 35 240 5
cpu1 500 25 150 4030 85 10 15 25 200 5
";
        let load = times(later).load_since(&times(STAT));
        assert_eq!(load, Ok(Load { all_pct: 60.0, busiest_pct: Some(100.0) }));
        assert_eq!(times(later).each_pct_since(&times(STAT)), Ok(vec![100.0, 0.0]));
        assert!(times(STAT).load_since(&times(STAT)).is_err_and(|why| why.contains("did not move")));
    }

    #[test]
    fn counters_that_go_back_are_a_gap_unless_it_is_rounding() {
        let before = Ticks { busy: 100, idle: 500 };
        assert_eq!(Ticks { busy: 110, idle: 499 }.busy_pct_since(before), Ok(100.0));
        assert!(Ticks { busy: 0, idle: 600 }.busy_pct_since(before).is_err());
        assert!(Ticks { busy: 200, idle: 3 }.busy_pct_since(before).is_err());
    }

    #[test]
    fn processors_that_come_or_go_are_a_gap() {
        let one = STAT.replace("cpu1 ", "cpu2 ");
        let why = times(&one).load_since(&times(STAT)).expect_err("another processor");
        assert!(why.contains("came or went"), "{why}");
        assert!(times("cpu 1 2 3 4\n").each_pct_since(&times(STAT)).is_err());
    }

    #[test]
    fn an_old_kernel_with_four_columns_still_reads() {
        assert_eq!(times("cpu 10 0 5 85\n").all, Ticks { busy: 15, idle: 85 });
        let mut unused = Times::default();
        assert!(parse_times("cpu 10 0 5\n", &mut unused).is_err());
        assert!(parse_times("cpu0 10 0 5 85\n", &mut unused).is_err());
    }

    #[test]
    fn processors_are_counted_without_their_sum() {
        assert_eq!(parse_count(STAT), Some(2));
        assert_eq!(parse_count("intr 1\n"), None);
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_parser(text in "(cpu|cpu0|intr| |[0-9]{1,25}|\n|\\PC){0,40}", bytes in any::<Vec<u8>>()) {
            for text in [text.as_str(), &String::from_utf8_lossy(&bytes)] {
                let mut times = Times::default();
                if parse_times(text, &mut times).is_ok()
                    && let Ok(load) = times.load_since(&Times { all: Ticks::default(), ..times.clone() })
                {
                    prop_assert!((0.0..=100.0).contains(&load.all_pct));
                }
                let _ = parse_count(text);
            }
        }

        #[test]
        fn what_is_written_is_read(columns in prop::collection::vec(prop::array::uniform10(0..1_u64 << 50), 1..200)) {
            let line = |columns: &[u64; 10]| columns.map(|ticks| format!(" {ticks}")).concat();
            let mut text = format!("cpu {}\n", line(&columns[0]));
            for (number, columns) in columns.iter().enumerate() {
                text += &(format!("cpu{number}") + &line(columns) + "\n");
            }
            let times = times(&text);
            let ticks = |c: &[u64; 10]| Ticks { busy: c[0] + c[1] + c[2] + c[5] + c[6] + c[7], idle: c[3] + c[4] };
            prop_assert_eq!(times.all, ticks(&columns[0]));
            let each: Vec<_> = columns.iter().enumerate().map(|(n, c)| (n as u32, ticks(c))).collect();
            prop_assert_eq!(times.each, each);
        }
    }
}
