//! Time of one piece of work, for labs that need every reading and not the median alone.

use std::time::Instant;

use tch::Device;

use super::Error;
use super::memory::cuda_index;
use super::timing::DeviceEvent;

/// Measures by CUDA events, or by the wall clock on the CPU.
pub struct Stopwatch {
    marks: Option<(i32, DeviceEvent, DeviceEvent)>,
}

impl Stopwatch {
    /// A stopwatch for work on `device`.
    pub fn new(device: Device) -> Result<Self, Error> {
        let marks = match cuda_index(device) {
            Some(index) => Some((index, DeviceEvent::new()?, DeviceEvent::new()?)),
            None => None,
        };
        Ok(Self { marks })
    }

    /// What `work` gave, and the milliseconds that the device took; waits until it is done.
    pub fn time<T>(&self, work: impl FnOnce() -> Result<T, Error>) -> Result<(T, f64), Error> {
        let Some((index, start, end)) = &self.marks else {
            let start = Instant::now();
            return Ok((work()?, start.elapsed().as_secs_f64() * 1e3));
        };
        start.record(*index)?;
        let result = work()?;
        end.record(*index)?;
        end.wait()?;
        Ok((result, start.elapsed_ms(end)?))
    }
}
