//! What changes slowly or costs much to ask, about once a second or every two.

use super::driver::Driver;
use super::questions::{Questions, told, told_both};
use crate::telemetry::GpuDetails;

/// Every reading of [`GpuDetails`] that can be missing.
pub(super) const FIELDS: [&str; 13] = [
    "p_state",
    "bar1_used_bytes",
    "bar1_total_bytes",
    "pcie_gen",
    "pcie_width",
    "pcie_replays",
    "nvlink_rx_mib_s",
    "nvlink_tx_mib_s",
    "encoder_pct",
    "decoder_pct",
    "ecc_corrected",
    "ecc_uncorrected",
    "remapped_rows",
];
/// Those that are asked every two seconds only, and carried between.
pub(super) const SLOW: [&str; 6] = [
    "bar1_used_bytes",
    "bar1_total_bytes",
    "pcie_width",
    "pcie_replays",
    "nvlink_rx_mib_s",
    "nvlink_tx_mib_s",
];

/// Asks what is due once a second. What is due every two comes from `before`, with its reasons.
pub(super) fn read<D: Driver>(
    device: &D,
    ask: &mut Questions<'_>,
    before: Option<&GpuDetails>,
) -> GpuDetails {
    let mut details = before.cloned().unwrap_or_default();
    details.missing.retain(|field, _| SLOW.contains(&field.as_str()));
    details.p_state = ask.one("p_state", || device.p_state());
    details.encoder_pct = ask.one("encoder_pct", || device.encoder_pct()).map(|pct| f64::from(pct.min(100)));
    details.decoder_pct = ask.one("decoder_pct", || device.decoder_pct()).map(|pct| f64::from(pct.min(100)));
    details.ecc_corrected = ask.one("ecc_corrected", || device.ecc_corrected().and_then(told));
    details.ecc_uncorrected = ask.one("ecc_uncorrected", || device.ecc_uncorrected().and_then(told));
    details.remapped_rows = ask.one("remapped_rows", || device.remapped_rows());
    details.pcie_gen = ask.one("pcie_gen", || device.pcie_gen());
    details
}

/// Asks what is due every two seconds, but for what comes from GPM.
pub(super) fn read_slow<D: Driver>(device: &D, ask: &mut Questions<'_>, details: &mut GpuDetails) {
    details.missing.clear();
    let bar1 =
        ask.ask("bar1", &["bar1_used_bytes", "bar1_total_bytes"], || device.bar1().and_then(told_both));
    (details.bar1_used_bytes, details.bar1_total_bytes) = bar1.unzip();
    details.pcie_width = ask.one("pcie_width", || device.pcie_width());
    details.pcie_replays = ask.one("pcie_replays", || device.pcie_replays()).map(u64::from);
}
