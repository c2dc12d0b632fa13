//! How many hits there are of each kind, phase, layer and state.

use serde::Serialize;

use super::filter::{Condition, Filter, State};
use super::{Item, Kind};
use crate::library::Layer;

/// Counts for a query. Each facet counts what passes the conditions on the other ones, so that it shows what another
/// choice would give. Values that nothing has are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Facets {
    /// By kind.
    pub kinds: Vec<(Kind, usize)>,
    /// By phase; hits without one are not counted.
    pub phases: Vec<(u8, usize)>,
    /// By layer; hits without one are not counted.
    pub layers: Vec<(Layer, usize)>,
    /// By state.
    pub states: Vec<(State, usize)>,
}

/// What is asked of the four facets: one of the values given for it; `None` asks nothing.
pub(super) struct Conditions {
    asked: [Option<Vec<Condition>>; 4],
}

impl Conditions {
    /// Both must hold: what the caller chose, and what was typed.
    pub(super) fn new(filter: &Filter<'_>, typed: &[Condition]) -> Self {
        let mut asked: [Option<Vec<Condition>>; 4] = Default::default();
        for condition in typed {
            asked[condition.facet()].get_or_insert_default().push(*condition);
        }
        let chosen = [
            filter.kind.map(Condition::Kind),
            filter.phase.map(Condition::Phase),
            filter.layer.map(Condition::Layer),
            filter.state.map(Condition::State),
        ];
        for condition in chosen.into_iter().flatten() {
            let values = asked[condition.facet()].get_or_insert_with(|| vec![condition]);
            values.retain(|value| *value == condition);
        }
        Self { asked }
    }
}

/// Counts while items pass by.
pub(super) struct Counter {
    kinds: [usize; Kind::ALL.len()],
    phases: [usize; 256],
    layers: [usize; Layer::ALL.len()],
    states: [usize; State::ALL.len()],
}

impl Counter {
    pub(super) fn new() -> Self {
        Self { kinds: Default::default(), phases: [0; 256], layers: Default::default(), states: [0; 4] }
    }

    /// Counts an item where it passes, and tells whether it passes all.
    pub(super) fn passes(&mut self, item: &Item, state: State, conditions: &Conditions) -> bool {
        let values = [
            Some(Condition::Kind(item.kind)),
            item.phase.map(Condition::Phase),
            item.layer.map(Condition::Layer),
            Some(Condition::State(state)),
        ];
        let passes: [bool; 4] = std::array::from_fn(|facet| {
            let asked = conditions.asked[facet].as_ref();
            asked.is_none_or(|asked| values[facet].is_some_and(|value| asked.contains(&value)))
        });
        let others_pass = |facet: usize| (0..4).all(|other| other == facet || passes[other]);
        let counted = values.into_iter().enumerate().filter(|(facet, _)| others_pass(*facet));
        for value in counted.filter_map(|(_, value)| value) {
            match value {
                Condition::Kind(kind) => self.kinds[kind as usize] += 1,
                Condition::Phase(phase) => self.phases[usize::from(phase)] += 1,
                Condition::Layer(layer) => self.layers[layer as usize] += 1,
                Condition::State(state) => self.states[state as usize] += 1,
            }
        }
        passes.into_iter().all(|passes| passes)
    }

    pub(super) fn facets(self) -> Facets {
        fn counted<T>(values: impl IntoIterator<Item = T>, counts: &[usize]) -> Vec<(T, usize)> {
            values.into_iter().zip(counts.iter().copied()).filter(|(_, count)| *count > 0).collect()
        }
        Facets {
            kinds: counted(Kind::ALL, &self.kinds),
            phases: counted(0..=u8::MAX, &self.phases),
            layers: counted(Layer::ALL, &self.layers),
            states: counted(State::ALL, &self.states),
        }
    }
}
