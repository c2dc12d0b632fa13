//! The fields of a lab before its run: state and checks, no drawing.

use crossterm::event::{Event, KeyEvent};
use infralab_labs::LabSpec;
use infralab_labs::protocol::{DeviceChoice, DeviceKind, RunRequest};
use infralab_labs::spec::{Params, PredictionSpec, Size};
use tui_input::Input;
use tui_input::backend::crossterm::EventHandler;

use crate::lab::prediction::{PredictionError, Side, number};
use crate::lab::{Prediction, Predictions};

/// One line of the form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Row {
    /// Which size's defaults.
    Size,
    /// Where to run.
    Device,
    /// A cell of a prediction, by index.
    Prediction(usize, Cell),
    /// Start.
    Run,
    /// Play the recording.
    Replay,
    /// Read the guide.
    Guide,
    /// A parameter, by index.
    Param(usize),
}

/// The cells of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cell {
    /// The number.
    Value,
    /// Lower end of the interval.
    Low,
    /// Upper end of the interval.
    High,
    /// Side of the closed form.
    Side,
}

impl Cell {
    pub(super) const ALL: [Self; 4] = [Self::Value, Self::Low, Self::High, Self::Side];
}

/// What the learner commits to, as typed.
#[derive(Debug, Clone, Default)]
pub(super) struct Answer {
    pub(super) value: Input,
    pub(super) low: Input,
    pub(super) high: Input,
    pub(super) side: Option<Side>,
}

impl Answer {
    fn is_empty(&self) -> bool {
        [&self.value, &self.low, &self.high].iter().all(|i| i.value().trim().is_empty())
            && self.side.is_none()
    }

    /// The prediction; `None` when nothing was typed.
    fn read(&self) -> Result<Option<Prediction>, PredictionError> {
        if self.is_empty() {
            return Ok(None);
        }
        let value = number(self.value.value())?;
        let (low, high) = (self.low.value().trim(), self.high.value().trim());
        let interval = match (low.is_empty(), high.is_empty()) {
            (true, true) => None,
            (false, false) => Some((number(low)?, number(high)?)),
            _ => return Err(PredictionError::NotAnInterval(format!("{low}..{high}"))),
        };
        Prediction::new(value, interval, self.side).map(Some)
    }
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
    pub(super) answers: Vec<Answer>,
    /// Cells of each answer: known from the size, and asked for on every frame.
    cells: Vec<&'static [Cell]>,
    at: usize,
}

impl Form {
    pub(super) fn new(spec: &'static LabSpec) -> Self {
        let mut form = Self {
            spec,
            size: Size::Tiny,
            device: 0,
            params: Vec::new(),
            answers: vec![Answer::default(); spec.predictions.len()],
            cells: Vec::new(),
            at: 0,
        };
        form.set_size(Size::Tiny);
        // Predicting is what one is here for.
        form.at = form.rows().iter().position(|r| matches!(r, Row::Prediction(..))).unwrap_or(0);
        form
    }

    /// Every row, in the order of the screen.
    pub(super) fn rows(&self) -> Vec<Row> {
        let predictions = (0..self.answers.len())
            .flat_map(|i| self.cells(i).iter().map(move |cell| Row::Prediction(i, *cell)));
        let params = (0..self.params.len()).map(Row::Param);
        [Row::Size, Row::Device]
            .into_iter()
            .chain(predictions)
            .chain([Row::Run, Row::Replay, Row::Guide])
            .chain(params)
            .collect()
    }

    /// The cells of a prediction; where there is no closed form there is no side of it.
    pub(super) fn cells(&self, prediction: usize) -> &'static [Cell] {
        self.cells[prediction]
    }

    /// Whether the line of a row ends with it.
    pub(super) fn ends_line(&self, row: Row) -> bool {
        match row {
            Row::Prediction(i, cell) => self.cells(i).last() == Some(&cell),
            _ => true,
        }
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
            Row::Prediction(_, cell) => cell != Cell::Side,
            Row::Param(i) => self.spec.params[i].choices.is_empty(),
            _ => false,
        }
    }

    /// Moves a line up or down; among the predictions the column stays.
    pub(super) fn move_by(&mut self, step: isize) {
        let rows = self.rows();
        let column = match rows[self.at] {
            Row::Prediction(_, cell) => Some(cell),
            _ => None,
        };
        let lines: Vec<usize> = (0..rows.len())
            .filter(|i| match rows[*i] {
                // The line that one leaves stays, whatever cells the next one has.
                Row::Prediction(n, cell) => {
                    let wanted = column.unwrap_or(Cell::Value);
                    let here = self.cells(n);
                    cell == if here.contains(&wanted) { wanted } else { here[here.len() - 1] }
                }
                _ => true,
            })
            .collect();
        let now = lines.iter().position(|i| *i == self.at).unwrap_or(0) as isize;
        self.at = lines[(now + step).clamp(0, lines.len() as isize - 1) as usize];
    }

    /// Moves to the next cell.
    pub(super) fn next_cell(&mut self) {
        self.at = (self.at + 1).min(self.rows().len() - 1);
    }

    /// Moves to the first row of the next section: set-up, predictions, actions, parameters.
    pub(super) fn next_section(&mut self, step: isize) {
        let section = |r: &Row| match r {
            Row::Size | Row::Device => 0,
            Row::Prediction(..) => 1,
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
            Row::Prediction(i, Cell::Side) => {
                let sides = [None, Some(Side::Below), Some(Side::About), Some(Side::Above)];
                let now = sides.iter().position(|s| *s == self.answers[i].side).unwrap_or(0);
                let next = (now as isize + step).rem_euclid(sides.len() as isize) as usize;
                self.answers[i].side = sides[next];
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
            Row::Prediction(i, cell) => {
                let answer = self.answers.get_mut(i)?;
                match cell {
                    Cell::Value => Some(&mut answer.value),
                    Cell::Low => Some(&mut answer.low),
                    Cell::High => Some(&mut answer.high),
                    Cell::Side => None,
                }
            }
            Row::Param(i) if self.spec.params[i].choices.is_empty() => self.params.get_mut(i),
            _ => None,
        }
    }

    /// Takes over the size's defaults.
    pub(super) fn set_size(&mut self, size: Size) {
        self.size = size;
        self.params = self.spec.params.iter().map(|p| Input::new(p.default_at(size).to_string())).collect();
        let params = self.spec.params_for(size, &[]).unwrap_or_default();
        let forms = self.spec.closed_forms_on(DeviceKind::Cuda, &params);
        let cells =
            |p: &PredictionSpec| if forms.contains_key(&p.name) { &Cell::ALL[..] } else { &Cell::ALL[..3] };
        self.cells = self.spec.predictions.iter().map(cells).collect();
    }

    /// Takes over a size and parameters, such as those of a recording.
    pub(super) fn set_params(&mut self, size: Size, params: &Params) {
        self.set_size(size);
        for (spec, input) in self.spec.params.iter().zip(&mut self.params) {
            if let Some(value) = params.get(&spec.name) {
                *input = Input::new(value.to_string());
            }
        }
    }

    /// Why a row's value is not accepted.
    pub(super) fn fault(&self, row: Row) -> Option<String> {
        match row {
            Row::Param(i) => {
                let spec = &self.spec.params[i];
                spec.parse(self.params[i].value()).err().map(|_| spec.accepted())
            }
            // An answer is judged as a whole; its fault stands behind its last cell.
            Row::Prediction(i, _) if self.ends_line(row) => {
                self.answers[i].read().err().map(|fault| fault.to_string())
            }
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
        for (spec, answer) in self.spec.predictions.iter().zip(&self.answers) {
            if let Some(prediction) = answer.read().map_err(|fault| format!("{}: {fault}", spec.name))? {
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
        match self.spec.refusal(&request.params, None) {
            Some(failure) => Err(format!("{}: {}; {}", failure.what, failure.why, failure.next)),
            None => Ok((request, predictions)),
        }
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
        for text in ["30000", "36000"] {
            form.next_cell();
            type_into(&mut form, text);
        }
        form.next_cell();
        form.turn(-1);
        form.move_by(1);
        assert_eq!(form.at(), Row::Prediction(1, Cell::Side), "the column stays");
        (0..3).for_each(|_| form.at -= 1);
        type_into(&mut form, "４");
        let (request, predictions) = form.request(7).expect("valid");
        assert_eq!(
            predictions,
            [
                ("naive_growth".into(), Prediction::number(4.0).expect("positive")),
                ("naive_peak_extra_mib".into(), "33024:30000..36000:above".parse().expect("valid"))
            ]
            .into()
        );
        assert_eq!((request.seed, request.size), (7, Size::Tiny));
    }

    #[test]
    fn half_an_interval_and_values_that_do_not_go_together_are_told() {
        let mut form = form();
        type_into(&mut form, "5");
        form.next_cell();
        type_into(&mut form, "4");
        assert!(form.fault(Row::Prediction(0, Cell::Side)).is_some_and(|f| f.contains("two ends")));
        assert!(form.request(0).unwrap_err().contains("two ends"));
        let mut form = self::form();
        let at = form.spec.params.iter().position(|p| p.name == "compare_n").expect("a parameter");
        form.params[at] = Input::new("300".into());
        assert!(form.request(0).unwrap_err().contains("not one of the lengths"));
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
        let batch = form.spec.params.iter().position(|p| p.name == "batch").expect("a parameter");
        form.move_by(batch as isize);
        type_into(&mut form, "99999");
        assert!(form.fault(form.at()).is_some_and(|f| f.contains("from 1 to 256")));
        assert!(form.request(0).unwrap_err().contains("batch"));
    }
}
