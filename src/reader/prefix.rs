//! What stands left of a block: quote bars, bullets, numbers and their indentation.

use super::block::{ContainerKind, Document};
use super::chrome::Chrome;
use super::glyph::width;
use super::style::Style;
use super::text::Span;

/// Cells that text keeps where there are that many, however deep it is nested.
const MIN_TEXT: usize = 10;
/// A wider marker stands on a row of its own.
const MAX_MARKER: usize = 12;

/// The left edge of one leaf.
#[derive(Debug, Default)]
pub(super) struct Prefix {
    /// For its first row.
    pub(super) first: Vec<Span>,
    /// For the others.
    pub(super) rest: Vec<Span>,
    /// Cells of either.
    pub(super) width: usize,
    /// Numbers, task boxes and labels that found no room.
    pub(super) homeless: Vec<String>,
    /// What the quotes around it make of its text.
    pub(super) style: Style,
}

impl Prefix {
    /// The left edge of `leaf` on rows of `total` cells. Indentation stops where half of the row is used up.
    pub(super) fn of(document: &Document, leaf: usize, total: usize, chrome: Chrome) -> Self {
        let room = total - total.min(MIN_TEXT.max(total / 2));
        let mut chain: Vec<usize> = document.around(leaf).collect();
        chain.reverse();
        let mut prefix = Self::default();
        let mut full = false;
        for id in chain {
            let container = &document.containers[id];
            let (marker, bar) = match &container.kind {
                ContainerKind::Quote { correction } => {
                    let style = if *correction { Style::CORRECTION } else { Style::QUOTE };
                    prefix.style |= style;
                    (format!("{} ", chrome.quote_bar(*correction)), Some(style))
                }
                kind => (marker(kind, chrome), None),
            };
            let cells = width(&marker);
            full = full || prefix.width + cells > room || cells > MAX_MARKER;
            let opens = container.first_leaf == leaf;
            if full {
                if opens && bar.is_none() && !is_bullet(&container.kind) {
                    prefix.homeless.push(marker.trim().to_owned());
                }
                continue;
            }
            prefix.width += cells;
            let blank = Span::chrome(" ".repeat(cells), Style::PLAIN);
            let span = Span::chrome(marker, bar.unwrap_or_default());
            prefix.rest.push(if bar.is_some() { span.clone() } else { blank.clone() });
            prefix.first.push(if bar.is_some() || opens { span } else { blank });
        }
        prefix
    }

    /// The left edge of the empty row between two leaves: the bars of the quotes that hold both.
    pub(super) fn between(document: &Document, above: &Self, before: usize, after: usize) -> Vec<Span> {
        let ids = |leaf| {
            let mut chain: Vec<usize> = document.around(leaf).collect();
            chain.reverse();
            chain
        };
        let shared = ids(before).iter().zip(&ids(after)).take_while(|(a, b)| a == b).count();
        let mut spans: Vec<Span> = above.rest[..shared.min(above.rest.len())].to_vec();
        while spans.pop_if(|span| span.text.trim().is_empty()).is_some() {}
        spans
    }
}

fn is_bullet(kind: &ContainerKind) -> bool {
    matches!(kind, ContainerKind::Item { number: None, task: None, .. })
}

fn marker(kind: &ContainerKind, chrome: Chrome) -> String {
    match kind {
        ContainerKind::Quote { .. } => String::new(),
        ContainerKind::Footnote { label } => format!("[{label}] "),
        ContainerKind::Item { number, task, digits, depth } => {
            let task = match task {
                Some(true) => "[x] ",
                Some(false) => "[ ] ",
                None => "",
            };
            match number {
                Some(number) => format!("{number:>digits$}. {task}"),
                None if task.is_empty() => format!("{} ", chrome.bullet(*depth)),
                None => task.to_owned(),
            }
        }
    }
}
