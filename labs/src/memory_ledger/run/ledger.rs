//! Ledgers: what the allocator counts at one moment, beside what is named of it.

use tch::{Kind, Tensor};

use crate::clock::mono_ns;
use crate::formulas::gpt_memory::Part;
use crate::protocol::{Basis, Event, Ledger, LedgerItem, Text};
use crate::torch::memory::{MemoryUse, free_bytes, memory_use, rounding_bytes};
use crate::torch::{Context, Error};

/// A moment at which a ledger is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Init,
    Forward,
    Loss,
    Backward,
    /// The end of a step, by number.
    Step(u32),
    /// The highest moment of the steps from the second on.
    Peak,
}

impl Stage {
    fn id(self) -> String {
        match self {
            Self::Init => "init".into(),
            Self::Forward => "forward".into(),
            Self::Loss => "loss".into(),
            Self::Backward => "backward".into(),
            Self::Step(n) => format!("step {n}"),
            Self::Peak => "peak".into(),
        }
    }

    fn title(self) -> Text {
        match self {
            Self::Init => Text::new("weights made", "权重已建"),
            Self::Forward => Text::new("after the forward pass", "前向之后"),
            Self::Loss => Text::new("after the loss", "损失之后"),
            Self::Backward => Text::new("after the backward pass", "反向之后"),
            Self::Step(n) => Text::new(format!("after step {n}"), format!("第 {n} 步之后")),
            Self::Peak => Text::new("highest moment of a step", "一步之中的最高点"),
        }
    }
}

/// Writes the ledgers of one batch.
pub(super) struct Ledgers<'a> {
    ctx: &'a Context,
    series: String,
    /// What stayed allocated with no tensor of the lab alive: workspaces of libraries.
    workspace_bytes: u64,
    /// Smallest named share of any ledger written.
    pub(super) lowest_share: f64,
}

impl<'a> Ledgers<'a> {
    /// Takes what is allocated now for the libraries' workspaces.
    pub(super) fn start(ctx: &'a Context, batch: u64) -> Result<Self, Error> {
        let workspace_bytes = memory_use(ctx.device())?.allocated_bytes;
        Ok(Self { ctx, series: series(batch), workspace_bytes, lowest_share: 1.0 })
    }

    /// See [`Ledgers::start`].
    pub(super) fn workspace_bytes(&self) -> u64 {
        self.workspace_bytes
    }

    /// Writes what is allocated now, named by `items`; gives the named share.
    pub(super) fn now(&mut self, stage: Stage, items: Vec<LedgerItem>) -> Result<f64, Error> {
        let used = memory_use(self.ctx.device())?;
        let rounding = rounding_bytes(self.ctx.device())?.0;
        Ok(self.write(stage, items, used.allocated_bytes, used.reserved_bytes, rounding))
    }

    /// Writes the highest moment since the peak was last reset.
    pub(super) fn peak(&mut self, items: Vec<LedgerItem>, used: MemoryUse) -> Result<f64, Error> {
        let rounding = rounding_bytes(self.ctx.device())?.1;
        let (allocated, reserved) = (used.allocated_peak_bytes, used.reserved_peak_bytes);
        Ok(self.write(Stage::Peak, items, allocated, reserved, rounding))
    }

    fn write(
        &mut self,
        stage: Stage,
        mut items: Vec<LedgerItem>,
        allocated_bytes: u64,
        reserved_bytes: u64,
        rounding_bytes: u64,
    ) -> f64 {
        let by_allocator = [
            ("workspace", self.workspace_bytes, "allocated before the model: workspaces of cuBLAS"),
            ("rounding", rounding_bytes, "allocated − requested"),
        ];
        for (id, bytes, recipe) in by_allocator.into_iter().filter(|(_, bytes, _)| *bytes > 0) {
            items.push(item(id, bytes, Basis::Allocator, recipe.into()));
        }
        let device = &self.ctx.hello().device;
        // The driver's counts, on a GPU alone. It answers only a process that has a context, so that the reading of the
        // hello, which stands for "before", holds this worker's bare context too; the ledger's context is what came
        // later: kernels that were loaded, handles of libraries.
        let total = device.total_memory_bytes.filter(|_| self.ctx.device().is_cuda());
        let used = |free: Option<u64>| total.zip(free).map(|(total, free)| total.saturating_sub(free));
        let ledger = Ledger {
            series: self.series.clone(),
            stage: stage.id(),
            title: stage.title(),
            items,
            allocated_bytes,
            reserved_bytes,
            device_used_bytes: used(free_bytes(self.ctx.device())),
            device_before_bytes: used(device.free_memory_bytes),
            mono_ns: mono_ns(),
        };
        let share = ledger.named_share();
        self.lowest_share = self.lowest_share.min(share);
        self.ctx.emit(&Event::Ledger(ledger));
        share
    }
}

/// Name of the curves and ledgers of one batch.
pub(super) fn series(batch: u64) -> String {
    format!("batch {batch}")
}

/// Items by closed form.
pub(super) fn by_formula(parts: &[Part]) -> Vec<LedgerItem> {
    parts
        .iter()
        .map(|part| item(part.id, part.bytes, Basis::ClosedForm, format!("{} B", part.formula)))
        .collect()
}

/// Tensors that the lab holds, counted; none where there are none.
pub(super) fn counted(id: &'static str, tensors: &[Tensor]) -> Option<LedgerItem> {
    let bytes: u64 = tensors.iter().map(bytes_of).sum();
    let kind = tensors.first().map(|t| kind_name(t.kind()))?;
    let elements: usize = tensors.iter().map(Tensor::numel).sum();
    Some(item(id, bytes, Basis::Counted, format!("{} tensors, {elements} × {kind}", tensors.len())))
}

fn bytes_of(tensor: &Tensor) -> u64 {
    tensor.numel() as u64 * tensor.kind().elt_size_in_bytes() as u64
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Float => "fp32",
        Kind::BFloat16 => "bf16",
        Kind::Int64 => "int64",
        _ => "other",
    }
}

fn item(id: &str, bytes: u64, basis: Basis, recipe: String) -> LedgerItem {
    LedgerItem { id: id.into(), name: name(id), bytes, basis, recipe }
}

/// Name of a line, for people.
fn name(id: &str) -> Text {
    let (en, zh) = match id {
        "weights" => ("weights", "权重"),
        "master" => ("fp32 master weights", "fp32 主权重"),
        "weight_copies" => ("bf16 copies of weights", "权重的 bf16 副本"),
        "gradients" => ("gradients", "梯度"),
        "adam_m" => ("Adam m", "Adam 一阶矩 m"),
        "adam_v" => ("Adam v", "Adam 二阶矩 v"),
        "inputs" => ("tokens and targets", "输入 token 与目标"),
        "activations.residual" => ("residual stream", "残差流"),
        "activations.layernorm" => ("LayerNorm outputs", "LayerNorm 输出"),
        "activations.qkv" => ("Q, K, V", "Q、K、V"),
        "activations.attention" => ("attention output", "注意力输出"),
        "activations.mlp" => ("MLP before GELU", "MLP（GELU 前）"),
        "activations.gelu" => ("MLP after GELU", "MLP（GELU 后）"),
        "logits" => ("logits", "logits"),
        "log_probs" => ("log-probabilities", "对数概率"),
        "logit_gradients" => ("gradients of logits", "logits 的梯度"),
        "embedding_gradient" => ("embedding's extra gradients", "词嵌入多出的梯度"),
        "hidden_gradient" => ("gradient of the hidden state", "隐状态的梯度"),
        "wide_gradient" => ("one gradient in fp32", "一份 fp32 梯度"),
        "workspace" => ("library workspace", "库工作区"),
        "rounding" => ("allocator's rounding", "分配器取整"),
        other => (other, other),
    };
    Text::new(en, zh)
}
