//! Whole screens as text, at two sizes, in both languages.

use super::*;

/// Readings, marks and one run, as after a while of use.
fn used(size: (u16, u16), lang: Lang) -> App {
    let mut app = app(size, lang);
    for second in 1..=60 {
        app.update(Msg::Snapshot(Box::new(snapshot(second))));
    }
    app.update(Msg::Progress(marks(&[("gpu-memory", Mark::Known), ("kv-cache", Mark::Learning)])));
    let events = recorded();
    let (Some(LabEvent::Header(header)), Some(LabEvent::Record(record))) = (events.first(), events.last())
    else {
        panic!("the fixture has a header and a record")
    };
    let place = crate::lab::history::Place::File(format!("{}.jsonl", header.run).into());
    let run = crate::lab::history::Listed {
        header: header.clone(),
        record: Some((**record).clone()),
        device: Some("Intel(R) Xeon(R) Processor".into()),
        place,
    };
    app.update(Msg::History(vec![run]));
    app
}

/// Draws what `keys` lead to at both sizes and in both languages.
fn snapshots(name: &str, keys: &str) {
    for (columns, rows) in [(80, 24), (120, 40)] {
        for lang in Lang::ALL {
            let mut app = used((columns, rows), lang);
            press(&mut app, keys);
            insta::assert_snapshot!(format!("{name}-{columns}x{rows}-{}", lang.code()), drawn(&app));
        }
    }
}

#[test]
fn home() {
    snapshots("home", "1");
}

#[test]
fn notes() {
    snapshots("notes", "2 Down");
}

#[test]
fn reader() {
    snapshots("reader", "2 Enter Tab");
}

#[test]
fn glossary() {
    snapshots("glossary", "4 Down");
}

#[test]
fn labs() {
    snapshots("labs", "5");
}

#[test]
fn lab() {
    snapshots("lab", "5 Enter 8 Down 4");
}

#[test]
fn history() {
    snapshots("history", "6");
}

/// Two runs of one lab that differ in their driver, loaded to be compared.
fn compared(size: (u16, u16), lang: Lang) -> App {
    let mut app = used(size, lang);
    let run = |id: &str, driver: &str| {
        let mut run = crate::lab::PastRun::of(recorded(), false).expect("a header");
        run.record.run = id.into();
        run.record.env.driver = Some(driver.into());
        run
    };
    app.update(Msg::RunsLoaded(vec![run("first", "580.1"), run("second", "590.2")]));
    app
}

#[test]
fn compare() {
    for (columns, rows) in [(80, 24), (120, 40)] {
        for lang in Lang::ALL {
            let mut app = compared((columns, rows), lang);
            insta::assert_snapshot!(format!("compare-{columns}x{rows}-{}", lang.code()), drawn(&app));
            press(&mut app, "Right");
            insta::assert_snapshot!(format!("compare-chart-{columns}x{rows}-{}", lang.code()), drawn(&app));
        }
    }
}

#[test]
fn calibration() {
    snapshots("calibration", "6 F7");
}

#[test]
fn calc() {
    snapshots("calc", "7 Down Down Down Down");
    snapshots("calc-form", "7 Enter Right Down Right Right Down Down Down Down Down 1 x");
}

#[test]
fn help() {
    snapshots("help", "4 F1");
}

#[test]
fn search() {
    for lang in Lang::ALL {
        let mut app = used((80, 24), lang);
        press(&mut app, "/");
        type_text(&mut app, "显存");
        // The time that a query takes is not the same twice.
        let text = drawn(&app);
        let steady = text.lines().filter(|l| !l.contains(" ms")).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(format!("search-80x24-{}", lang.code()), steady);
    }
}

#[test]
fn run() {
    for (columns, rows) in [(80, 24), (120, 40)] {
        let views = [
            ("chart", ""),
            ("memory", "Right"),
            ("reconcile", "Tab"),
            ("table", "Tab Tab"),
            ("device", "Tab Tab Tab"),
            ("log", "Tab Tab Tab Tab"),
        ];
        for (view, keys) in views {
            let mut app = used((columns, rows), Lang::En);
            app.update(Msg::RunLoaded { shipped: true, events: recorded(), play_from_ns: None });
            press(&mut app, keys);
            insta::assert_snapshot!(format!("run-{view}-{columns}x{rows}"), drawn(&app));
        }
    }
}

#[test]
fn ledger_and_steps() {
    for (name, run, keys) in [
        ("ledger", "memory-ledger-tiny", "Tab Tab Right Down Down"),
        ("steps", "attention-steps", "Tab Tab Right Right Right"),
    ] {
        for (columns, rows) in [(80, 24), (120, 40)] {
            for lang in Lang::ALL {
                let mut app = used((columns, rows), lang);
                app.update(Msg::RunLoaded { shipped: false, events: fixture(run), play_from_ns: None });
                press(&mut app, keys);
                insta::assert_snapshot!(format!("run-{name}-{columns}x{rows}-{}", lang.code()), drawn(&app));
            }
        }
    }
}

#[test]
fn monitor() {
    snapshots("monitor", "8 Down F6");
}
