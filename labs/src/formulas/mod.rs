//! Every closed form of infralab, with units and source in its doc comment. No other code computes one: labs,
//! predictions, charts and calculators all call these.

pub mod attention;
pub mod kv_cache;

/// Mebibytes in a count of bytes.
pub fn mib(bytes: f64) -> f64 {
    bytes / f64::from(1 << 20)
}
