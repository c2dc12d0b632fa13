//! Parameters of a run, checked and typed.

use crate::dtype::Dtype;
use crate::formulas::attention::Shape;
use crate::protocol::Failure;
use crate::spec::{Params, param_text, param_u64};

/// What a run does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Sweeps the lengths: forward, then forward and backward.
    Both,
    /// Sweeps the lengths without any gradient, as inference does.
    Forward,
    /// Shows every step of one small head, forward and backward. Sweeps nothing.
    Steps,
}

impl Mode {
    /// The word of the parameter.
    pub fn name(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::Forward => "forward",
            Self::Steps => "steps",
        }
    }

    /// Why a result of forward and backward is missing in this mode; `None` where it is measured.
    pub fn lacks_backward(self) -> Option<&'static str> {
        match self {
            Self::Both => None,
            Self::Forward => Some("mode = forward runs no backward"),
            Self::Steps => self.lacks_sweep(),
        }
    }

    /// Why a result of the sweep is missing in this mode; `None` where there is a sweep.
    pub fn lacks_sweep(self) -> Option<&'static str> {
        (self == Self::Steps).then_some("mode = steps measures nothing")
    }
}

/// Parameters of a run, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// What the run does.
    pub mode: Mode,
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
            mode: match param_text(params, "mode")? {
                "forward" => Mode::Forward,
                "steps" => Mode::Steps,
                _ => Mode::Both,
            },
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
