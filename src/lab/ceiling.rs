//! Measured ceilings: the most that a gauge reached in a recording that was made to reach it. Another thing than the
//! limit of a data sheet, which no program reaches.

use std::sync::OnceLock;

use super::history::{self, Place};
use super::{LabEvent, MONITOR};
use crate::telemetry::gauge;

/// The most that was measured of a gauge.
#[derive(Debug, Clone, PartialEq)]
pub struct Ceiling {
    /// Name of the GPU.
    pub device: String,
    /// Field of the gauge.
    pub field: &'static str,
    /// The value that one reading of twenty exceeded, in the unit of the gauge.
    pub value: f64,
    /// Name of the recording.
    pub recording: String,
}

/// Shipped recordings that were made to reach a limit, and which gauge it is of.
const MADE_FOR: [(&str, &str); 2] = [("gpu-matmul", "tensor_pct"), ("gpu-copy", "dram_pct")];

/// The ceiling of a gauge on a GPU of this name, where one was recorded.
pub fn of(device: Option<&str>, field: &str) -> Option<&'static Ceiling> {
    static CEILINGS: OnceLock<Vec<Ceiling>> = OnceLock::new();
    let device = device?;
    let all = CEILINGS.get_or_init(read);
    all.iter().find(|c| c.device == device && c.field == field)
}

fn read() -> Vec<Ceiling> {
    let recordings = history::shipped().into_iter().filter(|run| run.header.request.lab == MONITOR);
    recordings
        .filter_map(|run| {
            let Place::Shipped(name) = &run.place else { return None };
            let (prefix, field) = MADE_FOR.iter().find(|(prefix, _)| name.starts_with(prefix))?;
            let gauge = gauge::gpu(field)?;
            let events = history::load(&run.place).ok()?;
            let snapshots: Vec<_> = events
                .iter()
                .filter_map(|e| if let LabEvent::Snapshot(s) = e { Some(s) } else { None })
                .collect();
            let mut values: Vec<f64> =
                gauge.points(&snapshots, 0).into_iter().filter_map(|(_, value)| value).collect();
            values.sort_by(f64::total_cmp);
            let value = *values.get(values.len().checked_sub(1)? * 19 / 20)?;
            let device = run.header.machine.gpus.first()?.name.clone()?;
            Some(Ceiling { device, field: gauge.field, value, recording: (*prefix).to_owned() })
        })
        .collect()
}
