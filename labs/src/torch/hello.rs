//! Choosing the device, and saying so.

use std::ffi::CStr;

use super::{Error, cuda, ffi, host, memory};
use crate::clock::{mono_ns, unix_ms};
use crate::protocol::{Device, DeviceChoice, DeviceKind, Failure, Hello, PROTOCOL_VERSION};

/// Version of the LibTorch that the worker was built against, for example `2.11.0`.
pub fn libtorch_version() -> String {
    // SAFETY: a static string.
    unsafe { CStr::from_ptr(ffi::il_libtorch_version()) }.to_string_lossy().into_owned()
}

/// Chooses and starts the device. With [`DeviceChoice::Cpu`] nothing of CUDA is touched.
pub fn open(choice: DeviceChoice) -> Result<(tch::Device, Hello), Failure> {
    let (loaded, absent) = match choice {
        DeviceChoice::Cpu => (None, Some("the CPU was asked for".to_owned())),
        DeviceChoice::Auto | DeviceChoice::Cuda(_) => match cuda::load() {
            Ok(cuda) => (Some(cuda), None),
            Err(why) => (None, Some(why)),
        },
    };
    let cuda_devices = loaded.as_ref().map_or(0, |c| c.devices);
    let (used, device) = match (&loaded, choice) {
        (Some(cuda), DeviceChoice::Auto) => gpu(cuda, 0)?,
        (Some(cuda), DeviceChoice::Cuda(index)) if index < cuda.devices => gpu(cuda, index)?,
        (Some(cuda), DeviceChoice::Cuda(index)) => return Err(no_such_device(index, cuda.devices)),
        (None, DeviceChoice::Cuda(index)) => {
            return Err(Failure {
                what: format!("device cuda:{index} was asked for, and CUDA is not available"),
                why: absent.unwrap_or_default(),
                next: "use --device cpu, or run `infralab doctor` for the whole picture".into(),
            });
        }
        (None, _) | (_, DeviceChoice::Cpu) => cpu().map_err(Error::into_failure)?,
    };
    let hello = Hello {
        protocol: PROTOCOL_VERSION,
        worker: env!("CARGO_PKG_VERSION").into(),
        libtorch: libtorch_version(),
        cudnn: loaded.and_then(|_| cudnn_version()),
        device,
        cuda_devices,
        cuda_absent_because: absent,
        pid: std::process::id(),
        cpu_threads: tch::get_num_threads().max(1) as u32,
        mono_ns: mono_ns(),
        unix_ms: unix_ms(),
    };
    Ok((used, hello))
}

fn gpu(cuda: &cuda::Cuda, index: u32) -> Result<(tch::Device, Device), Failure> {
    cuda.select(index).map_err(|e| Failure {
        what: format!("device cuda:{index} does not start"),
        why: e.to_string(),
        next: "see whether another process holds it (nvidia-smi), or use --device cpu".into(),
    })?;
    let used = tch::Device::Cuda(index as usize);
    let properties = cuda.properties(index);
    let device = Device {
        kind: DeviceKind::Cuda,
        index: Some(index),
        name: properties.name.unwrap_or_else(|| format!("CUDA device {index}")),
        uuid: properties.uuid,
        total_memory_bytes: properties.total_memory_bytes,
        free_memory_bytes: memory::free_bytes(used),
        compute_capability: properties.compute_capability,
        sm_count: properties.sm_count,
    };
    Ok((used, device))
}

fn cpu() -> Result<(tch::Device, Device), Error> {
    memory::count_on_cpu()?;
    let device = Device {
        kind: DeviceKind::Cpu,
        index: None,
        name: host::cpu_name().unwrap_or_else(|| "CPU".into()),
        uuid: None,
        total_memory_bytes: host::total_bytes(),
        free_memory_bytes: host::free_bytes(),
        compute_capability: None,
        sm_count: None,
    };
    Ok((tch::Device::Cpu, device))
}

fn no_such_device(index: u32, devices: u32) -> Failure {
    Failure {
        what: format!("there is no device cuda:{index}"),
        why: format!("{devices} CUDA device(s) answer, numbered from 0 in PCI bus order"),
        next: format!("use cuda:0 to cuda:{}, or unset CUDA_VISIBLE_DEVICES", devices.saturating_sub(1)),
    }
}

/// cuDNN 9 writes 9.19.0 as 91900.
fn cudnn_version() -> Option<String> {
    // SAFETY: plain call.
    let version = unsafe { ffi::il_cudnn_version() };
    (version > 0).then(|| format!("{}.{}.{}", version / 10_000, version / 100 % 100, version % 100))
}
