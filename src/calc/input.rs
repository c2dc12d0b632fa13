//! What a calculator asks for.

use super::tables::{GpuField, ModelField};
use super::{Text, text};

/// What kind of quantity a number is. Its base unit is what formulas take and what JSON shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dim {
    /// A whole count: layers, tokens, ranks.
    Whole,
    /// A number without dimension.
    Plain,
    /// A share, 0.92 or 92%.
    Share,
    /// Memory (B).
    Bytes,
    /// Bytes of one element, also by the name of its type.
    Element,
    /// Bytes a token.
    BytesPerToken,
    /// Bandwidth (B/s).
    Bandwidth,
    /// Time (s).
    Time,
    /// Operations (FLOP).
    Flop,
    /// Operations a second (FLOP/s).
    FlopRate,
    /// Clock (Hz).
    Clock,
}

impl Dim {
    /// Base unit.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Whole | Self::Plain | Self::Share => "",
            Self::Bytes | Self::Element => "B",
            Self::BytesPerToken => "B/token",
            Self::Bandwidth => "B/s",
            Self::Time => "s",
            Self::Flop => "FLOP",
            Self::FlopRate => "FLOP/s",
            Self::Clock => "Hz",
        }
    }

    /// What may be typed.
    pub fn accepted(self) -> Text {
        match self {
            Self::Whole => text(
                "a whole number: 32, 8192, 8k (8000), 8Ki (8192), 7B",
                "整数：32、8192、8k（8000）、8Ki（8192）、7B",
            ),
            Self::Plain => text("a number: 3.12, 1e6", "数字：3.12、1e6"),
            Self::Share => text("a share: 0.92 or 92%", "比例：0.92 或 92%"),
            Self::Bytes => {
                text("memory: 80GB, 80GiB, 512MiB, 1000 (B)", "容量：80GB、80GiB、512MiB、1000（B）")
            }
            Self::Element => text(
                "bytes of an element: 2, 0.5, or fp32, bf16, fp16, fp8, int8, int4",
                "每个元素的字节数：2、0.5，或 fp32、bf16、fp16、fp8、int8、int4",
            ),
            Self::BytesPerToken => {
                text("bytes a token: 131072, 128KiB, 100kB", "每 token 字节数：131072、128KiB、100kB")
            }
            Self::Bandwidth => {
                text("bandwidth: 4.8TB/s, 365GB/s, 400Gbit/s", "带宽：4.8TB/s、365GB/s、400Gbit/s")
            }
            Self::Time => text("time: 10ms, 0.3s, 5min, 3h, 54d", "时间：10ms、0.3s、5min、3h、54d"),
            Self::Flop => text("operations: 8.75e13, 87.5TFLOP", "运算量：8.75e13、87.5TFLOP"),
            Self::FlopRate => text("operations a second: 989TFLOP/s, 989e12", "算力：989TFLOP/s、989e12"),
            Self::Clock => text("a clock: 1830MHz, 1.83GHz", "时钟频率：1830MHz、1.83GHz"),
        }
    }
}

/// What an input accepts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A number within bounds.
    Number {
        /// Of what.
        dim: Dim,
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A model of the table, or `none`.
    Model,
    /// A GPU of the table, or `none`.
    Gpu,
}

/// Where a value comes from that is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fill {
    /// The model.
    Model(ModelField),
    /// The GPU.
    Gpu(GpuField),
}

/// One input.
#[derive(Debug, Clone, Copy)]
pub struct Input {
    /// Name on the command line and in the formula.
    pub name: &'static str,
    /// What it accepts.
    pub kind: Kind,
    /// Unit of a count, for people: `layer`, `token`.
    pub unit: &'static str,
    /// What it is.
    pub help: Text,
    /// What holds when neither it nor a table says anything.
    pub default: Option<&'static str>,
    /// Whether `none` is a value.
    pub optional: bool,
    pub(crate) fill: Option<Fill>,
}

/// Larger than any input that means something, and small enough that no product of a formula overflows.
const LARGEST: f64 = 1e30;

impl Input {
    /// A number, from just above 0.
    pub(crate) const fn number(name: &'static str, dim: Dim, unit: &'static str, help: Text) -> Self {
        let min = if matches!(dim, Dim::Whole) { 1.0 } else { 0.0 };
        let max = match dim {
            Dim::Share => 1.0,
            Dim::Element => 16.0,
            Dim::Whole => 1e18,
            _ => LARGEST,
        };
        let kind = Kind::Number { dim, min, max };
        Self { name, kind, unit, help, default: None, optional: false, fill: None }
    }

    /// A choice; the first is the default.
    pub(crate) const fn choice(name: &'static str, choices: &'static [&'static str], help: Text) -> Self {
        Self {
            name,
            kind: Kind::Choice(choices),
            unit: "",
            help,
            default: Some(choices[0]),
            optional: false,
            fill: None,
        }
    }

    pub(crate) const fn default(mut self, text: &'static str) -> Self {
        self.default = Some(text);
        self
    }

    /// Bounds.
    pub(crate) const fn within(mut self, low: f64, high: f64) -> Self {
        if let Kind::Number { dim, .. } = self.kind {
            self.kind = Kind::Number { dim, min: low, max: high };
        }
        self
    }

    /// Taken from the model.
    pub(crate) const fn model(mut self, field: ModelField) -> Self {
        self.fill = Some(Fill::Model(field));
        self
    }

    /// Taken from the GPU.
    pub(crate) const fn gpu(mut self, field: GpuField) -> Self {
        self.fill = Some(Fill::Gpu(field));
        self
    }

    /// `none` is a value, and the default.
    pub(crate) const fn optional(mut self) -> Self {
        self.optional = true;
        self.default = Some("none");
        self
    }

    /// Another name and help for the same thing.
    pub(crate) const fn called(mut self, name: &'static str, help: Text) -> Self {
        self.name = name;
        self.help = help;
        self
    }

    /// The words of a choice.
    pub fn choices(&self) -> Vec<&'static str> {
        match self.kind {
            Kind::Choice(choices) => choices.to_vec(),
            Kind::Model => super::MODELS.iter().map(|m| m.name.as_str()).chain(["none"]).collect(),
            Kind::Gpu => super::GPUS.iter().map(|g| g.name.as_str()).chain(["none"]).collect(),
            Kind::Number { .. } => Vec::new(),
        }
    }

    /// Unit for people: of the count, or the base unit of the dimension.
    pub fn unit(&self) -> &'static str {
        match self.kind {
            Kind::Number { dim, .. } if self.unit.is_empty() => dim.unit(),
            _ => self.unit,
        }
    }
}
