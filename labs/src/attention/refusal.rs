//! Parameters that cannot go together.

use super::{Config, Mode};
use crate::dtype::Dtype;
use crate::protocol::{DeviceKind, Failure};
use crate::spec::Params;

/// Refuses lengths that do not fit together and, where the kind of device is known, the one backend that was asked for
/// when no device of that kind has it. With `all` such backends are left out with a note instead, and what depends on
/// the model of the device (its compute capability, its cuDNN) the run finds out by asking LibTorch.
pub(super) fn refusal(params: &Params, kind: Option<DeviceKind>) -> Option<Failure> {
    let config = match Config::new(params) {
        Ok(config) => config,
        Err(failure) => return Some(failure),
    };
    if config.mode == Mode::Steps {
        return None;
    }
    let (why, next) = match (kind?, config.backend.as_str(), config.dtype) {
        (DeviceKind::Cpu, "cudnn" | "efficient", _) => {
            ("it is a CUDA kernel, and this run is on the CPU", "use backend = flash, math or all, or a GPU")
        }
        (DeviceKind::Cuda, "flash" | "cudnn", Dtype::Fp32) => (
            "on CUDA it computes in half precision only",
            "use dtype = bf16 or fp16, or backend = efficient, which takes fp32",
        ),
        _ => return None,
    };
    Some(Failure {
        what: format!("backend {} cannot run {}", config.backend, config.dtype.name()),
        why: why.into(),
        next: next.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Size, find_lab};

    fn refused(set: &[(&str, &str)], kind: Option<DeviceKind>) -> Option<Failure> {
        let lab = find_lab("attention").expect("lab");
        let set: Vec<_> = set.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        lab.refusal(&lab.params_for(Size::Tiny, &set).expect("in range"), kind)
    }

    #[test]
    fn a_comparison_outside_the_sweep_is_refused_in_words() {
        let failure = refused(&[("compare_n", "500")], None).expect("500 is no length of the sweep");
        assert!(failure.what.contains("500") && failure.why.contains("64, 128, 256, 512"));
    }

    #[test]
    fn one_backend_that_no_such_device_has_is_refused() {
        let (cpu, cuda) = (Some(DeviceKind::Cpu), Some(DeviceKind::Cuda));
        for backend in ["cudnn", "efficient"] {
            let failure = refused(&[("backend", backend)], cpu).expect("not on the CPU");
            assert!(failure.what.contains(backend) && failure.why.contains("CPU"), "{failure:?}");
        }
        let failure = refused(&[("backend", "flash")], cuda).expect("fp32 at size tiny");
        assert!(failure.what.contains("fp32") && failure.next.contains("bf16"), "{failure:?}");
        assert!(refused(&[("backend", "cudnn")], cuda).is_some());
    }

    #[test]
    fn what_may_run_is_not_refused() {
        let (cpu, cuda) = (Some(DeviceKind::Cpu), Some(DeviceKind::Cuda));
        for (set, kind) in [
            (&[("backend", "all")][..], cpu),
            (&[("backend", "all")], cuda),
            (&[("backend", "flash")], cpu),
            (&[("backend", "efficient")], cuda),
            (&[("backend", "flash"), ("dtype", "bf16")], cuda),
            (&[("backend", "cudnn"), ("dtype", "fp16")], cuda),
            (&[("backend", "cudnn")], None),
            // The steps use no backend.
            (&[("backend", "cudnn"), ("mode", "steps")], cpu),
        ] {
            assert_eq!(refused(set, kind), None, "{set:?} {kind:?}");
        }
    }
}
