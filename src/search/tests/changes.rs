//! Documents from outside the library come, change and go.

use super::*;

fn own(id: &str, title: &str, markdown: &str) -> Extra {
    Extra::Own(OwnNote {
        id: id.into(),
        title: title.into(),
        markdown: markdown.into(),
        ..OwnNote::default()
    })
}

fn run() -> Extra {
    Extra::Run(RunText {
        id: "20261130-1".into(),
        lab: "attention".into(),
        device: "NVIDIA H200".into(),
        date: "2026-11-30".into(),
        results: "speedup 7.3x\npeak 1,024 MiB zweiundvierzig".into(),
    })
}

fn index(extras: &[Extra]) -> SearchIndex {
    SearchIndex::build_with(&Library::load(&Source::Embedded), extras)
}

fn ids(index: &SearchIndex, query: &str) -> Vec<String> {
    let filter = Filter { limit: 100, ..Filter::default() };
    index.search(query, &filter).hits.into_iter().map(|h| format!("{}:{}", h.kind.id(), h.id)).collect()
}

#[test]
fn own_notes_and_runs_are_found_like_everything_else() {
    let note =
        own("n1", "排查记录", "# 现象\n\n第一段。\n\n## 结论\n\n驱动升级后 GPU memory 泄漏，quirkword。");
    let index = index(&[note, run()]);
    let hit = &index.search("quirkword", &Filter::default()).hits[0];
    assert_eq!((hit.kind, hit.id.as_str(), hit.lang), (Kind::Own, "n1", None));
    assert_eq!((hit.anchor.as_deref(), hit.block), (Some("结论"), Some(3)));
    assert!(ids(&index, "显存").contains(&"own:n1".to_owned()), "names join the languages in any text");
    assert_eq!(ids(&index, "pcjl"), ["own:n1"], "titles are found by their sound");
    assert_eq!(ids(&index, "zweiundvierzig"), ["run:20261130-1"]);
    let zh = Filter { prefer: Lang::Zh, kind: Some(Kind::Run), ..Filter::default() };
    let hit = &index.search("注意力 h200", &zh).hits[0];
    assert!(
        hit.title.starts_with("注意力") && hit.title.ends_with("NVIDIA H200 · 2026-11-30"),
        "{}",
        hit.title
    );
}

#[test]
fn a_saved_note_replaces_itself_and_leaves_the_rest() {
    let mut index = index(&[own("n1", "First", "oldword here"), own("n2", "Second", "oldword there")]);
    let before = ids(&index, "attention");
    index.put(&own("n1", "First", "newword here"));
    assert_eq!(ids(&index, "oldword"), ["own:n2"]);
    assert_eq!(ids(&index, "newword"), ["own:n1"]);
    assert_eq!(ids(&index, "newwo"), ["own:n1"], "new words are found by their beginning");
    assert_eq!(ids(&index, "attention"), before);
    assert!(index.remove(Kind::Own, "n1") && !index.remove(Kind::Own, "n1"));
    assert_eq!(ids(&index, "newword"), [""; 0]);
    assert!(!index.remove(Kind::Term, "kv-cache"), "the library is not taken apart");
}

#[test]
fn many_changes_are_as_one_index_of_the_last_state() {
    let text = |i: usize| format!("# Note {i}\n\nround{} 显存 shared{}", i % 7, i % 3);
    let mut changed = index(&[]);
    for i in 0..1500 {
        changed.put(&own(&format!("n{}", i % 5), "题目", &text(i)));
    }
    let last: Vec<Extra> = (1495..1500).map(|i| own(&format!("n{}", i % 5), "题目", &text(i))).collect();
    let built = index(&last);
    for query in ["round3", "shared1", "显存", "attention", "kv cache", "timu", "note 1499"] {
        let sorted = |index: &SearchIndex| {
            let mut ids = ids(index, query);
            ids.sort();
            ids
        };
        assert_eq!(sorted(&changed), sorted(&built), "{query}");
    }
}
