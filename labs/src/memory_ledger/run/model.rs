//! GPT-2 in plain tensor operations, so that every tensor can be counted.

use tch::{Device, Kind, TchError, Tensor};

use crate::formulas::gpt_memory::Recipe;
use crate::formulas::gpt_shape::GptShape;

/// Standard deviation of the initial weights; those that write into the residual stream are smaller by `√(2L)`.
pub(super) const DEVIATION: f64 = 0.02;

/// Tensors of one block, in order of use.
const PER_BLOCK: usize = 6;

/// A GPT's weights as leaves of autograd: token embedding (which is the head too), position embedding, six of each
/// block, the last gain.
pub(super) struct Gpt {
    shape: GptShape,
    pub(super) positions: Tensor,
    pub(super) weights: Vec<Tensor>,
}

impl Gpt {
    /// Random weights from the seeded generator of `device`; the same numbers in every recipe, rounded to its type.
    /// With [`Recipe::Bf16Master`] the fp32 masters come too, in the same order.
    pub(super) fn new(
        shape: GptShape,
        recipe: Recipe,
        context: u64,
        device: Device,
    ) -> Result<(Self, Vec<Tensor>), TchError> {
        let kind = weight_kind(recipe);
        let (mut weights, mut masters) = (Vec::new(), Vec::new());
        for Initial { size, deviation } in initial_weights(shape) {
            let wide = match deviation {
                Some(deviation) => {
                    Tensor::f_empty(&size, (Kind::Float, device))?.f_normal_(0.0, deviation)?
                }
                None => Tensor::f_ones(&size, (Kind::Float, device))?,
            };
            weights.push(wide.f_to_kind(kind)?.f_set_requires_grad(true)?);
            if recipe == Recipe::Bf16Master {
                masters.push(wide);
            }
        }
        let positions = Tensor::f_arange(context as i64, (Kind::Int64, device))?;
        Ok((Self { shape, positions, weights }, masters))
    }

    /// Logits `[B·T, V]` of `tokens` `[B, T]`.
    pub(super) fn forward(&self, tokens: &Tensor) -> Result<Tensor, TchError> {
        let [token_embedding, position_embedding, blocks @ .., last_gain] = self.weights.as_slice() else {
            return Err(TchError::Shape("a GPT without weights".into()));
        };
        let mut x = embed(token_embedding, tokens)?.f_add(&embed(position_embedding, &self.positions)?)?;
        for block in blocks.chunks_exact(PER_BLOCK) {
            x = self.block(block, &x)?;
        }
        normed(&x, last_gain)?.f_linear(token_embedding, None::<&Tensor>)?.f_flatten(0, 1)
    }

    fn block(&self, weights: &[Tensor], x: &Tensor) -> Result<Tensor, TchError> {
        let [attention_gain, qkv, projection, mlp_gain, up, down] = weights else {
            return Err(TchError::Shape("a block without weights".into()));
        };
        let attended = self.attention(&linear(&normed(x, attention_gain)?, qkv)?)?;
        let x = x.f_add(&linear(&attended, projection)?)?;
        let widened = linear(&normed(&x, mlp_gain)?, up)?.f_gelu("tanh")?;
        x.f_add(&linear(&widened, down)?)
    }

    /// Causal attention over `[B, T, 3·h]`, its result `[B, T, h]`.
    fn attention(&self, qkv: &Tensor) -> Result<Tensor, TchError> {
        let (batch, context, _) = qkv.size3()?;
        let (hidden, heads) = (self.shape.hidden as i64, self.shape.heads as i64);
        let split = qkv.f_split(hidden, 2)?;
        let by_head = |part: &Tensor| part.f_view([batch, context, heads, hidden / heads])?.f_transpose(1, 2);
        let (q, k, v) = (by_head(&split[0])?, by_head(&split[1])?, by_head(&split[2])?);
        Tensor::f_scaled_dot_product_attention(&q, &k, &v, None::<&Tensor>, 0.0, true, None, false)?
            .f_transpose(1, 2)?
            .f_reshape([batch, context, hidden])
    }
}

/// Mean cross entropy in nat. Under autocast the library's own operation, as a training script calls it: it rounds
/// the logarithms to the type of the logits, then widens them. Elsewhere the logarithms are fp32 from the start, since
/// a mean of bf16 numbers would move in steps of 0.06.
pub(super) fn loss(logits: &Tensor, targets: &Tensor, recipe: Recipe) -> Result<Tensor, TchError> {
    let (mean, ignored) = (tch::Reduction::Mean, -100);
    match recipe {
        Recipe::Autocast => logits.f_cross_entropy_loss(targets, None::<&Tensor>, mean, ignored, 0.0),
        Recipe::Fp32 | Recipe::Bf16 | Recipe::Bf16Master => {
            logits.f_log_softmax(-1, Kind::Float)?.f_nll_loss(targets, None::<&Tensor>, mean, ignored)
        }
    }
}

/// Element type of the weights.
pub(super) fn weight_kind(recipe: Recipe) -> Kind {
    match recipe {
        Recipe::Fp32 | Recipe::Autocast => Kind::Float,
        Recipe::Bf16 | Recipe::Bf16Master => Kind::BFloat16,
    }
}

struct Initial {
    size: Vec<i64>,
    /// `None`: a gain, all ones.
    deviation: Option<f64>,
}

fn initial_weights(shape: GptShape) -> Vec<Initial> {
    let (h, deviation) = (shape.hidden as i64, Some(DEVIATION));
    let into_residual = Some(DEVIATION / (2.0 * shape.layers as f64).sqrt());
    let matrix = |rows, columns, deviation| Initial { size: vec![rows, columns], deviation };
    let gain = || Initial { size: vec![h], deviation: None };
    let mut weights =
        vec![matrix(shape.vocabulary as i64, h, deviation), matrix(shape.positions as i64, h, deviation)];
    for _ in 0..shape.layers {
        weights.extend([
            gain(),
            matrix(3 * h, h, deviation),
            matrix(h, h, into_residual),
            gain(),
            matrix(4 * h, h, deviation),
            matrix(h, 4 * h, into_residual),
        ]);
    }
    weights.push(gain());
    weights
}

fn embed(weight: &Tensor, indices: &Tensor) -> Result<Tensor, TchError> {
    Tensor::f_embedding(weight, indices, -1, false, false)
}

fn normed(x: &Tensor, gain: &Tensor) -> Result<Tensor, TchError> {
    x.f_layer_norm(gain.size(), Some(gain), None::<&Tensor>, 1e-5, true)
}

fn linear(x: &Tensor, weight: &Tensor) -> Result<Tensor, TchError> {
    x.f_linear(weight, None::<&Tensor>)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tensors_hold_the_parameters_that_the_formula_counts() {
        let shape = GptShape { layers: 3, heads: 2, hidden: 16, positions: 8, vocabulary: 50 };
        let (gpt, masters) = Gpt::new(shape, Recipe::Bf16Master, 8, Device::Cpu).expect("made");
        let elements = |tensors: &[Tensor]| tensors.iter().map(|t| t.numel() as u64).sum::<u64>();
        assert_eq!((elements(&gpt.weights), elements(&masters)), (shape.parameters(), shape.parameters()));
        assert_eq!(gpt.weights.len() as u64, shape.tensors());
    }
}
