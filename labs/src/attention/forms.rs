//! Closed forms of the predictions, and the bytes to begin with.

use std::collections::BTreeMap;

use super::{Config, Mode};
use crate::formulas::attention::{
    NAIVE_SCORE_COPIES, NAIVE_SCORE_COPIES_CPU, forward_input_bytes, fused_extra_bound_bytes,
    fused_forward_extra_bound_bytes, input_bytes, naive_forward_peak_extra_bytes, naive_forward_score_copies,
    naive_peak_extra_bytes_with,
};
use crate::formulas::mib;
use crate::protocol::{DeviceKind, Quantity};
use crate::spec::{ClosedForm, Need, Params};

/// Score copies that naive attention keeps at its peak on this kind of device, forward and backward.
pub(super) fn naive_score_copies(kind: DeviceKind) -> f64 {
    match kind {
        DeviceKind::Cuda => NAIVE_SCORE_COPIES,
        DeviceKind::Cpu => NAIVE_SCORE_COPIES_CPU,
    }
}

/// Bytes that a run without gradients is given and takes beyond that at most, by a fused kernel; or with them.
fn fused_needed_bytes(config: &Config, n: u64) -> f64 {
    let (shape, bytes) = (config.at(n), config.dtype.bytes() as f64);
    match config.mode {
        Mode::Forward => {
            forward_input_bytes(shape, bytes, false) + fused_forward_extra_bound_bytes(shape, bytes)
        }
        Mode::Both | Mode::Steps => input_bytes(shape, bytes, false) + fused_extra_bound_bytes(shape, bytes),
    }
}

/// What the shortest length needs with a fused kernel: walls are results, so a run needs no more to begin.
pub(super) fn need(params: &Params, _: DeviceKind) -> Option<Need> {
    let config = Config::new(params).ok().filter(|config| config.mode != Mode::Steps)?;
    let n = *config.lengths.first()?;
    let (b, h, d, bytes) = (config.shape.b, config.shape.h, config.shape.d, config.dtype.bytes() as f64);
    let formula = match config.mode {
        Mode::Forward => format!("(4·{bytes} + 4)·{b}·{h}·{n}·{d} + 12·{b}·{h}·{n} B"),
        Mode::Both | Mode::Steps => format!("(8·{bytes} + 12)·{b}·{h}·{n}·{d} + 12·{b}·{h}·{n} B"),
    };
    Some(Need { bytes: fused_needed_bytes(&config, n), formula: format!("{formula} at n = {n}, fused") })
}

/// Closed forms of the predictions; those that the mode does not measure are absent.
pub(super) fn closed_forms(params: &Params, kind: DeviceKind) -> BTreeMap<String, ClosedForm> {
    let Ok(config) = Config::new(params) else { return BTreeMap::new() };
    let mut forms = BTreeMap::new();
    if config.mode != Mode::Steps {
        forms.insert("naive_forward_mib".to_owned(), forward_peak(&config));
    }
    if config.mode == Mode::Both {
        let n = config.compare_n;
        let growth = format!("{n}² / {}²", n / 2);
        forms.insert("naive_peak_extra_mib".to_owned(), peak(&config, kind));
        forms.insert(
            "naive_growth".to_owned(),
            ClosedForm { value: Quantity::some(4.0, "x"), formula: growth },
        );
    }
    forms
}

fn peak(config: &Config, kind: DeviceKind) -> ClosedForm {
    let (shape, bytes) = (config.at(config.compare_n), config.dtype.bytes() as f64);
    let (b, h, n, d, copies) = (shape.b, shape.h, shape.n, shape.d, naive_score_copies(kind));
    ClosedForm {
        value: Quantity::some(mib(naive_peak_extra_bytes_with(copies, shape, bytes)), "MiB"),
        formula: format!("({copies}·{b}·{h}·{n}²·{bytes} + 2·{b}·{h}·{n}·{d}·{bytes}) B"),
    }
}

fn forward_peak(config: &Config) -> ClosedForm {
    let (shape, bytes, causal) = (config.at(config.compare_n), config.dtype.bytes() as f64, config.causal);
    let (b, h, n, d, copies) = (shape.b, shape.h, shape.n, shape.d, naive_forward_score_copies(causal));
    ClosedForm {
        value: Quantity::some(mib(naive_forward_peak_extra_bytes(shape, bytes, causal)), "MiB"),
        formula: format!(
            "max({copies}·{b}·{h}·{n}²·{bytes}, 2·{b}·{h}·{n}²·{bytes} + {b}·{h}·{n}·{d}·{bytes}) B"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{LabSpec, Size, find_lab};

    fn lab() -> &'static LabSpec {
        find_lab("attention").expect("lab")
    }

    fn params(size: Size, mode: &str) -> Params {
        lab().params_for(size, &[("mode".into(), mode.into())]).expect("accepted")
    }

    #[test]
    fn closed_forms_at_full_size_are_the_h200_figures() {
        let forms = lab().closed_forms_on(DeviceKind::Cuda, &params(Size::Full, "both"));
        assert_eq!(forms["naive_peak_extra_mib"].value, Quantity::some(33024.0, "MiB"));
        assert_eq!(forms["naive_growth"].value, Quantity::some(4.0, "x"));
        assert_eq!(forms["naive_forward_mib"].value, Quantity::some(24576.0, "MiB"));
    }

    #[test]
    fn the_cpu_keeps_one_score_copy_less() {
        let mib = |kind| {
            lab().closed_forms_on(kind, &params(Size::Tiny, "both"))["naive_peak_extra_mib"].value.value
        };
        assert_eq!((mib(DeviceKind::Cuda), mib(DeviceKind::Cpu)), (Some(8.25), Some(6.25)));
    }

    #[test]
    fn a_mode_has_closed_forms_of_what_it_measures() {
        let names = |mode| {
            let forms = lab().closed_forms_on(DeviceKind::Cpu, &params(Size::Tiny, mode));
            forms.into_keys().collect::<Vec<_>>()
        };
        assert_eq!(names("forward"), ["naive_forward_mib"]);
        assert!(names("steps").is_empty());
    }

    #[test]
    fn a_run_begins_with_what_its_shortest_length_needs() {
        let need = |mode| lab().need(DeviceKind::Cuda, &params(Size::Full, mode));
        // b 4, h 16, n 1024, d 128 in bf16: tensors of 16 MiB, rows of 256 KiB.
        let both = need("both").expect("a sweep");
        assert!((mib(both.bytes) - (8.0 * 16.0 + 3.0 * 32.0 + 0.75)).abs() < 1e-9, "{both:?}");
        assert_eq!(both.formula, "(8·2 + 12)·4·16·1024·128 + 12·4·16·1024 B at n = 1024, fused");
        let forward = need("forward").expect("a sweep");
        assert!((mib(forward.bytes) - (4.0 * 16.0 + 32.0 + 0.75)).abs() < 1e-9, "{forward:?}");
        assert!(need("steps").is_none());
    }
}
