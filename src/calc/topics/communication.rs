//! Collectives.

use infralab_labs::formulas::collectives::{self, Collective};

use crate::calc::answer::Answer;
use crate::calc::input::{Dim, Input};
use crate::calc::inputs::{BYTES, HIDDEN, LAYERS, MICRO_BATCH, RANKS, SEQUENCE, size, time};
use crate::calc::resolve::Values;
use crate::calc::{Calculator, Topic, text};

const OP: Input = Input::choice(
    "op",
    &["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "reduce"],
    text("collective", "集合通信操作"),
);
const BUFFER: Input = size("S", "1GiB", text("whole buffer", "整个缓冲区"));
const BUSBW: Input = Input::number("busbw", Dim::Bandwidth, "", text("measured bus bandwidth", "实测 busbw"))
    .within(1.0, 1e20)
    .default("365GB/s");

pub(super) const CALCULATORS: &[Calculator] = &[
    Calculator {
        name: "busbw-factor",
        topic: Topic::Communication,
        title: text("busbw over algbw", "busbw 与 algbw 之比"),
        what: text("The factor that nccl-tests applies.", "nccl-tests 使用的换算系数。"),
        inputs: &[OP, RANKS],
        formula: "2·(n − 1)/n",
        source: "NVIDIA/nccl-tests doc/PERFORMANCE.md",
        compute: |v| {
            let op = op(v);
            Answer::of(collectives::bus_factor(op, v.num("n")), "x algbw").by(factor(op))
        },
    },
    Calculator {
        name: "busbw",
        topic: Topic::Communication,
        title: text("busbw of a measurement", "由实测换算 busbw"),
        what: text(
            "Bus bandwidth from size and time, to compare with a link.",
            "由大小与时间换算总线带宽，便于与链路比较。",
        ),
        inputs: &[OP, RANKS, BUFFER, time("time", "5ms", text("measured time", "实测时间"))],
        formula: "2·(n − 1)/n·S / time",
        source: "NVIDIA/nccl-tests doc/PERFORMANCE.md",
        compute: |v| {
            let (op, bytes, seconds) = (op(v), v.num("S"), v.num("time"));
            Answer::of(collectives::bus_bandwidth(op, v.num("n"), bytes, seconds), "B/s")
                .by(format!("{}·S / time", factor(op)))
                .row(text("algbw", "algbw"), bytes / seconds, "B/s", "S / time")
                .note(
                    "above the link's rate? In-switch reduction (NVLS) moves less than the factor assumes",
                    "比链路还快？交换机内归约（NVLS）搬的比系数假设的少",
                )
        },
    },
    Calculator {
        name: "bytes-moved",
        topic: Topic::Communication,
        title: text("Bytes a rank sends", "每个 rank 发送的字节"),
        what: text("What a ring sends from each rank.", "环形算法里每个 rank 发出的字节。"),
        inputs: &[OP, RANKS, BUFFER],
        formula: "2·(n − 1)/n·S",
        source: "NVIDIA/nccl-tests doc/PERFORMANCE.md; in-switch: NVIDIA/nccl issue 2140",
        compute: |v| {
            let op = op(v);
            let (ranks, bytes) = (v.num("n"), v.num("S"));
            let answer =
                Answer::of(collectives::bytes_moved(op, ranks, bytes), "B").by(format!("{}·S", factor(op)));
            if op == Collective::AllReduce {
                answer.row(
                    text("with in-switch reduction", "交换机内归约时"),
                    collectives::in_switch_bytes(ranks, bytes),
                    "B",
                    "(1 + 1/n)·S",
                )
            } else {
                answer
            }
        },
    },
    Calculator {
        name: "allreduce-time",
        topic: Topic::Communication,
        title: text("Time of a collective", "一次集合通信的时间"),
        what: text(
            "From a measured bus bandwidth: gradients of a model over n ranks.",
            "按实测 busbw 计：一个模型的梯度跨 n 个 rank。",
        ),
        inputs: &[
            OP,
            RANKS,
            size(
                "S",
                "497.8MB",
                text("whole buffer; fp32 gradients are 4 B a parameter", "整个缓冲区；fp32 梯度每参数 4 B"),
            ),
            BUSBW,
        ],
        formula: "2·(n − 1)/n·S / busbw",
        source: "NVIDIA/nccl-tests doc/PERFORMANCE.md",
        compute: |v| {
            let (op, ranks, bytes) = (op(v), v.num("n"), v.num("S"));
            Answer::of(collectives::seconds_at(op, ranks, bytes, v.num("busbw")), "s")
                .by(format!("{}·S / busbw", factor(op)))
                .row(
                    text("sent by a rank", "每个 rank 发送"),
                    collectives::bytes_moved(op, ranks, bytes),
                    "B",
                    &format!("{}·S", factor(op)),
                )
        },
    },
    Calculator {
        name: "ring-steps",
        topic: Topic::Communication,
        title: text("Ring steps", "环形 all-reduce 的步数"),
        what: text("n − 1 to reduce, n − 1 to gather.", "n − 1 步归约，n − 1 步收集。"),
        inputs: &[RANKS],
        formula: "2·(n − 1)",
        source: "NVIDIA/nccl-tests doc/PERFORMANCE.md",
        compute: |v| Answer::of(collectives::ring_steps(v.num("n")), "step"),
    },
    Calculator {
        name: "ring-time",
        topic: Topic::Communication,
        title: text("Ring all-reduce, α-β", "环形 all-reduce：α-β"),
        what: text(
            "Latency and bandwidth of a ring; below n·α·β latency is the larger part.",
            "环的延迟与带宽；缓冲区小于 n·α·β 时延迟占大头。",
        ),
        inputs: &[
            RANKS,
            BUFFER,
            time("alpha", "5us", text("latency of a step", "每步延迟")),
            Input::number("bw", Dim::Bandwidth, "", text("bandwidth of a link, one way", "链路单向带宽"))
                .within(1.0, 1e20)
                .default("365GB/s"),
        ],
        formula: "2·(n − 1)·(alpha + S/(n·bw))",
        source: "α-β model on a ring of 2(n − 1) steps",
        compute: |v| {
            let (ranks, bytes, alpha, bw) = (v.num("n"), v.num("S"), v.num("alpha"), v.num("bw"));
            let steps = collectives::ring_steps(ranks);
            Answer::of(collectives::ring_seconds(ranks, bytes, alpha, bw), "s")
                .row(text("steps", "步数"), steps, "step", "2·(n − 1)")
                .row(text("latency", "延迟部分"), steps * alpha, "s", "2·(n − 1)·alpha")
                .row(text("bandwidth", "带宽部分"), steps * bytes / (ranks * bw), "s", "2·(n − 1)·S/(n·bw)")
                .row(
                    text("latency rules below", "低于此大小延迟主导"),
                    collectives::ring_latency_bytes(ranks, alpha, bw),
                    "B",
                    "n·alpha·bw",
                )
        },
    },
    Calculator {
        name: "ddp-buckets",
        topic: Topic::Communication,
        title: text("DDP buckets", "DDP 梯度桶数"),
        what: text(
            "Buckets that DDP reduces one after another while backward goes on.",
            "DDP 在反向进行时依次规约的桶数。",
        ),
        inputs: &[
            size("grads", "497.8MB", text("gradients; fp32 is 4 B a parameter", "梯度；fp32 每参数 4 B")),
            size("cap", "25MiB", text("bucket_cap_mb", "bucket_cap_mb")),
            size("first", "1MiB", text("first bucket", "第一个桶")),
        ],
        formula: "1 + ⌈(grads − first)/cap⌉",
        source: "PyTorch DistributedDataParallel defaults",
        compute: |v| {
            Answer::of(collectives::ddp_buckets(v.num("grads"), v.num("cap"), v.num("first")), "bucket").note(
                "whole tensors go into a bucket: real counts differ a little",
                "张量不拆分，实际桶数略有出入",
            )
        },
    },
    Calculator {
        name: "exposed-communication",
        topic: Topic::Communication,
        title: text("Communication that shows", "暴露的通信时间"),
        what: text(
            "What backward does not hide, plus the last bucket. A large share of NCCL that overlaps costs nothing.",
            "反向掩盖不掉的部分加最后一个桶。NCCL 占比再高，只要重叠就不花钱。",
        ),
        inputs: &[
            time("comm", "17.4ms", text("communication", "通信时间")),
            time("backward", "12ms", text("backward pass", "反向时间")),
            Input::number(
                "overlap",
                Dim::Share,
                "",
                text("share of backward that can overlap", "反向中可重叠的比例"),
            )
            .default("0.9"),
            time("last", "0.9ms", text("last bucket", "最后一个桶")).within(0.0, 1e9),
            time("step", "30ms", text("step without communication", "不含通信的一步")),
        ],
        formula: "max(0, comm − backward·overlap) + last",
        source: "PyTorch DDP design; scaling T1/(T1 + exposed)",
        compute: |v| {
            let exposed = collectives::exposed_seconds(
                v.num("comm"),
                v.num("backward"),
                v.num("overlap"),
                v.num("last"),
            );
            Answer::of(exposed, "s").row(
                text("scaling efficiency", "扩展效率"),
                collectives::scaling_efficiency(v.num("step"), exposed),
                "frac",
                "step/(step + exposed)",
            )
        },
    },
    Calculator {
        name: "tp-traffic",
        topic: Topic::Communication,
        title: text("Tensor-parallel traffic", "张量并行的通信量"),
        what: text(
            "Bytes all-reduced in a training step: four times the activations of every layer.",
            "一步训练中 all-reduce 的字节：每层 4 次、每次一份激活。",
        ),
        inputs: &[
            LAYERS,
            MICRO_BATCH,
            SEQUENCE,
            HIDDEN,
            BYTES,
            RANKS.default("8").called("t", text("tensor-parallel ranks", "张量并行 rank 数")),
        ],
        formula: "4·L·b·s·h·bytes",
        source: "arXiv 2104.04473 §2.3",
        compute: |v| {
            let bytes = collectives::tensor_parallel_elements(v.num("L"), v.num("b"), v.num("s"), v.num("h"))
                * v.num("bytes");
            Answer::of(bytes, "B").row(
                text("sent by a rank", "每个 rank 发送"),
                collectives::bytes_moved(Collective::AllReduce, v.num("t"), bytes),
                "B",
                "2·(t − 1)/t·4·L·b·s·h·bytes",
            )
        },
    },
];

fn op(v: &Values) -> Collective {
    match v.word("op") {
        "all-gather" => Collective::AllGather,
        "reduce-scatter" => Collective::ReduceScatter,
        "all-to-all" => Collective::AllToAll,
        "broadcast" => Collective::Broadcast,
        "reduce" => Collective::Reduce,
        _ => Collective::AllReduce,
    }
}

fn factor(op: Collective) -> &'static str {
    match op {
        Collective::AllReduce => "2·(n − 1)/n",
        Collective::AllGather | Collective::ReduceScatter | Collective::AllToAll => "(n − 1)/n",
        Collective::Broadcast | Collective::Reduce => "1",
    }
}
