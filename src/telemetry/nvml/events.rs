//! Xid and ECC events as they come.

use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enums::event::XidError;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::event::EventSet;
use nvml_wrapper::struct_wrappers::event::EventData;
use nvml_wrapper::{Device, Nvml};

use crate::telemetry::GpuEvent;
use crate::telemetry::gpu::reason;

/// More than this many in one look are left for the next.
const AT_ONCE: usize = 16;

/// The events of one life of the library.
pub(super) struct Events<'nvml> {
    set: Option<EventSet<'nvml>>,
    /// Why none can come of a GPU, by position.
    refused: Vec<Option<String>>,
}

impl<'nvml> Events<'nvml> {
    /// Registers for the events of every GPU that has any; a GPU that refuses does not keep the others from theirs.
    pub(super) fn of(nvml: &'nvml Nvml, devices: &[Result<Device<'nvml>, NvmlError>]) -> Self {
        let wanted = EventTypes::SINGLE_BIT_ECC_ERROR
            | EventTypes::DOUBLE_BIT_ECC_ERROR
            | EventTypes::CRITICAL_XID_ERROR;
        let mut refused: Vec<Option<String>> = Vec::with_capacity(devices.len());
        let mut kinds = Vec::with_capacity(devices.len());
        for device in devices {
            let supported = match device {
                Ok(device) => device.supported_event_types().map_err(|error| reason(&error, false)),
                Err(error) => Err(reason(error, false)),
            };
            let kind = supported.as_ref().map_or(EventTypes::empty(), |supported| *supported & wanted);
            let nothing = kind.is_empty().then(|| "this GPU reports no events".to_owned());
            refused.push(supported.err().or(nothing));
            kinds.push(kind);
        }
        // A refusal takes the whole set with it, so the others begin anew without the one that refused.
        let set = 'anew: loop {
            let mut set = match nvml.create_event_set() {
                Ok(set) => set,
                Err(error) => {
                    let why = reason(&error, false);
                    refused.fill(Some(why));
                    break None;
                }
            };
            for (i, device) in devices.iter().enumerate() {
                let (Ok(device), None) = (device, &refused[i]) else { continue };
                match device.register_events(kinds[i], set) {
                    Ok(registered) => set = registered,
                    Err(error) => {
                        refused[i] = Some(reason(&error.error, false));
                        continue 'anew;
                    }
                }
            }
            break refused.iter().any(Option::is_none).then_some(set);
        };
        Self { set, refused }
    }

    /// Why no event can come of the GPU at a position.
    pub(super) fn refused(&self, position: usize) -> Option<&str> {
        self.refused.get(position).map_or(Some("the GPU was not there at the start"), Option::as_deref)
    }

    /// What came since the last look, with the UUID of the GPU, as far as it tells one; waits for nothing.
    pub(super) fn take(&self) -> Vec<(Option<String>, GpuEvent)> {
        let Some(set) = &self.set else { return Vec::new() };
        let came = std::iter::from_fn(|| set.wait(0).ok()).take(AT_ONCE);
        came.filter_map(|data| Some((data.device.uuid().ok(), event(&data)?))).collect()
    }
}

fn event(data: &EventData<'_>) -> Option<GpuEvent> {
    if data.event_type.contains(EventTypes::CRITICAL_XID_ERROR) {
        let code = match data.event_data {
            Some(XidError::Value(code)) => Some(code),
            Some(XidError::Unknown) | None => None,
        };
        Some(GpuEvent::Xid { code })
    } else if data.event_type.contains(EventTypes::DOUBLE_BIT_ECC_ERROR) {
        Some(GpuEvent::EccUncorrected)
    } else {
        data.event_type.contains(EventTypes::SINGLE_BIT_ECC_ERROR).then_some(GpuEvent::EccCorrected)
    }
}
