//! What went wrong with the engine, in the three parts that a reader needs.

use serde::Serialize;

/// What happened, why, and what to do next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{what}: {why}\n{next}")]
pub struct Fault {
    /// What happened.
    pub what: String,
    /// Why, as far as is known.
    pub why: String,
    /// What to do next.
    pub next: String,
}

impl Fault {
    pub(super) fn new(what: impl Into<String>, why: impl Into<String>, next: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into(), next: next.into() }
    }
}

/// An installation ended early.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Interrupted {
    /// [`Cancel`](super::Cancel) was requested; what was finished is kept and the next installation goes on from it.
    #[error("interrupted; what is finished is kept, and `infralab engine install` goes on from there")]
    Cancelled,
    /// It could not go on.
    #[error(transparent)]
    Fault(#[from] Fault),
}
