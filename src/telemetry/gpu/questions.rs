//! Asking a driver, and what its answers mean in words and units.

use std::collections::BTreeMap;

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::error::NvmlError;

use super::driver::{Answer, MemoryUse};

/// One round of questions to one GPU.
pub(super) struct Questions<'a> {
    refused: &'a mut BTreeMap<&'static str, String>,
    mig: bool,
    pub(super) missing: BTreeMap<String, String>,
    lost: Option<String>,
    pub(super) answered: bool,
    failed: Option<String>,
}

impl<'a> Questions<'a> {
    /// Begins a round; `refused` keeps, from round to round, what will never be answered.
    pub(super) fn new(refused: &'a mut BTreeMap<&'static str, String>, mig: bool) -> Self {
        Self { refused, mig, missing: BTreeMap::new(), lost: None, answered: false, failed: None }
    }

    /// Asks for one reading, unless the answer is known to be no.
    pub(super) fn one<T>(&mut self, field: &'static str, question: impl FnOnce() -> Answer<T>) -> Option<T> {
        self.ask(field, &[field], question)
    }

    /// Asks the question called `name`, which `fields` hang on, unless the answer is known to be no.
    pub(super) fn ask<T>(
        &mut self,
        name: &'static str,
        fields: &[&str],
        question: impl FnOnce() -> Answer<T>,
    ) -> Option<T> {
        let known = self.refused.get(name).or(self.lost.as_ref());
        let why = if let Some(why) = known {
            why.clone()
        } else {
            match question() {
                Ok(value) => {
                    self.answered = true;
                    return Some(value);
                }
                Err(error) => {
                    let why = reason(&error, self.mig);
                    if is_final(&error) {
                        self.refused.insert(name, why.clone());
                    } else if is_loss(&error) {
                        self.lost = Some(why.clone());
                    } else {
                        self.failed.get_or_insert_with(|| why.clone());
                    }
                    why
                }
            }
        };
        self.leave_out(fields, &why);
        None
    }

    /// Notes why `fields` are missing without a question.
    pub(super) fn leave_out(&mut self, fields: &[&str], why: &str) {
        self.missing.extend(fields.iter().map(|field| ((*field).to_owned(), why.to_owned())));
    }

    /// The reasons of what is missing; or, when the GPU said that it is lost or nothing at all answered, why.
    pub(super) fn finish(self) -> Result<BTreeMap<String, String>, String> {
        match (self.lost, self.failed) {
            (Some(why), _) => Err(why),
            (None, Some(why)) if !self.answered => Err(why),
            _ => Ok(self.missing),
        }
    }
}

/// Whether the same question to the same driver can have no other answer.
fn is_final(error: &NvmlError) -> bool {
    matches!(error, NvmlError::NotSupported | NvmlError::FailedToLoadSymbol(_) | NvmlError::FunctionNotFound)
}

/// Whether the error is about the GPU or the driver as a whole.
fn is_loss(error: &NvmlError) -> bool {
    use NvmlError::{DriverNotLoaded, GpuLost, LibRmVersionMismatch, ResetRequired, Uninitialized};
    matches!(error, GpuLost | ResetRequired | Uninitialized | DriverNotLoaded | LibRmVersionMismatch)
}

/// An error in words, with what to do where something can be done.
pub(in crate::telemetry) fn reason(error: &NvmlError, mig: bool) -> String {
    use NvmlError as E;
    match error {
        E::NotSupported | E::InvalidArg | E::NotFound | E::NoPermission if mig => {
            "MIG is enabled: the driver does not answer this for the whole GPU".to_owned()
        }
        E::NotSupported => "not supported by this GPU or driver".to_owned(),
        E::NoPermission => "the driver tells this to privileged users only".to_owned(),
        E::FailedToLoadSymbol(_) | E::FunctionNotFound => {
            "the installed driver is too old to tell this".to_owned()
        }
        E::NoData => "the driver gives no figure".to_owned(),
        E::GpuLost => {
            "the GPU is lost: it fell off the bus (see Xid 79 in the kernel log); reset it or reboot"
                .to_owned()
        }
        E::ResetRequired => {
            "the GPU must be reset before it answers again (nvidia-smi --gpu-reset)".to_owned()
        }
        E::LibRmVersionMismatch => {
            "driver/library version mismatch: the driver was upgraded under the loaded kernel \
                                    module; reboot, or unload and load the nvidia modules"
                .to_owned()
        }
        E::DriverNotLoaded => {
            "the NVIDIA kernel driver is not loaded; load it (modprobe nvidia) or install one".to_owned()
        }
        E::LibloadingError(error) => error.to_string(),
        E::Unknown => "the driver reports an unknown error; in a container, restart the container".to_owned(),
        other => other.to_string(),
    }
}

pub(super) fn watts(milliwatts: u32) -> f64 {
    f64::from(milliwatts) / 1000.0
}

/// NVML writes all ones where it has no figure.
pub(super) fn told(value: u64) -> Answer<u64> {
    if value == u64::MAX { Err(NvmlError::NoData) } else { Ok(value) }
}

pub(super) fn told_both((used, total): (u64, u64)) -> Answer<(u64, u64)> {
    Ok((told(used)?, told(total)?))
}

/// Memory of which use and size are told; what is reserved is told by newer drivers only, and counts as nothing else.
pub(super) fn told_memory(memory: MemoryUse) -> Answer<MemoryUse> {
    for bytes in [memory.used, memory.free, memory.reserved, memory.total] {
        told(bytes)?;
    }
    Ok(memory)
}

pub(super) fn percent(value: f64) -> Answer<f64> {
    if value.is_finite() { Ok(value.clamp(0.0, 100.0)) } else { Err(NvmlError::NoData) }
}

pub(super) fn rate(value: f64) -> Answer<f64> {
    if value.is_finite() && value >= 0.0 { Ok(value) } else { Err(NvmlError::NoData) }
}

/// Clock event reasons in words, lowest bit first.
pub(super) fn clock_reasons(bits: u64) -> Vec<String> {
    const WORDS: [(ThrottleReasons, &str); 9] = [
        (ThrottleReasons::GPU_IDLE, "idle"),
        (ThrottleReasons::APPLICATIONS_CLOCKS_SETTING, "application clocks setting"),
        (ThrottleReasons::SW_POWER_CAP, "software power cap"),
        (ThrottleReasons::HW_SLOWDOWN, "hardware slowdown"),
        (ThrottleReasons::SYNC_BOOST, "sync boost with another GPU"),
        (ThrottleReasons::SW_THERMAL_SLOWDOWN, "software thermal slowdown"),
        (ThrottleReasons::HW_THERMAL_SLOWDOWN, "hardware thermal slowdown"),
        (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, "hardware power brake"),
        (ThrottleReasons::DISPLAY_CLOCK_SETTING, "display clock setting"),
    ];
    let mut words: Vec<String> = WORDS
        .iter()
        .filter(|(flag, _)| bits & flag.bits() != 0)
        .map(|(_, word)| (*word).to_owned())
        .collect();
    let unknown = WORDS.iter().fold(bits, |rest, (flag, _)| rest & !flag.bits());
    if unknown != 0 {
        words.push(format!("unknown reason {unknown:#x}"));
    }
    words
}
