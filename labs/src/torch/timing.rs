//! Time on a device: CUDA events around the work, or the wall clock on the CPU.

use std::ffi::{c_int, c_void};
use std::time::Instant;

use tch::Device;

use super::input::StopFlag;
use super::memory::cuda_index;
use super::{Error, ffi};

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

/// Median time of `work` in milliseconds. Looks at `stop` between runs.
pub fn median_ms(
    device: Device,
    repeats: Repeats,
    stop: &StopFlag,
    mut work: impl FnMut() -> Result<(), Error>,
) -> Result<f64, Error> {
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
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
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
