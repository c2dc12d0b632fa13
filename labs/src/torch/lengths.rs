//! Attention of one new token per sequence over a cache whose lengths the device knows and the host need not.

use tch::Tensor;

use super::{Error, ffi};

/// FlashAttention of the queries `q [b, heads, d]` over `k` and `v`, each `[b·capacity, kv_heads, d]`: sequence `i`
/// owns the rows from `i·capacity` and attends to the first `lengths[i]` of them. Heads of queries share heads of keys
/// in groups. Returns `[b, heads, d]`.
///
/// Fails for what the kernel does not take: element types other than fp16 and bf16, head dimensions above 256 or not
/// a multiple of 8, devices other than CUDA.
pub fn flash_over_lengths(q: &Tensor, k: &Tensor, v: &Tensor, cache: &Lengths) -> Result<Tensor, Error> {
    let mut out = std::ptr::null_mut();
    // SAFETY: six live tensors, which the shim does not keep; it writes an owned tensor or fails.
    ffi::check(unsafe {
        ffi::il_flash_over_lengths(
            q.as_ptr().cast(),
            k.as_ptr().cast(),
            v.as_ptr().cast(),
            cache.q_offsets.as_ptr().cast(),
            cache.k_offsets.as_ptr().cast(),
            cache.used.as_ptr().cast(),
            cache.capacity,
            &raw mut out,
        )
    })?;
    // SAFETY: a new reference to a tensor, made by the same library that `tch` is linked with; `Tensor` takes it over.
    Ok(unsafe { Tensor::from_ptr(out.cast()) })
}

/// Which rows of a shared cache belong to which sequence, on the device.
#[derive(Debug)]
pub struct Lengths {
    /// `0, 1, …, b`, int32: one query per sequence.
    q_offsets: Tensor,
    /// `0, capacity, …, b·capacity`, int32.
    k_offsets: Tensor,
    /// Tokens in the cache of each sequence, int32; the owner raises it.
    pub used: Tensor,
    capacity: i64,
}

impl Lengths {
    /// `batch` sequences of at most `capacity` tokens, empty, on `device`.
    pub fn new(batch: i64, capacity: i64, device: tch::Device) -> Result<Self, Error> {
        let int = (tch::Kind::Int, device);
        let offsets = Tensor::f_arange(batch + 1, int)?;
        Ok(Self {
            k_offsets: offsets.f_mul_scalar(capacity)?.f_to_kind(tch::Kind::Int)?,
            q_offsets: offsets,
            used: Tensor::f_zeros([batch], int)?,
            capacity,
        })
    }
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind};

    use super::*;

    #[test]
    fn a_device_without_the_kernel_is_an_error() {
        let cache = Lengths::new(2, 8, Device::Cpu).expect("tensors");
        let q = Tensor::zeros([2, 2, 8], (Kind::Float, Device::Cpu));
        let kv = Tensor::zeros([16, 1, 8], (Kind::Float, Device::Cpu));
        assert!(flash_over_lengths(&q, &kv, &kv, &cache).is_err());
        assert_eq!(Vec::<i32>::try_from(&cache.k_offsets).expect("numbers"), [0, 8, 16]);
    }
}
