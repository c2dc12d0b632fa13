//! A run read whole: the session after its last event, and its record.

use infralab_labs::protocol::Text;
use infralab_labs::spec::Size;
use infralab_labs::{LabSpec, find_lab};

use super::history::{self, Place, RunError};
use super::{LabEvent, LabSession, Record};

/// A run that nothing is added to any more.
#[derive(Debug, Clone)]
pub struct PastRun {
    /// What its events add up to.
    pub session: LabSession,
    /// The record that closes it, or one made of what there is when it was cut off.
    pub record: Record,
    /// Ships with the program: not made by this learner.
    pub shipped: bool,
}

impl PastRun {
    /// Folds the events of a run; `None` without a header.
    pub fn of(events: impl IntoIterator<Item = LabEvent>, shipped: bool) -> Option<Self> {
        let mut session = LabSession::default();
        events.into_iter().for_each(|event| session.apply(event));
        session.end_of_recording();
        let record = session.record.clone().or_else(|| Record::of(&session))?;
        Some(Self { session, record, shipped })
    }

    /// Reads a run.
    pub fn read(place: &Place) -> Result<Self, RunError> {
        let shipped = matches!(place, Place::Shipped(_));
        let name = match place {
            Place::File(path) => path.display().to_string(),
            Place::Shipped(name) => name.clone(),
        };
        Self::of(history::load(place)?, shipped).ok_or(RunError::NotARun(name))
    }

    /// Its lab, where this version has it.
    pub fn lab(&self) -> Option<&'static LabSpec> {
        find_lab(&self.record.lab)
    }

    /// The size that was asked for; readings alone have none.
    pub fn size(&self) -> Option<Size> {
        self.session.header.as_ref().filter(|_| !self.session.is_of_readings()).map(|h| h.request.size)
    }

    /// Name of the device; `None` when the worker never said.
    pub fn device(&self) -> Option<&str> {
        self.record.device.as_ref().map(|d| d.name.as_str())
    }

    /// Whether it ran to its end.
    pub fn completed(&self) -> bool {
        self.record.outcome == "completed"
    }

    /// What on the machine disturbed it.
    pub fn disturbances(&self) -> &[Text] {
        &self.record.env.disturbances
    }
}
