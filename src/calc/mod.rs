//! Calculators: every closed form with its inputs, its answer itemised, and the formula with the numbers put in.
//! Text in, answer out; no terminal. The closed forms themselves are in `infralab_labs::formulas`.

mod answer;
mod input;
mod inputs;
mod number;
mod resolve;
mod shown;
mod substitute;
mod tables;
mod topics;

#[cfg(test)]
mod tests;

pub use answer::{Answer, Note, Row};
pub use input::{Dim, Input, Kind};
pub use resolve::{Origin, Resolved, Value};
pub use shown::{formula_number, grouped, told};
pub use tables::{GPUS, Gpu, MODELS, Model};

use resolve::Values;

use crate::lang::{Both, Lang};

/// A text of the program in both languages.
pub type Text = Both<&'static str>;

/// A [`Text`].
pub(crate) const fn text(en: &'static str, zh: &'static str) -> Text {
    Both { en, zh }
}

/// What calculators are about, in the order of lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Topic {
    /// What fits on a device.
    Fits,
    /// Parameter counts.
    Parameters,
    /// KV cache.
    Kv,
    /// Weights, gradients, optimizer state, and their shards.
    TrainingState,
    /// Activations and logits.
    Activations,
    /// Operations and utilisation.
    Compute,
    /// Arithmetic intensity.
    Roofline,
    /// Prefill and decode.
    Decode,
    /// Batches, blocks, drafts, latencies.
    Serving,
    /// Collectives.
    Communication,
    /// Pipeline bubbles and batches.
    Parallelism,
    /// Checkpoints and failures.
    Failures,
    /// What readings show.
    Observation,
}

impl Topic {
    /// All, in order.
    pub const ALL: [Self; 13] = [
        Self::Fits,
        Self::Parameters,
        Self::Kv,
        Self::TrainingState,
        Self::Activations,
        Self::Compute,
        Self::Roofline,
        Self::Decode,
        Self::Serving,
        Self::Communication,
        Self::Parallelism,
        Self::Failures,
        Self::Observation,
    ];

    /// Name in `lang`.
    pub fn name(self, lang: Lang) -> &'static str {
        let (en, zh) = match self {
            Self::Fits => ("What fits", "放得下吗"),
            Self::Parameters => ("Parameters", "参数量"),
            Self::Kv => ("KV cache", "KV cache"),
            Self::TrainingState => ("Training state", "训练状态"),
            Self::Activations => ("Activations", "激活值"),
            Self::Compute => ("FLOPs and MFU", "FLOPs 与 MFU"),
            Self::Roofline => ("Roofline", "Roofline"),
            Self::Decode => ("Prefill and decode", "Prefill 与 decode"),
            Self::Serving => ("Serving", "推理服务"),
            Self::Communication => ("Communication", "通信"),
            Self::Parallelism => ("Pipeline and scaling", "流水线与扩展"),
            Self::Failures => ("Checkpoints and failures", "检查点与故障"),
            Self::Observation => ("Observation", "观测"),
        };
        lang.pick(en, zh)
    }
}

/// One closed form that can be asked.
#[derive(Debug)]
pub struct Calculator {
    /// Name on the command line.
    pub name: &'static str,
    /// What it belongs to.
    pub topic: Topic,
    /// A few words.
    pub title: Text,
    /// What it answers and what to watch.
    pub what: Text,
    /// Inputs, without `model`, `gpu` and `dtype`; [`Calculator::all_inputs`] has those too.
    pub inputs: &'static [Input],
    /// The formula in the inputs' names.
    pub formula: &'static str,
    /// Where the formula is from.
    pub source: &'static str,
    compute: fn(&Values) -> Answer,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The input it is about.
    pub input: Option<String>,
    /// What is wrong and what to give instead.
    pub text: Both<String>,
}

impl Fault {
    fn of(input: &str, en: impl Into<String>, zh: impl Into<String>) -> Self {
        Self { input: Some(input.to_owned()), text: Both { en: en.into(), zh: zh.into() } }
    }
}

impl Calculator {
    /// `model`, `gpu` and `dtype` where the inputs take values from the tables, then the inputs.
    pub fn all_inputs(&self) -> Vec<&'static Input> {
        inputs::choosers(self.inputs).into_iter().chain(self.inputs).collect()
    }

    /// The input of a name.
    pub fn input(&self, name: &str) -> Option<&'static Input> {
        self.all_inputs().into_iter().find(|i| i.name == name)
    }

    /// Reads what was given as `(name, text)`; what is missing comes from model, GPU or defaults.
    ///
    /// # Errors
    /// Every fault, in the order of the inputs.
    pub fn resolve(&self, given: &[(String, String)]) -> Result<Vec<Resolved>, Vec<Fault>> {
        resolve::resolve(self, given)
    }

    /// The answer for inputs that [`Calculator::resolve`] gave.
    pub fn answer(&self, resolved: &[Resolved]) -> Answer {
        let values = Values::new(self.name, resolved);
        let answer = (self.compute)(&values);
        let mut answer = answer.substituted(self.formula, resolved);
        answer.notes.extend(resolve::notes(resolved));
        answer
    }

    /// [`Calculator::resolve`], then [`Calculator::answer`].
    pub fn ask(&self, given: &[(String, String)]) -> Result<Answer, Vec<Fault>> {
        self.resolve(given).map(|resolved| self.answer(&resolved))
    }
}

/// Every calculator, topic by topic.
pub fn all() -> impl Iterator<Item = &'static Calculator> {
    topics::ALL.iter().flat_map(|of_topic| of_topic.iter())
}

/// The calculator of a name; case, `_` and blanks do not matter.
pub fn find(name: &str) -> Option<&'static Calculator> {
    let name = tables::plain(name);
    all().find(|c| tables::plain(c.name) == name)
}

/// Names near a name that does not exist, nearest first, at most five.
pub fn near(name: &str) -> Vec<&'static str> {
    let wanted = name.to_lowercase();
    let parts: Vec<&str> = wanted.split(['-', '_', ' ']).filter(|p| p.len() > 1).collect();
    let mut found: Vec<(usize, &str)> = all()
        .filter_map(|c| {
            let distance = tables::distance(&tables::plain(&wanted), &tables::plain(c.name));
            let shares = c.name.split('-').any(|p| parts.contains(&p)) || c.name.starts_with(&wanted);
            let near = distance <= (wanted.chars().count() / 3).max(1);
            (shares || near).then_some((if shares { distance.min(2) } else { distance }, c.name))
        })
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, name)| name).take(5).collect()
}
