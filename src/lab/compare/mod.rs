//! Two or more runs of one lab side by side: what differed around them first, then what they measured.

mod values;

use serde::Serialize;
use thiserror::Error;

use super::PastRun;
use crate::lang::Lang;

pub use values::{Against, Series, Values};

/// Runs that cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CompareError {
    /// One run, or none.
    #[error("a comparison needs two runs; `infralab run list` shows what there is")]
    TooFew,
    /// A run beside itself says nothing.
    #[error("run `{0}` is named twice; name another run of its lab")]
    Twice(String),
    /// Runs of two labs measure different things.
    #[error(
        "`{first}` ran lab `{first_lab}` and `{other}` ran lab `{other_lab}`: only runs of one lab can be compared; `infralab run list --lab {first_lab}` shows the others of the first"
    )]
    DifferentLabs {
        /// Id of the first run.
        first: String,
        /// Its lab.
        first_lab: String,
        /// Id of the run that does not fit.
        other: String,
        /// Its lab.
        other_lab: String,
    },
}

impl CompareError {
    /// The refusal in `lang`, short enough for one line of a screen.
    pub fn told(&self, lang: Lang) -> String {
        let (en, zh) = match self {
            Self::TooFew => ("choose two runs or more".to_owned(), "至少选两次运行".to_owned()),
            Self::Twice(run) => (format!("{run} is there twice"), format!("{run} 重复了")),
            Self::DifferentLabs { first_lab, other_lab, .. } => (
                format!("only runs of one lab can be compared, not {first_lab} with {other_lab}"),
                format!("只能对比同一个实验的运行，{first_lab} 与 {other_lab} 不能对比"),
            ),
        };
        lang.pick(en, zh)
    }
}

/// Runs side by side. Everything is in the order of the runs; the first one is what the others are measured against.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The lab of all.
    pub lab: String,
    /// The runs.
    pub runs: Vec<Compared>,
    /// What the results depend on besides the parameters, where the runs differ.
    pub environment_differences: Vec<Difference<Aspect>>,
    /// Parameters that differ.
    pub parameter_differences: Vec<Difference<String>>,
    /// Results.
    pub summary: Vec<Values>,
    /// What was predicted, one row a question that anybody answered; the values are the predictions.
    pub predictions: Vec<Values>,
    /// Points of every chart at the x that at least two runs have.
    pub charts: Vec<ChartRows>,
}

/// One of the runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Compared {
    /// Letter that stands for it in tables: `A`, `B`, ….
    pub letter: String,
    /// Run id.
    pub run: String,
    /// Size that was asked for.
    pub size: Option<&'static str>,
    /// Device.
    pub device: Option<String>,
    /// How it ended.
    pub outcome: String,
    /// Wall clock at the start, ms since 1970.
    pub unix_ms: u64,
    /// Ships with the program.
    pub recording: bool,
}

/// Something that is not the same in all runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference<Name> {
    /// What differs.
    pub name: Name,
    /// As it was in each run; `None` where it is not known or does not exist.
    pub values: Vec<Option<String>>,
}

/// What a result depends on besides the parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    /// Device that ran it.
    Device,
    /// NVIDIA driver.
    Driver,
    /// LibTorch.
    Libtorch,
    /// cuDNN.
    Cudnn,
    /// Host CPU.
    Cpu,
    /// Threads of one operation on the CPU.
    CpuThreads,
    /// SM clock at the end, MHz.
    SmClockMhz,
    /// infralab.
    Infralab,
    /// Seed of the random inputs.
    Seed,
    /// What else the machine was doing.
    Disturbances,
}

impl Aspect {
    /// All, in the order of importance.
    pub const ALL: [Self; 10] = [
        Self::Device,
        Self::Driver,
        Self::Libtorch,
        Self::Cudnn,
        Self::Cpu,
        Self::CpuThreads,
        Self::SmClockMhz,
        Self::Infralab,
        Self::Seed,
        Self::Disturbances,
    ];

    /// Name for people.
    pub fn name(self, lang: Lang) -> &'static str {
        let (en, zh) = match self {
            Self::Device => ("device", "设备"),
            Self::Driver => ("driver", "驱动"),
            Self::Libtorch => ("LibTorch", "LibTorch"),
            Self::Cudnn => ("cuDNN", "cuDNN"),
            Self::Cpu => ("host CPU", "主机 CPU"),
            Self::CpuThreads => ("CPU threads", "CPU 线程数"),
            Self::SmClockMhz => ("SM clock at the end, MHz", "结束时 SM 时钟 (MHz)"),
            Self::Infralab => ("infralab", "infralab"),
            Self::Seed => ("seed", "随机种子"),
            Self::Disturbances => ("disturbances", "干扰"),
        };
        lang.pick(en, zh)
    }

    /// As it was in a run; `None` where it is not known or does not exist.
    pub fn of(self, run: &PastRun, lang: Lang) -> Option<String> {
        let env = &run.record.env;
        match self {
            Self::Device => run.device().map(str::to_owned),
            Self::Driver => env.driver.clone(),
            Self::Libtorch => env.libtorch.clone(),
            Self::Cudnn => env.cudnn.clone(),
            Self::Cpu => env.cpu.clone(),
            Self::CpuThreads => env.cpu_threads.map(|n| n.to_string()),
            Self::SmClockMhz => env.sm_clock_mhz.map(|n| n.to_string()),
            Self::Infralab => Some(env.infralab.clone()),
            Self::Seed => Some(env.seed.to_string()),
            Self::Disturbances => {
                let words = env.disturbances.iter().map(|t| lang.pick(&t.en, &t.zh).as_str());
                let words = words.collect::<Vec<_>>().join(lang.pick("; ", "；"));
                (!words.is_empty()).then_some(words)
            }
        }
    }
}

/// One chart's points.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChartRows {
    /// Metric id.
    pub metric: String,
    /// Name of the x axis.
    pub x_name: String,
    /// Curve by curve.
    pub series: Vec<Series>,
}

impl Comparison {
    /// Compares; sentences that runs hold in two languages are taken in `lang`.
    pub fn of(runs: &[&PastRun], lang: Lang) -> Result<Self, CompareError> {
        let [first, others @ ..] = runs else { return Err(CompareError::TooFew) };
        if others.is_empty() {
            return Err(CompareError::TooFew);
        }
        for (i, other) in others.iter().enumerate() {
            if runs[..=i].iter().any(|r| r.record.run == other.record.run) {
                return Err(CompareError::Twice(other.record.run.clone()));
            }
            if other.record.lab != first.record.lab {
                return Err(CompareError::DifferentLabs {
                    first: first.record.run.clone(),
                    first_lab: first.record.lab.clone(),
                    other: other.record.run.clone(),
                    other_lab: other.record.lab.clone(),
                });
            }
        }
        Ok(Self {
            lab: first.record.lab.clone(),
            runs: runs.iter().enumerate().map(|(i, run)| compared(i, run)).collect(),
            environment_differences: Aspect::ALL
                .into_iter()
                .filter_map(|aspect| difference(aspect, runs, |run| aspect.of(run, lang)))
                .collect(),
            parameter_differences: values::names(runs, |run| run.record.params.keys())
                .into_iter()
                .filter_map(|name| {
                    let value = |run: &PastRun| run.record.params.get(&name).map(ToString::to_string);
                    difference(name.clone(), runs, value)
                })
                .collect(),
            summary: values::summary(runs),
            predictions: values::predictions(runs),
            charts: values::charts(runs),
        })
    }

    /// Whether nothing but the time differs around the runs, so that a difference between them is spread.
    pub fn same_conditions(&self) -> bool {
        self.environment_differences.is_empty() && self.parameter_differences.is_empty()
    }
}

/// Letter of the run at a position: `A`, …, `Z`, then `27`, `28`, ….
pub fn letter(position: usize) -> String {
    match u8::try_from(position) {
        Ok(small @ 0..26) => char::from(b'A' + small).to_string(),
        _ => (position + 1).to_string(),
    }
}

fn compared(position: usize, run: &PastRun) -> Compared {
    Compared {
        letter: letter(position),
        run: run.record.run.clone(),
        size: run.size().map(infralab_labs::spec::Size::name),
        device: run.device().map(str::to_owned),
        outcome: run.record.outcome.clone(),
        unix_ms: run.record.env.unix_ms,
        recording: run.shipped,
    }
}

fn difference<Name>(
    name: Name,
    runs: &[&PastRun],
    of: impl Fn(&PastRun) -> Option<String>,
) -> Option<Difference<Name>> {
    let values: Vec<Option<String>> = runs.iter().map(|run| of(run)).collect();
    values.windows(2).any(|pair| pair[0] != pair[1]).then_some(Difference { name, values })
}

#[cfg(test)]
mod tests;
