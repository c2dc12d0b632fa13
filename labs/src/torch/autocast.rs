//! Autocast to bf16, which `tch` has for CUDA and fp16 alone.

use tch::Device;

use super::memory::cuda_index;
use super::{Error, ffi};

/// While this lives, matrix products and attention of this thread run in bf16, and each fp32 weight is cast once: the
/// cast is kept until the guard goes, and by autograd until the backward pass has used it.
pub struct Autocast {
    cuda: bool,
}

impl Autocast {
    /// Switches autocast on for tensors of `device`.
    pub fn new(device: Device) -> Result<Self, Error> {
        let cuda = cuda_index(device).is_some();
        // SAFETY: plain call.
        ffi::check(unsafe { ffi::il_autocast_enter(cuda) })?;
        Ok(Self { cuda })
    }
}

impl Drop for Autocast {
    fn drop(&mut self) {
        // SAFETY: plain call; it undoes what `new` did and cannot fail.
        let _ = ffi::check(unsafe { ffi::il_autocast_leave(self.cuda) });
    }
}
