//! Checkpoints and failures.

use infralab_labs::formulas::checkpoint;

use crate::calc::answer::Answer;
use crate::calc::input::{Dim, Input};
use crate::calc::inputs::{PARAMS, count, time};
use crate::calc::resolve::Values;
use crate::calc::{Calculator, Topic, text};

const SAVE: Input = time("save", "10s", text("time that a save stops training", "一次保存让训练停多久"));
const MTBF: Input =
    time("mtbf", "6000s", text("mean time between failures of the job", "作业的平均故障间隔 MTBF"));
const RESTART: Input =
    time("restart", "0", text("restart after a failure", "故障后重启时间")).within(0.0, 1e15);
const STATE_BYTES: Input = Input::number(
    "bytes",
    Dim::Plain,
    "B/param",
    text(
        "bytes a parameter: 14 = bf16 weights + fp32 master, m, v; 12 = fp32 weights, m, v; 2 = weights",
        "每参数字节：14 = bf16 权重 + fp32 主权重、m、v；12 = fp32 权重、m、v；2 = 仅权重",
    ),
)
.within(0.1, 64.0)
.default("14");
const GPUS: Input = count("gpus", "1024", "", text("GPUs", "GPU 数"));

pub(super) const CALCULATORS: &[Calculator] = &[
    Calculator {
        name: "checkpoint-size",
        topic: Topic::Failures,
        title: text("Size of a checkpoint", "检查点大小"),
        what: text(
            "Weights and optimizer state on disk; nanoGPT files also hold a causal mask for each layer when attention is not fused.",
            "磁盘上的权重与优化器状态；nanoGPT 在未用融合 attention 时还会每层存一个因果 mask。",
        ),
        inputs: &[
            PARAMS,
            STATE_BYTES,
            count(
                "masks",
                "0",
                "layer",
                text("layers with a saved mask (nanoGPT)", "存了 mask 的层数（nanoGPT）"),
            )
            .within(0.0, 1e5),
            count("T", "1024", "token", text("context of the mask", "mask 的上下文长度")),
        ],
        formula: "N·bytes + masks·T²·4",
        source: "karpathy/nanoGPT model.py, transformer_sizing.ipynb",
        compute: size,
    },
    Calculator {
        name: "checkpoint-stall",
        topic: Topic::Failures,
        title: text("Stall of a checkpoint", "检查点造成的停顿"),
        what: text(
            "Asynchronous saving still stops for the copy off the device: bytes over that bandwidth.",
            "异步保存也要停下来把状态拷出设备：字节除以这段带宽。",
        ),
        inputs: &[
            PARAMS,
            STATE_BYTES,
            count("ranks", "1", "rank", text("ranks that save a shard each", "各存一片的 rank 数")),
            Input::number(
                "bw",
                Dim::Bandwidth,
                "",
                text("device to host, of a rank", "单 rank 设备到主机带宽"),
            )
            .within(1.0, 1e20)
            .default("55GB/s"),
            Input::number("disk", Dim::Bandwidth, "", text("to storage, of a rank", "单 rank 写存储带宽"))
                .within(1.0, 1e20)
                .default("2GB/s"),
        ],
        formula: "N·bytes/ranks / bw",
        source: "docs.pytorch.org async_save; 55 GB/s: pinned PCIe 5 x16 (stas00/ml-engineering network)",
        compute: |v| {
            let shard = checkpoint::bytes(v.num("N"), v.num("bytes"), 0.0, 0.0) / v.num("ranks");
            Answer::of(checkpoint::stall_seconds(shard, v.num("bw")), "s")
                .row(text("bytes of a rank", "每个 rank 的字节"), shard, "B", "N·bytes/ranks")
                .row(
                    text("synchronous, to storage", "同步写到存储"),
                    checkpoint::stall_seconds(shard, v.num("disk")),
                    "s",
                    "N·bytes/ranks / disk",
                )
        },
    },
    Calculator {
        name: "young-daly",
        topic: Topic::Failures,
        title: text("Best checkpoint interval", "最佳检查点间隔"),
        what: text(
            "Save too often and saving costs; too rarely and failures do.",
            "存太勤，保存本身费时；存太疏，故障丢得多。",
        ),
        inputs: &[SAVE, MTBF, RESTART],
        formula: "√(2·save·(mtbf + restart))",
        source: "Young 1974; Daly 2006 (first order: less save)",
        compute: young,
    },
    Calculator {
        name: "availability-interval",
        topic: Topic::Failures,
        title: text("Availability interval", "可用率最高的间隔"),
        what: text(
            "Another goal, another interval: most time spent training.",
            "换个目标就换个间隔：让训练时间占比最大。",
        ),
        inputs: &[SAVE, MTBF, time("repair", "600s", text("repair after a failure", "故障后修复时间"))],
        formula: "save + √(2·(mtbf + repair)·save + save²)",
        source: "arXiv 2410.18124",
        compute: |v| {
            Answer::of(
                checkpoint::availability_interval_seconds(v.num("save"), v.num("mtbf"), v.num("repair")),
                "s",
            )
            .note("the save is part of the interval", "间隔里已含保存时间")
        },
    },
    Calculator {
        name: "availability",
        topic: Topic::Failures,
        title: text("Availability", "可用率"),
        what: text("Share of time that a thing works.", "正常工作的时间占比。"),
        inputs: &[MTBF, time("mttr", "600s", text("mean time to repair", "平均修复时间 MTTR"))],
        formula: "mtbf/(mtbf + mttr)",
        source: "definition",
        compute: |v| {
            let share = checkpoint::availability(v.num("mtbf"), v.num("mttr"));
            Answer::of(share, "frac").row(
                text("down in a year", "一年停机"),
                (1.0 - share) * 365.0 * 86400.0,
                "s",
                "(1 − availability)·365 d",
            )
        },
    },
    Calculator {
        name: "mtbf-gpu",
        topic: Topic::Failures,
        title: text("MTBF of one GPU", "单卡 MTBF"),
        what: text("From the failures that a cluster has seen.", "由集群见过的故障数反推。"),
        inputs: &[
            time("time", "54d", text("time observed", "观测时间")),
            count("gpus", "16384", "", text("GPUs", "GPU 数")),
            count("failures", "419", "", text("unexpected failures", "非计划故障次数")),
        ],
        formula: "time·gpus/failures",
        source: "inputs: arXiv 2407.21783 §3.3.4 (Llama 3 405B)",
        compute: |v| {
            let one = checkpoint::mtbf_of_one(v.num("time"), v.num("gpus"), v.num("failures"));
            Answer::of(one, "s")
                .row(
                    text("of the job", "整个作业"),
                    checkpoint::mtbf_of_job(one, v.num("gpus")),
                    "s",
                    "time/failures",
                )
                .row(text("one GPU, in hours", "单卡，小时"), one / 3600.0, "h", "")
        },
    },
    Calculator {
        name: "mtbf-cluster",
        topic: Topic::Failures,
        title: text("MTBF of a job", "作业的 MTBF"),
        what: text(
            "n things fail n times as often: 64 GPUs once a month, 16k every three hours.",
            "n 张卡的故障频率是 n 倍：64 卡约一个月一次，1.6 万卡约三小时一次。",
        ),
        inputs: &[time("one", "50677h", text("MTBF of one GPU", "单卡 MTBF")), GPUS],
        formula: "one/gpus",
        source: "independent failures; arXiv 2407.21783 §3.3.4 for the default",
        compute: |v| {
            let job = checkpoint::mtbf_of_job(v.num("one"), v.num("gpus"));
            Answer::of(job, "s").row(text("in hours", "小时"), job / 3600.0, "h", "one/gpus")
        },
    },
    Calculator {
        name: "recovery",
        topic: Topic::Failures,
        title: text("RPO, RTO and their cost", "RPO、RTO 与代价"),
        what: text(
            "GPU time that one failure costs: half an interval of work, and the way back.",
            "一次故障耗费的 GPU 时间：半个间隔的工作，加恢复过程。",
        ),
        inputs: &[
            time("interval", "30min", text("checkpoint interval", "检查点间隔")),
            time("detect", "60s", text("until it is noticed", "发现故障")).within(0.0, 1e9),
            time("reschedule", "120s", text("until pods run again", "重新调度")).within(0.0, 1e9),
            time("load", "60s", text("read the checkpoint", "加载检查点")).within(0.0, 1e9),
            time("warm", "60s", text("until the first useful step", "预热到第一步有效训练")).within(0.0, 1e9),
            GPUS,
        ],
        formula: "(interval/2 + detect + reschedule + load + warm)·gpus",
        source: "definitions of RPO and RTO",
        compute: |v| {
            let rto = checkpoint::recovery_seconds(
                v.num("detect"),
                v.num("reschedule"),
                v.num("load"),
                v.num("warm"),
            );
            let lost = checkpoint::expected_lost_seconds(v.num("interval"));
            let cost = checkpoint::failure_cost(v.num("interval"), rto, v.num("gpus"));
            Answer::of(cost / 3600.0, "GPU·h")
                .row(text("RPO, expected", "RPO（期望）"), lost, "s", "interval/2")
                .row(text("RTO", "RTO"), rto, "s", "detect + reschedule + load + warm")
        },
    },
];

fn size(v: &Values) -> Answer {
    let (params, bytes, masks, context) = (v.num("N"), v.num("bytes"), v.num("masks"), v.num("T"));
    let state = checkpoint::bytes(params, bytes, 0.0, 0.0);
    let whole = checkpoint::bytes(params, bytes, masks, context);
    let answer = Answer::of(whole, "B").row(text("state", "状态"), state, "B", "N·bytes");
    if masks > 0.0 {
        return answer.row(text("causal masks", "因果 mask"), whole - state, "B", "masks·T²·4");
    }
    answer.by("N·bytes")
}

fn young(v: &Values) -> Answer {
    let (save, mtbf, restart) = (v.num("save"), v.num("mtbf"), v.num("restart"));
    let daly = checkpoint::daly_seconds(save, mtbf, restart);
    let answer = Answer::of(checkpoint::young_seconds(save, mtbf, restart), "s")
        .row(text("Daly, first order", "Daly 一阶修正"), daly, "s", "√(2·save·(mtbf + restart)) − save")
        .row(
            text("lost at the best", "最佳点的损失"),
            checkpoint::overhead_at_optimum(save, mtbf),
            "frac",
            "√(2·save/mtbf)",
        );
    if save * 2.0 > mtbf {
        return answer.note(
            "saving takes about as long as the job lives: the approximation does not hold",
            "保存时间已接近作业寿命：近似不再成立",
        );
    }
    answer
}
