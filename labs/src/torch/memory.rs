//! Bytes that tensors hold on a device, as its allocator counts them.
//!
//! On CUDA these are the caching allocator's own statistics. On the CPU a counting allocator, put before LibTorch's,
//! gives the same figures to the byte; resident memory would not, since the C library keeps freed blocks. Neither
//! sees what a library allocates behind LibTorch's back.

use std::ffi::c_int;

use tch::Device;

use super::{Error, ffi, host};

/// Bytes on one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryUse {
    /// Held by tensors now.
    pub allocated_bytes: u64,
    /// Most held at once since the last [`reset_peak`].
    pub allocated_peak_bytes: u64,
    /// Taken from the device, tensors and cache; on the CPU the same as allocated.
    pub reserved_bytes: u64,
    /// Most taken at once since the last [`reset_peak`].
    pub reserved_peak_bytes: u64,
}

/// Starts counting on the CPU. Call once, before the first tensor.
pub fn count_on_cpu() -> Result<(), Error> {
    // SAFETY: the shim installs a static allocator; no tensor exists yet that another allocator must free.
    ffi::check(unsafe { ffi::il_cpu_count_bytes() })
}

/// What tensors hold on `device`.
pub fn memory_use(device: Device) -> Result<MemoryUse, Error> {
    let mut raw = ffi::Memory::default();
    match cuda_index(device) {
        // SAFETY: `raw` is the shim's struct and outlives the call.
        Some(index) => ffi::check(unsafe { ffi::il_cuda_memory(index, &raw mut raw) })?,
        // SAFETY: as above.
        None => unsafe { ffi::il_cpu_memory(&raw mut raw) },
    }
    let bytes = |n: i64| u64::try_from(n).unwrap_or(0);
    Ok(MemoryUse {
        allocated_bytes: bytes(raw.allocated),
        allocated_peak_bytes: bytes(raw.allocated_peak),
        reserved_bytes: bytes(raw.reserved),
        reserved_peak_bytes: bytes(raw.reserved_peak),
    })
}

/// Bytes by which the allocator rounds up what is held now, and what was held at the peak; zero on the CPU, whose
/// count is of what was asked for. The second is the difference of two peaks, which lie at one moment unless many small
/// tensors hold almost as much as the large ones.
pub fn rounding_bytes(device: Device) -> Result<(u64, u64), Error> {
    let Some(index) = cuda_index(device) else { return Ok((0, 0)) };
    let (mut current, mut peak) = (0, 0);
    // SAFETY: both outlive the call.
    ffi::check(unsafe { ffi::il_cuda_requested(index, &raw mut current, &raw mut peak) })?;
    let held = memory_use(device)?;
    let above = |held: u64, asked: i64| held.saturating_sub(u64::try_from(asked).unwrap_or(0));
    Ok((above(held.allocated_bytes, current), above(held.allocated_peak_bytes, peak)))
}

/// Makes the present use the new peak.
pub fn reset_peak(device: Device) -> Result<(), Error> {
    if let Some(index) = cuda_index(device) {
        // SAFETY: plain call.
        return ffi::check(unsafe { ffi::il_cuda_reset_peak(index) });
    }
    // SAFETY: plain call.
    unsafe { ffi::il_cpu_reset_peak() };
    Ok(())
}

/// Gives cached memory back to the device.
pub fn empty_cache(device: Device) -> Result<(), Error> {
    match cuda_index(device) {
        // SAFETY: plain call.
        Some(_) => ffi::check(unsafe { ffi::il_cuda_empty_cache() }),
        None => Ok(()),
    }
}

/// Bytes that could still be taken, by the device or, on the CPU, by the host and its control group.
pub fn free_bytes(device: Device) -> Option<u64> {
    let Some(index) = cuda_index(device) else { return host::free_bytes() };
    let (mut free, mut total) = (0, 0);
    // SAFETY: both outlive the call.
    ffi::check(unsafe { ffi::il_cuda_memory_info(index, &raw mut free, &raw mut total) }).ok()?;
    Some(free)
}

/// Measures how far the use of a device rises above where it stood.
pub struct PeakProbe {
    device: Device,
    before_bytes: u64,
}

impl PeakProbe {
    /// Empties the cache, forgets earlier peaks and notes what is held now: inputs belong before this call.
    pub fn start(device: Device) -> Result<Self, Error> {
        empty_cache(device)?;
        reset_peak(device)?;
        Ok(Self { device, before_bytes: memory_use(device)?.allocated_bytes })
    }

    /// Peak bytes above the start.
    pub fn extra_bytes(&self) -> Result<u64, Error> {
        Ok(memory_use(self.device)?.allocated_peak_bytes.saturating_sub(self.before_bytes))
    }

    /// How this was measured, in words.
    pub fn window(&self) -> &'static str {
        if self.device.is_cuda() {
            "peak of the CUDA allocator over all passes, minus what inputs and mask held"
        } else {
            "peak of a counting CPU allocator over all passes, minus what inputs and mask held; buffers inside the \
             matrix library are not seen"
        }
    }
}

pub(super) fn cuda_index(device: Device) -> Option<c_int> {
    match device {
        Device::Cuda(index) => Some(index as c_int),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use tch::{Kind, Tensor};

    use super::*;

    #[test]
    fn tensors_on_the_cpu_are_counted_to_the_byte() {
        count_on_cpu().expect("counts");
        let held = Tensor::zeros([1000], (Kind::Float, Device::Cpu));
        let probe = PeakProbe::start(Device::Cpu).expect("starts");
        let before = memory_use(Device::Cpu).expect("reads");
        drop(Tensor::zeros([250_000], (Kind::Float, Device::Cpu)));
        let after = memory_use(Device::Cpu).expect("reads");
        assert_eq!(probe.extra_bytes(), Ok(1_000_000));
        assert_eq!((before.allocated_bytes, after.allocated_bytes), (4000, 4000));
        drop(held);
        assert_eq!(memory_use(Device::Cpu).expect("reads").allocated_bytes, 0);
    }
}
