//! The memory ledger at size `tiny`: on the CPU a counting allocator sees every byte, so that the lines must add up.

use infralab_labs::find_lab;
use infralab_labs::formulas::gpt_memory::Recipe;
use infralab_labs::memory_ledger::Config;
use infralab_labs::protocol::{DeviceKind, Event, Ledger, LedgerItem, Point, Request, WallCause};
use infralab_labs::spec::{ParamValue, Size};

use super::process::{Worker, command, run_request};
use super::{int, is_phase, summary, word};

const LAB: &str = "memory-ledger";
const STAGES: [&str; 7] = ["init", "forward", "loss", "backward", "step 1", "step 2", "peak"];

/// On one thread: these tensors are too small to share, and threads that wait for each other make a busy machine slow.
fn start(params: &[(&str, ParamValue)]) -> Worker {
    let mut worker = Worker::start(command().env("OMP_NUM_THREADS", "1"));
    worker.say(&run_request(LAB, Size::Tiny, params));
    worker
}

fn run(params: &[(&str, ParamValue)]) -> Vec<Event> {
    let mut worker = start(params);
    let events = worker.events();
    assert_eq!(worker.exit().code(), Some(0), "{:?}", events.last());
    events
}

fn ledgers(events: &[Event]) -> Vec<&Ledger> {
    events.iter().filter_map(|e| if let Event::Ledger(l) = e { Some(l) } else { None }).collect()
}

fn of_stage<'a>(ledgers: &[&'a Ledger], series: &str, stage: &str) -> &'a Ledger {
    ledgers.iter().find(|l| l.series == series && l.stage == stage).expect("a ledger")
}

fn bytes_of(ledger: &Ledger, id: &str) -> Option<u64> {
    ledger.items.iter().find(|i| i.id == id).map(|i: &LedgerItem| i.bytes)
}

fn losses<'a>(events: &'a [Event], series: &str) -> Vec<&'a Point> {
    let points = events.iter().filter_map(|e| if let Event::Point(p) = e { Some(p) } else { None });
    points.filter(|p| p.metric == "loss" && p.series == series).collect()
}

fn parameters() -> u64 {
    let params = find_lab(LAB).expect("lab").params_for(Size::Tiny, &[]).expect("defaults");
    Config::new(&params).expect("checked").shape.parameters()
}

#[test]
fn every_recipe_names_its_bytes_at_every_stage() {
    let n = parameters();
    for recipe in Recipe::ALL {
        let events = run(&[("recipe", word(recipe.name())), ("steps", int(1))]);
        let all = ledgers(&events);
        let state = recipe.state();
        for series in ["batch 2", "batch 4", "batch 8"] {
            let stages: Vec<&str> =
                all.iter().filter(|l| l.series == series).map(|l| l.stage.as_str()).collect();
            assert_eq!(stages, STAGES, "{} {series}", recipe.name());
            for stage in STAGES {
                let ledger = of_stage(&all, series, stage);
                assert!(
                    ledger.unexplained_bytes().unsigned_abs() <= 64,
                    "{} {series} {stage}: {} of {} bytes",
                    recipe.name(),
                    ledger.unexplained_bytes(),
                    ledger.allocated_bytes
                );
                assert_eq!((ledger.cache_bytes(), ledger.context_bytes()), (0, None));
            }
            let at = |stage: &'static str| of_stage(&all, series, stage);
            assert_eq!(bytes_of(at("init"), "weights"), Some(n * state.weights));
            assert_eq!(bytes_of(at("backward"), "gradients"), Some(n * state.gradients));
            assert_eq!(bytes_of(at("forward"), "gradients"), None);
            // The allocator itself says when Adam comes, and that it comes once.
            let held = |stage: &'static str| at(stage).allocated_bytes;
            let (moments, gradients) = (2 * n * state.moment, n * state.gradients);
            assert!((held("step 1") + gradients).abs_diff(held("backward") + moments) <= 64, "{series}");
            assert_eq!(held("step 2"), held("step 1"));
            assert_eq!(bytes_of(at("backward"), "adam_v"), None);
            assert_eq!(bytes_of(at("step 1"), "adam_v"), Some(n * state.moment));
        }
        let closed = find_lab(LAB).expect("lab");
        let params =
            closed.params_for(Size::Tiny, &[("recipe".into(), recipe.name().into())]).expect("in range");
        let forms = closed.closed_forms_on(DeviceKind::Cpu, &params);
        for name in ["state_mib", "peak_2_mib", "peak_3_mib"] {
            let (measured, form) = (summary(&events)[name].value, forms[name].value.value);
            let (measured, form) = (measured.expect("measured"), form.expect("a form"));
            assert!((measured / form - 1.0).abs() < 1e-3, "{} {name}: {measured} {form}", recipe.name());
        }
    }
}

#[test]
fn short_contexts_have_their_peak_elsewhere_and_it_is_named_too() {
    for recipe in Recipe::ALL {
        let shape = [("context", int(8)), ("batch_1", int(1)), ("batch_2", int(2)), ("batch_3", int(3))];
        let mut params = vec![("recipe", word(recipe.name())), ("steps", int(1))];
        params.extend(shape);
        let events = run(&params);
        let share = of_stage(&ledgers(&events), "batch 1", "peak").named_share();
        assert!(share > 0.999, "{}: {share}", recipe.name());
    }
}

#[test]
fn training_starts_at_ln_v_and_learns() {
    let events = run(&[("batch_1", int(6)), ("batch_2", int(7)), ("steps", int(30))]);
    for series in ["batch 6", "batch 7", "batch 8"] {
        let losses: Vec<f64> = losses(&events, series).iter().map(|p| p.y.value.expect("a number")).collect();
        assert_eq!(losses.len(), 32);
        assert!((losses[0] / 1024.0_f64.ln() - 1.0).abs() < 0.02, "{losses:?}");
        let last = losses[27..].iter().sum::<f64>() / 5.0;
        assert!(last < losses[0] - 0.4, "{losses:?}");
    }
    let checks: Vec<_> =
        events.iter().filter_map(|e| if let Event::Check(c) = e { Some(c) } else { None }).collect();
    assert!(checks.len() == 3 && checks.iter().all(|c| c.passed), "{checks:?}");
    for number in 1..=3 {
        let values = summary(&events);
        for name in [format!("tokens_per_s_{number}"), format!("step_{number}_ms")] {
            assert!(values[&name].value.is_some_and(|v| v > 0.0), "{name}");
            assert!(values[&name].range.is_some(), "{name}");
        }
    }
    assert!(!summary(&events).contains_key("mfu_2_pct"), "nobody published this CPU's bf16 peak");
}

#[test]
fn the_same_seed_gives_the_same_losses() {
    let values = |events: &[Event]| -> Vec<Option<f64>> {
        losses(events, "batch 2").iter().map(|p| p.y.value).collect()
    };
    let params = [("steps", int(2))];
    assert_eq!(values(&run(&params)), values(&run(&params)));
}

#[test]
fn a_loss_that_is_no_number_ends_its_batch_and_the_run_goes_on() {
    let events = run(&[("lr_e6", int(1_000_000_000)), ("steps", int(20))]);
    let values = summary(&events);
    for series in ["batch 2", "batch 4", "batch 8"] {
        let losses = losses(&events, series);
        let last = losses.last().expect("some");
        assert!(last.y.value.is_none() && last.y.missing.as_deref().is_some_and(|why| why.contains("NaN")));
        assert!(losses.len() > 1 && losses.len() < 22);
        assert_eq!(of_stage(&ledgers(&events), series, "step 2").stage, "step 2");
    }
    assert!(values["peak_2_mib"].value.is_some() && values["loss_step_0_nat"].value.is_some());
    assert!(
        events.iter().any(|e| matches!(e, Event::Note { text, .. } if text.en.contains("the loss is NaN")))
    );
    assert!(matches!(events.last(), Some(Event::Done { stopped: false, .. })));
}

#[test]
fn batches_beyond_the_budget_are_walls() {
    let events = run(&[("budget_mib", int(25)), ("steps", int(1))]);
    let walls: Vec<_> =
        events.iter().filter_map(|e| if let Event::Wall(w) = e { Some(w) } else { None }).collect();
    assert_eq!(walls.len(), 1, "{walls:?}");
    assert_eq!((walls[0].x, walls[0].cause, walls[0].budget_bytes), (8.0, WallCause::Budget, 25 << 20));
    assert!(walls[0].needed_bytes > walls[0].budget_bytes);
    let values = summary(&events);
    assert!(values["peak_2_mib"].value.is_some());
    assert!(values["peak_3_mib"].missing.as_deref().is_some_and(|why| why.contains("did not fit")));
}

#[test]
fn a_stop_ends_the_run_with_what_was_measured() {
    let mut worker = start(&[("steps", int(2000))]);
    worker.wait_for(is_phase("train b=2"));
    worker.say(&Request::Stop);
    let events = worker.events();
    assert_eq!(worker.exit().code(), Some(0));
    assert!(matches!(events.last(), Some(Event::Done { stopped: true, .. })));
    let values = summary(&events);
    assert!(values["peak_3_mib"].missing.as_deref().is_some_and(|why| why.contains("stopped")));
}

#[test]
fn what_cannot_go_together_is_refused_before_anything_runs() {
    for (params, words) in [
        (vec![("context", int(128))], "64 rows"),
        (vec![("batch_2", int(2))], "from the smallest to the largest"),
        (vec![("sdpa", word("cudnn"))], "CUDA kernels"),
    ] {
        let mut worker = start(&params);
        let events = worker.events();
        assert_eq!(worker.exit().code(), Some(1));
        let Some(Event::Failed(failure)) = events.last() else { panic!("{events:?}") };
        assert!(failure.why.contains(words), "{failure:?}");
    }
}
