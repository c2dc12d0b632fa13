//! The inverted index in memory: which field of which document holds which token, and how a query is scored.

use tantivy::collector::TopDocs;
use tantivy::query::{
    BooleanQuery, BoostQuery, ConstScoreQuery, FuzzyTermQuery, Occur, PhraseQuery, Query as TantivyQuery,
    TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption, STRING, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer, TokenizerManager};
use tantivy::{Index, Searcher, SingleSegmentIndexWriter, TantivyDocument, Term};

use super::query::{Form, Query, Unit};
use super::snippet::Spot;
use super::vocabulary::Vocabulary;

/// Nothing below touches a disk, and the schema is ours.
const IN_MEMORY: &str = "an index in memory has neither files nor a foreign schema to fail on";

/// Memory that tantivy may use while it builds, in bytes; it asks for 15 MB at least.
const BUILD_BYTES: usize = 64_000_000;

/// Score of a document whose whole name, or other name, is the query; above any sum of single words.
const WHOLE_NAME_SCORE: f32 = 300.0;
const WHOLE_ALIAS_SCORE: f32 = 200.0;
/// Score of a name, or other name, that begins with the query.
const NAME_BEGINS_SCORE: f32 = 25.0;
const ALIAS_BEGINS_SCORE: f32 = 15.0;

/// Score of a document one of whose names is a single word, or run of Han characters, of the query.
const WORD_IS_NAME_SCORE: f32 = 30.0;

/// Score of a word that begins with the query's last word, where a full match scores between 1 and 10.
const PREFIX_SCORE: f32 = 1.5;
/// Weight of words one typing error away.
const TYPO_WEIGHT: f32 = 0.6;
/// Weight of the query's words standing together in its order.
const TOGETHER_WEIGHT: f32 = 0.6;

/// Fields of running text, heaviest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Title of a note or lab, name of a term.
    Name,
    /// Other names, in both languages.
    Alias,
    /// Headings.
    Heading,
    /// Everything else to read.
    Body,
    /// Names of what the document teaches; not part of its text.
    Taught,
}

impl Part {
    const ALL: [Self; 5] = [Self::Name, Self::Alias, Self::Heading, Self::Body, Self::Taught];

    fn weight(self) -> f32 {
        match self {
            Self::Name => 8.0,
            Self::Alias => 5.0,
            Self::Heading => 2.5,
            Self::Body => 1.0,
            Self::Taught => 0.8,
        }
    }
}

#[derive(Debug, Clone)]
struct Fields {
    parts: [Field; 5],
    whole_name: Field,
    whole_alias: Field,
}

/// Collects documents.
pub(super) struct Builder {
    fields: Fields,
    writer: SingleSegmentIndexWriter,
    document: TantivyDocument,
}

impl Builder {
    pub(super) fn new() -> Self {
        let mut schema = Schema::builder();
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(ANALYSED)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions);
        let text = TextOptions::default().set_indexing_options(indexing);
        let fields = Fields {
            parts: Part::ALL.map(|p| schema.add_text_field(&format!("{p:?}"), text.clone())),
            whole_name: schema.add_text_field("whole_name", STRING),
            whole_alias: schema.add_text_field("whole_alias", STRING),
        };
        let tokenizers = TokenizerManager::default();
        tokenizers.register(ANALYSED, Analysed);
        let writer = Index::builder()
            .schema(schema.build())
            .tokenizers(tokenizers)
            .single_segment_index_writer(tantivy::directory::RamDirectory::create(), BUILD_BYTES)
            .expect(IN_MEMORY);
        Self { fields, writer, document: TantivyDocument::new() }
    }

    /// Adds a text to the open document.
    pub(super) fn text(&mut self, part: Part, spots: &[Spot], vocabulary: &Vocabulary) {
        let mut terms = String::with_capacity(spots.len() * 12);
        for (position, spot) in spots.iter().enumerate() {
            let text = vocabulary.text(spot.word);
            terms.push_str(text);
            match spots.get(position + 1) {
                _ if !spot.han => terms.extend([" ", STEM_MARK, vocabulary.stem(spot.word)]),
                Some(next) if spot.touches(next) => terms.extend([" ", text, vocabulary.text(next.word)]),
                _ => {}
            }
            terms.push('\n');
        }
        self.document.add_text(self.fields.parts[part as usize], terms);
    }

    /// Adds a whole name to the open document, already without spaces and punctuation.
    pub(super) fn whole_name(&mut self, compact: &str, alias: bool) {
        let field = if alias { self.fields.whole_alias } else { self.fields.whole_name };
        self.document.add_text(field, compact);
    }

    /// Ends the open document. Documents are numbered from 0 in this order.
    pub(super) fn end_document(&mut self) {
        self.writer.add_document(std::mem::take(&mut self.document)).expect(IN_MEMORY);
    }

    /// Ends the index.
    pub(super) fn finish(self) -> Postings {
        let index = self.writer.finalize().expect(IN_MEMORY);
        let searcher = index.reader().expect(IN_MEMORY).searcher();
        Postings { fields: self.fields, searcher }
    }
}

/// Stems share a field with words, and a mark that no word has keeps them apart.
const STEM_MARK: &str = "~";

fn stem_term(stem: &str) -> String {
    format!("{STEM_MARK}{stem}")
}

/// Name of the tokenizer [`Analysed`].
const ANALYSED: &str = "analysed";

/// Takes apart what [`Builder::text`] wrote: a line for each position, its terms separated by spaces. (tantivy's own
/// pre-tokenized text goes through JSON, which took longer than all the rest.)
#[derive(Clone)]
struct Analysed;

impl Tokenizer for Analysed {
    type TokenStream<'a> = Terms<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Terms<'a> {
        Terms { rest: text, position: 0, token: Token::default() }
    }
}

struct Terms<'a> {
    rest: &'a str,
    position: usize,
    token: Token,
}

impl TokenStream for Terms<'_> {
    fn advance(&mut self) -> bool {
        let Some(end) = self.rest.find([' ', '\n']) else { return false };
        self.token.text.clear();
        self.token.text.push_str(&self.rest[..end]);
        self.token.position = self.position;
        self.position += usize::from(self.rest.as_bytes()[end] == b'\n');
        self.rest = &self.rest[end + 1..];
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

/// The finished index.
pub(super) struct Postings {
    fields: Fields,
    searcher: Searcher,
}

impl Postings {
    /// Documents that match with their scores, best first; all units are needed, or `needed` of them.
    pub(super) fn find(&self, query: &Query, needed: usize, vocabulary: &Vocabulary) -> Vec<(f32, usize)> {
        let documents = self.searcher.num_docs() as usize;
        if documents == 0 || query.units.is_empty() {
            return Vec::new();
        }
        let mut clauses = vec![(Occur::Should, self.text_query(&query.units, needed, vocabulary))];
        for name in &query.names {
            self.name_queries(name, &mut clauses);
        }
        let top = TopDocs::with_limit(documents).order_by_score();
        let hits = self.searcher.search(&BooleanQuery::new(clauses), &top).expect(IN_MEMORY);
        // One segment: a document's address is its number.
        hits.into_iter().map(|(score, address)| (score, address.doc_id as usize)).collect()
    }

    fn text_query(&self, units: &[Unit], needed: usize, vocabulary: &Vocabulary) -> Box<dyn TantivyQuery> {
        if needed < units.len() {
            let each = units.iter().map(|u| (Occur::Should, self.unit_query(u, vocabulary))).collect();
            return Box::new(BooleanQuery::with_minimum_required_clauses(each, needed));
        }
        let mut clauses: Vec<(Occur, Box<dyn TantivyQuery>)> =
            units.iter().map(|u| (Occur::Must, self.unit_query(u, vocabulary))).collect();
        for part in Part::ALL {
            let terms: Vec<(usize, Term)> = units.iter().flat_map(|u| self.in_order(part, u)).collect();
            if units.len() > 1 && terms.len() > 1 {
                let together = PhraseQuery::new_with_offset(terms);
                clauses.push((Occur::Should, boosted(Box::new(together), part.weight() * TOGETHER_WEIGHT)));
            }
        }
        Box::new(BooleanQuery::new(clauses))
    }

    fn unit_query(&self, unit: &Unit, vocabulary: &Vocabulary) -> Box<dyn TantivyQuery> {
        let mut any: Vec<Box<dyn TantivyQuery>> = Vec::new();
        if let Form::Word { text, .. } | Form::Han(text) = &unit.form {
            for field in [self.fields.whole_name, self.fields.whole_alias] {
                let is_name = scored(Term::from_field_text(field, text));
                any.push(Box::new(ConstScoreQuery::new(is_name, WORD_IS_NAME_SCORE)));
            }
        }
        for part in Part::ALL {
            let term = |text: &str| self.term(part, text);
            let weight = part.weight();
            match &unit.form {
                Form::Word { text, stem, prefix } => {
                    any.push(boosted(scored(term(text)), weight));
                    any.push(boosted(scored(term(&stem_term(stem))), weight));
                    if *prefix {
                        let begins = FuzzyTermQuery::new_prefix(term(text), 0, true);
                        any.push(Box::new(ConstScoreQuery::new(Box::new(begins), weight * PREFIX_SCORE)));
                    }
                }
                Form::Typo => any.extend(
                    unit.places
                        .iter()
                        .flatten()
                        .map(|w| boosted(scored(term(vocabulary.text(*w))), weight * TYPO_WEIGHT)),
                ),
                Form::Pair | Form::Han(_) => {
                    let mut terms = self.pieces(part, unit, vocabulary);
                    let query = if terms.len() > 1 {
                        Box::new(PhraseQuery::new_with_offset(terms))
                    } else {
                        let Some((_, only)) = terms.pop() else { continue };
                        scored(only)
                    };
                    any.push(boosted(query, weight));
                }
            }
        }
        Box::new(BooleanQuery::union(any))
    }

    /// Terms of a unit of several places: pairs of Han characters, or words.
    fn pieces(&self, part: Part, unit: &Unit, vocabulary: &Vocabulary) -> Vec<(usize, Term)> {
        if let Form::Han(run) = &unit.form {
            return han_pieces(run).map(|(i, piece)| (i, self.term(part, piece))).collect();
        }
        let words = unit.places.iter().filter_map(|words| words.first());
        words.enumerate().map(|(i, word)| (i, self.term(part, vocabulary.text(*word)))).collect()
    }

    /// Terms of a unit with their positions in the query; none for a word that may still be growing.
    fn in_order(&self, part: Part, unit: &Unit) -> Vec<(usize, Term)> {
        match &unit.form {
            Form::Word { stem, .. } => vec![(unit.at, self.term(part, &stem_term(stem)))],
            Form::Han(run) => {
                han_pieces(run).map(|(i, piece)| (unit.at + i, self.term(part, piece))).collect()
            }
            Form::Typo | Form::Pair => Vec::new(),
        }
    }

    fn name_queries(&self, name: &str, clauses: &mut Vec<(Occur, Box<dyn TantivyQuery>)>) {
        for (field, whole, begins) in [
            (self.fields.whole_name, WHOLE_NAME_SCORE, NAME_BEGINS_SCORE),
            (self.fields.whole_alias, WHOLE_ALIAS_SCORE, ALIAS_BEGINS_SCORE),
        ] {
            let term = Term::from_field_text(field, name);
            let beginning = FuzzyTermQuery::new_prefix(term.clone(), 0, true);
            clauses.push((Occur::Should, Box::new(ConstScoreQuery::new(scored(term), whole))));
            clauses.push((Occur::Should, Box::new(ConstScoreQuery::new(Box::new(beginning), begins))));
        }
    }

    fn term(&self, part: Part, text: &str) -> Term {
        Term::from_field_text(self.fields.parts[part as usize], text)
    }
}

/// Pairs of neighbours with their positions, or the only character.
fn han_pieces(run: &str) -> impl Iterator<Item = (usize, &str)> {
    let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).collect();
    let count = starts.len().saturating_sub(1).max(1);
    (0..count).map(move |i| (i, &run[starts[i]..starts.get(i + 2).copied().unwrap_or(run.len())]))
}

fn scored(term: Term) -> Box<dyn TantivyQuery> {
    Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs))
}

fn boosted(query: Box<dyn TantivyQuery>, weight: f32) -> Box<dyn TantivyQuery> {
    Box::new(BoostQuery::new(query, weight))
}
