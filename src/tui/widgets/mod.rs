//! Pieces that more than one screen draws.

pub(super) mod gauges;
pub(super) mod list;
pub(super) mod page;
pub(super) mod playback;
pub(super) mod plot;
