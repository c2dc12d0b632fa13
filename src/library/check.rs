//! The content lint behind `infralab check`: every rule that a reader would otherwise discover by accident.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Fault, Library, glossary, slug, wiki_links};
use crate::lang::Lang;

/// Every fault of the library, load faults first.
pub fn check(library: &Library) -> Vec<Fault> {
    let mut faults = library.faults.clone();
    notes(library, &mut faults);
    terms(library, &mut faults);
    labs(library, &mut faults);
    faults
}

fn notes(library: &Library, faults: &mut Vec<Fault>) {
    let mut seen = BTreeSet::new();
    for note in &library.notes {
        let mut fault = |problem: String| faults.push(Fault { file: note.path.clone(), problem });
        if !seen.insert(&note.id) {
            fault(format!("the id `{}` is taken by another note", note.id));
        }
        if !note.path.ends_with(&format!("/{}", note.id)) {
            fault(format!("the file name and the id `{}` differ", note.id));
        }
        for need in &note.needs {
            match library.note(need) {
                None => fault(format!("needs the unknown note `{need}`")),
                Some(other) if (other.phase, other.order) >= (note.phase, note.order) => {
                    fault(format!("needs `{need}`, which comes later in the route"));
                }
                Some(_) => {}
            }
        }
        for term in note.terms.iter().filter(|t| library.term(t).is_none()) {
            fault(format!("teaches the unknown term `{term}`"));
        }
        for lab in note.labs.iter().filter(|l| infralab_labs::find_lab(l).is_none()) {
            fault(format!("names the unknown lab `{lab}`"));
        }
        if note.sources.is_empty() {
            fault("names no source".into());
        }
        for lang in Lang::ALL {
            let text = note.text.get(lang);
            if text.title.trim().is_empty() || text.summary.trim().is_empty() || text.body.trim().is_empty() {
                fault(format!("title, summary or body is empty ({})", lang.code()));
            }
            links(library, &text.body, &mut fault);
        }
    }
}

fn links(library: &Library, body: &str, fault: &mut impl FnMut(String)) {
    for link in wiki_links(body) {
        if library.resolve(link.target).is_none() {
            fault(format!("dead link [[{}]]", link.target));
        }
    }
}

fn terms(library: &Library, faults: &mut Vec<Fault>) {
    let mut owner: HashMap<String, &str> = HashMap::new();
    for term in &library.terms {
        let file = format!("glossary/{}.toml", term.layer.id());
        let mut fault = |problem: String| {
            faults.push(Fault { file: file.clone(), problem: format!("{}: {problem}", term.id) });
        };
        if term.id != slug(&term.en) {
            fault(format!("the id should be `{}`", slug(&term.en)));
        }
        let names: BTreeSet<String> =
            [&term.en, &term.zh].into_iter().chain(&term.aliases).map(|n| glossary::fold(n)).collect();
        for name in names {
            if let Some(other) = owner.insert(name.clone(), &term.id) {
                fault(format!("the name `{name}` is also `{other}`"));
            }
        }
        if term.short.en.trim().is_empty() || term.short.zh.trim().is_empty() {
            fault("a definition is empty".into());
        }
        for need in &term.needs {
            match library.terms.iter().find(|t| &t.id == need) {
                None => fault(format!("needs the unknown term `{need}`")),
                Some(other) if other.phase > term.phase => fault(format!("needs `{need}` of a later phase")),
                Some(_) => {}
            }
        }
        for not in term.not.iter().filter(|n| library.terms.iter().all(|t| t.id != n.term)) {
            fault(format!("is told apart from the unknown term `{}`", not.term));
        }
        if let Some(long) = &term.long {
            links(library, &long.en, &mut fault);
            links(library, &long.zh, &mut fault);
        }
    }
    for id in on_a_cycle(library) {
        faults.push(Fault {
            file: "glossary".into(),
            problem: format!("the prerequisites of `{id}` form a cycle"),
        });
    }
}

/// Terms that cannot be ordered by their prerequisites.
fn on_a_cycle(library: &Library) -> Vec<&str> {
    let mut open: BTreeMap<&str, BTreeSet<&str>> = library
        .terms
        .iter()
        .map(|t| {
            (
                t.id.as_str(),
                t.needs.iter().map(String::as_str).filter(|n| library.term(n).is_some()).collect(),
            )
        })
        .collect();
    loop {
        let ready: Vec<&str> = open.iter().filter(|(_, needs)| needs.is_empty()).map(|(id, _)| *id).collect();
        if ready.is_empty() {
            return open.into_keys().collect();
        }
        for id in ready {
            open.remove(id);
            for needs in open.values_mut() {
                needs.remove(id);
            }
        }
    }
}

fn labs(library: &Library, faults: &mut Vec<Fault>) {
    for lab in infralab_labs::LABS.iter() {
        let mut fault =
            |problem: String| faults.push(Fault { file: format!("labs/src/{}", lab.id), problem });
        for term in lab.terms.iter().filter(|t| library.term(t).is_none()) {
            fault(format!("names the unknown term `{term}`"));
        }
        for note in lab.notes.iter().filter(|n| library.note(n).is_none()) {
            fault(format!("names the unknown note `{note}`"));
        }
        for guide in [lab.guide_en, lab.guide_zh] {
            links(library, guide, &mut fault);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Source;
    use super::*;

    #[test]
    fn shipped_content_has_no_fault() {
        let faults = check(&Library::load(&Source::Embedded));
        assert!(
            faults.is_empty(),
            "{}",
            faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        );
    }

    #[test]
    fn faults_of_a_directory_are_told_by_file() {
        let dir = tempfile::tempdir().expect("temp dir");
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("mkdir");
            std::fs::write(path, text).expect("write");
        };
        let term = |id: &str, needs: &str| {
            format!(
                "[[term]]\nid = \"{id}\"\nen = \"{id}\"\nzh = \"{id}名\"\nphase = 0\nneeds = [{needs}]\nshort_en = \"s\"\nshort_zh = \"s\"\n"
            )
        };
        write("glossary/system.toml", &(term("a", "\"b\"") + &term("b", "\"a\"") + &term("c", "\"zz\"")));
        write("glossary/other.toml", "");
        let front = "id = \"n\"\ntitle = \"T\"\nphase = 0\nlayer = \"system\"\norder = 1\nterms = [\"qq\"]\nlabs = [\"no\"]\nchecked = 2026-12-01\nsummary = \"s\"\nsources = [\"x\"]";
        write("content/x/n.en.md", &format!("+++\n{front}\n+++\nsee [[nowhere]]\n"));
        write("content/x/n.zh.md", &format!("+++\n{front}\n+++\n见 [[a]]\n"));
        let text = check(&Library::load(&Source::Directory(dir.path().into())))
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n");
        for part in [
            "unknown term `zz`",
            "prerequisites of `a`",
            "other.toml",
            "dead link [[nowhere]]",
            "unknown lab `no`",
            "unknown term `qq`",
        ] {
            assert!(text.contains(part), "{part} not in\n{text}");
        }
    }
}
