//! The memory of a training step, line by line: a GPT is trained for real at three batch sizes, and after each phase
//! what the allocator counts is set beside what closed forms and counted tensors name.

use std::collections::BTreeMap;

use crate::formulas::gpt_memory::{Recipe, Step};
use crate::formulas::gpt_shape::GptShape;
use crate::formulas::mib;
use crate::protocol::{DeviceKind, Failure, Quantity};
use crate::spec::{ClosedForm, LabCode, LabSpec, Need, Params, embedded, param_text, param_u64};

#[cfg(feature = "torch")]
mod run;
#[cfg(feature = "torch")]
pub use run::run;

/// Entries of the tokenizer that is trained on the corpus, and rows of the smallest model's embedding.
pub const TOKENIZER_ENTRIES: u64 = 1024;

/// The lab's specification.
pub(crate) fn spec() -> LabSpec {
    let code = LabCode {
        closed_forms: Some(closed_forms),
        refusal: Some(refusal),
        need: Some(need),
        ..LabCode::default()
    };
    embedded(include_str!("lab.toml"), include_str!("guide.en.md"), include_str!("guide.zh.md"), code)
}

/// Parameters of a run, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The parameter's word for the model.
    pub model: String,
    /// Its shape.
    pub shape: GptShape,
    /// Number formats.
    pub recipe: Recipe,
    /// Three batch sizes, growing.
    pub batches: [u64; 3],
    /// Tokens of a sequence.
    pub context: u64,
    /// Timed steps after the first two.
    pub timed_steps: u64,
    /// Learning rate.
    pub lr: f64,
    /// `auto`, or one attention backend's name.
    pub backend: String,
    /// Byte budget; `None`: decided on the device.
    pub budget_bytes: Option<u64>,
}

impl Config {
    /// Reads the parameters and checks how they fit together.
    pub fn new(params: &Params) -> Result<Self, Failure> {
        let model = param_text(params, "model")?.to_owned();
        let shape = shape(&model);
        let [first, second, third] = ["batch_1", "batch_2", "batch_3"].map(|name| param_u64(params, name));
        let batches = [first?, second?, third?];
        if batches[0] >= batches[1] || batches[1] >= batches[2] {
            return Err(Failure {
                what: format!("the three batches {batches:?} do not grow"),
                why: "each is drawn as a point of its own, from the smallest to the largest".into(),
                next: "set batch_1 < batch_2 < batch_3".into(),
            });
        }
        let context = param_u64(params, "context")?;
        if context > shape.positions {
            return Err(Failure {
                what: format!("context = {context} is longer than model {model} can read"),
                why: format!("its position embedding has {} rows", shape.positions),
                next: format!("set context to at most {}, or choose a larger model", shape.positions),
            });
        }
        let budget_mib = param_u64(params, "budget_mib")?;
        Ok(Self {
            shape,
            recipe: Recipe::from_name(param_text(params, "recipe")?).unwrap_or(Recipe::Fp32),
            batches,
            context,
            timed_steps: param_u64(params, "steps")?,
            lr: param_u64(params, "lr_e6")? as f64 * 1e-6,
            backend: param_text(params, "sdpa")?.to_owned(),
            budget_bytes: (budget_mib > 0).then_some(budget_mib << 20),
            model,
        })
    }

    /// One step at `batch`.
    pub fn step(&self, batch: u64, kind: DeviceKind) -> Step {
        Step { shape: self.shape, recipe: self.recipe, batch, context: self.context, kind }
    }
}

/// Heads divide the hidden size in every shape.
fn shape(model: &str) -> GptShape {
    let (layers, heads, hidden) = match model {
        "124m" => (12, 12, 768),
        "350m" => (24, 16, 1024),
        _ => {
            return GptShape {
                layers: 4,
                heads: 4,
                hidden: 128,
                positions: 64,
                vocabulary: TOKENIZER_ENTRIES,
            };
        }
    };
    GptShape { layers, heads, hidden, positions: 1024, vocabulary: 50_304 }
}

/// What the parameters contradict, and what this kind of device has no kernel for.
fn refusal(params: &Params, kind: Option<DeviceKind>) -> Option<Failure> {
    let config = match Config::new(params) {
        Ok(config) => config,
        Err(failure) => return Some(failure),
    };
    let backend = config.backend.as_str();
    let why = match (kind?, backend) {
        (DeviceKind::Cpu, "cudnn" | "efficient") => {
            "on the CPU LibTorch has the kernel `flash` alone; `cudnn` and `efficient` are CUDA kernels"
        }
        (DeviceKind::Cuda, "cudnn" | "flash") if config.recipe == Recipe::Fp32 => {
            "on CUDA these two kernels take fp16 and bf16 alone"
        }
        _ => return None,
    };
    Some(Failure {
        what: format!("attention backend `{backend}` does not run recipe {} here", config.recipe.name()),
        why: why.into(),
        next: "set sdpa=auto, or change the recipe or the device".into(),
    })
}

/// The peak at the smallest batch.
fn need(params: &Params, kind: DeviceKind) -> Option<Need> {
    let config = Config::new(params).ok()?;
    let step = config.step(config.batches[0], kind);
    Some(Need { bytes: step.peak().bytes() as f64, formula: peak_formula(step) })
}

fn closed_forms(params: &Params, kind: DeviceKind) -> BTreeMap<String, ClosedForm> {
    let Ok(config) = Config::new(params) else { return BTreeMap::new() };
    let [_, middle, largest] = config.batches.map(|batch| config.step(batch, kind));
    let (n, bytes) = (config.shape.parameters(), config.recipe.state().total());
    let peak = |step: Step| ClosedForm {
        value: Quantity::some(mib(step.peak().bytes() as f64), "MiB"),
        formula: peak_formula(step),
    };
    BTreeMap::from([
        (
            "state_mib".into(),
            ClosedForm {
                value: Quantity::some(mib(middle.state_bytes() as f64), "MiB"),
                formula: format!("{bytes} B · {n}"),
            },
        ),
        ("peak_2_mib".into(), peak(middle)),
        ("peak_3_mib".into(), peak(largest)),
        (
            "loss_step_0_nat".into(),
            ClosedForm {
                value: Quantity::some(config.shape.uniform_loss_nat(), "nat"),
                formula: format!("ln {}", config.shape.vocabulary),
            },
        ),
    ])
}

/// The parts of a peak with their sizes: `weights 474.4 + adam_m 474.4 + … MiB`.
fn peak_formula(step: Step) -> String {
    let peak = step.peak();
    let words: Vec<String> = peak
        .parts
        .iter()
        .map(|part| format!("{} {:.1}", part.id.replace("activations.", ""), mib(part.bytes as f64)))
        .collect();
    format!("({}) MiB", words.join(" + "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Size, find_lab};

    fn refused(set: &[(&str, &str)], kind: Option<DeviceKind>) -> Failure {
        let lab = find_lab("memory-ledger").expect("lab");
        let set: Vec<_> = set.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let params = lab.params_for(Size::Tiny, &set).expect("in range");
        lab.refusal(&params, kind).expect("refused")
    }

    #[test]
    fn closed_forms_at_full_size_are_those_of_124m() {
        let lab = find_lab("memory-ledger").expect("lab");
        let params = lab.params_for(Size::Full, &[]).expect("defaults");
        let forms = lab.closed_forms_on(DeviceKind::Cuda, &params);
        let value = |name: &str| forms[name].value.value.expect("a value");
        assert!((value("state_mib") - 1897.8).abs() < 0.1);
        assert!((value("peak_2_mib") / 14_866.0 - 1.0).abs() < 0.01);
        assert!((value("loss_step_0_nat") - 10.826).abs() < 1e-3);
        assert!(!forms.contains_key("tokens_per_s_2"), "no formula knows the throughput");
    }

    #[test]
    fn a_run_needs_the_peak_of_its_smallest_batch() {
        let lab = find_lab("memory-ledger").expect("lab");
        let params = lab.params_for(Size::Full, &[]).expect("defaults");
        let need = lab.need(DeviceKind::Cuda, &params).expect("known");
        assert!((mib(need.bytes) / 5_024.0 - 1.0).abs() < 0.02, "{need:?}");
    }

    #[test]
    fn combinations_that_cannot_be_are_refused_in_words() {
        assert!(refused(&[("batch_2", "8")], None).next.contains("batch_1 < batch_2"));
        assert!(refused(&[("context", "128")], None).why.contains("64 rows"));
        assert!(refused(&[("sdpa", "cudnn")], Some(DeviceKind::Cpu)).why.contains("CPU"));
        assert!(refused(&[("sdpa", "flash")], Some(DeviceKind::Cuda)).why.contains("bf16"));
        let lab = find_lab("memory-ledger").expect("lab");
        let flash = lab.params_for(Size::Tiny, &[("sdpa".into(), "flash".into())]).expect("in range");
        assert_eq!(lab.refusal(&flash, Some(DeviceKind::Cpu)), None);
    }
}
