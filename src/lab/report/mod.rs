//! Runs as pages for a learner's own repository. A page is made of [`document`] blocks and written as Markdown or
//! HTML; terminals show the Markdown through the reader.

pub mod calibration;
pub mod comparison;
pub mod document;
pub mod html;
pub mod markdown;
mod page;
mod parts;
mod picture;
pub mod route;
pub mod run;

pub use page::{Report, pick};

#[cfg(test)]
mod tests;
