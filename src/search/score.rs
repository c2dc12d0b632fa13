//! How well documents match: BM25 in each part of a document, weighted by the part, and what names add to it.

use std::collections::{BTreeMap, HashMap};

use super::corpus::{Corpus, Ends, Part};
use super::postings::{DocId, Places};
use super::query::{Query, Reading};
use super::unit::{Alternative, Unit};
use super::vocabulary::WordId;

/// Score of a document whose whole name, or other name, is the query; above any sum of single words.
const WHOLE_NAME_SCORE: f32 = 300.0;
const WHOLE_ALIAS_SCORE: f32 = 200.0;
/// Score of a name, or other name, that begins with the query.
const NAME_BEGINS_SCORE: f32 = 25.0;
const ALIAS_BEGINS_SCORE: f32 = 15.0;

/// Score of a document one of whose names is a part of the query.
const PART_IS_NAME_SCORE: f32 = 30.0;

/// Weight of two neighbours of the query that are neighbours in the text.
const TOGETHER_WEIGHT: f32 = 0.6;

/// Most pairs of neighbours that are looked for.
const MOST_PAIRS: usize = 8;

/// Most documents in which neighbours are looked for: those with the best scores without.
const MOST_WITH_NEIGHBOURS: usize = 2_000;

/// Share of what a query says, by rarity, that a document must hold at least in [`Reading::Part`].
const LEAST_SHARE: f32 = 0.3;

/// BM25: how fast repetition stops to matter, and how much length does.
const K1: f32 = 1.2;
const B: f32 = 0.75;

fn weight(part: Part) -> f32 {
    match part {
        Part::Title => 8.0,
        Part::Alias => 5.0,
        Part::Heading => 2.5,
        Part::Body => 1.0,
        Part::Taught => 0.8,
    }
}

/// Matches of one unit in one document, part by part, each by its worth.
type Counts = [f32; Part::ALL.len()];

/// Alternatives of more than one word, each looked up once for a search.
#[derive(Default)]
pub(super) struct Phrases(HashMap<Vec<Vec<WordId>>, Places>);

impl Phrases {
    /// Where the tokens stand side by side, if it was looked up.
    pub(super) fn get(&self, groups: &[Vec<WordId>]) -> Option<&Places> {
        self.0.get(groups)
    }
}

/// One score for each document.
struct Scores {
    of: Vec<f32>,
    matching: usize,
}

impl Corpus {
    /// Documents that match with their scores, in the order of their numbers.
    pub(super) fn find(&self, query: &Query, reading: Reading, phrases: &mut Phrases) -> Vec<(DocId, f32)> {
        if query.units.is_empty() || self.len() == 0 {
            return Vec::new();
        }
        let mut held = vec![0.0f32; self.numbers()];
        let mut total = vec![0.0f32; self.numbers()];
        let mut needed = 0.0;
        let mut rarities = Vec::with_capacity(query.units.len());
        for unit in &query.units {
            let scores = self.unit(unit, phrases);
            let rarity = self.rarity(scores.matching);
            // What nobody wrote says nothing of those who match in part.
            let counts = match reading {
                Reading::Part if scores.matching == 0 => 0.0,
                Reading::Part => rarity,
                Reading::Whole | Reading::Split => 1.0,
            };
            let needs = if unit.aside { 0.0 } else { counts };
            needed += needs;
            for (doc, score) in scores.of.iter().enumerate().filter(|(_, score)| **score > 0.0) {
                held[doc] += needs;
                total[doc] += score * rarity;
            }
            rarities.push(rarity);
        }
        if needed <= 0.0 {
            return Vec::new();
        }
        let least = if reading == Reading::Part { needed * LEAST_SHARE } else { needed };
        let mut found: Vec<(DocId, f32)> = (0..)
            .zip(held.iter().zip(&total))
            .filter(|(_, (held, _))| **held >= least - 1e-3 && **held > 0.0)
            .map(|(doc, (held, total))| {
                let share = if reading == Reading::Part { held / needed } else { 1.0 };
                (doc, total * share * share)
            })
            .collect();
        self.add_neighbours(query, &rarities, &mut found);
        self.add_names(query, &mut found);
        found
    }

    /// How much finding something says that this many documents hold.
    fn rarity(&self, matching: usize) -> f32 {
        let (all, matching) = (self.len() as f32, matching as f32);
        (1.0 + (all - matching + 0.5).max(0.5) / (matching + 0.5)).ln()
    }

    /// Scores of one unit, without its rarity.
    fn unit(&self, unit: &Unit, phrases: &mut Phrases) -> Scores {
        let mut counts = vec![Counts::default(); self.numbers()];
        // In order: sums of fractions depend on it.
        let mut words: BTreeMap<(WordId, bool), f32> = BTreeMap::new();
        for Alternative { groups, worth, names_only } in &unit.alternatives {
            if let [group] = groups.as_slice() {
                for word in group {
                    let best = words.entry((*word, *names_only)).or_default();
                    *best = best.max(*worth);
                }
            } else {
                if !phrases.0.contains_key(groups) {
                    phrases.0.insert(groups.clone(), self.postings.of_phrase(groups, None));
                }
                phrases.0[groups].iter().for_each(|(doc, places)| {
                    self.count(doc, places.iter().copied(), *worth, *names_only, &mut counts);
                });
            }
        }
        for ((word, names_only), worth) in words {
            self.postings.each(word, |doc, places| self.count(doc, places, worth, names_only, &mut counts));
        }
        let average = self.average_body();
        let scores: Vec<f32> = (0..).zip(&counts).map(|(doc, c)| bm25(c, self.ends(doc), average)).collect();
        let matching = scores.iter().filter(|score| **score > 0.0).count();
        Scores { of: scores, matching }
    }

    fn count(
        &self,
        doc: DocId,
        places: impl Iterator<Item = u32>,
        worth: f32,
        names_only: bool,
        counts: &mut [Counts],
    ) {
        let ends = self.ends(doc);
        // A document that is gone is still in the lists.
        if ends[Part::Body as usize] == 0 {
            return;
        }
        let counts = &mut counts[doc as usize];
        let mut part = 0;
        for place in places {
            while part < ends.len() - 1 && place >= ends[part] {
                part += 1;
            }
            if names_only && part > Part::Alias as usize {
                return;
            }
            counts[part] += worth;
        }
    }

    /// Neighbours of the query that are neighbours in a text.
    fn add_neighbours(&self, query: &Query, rarities: &[f32], found: &mut [(DocId, f32)]) {
        let mut scores: Vec<f32> = found.iter().map(|(_, score)| *score).collect();
        let most = MOST_WITH_NEIGHBOURS.min(scores.len());
        let least = if most < scores.len() {
            *scores.select_nth_unstable_by(most, |a, b| b.total_cmp(a)).1
        } else {
            0.0
        };
        let docs: Vec<DocId> =
            found.iter().filter(|(_, score)| *score >= least).map(|(doc, _)| *doc).collect();
        let pairs = query.units.windows(2).zip(rarities.windows(2));
        for (pair, rarity) in pairs.filter(|(p, _)| p[0].tokens.end == p[1].tokens.start).take(MOST_PAIRS) {
            let groups: Vec<_> = pair[0].literal.iter().chain(&pair[1].literal).cloned().collect();
            if groups.iter().any(Vec::is_empty) {
                continue;
            }
            let places = self.postings.of_phrase(&groups, Some(&docs));
            let mut at = 0;
            for (doc, places) in places.iter() {
                let ends = self.ends(doc);
                let parts = Part::ALL.into_iter().filter(|part| {
                    let start = (*part as usize).checked_sub(1).map_or(0, |before| ends[before]);
                    places.iter().any(|p| (start..ends[*part as usize]).contains(p))
                });
                let weight: f32 = parts.map(weight).sum();
                while found[at].0 < doc {
                    at += 1;
                }
                found[at].1 += weight * TOGETHER_WEIGHT * (rarity[0] + rarity[1]);
            }
        }
    }

    fn add_names(&self, query: &Query, found: &mut [(DocId, f32)]) {
        let mut add = |doc: DocId, score: f32| {
            if let Ok(at) = found.binary_search_by_key(&doc, |(doc, _)| *doc) {
                found[at].1 += score;
            }
        };
        for name in &query.names {
            for (doc, other) in self.names.exactly(name) {
                add(*doc, if *other { WHOLE_ALIAS_SCORE } else { WHOLE_NAME_SCORE });
            }
            for (doc, other) in self.names.beginning(name) {
                add(doc, if other { ALIAS_BEGINS_SCORE } else { NAME_BEGINS_SCORE });
            }
        }
        for unit in &query.units {
            for name in unit.names.iter().chain([&unit.text].into_iter().filter(|t| !unit.names.contains(t)))
            {
                for (doc, _) in self.names.exactly(name) {
                    add(*doc, PART_IS_NAME_SCORE);
                }
            }
        }
    }
}

fn bm25(counts: &Counts, ends: &Ends, average: f32) -> f32 {
    if counts.iter().all(|count| *count <= 0.0) {
        return 0.0;
    }
    let mut sum = 0.0;
    for part in Part::ALL {
        let count = counts[part as usize];
        if count > 0.0 {
            let start = (part as usize).checked_sub(1).map_or(0, |before| ends[before]);
            let length = (ends[part as usize] - start) as f32;
            let usual = match part {
                Part::Title => 6.0,
                Part::Alias | Part::Taught => 20.0,
                Part::Heading => 40.0,
                Part::Body => average,
            };
            let norm = K1 * (1.0 - B + B * length / usual);
            sum += weight(part) * (K1 + 1.0) * count / (count + norm);
        }
    }
    sum
}
