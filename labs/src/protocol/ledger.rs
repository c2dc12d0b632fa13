//! Memory, named: where the bytes of a device are at one moment, and what explains a residual.

use serde::{Deserialize, Serialize};

use super::Text;

/// Where the bytes are at one moment of a lab. The items name bytes that the allocator has given out; what they leave
/// is shown as unexplained, never hidden. Cache and context lie outside the allocator's tensors and follow from the
/// three totals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    /// Which of several ledgers of a lab: `batch 4`, `contiguous`, ….
    pub series: String,
    /// When: `init`, `forward`, `loss`, `backward`, `step 1`, ….
    pub stage: String,
    /// The stage, for people.
    pub title: Text,
    /// Named bytes, bottom of the stack first.
    pub items: Vec<LedgerItem>,
    /// Bytes of living tensors by the allocator's count.
    pub allocated_bytes: u64,
    /// Bytes that the allocator has taken from the device; equal to `allocated_bytes` where there is no cache.
    pub reserved_bytes: u64,
    /// Bytes in use on the whole device by the driver's count; `None` where nobody counts (CPU).
    pub device_used_bytes: Option<u64>,
    /// Bytes in use on the device before this worker touched it: other processes.
    pub device_before_bytes: Option<u64>,
    /// Shared clock, ns.
    pub mono_ns: u64,
}

/// One line of a ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LedgerItem {
    /// Stable id: `weights`, `adam_m`, `activations.mlp`, ….
    pub id: String,
    /// Name for people.
    pub name: Text,
    /// Bytes.
    pub bytes: u64,
    /// How they were found.
    pub basis: Basis,
    /// The recipe or what was counted, as printed: `4·N B, N = 124 373 760`.
    pub recipe: String,
}

/// How the bytes of an item were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The tensors themselves were counted.
    Counted,
    /// A closed form.
    ClosedForm,
    /// The difference of two readings of the allocator.
    Allocator,
}

impl Ledger {
    /// Bytes that the items name.
    pub fn named_bytes(&self) -> u64 {
        self.items.iter().map(|i| i.bytes).sum()
    }

    /// Allocated minus named: negative when the items claim more than there is.
    pub fn unexplained_bytes(&self) -> i64 {
        self.allocated_bytes as i64 - self.named_bytes() as i64
    }

    /// Share of the allocated bytes that the items name; what they claim beyond it counts against them too.
    pub fn named_share(&self) -> f64 {
        1.0 - self.unexplained_bytes().unsigned_abs() as f64 / self.allocated_bytes.max(1) as f64
    }

    /// Bytes that the allocator keeps for later.
    pub fn cache_bytes(&self) -> u64 {
        self.reserved_bytes.saturating_sub(self.allocated_bytes)
    }

    /// Bytes that this process holds on the device outside the allocator: driver context, loaded kernels, libraries.
    pub fn context_bytes(&self) -> Option<u64> {
        let (used, before) = self.device_used_bytes.zip(self.device_before_bytes)?;
        Some(used.saturating_sub(before).saturating_sub(self.reserved_bytes))
    }
}

/// A named part of what a closed form does not explain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResidualPart {
    /// The prediction whose residual (measured − closed form) this is part of.
    pub of: String,
    /// Name for people: context, workspace, cache, rounding, ….
    pub name: Text,
    /// Signed value in the prediction's unit.
    pub value: f64,
    /// Unit of the prediction.
    pub unit: String,
    /// How it was found.
    pub basis: Basis,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(items: &[u64], allocated: u64) -> Ledger {
        let item = |bytes: &u64| LedgerItem {
            id: "x".into(),
            name: Text::default(),
            bytes: *bytes,
            basis: Basis::Counted,
            recipe: String::new(),
        };
        Ledger {
            series: "batch 4".into(),
            stage: "init".into(),
            title: Text::default(),
            items: items.iter().map(item).collect(),
            allocated_bytes: allocated,
            reserved_bytes: 300,
            device_used_bytes: Some(1000),
            device_before_bytes: Some(100),
            mono_ns: 0,
        }
    }

    #[test]
    fn a_ledger_counts_what_it_cannot_name() {
        let short = ledger(&[100, 80], 200);
        assert_eq!((short.named_bytes(), short.unexplained_bytes()), (180, 20));
        assert_eq!((short.cache_bytes(), short.context_bytes()), (100, Some(600)));
        assert!((short.named_share() - 0.9).abs() < 1e-12);
    }

    #[test]
    fn claiming_too_much_is_no_better_than_naming_too_little() {
        let over = ledger(&[220], 200);
        assert_eq!(over.unexplained_bytes(), -20);
        assert!((over.named_share() - 0.9).abs() < 1e-12);
    }
}
