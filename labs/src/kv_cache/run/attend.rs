//! Attention of one new token per sequence over its cache.

use tch::{TchError, Tensor};

use crate::kv_cache::{Attention, Latent};
use crate::torch::Error;
use crate::torch::lengths::{Lengths, flash_over_lengths};

/// Shape of one token's row in a layer's cache: `[2, kv_heads, d]`, or `[latent + rope]`.
pub(super) fn row_shape(attention: Attention) -> Vec<i64> {
    match attention {
        Attention::Heads { kv_heads, head_dim, .. } => vec![2, kv_heads as i64, head_dim as i64],
        Attention::Latent(m) => vec![(m.latent + m.rope) as i64],
    }
}

/// Attention over the cached tokens `view [b, tokens, row…]`, all of them or, with `bias [tokens]`, those whose bias is
/// not −∞. Returns `[b, heads, d]`, for MLA `[b, heads, latent]`.
pub(super) fn over_view(
    attention: Attention,
    q: &Tensor,
    view: &Tensor,
    bias: Option<&Tensor>,
) -> Result<Tensor, Error> {
    match attention {
        Attention::Heads { heads, kv_heads, head_dim } => {
            let (b, h, hk, d) = (q.size()[0], heads as i64, kv_heads as i64, head_dim as i64);
            // The query heads that share keys become the rows of one query: nothing is expanded, and all rows see
            // every token, so no causal mask is needed.
            let q = q.f_view_([b, hk, h / hk, d])?;
            let [k, v] = keys_and_values(view)?;
            let bias = bias.map(|bias| bias.f_view_([1, 1, 1, -1])).transpose()?;
            let out = Tensor::f_scaled_dot_product_attention(
                &q,
                &k.f_transpose(1, 2)?,
                &v.f_transpose(1, 2)?,
                bias.as_ref(),
                0.0,
                false,
                None,
                false,
            )?;
            Ok(out.f_reshape([b, h, d])?)
        }
        Attention::Latent(m) => Ok(over_latents(m, q, view, bias)?),
    }
}

/// MLA over the latents: every head reads the same rows, so the heads are the rows of one matrix product.
fn over_latents(m: Latent, q: &Tensor, view: &Tensor, bias: Option<&Tensor>) -> Result<Tensor, TchError> {
    let scale = ((m.nope + m.rope) as f64).powf(-0.5);
    let keys = view.f_transpose(1, 2)?;
    let scores = match bias {
        Some(bias) => bias.f_view_([1, 1, -1])?.f_baddbmm(q, &keys, 1.0, scale)?,
        None => q.f_bmm(&keys)?.f_mul_scalar(scale)?,
    };
    scores.f_softmax(-1, None)?.f_bmm(&view.f_narrow(2, 0, m.latent as i64)?)
}

/// Attention by FlashAttention over as many tokens as the device counts, of the whole store `[b·capacity, row…]`.
pub(super) fn over_lengths(q: &Tensor, store: &Tensor, lengths: &Lengths) -> Result<Tensor, Error> {
    let (k, v) = (store.f_select(1, 0)?, store.f_select(1, 1)?);
    let (batch, heads, width) = q.size3()?;
    if k.size().get(1) != Some(&heads) {
        return flash_over_lengths(q, &k, &v, lengths);
    }
    // The kernel splits the length over the processors only where heads of queries share a head of keys. Every query
    // twice makes such a group: the keys are still read once, and half of the result is left out.
    let twice =
        q.f_unsqueeze(2)?.f_expand([batch, heads, 2, width], false)?.f_reshape([batch, 2 * heads, width])?;
    let out = flash_over_lengths(&twice, &k, &v, lengths)?;
    Ok(out.f_view([batch, heads, 2, width])?.f_select(2, 0)?)
}

/// Keys and values of `view [b, tokens, 2, kv_heads, d]`, each `[b, tokens, kv_heads, d]`.
fn keys_and_values(view: &Tensor) -> Result<[Tensor; 2], TchError> {
    Ok([view.f_select(2, 0)?, view.f_select(2, 1)?])
}
