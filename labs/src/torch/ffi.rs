//! Declarations of `shim.cpp` and `shim_graph.cpp`, and how its codes become errors.

use std::ffi::{CStr, c_char, c_int, c_void};

use super::Error;

/// Mirror of `il_memory`, bytes.
#[repr(C)]
#[derive(Default)]
pub(super) struct Memory {
    pub(super) allocated: i64,
    pub(super) allocated_peak: i64,
    pub(super) reserved: i64,
    pub(super) reserved_peak: i64,
}

/// Mirror of `il_adamw`.
#[repr(C)]
pub(super) struct AdamW {
    pub(super) lr: f64,
    pub(super) beta1: f64,
    pub(super) beta2: f64,
    pub(super) weight_decay: f64,
    pub(super) eps: f64,
}

unsafe extern "C" {
    fn il_last_error() -> *const c_char;
    pub(super) fn il_libtorch_version() -> *const c_char;
    pub(super) fn il_cudnn_version() -> i64;
    pub(super) fn il_cudart_version() -> i64;
    pub(super) fn il_cuda_device_count() -> c_int;
    pub(super) fn il_cuda_use(index: c_int) -> c_int;
    pub(super) fn il_cuda_memory_info(index: c_int, free: *mut u64, total: *mut u64) -> c_int;
    pub(super) fn il_cuda_memory(index: c_int, out: *mut Memory) -> c_int;
    pub(super) fn il_cuda_requested(index: c_int, current: *mut i64, peak: *mut i64) -> c_int;
    pub(super) fn il_cuda_reset_peak(index: c_int) -> c_int;
    pub(super) fn il_cuda_empty_cache() -> c_int;
    pub(super) fn il_cuda_synchronize(index: c_int) -> c_int;
    pub(super) fn il_cpu_count_bytes() -> c_int;
    pub(super) fn il_cpu_memory(out: *mut Memory);
    pub(super) fn il_cpu_reset_peak();
    pub(super) fn il_event_new(out: *mut *mut c_void) -> c_int;
    pub(super) fn il_event_delete(event: *mut c_void);
    pub(super) fn il_event_record(event: *mut c_void, index: c_int) -> c_int;
    pub(super) fn il_event_synchronize(event: *mut c_void) -> c_int;
    pub(super) fn il_event_elapsed_ms(start: *mut c_void, end: *mut c_void, ms: *mut f64) -> c_int;
    pub(super) fn il_autocast_enter(cuda: bool) -> c_int;
    pub(super) fn il_autocast_leave(cuda: bool) -> c_int;
    pub(super) fn il_fused_adamw(
        parameters: *const *const c_void,
        gradients: *const *const c_void,
        first_moments: *const *const c_void,
        second_moments: *const *const c_void,
        count: i64,
        step: *const c_void,
        rule: *const AdamW,
    ) -> c_int;
    pub(super) fn il_sdpa_enabled() -> c_int;
    pub(super) fn il_sdpa_enable(set: c_int) -> c_int;
    pub(super) fn il_sdpa_choice(
        q: *const c_void,
        k: *const c_void,
        v: *const c_void,
        causal: bool,
        choice: *mut i64,
    ) -> c_int;
    pub(super) fn il_backward(output: *const c_void, gradient: *const c_void) -> c_int;
    pub(super) fn il_clear_grad(leaf: *const c_void) -> c_int;
    pub(super) fn il_graph_new(index: c_int, out: *mut *mut c_void) -> c_int;
    pub(super) fn il_graph_delete(graph: *mut c_void);
    pub(super) fn il_graph_enter(graph: *mut c_void) -> c_int;
    pub(super) fn il_graph_leave(graph: *mut c_void) -> c_int;
    pub(super) fn il_graph_begin(graph: *mut c_void) -> c_int;
    pub(super) fn il_graph_end(graph: *mut c_void) -> c_int;
    pub(super) fn il_graph_replay(graph: *mut c_void) -> c_int;
    pub(super) fn il_flash_over_lengths(
        q: *const c_void,
        k: *const c_void,
        v: *const c_void,
        q_offsets: *const c_void,
        k_offsets: *const c_void,
        lengths: *const c_void,
        longest: i64,
        out: *mut *mut c_void,
    ) -> c_int;
}

/// The message that the last failing call of this thread left.
pub(super) fn last_error() -> String {
    // SAFETY: the shim returns a string of this thread that stays until the thread's next failing call; it is copied.
    unsafe { CStr::from_ptr(il_last_error()) }.to_string_lossy().into_owned()
}

/// Turns a shim code into a result.
pub(super) fn check(code: c_int) -> Result<(), Error> {
    match code {
        0 => Ok(()),
        2 => Err(Error::OutOfMemory(last_error())),
        _ => Err(Error::from_message(&last_error())),
    }
}
