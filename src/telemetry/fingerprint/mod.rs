//! The fingerprint: what the readings of a stretch of time look like together, in one word, by rules that are shown.
//!
//! A rule is a list of conditions over means; the first rule of which all hold names the pattern. The limits come from
//! recordings made on an H200, which are also their tests.

mod words;

#[cfg(test)]
mod recordings;
#[cfg(test)]
mod tests;

use super::gauge;
use super::series::Series;
use super::{Machine, Snapshot};
use crate::lang::Lang;

/// Live panels judge the newest stretch of this length: shorter, and what the driver tells a second late would not
/// belong to what the counters tell.
pub const LIVE_NS: u64 = 3_000_000_000;

/// What it looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// Clocks are held back by heat or by the hardware.
    Throttled,
    /// Nothing runs.
    Idle,
    /// Something is resident that does next to nothing.
    Spinning,
    /// It runs and waits for work in turns.
    Starved,
    /// Arithmetic is the limit.
    ComputeBound,
    /// Device memory is the limit.
    BandwidthBound,
    /// Kernels are so small that starting them is the limit.
    LaunchBound,
    /// The SMs are busy and no limit is near.
    Mixed,
}

/// What a condition is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Mean of a GPU gauge, by field.
    Gauge(&'static str),
    /// The busiest of the FP64, FP32, FP16 and tensor pipes, percent.
    BusiestPipe,
    /// SM active ÷ GPU-Util, percent: of the time in which a kernel ran, how many of the SMs it had.
    SmWhileBusy,
    /// Power ÷ power limit, percent.
    PowerShare,
    /// Share of the snapshots in which heat, a power brake or the hardware held clocks back, percent.
    HeldBack,
}

/// One condition of a rule: a quantity, and the least or the most that it may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Condition {
    /// At least this much.
    AtLeast(Quantity, f64),
    /// At most this much.
    AtMost(Quantity, f64),
}

/// A pattern and when it is seen.
#[derive(Debug)]
pub struct Rule {
    /// What it looks like.
    pub pattern: Pattern,
    /// All of these hold.
    pub conditions: &'static [Condition],
}

use Condition::{AtLeast, AtMost};
use Quantity::{BusiestPipe, Gauge, HeldBack, PowerShare, SmWhileBusy};

/// The rules, in the order in which they are tried.
pub const RULES: &[Rule] = &[
    Rule { pattern: Pattern::Throttled, conditions: &[AtLeast(HeldBack, 50.0)] },
    Rule {
        pattern: Pattern::Idle,
        conditions: &[AtMost(Gauge("util_pct"), 2.0), AtMost(Gauge("sm_pct"), 1.0)],
    },
    Rule {
        pattern: Pattern::Spinning,
        conditions: &[
            AtLeast(Gauge("util_pct"), 90.0),
            AtMost(Gauge("sm_pct"), 10.0),
            AtMost(PowerShare, 40.0),
        ],
    },
    Rule { pattern: Pattern::ComputeBound, conditions: &[AtLeast(BusiestPipe, 50.0)] },
    Rule { pattern: Pattern::BandwidthBound, conditions: &[AtLeast(Gauge("dram_pct"), 50.0)] },
    Rule {
        pattern: Pattern::LaunchBound,
        conditions: &[AtLeast(Gauge("util_pct"), 10.0), AtMost(SmWhileBusy, 50.0)],
    },
    Rule { pattern: Pattern::Starved, conditions: &[AtMost(Gauge("util_pct"), 80.0)] },
    Rule { pattern: Pattern::Mixed, conditions: &[] },
];

/// What the readings look like.
#[derive(Debug, Clone, PartialEq)]
pub enum Fingerprint {
    /// A rule held.
    Seen {
        /// What it looks like.
        pattern: Pattern,
        /// The conditions that held, with what was read.
        because: Vec<(Condition, f64)>,
        /// Whether the power limit held the clock back meanwhile, which is no fault but explains the clock.
        power_capped: bool,
    },
    /// A rule could not be judged because a reading is missing.
    Unknown {
        /// What is missing.
        quantity: Quantity,
        /// Why.
        why: String,
    },
}

/// Judges the snapshots later than `from_ns` and not later than `to_ns`; `None` when there is none.
pub fn of(
    machine: &Machine,
    snapshots: &[&Snapshot],
    gpu: usize,
    from_ns: u64,
    to_ns: u64,
) -> Option<Fingerprint> {
    let first = snapshots.partition_point(|s| s.mono_ns <= from_ns);
    let end = snapshots.partition_point(|s| s.mono_ns <= to_ns);
    // With the reading before the stretch, from which the first one inside counts.
    let inside = snapshots.get(first.saturating_sub(1)..end).filter(|s| !s.is_empty())?;
    inside.last()?.gpus.get(gpu)?;
    let stretch = Stretch { machine, snapshots: inside, gpu, from_ns, to_ns };
    for rule in RULES {
        let mut because = Vec::new();
        let mut holds = true;
        for condition in rule.conditions {
            match stretch.read(condition.quantity()) {
                Ok(value) if condition.holds(value) => because.push((*condition, value)),
                Ok(_) => {
                    holds = false;
                    break;
                }
                Err(why) => return Some(Fingerprint::Unknown { quantity: condition.quantity(), why }),
            }
        }
        if holds {
            let power_capped = stretch.share_of_reasons(|reason| reason == "software power cap") >= 50.0;
            return Some(Fingerprint::Seen { pattern: rule.pattern, because, power_capped });
        }
    }
    None
}

struct Stretch<'a> {
    machine: &'a Machine,
    snapshots: &'a [&'a Snapshot],
    gpu: usize,
    from_ns: u64,
    to_ns: u64,
}

impl Stretch<'_> {
    fn read(&self, quantity: Quantity) -> Result<f64, String> {
        match quantity {
            Gauge(field) => self.mean(field),
            BusiestPipe => {
                let pipes = ["tensor_pct", "fp32_pct", "fp64_pct", "fp16_pct"].map(|field| self.mean(field));
                // Recordings of earlier versions hold the tensor pipes only.
                let busiest = pipes.iter().flatten().copied().reduce(f64::max);
                busiest.ok_or_else(|| pipes.into_iter().find_map(Result::err).unwrap_or_default())
            }
            SmWhileBusy => {
                let util = self.mean("util_pct")?;
                let sm = self.mean("sm_pct")?;
                Ok(if util > 0.0 { (sm / util * 100.0).min(100.0) } else { 0.0 })
            }
            PowerShare => {
                let limit = self.machine.gpus.get(self.gpu).and_then(|info| info.power_limit_w);
                let limit = limit.filter(|w| *w > 0.0).ok_or("the power limit is not told")?;
                self.mean("power_w").map(|power| power / limit * 100.0)
            }
            HeldBack => Ok(self.share_of_reasons(|reason| {
                reason.contains("thermal") || reason.contains("hardware slowdown") || reason.contains("brake")
            })),
        }
    }

    fn mean(&self, field: &str) -> Result<f64, String> {
        let gauge = gauge::gpu(field).ok_or_else(|| format!("there is no gauge {field}"))?;
        let mut series = Series::rolling(self.snapshots.len() + 1);
        for (ns, value) in gauge.points(self.snapshots, self.gpu) {
            series.push(ns, value);
        }
        series.between(self.from_ns, self.to_ns).map(|average| average.mean).ok_or_else(|| {
            match gauge.newest(self.snapshots, self.gpu) {
                Some((_, gauge::At::Missing(why))) => why,
                _ => "it was not read".to_owned(),
            }
        })
    }

    /// Share of the snapshots with a clock event reason that `counts`, percent.
    fn share_of_reasons(&self, counts: impl Fn(&str) -> bool) -> f64 {
        let told = self.snapshots.iter().filter_map(|s| s.gpus.get(self.gpu)?.clock_reasons.as_ref());
        let (mut with, mut all) = (0.0, 0.0);
        for reasons in told {
            all += 1.0;
            with += f64::from(u8::from(reasons.iter().any(|reason| counts(reason))));
        }
        if all > 0.0 { with / all * 100.0 } else { 0.0 }
    }
}

impl Condition {
    /// What it is about.
    pub fn quantity(self) -> Quantity {
        match self {
            AtLeast(quantity, _) | AtMost(quantity, _) => quantity,
        }
    }

    fn holds(self, value: f64) -> bool {
        match self {
            AtLeast(_, limit) => value >= limit,
            AtMost(_, limit) => value <= limit,
        }
    }

    /// The rule without a reading: `tensor ≥ 50 %`.
    pub fn rule(self, lang: Lang) -> String {
        let (sign, limit) = match self {
            AtLeast(_, limit) => ('≥', limit),
            AtMost(_, limit) => ('≤', limit),
        };
        format!("{} {sign} {limit:.0} %", self.quantity().name(lang))
    }

    /// The rule with what was read: `tensor 93 % ≥ 50 %`.
    pub fn with(self, value: f64, lang: Lang) -> String {
        let (sign, limit) = match self {
            AtLeast(_, limit) => ('≥', limit),
            AtMost(_, limit) => ('≤', limit),
        };
        // A reading just under a limit must not look as if it were at it.
        let digits = usize::from(value < 9.95 || (value - limit).abs() < 1.0);
        format!("{} {value:.digits$} % {sign} {limit:.0} %", self.quantity().name(lang))
    }
}
