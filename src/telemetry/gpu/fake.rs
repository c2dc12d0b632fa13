//! A driver that answers whatever a test wants it to.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use nvml_wrapper::error::NvmlError as E;
use nvml_wrapper::struct_wrappers::device::{ProcessInfo, Utilization};

use super::{Activity, Answer, Driver, Links, MemoryUse, MigUse, Threshold};
use crate::telemetry::RemappedRows;

/// Answers everything with sound values, but for what `fail` says, and counts the questions.
#[derive(Clone)]
pub(super) struct Fake(pub(super) Rc<State>);

pub(super) struct State {
    fail: RefCell<fn(&str) -> Option<E>>,
    asked: RefCell<HashMap<&'static str, usize>>,
    samples: Cell<u32>,
    pub(super) name: RefCell<String>,
    pub(super) tensor: Cell<f64>,
    pub(super) dram: Cell<f64>,
    pub(super) memory: Cell<MemoryUse>,
    pub(super) energy: Cell<u64>,
    pub(super) instances: Cell<usize>,
    pub(super) listed: RefCell<Vec<ProcessInfo>>,
    pub(super) drawing: RefCell<Vec<ProcessInfo>>,
}

impl Fake {
    pub(super) fn new() -> Self {
        Self(Rc::new(State {
            fail: RefCell::new(|_| None),
            asked: RefCell::default(),
            samples: Cell::new(0),
            name: RefCell::new("NVIDIA H200".to_owned()),
            tensor: Cell::new(61.5),
            dram: Cell::new(100.2),
            memory: Cell::new(MemoryUse {
                used: 2 << 30,
                reserved: 1 << 29,
                free: 137 << 30,
                total: 140 << 30,
            }),
            energy: Cell::new(123_456),
            instances: Cell::new(0),
            listed: RefCell::default(),
            drawing: RefCell::default(),
        }))
    }

    pub(super) fn failing(fail: fn(&str) -> Option<E>) -> Self {
        let fake = Self::new();
        fake.fail(fail);
        fake
    }

    pub(super) fn fail(&self, fail: fn(&str) -> Option<E>) {
        *self.0.fail.borrow_mut() = fail;
    }

    pub(super) fn asked(&self, question: &str) -> usize {
        self.0.asked.borrow().get(question).copied().unwrap_or(0)
    }

    fn answer<T>(&self, question: &'static str, value: T) -> Answer<T> {
        *self.0.asked.borrow_mut().entry(question).or_default() += 1;
        let fail = *self.0.fail.borrow();
        fail(question).map_or(Ok(value), Err)
    }
}

impl Driver for Fake {
    type Sample = u32;

    fn name(&self) -> Answer<String> {
        self.answer("name", self.0.name.borrow().clone())
    }
    fn uuid(&self) -> Answer<String> {
        self.answer("uuid", "GPU-1".to_owned())
    }
    fn pci_bus_id(&self) -> Answer<String> {
        self.answer("pci_bus_id", "00000000:1B:00.0".to_owned())
    }
    fn power_limit_mw(&self) -> Answer<u32> {
        self.answer("power_limit", 700_000)
    }
    fn max_sm_clock_mhz(&self) -> Answer<u32> {
        self.answer("max_sm_clock", 1980)
    }
    fn mig_enabled(&self) -> Answer<bool> {
        let fail = *self.0.fail.borrow();
        self.answer("mig", fail("is_mig").is_some())
    }
    fn gpm_supported(&self) -> Answer<bool> {
        let fail = *self.0.fail.borrow();
        self.answer("gpm_supported", fail("has_gpm").is_none())
    }
    fn utilization(&self) -> Answer<Utilization> {
        self.answer("utilization", Utilization { gpu: 104, memory: 30 })
    }
    fn ecc_enabled(&self) -> Answer<bool> {
        self.answer("ecc_enabled", true)
    }
    fn threshold_c(&self, threshold: Threshold) -> Answer<u32> {
        self.answer(
            "threshold",
            match threshold {
                Threshold::Max => 87,
                Threshold::Slowdown => 89,
                Threshold::Shutdown => 95,
            },
        )
    }
    fn pcie_max_gen(&self) -> Answer<u32> {
        self.answer("pcie_max_gen", 5)
    }
    fn pcie_max_width(&self) -> Answer<u32> {
        self.answer("pcie_max_width", 16)
    }
    fn memory(&self) -> Answer<MemoryUse> {
        self.answer("memory", self.0.memory.get())
    }
    fn power_mw(&self) -> Answer<u32> {
        self.answer("power", 612_345)
    }
    fn sm_clock_mhz(&self) -> Answer<u32> {
        self.answer("sm_clock", 1980)
    }
    fn memory_clock_mhz(&self) -> Answer<u32> {
        self.answer("memory_clock", 3201)
    }
    fn clock_reasons(&self) -> Answer<u64> {
        self.answer("clock_reasons", 0x4)
    }
    fn temperature_c(&self) -> Answer<u32> {
        self.answer("temperature", 54)
    }
    fn energy_mj(&self) -> Answer<u64> {
        self.answer("energy", self.0.energy.get())
    }
    fn processes(&self) -> Answer<Vec<ProcessInfo>> {
        self.answer("processes", self.0.listed.borrow().clone())
    }
    fn pcie_rx_kib_s(&self) -> Answer<u32> {
        self.answer("pcie_rx", 2048)
    }
    fn pcie_tx_kib_s(&self) -> Answer<u32> {
        self.answer("pcie_tx", 512)
    }
    fn gpm_sample(&self) -> Answer<u32> {
        self.0.samples.set(self.0.samples.get() + 1);
        self.answer("gpm_sample", self.0.samples.get())
    }
    fn gpm_activity(&self, before: &u32, now: &u32) -> Answer<Activity> {
        assert!(before < now, "a sample is compared with one before it");
        self.answer("gpm_activity", ())?;
        Ok(Activity {
            sm: self.answer("sm", 97.5),
            sm_occupancy: self.answer("sm_occupancy", 45.0),
            tensor: self.answer("tensor", self.0.tensor.get()),
            fp64: self.answer("fp64", 0.0),
            fp32: self.answer("fp32", 3.5),
            fp16: self.answer("fp16", 1.5),
            dram: self.answer("dram", self.0.dram.get()),
            pcie_rx: self.answer("gpm_pcie_rx", 12.5),
            pcie_tx: self.answer("gpm_pcie_tx", 0.5),
        })
    }
    fn mps_processes(&self) -> Answer<Vec<ProcessInfo>> {
        self.answer("mps_processes", Vec::new())
    }
    fn graphics_processes(&self) -> Answer<Vec<ProcessInfo>> {
        self.answer("graphics_processes", self.0.drawing.borrow().clone())
    }
    fn p_state(&self) -> Answer<u8> {
        self.answer("p_state", 0)
    }
    fn encoder_pct(&self) -> Answer<u32> {
        self.answer("encoder", 101)
    }
    fn decoder_pct(&self) -> Answer<u32> {
        self.answer("decoder", 7)
    }
    fn ecc_corrected(&self) -> Answer<u64> {
        self.answer("ecc_corrected", 3)
    }
    fn ecc_uncorrected(&self) -> Answer<u64> {
        self.answer("ecc_uncorrected", 0)
    }
    fn remapped_rows(&self) -> Answer<RemappedRows> {
        self.answer("remapped_rows", RemappedRows { corrected: 1, ..RemappedRows::default() })
    }
    fn pcie_gen(&self) -> Answer<u32> {
        self.answer("pcie_gen", 5)
    }
    fn bar1(&self) -> Answer<(u64, u64)> {
        self.answer("bar1", (1 << 20, 256 << 30))
    }
    fn pcie_width(&self) -> Answer<u32> {
        self.answer("pcie_width", 16)
    }
    fn pcie_replays(&self) -> Answer<u32> {
        self.answer("pcie_replays", 2)
    }
    fn gpm_links(&self, before: &u32, now: &u32) -> Answer<Links> {
        assert!(before < now);
        self.answer("gpm_links", ())?;
        Ok(Links { rx: self.answer("nvlink_rx", 100.0), tx: self.answer("nvlink_tx", 200.0) })
    }
    fn mig_instances(&self) -> Answer<Vec<MigUse>> {
        let instance = |i| MigUse {
            name: self.answer("mig_name", "NVIDIA H200 MIG 1g.18gb".to_owned()),
            uuid: self.answer("mig_uuid", format!("MIG-{i}")),
            memory: self.answer("mig_memory", self.0.memory.get()),
        };
        self.answer("mig_instances", (0..self.0.instances.get()).map(instance).collect())
    }
    fn gpm_mig_sample(&self, gpu_instance: u32) -> Answer<u32> {
        self.0.samples.set(self.0.samples.get() + 1);
        let exists = (1..=self.0.instances.get() as u32).contains(&gpu_instance);
        let sample = self.answer("gpm_mig_sample", self.0.samples.get())?;
        if exists { Ok(sample) } else { Err(E::NotFound) }
    }
}
