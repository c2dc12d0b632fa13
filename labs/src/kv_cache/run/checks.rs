//! Every way of decoding against a computation without a cache, in float64 on the CPU.

use tch::{Device, Kind, TchError, Tensor};

use super::cache::{Policy, Room};
use super::decode::{Decoder, Way};
use super::latency::plan_free;
use super::model::{Model, Projections, norm, product};
use super::named;
use crate::dtype::Dtype;
use crate::kv_cache::{Attention, Config, Latent, ModelShape};
use crate::protocol::{Check, Event, Failure};
use crate::torch::sdpa::{Backend, Only};
use crate::torch::{Context, Error};

/// Sequences and tokens of the check: more tokens than two pages of [`PAGE`].
const BATCH: i64 = 2;
const TOKENS: i64 = 19;
const PAGE: i64 = 8;

/// Standard deviation of the weights: scores then differ by about 1, so that a token attended to by mistake, or left
/// out, shows.
const SPREAD: f64 = 0.1;

/// Bound on the largest error of the logits, relative to the largest logit: about three times the worst seen for
/// every kind of attention and head dimensions 8 to 128.
fn tolerance(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::Bf16 => 5e-2,
        Dtype::Fp16 => 1e-2,
        Dtype::Fp32 => 1e-4,
    }
}

/// The run's attention in a model small enough for float64: its grouping and dimensions, fewer heads, two blocks.
fn small_shape(shape: ModelShape) -> ModelShape {
    let attention = match shape.attention {
        Attention::Heads { heads, kv_heads, head_dim } => {
            let fewer = kv_heads.min(2);
            Attention::Heads { heads: heads / kv_heads * fewer, kv_heads: fewer, head_dim }
        }
        Attention::Latent(m) => Attention::Latent(Latent { heads: m.heads.min(4), ..m }),
    };
    ModelShape { layers: 2, hidden: 128, ff: shape.ff.min(256), vocab: 512, attention }
}

/// Checks every way that this device has; a check that fails does not end the lab. An element type that the device
/// does not compute with ends it, in words.
pub(super) fn run(ctx: &Context, config: &Config) -> Result<(), Error> {
    let _phase = ctx.phase("check");
    let kind = config.dtype.kind();
    let model = Model::random(small_shape(config.shape), SPREAD, Kind::Float, Device::Cpu)?;
    // Rounded to the element type before anybody computes, so that the reference sees the same numbers.
    let rounded = model.to(kind, Device::Cpu)?;
    let exact = rounded.to(Kind::Double, Device::Cpu)?;
    let model = rounded.to(kind, ctx.device())?;
    let tokens = Tensor::f_randint(model.shape.vocab as i64, [BATCH, TOKENS], (Kind::Int64, Device::Cpu))?;
    let want = without_cache(&exact, &tokens)?;
    let tokens = tokens.f_to_device(ctx.device())?;
    let kernel = plan_free(config, ctx)?;
    for (name, way, recorded) in ways(config, ctx.device()) {
        ctx.go_on()?;
        let masked = (way == Way::Masked && ctx.device().is_cuda()).then_some(Backend::Efficient);
        let _only = masked.or(kernel).map(Only::new).transpose()?;
        let got = match decoded(&model, way, recorded, &tokens) {
            Ok(logits) => logits,
            Err(Error::Torch(why)) if way == Way::Exact(Policy::Preallocated) => {
                return Err(unsupported(config.dtype, &ctx.hello().device.name, &why).into());
            }
            Err(Error::Torch(why)) => {
                ctx.note(named(&name, &why));
                continue;
            }
            Err(other) => return Err(other),
        };
        let (error, scale) = (largest(&got.f_sub(&want)?)?, largest(&want)?);
        let tolerance = tolerance(config.dtype);
        ctx.emit(&Event::Check(Check {
            name: format!("{name}.logits"),
            reference: format!("float64 on the CPU without a cache, {TOKENS} tokens"),
            // JSON has no NaN; a result that holds one is as wrong as can be.
            max_abs_error: if error.is_finite() { error } else { f64::MAX },
            reference_max_abs: scale,
            tolerance,
            passed: error <= tolerance * scale,
        }));
    }
    Ok(())
}

/// Ways by name, and whether a graph is recorded. The plainest comes first: it tells whether the type is supported.
fn ways(config: &Config, device: Device) -> Vec<(String, Way, bool)> {
    let exact = [Policy::Preallocated, Policy::Cat, Policy::Paged];
    let mut ways: Vec<_> = exact.map(|p| (p.name().to_owned(), Way::Exact(p), false)).into();
    ways.push(("fixed-capacity".into(), Way::Masked, false));
    if device.is_cuda() {
        let way = Way::recordable(config.shape.attention, config.dtype.kind(), device);
        ways.push(("graph".into(), way, true));
    }
    ways
}

fn unsupported(dtype: Dtype, device: &str, why: &str) -> Failure {
    Failure {
        what: format!("{} is not supported by LibTorch on {device}", dtype.name()),
        why: why.into(),
        next: "choose another dtype; fp32 runs everywhere".into(),
    }
}

/// Logits after all `tokens [b, n]` went through a cache one by one.
fn decoded(model: &Model, way: Way, recorded: bool, tokens: &Tensor) -> Result<Tensor, Error> {
    let mut decoder = Decoder::new(model, way, Room { batch: BATCH, capacity: 64, page: PAGE })?;
    if recorded {
        decoder.record(0)?;
    }
    for t in 0..TOKENS {
        decoder.feed(&tokens.f_select(1, t)?)?;
        decoder.step()?;
    }
    let logits = decoder.logits().ok_or_else(|| Error::Torch("no token was decoded".into()))?;
    Ok(logits.f_to_device(Device::Cpu)?.f_to_kind(Kind::Double)?)
}

/// Logits of the last of `tokens [b, n]`, all of them computed at once.
fn without_cache(model: &Model, tokens: &Tensor) -> Result<Tensor, TchError> {
    let (b, n, c) = (tokens.size()[0], tokens.size()[1], model.shape.hidden as i64);
    let mut stream = model.embedding.f_index_select(0, &tokens.f_reshape([-1])?)?.f_view_([b, n, c])?;
    let future = Tensor::f_ones([n, n], (Kind::Bool, tokens.device()))?.f_triu(1)?;
    for block in &model.blocks {
        let y = norm(&stream, &block.norm)?;
        let attended = match (&block.projections, model.shape.attention) {
            (Projections::Heads { qkv }, Attention::Heads { heads, kv_heads, head_dim }) => {
                let (h, hk, d) = (heads as i64, kv_heads as i64, head_dim as i64);
                let all = product(&y, qkv)?.f_view_([b, n, h + 2 * hk, d])?.f_transpose(1, 2)?;
                let shared = |from| {
                    let heads: Result<Tensor, TchError> = all.f_narrow(1, from, hk);
                    heads?.f_repeat_interleave_self_int(h / hk, 1, None)
                };
                causal(&all.f_narrow(1, 0, h)?, &shared(h)?, &shared(h + hk)?, &future)?
            }
            (projections, _) => latent_without_cache(projections, &y, &future)?,
        };
        stream = stream.f_add(&product(&attended, &block.out)?)?;
        if let Some(mlp) = &block.mlp {
            let ff = model.shape.ff as i64;
            let both = product(&norm(&stream, &mlp.norm)?, &mlp.gate_up)?;
            let gated = both.f_narrow(-1, 0, ff)?.f_silu()?.f_mul(&both.f_narrow(-1, ff, ff)?)?;
            stream = stream.f_add(&product(&gated, &mlp.down)?)?;
        }
    }
    product(&stream.f_select(1, n - 1)?, &model.embedding)
}

/// MLA as it is defined: keys and values of every head are made from the latents, nothing is absorbed.
fn latent_without_cache(projections: &Projections, y: &Tensor, future: &Tensor) -> Result<Tensor, TchError> {
    let Projections::Latent { sizes, down, query_norm, latent_norm, query_up, key_up, value_up } =
        projections
    else {
        unreachable!("weights are made for their shape")
    };
    let (b, n) = (y.size()[0], y.size()[1]);
    let [ql, lat, rope, nope, h] =
        [sizes.query_latent, sizes.latent, sizes.rope, sizes.nope, sizes.heads].map(|x| x as i64);
    let all = product(y, down)?;
    let latent = norm(&all.f_narrow(-1, ql, lat)?, latent_norm)?.f_unsqueeze(1)?;
    let shared = all.f_narrow(-1, ql + lat, rope)?.f_unsqueeze(1)?.f_expand([b, h, n, rope], false)?;
    let keys = Tensor::f_cat(&[latent.f_matmul(&key_up.f_transpose(1, 2)?)?, shared], -1)?;
    let values = latent.f_matmul(value_up)?;
    let q = product(&norm(&all.f_narrow(-1, 0, ql)?, query_norm)?, query_up)?;
    let q = q.f_view_([b, n, h, nope + rope])?.f_transpose(1, 2)?;
    causal(&q, &keys, &values, future)
}

/// Attention as in a textbook over `[b, heads, n, …]`; `[b, n, heads·value]`.
fn causal(q: &Tensor, k: &Tensor, v: &Tensor, future: &Tensor) -> Result<Tensor, TchError> {
    let width = k.size().last().copied().unwrap_or(1) as f64;
    let scores = q.f_matmul(&k.f_transpose(-2, -1)?)?.f_mul_scalar(width.powf(-0.5))?;
    let weights = scores.f_masked_fill(future, f64::NEG_INFINITY)?.f_softmax(-1, None)?;
    let out = weights.f_matmul(v)?.f_transpose(1, 2)?;
    out.f_reshape([out.size()[0], out.size()[1], -1])
}

fn largest(tensor: &Tensor) -> Result<f64, Error> {
    Ok(tensor.f_abs()?.f_max()?.f_double_value(&[])?)
}
