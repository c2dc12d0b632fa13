//! The fields of a lab before its run: state and checks, no drawing.

use crossterm::event::{Event, KeyEvent};
use infralab_labs::LabSpec;
use infralab_labs::protocol::{DeviceChoice, RunRequest};
use infralab_labs::spec::Size;
use tui_input::Input;
use tui_input::backend::crossterm::EventHandler;

use crate::lab::prediction::number;
use crate::lab::{Prediction, Predictions};

/// One line of the form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Row {
    /// Which size's defaults.
    Size,
    /// Where to run.
    Device,
    /// A prediction, by index.
    Prediction(usize),
    /// Start.
    Run,
    /// Play the recording.
    Replay,
    /// Read the guide.
    Guide,
    /// A parameter, by index.
    Param(usize),
}

/// Where a lab can run.
const DEVICES: [DeviceChoice; 3] = [DeviceChoice::Auto, DeviceChoice::Cpu, DeviceChoice::Cuda(0)];

/// The fields and the one that has the focus.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) spec: &'static LabSpec,
    pub(super) size: Size,
    device: usize,
    pub(super) params: Vec<Input>,
    pub(super) predictions: Vec<Input>,
    at: usize,
}

impl Form {
    pub(super) fn new(spec: &'static LabSpec) -> Self {
        let mut form = Self {
            spec,
            size: Size::Tiny,
            device: 0,
            params: Vec::new(),
            predictions: vec![Input::default(); spec.predictions.len()],
            at: 0,
        };
        form.set_size(Size::Tiny);
        // Predicting is what one is here for.
        form.at = form.rows().iter().position(|r| matches!(r, Row::Prediction(_))).unwrap_or(0);
        form
    }

    /// Every row, in the order of the screen.
    pub(super) fn rows(&self) -> Vec<Row> {
        let predictions = (0..self.predictions.len()).map(Row::Prediction);
        let params = (0..self.params.len()).map(Row::Param);
        [Row::Size, Row::Device]
            .into_iter()
            .chain(predictions)
            .chain([Row::Run, Row::Replay, Row::Guide])
            .chain(params)
            .collect()
    }

    pub(super) fn at(&self) -> Row {
        self.rows()[self.at]
    }

    pub(super) fn device(&self) -> DeviceChoice {
        DEVICES[self.device]
    }

    /// Whether characters go into the focused field.
    pub(super) fn typing(&self) -> bool {
        match self.at() {
            Row::Prediction(_) => true,
            Row::Param(i) => self.spec.params[i].choices.is_empty(),
            _ => false,
        }
    }

    pub(super) fn move_by(&mut self, step: isize) {
        let last = self.rows().len() as isize - 1;
        self.at = (self.at as isize + step).clamp(0, last) as usize;
    }

    /// Moves to the first row of the next section: set-up, predictions, actions, parameters.
    pub(super) fn next_section(&mut self, step: isize) {
        let section = |r: &Row| match r {
            Row::Size | Row::Device => 0,
            Row::Prediction(_) => 1,
            Row::Run | Row::Replay | Row::Guide => 2,
            Row::Param(_) => 3,
        };
        let rows = self.rows();
        let wanted = (section(&rows[self.at]) + step).rem_euclid(4);
        self.at = rows.iter().position(|r| section(r) == wanted).unwrap_or(self.at);
    }

    /// Changes a choice; a text field moves its cursor instead.
    pub(super) fn turn(&mut self, step: isize) {
        match self.at() {
            Row::Size => {
                let at = Size::ALL.iter().position(|s| *s == self.size).unwrap_or(0);
                self.set_size(Size::ALL[(at as isize + step).rem_euclid(3) as usize]);
            }
            Row::Device => {
                self.device = (self.device as isize + step).rem_euclid(DEVICES.len() as isize) as usize;
            }
            Row::Param(i) if !self.spec.params[i].choices.is_empty() => {
                let choices = &self.spec.params[i].choices;
                let now = choices.iter().position(|c| c == self.params[i].value()).unwrap_or(0);
                let next = (now as isize + step).rem_euclid(choices.len() as isize) as usize;
                self.params[i] = Input::new(choices[next].clone());
            }
            _ => {
                use tui_input::InputRequest::{GoToNextChar, GoToPrevChar};
                if let Some(field) = self.field_mut() {
                    field.handle(if step > 0 { GoToNextChar } else { GoToPrevChar });
                }
            }
        }
    }

    pub(super) fn typed(&mut self, key: KeyEvent) {
        if let Some(field) = self.field_mut() {
            field.handle_event(&Event::Key(key));
        }
    }

    fn field_mut(&mut self) -> Option<&mut Input> {
        match self.at() {
            Row::Prediction(i) => self.predictions.get_mut(i),
            Row::Param(i) if self.spec.params[i].choices.is_empty() => self.params.get_mut(i),
            _ => None,
        }
    }

    fn set_size(&mut self, size: Size) {
        self.size = size;
        self.params = self.spec.params.iter().map(|p| Input::new(p.default_at(size).to_string())).collect();
    }

    /// Why a row's value is not accepted.
    pub(super) fn fault(&self, row: Row) -> Option<String> {
        match row {
            Row::Param(i) => {
                let spec = &self.spec.params[i];
                spec.parse(self.params[i].value()).err().map(|_| spec.accepted())
            }
            Row::Prediction(i) => match self.predictions[i].value().trim() {
                "" => None,
                text => number(text).is_err().then(|| "1234.5".to_owned()),
            },
            _ => None,
        }
    }

    /// The request and the predictions, or the first fault in words.
    pub(super) fn request(&self, seed: u64) -> Result<(RunRequest, Predictions), String> {
        let set: Vec<(String, String)> = self
            .spec
            .params
            .iter()
            .zip(&self.params)
            .map(|(spec, input)| (spec.name.clone(), input.value().trim().to_owned()))
            .collect();
        let params = self.spec.params_for(self.size, &set).map_err(|e| e.to_string())?;
        let mut predictions = Predictions::new();
        for (spec, input) in self.spec.predictions.iter().zip(&self.predictions) {
            let text = input.value().trim();
            if !text.is_empty() {
                let prediction = number(text)
                    .and_then(Prediction::number)
                    .map_err(|fault| format!("{}: {fault}", spec.name))?;
                predictions.insert(spec.name.clone(), prediction);
            }
        }
        let request = RunRequest {
            lab: self.spec.id.clone(),
            size: self.size,
            device: self.device(),
            params,
            seed,
            budget_bytes: None,
        };
        Ok((request, predictions))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::event::KeyCode;

    fn type_into(form: &mut Form, text: &str) {
        text.chars().for_each(|c| form.typed(KeyCode::Char(c).into()));
    }

    fn form() -> Form {
        Form::new(infralab_labs::find_lab("attention").expect("lab"))
    }

    #[test]
    fn predictions_and_parameters_end_up_in_the_request() {
        let mut form = form();
        type_into(&mut form, "33,024");
        form.move_by(1);
        type_into(&mut form, "４");
        let (request, predictions) = form.request(7).expect("valid");
        assert_eq!(
            predictions,
            [
                ("naive_growth".into(), Prediction::number(4.0).expect("positive")),
                ("naive_peak_extra_mib".into(), Prediction::number(33024.0).expect("positive"))
            ]
            .into()
        );
        assert_eq!((request.seed, request.size), (7, Size::Tiny));
    }

    #[test]
    fn a_size_brings_its_defaults_and_a_fault_is_told() {
        let mut form = form();
        form.next_section(-1);
        form.turn(-1);
        assert_eq!(form.size, Size::Full);
        let (request, _) = form.request(0).expect("valid");
        assert_eq!(request.params["max_n"].to_string(), "16384");
        form.next_section(-1);
        assert!(matches!(form.at(), Row::Param(0)));
        type_into(&mut form, "99999");
        assert!(form.fault(form.at()).is_some_and(|f| f.contains("from 1 to 256")));
        assert!(form.request(0).unwrap_err().contains("batch"));
    }
}
