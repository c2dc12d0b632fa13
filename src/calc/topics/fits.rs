//! What fits: memory of one GPU, itemised, for training and for serving.

use infralab_labs::formulas::activations::{self, Shape};
use infralab_labs::formulas::{kv, zero};

use super::activations::{RECOMPUTE, chosen_recompute};
use super::training_state::{RECIPE, STAGE, chosen_recipe, chosen_stage};
use crate::calc::answer::Answer;
use crate::calc::input::{Dim, Input};
use crate::calc::inputs::{
    BYTES, HEADS, HIDDEN, KV, KV_BYTES, LAYERS, MEMORY, PARAMS, UTILISATION, VOCAB, WORKSPACE, YES_NO, count,
    size,
};
use crate::calc::resolve::Values;
use crate::calc::tables::ModelField;
use crate::calc::{Calculator, Topic, text};

const GPUS: Input = count("gpus", "8", "", text("GPUs", "GPU 数")).within(1.0, 1e6);
const CONTEXT_BYTES: Input =
    size("overhead", "1GiB", text("CUDA context, libraries, fragmentation", "CUDA context、库、碎片"))
        .within(0.0, 1e15);

pub(super) const CALCULATORS: &[Calculator] = &[
    Calculator {
        name: "fits",
        topic: Topic::Fits,
        title: text("What fits: training", "放得下吗：训练"),
        what: text(
            "Memory of a rank: state by recipe and ZeRO stage, activations, logits, overhead, against the GPU's memory.",
            "单个 rank 的显存：按配方和 ZeRO 阶段的状态、激活、logits、固定开销，与显卡容量对照。",
        ),
        inputs: &[
            PARAMS,
            LAYERS,
            HIDDEN,
            HEADS,
            VOCAB,
            RECIPE,
            MEMORY,
            GPUS,
            Input { default: Some("3"), ..STAGE },
            count("t", "1", "rank", text("of these, tensor-parallel", "其中张量并行 rank 数"))
                .within(1.0, 1e5),
            Input::choice(
                "sp",
                YES_NO,
                text("sequence parallelism inside them", "组内启用 sequence parallel"),
            ),
            count("b", "1", "", text("micro-batch", "micro-batch")).within(1.0, 1e6),
            count("s", "8192", "token", text("sequence length", "序列长度")).within(1.0, 1e9),
            RECOMPUTE,
            Input::number(
                "copies",
                Dim::Plain,
                "",
                text("fp32 copies of the logits at the peak", "峰值时 fp32 logits 的份数"),
            )
            .within(0.0, 10.0)
            .default("2"),
            CONTEXT_BYTES,
        ],
        formula: "state + activations + logits + overhead",
        source: "arXiv 1910.02054 figure 1; arXiv 2205.05198 §4; logits counted",
        compute: training,
    },
    Calculator {
        name: "fits-serving",
        topic: Topic::Fits,
        title: text("What fits: serving", "放得下吗：推理"),
        what: text(
            "Memory of a rank under tensor parallelism: weights, KV cache of all sequences, workspace. A latent cache, and heads fewer than ranks, are kept whole on every rank.",
            "张量并行下单个 rank 的显存：权重、全部序列的 KV cache、工作区。latent 缓存、以及头数少于 rank 数时，每个 rank 都要存整份。",
        ),
        inputs: &[
            PARAMS,
            BYTES,
            KV_BYTES,
            KV,
            Input::number(
                "nkv",
                Dim::Whole,
                "head",
                text("key/value heads; none for a latent cache", "KV 头数；latent 缓存填 none"),
            )
            .within(1.0, 1e5)
            .optional()
            .model(ModelField::KvHeads),
            Input::number(
                "window",
                Dim::Whole,
                "token",
                text("sliding window, or none", "滑动窗口，或 none"),
            )
            .optional()
            .model(ModelField::Window),
            count("ctx", "8192", "token", text("context of a sequence", "每个序列的上下文")).within(1.0, 1e9),
            count("B", "32", "", text("sequences at once", "同时的序列数")).within(1.0, 1e7),
            MEMORY,
            Input { default: Some("1"), ..GPUS },
            UTILISATION,
            WORKSPACE,
        ],
        formula: "N·bytes/gpus + B·ctx·kv_rank + workspace",
        source: "vLLM gpu_memory_utilization; jax-ml/scaling-book inference.md",
        compute: serving,
    },
];

/// Begins with what is left or missing of `room`: the verdict before its parts.
fn against(answer: Answer, needed: f64, room: f64, room_formula: &str) -> Answer {
    let left = room - needed;
    let answer = answer.with("needed", needed, "B").with("available", room, "B");
    let answer = if left >= 0.0 {
        answer.row(text("fits, left", "放得下，剩余"), left, "B", "available − needed")
    } else {
        answer.row(text("does not fit, missing", "放不下，还差"), -left, "B", "needed − available")
    };
    answer.row(text("available", "可用"), room, "B", room_formula)
}

fn training(v: &Values) -> Answer {
    let (params, gpus, tensor) = (v.num("N"), v.num("gpus"), v.num("t"));
    if tensor > gpus || gpus % tensor != 0.0 {
        return Answer::none("B", "t must divide gpus", "gpus 必须能被 t 整除");
    }
    if v.num("n") % tensor != 0.0 {
        return Answer::none(
            "B",
            "t must divide the heads n: a rank holds whole heads",
            "头数 n 必须能被 t 整除：一个 rank 只能放整个头",
        );
    }
    let data = gpus / tensor;
    let (stage, recompute, sp) = (chosen_stage(v), chosen_recompute(v), v.yes("sp"));
    let shard = zero::per_rank(params / tensor, chosen_recipe(v), data, stage);
    let shape = Shape { layers: v.num("L"), s: v.num("s"), b: v.num("b"), h: v.num("h"), heads: v.num("n") };
    let kept = shape.bytes(recompute, tensor, sp);
    let logits = activations::logits_bytes(v.num("b"), v.num("s"), v.num("V"), 4.0, v.num("copies")) / tensor;
    let overhead = v.num("overhead");
    let needed = shard.total() + kept + logits + overhead;
    let over = |divided: bool| if divided { "/dp" } else { "" };
    let answer = against(Answer::of(needed, "B"), needed, v.num("mem"), "mem")
        .with("dp", data, "")
        .with("state", shard.total(), "B")
        .with("activations", kept, "B")
        .with("logits", logits, "B")
        .row(
            text("weights", "权重"),
            shard.weights,
            "B",
            &format!("N/t·w{}", over(stage == zero::Stage::Three)),
        )
        .row(
            text("gradients", "梯度"),
            shard.gradients,
            "B",
            &format!("N/t·g{}", over(matches!(stage, zero::Stage::Two | zero::Stage::Three))),
        )
        .row(
            text("optimizer", "优化器"),
            shard.optimizer,
            "B",
            &format!("N/t·o{}", over(stage != zero::Stage::None)),
        )
        .row(text("activations", "激活"), kept, "B", super::activations::formula(recompute, tensor, sp))
        .row(text("logits", "logits"), logits, "B", "copies·b·s·V·4/t")
        .row(text("overhead", "固定开销"), overhead, "B", "");
    let recipe = chosen_recipe(v);
    let answer =
        answer.with("w", recipe.weights, "").with("g", recipe.gradients, "").with("o", recipe.optimizer, "");
    let answer = if needed > v.num("mem") {
        answer.note(
            "cheapest first: smaller micro-batch with accumulation, recompute, a higher ZeRO stage, more GPUs, offload",
            "由便宜到贵：减小 micro-batch 并累积、重算、提高 ZeRO 阶段、加卡、卸载",
        )
    } else {
        answer
    };
    answer.note(
        "an estimate: activations count GELU and dropout, gathered layers of ZeRO-3 and fragmentation are in the overhead",
        "这是估算：激活按 GELU 和 dropout 计；ZeRO-3 临时聚合的层与碎片归在固定开销里",
    )
}

fn serving(v: &Values) -> Answer {
    let gpus = v.num("gpus");
    if let Some(heads) = v.maybe("nkv").filter(|heads| heads % gpus != 0.0 && gpus % heads != 0.0) {
        return Answer::none(
            "B",
            &format!(
                "gpus must divide the {heads} key/value heads, or be a multiple of them: a rank holds whole heads"
            ),
            &format!("gpus 须整除 {heads} 个 KV 头，或是它的整数倍：一个 rank 只能放整个头"),
        );
    }
    let per_token = kv::bytes_per_token_on_rank(v.num("kv"), gpus, v.maybe("nkv"));
    let (window, batch) = (v.maybe("window"), v.num("B"));
    let weights = v.num("N") * v.num("bytes") / gpus;
    let cache = kv::cache_bytes(per_token, batch, v.num("ctx"), window);
    let workspace = v.num("workspace");
    let needed = weights + cache + workspace;
    let usable = v.num("mem") * v.num("util");
    let tokens = if window.is_some() { "min(ctx, window)" } else { "ctx" };
    let room = kv::room_bytes(v.num("mem"), v.num("util"), weights, workspace);
    let one = kv::cache_bytes(per_token, 1.0, v.num("ctx"), window);
    let divided = match v.maybe("nkv") {
        None => "kv",
        Some(heads) if heads < gpus => "kv/nkv",
        Some(_) => "kv/gpus",
    };
    let answer = against(Answer::of(needed, "B"), needed, usable, "mem·util")
        .by(format!("N·bytes/gpus + B·{tokens}·{divided} + workspace"))
        .with("weights", weights, "B")
        .with("one_kv", one, "B")
        .row(text("weights", "权重"), weights, "B", "N·bytes/gpus")
        .row(text("KV cache", "KV cache"), cache, "B", &format!("B·{tokens}·{divided}"))
        .row(text("workspace", "工作区"), workspace, "B", "");
    let answer = answer.row(
        text("sequences that fit", "能放下的序列数"),
        kv::max_tokens(room, one),
        "",
        "⌊(mem·util − weights − workspace) / one_kv⌋",
    );
    if per_token * gpus > v.num("kv") * 1.001 {
        return answer.note(
            "the cache is not divided over all GPUs: data parallelism for attention holds more sequences",
            "KV cache 没有按全部 GPU 切分：attention 改用数据并行能放更多序列",
        );
    }
    answer
}
