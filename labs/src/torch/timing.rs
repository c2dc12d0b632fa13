//! Time on a device: CUDA events around the work, or the wall clock on the CPU.

use std::ffi::{c_int, c_void};
use std::time::Instant;

use tch::Device;

use super::input::StopFlag;
use super::memory::cuda_index;
use super::{Error, ffi};
use crate::protocol::Quantity;

/// How often to run before and while measuring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeats {
    /// Runs that are not measured: libraries pick kernels, caches fill.
    pub warm_ups: u64,
    /// Runs that are measured, at least 1.
    pub timed: u64,
}

impl Repeats {
    /// As the PyTorch baseline does it on a GPU; one warm-up on the CPU, which has no plans to build and no clocks to
    /// raise.
    pub fn on(device: Device, timed: u64) -> Self {
        Self { warm_ups: if device.is_cuda() { 3 } else { 1 }, timed: timed.max(1) }
    }

    /// How times are taken, in words.
    pub fn window(self, device: Device) -> String {
        let clock = if device.is_cuda() { "CUDA-event" } else { "wall-clock" };
        let plural = if self.warm_ups == 1 { "" } else { "s" };
        format!("median of {} {clock} times, {} warm-up{plural}", self.timed, self.warm_ups)
    }
}

/// What the timed repetitions of one piece of work took, at least one of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Timing {
    readings_ms: Vec<f64>,
}

impl Timing {
    /// Every repetition in milliseconds, in the order in which they ran.
    pub fn readings_ms(&self) -> &[f64] {
        &self.readings_ms
    }

    /// The median in milliseconds; of an even count the larger of the middle two.
    pub fn median_ms(&self) -> f64 {
        let mut sorted = self.readings_ms.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }

    /// The median with the shortest and the longest repetition, in ms.
    pub fn quantity(&self) -> Quantity {
        Quantity::median_of(&self.readings_ms, "ms")
    }

    /// The rate of `flop` operations at the median time, in TFLOP/s, with the rates of the longest and the shortest
    /// repetition.
    pub fn tflops(&self, flop: f64) -> Quantity {
        let rate = |ms: f64| flop / ms / 1e9;
        let times = self.quantity();
        Quantity {
            range: times.range.map(|[shortest, longest]| [rate(longest), rate(shortest)]),
            ..Quantity::some(rate(self.median_ms()), "TFLOP/s")
        }
    }

    /// The longest repetition divided by the shortest: 1 on a machine that does nothing else.
    pub fn spread(&self) -> f64 {
        let [shortest, longest] = self.quantity().range.unwrap_or([1.0, 1.0]);
        longest / shortest
    }
}

/// Times of `work`, after its warm-ups. Looks at `stop` between runs.
pub fn time(
    device: Device,
    repeats: Repeats,
    stop: &StopFlag,
    mut work: impl FnMut() -> Result<(), Error>,
) -> Result<Timing, Error> {
    let go_on = || if stop.is_set() { Err(Error::Stopped) } else { Ok(()) };
    for _ in 0..repeats.warm_ups {
        go_on()?;
        work()?;
    }
    synchronize(device)?;
    let mut times = Vec::with_capacity(repeats.timed as usize);
    if let Some(index) = cuda_index(device) {
        let (start, end) = (DeviceEvent::new()?, DeviceEvent::new()?);
        for _ in 0..repeats.timed {
            go_on()?;
            start.record(index)?;
            work()?;
            end.record(index)?;
            end.wait()?;
            times.push(start.elapsed_ms(&end)?);
        }
    } else {
        for _ in 0..repeats.timed {
            go_on()?;
            let start = Instant::now();
            work()?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    Ok(Timing { readings_ms: times })
}

/// Waits until the device has nothing left to do.
pub fn synchronize(device: Device) -> Result<(), Error> {
    match cuda_index(device) {
        // SAFETY: plain call.
        Some(index) => ffi::check(unsafe { ffi::il_cuda_synchronize(index) }),
        None => Ok(()),
    }
}

/// A mark in a CUDA stream. It can be recorded again and again.
pub struct DeviceEvent(*mut c_void);

impl DeviceEvent {
    /// An event that keeps time.
    pub fn new() -> Result<Self, Error> {
        let mut event = std::ptr::null_mut();
        // SAFETY: the shim writes an owned event or fails.
        ffi::check(unsafe { ffi::il_event_new(&raw mut event) })?;
        Ok(Self(event))
    }

    /// Puts the mark behind everything that this thread has queued on device `index`.
    pub fn record(&self, index: c_int) -> Result<(), Error> {
        // SAFETY: the event lives as long as `self`.
        ffi::check(unsafe { ffi::il_event_record(self.0, index) })
    }

    /// Blocks until the device has passed the mark.
    pub fn wait(&self) -> Result<(), Error> {
        // SAFETY: as above.
        ffi::check(unsafe { ffi::il_event_synchronize(self.0) })
    }

    /// Milliseconds on the device from this mark to `end`, which it must have passed.
    pub fn elapsed_ms(&self, end: &Self) -> Result<f64, Error> {
        let mut ms = 0.0;
        // SAFETY: both events live through the call.
        ffi::check(unsafe { ffi::il_event_elapsed_ms(self.0, end.0, &raw mut ms) })?;
        Ok(ms)
    }
}

impl Drop for DeviceEvent {
    fn drop(&mut self) {
        // SAFETY: owned, and dropped once.
        unsafe { ffi::il_event_delete(self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timing_keeps_its_median_and_tells_its_range() {
        let timing = Timing { readings_ms: vec![4.0, 1.0, 2.0, 8.0] };
        assert_eq!(timing.quantity().value, Some(timing.median_ms()));
        let rate = timing.tflops(8e9);
        assert_eq!((timing.median_ms(), timing.spread()), (4.0, 8.0));
        assert_eq!((rate.value, rate.range), (Some(2.0), Some([1.0, 8.0])));
    }
}
