//! A lab's specification: the `lab.toml` of its folder, its guides, and the closed forms of its predictions. The
//! app checks parameters and draws forms and charts from this; the worker trusts nothing and checks again.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::protocol::{DeviceKind, Failure, Quantity, Text};

mod params;

pub use params::{ParamError, ParamSpec, ParamValue, Params, Size, param_text, param_u64};

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
    /// What of the lab is code.
    #[serde(skip)]
    code: LabCode,
}

/// The part of a specification that is code, for parameters that [`LabSpec::params_for`] accepted.
#[derive(Debug, Clone, Copy, Default)]
pub struct LabCode {
    /// Closed form of each prediction by name; a prediction without one is absent. Some operations keep more on one
    /// kind of device than on another.
    pub closed_forms: Option<ClosedForms>,
    /// Why these parameters cannot go together, on this kind of device where it is known.
    pub refusal: Option<Refusal>,
    /// Bytes without which the run cannot begin. What a lab finds out by meeting its limit does not belong here.
    pub need: Option<fn(&Params, DeviceKind) -> Option<Need>>,
    /// Published readings to draw beside the measured ones.
    pub references: Option<fn(&Params) -> Vec<Reference>>,
}

/// Bytes that a run needs at least, with the recipe.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Need {
    /// Bytes on the device.
    pub bytes: f64,
    /// The formula with its inputs, as printed.
    pub formula: String,
}

/// A published curve.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reference {
    /// Metric id of the chart that it belongs to.
    pub metric: String,
    /// What was measured on which device: `FlashAttention-2 on H100`.
    pub name: String,
    /// Where it was published.
    pub source: String,
    /// x and y in the chart's units.
    pub points: Vec<(f64, f64)>,
}

/// See [`LabCode::refusal`].
pub type Refusal = fn(&Params, Option<DeviceKind>) -> Option<Failure>;

/// See [`LabCode::closed_forms`].
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

    /// Parameters of a run that an older version recorded: what it did not know yet has the size's default.
    pub fn completed(&self, size: Size, params: &Params) -> Params {
        let mut all: Params =
            self.params.iter().map(|p| (p.name.clone(), p.default_at(size).clone())).collect();
        all.extend(params.clone());
        all
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
        match (self.code.closed_forms, self.check(params)) {
            (Some(f), Ok(())) => f(params, kind),
            _ => BTreeMap::new(),
        }
    }

    /// Why a run with these parameters cannot begin: a value out of bounds, or values that do not go together.
    pub fn refusal(&self, params: &Params, kind: Option<DeviceKind>) -> Option<Failure> {
        if let Err(fault) = self.check(params) {
            return Some(Failure {
                what: format!("lab `{}` cannot run with these parameters", self.id),
                why: fault.to_string(),
                next: format!("see `infralab lab show {}`", self.id),
            });
        }
        self.code.refusal.and_then(|f| f(params, kind))
    }

    /// Bytes without which the run cannot begin; `None` where the lab names none or the parameters are not usable.
    pub fn need(&self, kind: DeviceKind, params: &Params) -> Option<Need> {
        self.refusal(params, Some(kind))
            .map_or_else(|| self.code.need.and_then(|f| f(params, kind)), |_| None)
    }

    /// The largest size, not above `below`, whose defaults need at most `free_bytes`.
    pub fn size_that_fits(&self, kind: DeviceKind, below: Size, free_bytes: f64) -> Option<Size> {
        Size::ALL.into_iter().rev().filter(|size| *size < below).find(|size| {
            let params = self.params_for(*size, &[]).unwrap_or_default();
            self.need(kind, &params).is_none_or(|need| need.bytes <= free_bytes)
        })
    }

    /// The refusal of a run that needs more than is free, with both numbers and what would fit.
    pub fn too_large(&self, kind: DeviceKind, need: &Need, free_bytes: f64) -> Failure {
        let gib = |bytes: f64| format!("{:.2} GiB", bytes / f64::from(1 << 30));
        let smaller = self.size_that_fits(kind, Size::Full, free_bytes);
        Failure {
            what: format!(
                "lab `{}` needs {} to begin, and {} is free",
                self.id,
                gib(need.bytes),
                gib(free_bytes)
            ),
            why: format!("needed: {}", need.formula),
            next: smaller.map_or_else(
                || "choose smaller parameters, or end what else uses the memory".into(),
                |size| format!("size `{}` fits; or choose smaller parameters", size.name()),
            ),
        }
    }

    /// Published readings for these parameters.
    pub fn references(&self, params: &Params) -> Vec<Reference> {
        match (self.code.references, self.check(params)) {
            (Some(f), Ok(())) => f(params),
            _ => Vec::new(),
        }
    }
}

/// Every lab, in the order of the route.
pub static LABS: LazyLock<Vec<LabSpec>> =
    LazyLock::new(|| vec![crate::attention::spec(), crate::memory_ledger::spec(), crate::kv_cache::spec()]);

/// The lab with this id.
pub fn find_lab(id: &str) -> Option<&'static LabSpec> {
    LABS.iter().find(|lab| lab.id == id)
}

/// Builds a specification from the three embedded files of a lab's folder.
///
/// # Panics
/// When `lab.toml` is not valid: the file is part of the program and a test reads every one.
pub fn embedded(lab_toml: &str, guide_en: &'static str, guide_zh: &'static str, code: LabCode) -> LabSpec {
    let mut spec: LabSpec = toml::from_str(lab_toml).unwrap_or_else(|e| panic!("lab.toml: {e}"));
    spec.guide_en = guide_en;
    spec.guide_zh = guide_zh;
    spec.code = code;
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
