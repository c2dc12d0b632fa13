//! Whole notes through parse and layout.

mod fixtures;
mod properties;
