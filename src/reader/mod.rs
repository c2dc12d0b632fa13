//! Notes as they are read: Markdown into blocks, blocks into rows of a given width. Knows no terminal; the command
//! line prints rows as plain text, the terminal interface paints them.
//!
//! - [`Document`]: the parsed note
//! - [`Layout`]: its rows at one width, with headings, links, places and search
//! - [`Style`]: what a piece of text means
//! - [`to_plain`], [`to_ansi`]: rows as text

mod block;
mod chrome;
mod find;
mod glyph;
mod html;
mod inline;
mod layout;
mod parse;
mod plain;
mod prefix;
mod style;
mod table;
mod text;
mod tree;
mod wiki;
mod wrap;

#[cfg(test)]
mod tests;

pub use block::Document;
pub use chrome::Chrome;
pub use find::Match;
pub use layout::{HeadingRow, Layout, Link, Place, Row};
pub use plain::{to_ansi, to_plain};
pub use style::Style;
pub use text::{LinkId, LinkTarget, Span};
pub use wrap::plain_lines;
