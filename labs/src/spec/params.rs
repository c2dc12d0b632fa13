//! Parameters of a lab: names, bounds, defaults per size, and how a value is read.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::protocol::{Failure, Text};

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

/// Parameter lookups shared by the labs: the value or the failure that names the parameter.
pub fn param_u64(params: &Params, key: &str) -> Result<u64, Failure> {
    match params.get(key) {
        Some(ParamValue::Int(n)) if *n >= 0 => Ok(*n as u64),
        other => Err(Failure {
            what: format!("parameter `{key}` is not a whole number"),
            why: format!("the request holds {other:?}"),
            next: "start the lab from infralab, which fills in every parameter".into(),
        }),
    }
}

/// See [`param_u64`].
pub fn param_text<'a>(params: &'a Params, key: &str) -> Result<&'a str, Failure> {
    match params.get(key) {
        Some(ParamValue::Text(text)) => Ok(text),
        other => Err(Failure {
            what: format!("parameter `{key}` is not a word"),
            why: format!("the request holds {other:?}"),
            next: "start the lab from infralab, which fills in every parameter".into(),
        }),
    }
}
