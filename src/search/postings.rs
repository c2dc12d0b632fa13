//! The inverted index in memory: which document holds which token, and where.
//!
//! A list is a run of variable-length numbers, document after document: distance from the document before, bytes of
//! the places, distances of the places. Lists only grow at their end, so a document that changed is added anew under
//! the next number and its old number is forgotten.

use super::vocabulary::WordId;

/// Number of a document.
pub(super) type DocId = u32;

/// Documents that hold a token.
#[derive(Debug, Clone, Default)]
struct List {
    bytes: Vec<u8>,
    /// 1 + the last document; 0 for an empty list.
    next: DocId,
}

/// All lists, by token.
#[derive(Debug, Default)]
pub(super) struct Postings {
    lists: Vec<List>,
    scratch: Vec<u8>,
}

/// Where something stands: documents in order, each with its places in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Places {
    /// Documents with the end of their places in `at`.
    docs: Vec<(DocId, u32)>,
    at: Vec<u32>,
}

impl Places {
    /// Documents with their places.
    pub(super) fn iter(&self) -> impl Iterator<Item = (DocId, &[u32])> {
        let mut start = 0;
        self.docs.iter().map(move |(doc, end)| {
            let places = &self.at[start..*end as usize];
            start = *end as usize;
            (*doc, places)
        })
    }

    /// The places in one document.
    pub(super) fn of(&self, doc: DocId) -> &[u32] {
        let Ok(at) = self.docs.binary_search_by_key(&doc, |(d, _)| *d) else { return &[] };
        let start = at.checked_sub(1).map_or(0, |before| self.docs[before].1);
        &self.at[start as usize..self.docs[at].1 as usize]
    }

    /// Documents in order.
    pub(super) fn docs(&self) -> Vec<DocId> {
        self.docs.iter().map(|(doc, _)| *doc).collect()
    }

    fn push(&mut self, doc: DocId, place: u32) {
        self.at.push(place);
        match self.docs.last_mut() {
            Some((last, end)) if *last == doc => *end = self.at.len() as u32,
            _ => self.docs.push((doc, self.at.len() as u32)),
        }
    }
}

impl Postings {
    /// Adds a document: its tokens with their places. Documents come in the order of their numbers.
    pub(super) fn add(&mut self, doc: DocId, tokens: &mut [(WordId, u32)]) {
        tokens.sort_unstable();
        for same in tokens.chunk_by(|a, b| a.0 == b.0) {
            let word = same[0].0 as usize;
            if word >= self.lists.len() {
                self.lists.resize(word + 1, List::default());
            }
            self.scratch.clear();
            let mut last = 0;
            for (_, place) in same {
                write(&mut self.scratch, place - last);
                last = *place;
            }
            let list = &mut self.lists[word];
            write(&mut list.bytes, doc + 1 - list.next);
            write(&mut list.bytes, self.scratch.len() as u32);
            list.bytes.extend_from_slice(&self.scratch);
            list.next = doc + 1;
        }
    }

    /// Gives back memory that was kept for growing.
    pub(super) fn shrink(&mut self) {
        self.lists.iter_mut().for_each(|list| list.bytes.shrink_to_fit());
        self.lists.shrink_to_fit();
    }

    /// Forgets documents and numbers the others anew, as `new` says.
    pub(super) fn renumber(&mut self, new: &[Option<DocId>]) {
        for list in &mut self.lists {
            let mut kept = List::default();
            for (doc, places) in Entries::of(list) {
                let Some(doc) = new[doc as usize] else { continue };
                write(&mut kept.bytes, doc + 1 - kept.next);
                write(&mut kept.bytes, places.len() as u32);
                kept.bytes.extend_from_slice(places);
                kept.next = doc + 1;
            }
            *list = kept;
        }
    }

    /// Bytes of a token's list: how much work it is.
    pub(super) fn weight(&self, word: WordId) -> usize {
        self.lists.get(word as usize).map_or(0, |list| list.bytes.len())
    }

    /// Gives every place of a token, document by document.
    pub(super) fn each(&self, word: WordId, each: impl FnMut(DocId, Numbers<'_>)) {
        self.collect(word, None, each);
    }

    /// Where any of these tokens stands, in `only` these documents or all.
    fn of_words(&self, words: &[WordId], only: Option<&[DocId]>) -> Places {
        let mut found = Places::default();
        if let [word] = words {
            if only.is_none() {
                // A place takes a byte at least, and a document two more.
                found.at.reserve(self.weight(*word));
                found.docs.reserve(self.weight(*word) / 3);
            }
            self.collect(*word, only, |doc, places| places.for_each(|place| found.push(doc, place)));
            return found;
        }
        // Document and place in one number are sorted in half the time.
        let mut all: Vec<u64> = Vec::new();
        for word in words {
            let each = |doc: DocId, places: Numbers<'_>| {
                all.extend(places.map(|place| u64::from(doc) << 32 | u64::from(place)));
            };
            self.collect(*word, only, each);
        }
        all.sort_unstable();
        all.dedup();
        for both in all {
            found.push((both >> 32) as DocId, both as u32);
        }
        found
    }

    fn collect(&self, word: WordId, only: Option<&[DocId]>, mut each: impl FnMut(DocId, Numbers<'_>)) {
        let Some(list) = self.lists.get(word as usize) else { return };
        let mut wanted = only.map(|docs| docs.iter().copied().peekable());
        for (doc, places) in Entries::of(list) {
            if let Some(wanted) = &mut wanted {
                while wanted.next_if(|w| *w < doc).is_some() {}
                match wanted.peek() {
                    None => return,
                    Some(next) if *next > doc => continue,
                    Some(_) => {}
                }
            }
            each(doc, Numbers::places(places));
        }
    }

    /// Where tokens stand side by side, one of each group in turn, in `only` these documents or all: places of the
    /// first one.
    pub(super) fn of_phrase(&self, groups: &[Vec<WordId>], only: Option<&[DocId]>) -> Places {
        let work = |group: &[WordId]| group.iter().map(|w| self.weight(*w)).sum::<usize>();
        let mut order: Vec<usize> = (0..groups.len()).collect();
        order.sort_by_key(|i| work(&groups[*i]));
        let Some((rarest, others)) = order.split_first() else { return Places::default() };
        let mut found = self.of_words(&groups[*rarest], only);
        let mut at = *rarest;
        for other in others {
            if found.docs.is_empty() {
                return found;
            }
            let next = self.of_words(&groups[*other], Some(&found.docs()));
            found =
                beside(&found, &next, i64::try_from(*other).unwrap_or(0) - i64::try_from(at).unwrap_or(0));
            // From here on the places are those of the group just joined.
            at = *other;
        }
        found.at.iter_mut().for_each(|place| *place = place.saturating_sub(at as u32));
        found
    }
}

/// Places of `b` that are `distance` behind a place of `a`.
fn beside(a: &Places, b: &Places, distance: i64) -> Places {
    let mut found = Places::default();
    let mut left = a.iter().peekable();
    for (doc, places) in b.iter() {
        while left.next_if(|(d, _)| *d < doc).is_some() {}
        let Some((_, before)) = left.peek().filter(|(d, _)| *d == doc) else { continue };
        let mut before = before.iter().map(|p| i64::from(*p) + distance).peekable();
        for place in places {
            while before.next_if(|p| *p < i64::from(*place)).is_some() {}
            if before.peek() == Some(&i64::from(*place)) {
                found.push(doc, *place);
            }
        }
    }
    found
}

fn write(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn read(bytes: &mut &[u8]) -> Option<u32> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u32::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Some(number);
        }
        shift += 7;
    }
}

/// The documents of a list with the bytes of their places.
struct Entries<'a> {
    bytes: &'a [u8],
    next: DocId,
}

impl<'a> Entries<'a> {
    fn of(list: &'a List) -> Self {
        Self { bytes: &list.bytes, next: 0 }
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = (DocId, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        self.next += read(&mut self.bytes)?;
        let length = read(&mut self.bytes)? as usize;
        let (places, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some((self.next - 1, places))
    }
}

/// Places out of their distances.
pub(super) struct Numbers<'a> {
    bytes: &'a [u8],
    last: u32,
}

impl<'a> Numbers<'a> {
    fn places(bytes: &'a [u8]) -> Self {
        Self { bytes, last: 0 }
    }
}

impl Iterator for Numbers<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        self.last += read(&mut self.bytes)?;
        Some(self.last)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn of(documents: &[Vec<WordId>]) -> Postings {
        let mut postings = Postings::default();
        for (doc, words) in documents.iter().enumerate() {
            let mut tokens: Vec<_> = words.iter().zip(0..).map(|(w, place)| (*w, place)).collect();
            postings.add(doc as DocId, &mut tokens);
        }
        postings
    }

    fn shown(places: &Places) -> BTreeMap<DocId, Vec<u32>> {
        places.iter().map(|(doc, at)| (doc, at.to_vec())).collect()
    }

    #[test]
    fn words_and_phrases_are_found_where_they_stand() {
        let postings = of(&[vec![1, 2, 1, 2], vec![2, 1], vec![3, 1, 2]]);
        let find = |groups: &[Vec<WordId>]| shown(&postings.of_phrase(groups, None));
        assert_eq!(find(&[vec![1]]), BTreeMap::from([(0, vec![0, 2]), (1, vec![1]), (2, vec![1])]));
        assert_eq!(find(&[vec![1], vec![2]]), BTreeMap::from([(0, vec![0, 2]), (2, vec![1])]));
        assert_eq!(find(&[vec![3, 2], vec![1]]), BTreeMap::from([(0, vec![1]), (1, vec![0]), (2, vec![0])]));
        assert_eq!(find(&[vec![9], vec![1]]), BTreeMap::new());
        assert_eq!(find(&[]), BTreeMap::new());
        let found = postings.of_phrase(&[vec![1], vec![2]], None);
        assert_eq!([found.of(0), found.of(1), found.of(2)], [&[0, 2][..], &[], &[1]]);
        assert_eq!(shown(&postings.of_phrase(&[vec![1]], Some(&[1, 5]))), BTreeMap::from([(1, vec![1])]));
    }

    #[test]
    fn forgotten_documents_are_gone_and_the_others_move_up() {
        let mut postings = of(&[vec![1], vec![2, 1], vec![1, 2]]);
        postings.renumber(&[None, Some(0), Some(1)]);
        let places = postings.of_phrase(&[vec![1]], None);
        assert_eq!(shown(&places), BTreeMap::from([(0, vec![1]), (1, vec![0])]));
        postings.add(2, &mut [(1, 7)]);
        assert_eq!(postings.of_phrase(&[vec![1]], None).docs(), [0, 1, 2]);
    }

    proptest! {
        #[test]
        fn phrases_are_what_reading_along_finds(
            documents in prop::collection::vec(prop::collection::vec(0u32..4, 0..40), 0..6),
            phrase in prop::collection::vec(prop::collection::vec(0u32..4, 1..3), 1..4),
        ) {
            let found = shown(&of(&documents).of_phrase(&phrase, None));
            let mut expected: BTreeMap<DocId, Vec<u32>> = BTreeMap::new();
            for (doc, words) in documents.iter().enumerate() {
                for (at, window) in words.windows(phrase.len()).enumerate() {
                    if phrase.iter().zip(window).all(|(group, word)| group.contains(word)) {
                        expected.entry(doc as DocId).or_default().push(at as u32);
                    }
                }
            }
            prop_assert_eq!(found, expected);
        }
    }
}
