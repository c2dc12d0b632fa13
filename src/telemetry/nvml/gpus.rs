//! The GPUs of this machine, through one life of the library.

use std::ffi::OsString;

use nvml_wrapper::{Device, Nvml, cuda_driver_version_major, cuda_driver_version_minor};

use super::events::Events;
use crate::telemetry::gpu::{Answer, Ask, Every, Gpu, absent, reason};
use crate::telemetry::process::identify;
use crate::telemetry::{GpuInfo, GpuSnapshot, Machine};
use crate::visible::visible_line;

/// Environment variable that leaves the GPM counters alone when it is `off`: other profilers may need them.
pub const GPM_VARIABLE: &str = "INFRALAB_GPM";

/// Events are looked for this often, ns.
const EVENTS_NS: u64 = 1_000_000_000;

/// The GPUs of one life of the library; without a library they are all lost.
pub(in crate::telemetry) struct Gpus<'nvml> {
    nvml: Option<&'nvml Nvml>,
    each: Vec<(GpuInfo, Gpu<Device<'nvml>>)>,
    absent_because: Option<String>,
    events: Option<Events<'nvml>>,
    look_for_events: Every,
}

impl<'nvml> Gpus<'nvml> {
    /// Connects to every GPU there is, and tells the machine of them.
    pub(in crate::telemetry) fn discover(
        opened: Result<&'nvml Nvml, &String>,
        machine: &mut Machine,
    ) -> Self {
        let nvml = match opened {
            Ok(nvml) => nvml,
            Err(why) => {
                machine.gpu_absent_because = Some(why.clone());
                return Self::new(None, Vec::new(), Some(why.clone()));
            }
        };
        machine.driver = nvml.sys_driver_version().ok().map(|version| visible_line(&version));
        machine.cuda_driver = nvml.sys_cuda_driver_version().ok().map(cuda_version);
        let count = match nvml.device_count() {
            Ok(0) => Err("NVML opened, but reports no GPU that this process may see".to_owned()),
            Ok(count) => Ok(count),
            Err(error) => Err(format!("NVML opened, but does not count the GPUs: {}", reason(&error, false))),
        };
        machine.gpu_absent_because = count.as_ref().err().cloned();
        let gpus = (0..count.unwrap_or(0)).map(|index| {
            let mut gpu = Gpu::new(index, identify, gpm_off());
            if let Ok(device) = nvml.device_by_index(index) {
                gpu.connect(device);
            }
            (gpu.info(), gpu)
        });
        let each: Vec<_> = gpus.collect();
        machine.gpus = each.iter().map(|(info, _)| info.clone()).collect();
        Self::new(Some(nvml), each, None)
    }

    /// The GPUs known from an earlier life of the library, found again by their UUID.
    pub(in crate::telemetry) fn rejoin(opened: Result<&'nvml Nvml, &String>, known: &[GpuInfo]) -> Self {
        let gpus = known.iter().map(|info| (info.clone(), Gpu::new(info.index, identify, gpm_off())));
        Self::new(opened.ok(), gpus.collect(), opened.err().cloned())
    }

    fn new(
        nvml: Option<&'nvml Nvml>,
        each: Vec<(GpuInfo, Gpu<Device<'nvml>>)>,
        absent_because: Option<String>,
    ) -> Self {
        let devices =
            |nvml: &'nvml Nvml| -> Vec<_> { each.iter().map(|(info, _)| device(nvml, info)).collect() };
        let events = nvml.filter(|_| !each.is_empty()).map(|nvml| Events::of(nvml, &devices(nvml)));
        Self { nvml, each, absent_because, events, look_for_events: Every::ns(EVENTS_NS) }
    }

    /// Readings of every GPU, in the order of the machine.
    pub(in crate::telemetry) fn snapshot(&mut self, ask: Ask) -> Vec<GpuSnapshot> {
        let due = self.look_for_events.is_due(ask.now_ns, ask.forced);
        let came = self.events.as_ref().filter(|_| due).map(Events::take).unwrap_or_default();
        let events = &self.events;
        let snapshots = self.each.iter_mut().enumerate().map(|(position, (info, gpu))| match self.nvml {
            Some(nvml) => {
                let refused = events.as_ref().and_then(|events| events.refused(position));
                let own = came.iter().filter(|(uuid, _)| *uuid == info.uuid).map(|(_, event)| event.clone());
                let events = refused.map_or_else(|| Ok(own.collect()), Err);
                gpu.snapshot(ask, events, || device(nvml, info))
            }
            None => absent(info.index, self.absent_because.as_deref().unwrap_or("NVML is closed")),
        });
        snapshots.collect()
    }

    /// Whether no GPU answers, or there is none: then the library itself is opened anew.
    pub(in crate::telemetry) fn are_lost(&self) -> bool {
        self.nvml.is_none() || self.each.iter().all(|(_, gpu)| gpu.is_lost())
    }
}

fn device<'nvml>(nvml: &'nvml Nvml, info: &GpuInfo) -> Answer<Device<'nvml>> {
    match &info.uuid {
        Some(uuid) => nvml.device_by_uuid(uuid.as_str()),
        None => nvml.device_by_index(info.index),
    }
}

/// Why the GPM counters shall be left alone, if they shall.
fn gpm_off() -> Option<String> {
    is_off(std::env::var_os(GPM_VARIABLE)).then(|| format!("switched off by {GPM_VARIABLE}=off"))
}

fn is_off(value: Option<OsString>) -> bool {
    value.is_some_and(|value| value.eq_ignore_ascii_case("off"))
}

fn cuda_version(version: i32) -> String {
    format!("{}.{}", cuda_driver_version_major(version), cuda_driver_version_minor(version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuda_versions_read_as_people_write_them() {
        assert_eq!(cuda_version(13_000), "13.0");
        assert_eq!(cuda_version(12_040), "12.4");
    }

    #[test]
    fn gpm_is_on_unless_it_is_switched_off() {
        assert!(is_off(Some("OFF".into())) && is_off(Some("off".into())));
        assert!(!is_off(None) && !is_off(Some("on".into())) && !is_off(Some("".into())));
    }
}
