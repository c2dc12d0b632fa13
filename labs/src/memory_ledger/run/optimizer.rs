//! AdamW's state. The moments do not exist before the first update: that is when a training run grows once more.

use tch::{Kind, Tensor};

use super::model::Gpt;
use crate::torch::Error;
use crate::torch::adamw::{Group, Rule, update};
use crate::torch::autograd::clear_grad;

/// PyTorch's defaults, apart from the learning rate.
fn rule(lr: f64) -> Rule {
    Rule { lr, betas: [0.9, 0.999], weight_decay: 0.01, eps: 1e-8 }
}

/// Moments, masters where the recipe has them, and the count of updates.
pub(super) struct Adam {
    rule: Rule,
    pub(super) masters: Vec<Tensor>,
    pub(super) first: Vec<Tensor>,
    pub(super) second: Vec<Tensor>,
    updates: Option<Tensor>,
}

impl Adam {
    /// With the masters that the weights were rounded from, or none.
    pub(super) fn new(lr: f64, masters: Vec<Tensor>) -> Self {
        Self { rule: rule(lr), masters, first: Vec::new(), second: Vec::new(), updates: None }
    }

    /// One update from the gradients of `gpt`, which are given back.
    pub(super) fn step(&mut self, gpt: &Gpt) -> Result<(), Error> {
        let _no_grad = tch::no_grad_guard();
        let gradients = gpt.weights.iter().map(Tensor::f_grad).collect::<Result<Vec<_>, _>>()?;
        let mut updates = match self.updates.take() {
            Some(updates) => updates,
            None => self.begin(gpt)?,
        };
        let updates = self.updates.insert(updates.f_add_scalar_(1.0)?);
        if self.masters.is_empty() {
            let group = Group {
                parameters: &gpt.weights,
                gradients: &gradients,
                first_moments: &self.first,
                second_moments: &self.second,
            };
            update(self.rule, updates, &group)?;
        } else {
            // One at a time, so that one gradient alone is wide at any moment.
            for (i, gradient) in gradients.iter().enumerate() {
                let wide = [gradient.f_to_kind(Kind::Float)?];
                let group = Group {
                    parameters: &self.masters[i..=i],
                    gradients: &wide,
                    first_moments: &self.first[i..=i],
                    second_moments: &self.second[i..=i],
                };
                update(self.rule, updates, &group)?;
                gpt.weights[i].f_detach()?.f_copy_(&self.masters[i])?;
            }
        }
        gpt.weights.iter().try_for_each(clear_grad)
    }

    /// Makes the moments, all zero, and the count.
    fn begin(&mut self, gpt: &Gpt) -> Result<Tensor, Error> {
        let like = if self.masters.is_empty() { &gpt.weights } else { &self.masters };
        let zeros = || like.iter().map(Tensor::f_zeros_like).collect::<Result<Vec<_>, _>>();
        (self.first, self.second) = (zeros()?, zeros()?);
        Ok(Tensor::f_zeros([0_i64; 0], (Kind::Float, gpt.weights[0].device()))?)
    }
}
