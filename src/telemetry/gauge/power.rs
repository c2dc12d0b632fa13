//! Power, clocks and temperature.

use super::{Gauge, Group, Read, Unit, Window};

const fn clock(field: &'static str) -> Gauge {
    Gauge {
        field,
        name: ("", ""),
        group: Group::Power,
        unit: Unit::Megahertz,
        window: Window::Moment,
        read: Read::Gpu(|_| None),
        means: ("", ""),
        trap: ("", ""),
        term: "clock-throttling",
    }
}

pub(super) const GAUGES: &[Gauge] = &[
    Gauge {
        name: ("Power", "功率"),
        unit: Unit::Watts,
        window: Window::DriverSecond,
        read: Read::Gpu(|g| g.power_w),
        means: ("power of the whole board", "整卡功率"),
        trap: (
            "averaged and late: bursts shorter than a second are flattened",
            "经过平均而且滞后：不到一秒的尖峰会被抹平",
        ),
        term: "gpu-power-draw",
        ..clock("power_w")
    },
    Gauge {
        name: ("SM clock", "SM 时钟"),
        read: Read::Gpu(|g| g.sm_clock_mhz.map(f64::from)),
        means: ("clock of the SMs", "SM 的时钟频率"),
        trap: (
            "full load under the power limit lowers it: that is the normal state of a busy card",
            "满载顶到功率上限就会降：忙卡的常态，不是故障",
        ),
        ..clock("sm_clock_mhz")
    },
    Gauge {
        name: ("Mem clock", "显存时钟"),
        read: Read::Gpu(|g| g.memory_clock_mhz.map(f64::from)),
        means: ("clock of device memory", "显存的时钟频率"),
        trap: (
            "at an idle clock bandwidth is a fraction; the first milliseconds of a burst pay for it",
            "空闲时钟下带宽只有零头，突发负载的头几毫秒要为此买单",
        ),
        term: "hbm",
        ..clock("memory_clock_mhz")
    },
    Gauge {
        name: ("Temp", "温度"),
        unit: Unit::Celsius,
        read: Read::Gpu(|g| g.temperature_c.map(f64::from)),
        means: ("temperature of the GPU's die", "GPU 核心温度"),
        trap: ("memory has its own limit and is often the hotter part", "显存有自己的温度上限，而且往往更热"),
        term: "thermal-throttling",
        ..clock("temperature_c")
    },
];
