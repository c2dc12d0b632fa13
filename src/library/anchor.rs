//! Anchors of headings, as GitHub makes them; Han is kept.

use std::collections::{HashMap, HashSet};

use super::slug;

/// Gives every heading of one document its anchor. Work per heading does not grow with their number.
#[derive(Debug, Default)]
pub(crate) struct Anchors {
    taken: HashSet<String>,
    next: HashMap<String, usize>,
}

impl Anchors {
    /// The anchor of a heading with this text: `what-is-it`, then `what-is-it-1` for the next of the same name.
    pub(crate) fn add(&mut self, text: &str) -> String {
        let base: String = text
            .to_lowercase()
            .chars()
            .filter_map(|c| match c {
                ' ' => Some('-'),
                c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
                _ => None,
            })
            .collect();
        let base = if base.is_empty() { slug(text) } else { base };
        if self.taken.insert(base.clone()) {
            return base;
        }
        let next = self.next.entry(base.clone()).or_default();
        loop {
            *next += 1;
            let anchor = format!("{base}-{next}");
            if self.taken.insert(anchor.clone()) {
                return anchor;
            }
        }
    }
}
