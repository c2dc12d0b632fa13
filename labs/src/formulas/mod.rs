//! Every closed form of infralab, with units and source in its doc comment. No other code computes one: labs,
//! predictions, charts and calculators all call these.
//!
//! Symbols in all files: `N` parameters, `L` layers, `h` hidden size, `n` heads, `nkv` key/value heads, `d` head
//! dimension, `V` vocabulary, `s` or `T` sequence length, `b` batch. Counts are `f64`: exact up to 2⁵³, far above any
//! model's parameter count.

pub mod activations;
pub mod attention;
pub mod checkpoint;
pub mod collectives;
pub mod decode;
pub mod flops;
pub mod gpt_memory;
pub mod gpt_shape;
pub mod kv;
pub mod kv_cache;
pub mod params;
pub mod pcie;
pub mod pipeline;
pub mod roofline;
pub mod sampling;
pub mod serving;
pub mod training_state;
pub mod zero;

/// Mebibytes in a count of bytes.
pub fn mib(bytes: f64) -> f64 {
    bytes / f64::from(1 << 20)
}
