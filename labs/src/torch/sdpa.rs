//! Which kernel `scaled_dot_product_attention` runs.

use std::ffi::c_int;

use tch::Tensor;

use super::{Error, ffi};

/// A backend of `scaled_dot_product_attention`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// cuDNN's fused kernel.
    Cudnn,
    /// FlashAttention; on the CPU LibTorch's own kernel of that name.
    Flash,
    /// The memory-efficient kernel (CUTLASS).
    Efficient,
    /// Plain operations, one after the other: not fused.
    Math,
}

impl Backend {
    /// The fused backends, fastest first where all run.
    pub const FUSED: [Self; 3] = [Self::Cudnn, Self::Flash, Self::Efficient];

    /// Name of the series and of the parameter's choice.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cudnn => "cudnn",
            Self::Flash => "flash",
            Self::Efficient => "efficient",
            Self::Math => "math",
        }
    }

    /// The backend of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Cudnn, Self::Flash, Self::Efficient, Self::Math].into_iter().find(|b| b.name() == name)
    }

    /// Number in `at::SDPBackend`.
    fn number(self) -> i64 {
        match self {
            Self::Math => 0,
            Self::Flash => 1,
            Self::Efficient => 2,
            Self::Cudnn => 3,
        }
    }
}

/// Allows one backend alone, until dropped; then the choice is as before.
pub struct Only {
    backend: Backend,
    before: c_int,
}

impl Only {
    /// Forbids every other backend.
    pub fn new(backend: Backend) -> Result<Self, Error> {
        // SAFETY: plain calls.
        let before = unsafe { ffi::il_sdpa_enabled() };
        ffi::check(unsafe { ffi::il_sdpa_enable(1 << backend.number()) })?;
        Ok(Self { backend, before })
    }

    /// Asks LibTorch whether the backend will run for these inputs; the error is why not.
    pub fn runs(&self, q: &Tensor, k: &Tensor, v: &Tensor, causal: bool) -> Result<(), String> {
        let mut choice = -1;
        // SAFETY: three live tensors; the shim does not keep them.
        let code = unsafe {
            ffi::il_sdpa_choice(
                q.as_ptr().cast(),
                k.as_ptr().cast(),
                v.as_ptr().cast(),
                causal,
                &raw mut choice,
            )
        };
        if code == 0 && choice == self.backend.number() {
            return Ok(());
        }
        Err(objection(&ffi::last_error()))
    }
}

/// The backend that LibTorch chooses for these inputs among those that are allowed now.
pub fn chosen(q: &Tensor, k: &Tensor, v: &Tensor, causal: bool) -> Option<Backend> {
    let mut choice = -1;
    let (q, k, v) = (q.as_ptr().cast(), k.as_ptr().cast(), v.as_ptr().cast());
    // SAFETY: three live tensors; the shim does not keep them.
    let code = unsafe { ffi::il_sdpa_choice(q, k, v, causal, &raw mut choice) };
    let all = [Backend::Cudnn, Backend::Flash, Backend::Efficient, Backend::Math];
    all.into_iter().find(|backend| code == 0 && backend.number() == choice)
}

/// What LibTorch has against the one backend that was allowed: the first line that is neither a heading nor about the
/// backends that were switched off.
fn objection(said: &str) -> String {
    let beside_the_point = |line: &str| {
        line.is_empty()
            || line.ends_with("because:")
            || line.contains("runtime disabled")
            || line.starts_with("No available kernel")
            || line.starts_with("No viable backend")
    };
    let line = said.lines().map(str::trim).find(|line| !beside_the_point(line));
    line.unwrap_or("LibTorch has no such kernel for this device, element type and shape").to_owned()
}

impl Drop for Only {
    fn drop(&mut self) {
        // SAFETY: plain call; setting flags that were set before cannot fail.
        let _ = ffi::check(unsafe { ffi::il_sdpa_enable(self.before) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_objection_is_the_line_about_the_backend_itself() {
        let said = "Memory efficient kernel not used because:\nMemory Efficient attention has been runtime disabled.\n\
                    CuDNN attention kernel not used because:\nExpected query, key and value to all be of dtype: \
                    {Half, BFloat16}.\n";
        assert!(objection(said).starts_with("Expected query"));
        assert!(
            objection("No viable backend for scaled_dot_product_attention was found.")
                .contains("no such kernel")
        );
    }

    #[test]
    fn the_choice_is_as_before_once_the_guard_is_gone() {
        // SAFETY: plain calls.
        let enabled = || unsafe { ffi::il_sdpa_enabled() };
        let before = enabled();
        let only = Only::new(Backend::Flash).expect("flags are set");
        assert_eq!((enabled(), before.count_ones() > 1), (1 << Backend::Flash.number(), true));
        drop(only);
        assert_eq!(enabled(), before);
    }

    #[test]
    fn every_backend_is_found_by_its_name() {
        for backend in [Backend::Cudnn, Backend::Flash, Backend::Efficient, Backend::Math] {
            assert_eq!(Backend::from_name(backend.name()), Some(backend));
        }
        assert_eq!(Backend::from_name("all"), None);
    }
}
