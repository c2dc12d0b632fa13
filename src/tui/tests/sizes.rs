//! Every screen at every size: nothing may panic, however small or wide.

use super::*;
use proptest::prelude::*;

const EVERYWHERE: [&str; 16] = [
    "8 Right",
    "8 End F6 F7",
    "8 Down Down Down Tab F5 F12 F6",
    "7",
    "7 Down Down Enter Down x Tab F5 k",
    "1",
    "2 Down",
    "2 Enter Tab Tab",
    "F3",
    "4 Tab a",
    "5",
    "5 Enter Down Down",
    "6",
    "6 Tab x",
    "6 F7 End",
    "F1 PgDn",
];

fn everywhere(columns: u16, rows: u16, gpus: usize, lang: Lang) {
    let mut app = app((columns, rows), lang);
    let mut machine = machine();
    machine.gpus = std::iter::repeat_n(machine.gpus[0].clone(), gpus).collect();
    app.update(Msg::Machine(Box::new(machine)));
    let mut readings = snapshot(3);
    readings.gpus = std::iter::repeat_n(readings.gpus[0].clone(), gpus).collect();
    app.update(Msg::Snapshot(Box::new(readings)));
    for keys in EVERYWHERE {
        press(&mut app, keys);
        app.update(Msg::Resize(columns, rows));
        drawn(&app);
        press(&mut app, "Esc Esc Esc");
    }
    app.update(Msg::RunLoaded { shipped: true, events: recorded(), play_from_ns: None });
    for keys in ["Right", "Tab", "Tab", "Down Down", "Tab Down Right F9", "Tab"] {
        press(&mut app, keys);
        drawn(&app);
    }
    let run = |id: &str| {
        let mut run = crate::lab::PastRun::of(recorded(), false).expect("a header");
        run.record.run = id.into();
        run
    };
    app.update(Msg::RunsLoaded(vec![run("a"), run("b"), run("c")]));
    for keys in ["End", "Right", "Tab", "PgUp"] {
        press(&mut app, keys);
        drawn(&app);
    }
}

#[test]
fn the_corners() {
    for size in [(1, 1), (2, 40), (300, 1), (30, 8), (31, 9), (40, 10), (80, 24), (300, 120)] {
        everywhere(size.0, size.1, 16, Lang::Zh);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_size_and_any_number_of_gpus(columns in 1_u16..300, rows in 1_u16..120, gpus in 0_usize..=16, zh: bool) {
        everywhere(columns, rows, gpus, if zh { Lang::Zh } else { Lang::En });
    }
}
