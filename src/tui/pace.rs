//! How often the machine is sampled, and how much of it is kept for the live panels.

use std::collections::VecDeque;

use crate::telemetry::Snapshot;

/// Live panels look back five minutes at most.
const LIVE_NS: u64 = 300_000_000_000;
/// Readings of GPUs kept for the live panels: five minutes of 40 a second of one GPU, or of 2 a second of 16.
const LIVE_READINGS: usize = 12_000;
/// Samples a second while nothing but a clock would show them.
pub(super) const QUIET_HZ: f64 = 0.5;
/// Samples a second while a panel is on the screen.
pub(super) const PANEL_HZ: f64 = 2.0;
/// Samples a second while a lab runs: the most that cost no more than [`RUN_SHARE`] of a core, or the last.
const RUN_HZ: [f64; 4] = [50.0, 20.0, 10.0, 5.0];
/// Share of one core that sampling may take while a lab runs.
const RUN_SHARE: f64 = 0.02;

/// A reading may come this much after the time between two samples.
const PATIENCE_NS: u64 = 2_500_000_000;

/// Adds the newest readings and drops those that no live panel looks back to.
pub(super) fn keep(live: &mut VecDeque<Snapshot>, snapshot: Snapshot) {
    let oldest = snapshot.mono_ns.saturating_sub(LIVE_NS);
    let most = LIVE_READINGS / snapshot.gpus.len().max(1);
    live.push_back(snapshot);
    while live.len() > most || live.front().is_some_and(|s| s.mono_ns < oldest) {
        live.pop_front();
    }
}

/// Whether a snapshot of this age should not be the newest any more, at so many samples a second.
pub(super) fn is_late(age_ns: u64, hz: f64) -> bool {
    age_ns as f64 > 1e9 / hz + PATIENCE_NS as f64
}

/// Samples a second that a run gets, by what the newest samples cost on this machine. Most samples cost less than those
/// in which the slow readings were due, so a low quartile tells what a sample of a burst will cost.
pub(super) fn burst_hz(live: &VecDeque<Snapshot>) -> f64 {
    let mut costs: Vec<u64> = live.iter().rev().take(20).map(|s| s.cpu_us.unwrap_or(s.cost_us)).collect();
    costs.sort_unstable();
    let cost_s = costs.get(costs.len() / 4).map_or(f64::INFINITY, |us| *us as f64 / 1e6);
    let affordable = RUN_HZ.into_iter().find(|hz| hz * cost_s <= RUN_SHARE);
    affordable.unwrap_or(RUN_HZ[RUN_HZ.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_sampled_as_often_as_its_cost_allows() {
        let costing = |us| -> VecDeque<Snapshot> {
            (0..20).map(|_| Snapshot { cpu_us: Some(us), cost_us: 9_000, ..Snapshot::default() }).collect()
        };
        let chosen = [100, 400, 401, 1_500, 9_000].map(|us| burst_hz(&costing(us)).round() as u32);
        assert_eq!(chosen, [50, 50, 20, 10, 5]);
        assert!((burst_hz(&VecDeque::new()) - 5.0).abs() < f64::EPSILON, "nothing is known of the cost");
    }
    #[test]
    fn readings_are_late_by_the_pace_that_was_asked_for() {
        assert!(!is_late(2_900_000_000, 2.0) && is_late(3_100_000_000, 2.0));
        assert!(!is_late(12_000_000_000, 0.1) && is_late(13_000_000_000, 0.1));
    }
}
