//! Readings: values with their units, points of charts and their closed forms, checks and walls.

use serde::{Deserialize, Serialize};

use super::Text;

/// A value with its unit. `None` is a missing reading, never zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quantity {
    /// The value, or `None` with a reason.
    pub value: Option<f64>,
    /// Unit as printed: `ms`, `TFLOP/s`, `MiB`, `x`, ….
    pub unit: String,
    /// Why there is no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Smallest and largest of the repetitions that `value` summarises; `None` when there was one, or none is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
}

impl Quantity {
    /// A value that was read.
    pub fn some(value: f64, unit: &str) -> Self {
        Self { value: Some(value), unit: unit.into(), missing: None, range: None }
    }

    /// The median of repeated readings, with the smallest and the largest.
    ///
    /// Without a reading the quantity is missing, and says so.
    pub fn median_of(readings: &[f64], unit: &str) -> Self {
        let mut sorted = readings.to_vec();
        sorted.sort_by(f64::total_cmp);
        match (sorted.get(sorted.len() / 2), sorted.first(), sorted.last()) {
            (Some(median), Some(low), Some(high)) => {
                let range = (sorted.len() > 1).then_some([*low, *high]);
                Self { range, ..Self::some(*median, unit) }
            }
            _ => Self::missing(unit, "there was no reading"),
        }
    }

    /// A reading that could not be had, and why.
    pub fn missing(unit: &str, why: impl Into<String>) -> Self {
        Self { value: None, unit: unit.into(), missing: Some(why.into()), range: None }
    }
}

/// One measured point of the chart `metric`, curve `series`, at `x`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Chart id of the lab's specification.
    pub metric: String,
    /// Curve: `naive`, `flash`, ….
    pub series: String,
    /// Position on the chart's x axis.
    pub x: f64,
    /// The reading.
    #[serde(flatten)]
    pub y: Quantity,
    /// How it was taken: window, repetitions, clock.
    pub window: String,
    /// Shared clock, ns.
    pub mono_ns: u64,
}

/// The closed form of a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// Chart id.
    pub metric: String,
    /// Curve that it belongs to.
    pub series: String,
    /// Position on the x axis.
    pub x: f64,
    /// Value by the formula.
    pub value: f64,
    /// Unit.
    pub unit: String,
    /// The recipe, as printed: `3 · b·h·n²·2 B`.
    pub formula: String,
}

/// A correctness check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// What was compared: `naive.forward`, `flash.dq`, ….
    pub name: String,
    /// What it was compared with.
    pub reference: String,
    /// Largest absolute difference.
    pub max_abs_error: f64,
    /// Largest absolute value of the reference, to judge the error by.
    pub reference_max_abs: f64,
    /// Bound on `max_abs_error / reference_max_abs`.
    pub tolerance: f64,
    /// Whether the bound held.
    pub passed: bool,
}

/// Where the memory ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wall {
    /// Curve that met it.
    pub series: String,
    /// The x that was not run.
    pub x: f64,
    /// Bytes that the point would have needed, by the closed form.
    pub needed_bytes: u64,
    /// Bytes that the run may use.
    pub budget_bytes: u64,
    /// Whether the budget forbade it or the device refused it.
    pub cause: WallCause,
    /// One line for people.
    pub text: Text,
}

/// Why a point was not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WallCause {
    /// The closed form exceeds the byte budget; nothing was tried.
    Budget,
    /// The allocator refused; the memory was given back.
    OutOfMemory,
}
