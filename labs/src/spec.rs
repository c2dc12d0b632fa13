//! A lab's specification: the `lab.toml` of its folder, its guides, and the closed forms of its predictions. The
//! app checks parameters and draws forms and charts from this; the worker trusts nothing and checks again.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::protocol::{DeviceKind, Quantity, Text};

/// Parameters by name.
pub type Params = BTreeMap<String, ParamValue>;

/// One parameter's value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ParamValue {
    /// A whole number.
    Int(i64),
    /// A word out of the parameter's choices.
    Text(String),
}

impl std::fmt::Display for ParamValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int(n) => write!(f, "{n}"),
            Self::Text(t) => f.write_str(t),
        }
    }
}

/// `tiny` runs in seconds on two CPU cores, `small` on a laptop in under a minute, `full` is for a data-centre GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Size {
    /// Seconds on two CPU cores.
    Tiny,
    /// Under a minute on a laptop.
    Small,
    /// A data-centre GPU.
    Full,
}

impl Size {
    /// Every size, smallest first.
    pub const ALL: [Self; 3] = [Self::Tiny, Self::Small, Self::Full];

    /// The word on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tiny => "tiny",
            Self::Small => "small",
            Self::Full => "full",
        }
    }
}

impl std::str::FromStr for Size {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|s| s.name() == text)
            .ok_or_else(|| format!("unknown size `{text}`: use tiny, small or full"))
    }
}

/// Contents of `lab.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabSpec {
    /// Folder name and command-line id.
    pub id: String,
    /// Name on screens.
    pub title: Text,
    /// Phase of the route, 0 to 6.
    pub phase: u8,
    /// Glossary terms that the lab is about.
    pub terms: Vec<String>,
    /// Notes to read before.
    pub notes: Vec<String>,
    /// The question that the lab answers.
    pub question: Text,
    /// The closed forms, as shown before the run.
    pub closed_form: Text,
    /// Parameters in the order of the form.
    #[serde(rename = "param")]
    pub params: Vec<ParamSpec>,
    /// What the learner commits to before the run.
    #[serde(rename = "prediction")]
    pub predictions: Vec<PredictionSpec>,
    /// Charts, in the order of the screen.
    #[serde(rename = "chart")]
    pub charts: Vec<ChartSpec>,
    /// Guide in English (Markdown), from `guide.en.md`.
    #[serde(skip)]
    pub guide_en: &'static str,
    /// Guide in Chinese (Markdown), from `guide.zh.md`.
    #[serde(skip)]
    pub guide_zh: &'static str,
    /// Closed forms of the predictions for given parameters.
    #[serde(skip)]
    pub closed_forms: Option<ClosedForms>,
}

/// Computes, for parameters that [`LabSpec::params_for`] accepted and the kind of device that runs them, the closed
/// form of each prediction by name. A prediction without a closed form is absent.
pub type ClosedForms = fn(&Params, DeviceKind) -> BTreeMap<String, ClosedForm>;

/// A value by formula, with its recipe.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClosedForm {
    /// Value and unit.
    #[serde(flatten)]
    pub value: Quantity,
    /// The formula with its inputs, as printed.
    pub formula: String,
}

/// One parameter.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamSpec {
    /// Name in `--set name=value`.
    pub name: String,
    /// What it means.
    pub help: Text,
    /// Unit, empty for counts.
    #[serde(default)]
    pub unit: String,
    /// Smallest whole number (numbers only).
    #[serde(default)]
    pub min: Option<i64>,
    /// Largest whole number (numbers only).
    #[serde(default)]
    pub max: Option<i64>,
    /// The number must be a multiple of this (numbers only).
    #[serde(default)]
    pub multiple_of: Option<i64>,
    /// Allowed words (words only).
    #[serde(default)]
    pub choices: Vec<String>,
    /// Default at size tiny.
    pub tiny: ParamValue,
    /// Default at size small.
    pub small: ParamValue,
    /// Default at size full.
    pub full: ParamValue,
}

/// What a learner predicts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PredictionSpec {
    /// Name in `--predict name=value`, equal to the name of the measured summary value.
    pub name: String,
    /// The question.
    pub question: Text,
    /// Unit of the answer.
    pub unit: String,
}

/// A chart of measured points.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChartSpec {
    /// Metric id in events.
    pub metric: String,
    /// Title.
    pub title: Text,
    /// Name of the x axis.
    pub x: String,
    /// Unit of the y axis.
    pub unit: String,
    /// Whether both axes are logarithmic.
    #[serde(default)]
    pub log: bool,
}

/// A parameter that cannot be used. The message says what would be accepted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParamError {
    /// No parameter of that name.
    #[error("lab `{lab}` has no parameter `{name}`; it has {known}")]
    Unknown {
        /// Lab id.
        lab: String,
        /// The unknown name.
        name: String,
        /// Names that exist.
        known: String,
    },
    /// Not a whole number, or out of range, or not one of the choices.
    #[error("parameter `{name}`: `{value}` is not accepted; use {accepted}")]
    Value {
        /// Parameter name.
        name: String,
        /// What was given.
        value: String,
        /// What would be accepted.
        accepted: String,
    },
}

impl ParamSpec {
    /// Default at `size`.
    pub fn default_at(&self, size: Size) -> &ParamValue {
        match size {
            Size::Tiny => &self.tiny,
            Size::Small => &self.small,
            Size::Full => &self.full,
        }
    }

    /// Parses and checks a value as typed.
    pub fn parse(&self, text: &str) -> Result<ParamValue, ParamError> {
        let text = text.trim();
        let refused =
            || ParamError::Value { name: self.name.clone(), value: text.into(), accepted: self.accepted() };
        if !self.choices.is_empty() {
            return self
                .choices
                .iter()
                .find(|c| *c == text)
                .map(|c| ParamValue::Text(c.clone()))
                .ok_or_else(refused);
        }
        let number: i64 = text.parse().map_err(|_| refused())?;
        let in_range = self.min.is_none_or(|m| number >= m)
            && self.max.is_none_or(|m| number <= m)
            && self.multiple_of.is_none_or(|m| number % m == 0);
        if in_range { Ok(ParamValue::Int(number)) } else { Err(refused()) }
    }

    /// What the parameter accepts, in words.
    pub fn accepted(&self) -> String {
        if !self.choices.is_empty() {
            return self.choices.join(", ");
        }
        let mut text = match (self.min, self.max) {
            (Some(a), Some(b)) => format!("a whole number from {a} to {b}"),
            (Some(a), None) => format!("a whole number of at least {a}"),
            (None, Some(b)) => format!("a whole number of at most {b}"),
            (None, None) => "a whole number".into(),
        };
        if let Some(m) = self.multiple_of {
            let _ = write!(text, ", a multiple of {m}");
        }
        text
    }
}

impl LabSpec {
    /// The size's defaults with `set` on top, everything checked.
    pub fn params_for(&self, size: Size, set: &[(String, String)]) -> Result<Params, ParamError> {
        let mut params: Params =
            self.params.iter().map(|p| (p.name.clone(), p.default_at(size).clone())).collect();
        for (name, value) in set {
            let spec = self.params.iter().find(|p| &p.name == name).ok_or_else(|| ParamError::Unknown {
                lab: self.id.clone(),
                name: name.clone(),
                known: self.params.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(", "),
            })?;
            params.insert(name.clone(), spec.parse(value)?);
        }
        Ok(params)
    }

    /// Checks a complete set of parameters, as a worker that trusts nobody does.
    pub fn check(&self, params: &Params) -> Result<(), ParamError> {
        for spec in &self.params {
            let value = params.get(&spec.name).map(ToString::to_string).unwrap_or_default();
            spec.parse(&value)?;
        }
        match params.keys().find(|name| self.params.iter().all(|p| &p.name != *name)) {
            Some(name) => self.params_for(Size::Tiny, &[(name.clone(), String::new())]).map(|_| ()),
            None => Ok(()),
        }
    }

    /// Closed forms of the predictions at `params`, empty when a parameter is not usable. Some operations keep more on
    /// one kind of device than on another; [`crate::protocol::Hello`] tells the kind.
    pub fn closed_forms_on(&self, kind: DeviceKind, params: &Params) -> BTreeMap<String, ClosedForm> {
        match (self.closed_forms, self.check(params)) {
            (Some(f), Ok(())) => f(params, kind),
            _ => BTreeMap::new(),
        }
    }
}

/// Every lab, in the order of the route.
pub static LABS: LazyLock<Vec<LabSpec>> = LazyLock::new(|| vec![crate::attention::spec()]);

/// The lab with this id.
pub fn find_lab(id: &str) -> Option<&'static LabSpec> {
    LABS.iter().find(|lab| lab.id == id)
}

/// Builds a specification from the three embedded files of a lab's folder.
///
/// # Panics
/// When `lab.toml` is not valid: the file is part of the program and a test reads every one.
pub fn embedded(
    lab_toml: &str,
    guide_en: &'static str,
    guide_zh: &'static str,
    closed_forms: ClosedForms,
) -> LabSpec {
    let mut spec: LabSpec = toml::from_str(lab_toml).unwrap_or_else(|e| panic!("lab.toml: {e}"));
    spec.guide_en = guide_en;
    spec.guide_zh = guide_zh;
    spec.closed_forms = Some(closed_forms);
    spec
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lab_is_complete() {
        for lab in LABS.iter() {
            for size in Size::ALL {
                let params = lab.params_for(size, &[]).expect("defaults");
                lab.check(&params).expect("defaults pass their own check");
                let forms = lab.closed_forms_on(DeviceKind::Cuda, &params);
                for prediction in &lab.predictions {
                    if let Some(form) = forms.get(&prediction.name) {
                        assert_eq!(form.value.unit, prediction.unit, "{}", prediction.name);
                    }
                }
            }
            assert!(!lab.guide_en.trim().is_empty() && !lab.guide_zh.trim().is_empty());
            assert!((1..=5).contains(&lab.predictions.len()));
        }
    }

    #[test]
    fn bad_parameters_say_what_is_accepted() {
        let lab = find_lab("attention").expect("attention");
        let set = |k: &str, v: &str| {
            lab.params_for(Size::Tiny, &[(k.into(), v.into())]).expect_err("refused").to_string()
        };
        assert!(set("head_dim", "63").contains("choices") || set("head_dim", "63").contains("use "));
        assert!(set("max_n", "-1").contains("whole number"));
        assert!(set("max_n", "9999999999999999999999").contains("whole number"));
        assert!(set("nope", "1").contains("it has"));
    }
}
