//! Element types that labs compute in.

/// A number format of tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dtype {
    /// bfloat16, 2 bytes.
    Bf16,
    /// IEEE half, 2 bytes.
    Fp16,
    /// IEEE single, 4 bytes.
    Fp32,
}

impl Dtype {
    /// Bytes per element.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Bf16 | Self::Fp16 => 2,
            Self::Fp32 => 4,
        }
    }

    /// The word in `lab.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bf16 => "bf16",
            Self::Fp16 => "fp16",
            Self::Fp32 => "fp32",
        }
    }

    /// LibTorch's name for it.
    #[cfg(feature = "torch")]
    pub fn kind(self) -> tch::Kind {
        match self {
            Self::Bf16 => tch::Kind::BFloat16,
            Self::Fp16 => tch::Kind::Half,
            Self::Fp32 => tch::Kind::Float,
        }
    }
}
