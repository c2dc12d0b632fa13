//! The worker's own process: how it starts and how it ends.

use rustix::process::{Signal, set_parent_process_death_signal};

/// Environment that LibTorch must find: device numbers in PCI bus order, as NVML and the request count them.
/// Call first in `main`, while no other thread runs.
pub fn prepare_environment() {
    // SAFETY: the caller is the only thread, so nothing reads the environment at the same time.
    #[allow(clippy::disallowed_methods, reason = "CUDA reads it from this process; nothing else runs yet")]
    unsafe {
        std::env::set_var("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    };
}

/// Lets the kernel kill this process when the thread that started it ends, so that no run outlives a crashed app.
pub fn die_with_parent() {
    // Where this is refused, the end of stdin still ends the worker.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
}

/// Ends the process in order: C streams are written out, but no static destructor runs, because those of CUDA
/// libraries loaded at run time may meet a driver that is already gone.
pub fn end(code: i32) -> ! {
    // SAFETY: a null stream means all streams.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    abandon(code)
}

/// Ends the process at once, whatever other threads are doing.
pub fn abandon(code: i32) -> ! {
    // SAFETY: `_exit` is safe to call from any thread at any time.
    unsafe { libc::_exit(code) }
}
