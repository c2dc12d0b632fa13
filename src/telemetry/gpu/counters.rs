//! GPM counters of one GPU.
//!
//! The driver moves them every 100 ms (measured on an H200 with driver 580: of pairs of samples 50 ms apart every other
//! one is empty, 20 ms apart four of five). An empty pair reads 0 % of everything and no figure for DRAM, in the middle
//! of a matrix product; it is thrown away, never shown.

use super::driver::{Activity, Answer, Driver};
use super::questions::{Questions, percent, rate};
use crate::telemetry::{GpuDetails, GpuSnapshot};

/// Readings that come from GPM at every sample.
pub(super) const FIELDS: [&str; 9] = [
    "sm_pct",
    "sm_occupancy_pct",
    "tensor_pct",
    "fp64_pct",
    "fp32_pct",
    "fp16_pct",
    "dram_pct",
    "pcie_rx_mib_s",
    "pcie_tx_mib_s",
];
/// Those of them that nothing else tells.
pub(super) const ACTIVITY: &[&str] = FIELDS.split_at(7).0;
/// Readings of details that come from GPM.
pub(super) const LINKS: &[&str] = &["nvlink_rx_mib_s", "nvlink_tx_mib_s"];
pub(super) const FIRST_SAMPLE: &str = "counted between two samples, and this is the first";
pub(super) const UNWATCHED: &str = "the counters are left alone while no panel shows them";

/// Two samples are at least this far apart; a little less than the driver's 100 ms, for samples that come early.
const APART_NS: u64 = 95_000_000;
/// Counters that have not moved for this long are shown as they are.
const STUCK_NS: u64 = 1_000_000_000;

/// GPM of one GPU.
pub(super) enum Counters<S> {
    /// Never answers; why.
    Off(String),
    /// Answers; the samples before, if there are any, and when they were taken.
    On {
        /// For what is told at every sample.
        before: Option<(u64, S)>,
        /// For what is told with the details.
        links_before: Option<S>,
    },
}

impl<S> Counters<S> {
    /// Counters that answer and have no sample yet.
    pub(super) fn on() -> Self {
        Self::On { before: None, links_before: None }
    }

    /// Why they are off, if they are.
    pub(super) fn off_because(&self) -> Option<&str> {
        if let Self::Off(why) = self { Some(why) } else { None }
    }

    /// Forgets the samples before: what comes next would speak for a time in which nobody looked.
    pub(super) fn rest(&mut self) {
        if let Self::On { .. } = self {
            *self = Self::on();
        }
    }

    /// Reads what has moved into `snapshot`; what has not is left out without a reason.
    pub(super) fn read<D: Driver<Sample = S>>(
        &mut self,
        device: &D,
        now_ns: u64,
        ask: &mut Questions<'_>,
        snapshot: &mut GpuSnapshot,
    ) {
        let before = match self {
            Self::Off(why) => return ask.leave_out(ACTIVITY, why),
            Self::On { before, .. } => before,
        };
        let apart_ns = before.as_ref().map(|(at_ns, _)| now_ns.saturating_sub(*at_ns));
        if apart_ns.is_some_and(|ns| ns < APART_NS) {
            return;
        }
        let Some(now) = ask.ask("gpm", &FIELDS, || device.gpm_sample()) else {
            *before = None;
            return;
        };
        let activity = if let Some((_, before)) = before.as_ref() {
            ask.ask("gpm", &FIELDS, || device.gpm_activity(before, &now))
        } else {
            ask.leave_out(&FIELDS, FIRST_SAMPLE);
            None
        };
        let stands_still = activity.as_ref().is_some_and(stands_still);
        if stands_still && apart_ns.is_some_and(|ns| ns < STUCK_NS) {
            return;
        }
        *before = Some((now_ns, now));
        let Some(activity) = activity else { return };
        let mut share = |field, answer: Answer<f64>| ask.one(field, || answer.and_then(percent));
        snapshot.sm_pct = share("sm_pct", activity.sm);
        snapshot.sm_occupancy_pct = share("sm_occupancy_pct", activity.sm_occupancy);
        snapshot.tensor_pct = share("tensor_pct", activity.tensor);
        snapshot.fp64_pct = share("fp64_pct", activity.fp64);
        snapshot.fp32_pct = share("fp32_pct", activity.fp32);
        snapshot.fp16_pct = share("fp16_pct", activity.fp16);
        snapshot.dram_pct = share("dram_pct", activity.dram);
        snapshot.pcie_rx_mib_s = ask.one("pcie_rx_mib_s", || activity.pcie_rx.and_then(rate));
        snapshot.pcie_tx_mib_s = ask.one("pcie_tx_mib_s", || activity.pcie_tx.and_then(rate));
    }

    /// Reads NVLink throughput since it was read before.
    pub(super) fn read_links<D: Driver<Sample = S>>(
        &mut self,
        device: &D,
        ask: &mut Questions<'_>,
        details: &mut GpuDetails,
    ) {
        let before = match self {
            Self::Off(why) => return ask.leave_out(LINKS, why),
            Self::On { links_before, .. } => links_before,
        };
        let now = ask.ask("gpm_links", LINKS, || device.gpm_sample());
        match (before.as_ref(), now.as_ref()) {
            (Some(before), Some(now)) => {
                if let Some(links) = ask.ask("gpm_links", LINKS, || device.gpm_links(before, now)) {
                    details.nvlink_rx_mib_s = ask.one("nvlink_rx_mib_s", || links.rx.and_then(rate));
                    details.nvlink_tx_mib_s = ask.one("nvlink_tx_mib_s", || links.tx.and_then(rate));
                }
            }
            (None, Some(_)) => ask.leave_out(LINKS, FIRST_SAMPLE),
            (_, None) => {}
        }
        *before = now;
    }
}

/// Whether the counters did not move between two samples: DRAM is told as a share of what it could have moved in the time
/// between, and without time that is no number.
fn stands_still(activity: &Activity) -> bool {
    matches!(activity.dram, Ok(share) if share.is_nan())
}
