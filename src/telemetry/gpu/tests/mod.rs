//! Every kind of answer that a driver can give.

mod answers;
mod paces;

use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError as E;
use nvml_wrapper::struct_wrappers::device::ProcessInfo;

use super::fake::Fake;
use super::*;
use crate::telemetry::GpuProcess;

const SECOND: u64 = 1_000_000_000;
const TENTH: u64 = SECOND / 10;

fn identify(pid: u32) -> Identity {
    match pid {
        7 => Identity::default(),
        pid => Identity { name: Some(format!("process-{pid}")), user: Some("ada".into()), container: None },
    }
}

fn gpu() -> Gpu<Fake> {
    Gpu::new(0, identify, None)
}

fn take(gpu: &mut Gpu<Fake>, fake: &Fake, now_ns: u64) -> GpuSnapshot {
    let ask = Ask { now_ns, forced: false, counters: true };
    gpu.snapshot(ask, Ok(Vec::new()), || Ok(fake.clone()))
}

/// The second of two snapshots that are so far apart that everything is due again.
fn second_snapshot(fake: &Fake) -> GpuSnapshot {
    let mut gpu = gpu();
    take(&mut gpu, fake, SECOND);
    take(&mut gpu, fake, 7 * SECOND)
}

fn details(snapshot: &GpuSnapshot) -> &GpuDetails {
    snapshot.details.as_deref().expect("details were due")
}

fn missing_fields(missing: &BTreeMap<String, String>) -> Vec<&str> {
    missing.keys().map(String::as_str).collect()
}

/// Names of the fields that are `null` when written as JSON.
fn null_fields(object: &impl serde::Serialize) -> Vec<String> {
    let json = serde_json::to_value(object).expect("plain data");
    let fields = json.as_object().expect("an object").iter();
    fields.filter(|(_, value)| value.is_null()).map(|(field, _)| field.clone()).collect()
}

fn process(pid: u32, used_gpu_memory: UsedGpuMemory) -> ProcessInfo {
    ProcessInfo { pid, used_gpu_memory, gpu_instance_id: None, compute_instance_id: None }
}
