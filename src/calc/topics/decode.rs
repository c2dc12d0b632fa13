//! Prefill and decode.

use infralab_labs::formulas::{decode, flops};

use crate::calc::answer::Answer;
use crate::calc::inputs::{
    BANDWIDTH, BATCH, BYTES, CONTEXT, KV, KV_BYTES, LAYERS, PARAMS, PEAK, WIDTH, count, size, time,
};
use crate::calc::resolve::Values;
use crate::calc::{Calculator, Topic, text};

pub(super) const CALCULATORS: &[Calculator] = &[
    Calculator {
        name: "decode",
        topic: Topic::Decode,
        title: text("Time of a decode step", "一步 decode 的时间"),
        what: text(
            "Reading the KV cache, then the longer of reading and multiplying the weights. A lower bound: launches and sampling come on top.",
            "读 KV cache，再加上读权重与乘权重中较长者。这是下界：kernel 启动和采样另算。",
        ),
        inputs: &[PARAMS, BYTES, BATCH, CONTEXT, KV_BYTES, KV, BANDWIDTH, PEAK],
        formula: "B·ctx·kv/bw + max(N·bytes/bw, 2·B·N/peak)",
        source: "jax-ml/scaling-book inference.md",
        compute: step,
    },
    Calculator {
        name: "prefill",
        topic: Topic::Decode,
        title: text("Time of a prefill", "prefill 的时间"),
        what: text(
            "2·N a token and causal attention, at a share of the peak that matmuls reach.",
            "每 token 2·N，加因果 attention，按矩阵乘能达到的峰值比例计。",
        ),
        inputs: &[
            PARAMS,
            LAYERS,
            WIDTH,
            count("s", "2048", "token", text("prompt tokens", "prompt 的 token 数")),
            PEAK,
            crate::calc::input::Input::number(
                "eff",
                crate::calc::input::Dim::Share,
                "",
                text("share of the peak that is reached", "能达到的峰值比例"),
            )
            .within(0.01, 1.0)
            .default("0.8"),
        ],
        formula: "(2·N·s + 2·L·h·s²) / (peak·eff)",
        source: "jax-ml/scaling-book inference.md",
        compute: |v| {
            let tokens = v.num("s");
            let flop = flops::prefill(v.num("N"), v.num("L"), v.num("h"), tokens);
            let seconds = flops::training_seconds(flop, 1.0, v.num("peak"), v.num("eff"));
            Answer::of(seconds, "s")
                .with("time", seconds, "s")
                .row(text("operations", "运算量"), flop, "FLOP", "2·N·s + 2·L·h·s²")
                .row(text("tokens/s", "token/s"), tokens / seconds, "token/s", "s / time")
        },
    },
    Calculator {
        name: "mbu",
        topic: Topic::Decode,
        title: text("Bandwidth used (MBU)", "显存带宽利用率 MBU"),
        what: text(
            "Bytes that a decode step must read, over its time and the peak bandwidth.",
            "一步 decode 必须读的字节，除以时间和峰值带宽。",
        ),
        inputs: &[
            PARAMS,
            BYTES,
            BATCH.default("1"),
            CONTEXT,
            KV_BYTES,
            KV,
            time("time", "4ms", text("measured time of a step", "实测一步的时间")),
            BANDWIDTH,
        ],
        formula: "(N·bytes + B·ctx·kv) / time / bw",
        source: "karpathy/nanochat scripts/infer_bench.py",
        compute: |v| {
            let (weights, kv) = (v.num("N") * v.num("bytes"), v.num("B") * v.num("ctx") * v.num("kv"));
            let share = decode::bandwidth_utilisation(weights, kv, v.num("time"), v.num("bw"));
            Answer::of(share, "frac").row(text("weights", "权重"), weights, "B", "N·bytes").row(
                text("KV cache", "KV cache"),
                kv,
                "B",
                "B·ctx·kv",
            )
        },
    },
    Calculator {
        name: "transfer",
        topic: Topic::Decode,
        title: text("Time of a copy", "一次拷贝的时间"),
        what: text(
            "Bytes over a bandwidth: loading weights, host to device, a KV cache sent on.",
            "字节除以带宽：加载权重、主机到设备、转发 KV cache。",
        ),
        inputs: &[
            size("size", "16.06GB", text("bytes", "字节")),
            crate::calc::input::Input::number(
                "bw",
                crate::calc::input::Dim::Bandwidth,
                "",
                text("bandwidth of the path", "通路带宽"),
            )
            .within(1.0, 1e20)
            .default("55GB/s"),
        ],
        formula: "size / bw",
        source: "definition; 55 GB/s is pinned PCIe 5 x16 (stas00/ml-engineering network)",
        compute: |v| {
            Answer::of(infralab_labs::formulas::checkpoint::stall_seconds(v.num("size"), v.num("bw")), "s")
        },
    },
];

fn step(v: &Values) -> Answer {
    let load = decode::Load {
        params: v.num("N"),
        weight_bytes: v.num("bytes"),
        batch: v.num("B"),
        context: v.num("ctx"),
        kv_per_token: v.num("kv"),
    };
    let step = decode::step(load, v.num("bw"), v.num("peak"));
    let seconds = step.seconds();
    let answer = Answer::of(seconds, "s")
        .with("time", seconds, "s")
        .row(text("read the KV cache", "读 KV cache"), step.kv, "s", "B·ctx·kv/bw")
        .row(text("read the weights", "读权重"), step.weights, "s", "N·bytes/bw")
        .row(text("multiply", "计算"), step.compute, "s", "2·B·N/peak")
        .row(text("KV's share of the bytes", "KV 占读取字节"), step.kv_share(), "frac", "")
        .row(text("tokens/s", "token/s"), load.batch / seconds, "token/s", "B / time")
        .row(text("tokens/s a sequence", "每序列 token/s"), 1.0 / seconds, "token/s", "1 / time");
    if step.compute_bound() {
        answer.note(
            "compute is the limit of the weights' part: a larger batch is no longer free",
            "权重部分已受限于算力：再加大 batch 不再“免费”",
        )
    } else {
        answer.note(
            "the weights' part waits for memory: a larger batch costs little but KV",
            "权重部分受限于带宽：加大 batch 几乎只多出 KV 的开销",
        )
    }
}
