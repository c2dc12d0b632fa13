//! A cache that grows from nothing, token by token: bytes held, reserved and copied, for each policy.

use tch::{Kind, Tensor};

use super::cache::{Policy, tensor_bytes, tokens_size};
use super::report;
use crate::clock::mono_ns;
use crate::formulas::kv_cache::{cat_copied_bytes, paged_bytes};
use crate::formulas::mib;
use crate::kv_cache::Config;
use crate::protocol::{Basis, Event, Expected, Ledger, LedgerItem, Quantity, Text, WallCause};
use crate::torch::memory::{MemoryUse, empty_cache, free_bytes, memory_use};
use crate::torch::{Context, Error};

/// Points of a curve.
const POINTS: u64 = 24;

/// What growing gave, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Grown {
    /// Tensors of the `cat` cache at the end.
    pub(super) cache_bytes: Option<u64>,
    /// Written by `cat` on the way.
    pub(super) copied_bytes: Option<u64>,
    /// Reserved by the allocator at the end, per byte of `cat` cache; `None` on the CPU.
    pub(super) reserved_over_cache: Option<f64>,
}

/// A cache that holds tokens and nothing else; queries are not needed to count bytes.
enum Held {
    /// One tensor per layer, `[batch, tokens, row…]`, replaced each step.
    Cat(Vec<Tensor>),
    /// One tensor, `[layers, batch, max_len, row…]`.
    Preallocated(Tensor),
    /// One tensor per page, `[layers, batch, page, row…]`.
    Paged(Vec<Tensor>),
}

/// Grows each cache to `context + steps` tokens.
pub(super) fn run(ctx: &Context, config: &Config, budget: u64) -> Result<Grown, Error> {
    let mut grown = Grown::default();
    for policy in Policy::ALL {
        ctx.go_on()?;
        let (needed, recipe) = held_bytes(config, policy, config.tokens());
        if needed > budget {
            report::wall(ctx, policy.name(), config.tokens(), needed, budget, WallCause::Budget);
            continue;
        }
        let _phase = ctx.phase(format!("growth.{}", policy.name()));
        match grow(ctx, config, policy, &recipe, &mut grown) {
            Err(Error::OutOfMemory(_)) => {
                report::wall(ctx, policy.name(), config.tokens(), needed, budget, WallCause::OutOfMemory);
            }
            outcome => outcome?,
        }
    }
    Ok(grown)
}

/// Bytes that a policy holds for `tokens` tokens, and the recipe.
fn held_bytes(config: &Config, policy: Policy, tokens: u64) -> (u64, String) {
    let kv = config.bytes_per_token() * config.batch;
    match policy {
        Policy::Cat => (kv * tokens, format!("{kv} B · tokens")),
        Policy::Preallocated => (kv * config.max_len, format!("{kv} B · {} (max_len)", config.max_len)),
        Policy::Paged => {
            (paged_bytes(kv, tokens, config.page), format!("⌈tokens/{0}⌉·{0}·{kv} B", config.page))
        }
    }
}

fn grow(
    ctx: &Context,
    config: &Config,
    policy: Policy,
    recipe: &str,
    grown: &mut Grown,
) -> Result<(), Error> {
    let (device, kind) = (ctx.device(), config.dtype.kind());
    let size = |tokens| tokens_size(config.shape, config.shape.attention, config.batch, tokens);
    // What every step brings: one token of all layers.
    let token = Tensor::f_zeros(size(1), (kind, device))?;
    empty_cache(device)?;
    let before = memory_use(device)?;
    let mut held = Held::new(policy, config, kind, device)?;
    let tokens = config.tokens();
    let mut copied = 0;
    for n in 1..=tokens {
        ctx.go_on()?;
        copied += held.add(n - 1, config.page, &token)?;
        if n == tokens || n % tokens.div_ceil(POINTS) == 0 {
            let now = memory_use(device)?;
            point(ctx, config, policy, n, recipe, [before, now]);
            if policy == Policy::Cat {
                copied_point(ctx, config, n, copied);
            }
        }
    }
    let now = memory_use(device)?;
    if policy == Policy::Cat {
        let cache = held.tensors().map(tensor_bytes).sum::<u64>();
        grown.cache_bytes = Some(cache);
        grown.copied_bytes = Some(copied);
        let reserved = now.reserved_bytes.saturating_sub(before.reserved_bytes);
        grown.reserved_over_cache = device.is_cuda().then(|| reserved as f64 / cache as f64);
    }
    ledger(ctx, config, policy, &held, &token, now);
    Ok(())
}

impl Held {
    fn new(policy: Policy, config: &Config, kind: Kind, device: tch::Device) -> Result<Self, Error> {
        let size = |tokens| tokens_size(config.shape, config.shape.attention, config.batch, tokens);
        Ok(match policy {
            Policy::Cat => {
                let empty = || Tensor::f_empty(&size(0)[1..], (kind, device));
                Self::Cat((0..config.shape.layers).map(|_| empty()).collect::<Result<_, _>>()?)
            }
            Policy::Preallocated => {
                Self::Preallocated(Tensor::f_empty(size(config.max_len), (kind, device))?)
            }
            Policy::Paged => Self::Paged(Vec::new()),
        })
    }

    /// Adds `token`, the one after `cached` others; returns the bytes of what had to be written anew.
    fn add(&mut self, cached: u64, page: u64, token: &Tensor) -> Result<u64, Error> {
        let mut copied = 0;
        match self {
            Self::Cat(layers) => {
                for (layer, cache) in layers.iter_mut().enumerate() {
                    *cache = Tensor::f_cat(&[&*cache, &token.f_select(0, layer as i64)?], 1)?;
                    copied += tensor_bytes(cache);
                }
            }
            Self::Preallocated(store) => store.f_narrow(2, cached as i64, 1)?.f_copy_(token)?,
            Self::Paged(pages) => {
                if cached.is_multiple_of(page) {
                    let mut size = token.size();
                    size[2] = page as i64;
                    pages.push(Tensor::f_empty(size, (token.kind(), token.device()))?);
                }
                let last = pages.last().expect("the first token makes a page");
                last.f_narrow(2, (cached % page) as i64, 1)?.f_copy_(token)?;
            }
        }
        Ok(copied)
    }

    fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        match self {
            Self::Cat(tensors) | Self::Paged(tensors) => tensors.as_slice(),
            Self::Preallocated(store) => std::slice::from_ref(store),
        }
        .iter()
    }
}

fn point(ctx: &Context, config: &Config, policy: Policy, n: u64, recipe: &str, use_: [MemoryUse; 2]) {
    let [before, now] = use_;
    let x = n as f64;
    let allocated = now.allocated_bytes.saturating_sub(before.allocated_bytes) as f64;
    let window = "the allocator's count after the step, less its count before the first";
    ctx.point("cache_mib", policy.name(), x, Quantity::some(mib(allocated), "MiB"), window);
    ctx.expected(Expected {
        metric: "cache_mib".into(),
        series: policy.name().into(),
        x,
        value: mib(held_bytes(config, policy, n).0 as f64),
        unit: "MiB".into(),
        formula: recipe.into(),
    });
    let reserved = if ctx.device().is_cuda() {
        let bytes = now.reserved_bytes.saturating_sub(before.reserved_bytes);
        Quantity::some(mib(bytes as f64), "MiB")
    } else {
        Quantity::missing("MiB", "the CPU's allocator keeps nothing back, so nothing is reserved beyond")
    };
    ctx.point("reserved_mib", policy.name(), x, reserved, "memory that the caching allocator has taken");
}

fn copied_point(ctx: &Context, config: &Config, n: u64, copied: u64) {
    let kv = config.bytes_per_token() * config.batch;
    let (metric, series) = ("copied_mib", "cat");
    let window = "bytes of every tensor that cat returned, summed";
    ctx.point(metric, series, n as f64, Quantity::some(mib(copied as f64), "MiB"), window);
    ctx.expected(Expected {
        metric: metric.into(),
        series: series.into(),
        x: n as f64,
        value: mib(cat_copied_bytes(kv, 0, n)),
        unit: "MiB".into(),
        formula: format!("{kv} B · n·(n+1)/2"),
    });
}

fn ledger(ctx: &Context, config: &Config, policy: Policy, held: &Held, token: &Tensor, now: MemoryUse) {
    let kv = config.bytes_per_token() * config.batch;
    let tokens = config.tokens();
    let useful = kv * tokens;
    let held = held.tensors().map(tensor_bytes).sum::<u64>();
    let item = |id: &str, name: Text, bytes, basis, recipe: String| LedgerItem {
        id: id.into(),
        name,
        bytes,
        basis,
        recipe,
    };
    let spare = match policy {
        Policy::Preallocated => Text::new("reserved ahead, unused", "提前预留、尚未用到"),
        _ => Text::new("unused end of the last page", "最后一页没用到的部分"),
    };
    let mut items = vec![
        item(
            "kv",
            Text::new("keys and values of cached tokens", "已缓存 token 的 K 和 V"),
            useful,
            Basis::ClosedForm,
            format!("{kv} B · {tokens} tokens"),
        ),
        item("spare", spare, held - useful, Basis::Counted, format!("tensors {held} B − {useful} B")),
        item(
            "new_token",
            Text::new("the token to be added", "待追加的 token"),
            tensor_bytes(token),
            Basis::Counted,
            format!("{kv} B"),
        ),
    ];
    items.retain(|item| item.bytes > 0);
    let used = ctx.hello().device.total_memory_bytes.zip(free_bytes(ctx.device()));
    ctx.emit(&Event::Ledger(Ledger {
        series: policy.name().into(),
        stage: format!("{tokens} tokens"),
        title: Text::new(
            format!("{} cache of {tokens} tokens", policy.name()),
            format!("{} 缓存，{tokens} 个 token", policy.name()),
        ),
        items,
        allocated_bytes: now.allocated_bytes,
        reserved_bytes: now.reserved_bytes,
        device_used_bytes: used.filter(|_| ctx.device().is_cuda()).map(|(total, free)| total - free),
        device_before_bytes: None,
        mono_ns: mono_ns(),
    }));
}
