//! The one clock of a run: `CLOCK_MONOTONIC`, shared by the app, the worker and the samplers of one machine, so that
//! phases of a lab and readings of a device line up.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since an arbitrary start, the same for every process of this machine.
pub fn mono_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Milliseconds since 1970-01-01 UTC, for dates on screens and in records; never for differences.
pub fn unix_ms() -> u64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}
