use std::path::PathBuf;

use proptest::prelude::*;

use super::document::Block;
use super::markdown::Pictures;
use super::*;
use crate::lab::history::{self, Listed, Place};
use crate::lab::{LabEvent, PastRun, parse};
use crate::lang::Lang;

const MORE: &str = r#"{"type":"ledger","series":"batch 4","stage":"init","title":{"en":"after init","zh":"初始化后"},"items":[{"id":"weights","name":{"en":"weights","zh":"权重"},"bytes":3145728,"basis":"counted","recipe":"4·N B"}],"allocated_bytes":4194304,"reserved_bytes":6291456,"device_used_bytes":9437184,"device_before_bytes":1048576,"mono_ns":1}
{"type":"residual","of":"naive_growth","name":{"en":"launch overhead","zh":"启动开销"},"value":-0.25,"unit":"x","basis":"counted"}
{"type":"walk","index":0,"total":1,"title":{"en":"scores","zh":"分数"},"formula":"S = Q·Kᵀ / √d","explanation":{"en":"","zh":""},"matrices":[],"check":{"reference":"float64","max_abs_error":1.0,"tolerance":0.1}}"#;

/// Lines of the fixture run with ledgers, residuals and a walk before its end.
fn lines() -> Vec<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/runs/attention-tiny.jsonl");
    let text = std::fs::read_to_string(path).expect("the fixture run");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let done = lines.iter().position(|l| l.contains("\"done\"")).expect("it ended");
    lines.splice(done..done, MORE.lines().map(str::to_owned));
    lines
}

fn events(lines: &[String]) -> Vec<LabEvent> {
    lines.iter().map(|l| parse(l).unwrap_or_else(|_| LabEvent::Log { line: l.clone() })).collect()
}

fn run() -> PastRun {
    // Without the closing record, so that the report makes its own with what was added.
    let mut lines = lines();
    lines.pop();
    PastRun::of(events(&lines), false).expect("a header")
}

fn listed(run: &PastRun) -> Listed {
    let place = if run.shipped { Place::Shipped("x".into()) } else { Place::File("x.jsonl".into()) };
    let device = run.device().map(str::to_owned);
    Listed {
        header: run.session.header.clone().expect("a header"),
        record: Some(run.record.clone()),
        device,
        place,
    }
}

fn page(runs: &[PastRun], lang: Lang) -> Vec<Block> {
    let listed: Vec<Listed> = runs.iter().map(listed).collect();
    Report { listed: &listed, shown: runs, marks: None, lang }.blocks()
}

#[test]
fn a_report_tells_what_was_measured_and_what_is_missing() {
    let text = markdown::write(&page(&[run()], Lang::En), Pictures::In("my"));
    for words in [
        "## Phase 1 · PyTorch and the Transformer",
        "| naive_peak_extra_mib 6.250 MiB; naive_growth 3.731× | Intel(R) Xeon(R) Processor",
        "not measured yet",
        "your own work",
        "launch overhead -0.2500 x",
        "](<my/20261201-020307-attention-tiny-9b08-peak_extra_mib.svg>)",
        "| weights | 3.0 MiB |",
        "| context | 2.0 MiB |",
        "`S = Q·Kᵀ / √d`**",
        "infralab lab run attention --size tiny --device auto --seed 42",
        "Too few to tell",
    ] {
        let words = if words.ends_with("**") { "`S = Q·Kᵀ / √d`** (check FAILED)**" } else { words };
        assert!(text.contains(words), "{words} in {text}");
    }
    let text = html::write(&page(&[run()], Lang::Zh), Lang::Zh);
    assert!(text.contains("第 1 阶段") && text.matches("<svg").count() == text.matches("</svg>").count());
    assert!(!text.contains("<script") && !text.contains("src=") && !text.contains("href="));
}

#[test]
fn a_ledger_answers_with_its_split_at_the_peak() {
    let mut run = run();
    run.record.lab = "memory-ledger".into();
    let mut later = run.session.ledgers[0].clone();
    later.title.en = "after forward".into();
    later.allocated_bytes = 9 << 20;
    later.items[0].id = "activations.mlp".into();
    later.items.push(infralab_labs::protocol::LedgerItem {
        id: "activations.norm".into(),
        ..later.items[0].clone()
    });
    run.session.ledgers.push(later);
    let demands = route::PHASES.iter().flat_map(|p| p.demands);
    let split = demands.filter(|d| matches!(d.evidence, route::Evidence::Ledger { .. }));
    let told: Vec<String> = split.filter_map(|d| d.numbers(&run, Lang::En)).collect();
    assert_eq!(told, ["batch 4 (after forward): activations 6.0 MiB"]);
}

#[test]
fn the_same_run_gives_the_same_bytes_and_every_picture_its_own_file() {
    let mut twin = run();
    twin.session.ledgers[0].series = "batch-4".into();
    twin.session.ledgers.push(run().session.ledgers[0].clone());
    let pages = [page(&[twin.clone()], Lang::En), page(&[twin], Lang::En)];
    assert_eq!(pages[0], pages[1]);
    let mut names: Vec<&str> = pages[0]
        .iter()
        .filter_map(|b| if let Block::Picture(p) = b { Some(p.name.as_str()) } else { None })
        .collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!((names.len(), all), (7, 7));
}

#[test]
fn nothing_in_a_run_becomes_markup() {
    let evil = "<script>alert(1)</script>|`*&\\\"";
    let lines: Vec<String> = lines()
        .into_iter()
        .map(|l| l.replace("Intel(R)", evil).replace("flash", evil).replace("weights", evil))
        .collect();
    let run = PastRun::of(events(&lines), false).expect("a header");
    let text = html::write(&page(std::slice::from_ref(&run), Lang::En), Lang::En);
    assert!(!text.to_lowercase().contains("<script"), "{text}");
    assert!(text.matches("&lt;script&gt;").count() > 20, "it is shown as text");
    let text = markdown::write(&page(&[run], Lang::En), Pictures::LeftOut);
    let html = pulldown_cmark::Parser::new(&text)
        .find(|e| matches!(e, pulldown_cmark::Event::Html(_) | pulldown_cmark::Event::InlineHtml(_)));
    assert_eq!(html, None, "{text}");
}

#[test]
fn runs_are_picked_once_per_lab_device_and_size_and_recordings_on_demand() {
    let mut listed: Vec<Listed> = vec![listed(&run()), listed(&run())];
    listed[0].record.as_mut().expect("a record").outcome = "failed".into();
    listed.extend(history::shipped());
    assert_eq!(pick(&listed, false).len(), 1);
    assert_eq!(pick(&listed, false)[0].outcome(), "completed");
    let of_labs = history::shipped().into_iter().filter(|run| !run.is_of_readings()).count();
    assert_eq!(pick(&listed, true).len(), 1 + of_labs);
}

#[test]
fn repeating_quotes_what_a_shell_would_read() {
    let mut run = run();
    run.record
        .params
        .insert("backend".into(), infralab_labs::spec::ParamValue::Text("a'; rm -rf $HOME".into()));
    let command = super::run::repeat(&run).expect("a lab");
    assert!(command.ends_with(r"--set 'backend=a'\''; rm -rf $HOME'"), "{command}");
}

/// A damaged line: cut, or with one of its numbers replaced.
fn damage(line: &str, kind: u8, at: usize, number: &str) -> String {
    if kind == 0 {
        return line.chars().take(at % (line.chars().count() + 1)).collect();
    }
    let starts: Vec<usize> = line.match_indices(':').map(|(i, _)| i + 1).collect();
    let Some(start) = starts.get(at % starts.len().max(1)).copied() else { return line.to_owned() };
    let length = line[start..].find([',', '}', ']']).unwrap_or(0);
    format!("{}{number}{}", &line[..start], &line[start + length..])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn damaged_runs_never_stop_a_report(
        wounds in proptest::collection::vec((any::<prop::sample::Index>(), 0_u8..6, 0_usize..4000, prop::sample::select(vec![
            "1e308", "-1e308", "0", "-1", "1e-300", "18446744073709551615", "null", "[0,1e300]", "\"\\u0007\\n|<b>\"", "{}",
        ])), 1..24),
        dropped in any::<prop::sample::Index>(),
    ) {
        let mut lines = lines();
        for (line, kind, at, number) in &wounds {
            let i = line.index(lines.len() - 1) + 1;
            lines[i] = damage(&lines[i], *kind, *at, number);
        }
        lines.remove(dropped.index(lines.len() - 1) + 1);
        let run = PastRun::of(events(&lines), false).expect("the header is whole");
        for lang in Lang::ALL {
            let page = page(std::slice::from_ref(&run), lang);
            let whole = html::write(&page, lang);
            prop_assert!(!whole.contains("<b>"));
            let plain = markdown::write(&page, Pictures::In("x"));
            prop_assert!(!plain.chars().any(|c| c.is_control() && c != '\n'), "a control character passed");
        }
    }
}
