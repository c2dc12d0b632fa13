//! A driver that answers whatever a test wants it to.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use nvml_wrapper::error::NvmlError as E;
use nvml_wrapper::struct_wrappers::device::{ProcessInfo, Utilization};

use super::{Activity, Answer, Driver};

/// Answers everything with sound values, but for what `fail` says, and counts the questions.
#[derive(Clone)]
pub(super) struct Fake(pub(super) Rc<State>);

pub(super) struct State {
    fail: RefCell<fn(&str) -> Option<E>>,
    asked: RefCell<HashMap<&'static str, usize>>,
    samples: Cell<u32>,
    pub(super) tensor: Cell<f64>,
    pub(super) memory: Cell<(u64, u64)>,
    pub(super) listed: RefCell<Vec<ProcessInfo>>,
}

impl Fake {
    pub(super) fn new() -> Self {
        Self(Rc::new(State {
            fail: RefCell::new(|_| None),
            asked: RefCell::default(),
            samples: Cell::new(0),
            tensor: Cell::new(61.5),
            memory: Cell::new((2 << 30, 140 << 30)),
            listed: RefCell::default(),
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
        self.answer("name", "NVIDIA H200".to_owned())
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
    fn memory(&self) -> Answer<(u64, u64)> {
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
        self.answer("energy", 123_456)
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
        assert_eq!(before + 1, *now, "the sample before is kept");
        self.answer("gpm_activity", ())?;
        Ok(Activity {
            sm: self.answer("sm", 97.5),
            sm_occupancy: self.answer("sm_occupancy", 45.0),
            tensor: self.answer("tensor", self.0.tensor.get()),
            dram: self.answer("dram", 100.2),
            pcie_rx: self.answer("gpm_pcie_rx", 12.5),
            pcie_tx: self.answer("gpm_pcie_tx", 0.5),
        })
    }
}
