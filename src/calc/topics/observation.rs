//! What readings show.

use infralab_labs::formulas::sampling;

use crate::calc::answer::Answer;
use crate::calc::input::Input;
use crate::calc::inputs::{count, time};
use crate::calc::resolve::Values;
use crate::calc::tables::GpuField;
use crate::calc::{Calculator, Topic, text};

const PERIOD: Input = time("P", "1s", text("period of what happens", "真实波动的周期"));

pub(super) const CALCULATORS: &[Calculator] = &[
    Calculator {
        name: "sampling-attenuation",
        topic: Topic::Observation,
        title: text("Averaging flattens", "平均把波动压平多少"),
        what: text(
            "A reading that is a mean over W flattens a sawtooth of period P; at W = P nothing is left.",
            "读数若是 W 内的平均，会把周期 P 的锯齿压平；W = P 时一点不剩。",
        ),
        inputs: &[PERIOD, time("W", "0.9s", text("window of a reading", "一次读数的平均窗口"))],
        formula: "|sin(π·W/P) / (π·W/P)|",
        source: "frequency response of a moving average",
        compute: |v| Answer::of(sampling::amplitude_left(v.num("P"), v.num("W")), "frac"),
    },
    Calculator {
        name: "sampling-alias",
        topic: Topic::Observation,
        title: text("Period that samples show", "采样看到的周期"),
        what: text(
            "Samples further apart than P/2 show a slow wave that does not exist.",
            "采样间隔大于 P/2 时，会看到一个并不存在的慢波。",
        ),
        inputs: &[PERIOD, time("D", "0.9s", text("time between samples", "采样间隔"))],
        formula: "1 / |1/P − k/D|",
        source: "sampling theorem; k is the nearest whole D/P",
        compute: alias,
    },
    Calculator {
        name: "starvation",
        topic: Topic::Observation,
        title: text("Starvation by the loader", "数据加载拖慢时的利用率"),
        what: text(
            "Share of time a GPU computes when batches come from a loader.",
            "批次由加载器供给时，GPU 真正计算的时间占比。",
        ),
        inputs: &[
            time("compute", "60ms", text("compute of a step", "一步的计算")),
            time("load", "40ms", text("loading of a batch", "加载一个 batch")),
            Input::choice(
                "loader",
                &["serial", "prefetch"],
                text("in turn, or the next batch meanwhile", "串行，或预取下一个 batch"),
            ),
        ],
        formula: "compute/(load + compute)",
        source: "definition",
        compute: |v| {
            let (compute, load) = (v.num("compute"), v.num("load"));
            if v.word("loader") == "prefetch" {
                Answer::of(sampling::utilisation_prefetched(compute, load), "frac")
                    .by("compute/max(load, compute)")
            } else {
                Answer::of(sampling::utilisation_serial(compute, load), "frac").row(
                    text("with prefetch", "预取后"),
                    sampling::utilisation_prefetched(compute, load),
                    "frac",
                    "compute/max(load, compute)",
                )
            }
        },
    },
    Calculator {
        name: "wave-quantisation",
        topic: Topic::Observation,
        title: text("Wave quantisation", "波次量化"),
        what: text(
            "Tiles of a matmul run in waves over the SMs; the last wave is rarely full.",
            "矩阵乘的 tile 按波次铺满 SM；最后一波往往不满。",
        ),
        inputs: &[
            count("M", "4096", "", text("rows of the output", "输出行数")).within(1.0, 1e9),
            count("N", "4096", "", text("columns of the output", "输出列数")).within(1.0, 1e9),
            count(
                "tile",
                "128",
                "",
                text("side of a tile; the library chooses the real one", "tile 边长；实际由库决定"),
            )
            .within(1.0, 1e6),
            Input::number("sms", crate::calc::input::Dim::Whole, "SM", text("multiprocessors", "SM 数"))
                .within(1.0, 1e5)
                .gpu(GpuField::Sms),
        ],
        formula: "tiles/(sms·⌈tiles/sms⌉)",
        source: "NVIDIA Matrix Multiplication Background User's Guide",
        compute: |v| {
            let tiles = sampling::tiles(v.num("M"), v.num("N"), v.num("tile"));
            let sms = v.num("sms");
            Answer::of(sampling::wave_efficiency(tiles, sms), "frac")
                .with("tiles", tiles, "")
                .row(text("tiles", "tile 数"), tiles, "", "⌈M/tile⌉·⌈N/tile⌉")
                .row(text("waves", "波次"), sampling::waves(tiles, sms), "", "⌈tiles/sms⌉")
        },
    },
];

fn alias(v: &Values) -> Answer {
    let (period, sampling_period) = (v.num("P"), v.num("D"));
    let Some(apparent) = sampling::apparent_period(period, sampling_period) else {
        return Answer::none(
            "s",
            "D is a whole number of periods: the samples stand still and show a flat line",
            "D 恰是周期的整数倍：采样静止不动，看到的是一条直线",
        );
    };
    let answer = Answer::of(apparent, "s").with("k", (sampling_period / period).round(), "");
    if sampling::aliases(period, sampling_period) {
        return answer.note(
            "D > P/2: this wave is an artefact of sampling. Sample faster than P/2",
            "D > P/2：这个波是采样假象。采样间隔要小于 P/2",
        );
    }
    answer.note("D ≤ P/2: the samples follow the real wave", "D ≤ P/2：采样能跟上真实波动")
}
