//! The pace at which a recording is printed.

use std::time::{Duration, Instant};

/// Waits until what was recorded is due.
#[derive(Debug)]
pub(super) struct Pace {
    speed: f64,
    started: Instant,
}

impl Pace {
    /// Begins now, so many times faster than it was recorded; 0 waits for nothing.
    pub(super) fn starting(speed: f64) -> anyhow::Result<Self> {
        anyhow::ensure!(speed >= 0.0 && speed.is_finite(), "--speed {speed}: use a number from 0");
        Ok(Self { speed, started: Instant::now() })
    }

    /// Waits for what is due so long after the start of the recording.
    pub(super) fn wait_for(&self, due_ns: u64) {
        if self.speed > 0.0 {
            let at = Duration::from_nanos((due_ns as f64 / self.speed) as u64);
            std::thread::sleep(at.saturating_sub(self.started.elapsed()));
        }
    }
}
