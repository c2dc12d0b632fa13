//! CUDA graphs: a sequence of kernels recorded once and launched as one.

use std::ffi::c_void;

use tch::Device;

use super::memory::cuda_index;
use super::timing::synchronize;
use super::{Error, ffi};

/// A recorded sequence of device work. Every replay reads and writes the same memory, so inputs and results live in
/// tensors that outlast the graph.
pub struct Graph {
    raw: *mut c_void,
}

impl Graph {
    /// Runs `work` once so that libraries settle, then records it. The error says why graphs are not to be had here,
    /// or what of the work cannot be recorded (a wait of the host, a copy from it).
    pub fn capture(device: Device, mut work: impl FnMut() -> Result<(), Error>) -> Result<Self, Error> {
        let index = cuda_index(device)
            .ok_or_else(|| Error::Torch("graphs of recorded kernels exist on CUDA alone".into()))?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the shim writes an owned graph or fails.
        ffi::check(unsafe { ffi::il_graph_new(index, &raw mut raw) })?;
        let graph = Self { raw };
        // SAFETY: the graph is live, here and below.
        ffi::check(unsafe { ffi::il_graph_enter(raw) })?;
        let outcome = graph.record(device, &mut work);
        let left = ffi::check(unsafe { ffi::il_graph_leave(raw) });
        outcome.and(left).map(|()| graph)
    }

    fn record(&self, device: Device, work: &mut impl FnMut() -> Result<(), Error>) -> Result<(), Error> {
        work()?;
        synchronize(device)?;
        // SAFETY: the graph is live; every begin is followed by an end, so the stream is usable again after a failure.
        ffi::check(unsafe { ffi::il_graph_begin(self.raw) })?;
        let outcome = work();
        let ended = ffi::check(unsafe { ffi::il_graph_end(self.raw) });
        outcome.and(ended)
    }

    /// Queues everything that was recorded, with one launch.
    pub fn replay(&self) -> Result<(), Error> {
        // SAFETY: the graph is live and was recorded to its end.
        ffi::check(unsafe { ffi::il_graph_replay(self.raw) })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: owned, and dropped once.
        unsafe { ffi::il_graph_delete(self.raw) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_cuda_there_is_a_reason_and_nothing_ran() {
        let mut ran = false;
        let refused = Graph::capture(Device::Cpu, || {
            ran = true;
            Ok(())
        });
        assert!(matches!(refused, Err(Error::Torch(why)) if why.contains("CUDA")));
        assert!(!ran);
    }

    #[test]
    fn a_library_without_the_symbols_is_a_reason_and_no_crash() {
        let mut raw = std::ptr::null_mut();
        // SAFETY: the shim writes an owned graph or fails; here the CUDA half of LibTorch is not loaded, so it fails.
        let refused = ffi::check(unsafe { ffi::il_graph_new(0, &raw mut raw) });
        assert!(refused.is_err() && raw.is_null());
    }
}
