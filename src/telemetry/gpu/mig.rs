//! MIG instances of a GPU.
//!
//! NVML lists the instances by index and counts activity by id of the GPU instance; the two are joined only where it is
//! certain which counters are whose, else they stand side by side.

use std::collections::BTreeMap;

use super::counters::FIRST_SAMPLE;
use super::driver::{Activity, Answer, Driver, MigUse};
use super::questions::{Questions, percent, reason, told};
use crate::telemetry::MigInstance;
use crate::visible::visible_line;

/// A GPU has at most seven instances, with ids from 1 to 14 and 0 for the whole.
const IDS: std::ops::RangeInclusive<u32> = 0..=14;
const ACTIVITY: [&str; 4] = ["sm_pct", "sm_occupancy_pct", "tensor_pct", "dram_pct"];

/// What is remembered of the instances between two readings.
pub(super) struct Instances<S> {
    before: BTreeMap<u32, S>,
}

impl<S> Default for Instances<S> {
    fn default() -> Self {
        Self { before: BTreeMap::new() }
    }
}

impl<S> Instances<S> {
    /// The instances, or none with a reason.
    pub(super) fn read<D: Driver<Sample = S>>(
        &mut self,
        device: &D,
        ask: &mut Questions<'_>,
        gpm_off: Option<&str>,
    ) -> Vec<MigInstance> {
        let Some(listed) = ask.one("mig", || device.mig_instances()) else { return Vec::new() };
        let mut counted: BTreeMap<u32, Result<Activity, String>> = BTreeMap::new();
        if gpm_off.is_none() {
            let now: BTreeMap<u32, S> =
                IDS.filter_map(|id| device.gpm_mig_sample(id).ok().map(|sample| (id, sample))).collect();
            for (id, sample) in &now {
                let activity = match self.before.get(id) {
                    Some(before) => {
                        device.gpm_activity(before, sample).map_err(|error| reason(&error, false))
                    }
                    None => Err(FIRST_SAMPLE.to_owned()),
                };
                counted.insert(*id, activity);
            }
            self.before = now;
        }
        join(listed, counted, gpm_off)
    }
}

fn join(
    listed: Vec<MigUse>,
    mut counted: BTreeMap<u32, Result<Activity, String>>,
    gpm_off: Option<&str>,
) -> Vec<MigInstance> {
    // With one of each there is no doubt.
    let only = match (listed.len(), counted.len()) {
        (1, 1) => counted.keys().next().copied(),
        _ => None,
    };
    let mut instances: Vec<MigInstance> = Vec::new();
    for instance in listed {
        let mut told_of = MigInstance::default();
        told_of.name = tell(&mut told_of, "name", instance.name).map(|name| visible_line(&name));
        told_of.uuid = tell(&mut told_of, "uuid", instance.uuid).map(|uuid| visible_line(&uuid));
        let memory = instance.memory;
        if let Some(memory) = tell(&mut told_of, "memory_used_bytes", memory) {
            told_of.memory_used_bytes = told(memory.used).ok();
            told_of.memory_total_bytes = told(memory.total).ok();
        } else {
            let why = told_of.missing["memory_used_bytes"].clone();
            told_of.missing.insert("memory_total_bytes".to_owned(), why);
        }
        told_of.gpu_instance = told_of.uuid.as_deref().and_then(instance_of).or(only);
        let activity = told_of.gpu_instance.and_then(|id| counted.remove(&id));
        if let Some(activity) = activity {
            count(&mut told_of, activity);
        } else {
            let why = gpm_off.unwrap_or("the driver does not tell which counters are this instance's");
            leave_out(&mut told_of, &ACTIVITY, why);
        }
        instances.push(told_of);
    }
    for (id, activity) in counted {
        let mut nameless = MigInstance { gpu_instance: Some(id), ..MigInstance::default() };
        leave_out(
            &mut nameless,
            &["name", "uuid", "memory_used_bytes", "memory_total_bytes"],
            "the driver does not tell which instance these counters are of",
        );
        count(&mut nameless, activity);
        instances.push(nameless);
    }
    instances
}

/// The id of the GPU instance out of a UUID of drivers before 470: `MIG-GPU-<uuid>/<gpu instance>/<compute instance>`.
fn instance_of(uuid: &str) -> Option<u32> {
    uuid.strip_prefix("MIG-GPU-")?.split('/').nth(1)?.parse().ok()
}

fn count(instance: &mut MigInstance, activity: Result<Activity, String>) {
    match activity {
        Ok(activity) => {
            instance.sm_pct = tell(instance, "sm_pct", activity.sm.and_then(percent));
            instance.sm_occupancy_pct =
                tell(instance, "sm_occupancy_pct", activity.sm_occupancy.and_then(percent));
            instance.tensor_pct = tell(instance, "tensor_pct", activity.tensor.and_then(percent));
            instance.dram_pct = tell(instance, "dram_pct", activity.dram.and_then(percent));
        }
        Err(why) => leave_out(instance, &ACTIVITY, &why),
    }
}

fn tell<T>(instance: &mut MigInstance, field: &str, answer: Answer<T>) -> Option<T> {
    answer.map_err(|error| instance.missing.insert(field.to_owned(), reason(&error, false))).ok()
}

fn leave_out(instance: &mut MigInstance, fields: &[&str], why: &str) {
    instance.missing.extend(fields.iter().map(|field| ((*field).to_owned(), why.to_owned())));
}

#[cfg(test)]
mod tests {
    use nvml_wrapper::error::NvmlError;

    use super::*;
    use crate::telemetry::gpu::driver::MemoryUse;

    fn listed(uuid: &str) -> MigUse {
        MigUse {
            name: Ok("NVIDIA H200 MIG 1g.18gb\u{1b}[2J".into()),
            uuid: Ok(uuid.into()),
            memory: Ok(MemoryUse { used: 1, reserved: 0, free: 2, total: 3 }),
        }
    }

    fn active(sm: f64) -> Activity {
        let no = || Err(NvmlError::NotSupported);
        Activity {
            sm: Ok(sm),
            sm_occupancy: Ok(1.0),
            tensor: Ok(2.0),
            fp64: no(),
            fp32: no(),
            fp16: no(),
            dram: no(),
            pcie_rx: no(),
            pcie_tx: no(),
        }
    }

    #[test]
    fn one_instance_and_one_set_of_counters_belong_together() {
        let joined = join(vec![listed("MIG-1")], [(3, Ok(active(40.0)))].into(), None);
        assert_eq!(joined.len(), 1);
        assert_eq!(
            (joined[0].gpu_instance, joined[0].sm_pct, joined[0].dram_pct),
            (Some(3), Some(40.0), None)
        );
        assert!(joined[0].missing["dram_pct"].contains("not supported"));
        assert!(!joined[0].name.as_deref().unwrap_or_default().contains('\u{1b}'));
    }

    #[test]
    fn nothing_is_guessed_between_several() {
        let joined = join(
            vec![listed("MIG-1"), listed("MIG-2")],
            [(1, Ok(active(9.0))), (2, Ok(active(8.0)))].into(),
            None,
        );
        assert_eq!(joined.len(), 4);
        assert!(joined[..2].iter().all(|i| i.sm_pct.is_none() && i.memory_total_bytes == Some(3)));
        assert!(joined[..2].iter().all(|i| i.missing["sm_pct"].contains("which counters")));
        assert_eq!(joined[2..].iter().map(|i| i.sm_pct).collect::<Vec<_>>(), [Some(9.0), Some(8.0)]);
        assert!(joined[2].missing["memory_used_bytes"].contains("which instance"));
    }

    #[test]
    fn an_old_uuid_tells_the_instance() {
        let joined = join(
            vec![listed("MIG-GPU-abc/2/0"), listed("MIG-GPU-abc/1/0")],
            [(1, Ok(active(9.0))), (2, Ok(active(8.0)))].into(),
            None,
        );
        assert_eq!(joined.iter().map(|i| i.sm_pct).collect::<Vec<_>>(), [Some(8.0), Some(9.0)]);
    }

    #[test]
    fn without_counters_the_reason_is_that_of_the_gpu() {
        let joined = join(vec![listed("MIG-1")], BTreeMap::new(), Some("switched off"));
        assert_eq!(joined[0].missing["sm_pct"], "switched off");
        assert_eq!(joined[0].memory_used_bytes, Some(1));
    }
}
