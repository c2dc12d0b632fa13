//! Every calculator, every vector, and what people type.

mod asking;
mod numbers;
mod vectors;

use super::{Answer, Calculator, Fault, find};

/// `"L=32 h=4096"` as pairs.
fn pairs(inputs: &str) -> Vec<(String, String)> {
    inputs
        .split_whitespace()
        .map(|pair| pair.split_once('=').expect("name=value"))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn calculator(name: &str) -> &'static Calculator {
    find(name).unwrap_or_else(|| panic!("no calculator {name}"))
}

fn ask(name: &str, inputs: &str) -> Answer {
    calculator(name).ask(&pairs(inputs)).unwrap_or_else(|faults| panic!("{name} {inputs}: {faults:?}"))
}

fn faults(name: &str, inputs: &str) -> Vec<Fault> {
    calculator(name).ask(&pairs(inputs)).expect_err("a fault")
}
