//! KV cache.

use infralab_labs::formulas::kv;

use crate::calc::answer::Answer;
use crate::calc::input::{Dim, Input};
use crate::calc::inputs::{
    BYTES, CONTEXT, HEAD_DIM, HEADS, KV, KV_BYTES, KV_HEADS, LAYERS, MEMORY, UTILISATION, WORKSPACE, count,
};
use crate::calc::resolve::Values;
use crate::calc::tables::ModelField;
use crate::calc::{Calculator, Topic, text};

const LORA: Input =
    Input::number("kv_lora", Dim::Whole, "", text("rank of the latent", "latent 的秩 kv_lora_rank"))
        .model(ModelField::KvLora);
const ROPE: Input =
    Input::number("rope", Dim::Whole, "", text("rotary part, cached beside it", "一并缓存的 RoPE 维度"))
        .model(ModelField::Rope);

pub(super) const CALCULATORS: &[Calculator] = &[
    Calculator {
        name: "kv",
        topic: Topic::Kv,
        title: text("KV cache of a token", "每 token 的 KV cache"),
        what: text(
            "Bytes that one token keeps in all layers: MHA, GQA, MQA. For a latent cache see kv-mla.",
            "一个 token 在所有层里占的字节：MHA、GQA、MQA。latent 缓存见 kv-mla。",
        ),
        inputs: &[LAYERS, KV_HEADS, HEAD_DIM, BYTES],
        formula: "2·L·nkv·d·bytes",
        source: "jax-ml/scaling-book inference.md; arXiv 2505.09343 table 1",
        compute: per_token,
    },
    Calculator {
        name: "kv-mla",
        topic: Topic::Kv,
        title: text("KV cache of a token, MLA", "每 token 的 KV cache：MLA"),
        what: text(
            "One latent serves K and V: no factor 2, and the rotary part counts.",
            "一份 latent 同时充当 K 和 V：没有系数 2，但要算上 RoPE 部分。",
        ),
        inputs: &[LAYERS, LORA, ROPE, BYTES],
        formula: "L·(kv_lora + rope)·bytes",
        source: "arXiv 2505.09343 table 1; DeepSeek-V3 inference/configs/config_671B.json",
        compute: |v| {
            let bytes = kv::mla_bytes_per_token(v.num("L"), v.num("kv_lora"), v.num("rope"), v.num("bytes"));
            Answer::of(bytes, "B/token")
        },
    },
    Calculator {
        name: "kv-mla-expanded",
        topic: Topic::Kv,
        title: text("MLA heads expanded", "MLA 若按普通多头缓存"),
        what: text(
            "What the same model would cache without compression: the size of what MLA saves.",
            "同一模型若不压缩要缓存多少，即 MLA 省下的量。",
        ),
        inputs: &[
            LAYERS,
            HEADS,
            Input::number(
                "nope",
                Dim::Whole,
                "",
                text("key part without rotation", "key 中不带 RoPE 的维度"),
            )
            .model(ModelField::Nope),
            ROPE,
            Input::number("v", Dim::Whole, "", text("value head dimension", "value 头维度"))
                .model(ModelField::ValueDim),
            LORA,
            BYTES,
        ],
        formula: "L·(n·(nope + rope) + n·v)·bytes",
        source: "counted; shape from DeepSeek-V3 config_671B.json",
        compute: expanded,
    },
    Calculator {
        name: "kv-cache",
        topic: Topic::Kv,
        title: text("KV cache of a batch", "一个 batch 的 KV cache"),
        what: text(
            "Bytes of all sequences at a context; a sliding window caps what stays useful.",
            "给定上下文时所有序列占的字节；滑动窗口会封顶。",
        ),
        inputs: &[
            KV_BYTES,
            KV,
            CONTEXT,
            count("B", "1", "", text("sequences", "序列数")),
            Input::number(
                "window",
                Dim::Whole,
                "token",
                text("sliding window in every layer, or none", "每层的滑动窗口，或 none"),
            )
            .optional()
            .model(ModelField::Window),
        ],
        formula: "B·ctx·kv",
        source: "counted; stas00/ml-engineering inference: 128 sequences × 1024 tokens of Llama-3-8B are 17.2 GB",
        compute: cache,
    },
    Calculator {
        name: "kv-capacity",
        topic: Topic::Kv,
        title: text("Tokens that fit", "能放下多少 token"),
        what: text(
            "Tokens and sequences that the memory beside the weights holds: what an engine prints at start.",
            "权重之外的显存能放多少 token、多少序列，即推理引擎启动时打印的数。",
        ),
        inputs: &[
            MEMORY,
            UTILISATION,
            Input::number("N", Dim::Whole, "param", text("parameters", "参数量")).model(ModelField::Params),
            BYTES,
            WORKSPACE,
            KV_BYTES,
            KV,
            CONTEXT.within(1.0, 1e9),
        ],
        formula: "⌊(mem·util − N·bytes − workspace) / kv⌋",
        source: "vLLM gpu_memory_utilization: what is left after weights and a trial run becomes KV blocks",
        compute: capacity,
    },
    Calculator {
        name: "kv-cat",
        topic: Topic::Kv,
        title: text("Bytes copied by cat", "用 cat 增长时的拷贝量"),
        what: text(
            "A cache that grows by concatenation copies itself every step; engines allocate ahead instead.",
            "每步用 cat 拼接会把整个 cache 再拷一遍；所以推理引擎都预分配。",
        ),
        inputs: &[KV_BYTES, KV, count("n", "8192", "step", text("decode steps", "decode 步数"))],
        formula: "kv·n·(n + 1)/2",
        source: "counted",
        compute: |v| {
            let (kv_bytes, n) = (v.num("kv"), v.num("n"));
            Answer::of(kv::cat_copied_bytes(kv_bytes, n), "B").row(
                text("cache at the end", "最后的 cache"),
                kv::cache_bytes(kv_bytes, 1.0, n, None),
                "B",
                "kv·n",
            )
        },
    },
];

fn per_token(v: &Values) -> Answer {
    let bytes = kv::bytes_per_token(v.num("L"), v.num("nkv"), v.num("d"), v.num("bytes"));
    Answer::of(bytes, "B/token")
        .row(text("one layer", "单层"), bytes / v.num("L"), "B/token", "2·nkv·d·bytes")
        .row(
            text("8,192 tokens", "8192 个 token"),
            kv::cache_bytes(bytes, 1.0, 8192.0, None),
            "B",
            "8192·2·L·nkv·d·bytes",
        )
}

fn expanded(v: &Values) -> Answer {
    let bytes = kv::mla_expanded_bytes_per_token(
        v.num("L"),
        v.num("n"),
        v.num("nope"),
        v.num("rope"),
        v.num("v"),
        v.num("bytes"),
    );
    let latent = kv::mla_bytes_per_token(v.num("L"), v.num("kv_lora"), v.num("rope"), v.num("bytes"));
    Answer::of(bytes, "B/token")
        .row(text("as a latent", "用 latent 时"), latent, "B/token", "L·(kv_lora + rope)·bytes")
        .row(text("smaller by", "缩小倍数"), bytes / latent, "x", "")
}

fn cache(v: &Values) -> Answer {
    let (per_token, context, window) = (v.num("kv"), v.num("ctx"), v.maybe("window"));
    let answer = Answer::of(kv::cache_bytes(per_token, v.num("B"), context, window), "B");
    let one = kv::cache_bytes(per_token, 1.0, context, window);
    match window {
        Some(window) => answer
            .by("B·min(ctx, window)·kv")
            .row(text("one sequence", "单个序列"), one, "B", "min(ctx, window)·kv")
            .row(
                text("tokens kept", "保留的 token"),
                kv::kept_tokens(context, Some(window)),
                "token",
                "min(ctx, window)",
            )
            .row(
                text("without the window", "没有窗口时"),
                kv::cache_bytes(per_token, 1.0, context, None),
                "B",
                "ctx·kv",
            ),
        None => answer.row(text("one sequence", "单个序列"), one, "B", "ctx·kv"),
    }
}

fn capacity(v: &Values) -> Answer {
    let weights = v.num("N") * v.num("bytes");
    let room = kv::room_bytes(v.num("mem"), v.num("util"), weights, v.num("workspace"));
    let tokens = kv::max_tokens(room, v.num("kv"));
    let answer = Answer::of(tokens, "token")
        .row(text("usable memory", "可用显存"), v.num("mem") * v.num("util"), "B", "mem·util")
        .row(text("weights", "权重"), weights, "B", "N·bytes")
        .row(text("workspace", "工作区"), v.num("workspace"), "B", "")
        .row(text("left for KV", "留给 KV"), room, "B", "mem·util − N·bytes − workspace")
        .row(
            text("sequences of ctx", "ctx 长度的序列数"),
            (tokens / v.num("ctx")).floor(),
            "",
            "⌊tokens / ctx⌋",
        )
        .with("tokens", tokens, "");
    if room < 0.0 {
        return answer.note(
            "the weights alone do not fit: more GPUs, fewer bytes a weight, or a smaller model",
            "光权重就放不下：加卡、降低权重位宽，或换小模型",
        );
    }
    answer.note(
        "a vendor's GB is nominal: mem=…MiB as nvidia-smi shows it is more exact (the H200 row holds that figure)",
        "厂商标称的 GB 只是名义值：用 nvidia-smi 显示的 mem=…MiB 更准（表中 H200 一行就是它）",
    )
}
