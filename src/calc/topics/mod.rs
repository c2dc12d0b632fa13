//! The calculators, one file a topic.

mod activations;
mod communication;
mod compute;
mod decode;
mod failures;
mod fits;
mod kv;
mod observation;
mod parallelism;
mod parameters;
mod roofline;
mod serving;
mod training_state;

use super::Calculator;

/// Every calculator, in the order of [`super::Topic::ALL`].
pub(super) const ALL: [&[Calculator]; 13] = [
    fits::CALCULATORS,
    parameters::CALCULATORS,
    kv::CALCULATORS,
    training_state::CALCULATORS,
    activations::CALCULATORS,
    compute::CALCULATORS,
    roofline::CALCULATORS,
    decode::CALCULATORS,
    serving::CALCULATORS,
    communication::CALCULATORS,
    parallelism::CALCULATORS,
    failures::CALCULATORS,
    observation::CALCULATORS,
];
