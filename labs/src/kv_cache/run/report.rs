//! What the learner is told in words, the named results, and what explains the time above the floor.

use std::collections::BTreeMap;

use super::Results;
use super::floor::{Floor, cache_bytes};
use super::latency::Latency;
use super::plan_trap::VARIANTS;
use crate::formulas::mib;
use crate::kv_cache::{Attention, Config, Experiment};
use crate::protocol::{Basis, Event, Quantity, ResidualPart, Text, Wall, WallCause};
use crate::torch::Context;

/// Which model decodes.
pub(super) fn model(ctx: &Context, config: &Config) {
    let shape = config.shape;
    let (name, kv) = (shape.attention.name(), config.bytes_per_token());
    let (layers, weights) = (shape.layers, bytes_words(config.weight_bytes()));
    ctx.note(Text::new(
        format!(
            "{layers} blocks with {name}, random weights of {weights}; a token leaves {kv} B in the cache."
        ),
        format!("{layers} 层 {name}，随机权重 {weights}；每个 token 在缓存里留下 {kv} B。"),
    ));
    if matches!(shape.attention, Attention::Latent(_)) {
        ctx.note(Text::new(
            "MLA is decoded absorbed: keys and values are never made, queries meet the latents. Its part with the \
             position is cached without the rotation, which costs no memory.",
            "MLA 以吸收（absorbed）形式解码：不还原 K 和 V，查询直接与潜变量相乘。带位置的那部分照样缓存，只是没做旋转，\
             旋转不占显存。",
        ));
    }
    if shape.ff == 0 {
        ctx.note(Text::new(
            "Experts (MoE) are left out: blocks are attention alone. They would add weights, and nothing to the cache.",
            "不含 MoE 专家：每层只有注意力。专家只增加权重，不增加缓存。",
        ));
    }
}

/// A cache that does not fit.
pub(super) fn wall(ctx: &Context, series: &str, tokens: u64, needed: u64, budget: u64, cause: WallCause) {
    let (need, have) = (bytes_words(needed), bytes_words(budget));
    let text = match cause {
        WallCause::Budget => Text::new(
            format!("{series} needs {need} for {tokens} tokens; caches may use {have}, so it was not tried."),
            format!("{series} 存 {tokens} 个 token 需要 {need}，缓存只允许用 {have}，因此没有尝试。"),
        ),
        WallCause::OutOfMemory => Text::new(
            format!(
                "{series} needs {need} for {tokens} tokens; the allocator refused, and the memory was given back."
            ),
            format!("{series} 存 {tokens} 个 token 需要 {need}；分配器拒绝了请求，内存都已归还。"),
        ),
    };
    emit_wall(ctx, series, tokens as f64, [needed, budget], cause, text);
}

/// The first sequence that was not admitted.
pub(super) fn admission_wall(ctx: &Context, sequence: u64, needed: u64, budget: u64, cause: WallCause) {
    let (need, have) = (bytes_words(needed), bytes_words(budget));
    let refused = match cause {
        WallCause::Budget => ("over the budget", "超出预算"),
        WallCause::OutOfMemory => ("refused by the allocator", "被分配器拒绝"),
    };
    let text = Text::new(
        format!("Contiguous: sequence {sequence} would make {need} of {have}, {}.", refused.0),
        format!("连续预留：放到第 {sequence} 条就要 {need}，上限 {have}，{}。", refused.1),
    );
    emit_wall(ctx, "contiguous", sequence as f64, [needed, budget], cause, text);
}

/// A pool that the allocator refused.
pub(super) fn pool_wall(ctx: &Context, page: u64, budget: u64) {
    let bytes = bytes_words(budget);
    let text = Text::new(
        format!("Paged: the allocator refused a pool of {bytes} in pages of {page} tokens."),
        format!("分页：分配器拒绝了 {bytes} 的页池（每页 {page} 个 token）。"),
    );
    emit_wall(ctx, "paged", page as f64, [budget, budget], WallCause::OutOfMemory, text);
}

fn emit_wall(ctx: &Context, series: &str, x: f64, bytes: [u64; 2], cause: WallCause, text: Text) {
    let [needed_bytes, budget_bytes] = bytes;
    ctx.emit(&Event::Wall(Wall { series: series.into(), x, needed_bytes, budget_bytes, cause, text }));
}

/// Notes, residuals and the named results.
pub(super) fn conclude(ctx: &Context, config: &Config, results: &Results) {
    let mut values = BTreeMap::new();
    let mut put = |name: &str, value: Quantity| {
        values.insert(name.to_owned(), value);
    };
    let lacks = |experiment: Experiment| {
        let name = experiment.name();
        if !config.experiments.contains(&experiment) {
            format!("experiment {name} was not chosen")
        } else if ctx.stopped() {
            format!("the run was stopped before {name} was done")
        } else {
            format!("{name} did not fit the budget")
        }
    };
    let or = |value: Option<f64>, unit: &str, experiment: Experiment| {
        value.map_or_else(|| Quantity::missing(unit, lacks(experiment)), |v| Quantity::some(v, unit))
    };
    let grown = results.grown.unwrap_or_default();
    let cache = grown.cache_bytes.map(|b| b as f64);
    let sequences = (config.tokens() * config.batch) as f64;
    put("kv_bytes_per_token", or(cache.map(|b| b / sequences), "B", Experiment::Growth));
    put("kv_mib", or(cache.map(mib), "MiB", Experiment::Growth));
    let copied = grown.copied_bytes.map(|b| mib(b as f64));
    put("cat_copied_mib", or(copied, "MiB", Experiment::Growth));
    if let Some(ratio) = grown.reserved_over_cache {
        put("cat_reserved_over_cache", Quantity::some(ratio, "x"));
        fragmentation(ctx, ratio);
    }
    let admitted = results.admitted;
    put(
        "sequences_paged",
        or(admitted.and_then(|a| a.paged).map(|n| n as f64), "sequences", Experiment::Admission),
    );
    put(
        "sequences_contiguous",
        or(admitted.map(|a| a.contiguous as f64), "sequences", Experiment::Admission),
    );
    let latency = results.latency.clone().unwrap_or_default();
    let graph = match &latency.graph {
        Some(Ok(ms)) => Quantity::some(*ms, "ms"),
        Some(Err(why)) => Quantity::missing("ms", why.clone()),
        None => Quantity::missing("ms", lacks(Experiment::Latency)),
    };
    let best = faster(&latency);
    put("ms_per_token", or(best, "ms", Experiment::Latency));
    put("eager_ms_per_token", or(latency.eager, "ms", Experiment::Latency));
    put("graph_ms_per_token", graph);
    let rate = |ms: f64| config.batch as f64 / ms * 1e3;
    put("tokens_per_second", or(best.map(rate), "tokens/s", Experiment::Latency));
    let bandwidth = results.floor.map(|f| f.bytes_per_second / 1e9);
    put("copy_bandwidth_gb_s", or(bandwidth, "GB/s", Experiment::Latency));
    let floor = results.floor.map(|f| f.ms(config, config.context, config.steps));
    put("floor_ms_per_token", or(floor, "ms", Experiment::Latency));
    let matrices = latency.matrices.map(|ms| config.weight_bytes() as f64 / ms / 1e6);
    put("matrices_gb_s", or(matrices, "GB/s", Experiment::Latency));
    put("matrices_ms", or(latency.matrices, "ms", Experiment::Latency));
    put("attention_ms", or(latency.attention, "ms", Experiment::Latency));
    if let (Some(best), Some(floor)) = (best, results.floor) {
        above_the_floor(ctx, config, floor, &latency, best);
    }
    for (index, name) in VARIANTS.iter().enumerate() {
        let value = match &results.trap {
            Some(Ok(measured)) => measured.get(index).map(|(_, ms)| ms.clone()),
            Some(Err(why)) => Some(Quantity::missing("ms", why.en.clone())),
            None => None,
        };
        let value = value.unwrap_or_else(|| Quantity::missing("ms", lacks(Experiment::PlanTrap)));
        put(&format!("plan_trap_{}_ms", name.replace('-', "_")), value);
    }
    if let Some(Ok(measured)) = &results.trap {
        trap(ctx, measured);
    }
    if let Some(Err(why)) = &results.trap {
        ctx.note(Text::new(
            format!("No plan trap here: {}.", why.en),
            format!("这里没有计划陷阱：{}。", why.zh),
        ));
    }
    ctx.emit(&Event::Summary { values });
}

/// What meeting new lengths costs.
fn trap(ctx: &Context, measured: &[(&str, Quantity)]) {
    let ms = |name: &str| measured.iter().find(|(n, _)| *n == name).and_then(|(_, q)| q.value);
    let [new, seen, fixed, flash] = VARIANTS.map(ms);
    let (Some(new), Some(seen), Some(flash)) = (new, seen, flash) else { return };
    let (fixed, fixed_zh) = fixed.map_or_else(Default::default, |ms| {
        (format!(", {ms:.2} ms at a fixed capacity under a mask"), format!("，固定容量加掩码 {ms:.2} ms"))
    });
    ctx.note(Text::new(
        format!(
            "LibTorch's own choice of kernel: {new:.2} ms a step at lengths it has not met, {seen:.2} ms at the same \
             lengths again{fixed}; FlashAttention: {flash:.2} ms."
        ),
        format!(
            "LibTorch 自己选的算子：遇到新长度时一步 {new:.2} ms，同样的长度再走一遍 {seen:.2} ms{fixed_zh}；\
             FlashAttention：{flash:.2} ms。"
        ),
    ));
}

/// Ms of a step in the faster of the two ways to launch it.
fn faster(latency: &Latency) -> Option<f64> {
    let graph = latency.graph.as_ref().and_then(|g| g.as_ref().ok()).copied();
    match (latency.eager, graph) {
        (Some(eager), Some(graph)) => Some(eager.min(graph)),
        (eager, graph) => eager.or(graph),
    }
}

fn fragmentation(ctx: &Context, ratio: f64) {
    ctx.note(Text::new(
        format!(
            "cat: at the end the allocator holds {ratio:.2} times the cache. Every step needs a block slightly larger \
             than all those freed before, so freed ones pile up."
        ),
        format!("cat：到最后，分配器占着 {ratio:.2} 倍于缓存的显存。每一步要的块都比之前释放的略大一点，旧块用不上，就越堆越多。"),
    ));
}

/// What stands between the step and its floor: the parts add up to measured − floor.
fn above_the_floor(ctx: &Context, config: &Config, floor: Floor, latency: &Latency, best: f64) {
    let weights = floor.ms_of(config.weight_bytes() as f64, 0.0);
    let cache = floor.ms_of(0.0, cache_bytes(config, config.context, config.steps));
    ctx.emit(&Event::ClosedForm {
        name: "ms_per_token".into(),
        value: weights + cache,
        unit: "ms".into(),
        formula: floor.recipe(config, config.context, config.steps),
    });
    if let (Some(matrices), Some(attention)) = (latency.matrices, latency.attention) {
        let recorded = matches!(latency.graph, Some(Ok(ms)) if ms <= best);
        let rest = if recorded {
            Text::new("the rest: norms, gates, cache writes, sampling", "其余：归一化、门控、写缓存、采样")
        } else {
            Text::new(
                "the rest: small kernels and the gaps between launches",
                "其余：小算子，以及两次启动之间的空隙",
            )
        };
        let part = |name: Text, value: f64| {
            ctx.emit(&Event::Residual(ResidualPart {
                of: "ms_per_token".into(),
                name,
                value,
                unit: "ms".into(),
                basis: Basis::Counted,
            }));
        };
        part(
            Text::new("matrices, against reading them at copy speed", "矩阵乘，与按拷贝速度读一遍相比"),
            matrices - weights,
        );
        part(
            Text::new("attention above reading the cache once", "注意力，超出把缓存读一遍的部分"),
            attention - cache,
        );
        part(rest, best - matrices - attention);
    }
    let (total, times) = (weights + cache, best / (weights + cache));
    let both = latency.eager.zip(latency.graph.as_ref().and_then(|g| g.as_ref().ok()));
    let (en, zh) = both.map_or_else(Default::default, |(eager, graph)| {
        let gap = eager - graph;
        if gap >= 0.0 {
            (
                format!(" Launching kernels one by one instead of from a graph adds {gap:.3} ms."),
                format!("不用图、逐个启动算子，还要多花 {gap:.3} ms。"),
            )
        } else {
            (
                format!(
                    " The graph is slower here, by {:.3} ms: its attention must serve every length.",
                    -gap
                ),
                format!("这里用图反而慢 {:.3} ms：图里的注意力要适用于任何长度。", -gap),
            )
        }
    });
    if best < total {
        ctx.note(Text::new(
            "The step is faster than its floor: reading weights beat the copy that measured the bandwidth, as happens \
             where caches help or a copy's writes cost more than reads. Take the floor here as a scale, not a bound.",
            "这一步比下限还快：读权重的速度超过了测带宽用的那次拷贝（缓存帮了忙，或写比读慢）。这里的下限只当量级看，不是界。",
        ));
    }
    ctx.note(Text::new(
        format!("A step takes {best:.3} ms, {times:.2} times the floor of {total:.3} ms.{en}"),
        format!("一步 {best:.3} ms，是下限 {total:.3} ms 的 {times:.2} 倍。{zh}"),
    ));
}

/// Bytes for people: GiB from 1 GiB on, else MiB.
fn bytes_words(bytes: u64) -> String {
    let mib = mib(bytes as f64);
    if mib >= 1024.0 { format!("{:.2} GiB", mib / 1024.0) } else { format!("{mib:.2} MiB") }
}
