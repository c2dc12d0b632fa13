//! Causal multi-head attention, forward and backward: naive (explicit scores, through autograd) and fused (LibTorch
//! `scaled_dot_product_attention`), swept over the sequence length.

use std::collections::BTreeMap;

use crate::formulas::attention::{
    NAIVE_SCORE_COPIES, NAIVE_SCORE_COPIES_CPU, Shape, naive_peak_extra_bytes_with,
};
use crate::formulas::mib;
use crate::protocol::{DeviceKind, Failure, Quantity};
use crate::spec::{ClosedForm, LabCode, LabSpec, Params, embedded, param_text, param_u64};

#[cfg(feature = "torch")]
mod run;
#[cfg(feature = "torch")]
pub use run::run;

/// The lab's specification.
pub(crate) fn spec() -> LabSpec {
    let code = LabCode {
        closed_forms: Some(closed_forms),
        refusal: Some(|params, _| Config::new(params).err()),
        ..LabCode::default()
    };
    embedded(include_str!("lab.toml"), include_str!("guide.en.md"), include_str!("guide.zh.md"), code)
}

/// Element type of the inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dtype {
    /// bfloat16, 2 bytes.
    Bf16,
    /// IEEE half, 2 bytes.
    Fp16,
    /// IEEE single, 4 bytes.
    Fp32,
}

impl Dtype {
    /// Bytes per element.
    pub fn bytes(self) -> f64 {
        match self {
            Self::Bf16 | Self::Fp16 => 2.0,
            Self::Fp32 => 4.0,
        }
    }
}

/// Parameters of a run, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Shape at the largest length; `n` is replaced along the sweep.
    pub shape: Shape,
    /// Element type.
    pub dtype: Dtype,
    /// Whether the future is masked.
    pub causal: bool,
    /// `all`, or one backend's name.
    pub backend: String,
    /// Lengths, each twice the one before.
    pub lengths: Vec<u64>,
    /// Length at which predictions are judged; one of `lengths`.
    pub compare_n: u64,
    /// Timed repetitions per point.
    pub repeats: u64,
    /// Byte budget; `None`: decided on the device.
    pub budget_bytes: Option<u64>,
}

impl Config {
    /// Reads the parameters and checks how they fit together.
    pub fn new(params: &Params) -> Result<Self, Failure> {
        let (min_n, max_n) = (param_u64(params, "min_n")?, param_u64(params, "max_n")?);
        let lengths: Vec<u64> = std::iter::successors(Some(min_n.max(1)), |n| n.checked_mul(2))
            .take_while(|n| *n <= max_n)
            .collect();
        let compare_n = param_u64(params, "compare_n")?;
        if lengths.is_empty() || !lengths.contains(&compare_n) {
            return Err(Failure {
                what: format!("compare_n = {compare_n} is not one of the lengths of the sweep"),
                why: format!("min_n = {min_n} doubled up to max_n = {max_n} gives {lengths:?}"),
                next: "set compare_n to one of them, or change min_n and max_n".into(),
            });
        }
        let budget_mib = param_u64(params, "budget_mib")?;
        Ok(Self {
            shape: Shape {
                b: param_u64(params, "batch")?,
                h: param_u64(params, "heads")?,
                n: max_n,
                d: param_u64(params, "head_dim")?,
            },
            dtype: match param_text(params, "dtype")? {
                "bf16" => Dtype::Bf16,
                "fp16" => Dtype::Fp16,
                _ => Dtype::Fp32,
            },
            causal: param_text(params, "causal")? == "yes",
            backend: param_text(params, "backend")?.to_owned(),
            lengths,
            compare_n,
            repeats: param_u64(params, "repeats")?,
            budget_bytes: (budget_mib > 0).then_some(budget_mib << 20),
        })
    }

    /// The shape at length `n`.
    pub fn at(&self, n: u64) -> Shape {
        Shape { n, ..self.shape }
    }
}

/// Score copies that naive attention keeps at its peak on this kind of device.
fn naive_score_copies(kind: DeviceKind) -> f64 {
    match kind {
        DeviceKind::Cuda => NAIVE_SCORE_COPIES,
        DeviceKind::Cpu => NAIVE_SCORE_COPIES_CPU,
    }
}

fn closed_forms(params: &Params, kind: DeviceKind) -> BTreeMap<String, ClosedForm> {
    let Ok(config) = Config::new(params) else { return BTreeMap::new() };
    let shape = config.at(config.compare_n);
    let (b, h, n, d, bytes) = (shape.b, shape.h, shape.n, shape.d, config.dtype.bytes());
    let copies = naive_score_copies(kind);
    BTreeMap::from([
        (
            "naive_peak_extra_mib".into(),
            ClosedForm {
                value: Quantity::some(mib(naive_peak_extra_bytes_with(copies, shape, bytes)), "MiB"),
                formula: format!("({copies}·{b}·{h}·{n}²·{bytes} + 2·{b}·{h}·{n}·{d}·{bytes}) B"),
            },
        ),
        (
            "naive_growth".into(),
            ClosedForm { value: Quantity::some(4.0, "x"), formula: format!("{n}² / {}²", n / 2) },
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Size, find_lab};

    #[test]
    fn closed_forms_at_full_size_are_the_h200_figures() {
        let lab = find_lab("attention").expect("lab");
        let params = lab.params_for(Size::Full, &[]).expect("defaults");
        let forms = lab.closed_forms_on(DeviceKind::Cuda, &params);
        assert_eq!(forms["naive_peak_extra_mib"].value, Quantity::some(33024.0, "MiB"));
        assert_eq!(forms["naive_growth"].value, Quantity::some(4.0, "x"));
    }

    #[test]
    fn the_cpu_keeps_one_score_copy_less() {
        let lab = find_lab("attention").expect("lab");
        let params = lab.params_for(Size::Tiny, &[]).expect("defaults");
        let mib = |kind| lab.closed_forms_on(kind, &params)["naive_peak_extra_mib"].value.value;
        assert_eq!((mib(DeviceKind::Cuda), mib(DeviceKind::Cpu)), (Some(8.25), Some(6.25)));
    }

    #[test]
    fn a_comparison_outside_the_sweep_is_refused_in_words() {
        let lab = find_lab("attention").expect("lab");
        let params = lab.params_for(Size::Tiny, &[("compare_n".into(), "500".into())]).expect("in range");
        let failure = Config::new(&params).expect_err("500 is no length of the sweep");
        assert!(failure.what.contains("500") && failure.why.contains("64, 128, 256, 512"));
        assert!(lab.closed_forms_on(DeviceKind::Cuda, &params).is_empty());
    }
}
