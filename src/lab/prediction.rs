//! What a learner commits to before a run, and how it is judged afterwards.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Predictions by name, in the units of the lab's specification.
pub type Predictions = BTreeMap<String, Prediction>;

/// Within this share of the closed form, a measurement agrees with it: 5 %.
pub const AGREEMENT: f64 = 0.05;

/// A committed number. Older runs hold the bare number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Prediction {
    /// The number, above 0.
    pub value: f64,
    /// An interval that the learner is 80 % sure of, ends included; it holds `value`.
    pub interval: Option<(f64, f64)>,
    /// On which side of the closed form the measurement will be.
    pub side: Option<Side>,
}

/// Where a measurement lies against the closed form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// More than 5 % below.
    Below,
    /// Within 5 %.
    About,
    /// More than 5 % above.
    Above,
}

impl Side {
    /// All, lowest first.
    pub const ALL: [Self; 3] = [Self::Below, Self::About, Self::Above];

    /// Where `measured` lies against `closed_form`.
    pub fn of(measured: f64, closed_form: f64) -> Self {
        if (measured - closed_form).abs() <= AGREEMENT * closed_form.abs() {
            Self::About
        } else if measured < closed_form {
            Self::Below
        } else {
            Self::Above
        }
    }

    /// The word on the command line and in files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Below => "below",
            Self::About => "about",
            Self::Above => "above",
        }
    }
}

impl std::str::FromStr for Side {
    type Err = PredictionError;
    fn from_str(text: &str) -> Result<Self, PredictionError> {
        Self::ALL
            .into_iter()
            .find(|s| s.word() == text)
            .ok_or_else(|| PredictionError::NotASide(text.to_owned()))
    }
}

/// A prediction that cannot be used.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PredictionError {
    /// Not a finite number above 0.
    #[error("`{0}` is not a number above 0, such as 1234.5")]
    NotANumber(String),
    /// Only one end, or ends in the wrong order.
    #[error("the interval `{0}` needs two ends, the lower first, such as 30..50")]
    NotAnInterval(String),
    /// The number lies outside of its own interval.
    #[error("{value} is not within its own interval {low}..{high}")]
    Outside {
        /// The number.
        value: f64,
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// None of the three words.
    #[error("`{0}` is not one of below, about (within 5 %), above")]
    NotASide(String),
}

impl Prediction {
    /// A number with its interval and side, checked.
    pub fn new(
        value: f64,
        interval: Option<(f64, f64)>,
        side: Option<Side>,
    ) -> Result<Self, PredictionError> {
        let usable = |v: f64| v.is_finite() && v > 0.0;
        if !usable(value) {
            return Err(PredictionError::NotANumber(value.to_string()));
        }
        if let Some((low, high)) = interval {
            if !usable(low) || !usable(high) || low > high {
                return Err(PredictionError::NotAnInterval(format!("{low}..{high}")));
            }
            if !(low..=high).contains(&value) {
                return Err(PredictionError::Outside { value, low, high });
            }
        }
        Ok(Self { value, interval, side })
    }

    /// The bare number, for a learner who gives no more.
    pub fn number(value: f64) -> Result<Self, PredictionError> {
        Self::new(value, None, None)
    }

    /// Whether `measured` lies in the interval; `None` without one.
    pub fn held(&self, measured: f64) -> Option<bool> {
        self.interval.map(|(low, high)| (low..=high).contains(&measured))
    }

    /// `|ln(predicted / measured)|`: 0 is exact, 0.69 is off by a factor of 2. `None` when nothing above 0 was measured.
    pub fn log_error(&self, measured: f64) -> Option<f64> {
        (measured > 0.0 && measured.is_finite()).then(|| (self.value / measured).ln().abs())
    }
}

/// A number as people type it: full-width digits and thousands separators included.
pub fn number(text: &str) -> Result<f64, PredictionError> {
    use unicode_normalization::UnicodeNormalization;
    let plain: String = text.nfkc().filter(|c| *c != ',' && *c != '_').collect();
    plain
        .trim()
        .parse()
        .ok()
        .filter(|v: &f64| v.is_finite() && *v > 0.0)
        .ok_or_else(|| PredictionError::NotANumber(text.trim().to_owned()))
}

impl std::str::FromStr for Prediction {
    type Err = PredictionError;

    /// `VALUE`, then in any order `LOW..HIGH` and `below`, `about` or `above`, separated by colons.
    fn from_str(text: &str) -> Result<Self, PredictionError> {
        let mut parts = text.split(':');
        let value = number(parts.next().unwrap_or_default())?;
        let (mut interval, mut side) = (None, None);
        for part in parts {
            match part.split_once("..") {
                Some((low, high)) => {
                    let not_an_interval = |_| PredictionError::NotAnInterval(part.to_owned());
                    interval =
                        Some((number(low).map_err(not_an_interval)?, number(high).map_err(not_an_interval)?));
                }
                None => side = Some(part.trim().parse()?),
            }
        }
        Self::new(value, interval, side)
    }
}

/// How a prediction stands in a file.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Number(f64),
    Whole {
        value: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        interval: Option<(f64, f64)>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        side: Option<Side>,
    },
}

impl From<Written> for Prediction {
    fn from(written: Written) -> Self {
        match written {
            Written::Number(value) => Self { value, interval: None, side: None },
            Written::Whole { value, interval, side } => Self { value, interval, side },
        }
    }
}

impl From<Prediction> for Written {
    fn from(Prediction { value, interval, side }: Prediction) -> Self {
        if interval.is_none() && side.is_none() {
            Self::Number(value)
        } else {
            Self::Whole { value, interval, side }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prediction_is_read_as_typed() {
        let whole: Prediction = "33,024:30_000..36000:above".parse().expect("valid");
        assert_eq!(
            whole,
            Prediction { value: 33024.0, interval: Some((30000.0, 36000.0)), side: Some(Side::Above) }
        );
        assert_eq!("４:about".parse::<Prediction>().expect("valid").side, Some(Side::About));
        assert_eq!("4".parse::<Prediction>(), Prediction::number(4.0));
    }

    #[test]
    fn what_cannot_be_judged_is_refused_in_words() {
        let refused = |text: &str| text.parse::<Prediction>().expect_err(text).to_string();
        assert!(refused("-4").contains("above 0"));
        assert!(refused("nan").contains("above 0"));
        assert!(refused("").contains("above 0"));
        assert!(refused("4:5..3").contains("lower first"));
        assert!(refused("4:5..").contains("two ends"));
        assert!(refused("4:5..6").contains("within its own interval"));
        assert!(refused("4:higher").contains("below, about"));
    }

    #[test]
    fn judging_knows_interval_side_and_factor() {
        let prediction: Prediction = "100:80..120:about".parse().expect("valid");
        assert_eq!((prediction.held(120.0), prediction.held(121.0)), (Some(true), Some(false)));
        assert!((prediction.log_error(200.0).expect("positive") - 2.0_f64.ln()).abs() < 1e-12);
        assert_eq!(prediction.log_error(0.0), None);
        assert_eq!(
            [94.0, 95.0, 105.0, 106.0].map(|m| Side::of(m, 100.0)),
            [Side::Below, Side::About, Side::About, Side::Above]
        );
    }

    #[test]
    fn bare_numbers_of_older_runs_are_read_and_written_as_they_were() {
        let old: Prediction = serde_json::from_str("8.25").expect("a number");
        assert_eq!(serde_json::to_string(&old).expect("plain data"), "8.25");
        let new: Prediction = "4:3..5:below".parse().expect("valid");
        let text = serde_json::to_string(&new).expect("plain data");
        assert_eq!(serde_json::from_str::<Prediction>(&text).expect("own words"), new);
    }
}
