//! Checkpoints, and how often to take them.

/// Bytes of a checkpoint: `N · bytes a parameter`, plus the fp32 causal masks that nanoGPT registers when its attention
/// is not fused: `layers · T² · 4`.
///
/// Source: karpathy/nanoGPT `model.py`, `transformer_sizing.ipynb`.
pub fn bytes(params: f64, bytes_per_param: f64, mask_layers: f64, context: f64) -> f64 {
    params * bytes_per_param + mask_layers * context * context * 4.0
}

/// Seconds that training must stop for: bytes over the bandwidth to where they are safe from the next step.
pub fn stall_seconds(bytes: f64, bandwidth: f64) -> f64 {
    bytes / bandwidth
}

/// Interval (s) that loses least: `√(2·δ·(M + R))`, with save time δ, mean time between failures M, restart R. `R = 0`
/// is Young's.
///
/// Source: Young 1974.
pub fn young_seconds(save: f64, mtbf: f64, restart: f64) -> f64 {
    (2.0 * save * (mtbf + restart)).sqrt()
}

/// Daly's first-order interval: as [`young_seconds`] less the save time itself.
///
/// Source: Daly 2006.
pub fn daly_seconds(save: f64, mtbf: f64, restart: f64) -> f64 {
    young_seconds(save, mtbf, restart) - save
}

/// Share of time lost at the best interval, about `√(2δ/M)`.
pub fn overhead_at_optimum(save: f64, mtbf: f64) -> f64 {
    (2.0 * save / mtbf).sqrt()
}

/// Interval (s), its save included, with the highest availability: `Ts + √(2(Tf + Tr)·Ts + Ts²)`.
///
/// Source: arXiv 2410.18124.
pub fn availability_interval_seconds(save: f64, mtbf: f64, repair: f64) -> f64 {
    save + (2.0 * (mtbf + repair) * save + save * save).sqrt()
}

/// Share of time that a thing works: `MTBF / (MTBF + MTTR)`.
pub fn availability(mtbf: f64, mttr: f64) -> f64 {
    mtbf / (mtbf + mttr)
}

/// Time between failures of one GPU: `time · GPUs / failures`.
///
/// Source: arXiv 2407.21783 §3.3.4, for its inputs.
pub fn mtbf_of_one(time: f64, gpus: f64, failures: f64) -> f64 {
    time * gpus / failures
}

/// Time between failures of a job: one GPU's over their number.
pub fn mtbf_of_job(of_one: f64, gpus: f64) -> f64 {
    of_one / gpus
}

/// Work that a failure is expected to undo (RPO), in seconds: half the interval.
pub fn expected_lost_seconds(interval: f64) -> f64 {
    interval / 2.0
}

/// Seconds from failure to the next useful step (RTO): detect, reschedule, load, warm up.
pub fn recovery_seconds(detect: f64, reschedule: f64, load: f64, warm_up: f64) -> f64 {
    detect + reschedule + load + warm_up
}

/// GPU time (GPU·s) that a failure costs: `(interval/2 + RTO) · GPUs`.
pub fn failure_cost(interval: f64, rto: f64, gpus: f64) -> f64 {
    (expected_lost_seconds(interval) + rto) * gpus
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals() {
        assert!((young_seconds(60.0, 10800.0, 0.0) - 1138.42).abs() < 0.01);
        assert!((availability_interval_seconds(10.0, 6000.0, 600.0) - 373.0).abs() < 1.0);
        assert!((mtbf_of_job(mtbf_of_one(1296.0, 16384.0, 419.0), 16384.0) - 3.09).abs() < 0.01);
    }

    #[test]
    fn the_masks_explain_the_file() {
        let file: f64 = 1_542_470_366.0;
        assert!((file - bytes(124_337_664.0, 12.0, 12.0, 1024.0) - 86_750.0).abs() < 0.5);
    }
}
