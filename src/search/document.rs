//! What there is to read of a note, term, lab, own note or run, as one document for each language.

use infralab_labs::LabSpec;

use super::extra::{OwnNote, RunText};
use super::page::{Line, Page};
use crate::lang::Lang;
use crate::library::{Library, Note, Term};

/// A text before it is indexed.
pub(super) struct Document<'a> {
    /// `None` where it is unknown or mixed.
    pub(super) lang: Option<Lang>,
    pub(super) title: &'a str,
    /// Other names of the document itself.
    pub(super) aliases: Vec<&'a str>,
    /// Names of what it teaches; not part of its text.
    pub(super) taught: Vec<&'a str>,
    pub(super) page: Page,
}

/// A term, with the blocks of [`Library::term_markdown`].
pub(super) fn of_term<'a>(term: &'a Term, lang: Lang, library: &Library) -> Document<'a> {
    let title = term.name(lang);
    let mut aliases = vec![term.name(lang.other()), term.id.as_str()];
    aliases.extend(term.aliases.iter().map(String::as_str));
    let mut page = Page::default();
    page.push_block(Line::Lead, term.short.get(lang));
    if let Some(long) = &term.long {
        page.markdown(long.get(lang), 0);
    }
    for not in &term.not {
        page.push_block(Line::Text, not.difference.get(lang));
    }
    if term.name(lang.other()) != title {
        page.push(Line::Name, term.name(lang.other()));
    }
    let lists_before = [!term.needs.is_empty(), !library.dependents(&term.id).is_empty()];
    let lists_before = lists_before.into_iter().map(u32::from).sum();
    for name in term.aliases.iter().filter(|name| *name != title) {
        page.push_after(Line::Name, name, lists_before);
    }
    Document { lang: Some(lang), title, aliases, taught: Vec::new(), page }
}

/// A note. The reader shows its summary as the first block, and a rule and its sources behind the text.
pub(super) fn of_note<'a>(note: &'a Note, lang: Lang, library: &'a Library) -> Document<'a> {
    let text = note.text.get(lang);
    let mut page = Page::default();
    page.push_block(Line::Lead, &text.summary);
    page.markdown(&text.body, note.sources.len() as u32 + 2);
    let mut taught = names_of(&note.terms, library);
    taught.push(&note.text.get(lang.other()).title);
    Document { lang: Some(lang), title: &text.title, aliases: vec![&note.id], taught, page }
}

/// A lab, with the blocks of its guide.
pub(super) fn of_lab<'a>(lab: &'a LabSpec, lang: Lang, library: &'a Library) -> Document<'a> {
    let (title, other) = (lang.pick(&lab.title.en, &lab.title.zh), lang.pick(&lab.title.zh, &lab.title.en));
    let mut page = Page::default();
    page.push(Line::Lead, lang.pick(&lab.question.en, &lab.question.zh));
    for line in lang.pick(&lab.closed_form.en, &lab.closed_form.zh).lines() {
        page.push(Line::Code, line);
    }
    page.markdown(lang.pick(lab.guide_en, lab.guide_zh), 0);
    let mut taught = names_of(&lab.terms, library);
    taught.push(other);
    Document { lang: Some(lang), title, aliases: vec![&lab.id], taught, page }
}

/// A note of the reader's own.
pub(super) fn of_own(note: &OwnNote) -> Document<'_> {
    let mut page = Page::default();
    page.markdown(&note.markdown, 0);
    let aliases = note.aliases.iter().map(String::as_str).chain([note.id.as_str()]).collect();
    Document { lang: None, title: &note.title, aliases, taught: Vec::new(), page }
}

/// A run; `title` is made of its lab, device and date.
pub(super) fn of_run<'a>(run: &'a RunText, title: &'a str) -> Document<'a> {
    let mut page = Page::default();
    for line in run.results.lines() {
        page.push(Line::Text, line);
    }
    Document { lang: None, title, aliases: vec![&run.id, &run.lab], taught: Vec::new(), page }
}

/// Every name of the terms with these ids.
fn names_of<'a>(ids: &[String], library: &'a Library) -> Vec<&'a str> {
    ids.iter().filter_map(|id| library.term(id)).flat_map(names).collect()
}

/// Every name of a term.
pub(super) fn names(term: &Term) -> impl Iterator<Item = &str> {
    [term.en.as_str(), term.zh.as_str()].into_iter().chain(term.aliases.iter().map(String::as_str))
}

/// A name without what stands in brackets at its end: 参数（权重） is also called 参数.
pub(super) fn without_remark(name: &str) -> &str {
    name.split(['（', '(']).next().map_or(name, str::trim_end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Source;
    use crate::reader;

    #[test]
    fn blocks_of_a_term_are_those_that_the_reader_shows() {
        let library = Library::load(&Source::Embedded);
        for (term, lang) in library.terms.iter().flat_map(|t| Lang::ALL.map(|l| (t, l))) {
            let page = of_term(term, lang, &library).page;
            let layout = reader::Document::parse(&library.term_markdown(term, lang)).layout(u16::MAX);
            for (block, at) in page.blocks.iter().filter_map(|b| Some((b, b.shown_in()?))) {
                let rows = layout.rows.iter().filter(|row| row.block == at);
                let shown: String = rows.map(|row| super::super::analyze::compact(&row.text())).collect();
                let first = super::super::analyze::tokens(&page.text[block.range()]).swap_remove(0).text;
                assert!(shown.contains(&first), "{}: `{first}` of block {at} is not in `{shown}`", term.id);
            }
        }
    }

    #[test]
    fn blocks_of_a_note_are_those_that_the_reader_shows() {
        let library = Library::load(&Source::Embedded);
        for (note, lang) in library.notes.iter().flat_map(|n| Lang::ALL.map(|l| (n, l))) {
            let (page, text) = (of_note(note, lang, &library).page, note.text.get(lang));
            let shown = format!("*{}*\n\n{}", text.summary, text.body);
            let layout = reader::Document::parse(&shown).layout(u16::MAX);
            for heading in &layout.headings {
                let at = layout.block_at(heading.row);
                let block = page.blocks.iter().find(|b| b.shown_in() == Some(at)).expect("a line");
                assert_eq!(block.line, Line::Heading, "{} block {at}", note.id);
                assert_eq!(page.anchors[block.section() - 1], heading.anchor);
            }
        }
    }
}
