//! What a calculator says.

use super::resolve::Resolved;
use super::shown::formula_number;
use super::substitute::substitute;
use super::{Text, Value};
use crate::lang::Both;

/// A remark in both languages.
pub type Note = Both<String>;

/// One line of an answer that is itemised.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What it is.
    pub name: Text,
    /// How much; none where there is no such number.
    pub value: Option<f64>,
    /// Base unit, as [`super::told`] knows them.
    pub unit: &'static str,
    /// Its formula with the numbers put in.
    pub formula: String,
}

/// The answer, in base units.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The number; none where there is none, with a note why.
    pub value: Option<f64>,
    /// Base unit.
    pub unit: &'static str,
    /// The formula that was used, in the inputs' names: the calculator's own, or a variant that the inputs chose.
    pub symbolic: String,
    /// The formula with the numbers put in.
    pub formula: String,
    /// What it is made of, or what follows from it.
    pub rows: Vec<Row>,
    /// What to watch.
    pub notes: Vec<Note>,
    symbols: Vec<(&'static str, String)>,
}

impl Answer {
    /// A value that the calculator's own formula gives.
    pub(super) fn of(value: f64, unit: &'static str) -> Self {
        let value = value.is_finite().then_some(value);
        let (symbolic, formula) = (String::new(), String::new());
        Self { value, unit, symbolic, formula, rows: Vec::new(), notes: Vec::new(), symbols: Vec::new() }
    }

    /// No value; the note says why.
    pub(super) fn none(unit: &'static str, en: &str, zh: &str) -> Self {
        Self::of(f64::NAN, unit).note(en, zh)
    }

    /// Uses another formula than the calculator's, written with the same symbols.
    pub(super) fn by(mut self, formula: impl Into<String>) -> Self {
        self.formula = formula.into();
        self
    }

    /// A symbol of the formula that is not an input.
    pub(super) fn with(mut self, symbol: &'static str, value: f64, unit: &str) -> Self {
        self.symbols.push((symbol, formula_number(value, unit)));
        self
    }

    /// One more line.
    pub(super) fn row(mut self, name: Text, value: f64, unit: &'static str, formula: &str) -> Self {
        let value = value.is_finite().then_some(value);
        self.rows.push(Row { name, value, unit, formula: formula.to_owned() });
        self
    }

    /// One more remark.
    pub(super) fn note(mut self, en: impl Into<String>, zh: impl Into<String>) -> Self {
        self.notes.push(Both { en: en.into(), zh: zh.into() });
        self
    }

    /// Puts the numbers into every formula.
    pub(super) fn substituted(mut self, formula: &str, resolved: &[Resolved]) -> Self {
        let own = resolved.iter().map(|r| {
            let text = match &r.value {
                Value::Number(value) => formula_number(*value, r.input.unit()),
                Value::Word(word) => word.clone(),
                Value::Nothing => "∅".to_owned(),
            };
            (r.input.name, text)
        });
        let mut symbols = std::mem::take(&mut self.symbols);
        symbols.extend(own);
        self.symbolic =
            if self.formula.is_empty() { formula.to_owned() } else { std::mem::take(&mut self.formula) };
        self.formula = substitute(&self.symbolic, &symbols);
        for row in &mut self.rows {
            row.formula = substitute(&row.formula, &symbols);
        }
        self
    }
}
