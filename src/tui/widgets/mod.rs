//! Pieces that more than one screen draws.

pub(super) mod list;
pub(super) mod page;
pub(super) mod panel;
pub(super) mod plot;
