//! Batches, blocks, drafts, latencies.

use infralab_labs::formulas::serving;

use crate::calc::answer::Answer;
use crate::calc::input::{Dim, Input};
use crate::calc::inputs::{BLOCK, VOCAB, count, time};
use crate::calc::resolve::Values;
use crate::calc::{Calculator, Topic, text};

const DRAFTS: Input =
    count("g", "4", "token", text("drafted tokens a pass", "每次草拟的 token 数")).within(1.0, 1000.0);
const ACCEPTANCE: Input =
    Input::number("a", Dim::Share, "", text("share of drafts that are accepted", "草稿被接受的比例"))
        .default("0.8");
const TOKENS: Input = count("N", "101", "token", text("output tokens", "输出 token 数"));
const TTFT: Input = time("ttft", "0.3s", text("time to first token", "首 token 时间 TTFT"));

pub(super) const CALCULATORS: &[Calculator] = &[
    Calculator {
        name: "static-batching",
        topic: Topic::Serving,
        title: text("Static batching, slots", "静态 batching 的槽位利用率"),
        what: text(
            "A static batch waits for its longest member; continuous batching fills the holes.",
            "静态 batch 要等最长的请求；continuous batching 会把空槽补上。",
        ),
        inputs: &[
            count("B", "16", "", text("slots", "槽位数")).within(1.0, 1e6),
            Input::choice(
                "lengths",
                &["exponential", "uniform"],
                text("distribution of output lengths", "输出长度的分布"),
            ),
        ],
        formula: "1 / (1 + 1/2 + … + 1/B)",
        source: "mean over the expected largest of B lengths",
        compute: |v| {
            let b = v.num("B");
            let answer = if v.word("lengths") == "uniform" {
                Answer::of(serving::static_utilisation_uniform(b), "frac").by("(B + 1) / (2·B)")
            } else {
                Answer::of(serving::static_utilisation_exponential(b), "frac")
            };
            let used = answer.value.unwrap_or(f64::NAN);
            answer.row(text("continuous batching gains", "continuous batching 最多提升"), 1.0 / used, "x", "")
        },
    },
    Calculator {
        name: "kv-blocks",
        topic: Topic::Serving,
        title: text("KV blocks of a sequence", "一个序列的 KV 块数"),
        what: text("Blocks a paged cache gives to a sequence.", "分页 KV cache 分给一个序列的块数。"),
        inputs: &[count("t", "17", "token", text("tokens", "token 数")), BLOCK],
        formula: "⌈t / block⌉",
        source: "arXiv 2309.06180; vLLM's block is 16",
        compute: |v| {
            let (tokens, block) = (v.num("t"), v.num("block"));
            let blocks = serving::blocks(tokens, block);
            Answer::of(blocks, "block").row(
                text("tokens wasted", "浪费的 token"),
                blocks * block - tokens,
                "token",
                "⌈t / block⌉·block − t",
            )
        },
    },
    Calculator {
        name: "paging-waste",
        topic: Topic::Serving,
        title: text("Mean waste of paging", "分页的平均浪费"),
        what: text("Tokens left empty in a sequence's last block.", "序列最后一块里平均空着的 token 数。"),
        inputs: &[BLOCK],
        formula: "(block − 1)/2",
        source: "arXiv 2309.06180",
        compute: |v| Answer::of(serving::mean_block_waste(v.num("block")), "token/seq"),
    },
    Calculator {
        name: "prefix-cache",
        topic: Topic::Serving,
        title: text("Prefix cache in blocks", "前缀缓存按整块复用"),
        what: text(
            "Tokens of a shared prefix that need no prefill: only whole blocks count.",
            "共享前缀里不用再 prefill 的 token：只有整块算数。",
        ),
        inputs: &[
            count("shared", "500", "token", text("shared prefix", "共享前缀")),
            count("prompt", "800", "token", text("whole prompt", "整个 prompt")),
            BLOCK,
        ],
        formula: "⌊min(shared, prompt) / block⌋·block",
        source: "docs.vllm.ai, automatic prefix caching",
        compute: |v| {
            let (shared, prompt, block) =
                (v.num("shared").min(v.num("prompt")), v.num("prompt"), v.num("block"));
            let reused = serving::reused_tokens(shared, block);
            Answer::of(reused, "token")
                .row(text("blocks", "块"), reused / block, "block", "⌊min(shared, prompt) / block⌋")
                .row(
                    text("share of prefill saved", "省下的 prefill 占比"),
                    reused / prompt,
                    "frac",
                    "reused / prompt",
                )
                .note(
                    "counted in tokens; attention saves a little more",
                    "按 token 计；attention 部分还能多省一点",
                )
        },
    },
    Calculator {
        name: "speculative",
        topic: Topic::Serving,
        title: text("Speculative decoding", "投机解码：每次 token 数"),
        what: text(
            "Expected tokens of a target pass, its own token included.",
            "大模型每次前向期望得到的 token 数，含它自己的那个。",
        ),
        inputs: &[ACCEPTANCE, DRAFTS],
        formula: "(1 − a^(g + 1)) / (1 − a)",
        source: "arXiv 2211.17192 equation 1",
        compute: |v| {
            let tokens = serving::tokens_per_target_pass(v.num("a"), v.num("g"));
            let answer = Answer::of(tokens, "token/pass").row(
                text("accepted drafts alone", "只算被接受的草稿"),
                tokens - 1.0,
                "token/pass",
                "",
            );
            if v.num("a") >= 1.0 { answer.by("g + 1") } else { answer }
        },
    },
    Calculator {
        name: "speculative-speedup",
        topic: Topic::Serving,
        title: text("Speculative speed-up", "投机解码的加速比"),
        what: text(
            "Holds while checking g + 1 tokens costs as much as one: small batches.",
            "前提是校验 g + 1 个 token 与 1 个同价，即 batch 较小时。",
        ),
        inputs: &[
            ACCEPTANCE,
            DRAFTS,
            Input::number(
                "c",
                Dim::Plain,
                "",
                text("cost of a draft over a target pass", "草稿一步相对大模型一步的成本"),
            )
            .within(0.0, 10.0)
            .default("0.05"),
        ],
        formula: "tokens / (g·c + 1)",
        source: "arXiv 2211.17192 theorem 3.8",
        compute: speedup,
    },
    Calculator {
        name: "tpot",
        topic: Topic::Serving,
        title: text("Time per output token", "TPOT：每输出 token 时间"),
        what: text(
            "Mean over the tokens after the first; ITL is each gap, and differs when chunks hold several tokens.",
            "首 token 之后的平均值；ITL 是每个间隔，一个 chunk 含多个 token 时两者不同。",
        ),
        inputs: &[time("e2e", "2.3s", text("whole request", "整个请求的时间")), TTFT, TOKENS],
        formula: "(e2e − ttft)/(N − 1)",
        source: "vLLM benchmark_serving",
        compute: |v| {
            let (e2e, ttft) = (v.num("e2e"), v.num("ttft"));
            if e2e < ttft {
                return Answer::none(
                    "s",
                    "the whole request is shorter than its first token",
                    "整个请求比首 token 还短",
                );
            }
            match serving::tpot_seconds(e2e, ttft, v.num("N")) {
                Some(seconds) => Answer::of(seconds, "s").row(
                    text("tokens/s", "token/s"),
                    1.0 / seconds,
                    "token/s",
                    "(N − 1)/(e2e − ttft)",
                ),
                None => {
                    Answer::none("s", "one token has no gap: N > 1", "只有一个 token，没有间隔：需要 N > 1")
                }
            }
        },
    },
    Calculator {
        name: "throughput",
        topic: Topic::Serving,
        title: text("Throughput, concurrency", "给定并发下的吞吐"),
        what: text(
            "Requests and tokens a second from C, TTFT and TPOT.",
            "由并发、TTFT 和 TPOT 得到请求/s 与 token/s。",
        ),
        inputs: &[
            count("C", "64", "", text("requests in flight", "并发请求数")),
            TTFT,
            time("tpot", "20ms", text("time per output token", "TPOT")),
            TOKENS,
        ],
        formula: "C / (ttft + (N − 1)·tpot)",
        source: "Little's law on the request's latency",
        compute: |v| {
            let (ttft, tpot, tokens) = (v.num("ttft"), v.num("tpot"), v.num("N"));
            let rate = serving::requests_per_second(v.num("C"), ttft, tpot, tokens);
            Answer::of(rate, "request/s")
                .row(
                    text("a request takes", "单个请求"),
                    serving::e2e_seconds(ttft, tpot, tokens),
                    "s",
                    "ttft + (N − 1)·tpot",
                )
                .row(text("tokens/s", "token/s"), rate * tokens, "token/s", "N·rate")
        },
    },
    Calculator {
        name: "little",
        topic: Topic::Serving,
        title: text("Little's law", "Little 定律"),
        what: text(
            "What is in flight is rate × latency, whatever the distribution.",
            "在途数 = 速率 × 延迟，与分布无关。",
        ),
        inputs: &[
            Input::number("rate", Dim::Plain, "/s", text("requests a second", "每秒请求数"))
                .within(0.0, 1e12)
                .default("10"),
            time("latency", "2.3s", text("latency", "延迟")),
        ],
        formula: "rate·latency",
        source: "Little 1961",
        compute: |v| Answer::of(serving::in_flight(v.num("rate"), v.num("latency")), "request"),
    },
    Calculator {
        name: "perplexity",
        topic: Topic::Serving,
        title: text("Perplexity", "困惑度"),
        what: text("exp of the mean loss in nats.", "平均 loss（nat）取指数。"),
        inputs: &[Input::number("nll", Dim::Plain, "nat", text("mean loss", "平均 loss"))
            .within(0.0, 100.0)
            .default("3.12")],
        formula: "exp(nll)",
        source: "definition",
        compute: |v| Answer::of(serving::perplexity(v.num("nll")), ""),
    },
    Calculator {
        name: "initial-loss",
        topic: Topic::Serving,
        title: text("Loss at step 0", "未训练模型的 loss"),
        what: text(
            "What step 0 must show; anything else is a bug in data, labels or initialisation.",
            "第 0 步就该是这个数；不是则数据、标签或初始化有错。",
        ),
        inputs: &[VOCAB],
        formula: "ln(V)",
        source: "definition",
        compute: |v| Answer::of(serving::untrained_loss(v.num("V")), "nat"),
    },
];

fn speedup(v: &Values) -> Answer {
    let (a, g, c) = (v.num("a"), v.num("g"), v.num("c"));
    let tokens = serving::tokens_per_target_pass(a, g);
    let best = (1..=64_u32).map(f64::from).max_by(|x, y| {
        serving::speculative_speedup(a, *x, c).total_cmp(&serving::speculative_speedup(a, *y, c))
    });
    let best = best.unwrap_or(1.0);
    Answer::of(serving::speculative_speedup(a, g, c), "x")
        .with("tokens", tokens, "")
        .row(text("tokens a pass", "每次 token 数"), tokens, "token/pass", "(1 − a^(g + 1)) / (1 − a)")
        .row(text("best g up to 64", "64 以内最佳 g"), best, "token", "")
        .row(text("speed-up there", "此时加速比"), serving::speculative_speedup(a, best, c), "x", "")
}
