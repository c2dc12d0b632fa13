//! What of a query can be seen in a document: the marks in its title and in the lines that matter. Only those lines
//! are read again; where they are is known from the index.

use std::collections::HashMap;
use std::ops::Range;

use super::analyze::{is_han, scan};
use super::corpus::{Corpus, Part, Text};
use super::dictionary::Dictionary;
use super::page::{Line, Page};
use super::postings::DocId;
use super::score::Phrases;
use super::unit::Unit;
use super::vocabulary::{Vocabulary, WordId};

/// Most lines of a page that are read again, and most places of one alternative that are looked at.
const MOST_LINES: usize = 4;
const MOST_PLACES: usize = 200;

/// Characters around a match that decide where its words begin and end.
const CONTEXT_CHARS: usize = 12;

/// A match of one unit of the query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) range: Range<usize>,
    pub(super) unit: usize,
}

/// The units among the marks, one bit each.
pub(super) fn unit_bits<'m>(marks: impl IntoIterator<Item = &'m Mark>) -> u32 {
    marks.into_iter().fold(0, |bits, mark| bits | 1 << mark.unit)
}

/// Ranges in order, those that touch joined.
pub(super) fn highlights(marks: &[Mark]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::with_capacity(marks.len());
    for mark in marks {
        match ranges.last_mut() {
            Some(last) if mark.range.start <= last.end => last.end = last.end.max(mark.range.end),
            _ => ranges.push(mark.range.clone()),
        }
    }
    ranges
}

/// Finds the units of a query in texts.
pub(super) struct Finder<'a> {
    units: &'a [Unit],
    /// Tokens of any unit, by text.
    wanted: HashMap<&'a str, WordId>,
    /// First bytes and lengths of those tokens: nearly every other token is told apart by them.
    looks: Box<[bool; 256 * LENGTHS]>,
    /// Units and alternatives that can begin with a token.
    begins: HashMap<WordId, Vec<(usize, usize)>>,
}

/// Lengths that are told apart in [`Finder::looks`].
const LENGTHS: usize = 16;

/// What a token looks like at first sight; Han characters by their last byte.
fn look(token: &str) -> usize {
    let bytes = token.as_bytes();
    let (first, last) = (bytes.first().copied().unwrap_or(0), bytes.last().copied().unwrap_or(0));
    let byte = if first < 0x80 { first ^ last.rotate_left(3) } else { last };
    usize::from(byte) * LENGTHS + bytes.len().min(LENGTHS - 1)
}

/// A token that the query wants.
struct Spot {
    word: WordId,
    range: Range<usize>,
    place: u32,
}

impl<'a> Finder<'a> {
    pub(super) fn new(units: &'a [Unit], vocabulary: &'a Vocabulary) -> Self {
        let looks = Box::new([false; 256 * LENGTHS]);
        let mut finder = Self { units, wanted: HashMap::new(), looks, begins: HashMap::new() };
        for (i, unit) in units.iter().enumerate() {
            for (j, alternative) in unit.alternatives.iter().enumerate() {
                for word in alternative.groups.iter().flatten() {
                    let text = vocabulary.text(*word);
                    finder.wanted.insert(text, *word);
                    finder.looks[look(text)] = true;
                }
                for word in alternative.groups.first().into_iter().flatten() {
                    finder.begins.entry(*word).or_default().push((i, j));
                }
            }
        }
        finder
    }

    /// Adds the matches in a text in its order; `offset` is where the text begins in the page.
    fn marks(&self, text: &str, offset: usize, marks: &mut Vec<Mark>) {
        let mut spots: Vec<Spot> = Vec::new();
        scan(text, |token, range, _, place| {
            if self.looks[look(token)]
                && let Some(word) = self.wanted.get(token)
            {
                spots.push(Spot { word: *word, range: offset + range.start..offset + range.end, place });
            }
        });
        spots.sort_by_key(|s| s.place);
        let first = marks.len();
        for (at, spot) in spots.iter().enumerate() {
            for (unit, alternative) in self.begins.get(&spot.word).into_iter().flatten() {
                let groups = &self.units[*unit].alternatives[*alternative].groups;
                if let Some(end) = end_of(groups, &spots[at..]) {
                    marks.push(Mark { range: spot.range.start..end, unit: *unit });
                }
            }
        }
        marks[first..].sort_by_key(|m| (m.range.start, m.range.end, m.unit));
        marks.dedup();
    }

    /// What to highlight in a piece of a page; nothing matches from one line into the next.
    pub(super) fn highlights(&self, text: &str) -> Vec<Range<usize>> {
        let mut marks = Vec::new();
        let mut offset = 0;
        for line in text.split_inclusive('\n') {
            self.marks(line, offset, &mut marks);
            offset += line.len();
        }
        highlights(&marks)
    }

    /// Whether every unit that is needed is among the marks.
    pub(super) fn all_in(&self, marks: &[Mark]) -> bool {
        let seen = unit_bits(marks);
        (0..self.units.len()).all(|unit| self.units[unit].aside || seen & 1 << unit != 0)
    }
}

/// End of the match that begins with the first spot.
fn end_of(groups: &[Vec<WordId>], spots: &[Spot]) -> Option<usize> {
    let mut end = spots.first()?.range.end;
    for (group, place) in groups.iter().zip(spots[0].place..) {
        let here = spots.iter().take_while(|s| s.place <= place).filter(|s| s.place == place);
        end = here.into_iter().find(|s| group.contains(&s.word))?.range.end.max(end);
    }
    Some(end)
}

/// Where a query is seen in a document.
#[derive(Debug, Clone, Default)]
pub(super) struct Sight {
    /// In the title, by bytes of the title.
    pub(super) title: Vec<Mark>,
    /// In the page, by bytes of its text; only in the lines that matter.
    pub(super) page: Vec<Mark>,
}

impl Sight {
    /// Share of the units that cut words wherever they are seen, as 内存 cuts 片内存储.
    pub(super) fn cut_share(&self, units: &[Unit], text: &Text, dictionary: &Dictionary) -> f32 {
        let cut = units.iter().enumerate().filter(|(unit, asked)| {
            let of =
                |marks: &'_ [Mark]| marks.iter().filter(|m| m.unit == *unit).cloned().collect::<Vec<_>>();
            let (titles, pages) = (of(&self.title), of(&self.page));
            let mut all =
                titles.iter().map(|m| (&*text.title, m)).chain(pages.iter().map(|m| (&*text.page.text, m)));
            asked.is_han()
                && all.clone().next().is_some()
                && all.all(|(text, mark)| cuts_words(text, mark, asked, dictionary))
        });
        cut.count() as f32 / units.len().max(1) as f32
    }
}

fn cuts_words(text: &str, mark: &Mark, unit: &Unit, dictionary: &Dictionary) -> bool {
    let matched = &text[mark.range.clone()];
    if matched != unit.text {
        return false;
    }
    let before: usize = text[..mark.range.start]
        .chars()
        .rev()
        .take(CONTEXT_CHARS)
        .take_while(|c| is_han(*c))
        .map(char::len_utf8)
        .sum();
    // What is still being typed may end within a word.
    let context = if unit.growing { 0 } else { CONTEXT_CHARS };
    let behind: usize =
        text[mark.range.end..].chars().take(context).take_while(|c| is_han(*c)).map(char::len_utf8).sum();
    let run = &text[mark.range.start - before..mark.range.end + behind];
    dictionary.is_whole(run, &(before..before + matched.len())) == Some(false)
}

/// Where the units of a query stand in a document: place and unit.
pub(super) type UnitPlaces = Vec<(u32, usize)>;

impl Corpus {
    /// Where the units stand in these documents, given in the order of their numbers.
    pub(super) fn places(&self, units: &[Unit], phrases: &Phrases, docs: &[DocId]) -> Vec<UnitPlaces> {
        let mut places: Vec<UnitPlaces> = vec![Vec::new(); docs.len()];
        for (unit, asked) in units.iter().enumerate() {
            let mut add = |at: usize, found: &[u32]| {
                places[at].extend(found.iter().take(MOST_PLACES).map(|place| (*place, unit)));
            };
            // Single words are looked up together: many alternatives hold the same ones.
            let mut words: Vec<WordId> = Vec::new();
            for alternative in &asked.alternatives {
                match alternative.groups.as_slice() {
                    [group] => words.extend(group),
                    groups => {
                        if let Some(found) = phrases.get(groups) {
                            docs.iter().enumerate().for_each(|(at, doc)| add(at, found.of(*doc)));
                        }
                    }
                }
            }
            words.sort_unstable();
            words.dedup();
            let found = self.postings.of_phrase(&[words], Some(docs));
            docs.iter().enumerate().for_each(|(at, doc)| add(at, found.of(*doc)));
        }
        places
    }

    /// How many units can be seen in a document: other names and what it teaches are not shown.
    pub(super) fn units_seen(&self, doc: DocId, places: &[(u32, usize)]) -> u32 {
        let ends = self.ends(doc);
        let hidden = ends[Part::Title as usize]..ends[Part::Taught as usize];
        let seen = places.iter().filter(|(place, _)| !hidden.contains(place));
        seen.fold(0u32, |bits, (_, unit)| bits | 1 << unit).count_ones()
    }

    /// What is seen of a query in a document.
    pub(super) fn sight(&self, doc: DocId, places: &[(u32, usize)], finder: &Finder<'_>) -> Sight {
        let Some(text) = self.text(doc) else { return Sight::default() };
        let mut sight = Sight::default();
        finder.marks(&text.title, 0, &mut sight.title);
        let ends = self.ends(doc);
        let by_alias = places
            .iter()
            .any(|(place, _)| (ends[Part::Title as usize]..ends[Part::Alias as usize]).contains(place));
        let shown = places.iter().filter(|(place, _)| *place >= ends[Part::Taught as usize]);
        for line in lines_that_matter(text, shown, by_alias) {
            let range = text.page.blocks[line].range();
            finder.marks(&text.page.text[range.clone()], range.start, &mut sight.page);
        }
        sight
    }
}

/// The first line and those with the most units, in the order of the page.
fn lines_that_matter<'a>(
    text: &Text,
    places: impl Iterator<Item = &'a (u32, usize)>,
    by_alias: bool,
) -> Vec<usize> {
    let page: &Page = &text.page;
    let mut found: HashMap<usize, (u32, u32)> = HashMap::new();
    for (place, unit) in places {
        if let Some(line) = text.line_of(*place) {
            let (units, count) = found.entry(line).or_default();
            *units |= 1 << unit;
            *count += 1;
        }
    }
    let worth = |line: usize, units: u32, count: u32| {
        let kind = match page.blocks[line].line {
            Line::Heading => 8,
            Line::Lead => 2,
            Line::Code => -4,
            Line::Text | Line::Name => 0,
        };
        10 * units.count_ones() as i32 + count.min(4) as i32 + kind
    };
    let mut ranked: Vec<(i32, usize)> =
        found.into_iter().map(|(line, (units, count))| (-worth(line, units, count), line)).collect();
    ranked.sort_unstable();
    let mut lines: Vec<usize> = ranked.into_iter().take(MOST_LINES).map(|(_, line)| line).collect();
    lines.extend((!page.blocks.is_empty()).then_some(0));
    if by_alias {
        lines.extend((0..page.blocks.len()).filter(|l| page.blocks[*l].line == Line::Name));
    }
    lines.sort_unstable();
    lines.dedup();
    lines
}
