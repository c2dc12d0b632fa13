//! From what was typed to values: given ones first, then those of model and GPU, then defaults.

use super::input::{Dim, Fill, Input, Kind};
use super::tables::{GPUS, Gpu, GpuField, MODELS, Model, Taken, named};
use super::{Calculator, Fault, Note, number, shown};
use crate::lang::Both;

/// A value of an input.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// In the base unit.
    Number(f64),
    /// A choice, a model, a GPU.
    Word(String),
    /// `none`.
    Nothing,
}

/// Where a value is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Given.
    Given,
    /// The model of this name.
    Model(String),
    /// The GPU of this name.
    Gpu(String),
    /// The default.
    Default,
}

/// An input with its value.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// Which.
    pub input: &'static Input,
    /// Its value.
    pub value: Value,
    /// Where the value is from.
    pub origin: Origin,
    /// What was typed.
    pub typed: Option<String>,
}

impl Resolved {
    /// The value for people.
    pub fn told(&self) -> String {
        match &self.value {
            Value::Number(value) => match self.input.kind {
                Kind::Number { dim: Dim::Share, .. } => shown::told(Some(*value), "frac"),
                Kind::Number { dim: Dim::Element, .. } => format!("{} B", shown::grouped(*value)),
                _ => shown::told(Some(*value), self.input.unit()),
            },
            Value::Word(word) => word.clone(),
            Value::Nothing => "none".into(),
        }
    }
}

/// Values by name, for the formulas.
pub(super) struct Values<'a> {
    calculator: &'static str,
    resolved: &'a [Resolved],
}

impl<'a> Values<'a> {
    pub(super) fn new(calculator: &'static str, resolved: &'a [Resolved]) -> Self {
        Self { calculator, resolved }
    }

    fn value(&self, name: &str) -> &'a Value {
        let found = self.resolved.iter().find(|r| r.input.name == name);
        &found.unwrap_or_else(|| panic!("{} declares no input {name}", self.calculator)).value
    }

    /// A number.
    pub(super) fn num(&self, name: &str) -> f64 {
        self.maybe(name).unwrap_or(f64::NAN)
    }

    /// A number, or `none`.
    pub(super) fn maybe(&self, name: &str) -> Option<f64> {
        match self.value(name) {
            Value::Number(value) => Some(*value),
            _ => None,
        }
    }

    /// A choice.
    pub(super) fn word(&self, name: &str) -> &'a str {
        match self.value(name) {
            Value::Word(word) => word,
            _ => "",
        }
    }

    /// A choice of `yes` and `no`.
    pub(super) fn yes(&self, name: &str) -> bool {
        self.word(name) == "yes"
    }
}

/// What was chosen before the other inputs.
#[derive(Default)]
struct Tables {
    model: Option<&'static Model>,
    gpu: Option<&'static Gpu>,
    dtype: String,
    kv_bytes: f64,
}

pub(super) fn resolve(
    calculator: &Calculator,
    given: &[(String, String)],
) -> Result<Vec<Resolved>, Vec<Fault>> {
    resolve_inputs(calculator.name, &calculator.all_inputs(), given)
}

fn resolve_inputs(
    calculator: &str,
    inputs: &[&'static Input],
    given: &[(String, String)],
) -> Result<Vec<Resolved>, Vec<Fault>> {
    let mut faults: Vec<Fault> = Vec::new();
    for (i, (name, _)) in given.iter().enumerate() {
        if !inputs.iter().any(|input| input.name == name) {
            faults.push(unknown_input(calculator, name, inputs));
        } else if given[..i].iter().any(|(before, _)| before == name) {
            faults.push(Fault::of(name, format!("{name} is given twice"), format!("{name} 给了两次")));
        }
    }
    let mut tables = Tables { kv_bytes: 2.0, ..Tables::default() };
    let mut resolved: Vec<Resolved> = Vec::new();
    for input in inputs {
        let typed = given.iter().find(|(name, _)| name == input.name).map(|(_, text)| text.trim());
        let typed = typed.filter(|t| !t.is_empty());
        let found = match typed {
            Some(text) => read(input, text).map(|value| (value, Origin::Given)),
            None => fill(input, &tables),
        };
        match found {
            Ok((value, origin)) => {
                remember(input, &value, &mut tables);
                resolved.push(Resolved { input, value, origin, typed: typed.map(str::to_owned) });
            }
            // What a model, a GPU or a type that cannot be read would have filled in is not missing by itself.
            Err(_) if typed.is_none() && input.fill.is_some() && !faults.is_empty() => {}
            Err(text) => faults.push(Fault { input: Some(input.name.to_owned()), text }),
        }
    }
    if faults.is_empty() { Ok(resolved) } else { Err(faults) }
}

/// Keeps what later inputs are filled from.
fn remember(input: &Input, value: &Value, tables: &mut Tables) {
    match (input.kind, value) {
        (Kind::Model, Value::Word(name)) => tables.model = MODELS.iter().find(|m| m.name == *name),
        (Kind::Gpu, Value::Word(name)) => tables.gpu = GPUS.iter().find(|g| g.name == *name),
        (Kind::Choice(_), Value::Word(word)) if input.name == "dtype" => tables.dtype.clone_from(word),
        (Kind::Number { .. }, Value::Number(bytes)) if input.name == "kv_bytes" => tables.kv_bytes = *bytes,
        _ => {}
    }
}

fn unknown_input(calculator: &str, name: &str, inputs: &[&'static Input]) -> Fault {
    let names = inputs.iter().map(|i| i.name).collect::<Vec<_>>().join(", ");
    Fault::of(
        name,
        format!("{calculator} has no input `{name}`; it has {names}"),
        format!("{calculator} 没有输入项 `{name}`；它有 {names}"),
    )
}

/// Reads what was typed.
fn read(input: &Input, text: &str) -> Result<Value, Both<String>> {
    let nothing = matches!(text.to_lowercase().as_str(), "none" | "-" | "无");
    match input.kind {
        Kind::Number { .. } if input.optional && nothing => Ok(Value::Nothing),
        Kind::Number { dim, min, max } => {
            let value = number::parse(text, dim, input.unit).map_err(|why| Both {
                en: format!("{}: {}", input.name, why.en),
                zh: format!("{}：{}", input.name, why.zh),
            })?;
            if value < min || value > max {
                return Err(out_of_bounds(input, text, min, max));
            }
            Ok(Value::Number(value))
        }
        Kind::Model | Kind::Gpu if nothing => Ok(Value::Nothing),
        Kind::Choice(_) | Kind::Model | Kind::Gpu => {
            let choices = input.choices();
            let text = match text {
                "1" | "true" if choices.contains(&"yes") => "yes",
                "0" | "false" if choices.contains(&"no") => "no",
                text => text,
            };
            let found = named(text, &choices);
            found.map(|name| Value::Word(name.to_owned())).map_err(|near| unknown_word(input, text, &near))
        }
    }
}

fn out_of_bounds(input: &Input, text: &str, min: f64, max: f64) -> Both<String> {
    let of = |value: f64| match input.kind {
        Kind::Number { dim, .. } => shown::formula_number(value, dim.unit()),
        _ => String::new(),
    };
    let (en, zh) = if max >= 1e18 {
        (format!("at least {}", of(min)), format!("至少 {}", of(min)))
    } else {
        (format!("from {} to {}", of(min), of(max)), format!("{} 到 {}", of(min), of(max)))
    };
    let name = input.name;
    Both {
        en: format!("{name}: `{text}` is out of bounds; {en}"),
        zh: format!("{name}：`{text}` 超出范围；{zh}"),
    }
}

fn unknown_word(input: &Input, text: &str, near: &[&str]) -> Both<String> {
    let mut choices = if near.is_empty() { input.choices() } else { near.to_vec() };
    choices.retain(|c| *c != "none");
    let there = choices.join(", ");
    let name = input.name;
    let text: String = text.chars().take(60).collect();
    match input.kind {
        Kind::Model => Both {
            en: format!(
                "model: no `{text}` in the table; there is {there}. Or model=none and the shape itself"
            ),
            zh: format!("model：表中没有 `{text}`；有 {there}。也可以写 model=none 并直接给出结构参数"),
        },
        Kind::Gpu => Both {
            en: format!(
                "gpu: no `{text}` in the table; there is {there}. Or gpu=none and its figures: peak=, bw=, mem="
            ),
            zh: format!("gpu：表中没有 `{text}`；有 {there}。也可以写 gpu=none 并直接给出 peak=、bw=、mem="),
        },
        _ => Both {
            en: format!("{name}: `{text}` is not one of {there}"),
            zh: format!("{name}：`{text}` 不在可选项中：{there}"),
        },
    }
}

/// A value that was not given.
fn fill(input: &'static Input, tables: &Tables) -> Result<(Value, Origin), Both<String>> {
    let name = input.name;
    let mut missing = Both { en: format!("{name} is needed"), zh: format!("缺少 {name}") };
    match input.fill {
        Some(Fill::Model(field)) => match tables.model {
            Some(model) => {
                let origin = Origin::Model(model.name.clone());
                match model.take(field, tables.kv_bytes) {
                    Taken::Number(value) => return Ok((Value::Number(value), origin)),
                    Taken::Flag(yes) => {
                        return Ok((Value::Word(if yes { "yes" } else { "no" }.to_owned()), origin));
                    }
                    Taken::Nothing => return Ok((Value::Nothing, origin)),
                    Taken::Unknown => {
                        let model = &model.name;
                        missing = Both {
                            en: format!("the table has no {name} for {model}"),
                            zh: format!("表中没有 {model} 的 {name}"),
                        };
                    }
                }
            }
            None => missing.en.push_str(" when no model is chosen"),
        },
        Some(Fill::Gpu(field)) => match tables.gpu {
            Some(gpu) => {
                if let Some(value) = gpu.take(field, &tables.dtype) {
                    return Ok((Value::Number(value), Origin::Gpu(gpu.name.clone())));
                }
                missing = no_figure(gpu, field, &tables.dtype, name);
            }
            None => missing.en.push_str(" when no GPU is chosen"),
        },
        None => {}
    }
    let Some(default) = input.default else {
        let (help, accepted) = match input.kind {
            Kind::Number { dim, .. } => (input.help, dim.accepted()),
            _ => (input.help, input.help),
        };
        return Err(Both {
            en: format!("{}; give {name}=… ({}): {}", missing.en, help.en, accepted.en),
            zh: format!("{}；请给出 {name}=…（{}）：{}", missing.zh, help.zh, accepted.zh),
        });
    };
    read(input, default).map(|value| (value, Origin::Default))
}

fn no_figure(gpu: &Gpu, field: GpuField, dtype: &str, name: &str) -> Both<String> {
    let gpu_name = &gpu.name;
    if field == GpuField::Peak {
        let there = gpu.peaks.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        return Both {
            en: format!("the table has no {dtype} peak for {gpu_name}, only {there} (dtype=…)"),
            zh: format!("表中没有 {gpu_name} 的 {dtype} 峰值，只有 {there}（dtype=…）"),
        };
    }
    Both {
        en: format!("the table has no {name} for {gpu_name}"),
        zh: format!("表中没有 {gpu_name} 的 {name}"),
    }
}

/// Sequences longer than the model was made for.
fn beyond_context(resolved: &[Resolved]) -> Option<Note> {
    let chosen = resolved.iter().find(|r| r.input.kind == Kind::Model)?;
    let Value::Word(name) = &chosen.value else { return None };
    let context = MODELS.iter().find(|m| m.name == *name)?.context;
    let long = resolved.iter().find(|r| {
        let tokens = matches!(r.value, Value::Number(tokens) if tokens > context);
        tokens
            && matches!(r.input.name, "s" | "ctx")
            && matches!(r.input.kind, Kind::Number { dim: Dim::Whole, .. })
    })?;
    let (input, context) = (long.input.name, shown::grouped(context));
    Some(Both {
        en: format!("{input} is longer than the context of {name}, {context}"),
        zh: format!("{input} 超过了 {name} 的上下文长度 {context}"),
    })
}

/// What was read in one of two common ways, and what was mixed.
pub(super) fn notes(resolved: &[Resolved]) -> Vec<Note> {
    let mut notes = Vec::new();
    for of in resolved {
        let (Some(typed), Value::Number(value)) = (&of.typed, &of.value) else { continue };
        let whole = matches!(of.input.kind, Kind::Number { dim: Dim::Whole, .. });
        if whole && of.input.unit == "token" && typed.ends_with(['k', 'K']) {
            let (name, value) = (of.input.name, shown::grouped(*value));
            let other = format!("{typed}i");
            notes.push(Both {
                en: format!("{name}={typed} is {value}; {other} counts in 1024"),
                zh: format!("{name}={typed} 即 {value}；按 1024 计请写 {other}"),
            });
        }
    }
    notes.extend(beyond_context(resolved));
    let mixed: Vec<&str> =
        resolved.iter().filter(|r| matches!(r.origin, Origin::Model(_))).map(|r| r.input.name).collect();
    let chosen = resolved.iter().find(|r| r.input.kind == Kind::Model);
    let given_shape =
        resolved.iter().any(|r| r.typed.is_some() && matches!(r.input.fill, Some(Fill::Model(_))));
    if let Some(Resolved { value: Value::Word(model), typed: None, .. }) = chosen
        && given_shape
        && !mixed.is_empty()
    {
        let names = mixed.join(", ");
        notes.push(Both {
            en: format!("not given and taken from {model}: {names}"),
            zh: format!("未给出、取自 {model}：{names}"),
        });
    }
    notes
}
