//! Decoding with a KV cache: what it holds per token for each kind of attention, three ways to let it grow, what a
//! token costs against the floor, how many sequences fit, and the trap of a kernel planned anew for every length.

use std::collections::BTreeMap;

use crate::dtype::Dtype;
use crate::formulas::kv_cache::{cat_copied_bytes, sequences_paged};
use crate::formulas::mib;
use crate::protocol::{DeviceKind, Failure, Quantity};
use crate::spec::{ClosedForm, LabCode, LabSpec, Need, Params, embedded, param_text, param_u64};

#[cfg(feature = "torch")]
mod run;
mod shape;

#[cfg(feature = "torch")]
pub use run::run;
pub use shape::{Attention, Latent, ModelShape};

/// The lab's specification.
pub(crate) fn spec() -> LabSpec {
    let code = LabCode {
        closed_forms: Some(closed_forms),
        refusal: Some(|params, _| Config::new(params).err()),
        need: Some(|params, _| need(params)),
        ..LabCode::default()
    };
    embedded(include_str!("lab.toml"), include_str!("guide.en.md"), include_str!("guide.zh.md"), code)
}

/// One of the lab's experiments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Experiment {
    /// Bytes while the cache grows from nothing.
    Growth,
    /// Time of a token against the context, and what stands above the floor.
    Latency,
    /// A plan built for every new length.
    PlanTrap,
    /// How many sequences fit.
    Admission,
}

impl Experiment {
    /// In the order of the run.
    pub const ALL: [Self; 4] = [Self::Growth, Self::Latency, Self::PlanTrap, Self::Admission];

    /// The word in `lab.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Growth => "growth",
            Self::Latency => "latency",
            Self::PlanTrap => "plan-trap",
            Self::Admission => "admission",
        }
    }
}

/// Parameters of a run, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The model.
    pub shape: ModelShape,
    /// Element type of weights and cache.
    pub dtype: Dtype,
    /// Sequences decoded together.
    pub batch: u64,
    /// Tokens in the cache before the first decoded one.
    pub context: u64,
    /// Tokens decoded.
    pub steps: u64,
    /// Tokens of a page.
    pub page: u64,
    /// Tokens that a contiguous reservation holds.
    pub max_len: u64,
    /// What runs, in order.
    pub experiments: Vec<Experiment>,
    /// Timed repetitions.
    pub repeats: u64,
    /// Bytes for caches; `None`: decided on the device.
    pub budget_bytes: Option<u64>,
}

impl Config {
    /// Reads the parameters and checks how they fit together.
    pub fn new(params: &Params) -> Result<Self, Failure> {
        let number = |key| param_u64(params, key);
        let (context, steps, max_len) = (number("context")?, number("steps")?, number("max_len")?);
        if context + steps > max_len {
            return Err(Failure {
                what: format!("max_len = {max_len} is less than context + steps = {}", context + steps),
                why: "a contiguous reservation must hold the whole sequence".into(),
                next: "raise max_len, or lower context or steps".into(),
            });
        }
        let experiment = param_text(params, "experiment")?;
        let budget_mib = number("budget_mib")?;
        Ok(Self {
            shape: model_shape(params)?,
            dtype: match param_text(params, "dtype")? {
                "bf16" => Dtype::Bf16,
                "fp16" => Dtype::Fp16,
                _ => Dtype::Fp32,
            },
            batch: number("batch")?,
            context,
            steps,
            page: number("page")?,
            max_len,
            experiments: Experiment::ALL
                .into_iter()
                .filter(|e| experiment == "all" || e.name() == experiment)
                .collect(),
            repeats: number("repeats")?,
            budget_bytes: (budget_mib > 0).then_some(budget_mib << 20),
        })
    }

    /// Bytes that one token of one sequence leaves in the cache.
    pub fn bytes_per_token(&self) -> u64 {
        self.shape.bytes_per_token(self.dtype.bytes())
    }

    /// Tokens in the cache of a sequence when the run ends.
    pub fn tokens(&self) -> u64 {
        self.context + self.steps
    }

    /// Bytes of the weights.
    pub fn weight_bytes(&self) -> u64 {
        self.shape.parameters() * self.dtype.bytes()
    }
}

/// The named shape with the parameters that replace parts of it; 0 and `as-shape` replace nothing.
fn model_shape(params: &Params) -> Result<ModelShape, Failure> {
    let number = |key| param_u64(params, key);
    let mut shape = ModelShape::named(param_text(params, "shape")?);
    let or = |value: u64, own: u64| if value > 0 { value } else { own };
    shape.layers = or(number("layers")?, shape.layers);
    let (own_heads, own_kv_heads, own_dim) = match shape.attention {
        Attention::Heads { heads, kv_heads, head_dim } => (heads, kv_heads, head_dim),
        Attention::Latent(m) => (m.heads, m.heads, m.value),
    };
    let heads = or(number("heads")?, own_heads);
    let head_dim = or(number("head_dim")?, own_dim);
    let kv_heads = number("kv_heads")?;
    let kind = match (param_text(params, "attention")?, shape.attention) {
        ("as-shape", Attention::Latent(_)) => "mla",
        (kind, _) => kind,
    };
    let kv_heads = match (kind, kv_heads) {
        ("mla", 0) => {
            shape.attention = Attention::Latent(Latent::of_heads(heads, head_dim));
            return Ok(shape);
        }
        ("mla", n) => {
            return Err(conflict(
                format!("kv_heads = {n} with MLA"),
                "MLA caches one latent vector for all heads and has no KV heads",
            ));
        }
        ("mha", 0) => heads,
        ("mqa", 0) => 1,
        // The shape's own grouping, or four queries a head, as in Llama-3-8B.
        ("gqa", 0) if own_kv_heads < own_heads => own_kv_heads,
        ("gqa", 0) => (heads / 4).max(1),
        (_, 0) => own_kv_heads,
        ("mha", n) if n != heads => {
            return Err(conflict(
                format!("kv_heads = {n} with MHA of {heads} heads"),
                "in MHA every query head has its own head of keys and values",
            ));
        }
        ("mqa", n) if n != 1 => {
            return Err(conflict(
                format!("kv_heads = {n} with MQA"),
                "in MQA all query heads share one head of keys and values",
            ));
        }
        (_, n) => n,
    };
    if kv_heads > heads {
        return Err(conflict(
            format!("kv_heads = {kv_heads} is more than heads = {heads}"),
            "a head of keys and values that no query head reads would only take memory",
        ));
    }
    if heads % kv_heads != 0 {
        return Err(conflict(
            format!("heads = {heads} does not divide into kv_heads = {kv_heads} groups"),
            "each head of keys and values serves the same number of query heads",
        ));
    }
    shape.attention = Attention::Heads { heads, kv_heads, head_dim };
    Ok(shape)
}

fn conflict(what: String, why: &str) -> Failure {
    Failure {
        what,
        why: why.into(),
        next: "set kv_heads to a divisor of heads, or to 0 for the attention's own".into(),
    }
}

fn need(params: &Params) -> Option<Need> {
    let config = Config::new(params).ok()?;
    let cache = config.bytes_per_token() * config.tokens() * config.batch;
    let (weights, tokens, batch) = (config.weight_bytes(), config.tokens(), config.batch);
    Some(Need {
        bytes: (weights + cache) as f64,
        formula: format!(
            "weights {weights} B + cache {batch}·{tokens}·{} B at the end of the run",
            config.bytes_per_token()
        ),
    })
}

fn closed_forms(params: &Params, _: DeviceKind) -> BTreeMap<String, ClosedForm> {
    let Ok(config) = Config::new(params) else { return BTreeMap::new() };
    let (kv, tokens, batch) = (config.bytes_per_token(), config.tokens(), config.batch);
    let form =
        |value: f64, unit: &str, formula: String| ClosedForm { value: Quantity::some(value, unit), formula };
    let mut forms = BTreeMap::from([
        (
            "kv_bytes_per_token".into(),
            form(kv as f64, "B", config.shape.bytes_per_token_recipe(config.dtype.bytes())),
        ),
        ("kv_mib".into(), form(mib((kv * tokens * batch) as f64), "MiB", format!("{batch}·{tokens}·{kv} B"))),
        (
            "cat_copied_mib".into(),
            form(
                mib(cat_copied_bytes(kv * batch, 0, tokens)),
                "MiB",
                format!("{batch}·{kv} B · {tokens}·{}/2", tokens + 1),
            ),
        ),
    ]);
    if let Some(budget) = config.budget_bytes {
        let fit = sequences_paged(budget, kv, config.context, config.page);
        forms.insert(
            "sequences_paged".into(),
            form(
                fit as f64,
                "sequences",
                format!("⌊⌊{budget} B / ({}·{kv} B)⌋ / ⌈{} / {}⌉⌋", config.page, config.context, config.page),
            ),
        );
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Size, find_lab};

    fn config(size: Size, set: &[(&str, &str)]) -> Result<Config, Failure> {
        let set: Vec<_> = set.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let params = find_lab("kv-cache").expect("lab").params_for(size, &set).expect("in range");
        Config::new(&params)
    }

    #[test]
    fn every_kind_of_attention_caches_its_closed_form() {
        let bytes = |set: &[(&str, &str)]| config(Size::Full, set).expect("fits").bytes_per_token();
        assert_eq!(bytes(&[]), 131_072);
        assert_eq!(bytes(&[("attention", "mha")]), 524_288);
        assert_eq!(bytes(&[("attention", "mqa")]), 16_384);
        assert_eq!(bytes(&[("shape", "gpt2-124m")]), 36_864);
        assert_eq!(bytes(&[("shape", "gpt2-124m"), ("attention", "gqa")]), 9_216);
        assert_eq!(bytes(&[("shape", "deepseek-v3")]), 70_272);
        assert_eq!(bytes(&[("shape", "deepseek-v3"), ("attention", "mha")]), 3_997_696);
        assert_eq!(bytes(&[("attention", "mla")]), 32 * (512 + 64) * 2);
    }

    #[test]
    fn heads_that_do_not_go_together_are_refused_with_the_reason() {
        let why = |set: &[(&str, &str)]| config(Size::Tiny, set).expect_err("refused");
        assert!(why(&[("heads", "6"), ("kv_heads", "4")]).what.contains("does not divide"));
        assert!(why(&[("kv_heads", "8")]).what.contains("more than heads"));
        assert!(why(&[("attention", "mha"), ("kv_heads", "2")]).why.contains("own head"));
        assert!(why(&[("attention", "mqa"), ("kv_heads", "2")]).why.contains("share one"));
        assert!(why(&[("attention", "mla"), ("kv_heads", "2")]).why.contains("latent"));
        assert!(why(&[("max_len", "64")]).what.contains("context + steps"));
    }

    #[test]
    fn closed_forms_of_the_full_size_are_those_of_llama_3_8b() {
        let lab = find_lab("kv-cache").expect("lab");
        let params = lab.params_for(Size::Full, &[]).expect("defaults");
        let forms = lab.closed_forms_on(DeviceKind::Cuda, &params);
        let value = |name: &str| forms[name].value.value.expect("a value");
        assert!((value("kv_bytes_per_token") - 131_072.0).abs() < 0.5);
        assert!((value("kv_mib") - (8192.0 + 128.0) / 8.0).abs() < 1e-9, "{}", value("kv_mib"));
        assert!((value("sequences_paged") - 64.0).abs() < 0.5, "64 GiB of 1 GiB each");
        let need = lab.need(DeviceKind::Cuda, &params).expect("named");
        assert!((need.bytes / 16.1e9 - 1.0).abs() < 0.01, "{}", need.bytes);
    }
}
