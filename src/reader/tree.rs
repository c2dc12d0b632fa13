//! Places leaves into their containers while the parser walks the note.

use super::block::{Container, ContainerKind, Document, Kind, Leaf};
use super::style::Style;
use super::text::{LinkTarget, Text};

/// The blocks so far, and the containers that are open.
#[derive(Debug, Default)]
pub(super) struct Tree {
    leaves: Vec<Leaf>,
    footnotes: Vec<Leaf>,
    footnote_depth: usize,
    containers: Vec<Container>,
    /// What is known of each container so far.
    marks: Vec<Mark>,
    inside: Option<usize>,
    /// What to return to, for each open container.
    outer: Vec<Option<usize>>,
    lists: Vec<List>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Mark {
    has_leaf: bool,
    /// Its first leaf is the bare text of a tight item.
    tight: bool,
    /// It holds more than tight text, so the next item keeps its distance.
    blocky: bool,
    /// The item before it in the same list.
    previous: Option<usize>,
}

#[derive(Debug)]
struct List {
    next: Option<u64>,
    items: Vec<usize>,
}

impl Tree {
    pub(super) fn start_quote(&mut self) {
        self.enter(ContainerKind::Quote { correction: false }, self.inside, None);
    }

    /// Footnotes stand at the end, whatever surrounds their definition.
    pub(super) fn start_footnote(&mut self, label: String) {
        self.footnote_depth += 1;
        self.enter(ContainerKind::Footnote { label }, None, None);
    }

    pub(super) fn end_footnote(&mut self) {
        self.leave();
        self.footnote_depth = self.footnote_depth.saturating_sub(1);
    }

    pub(super) fn start_list(&mut self, first: Option<u64>) {
        self.lists.push(List { next: first, items: Vec::new() });
    }

    pub(super) fn start_item(&mut self) {
        let depth = self.lists.len().saturating_sub(1);
        let id = self.containers.len();
        let (mut number, mut previous) = (None, None);
        if let Some(list) = self.lists.last_mut() {
            number = list.next;
            previous = list.items.last().copied();
            list.next = number.map(|n| n.saturating_add(1));
            list.items.push(id);
        }
        self.enter(ContainerKind::Item { number, task: None, digits: 1, depth }, self.inside, previous);
    }

    pub(super) fn mark_task(&mut self, done: bool) {
        if let Some(ContainerKind::Item { task, .. }) = self.inside.map(|id| &mut self.containers[id].kind) {
            *task = Some(done);
        }
    }

    /// An empty item keeps its number.
    pub(super) fn end_item(&mut self) {
        if self.inside.is_some_and(|id| !self.marks[id].has_leaf) {
            self.leaf(Kind::Paragraph(Text::default()), true);
        }
        self.leave();
    }

    /// Numbers of one list are as wide as its longest.
    pub(super) fn end_list(&mut self) {
        let Some(list) = self.lists.pop() else { return };
        let Some(last) = list.next.map(|next| next.saturating_sub(1)) else { return };
        let width = last.to_string().len();
        for id in list.items {
            if let ContainerKind::Item { digits, .. } = &mut self.containers[id].kind {
                *digits = width;
            }
        }
    }

    fn enter(&mut self, kind: ContainerKind, parent: Option<usize>, previous: Option<usize>) {
        self.outer.push(self.inside);
        self.inside = Some(self.containers.len());
        self.containers.push(Container { kind, parent, first_leaf: usize::MAX });
        self.marks.push(Mark { previous, ..Mark::default() });
    }

    pub(super) fn leave(&mut self) {
        self.inside = self.outer.pop().flatten();
    }

    /// Adds a leaf. `tight` is the bare text of a list item, which stands close to its neighbours.
    pub(super) fn leaf(&mut self, mut kind: Kind, tight: bool) {
        self.find_correction(&mut kind);
        let gap = self.gap(tight);
        if let Some(mark) = self.inside.map(|id| &mut self.marks[id]).filter(|mark| !mark.has_leaf) {
            mark.tight = tight;
        }
        self.mark_chain(|mark| std::mem::replace(&mut mark.has_leaf, true));
        if !tight {
            self.mark_chain(|mark| std::mem::replace(&mut mark.blocky, true));
        }
        let leaves = if self.footnote_depth > 0 { &mut self.footnotes } else { &mut self.leaves };
        leaves.push(Leaf { kind, inside: self.inside, gap });
    }

    /// Marks the open containers from the innermost out, up to one that was marked before: those around it were too.
    fn mark_chain(&mut self, mut was_marked: impl FnMut(&mut Mark) -> bool) {
        let mut at = self.inside;
        while let Some(id) = at.filter(|id| !was_marked(&mut self.marks[*id])) {
            at = self.containers[id].parent;
        }
    }

    fn find_correction(&mut self, kind: &mut Kind) {
        if let (Kind::Paragraph(text), Some(id)) = (kind, self.inside)
            && let ContainerKind::Quote { correction } = &mut self.containers[id].kind
            && !self.marks[id].has_leaf
            && opens_correction(text)
        {
            *correction = true;
            text.mark_first(Style::CORRECTION_LABEL);
        }
    }

    /// Whether the next leaf keeps a distance from what came before it. What decides is the outermost container that
    /// it opens, and how that one stands in its parent.
    fn gap(&self, tight: bool) -> bool {
        let (mut opened, mut parent) = (None, self.inside);
        while let Some(id) = parent.filter(|id| !self.marks[*id].has_leaf) {
            (opened, parent) = (Some(id), self.containers[id].parent);
        }
        let in_tight_item = parent.is_some_and(|id| self.marks[id].tight);
        match opened.map(|id| (&self.containers[id].kind, self.marks[id].previous)) {
            Some((ContainerKind::Footnote { .. }, _)) => false,
            Some((ContainerKind::Item { .. }, Some(previous))) => !tight || self.marks[previous].blocky,
            _ => !in_tight_item,
        }
    }

    /// The document: footnotes after a rule at the end.
    pub(super) fn finish(mut self, links: Vec<LinkTarget>) -> Document {
        if !self.footnotes.is_empty() {
            self.leaves.push(Leaf { kind: Kind::Rule, inside: None, gap: true });
            self.leaves.append(&mut self.footnotes);
        }
        if let Some(first) = self.leaves.first_mut() {
            first.gap = false;
        }
        for (index, leaf) in self.leaves.iter().enumerate() {
            let mut at = leaf.inside;
            while let Some(id) = at.filter(|id| self.containers[*id].first_leaf == usize::MAX) {
                self.containers[id].first_leaf = index;
                at = self.containers[id].parent;
            }
        }
        Document { leaves: self.leaves, containers: self.containers, links }
    }
}

/// Whether a paragraph begins with the strong word that marks a correction, in either language.
fn opens_correction(text: &Text) -> bool {
    text.first_run().is_some_and(|(words, style)| {
        let word = words.trim().trim_end_matches(['.', '。', ':', '：']);
        style.has(Style::STRONG) && matches!(word, "Correction" | "订正")
    })
}
