//! Judged queries: what a reader expects to see, and how far down the list at most. A fault that is found becomes a line
//! of the file.

use std::collections::BTreeMap;

use super::found;

const JUDGED: &str = include_str!("../../../tests/fixtures/queries.tsv");

/// Least share of the queries that must be answered: of all, and of each class.
const LEAST: f64 = 0.95;
const LEAST_OF_CLASS: f64 = 0.85;

struct Judged {
    class: &'static str,
    query: &'static str,
    expected: &'static str,
    within: usize,
}

fn judged() -> Vec<Judged> {
    let lines = JUDGED.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| {
            let [class, query, expected, within] = line.split('\t').collect::<Vec<_>>()[..] else {
                panic!("four columns, not: {line}");
            };
            Judged { class, query, expected, within: within.parse().expect("a number") }
        })
        .collect()
}

#[test]
fn judged_queries_find_what_a_reader_expects() {
    let judged = judged();
    assert!(judged.len() >= 120);
    let mut classes: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut misses = Vec::new();
    for Judged { class, query, expected, within } in &judged {
        let found = found(query);
        let answered = found.iter().take(*within).any(|hit| expected.split(' ').any(|e| e == hit));
        let (answers, all) = classes.entry(class).or_default();
        *answers += usize::from(answered);
        *all += 1;
        if !answered {
            let first = &found[..found.len().min(6)];
            misses.push(format!("{class}: {query}: {expected} not within {within} of {first:?}"));
        }
    }
    let share = |(answers, all): (usize, usize)| answers as f64 / all as f64;
    let report = format!("{classes:?}, {} of {} missed:\n{}", misses.len(), judged.len(), misses.join("\n"));
    // Shown with --nocapture, and when the test fails.
    #[expect(clippy::print_stdout, reason = "the misses are what the set is read for")]
    {
        println!("{report}");
    }
    let all = (judged.len() - misses.len(), judged.len());
    assert!(share(all) >= LEAST, "{report}");
    for (class, answered) in &classes {
        assert!(share(*answered) >= LEAST_OF_CLASS, "{class}: {report}");
    }
}
