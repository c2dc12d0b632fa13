//! The fields of a calculator: what was typed, and the answer to it. State, no drawing.

use crossterm::event::{Event, KeyEvent};
use tui_input::Input as Text;
use tui_input::backend::crossterm::EventHandler;

use crate::calc::{Answer, Calculator, Fault, Input, Kind, Resolved, Value};

/// A calculator being asked.
#[derive(Debug)]
pub(super) struct CalcForm {
    pub(super) calculator: &'static Calculator,
    pub(super) inputs: Vec<&'static Input>,
    /// What was typed, empty where nothing was.
    pub(super) fields: Vec<Text>,
    /// Values and answer of the last time that every field was right.
    pub(super) good: Option<(Vec<Resolved>, Answer)>,
    /// What is wrong now; empty when `good` answers what is typed.
    pub(super) faults: Vec<Fault>,
    at: usize,
}

impl CalcForm {
    pub(super) fn new(calculator: &'static Calculator) -> Self {
        let inputs = calculator.all_inputs();
        let fields = vec![Text::default(); inputs.len()];
        let mut form = Self { calculator, inputs, fields, good: None, faults: Vec::new(), at: 0 };
        form.ask();
        form
    }

    /// The field that has the focus.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Whether characters go into it.
    pub(super) fn typing(&self) -> bool {
        matches!(self.inputs[self.at].kind, Kind::Number { .. })
    }

    pub(super) fn move_by(&mut self, step: isize) {
        self.at = self.at.saturating_add_signed(step).min(self.inputs.len() - 1);
    }

    pub(super) fn typed(&mut self, key: KeyEvent) {
        if self.typing() && self.fields[self.at].handle_event(&Event::Key(key)).is_some() {
            self.ask();
        }
    }

    /// The next choice; in a text the cursor moves.
    pub(super) fn turn(&mut self, step: isize) {
        use tui_input::InputRequest::{GoToNextChar, GoToPrevChar};
        let choices = self.inputs[self.at].choices();
        if choices.is_empty() {
            self.fields[self.at].handle(if step > 0 { GoToNextChar } else { GoToPrevChar });
            return;
        }
        let now = self.chosen(self.at);
        let now = choices.iter().position(|c| Some(*c) == now.as_deref()).unwrap_or(0);
        let next = (now as isize + step).rem_euclid(choices.len() as isize) as usize;
        self.fields[self.at] = Text::new(choices[next].to_owned());
        self.ask();
    }

    /// The word of a choice: typed, else what fills it.
    pub(super) fn chosen(&self, at: usize) -> Option<String> {
        let typed = self.fields[at].value();
        if !typed.is_empty() {
            return Some(typed.to_owned());
        }
        match &self.resolved(at)?.value {
            Value::Word(word) => Some(word.clone()),
            _ => Some("none".to_owned()),
        }
    }

    /// The value of a field when all was right.
    pub(super) fn resolved(&self, at: usize) -> Option<&Resolved> {
        self.good.as_ref()?.0.iter().find(|r| r.input.name == self.inputs[at].name)
    }

    /// What is wrong with a field.
    pub(super) fn fault(&self, at: usize) -> Option<&Fault> {
        self.faults.iter().find(|f| f.input.as_deref() == Some(self.inputs[at].name))
    }

    /// The same question on the command line.
    pub(super) fn command(&self) -> String {
        let given = self.given();
        given.iter().fold(format!("infralab calc {}", self.calculator.name), |line, (name, text)| {
            let quote = if text.contains(|c: char| c.is_whitespace() || c == '\'') { "\"" } else { "" };
            format!("{line} {name}={quote}{text}{quote}")
        })
    }

    fn given(&self) -> Vec<(String, String)> {
        let typed = self.inputs.iter().zip(&self.fields);
        typed
            .map(|(input, field)| (input.name.to_owned(), field.value().trim().to_owned()))
            .filter(|(_, text)| !text.is_empty())
            .collect()
    }

    fn ask(&mut self) {
        match self.calculator.resolve(&self.given()) {
            Ok(resolved) => {
                let answer = self.calculator.answer(&resolved);
                self.good = Some((resolved, answer));
                self.faults.clear();
            }
            Err(faults) => self.faults = faults,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::event::KeyCode;

    fn form(name: &str) -> CalcForm {
        CalcForm::new(crate::calc::find(name).expect("a calculator"))
    }

    fn go(form: &mut CalcForm, name: &str) {
        form.at = form.inputs.iter().position(|i| i.name == name).expect("an input");
    }

    fn type_into(form: &mut CalcForm, text: &str) {
        text.chars().for_each(|c| form.typed(KeyCode::Char(c).into()));
    }

    #[test]
    fn every_key_answers_and_a_fault_keeps_the_last_answer() {
        let mut form = form("kv-cache");
        let value = |form: &CalcForm| form.good.as_ref().and_then(|(_, answer)| answer.value);
        assert_eq!(value(&form), Some(131_072.0 * 8192.0));
        go(&mut form, "ctx");
        type_into(&mut form, "1");
        assert_eq!(value(&form), Some(131_072.0));
        type_into(&mut form, "x");
        assert_eq!(value(&form), Some(131_072.0), "the last good answer stays");
        assert!(form.fault(form.at()).is_some());
        form.typed(KeyCode::Backspace.into());
        assert!(form.faults.is_empty());
        assert_eq!(form.command(), "infralab calc kv-cache ctx=1");
    }

    #[test]
    fn models_and_choices_turn_and_come_round() {
        let mut form = form("zero");
        go(&mut form, "stage");
        for wanted in ["1", "2", "3", "0"] {
            form.turn(1);
            assert_eq!(form.chosen(form.at()).as_deref(), Some(wanted));
        }
        go(&mut form, "model");
        let count = form.inputs[form.at()].choices().len();
        let before = form.chosen(form.at());
        for _ in 0..count {
            form.turn(-1);
        }
        assert_eq!(form.chosen(form.at()), before);
        assert!(!form.typing());
    }
}
