//! Weights, gradients, optimizer state, and their shards.

use infralab_labs::formulas::training_state::{self, RECIPES, Recipe, recipe_named};
use infralab_labs::formulas::zero::{self, Offload, Stage};

use crate::calc::answer::Answer;
use crate::calc::input::{Dim, Input};
use crate::calc::inputs::{BYTES, PARAMS, RANKS};
use crate::calc::resolve::Values;
use crate::calc::{Calculator, Topic, text};

/// How the state is kept; the words are those of the formulas' table.
pub(super) const RECIPE: Input = Input::choice(
    "recipe",
    &["autocast", "fp32", "mixed", "mixed-fp32-grads", "megatron", "bf16", "adam8bit-master", "adam8bit"],
    text("what AdamW keeps for each parameter", "AdamW 为每个参数保存什么"),
);
/// What is divided over ranks.
pub(super) const STAGE: Input = Input::choice(
    "stage",
    &["0", "1", "2", "3"],
    text("ZeRO stage; 0 is DDP, 3 is FSDP", "ZeRO 阶段；0 即 DDP，3 即 FSDP"),
);

pub(super) const CALCULATORS: &[Calculator] = &[
    Calculator {
        name: "training-state",
        topic: Topic::TrainingState,
        title: text("Training state by recipe", "每参数字节数（按配方）"),
        what: text(
            "Weights, gradients and AdamW state before any activation. 16, 18, 20, 10, 8 and 6 bytes a parameter are all right, each for its recipe.",
            "不含激活的权重、梯度和 AdamW 状态。每参数 16、18、20、10、8、6 字节都对，各对应一种配方。",
        ),
        inputs: &[PARAMS, RECIPE],
        formula: "N·(weights + gradients + optimizer)",
        source: "counted; arXiv 1910.02054 §3.1 (mixed), DeepSpeed memory.rst (18), arXiv 2201.11990 (20)",
        compute: state,
    },
    Calculator {
        name: "zero",
        topic: Topic::TrainingState,
        title: text("ZeRO / FSDP, memory", "ZeRO / FSDP 单卡显存"),
        what: text(
            "What a rank holds when optimizer state, gradients and weights are divided in turn.",
            "依次切分优化器状态、梯度、权重后，每个 rank 还要放多少。",
        ),
        inputs: &[
            PARAMS,
            RANKS,
            STAGE,
            Input::choice(
                "recipe",
                &[
                    "mixed",
                    "autocast",
                    "fp32",
                    "mixed-fp32-grads",
                    "megatron",
                    "bf16",
                    "adam8bit-master",
                    "adam8bit",
                ],
                RECIPE.help,
            ),
        ],
        formula: "N·(weights + gradients + optimizer)",
        source: "arXiv 1910.02054 figure 1",
        compute: per_rank,
    },
    Calculator {
        name: "zero-traffic",
        topic: Topic::TrainingState,
        title: text("ZeRO / FSDP, traffic", "ZeRO / FSDP 通信量"),
        what: text(
            "Bytes that a rank sends in a step: twice the model for DDP, ZeRO-1 and 2, three times for ZeRO-3.",
            "每步每个 rank 发送的字节：DDP、ZeRO-1、2 是模型的 2 倍，ZeRO-3 是 3 倍。",
        ),
        inputs: &[
            PARAMS,
            RANKS,
            Input::choice(
                "stage",
                &["0", "1", "2", "3", "fsdp-no-reshard"],
                text(
                    "ZeRO stage; FSDP is 3, with reshard_after_forward=False fsdp-no-reshard",
                    "ZeRO 阶段；FSDP 是 3，reshard_after_forward=False 选 fsdp-no-reshard",
                ),
            ),
            BYTES,
        ],
        formula: "2·N·bytes·(n − 1)/n",
        source: "arXiv 1910.02054 §7; pytorch/torchtitan docs/fsdp.md",
        compute: traffic,
    },
    Calculator {
        name: "deepspeed-estimator",
        topic: Topic::TrainingState,
        title: text("DeepSpeed's own estimate", "DeepSpeed 自带估算"),
        what: text(
            "The figures of DeepSpeed's estimator, which counts fp32 gradients (18) where the paper counts 16.",
            "复现 DeepSpeed 估算器的数：它按 fp32 梯度计 18 字节，论文按 16。",
        ),
        inputs: &[
            PARAMS,
            Input::number(
                "largest",
                Dim::Whole,
                "param",
                text("parameters of the largest layer (ZeRO-3)", "最大一层的参数量（ZeRO-3）"),
            )
            .default("32e6"),
            RANKS,
            Input::choice("stage", &["2", "3"], text("ZeRO stage", "ZeRO 阶段")),
            Input::choice(
                "offload",
                &["none", "optimizer", "optimizer+params"],
                text("what goes to the host", "卸载到主机的部分"),
            ),
        ],
        formula: "4·N + 16·N/n",
        source: "deepspeedai/DeepSpeed docs/code-docs/source/memory.rst",
        compute: deepspeed,
    },
];

/// The recipe that was chosen.
pub(super) fn chosen_recipe(v: &Values) -> Recipe {
    recipe_named(v.word("recipe")).unwrap_or(RECIPES[0])
}

/// The stage that was chosen.
pub(super) fn chosen_stage(v: &Values) -> Stage {
    match v.word("stage") {
        "1" => Stage::One,
        "2" | "fsdp-no-reshard" => Stage::Two,
        "3" => Stage::Three,
        _ => Stage::None,
    }
}

/// Names the parts of a recipe as symbols.
fn with_recipe(answer: Answer, recipe: Recipe) -> Answer {
    answer.with("weights", recipe.weights, "B").with("gradients", recipe.gradients, "B").with(
        "optimizer",
        recipe.optimizer,
        "B",
    )
}

fn state(v: &Values) -> Answer {
    let (params, recipe) = (v.num("N"), chosen_recipe(v));
    let answer = Answer::of(training_state::bytes(params, recipe), "B")
        .row(
            text("bytes a parameter", "每参数字节"),
            recipe.bytes_per_param(),
            "B",
            "weights + gradients + optimizer",
        )
        .row(text("weights", "权重"), params * recipe.weights, "B", "N·weights")
        .row(text("gradients", "梯度"), params * recipe.gradients, "B", "N·gradients")
        .row(text("optimizer", "优化器"), params * recipe.optimizer, "B", "N·optimizer")
        .note(
            "the first step() allocates m and v: the peak of iteration 1 is too low by their size",
            "第一次 step() 才分配 m、v：只看第 1 次迭代会低估它们这么多",
        );
    with_recipe(answer, recipe)
}

fn per_rank(v: &Values) -> Answer {
    let (recipe, stage) = (chosen_recipe(v), chosen_stage(v));
    let shard = zero::per_rank(v.num("N"), recipe, v.num("n"), stage);
    let over = |divided: bool| if divided { "/n" } else { "" };
    let weights = format!("N·weights{}", over(stage == Stage::Three));
    let gradients = format!("N·gradients{}", over(matches!(stage, Stage::Two | Stage::Three)));
    let optimizer = format!("N·optimizer{}", over(stage != Stage::None));
    let answer = Answer::of(shard.total(), "B")
        .by(format!("{weights} + {gradients} + {optimizer}"))
        .row(text("weights", "权重"), shard.weights, "B", &weights)
        .row(text("gradients", "梯度"), shard.gradients, "B", &gradients)
        .row(text("optimizer", "优化器"), shard.optimizer, "B", &optimizer)
        .note("activations and logits come on top: fits", "激活和 logits 另算：见 fits");
    with_recipe(answer, recipe)
}

fn traffic(v: &Values) -> Answer {
    let stage = chosen_stage(v);
    let bytes = zero::traffic_elements(v.num("N"), v.num("n"), stage) * v.num("bytes");
    let answer = Answer::of(bytes, "B");
    if stage == Stage::Three {
        return answer.by("3·N·bytes·(n − 1)/n").note(
            "two all-gathers of the weights, one reduce-scatter of the gradients",
            "两次权重 all-gather，一次梯度 reduce-scatter",
        );
    }
    answer
}

fn deepspeed(v: &Values) -> Answer {
    let (params, largest, ranks) = (v.num("N"), v.num("largest"), v.num("n"));
    let offload = match v.word("offload") {
        "optimizer" => Offload::Optimizer,
        "optimizer+params" => Offload::OptimizerAndParams,
        _ => Offload::None,
    };
    if v.word("stage") == "2" {
        let answer = Answer::of(zero::deepspeed_zero2(params, ranks, offload), "B");
        return if offload == Offload::None { answer } else { answer.by("2·N") };
    }
    Answer::of(zero::deepspeed_zero3(params, largest, ranks, offload), "B").by(match offload {
        Offload::None => "4·largest + 18·N/n",
        Offload::Optimizer => "4·largest + 2·N/n",
        Offload::OptimizerAndParams => "4·largest",
    })
}
