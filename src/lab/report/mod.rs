//! Runs as pages for a learner's own repository. A page is made of [`document`] blocks and written as Markdown, HTML
//! or plain text.

pub mod comparison;
pub mod document;
pub mod html;
pub mod markdown;
mod parts;
pub mod run;
pub mod text;
