//! Arithmetic intensity.

use infralab_labs::formulas::roofline;

use crate::calc::answer::Answer;
use crate::calc::input::{Dim, Input};
use crate::calc::inputs::{BANDWIDTH, BYTES, HEADS, KV_HEADS, PEAK, count, size};
use crate::calc::resolve::Values;
use crate::calc::tables::ModelField;
use crate::calc::{Calculator, Topic, text};

pub(super) const CALCULATORS: &[Calculator] = &[
    Calculator {
        name: "ridge",
        topic: Topic::Roofline,
        title: text("Ridge of the roofline", "Roofline 拐点"),
        what: text(
            "FLOP a byte above which compute, not memory, is the limit. Also prefill's tokens/s over decode's at batch 1.",
            "每字节 FLOP 超过它，瓶颈就从显存变成算力。它也等于 prefill 与 batch 1 decode 的 token/s 之比。",
        ),
        inputs: &[PEAK, BANDWIDTH],
        formula: "peak / bw",
        source: "Williams, Waterman, Patterson 2009; vendor data sheets",
        compute: |v| Answer::of(roofline::ridge(v.num("peak"), v.num("bw")), "FLOP/B"),
    },
    Calculator {
        name: "roofline",
        topic: Topic::Roofline,
        title: text("Time of a kernel", "一个 kernel 的时间"),
        what: text(
            "The longer of computing and moving, if they overlap perfectly.",
            "计算与搬运完全重叠时，取两者中较长的。",
        ),
        inputs: &[
            Input::number("flop", Dim::Flop, "", text("operations", "运算量")).default("1.1e12"),
            size("moved", "402MB", text("bytes moved", "搬运字节")),
            PEAK,
            BANDWIDTH,
        ],
        formula: "max(flop/peak, moved/bw)",
        source: "Williams, Waterman, Patterson 2009",
        compute: kernel,
    },
    Calculator {
        name: "matmul-intensity",
        topic: Topic::Roofline,
        title: text("Intensity of a matmul", "矩阵乘的算术强度"),
        what: text(
            "[B,D]×[D,F]: about B for small B in 16 bits, which is why small batches wait for memory.",
            "[B,D]×[D,F]：16 位、B 很小时约等于 B，所以小 batch 都在等显存。",
        ),
        inputs: &[
            count("B", "64", "token", text("rows, the tokens of a batch", "行数，即 batch 中的 token 数")),
            Input::number("D", Dim::Whole, "", text("inner dimension", "内维")).model(ModelField::Hidden),
            Input::number("F", Dim::Whole, "", text("columns", "列数")).model(ModelField::Ffn),
            BYTES,
        ],
        formula: "2·B·D·F / (bytes·(B·D + D·F + B·F))",
        source: "jax-ml/scaling-book inference.md",
        compute: |v| {
            let intensity = roofline::matmul_intensity(v.num("B"), v.num("D"), v.num("F"), v.num("bytes"));
            Answer::of(intensity, "FLOP/B")
        },
    },
    Calculator {
        name: "attention-intensity",
        topic: Topic::Roofline,
        title: text("Intensity of attention", "attention 的算术强度"),
        what: text(
            "S cached positions, T queries, 16 bits: T/2 in prefill, about n/nkv in decode, whatever the context.",
            "S 个缓存位置、T 个 query，16 位：prefill 时为 T/2，decode 时约 n/nkv，与上下文长度无关。",
        ),
        inputs: &[
            count("S", "8192", "token", text("cached positions", "缓存位置数")),
            count(
                "T",
                "1",
                "token",
                text("queries: 1 in decode, S in prefill", "query 数：decode 为 1，prefill 为 S"),
            ),
            HEADS,
            KV_HEADS,
        ],
        formula: "S·T / (T + S·nkv/n)",
        source: "jax-ml/scaling-book inference.md, with K and V of nkv heads",
        compute: |v| {
            let group = v.num("n") / v.num("nkv");
            Answer::of(roofline::attention_intensity(v.num("S"), v.num("T"), group), "FLOP/B")
        },
    },
    Calculator {
        name: "mla-intensity",
        topic: Topic::Roofline,
        title: text("Intensity of MLA decode", "MLA decode 的算术强度"),
        what: text(
            "Absorbed MLA: every head reads the same latent, so decode reaches the ridge.",
            "吸收式 MLA：所有头读同一份 latent，decode 因此能到拐点附近。",
        ),
        inputs: &[
            HEADS,
            Input::number("kv_lora", Dim::Whole, "", text("rank of the latent", "latent 的秩"))
                .model(ModelField::KvLora),
            Input::number("rope", Dim::Whole, "", text("rotary part", "RoPE 维度")).model(ModelField::Rope),
            BYTES,
        ],
        formula: "2·n·(2·kv_lora + rope) / ((kv_lora + rope)·bytes)",
        source: "counted; shape from DeepSeek-V3 config_671B.json",
        compute: |v| {
            let bytes = v.num("bytes");
            let intensity =
                roofline::mla_decode_intensity(v.num("n"), v.num("kv_lora"), v.num("rope"), bytes);
            Answer::of(intensity, "FLOP/B")
        },
    },
    Calculator {
        name: "quantisation-crossover",
        topic: Topic::Roofline,
        title: text("Quantisation crossover", "量化不再加速的 batch"),
        what: text(
            "Weight-only quantisation shortens a decode step while weights are the limit: up to this many tokens.",
            "仅权重量化只在“读权重”是瓶颈时加速 decode：上限就是这个 token 数。",
        ),
        inputs: &[
            Input::number(
                "bits",
                Dim::Plain,
                "bit",
                text(
                    "bits a weight; int4 group 128 with scale and zero is 4.156",
                    "每权重位数；int4、组 128、含 scale 和 zero 为 4.156",
                ),
            )
            .within(0.5, 64.0)
            .default("4.15625"),
            PEAK,
            BANDWIDTH,
        ],
        formula: "bits/8·peak / (2·bw)",
        source: "roofline; casper-hansen/AutoAWQ issue 106 shows the other side of it",
        compute: |v| {
            let (peak, bw) = (v.num("peak"), v.num("bw"));
            Answer::of(roofline::quantisation_crossover(v.num("bits"), peak, bw), "token")
                .row(
                    text("in 16 bits", "16 位时"),
                    roofline::quantisation_crossover(16.0, peak, bw),
                    "token",
                    "16/8·peak / (2·bw)",
                )
                .note("above it int4 only adds the work of unpacking", "超过它，int4 只剩解包的额外开销")
        },
    },
];

fn kernel(v: &Values) -> Answer {
    let (flop, bytes, peak, bw) = (v.num("flop"), v.num("moved"), v.num("peak"), v.num("bw"));
    let intensity = flop / bytes;
    let ridge = roofline::ridge(peak, bw);
    let answer = Answer::of(roofline::seconds(flop, bytes, peak, bw), "s")
        .row(text("computing", "计算"), flop / peak, "s", "flop/peak")
        .row(text("moving", "搬运"), bytes / bw, "s", "moved/bw")
        .row(text("intensity", "算术强度"), intensity, "FLOP/B", "flop/moved")
        .row(text("ridge", "拐点"), ridge, "FLOP/B", "peak/bw")
        .row(
            text("attainable", "可达算力"),
            roofline::attainable(intensity, peak, bw),
            "FLOP/s",
            "min(peak, flop/moved·bw)",
        );
    if intensity < ridge {
        answer.note("memory is the limit", "瓶颈是显存带宽")
    } else {
        answer.note("compute is the limit", "瓶颈是算力")
    }
}
