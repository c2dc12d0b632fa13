//! CUDA, loaded at run time: one worker serves hosts with and without a GPU.
//!
//! The driver's own interface (`libcuda.so.1`) names the devices; it has been stable for over a decade and needs no
//! toolkit. Computation goes through LibTorch.

use std::ffi::{CStr, c_char, c_int};
use std::fmt::Write as _;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LOCAL, RTLD_NOW, Symbol};

use super::{Error, ffi};

/// Numbers of `CUdevice_attribute`.
const MULTIPROCESSORS: c_int = 16;
const CAPABILITY_MAJOR: c_int = 75;
const CAPABILITY_MINOR: c_int = 76;

/// A loaded driver and LibTorch's CUDA half.
pub struct Cuda {
    driver: Library,
    /// CUDA devices that LibTorch can use.
    pub devices: u32,
}

/// What the driver says about one device. A reading that the driver refused is `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Properties {
    /// Marketing name.
    pub name: Option<String>,
    /// `GPU-…`, or `MIG-…` for a part of a card, as NVML writes it.
    pub uuid: Option<String>,
    /// For example `9.0`.
    pub compute_capability: Option<String>,
    /// Streaming multiprocessors.
    pub sm_count: Option<u32>,
    /// Memory in bytes.
    pub total_memory_bytes: Option<u64>,
}

/// Loads CUDA, or says in words why it is absent. Must come before any other call that asks LibTorch about CUDA.
pub fn load() -> Result<Cuda, String> {
    // SAFETY: initialising the NVIDIA driver library has no requirements beyond being loaded.
    let driver = unsafe { Library::open(Some("libcuda.so.1"), RTLD_NOW | RTLD_LOCAL) }
        .map_err(|e| format!("no NVIDIA driver on this machine ({})", reason(&e)))?;
    let driver_version = start_driver(&driver)?;
    // SAFETY: this is the CUDA half of the LibTorch that this process is linked with; its initialisers register CUDA.
    let torch = unsafe { Library::open(Some("libtorch_cuda.so"), RTLD_NOW | RTLD_GLOBAL) }.map_err(|e| {
        format!(
            "an NVIDIA driver answers, but the CUDA half of LibTorch does not load ({}); \
                 `infralab engine install` adds it",
            reason(&e)
        )
    })?;
    // Unloading either would leave LibTorch with pointers into nothing.
    std::mem::forget(torch);
    // SAFETY: plain calls without arguments.
    let (devices, built_for) = unsafe { (ffi::il_cuda_device_count(), ffi::il_cudart_version()) };
    if devices < 1 {
        return Err(format!(
            "LibTorch is built for CUDA {} and finds no GPU it can use; the driver supports CUDA {}",
            version_words(built_for),
            version_words(driver_version.into())
        ));
    }
    Ok(Cuda { driver, devices: devices as u32 })
}

impl Cuda {
    /// Makes device `index` the one of this thread and starts it, which takes some tenths of a second.
    pub fn select(&self, index: u32) -> Result<(), Error> {
        // SAFETY: the shim checks the index and turns exceptions into codes.
        ffi::check(unsafe { ffi::il_cuda_use(index as c_int) })
    }

    /// What the driver says about device `index`.
    pub fn properties(&self, index: u32) -> Properties {
        let mut device: c_int = 0;
        let known = self.call("cuDeviceGet", |get: DeviceGet| {
            // SAFETY: `device` outlives the call.
            unsafe { get(&raw mut device, index as c_int) }
        });
        if known.is_none() {
            return Properties {
                name: None,
                uuid: None,
                compute_capability: None,
                sm_count: None,
                total_memory_bytes: None,
            };
        }
        let name = self.name(device);
        let part_of_card = name.as_deref().is_some_and(|n| n.contains(" MIG "));
        let capability =
            self.attribute(device, CAPABILITY_MAJOR).zip(self.attribute(device, CAPABILITY_MINOR));
        Properties {
            uuid: self.uuid(device).map(|bytes| uuid_words(bytes, part_of_card)),
            compute_capability: capability.map(|(major, minor)| format!("{major}.{minor}")),
            sm_count: self.attribute(device, MULTIPROCESSORS).map(|n| n as u32),
            total_memory_bytes: self.total_memory(device),
            name,
        }
    }

    fn name(&self, device: c_int) -> Option<String> {
        let mut text = [0 as c_char; 256];
        self.call("cuDeviceGetName", |get: DeviceGetName| {
            // SAFETY: the driver writes at most the given length, terminated.
            unsafe { get(text.as_mut_ptr(), text.len() as c_int, device) }
        })?;
        // SAFETY: terminated by the driver, and the last byte is zero in any case.
        Some(unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned())
    }

    fn uuid(&self, device: c_int) -> Option<[u8; 16]> {
        let mut bytes = [0; 16];
        self.call("cuDeviceGetUuid_v2", |get: DeviceGetUuid| {
            // SAFETY: `CUuuid` is 16 bytes.
            unsafe { get(bytes.as_mut_ptr(), device) }
        })?;
        Some(bytes)
    }

    fn attribute(&self, device: c_int, attribute: c_int) -> Option<c_int> {
        let mut value = 0;
        self.call("cuDeviceGetAttribute", |get: DeviceGetAttribute| {
            // SAFETY: `value` outlives the call.
            unsafe { get(&raw mut value, attribute, device) }
        })?;
        Some(value)
    }

    fn total_memory(&self, device: c_int) -> Option<u64> {
        let mut bytes: usize = 0;
        self.call("cuDeviceTotalMem_v2", |get: DeviceTotalMem| {
            // SAFETY: `bytes` outlives the call.
            unsafe { get(&raw mut bytes, device) }
        })?;
        Some(bytes as u64)
    }

    fn call<F: Copy>(&self, name: &str, call: impl FnOnce(F) -> c_int) -> Option<()> {
        (call(function(&self.driver, name)?) == 0).then_some(())
    }
}

type Init = unsafe extern "C" fn(u32) -> c_int;
type DriverGetVersion = unsafe extern "C" fn(*mut c_int) -> c_int;
type GetErrorString = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;
type DeviceGet = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
type DeviceGetName = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;
type DeviceGetUuid = unsafe extern "C" fn(*mut u8, c_int) -> c_int;
type DeviceGetAttribute = unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int;
type DeviceTotalMem = unsafe extern "C" fn(*mut usize, c_int) -> c_int;

/// The driver's function `name`; the callers pair each name with its type above.
fn function<F: Copy>(driver: &Library, name: &str) -> Option<F> {
    // SAFETY: the types above are those of the driver's public header for these names.
    let symbol: Symbol<F> = unsafe { driver.get(name.as_bytes()) }.ok()?;
    Some(*symbol)
}

/// Initialises the driver; returns the CUDA version that it supports, 13000 for 13.0.
fn start_driver(driver: &Library) -> Result<c_int, String> {
    let init: Init =
        function(driver, "cuInit").ok_or("libcuda.so.1 has no cuInit: it is not a usable driver")?;
    // SAFETY: the driver's documented first call.
    let code = unsafe { init(0) };
    if code != 0 {
        return Err(format!("the NVIDIA driver does not start: {}", error_words(driver, code)));
    }
    let mut version = 0;
    if let Some(get) = function::<DriverGetVersion>(driver, "cuDriverGetVersion") {
        // SAFETY: `version` outlives the call.
        unsafe { get(&raw mut version) };
    }
    Ok(version)
}

fn error_words(driver: &Library, code: c_int) -> String {
    let mut text: *const c_char = std::ptr::null();
    if let Some(get) = function::<GetErrorString>(driver, "cuGetErrorString") {
        // SAFETY: `text` outlives the call; the driver hands out static strings or null.
        unsafe { get(code, &raw mut text) };
    }
    if text.is_null() {
        return format!("error {code}");
    }
    // SAFETY: not null, so a static terminated string of the driver.
    format!("{} (error {code})", unsafe { CStr::from_ptr(text) }.to_string_lossy())
}

fn reason(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

fn version_words(version: i64) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

fn uuid_words(bytes: [u8; 16], part_of_card: bool) -> String {
    let mut text = String::from(if part_of_card { "MIG" } else { "GPU" });
    for (i, byte) in bytes.iter().enumerate() {
        if matches!(i, 0 | 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_read_as_nvml_writes_them() {
        let bytes = [0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(uuid_words(bytes, false), "GPU-12345678-9abc-def0-0102-030405060708");
        assert!(uuid_words(bytes, true).starts_with("MIG-"));
        assert_eq!(version_words(12040), "12.4");
    }
}
