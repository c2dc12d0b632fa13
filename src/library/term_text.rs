//! A term as a text to read.

use std::fmt::Write as _;

use super::{Library, Target, Term};
use crate::lang::Lang;

impl Library {
    /// A term as Markdown: definition, longer note, what it needs, what it is not, where it is used.
    pub fn term_markdown(&self, term: &Term, lang: Lang) -> String {
        let mut text = format!("{}\n\n", term.short.get(lang));
        if let Some(long) = &term.long {
            let _ = write!(text, "{}\n\n", long.get(lang));
        }
        for not in &term.not {
            let other = self.term(&not.term).map_or(not.term.as_str(), |t| t.name(lang));
            let head = lang.pick("Not the same as", "不等于");
            let _ = writeln!(text, "- **{head}** [[{}|{other}]]: {}", not.term, not.difference.get(lang));
        }
        text.push('\n');
        let link = |id: &String| {
            let shown = self.term(id).map_or(id.as_str(), |t| t.name(lang));
            format!("[[{id}|{shown}]]")
        };
        let mut list = |head: &str, items: Vec<String>| {
            if !items.is_empty() {
                let _ = write!(text, "**{head}** {}\n\n", items.join(lang.pick(", ", "、")));
            }
        };
        list(lang.pick("Needs", "先修"), term.needs.iter().map(link).collect());
        let next: Vec<String> = self.dependents(&term.id).iter().map(|t| link(&t.id)).collect();
        list(lang.pick("Leads to", "后续"), next);
        list(lang.pick("Also called", "别名"), term.aliases.clone());
        let notes = self.backlinks(&Target::Term(term.id.clone()));
        let notes = notes.iter().map(|n| format!("[[{}|{}]]", n.id, n.text.get(lang).title)).collect();
        list(lang.pick("In notes", "相关笔记"), notes);
        list(lang.pick("Sources", "来源"), term.sources.clone());
        text
    }
}
