//! Times and peaks of every series over the lengths, until one does not fit.

use super::{Config, Inputs, Series, report};
use crate::attention::naive_score_copies;
use crate::formulas::attention::{
    FUSED_CPU_THREAD_BYTES, forward_backward_flop, forward_flop, fused_extra_bound_bytes,
    fused_floor_extra_bytes, input_bytes, math_extra_bound_bytes, naive_peak_extra_bytes_with,
};
use crate::formulas::mib;
use crate::protocol::{DeviceKind, Expected, Hello, Quantity, Text, WallCause};
use crate::torch::memory::{PeakProbe, empty_cache};
use crate::torch::sdpa::{Backend, Only};
use crate::torch::timing::Repeats;
use crate::torch::{Context, Error};

/// What one point gave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Measured {
    pub(super) series: Series,
    pub(super) n: u64,
    pub(super) forward_tflops: f64,
    pub(super) forward_backward_ms: f64,
    pub(super) forward_backward_tflops: f64,
    pub(super) peak_extra_bytes: f64,
}

/// What the whole sweep gave.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Results {
    pub(super) points: Vec<Measured>,
    /// First length that naive attention could not run.
    pub(super) naive_wall_n: Option<u64>,
}

impl Results {
    pub(super) fn at(&self, series: Series, n: u64) -> Option<&Measured> {
        self.points.iter().find(|p| p.series == series && p.n == n)
    }
}

/// A sweep under way.
pub(super) struct Sweep<'a> {
    ctx: &'a Context,
    config: &'a Config,
    series: Vec<Series>,
    repeats: Repeats,
    budget_bytes: u64,
    pub(super) results: Results,
}

impl<'a> Sweep<'a> {
    pub(super) fn new(ctx: &'a Context, config: &'a Config, series: Vec<Series>) -> Result<Self, Error> {
        Ok(Self {
            ctx,
            config,
            series,
            repeats: Repeats::on(ctx.device(), config.repeats),
            budget_bytes: ctx.budget_bytes(config.budget_bytes)?,
            results: Results::default(),
        })
    }

    /// Series by series, so that each is one block of phases on the device's panels.
    pub(super) fn run(&mut self, steps: u32) -> Result<(), Error> {
        let (checks, lengths) = (self.series.len(), self.config.lengths.len());
        for (i, series) in self.series.clone().into_iter().enumerate() {
            for (j, n) in self.config.lengths.clone().into_iter().enumerate() {
                self.ctx.go_on()?;
                let label = format!("{} · n = {n}", series.name());
                let done = checks + i * lengths + j;
                self.ctx.progress(done as u32, steps, Text::new(label.clone(), label));
                self.expect(series, n);
                if !self.step(series, n)? {
                    break;
                }
            }
            if series == Series::Naive {
                report::naive(self.ctx, self.config, &self.results);
            }
        }
        self.ctx.progress(steps, steps, Text::new("done", "完成"));
        Ok(())
    }

    /// One point. `false`: the series ends here.
    fn step(&mut self, series: Series, n: u64) -> Result<bool, Error> {
        let needed = self.needed_bytes(series, n);
        if needed > self.budget_bytes as f64 {
            self.wall(series, n, WallCause::Budget);
            return Ok(false);
        }
        let outcome = self.measure(series, n);
        // Nothing of a point stays on the device while the next is measured; a lost device has nothing to give back.
        if !matches!(&outcome, Err(error) if error.is_sticky()) {
            empty_cache(self.ctx.device())?;
        }
        match outcome {
            Ok(point) => {
                self.results.points.push(point);
                Ok(true)
            }
            Err(Error::OutOfMemory(_)) => {
                self.wall(series, n, WallCause::OutOfMemory);
                Ok(false)
            }
            // One backend's trouble is not the lab's.
            Err(error @ Error::Torch(_)) if series != Series::Naive && !error.is_sticky() => {
                let missing = Quantity::missing("ms", error.to_string());
                self.ctx.point("forward_backward_ms", series.name(), n as f64, missing, "not measured");
                report::backend_failed(self.ctx, series, n, &error);
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn measure(&self, series: Series, n: u64) -> Result<Measured, Error> {
        let (ctx, config, name) = (self.ctx, self.config, series.name());
        let (device, shape, x) = (ctx.device(), config.at(n), n as f64);
        let explicit_mask = series == Series::Naive && config.causal;
        let inputs = Inputs::random(shape, config.dtype.kind(), device, explicit_mask)?;
        let only = match series {
            Series::Naive => None,
            Series::Sdpa(backend) => Some(Only::new(backend)?),
        };
        if let Some(only) = &only {
            only.runs(&inputs.q, &inputs.k, &inputs.v, config.causal).map_err(Error::Torch)?;
        }
        let window = self.repeats.window(device);
        let probe = PeakProbe::start(device)?;

        let forward_ms = {
            let _phase = ctx.phase(format!("{name}.forward n={n}"));
            let _no_grad = tch::no_grad_guard();
            ctx.timed(self.repeats, || inputs.forward(series, config.causal).map(drop))?
        };
        let forward_tflops = forward_flop(shape, config.causal) / forward_ms / 1e9;
        ctx.point("forward_ms", name, x, Quantity::some(forward_ms, "ms"), &window);
        ctx.point("forward_tflops", name, x, Quantity::some(forward_tflops, "TFLOP/s"), &window);

        let forward_backward_ms = {
            let _phase = ctx.phase(format!("{name}.forward_backward n={n}"));
            ctx.timed(self.repeats, || inputs.forward_backward(series, config.causal).map(drop))?
        };
        let forward_backward_tflops = forward_backward_flop(shape, config.causal) / forward_backward_ms / 1e9;
        ctx.point("forward_backward_ms", name, x, Quantity::some(forward_backward_ms, "ms"), &window);
        let rate = Quantity::some(forward_backward_tflops, "TFLOP/s");
        ctx.point("forward_backward_tflops", name, x, rate, &window);

        let peak_extra_bytes = probe.extra_bytes()? as f64;
        let peak = Quantity::some(mib(peak_extra_bytes), "MiB");
        ctx.point("peak_extra_mib", name, x, peak, probe.window());
        Ok(Measured {
            series,
            n,
            forward_tflops,
            forward_backward_ms,
            forward_backward_tflops,
            peak_extra_bytes,
        })
    }

    /// The closed form of the peak, also where the wall keeps it from being measured.
    fn expect(&self, series: Series, n: u64) {
        let (shape, bytes, copies) = (self.config.at(n), self.config.dtype.bytes(), self.score_copies());
        let (value, formula) = match series {
            Series::Naive => (
                naive_peak_extra_bytes_with(copies, shape, bytes),
                format!("{copies}·b·h·n²·{bytes} + 2·b·h·n·d·{bytes} B"),
            ),
            Series::Sdpa(Backend::Math) => return,
            Series::Sdpa(_) => {
                (fused_floor_extra_bytes(shape, bytes), format!("4·b·h·n·d·{bytes} + 4·b·h·n B (floor)"))
            }
        };
        self.ctx.expected(Expected {
            metric: "peak_extra_mib".into(),
            series: series.name().into(),
            x: n as f64,
            value: mib(value),
            unit: "MiB".into(),
            formula,
        });
    }

    /// Bytes that a point needs in all, inputs included; for `scaled_dot_product_attention` a bound.
    fn needed_bytes(&self, series: Series, n: u64) -> f64 {
        let (shape, bytes) = (self.config.at(n), self.config.dtype.bytes());
        let extra = match series {
            Series::Naive => naive_peak_extra_bytes_with(self.score_copies(), shape, bytes),
            Series::Sdpa(Backend::Math) => math_extra_bound_bytes(shape, bytes),
            Series::Sdpa(_) => fused_extra_bound_bytes(shape, bytes) + self.fused_thread_bytes(),
        };
        extra + input_bytes(shape, bytes, series == Series::Naive && self.config.causal)
    }

    fn fused_thread_bytes(&self) -> f64 {
        let Hello { device, cpu_threads, .. } = self.ctx.hello();
        match device.kind {
            DeviceKind::Cuda => 0.0,
            DeviceKind::Cpu => f64::from(*cpu_threads) * FUSED_CPU_THREAD_BYTES,
        }
    }

    fn score_copies(&self) -> f64 {
        naive_score_copies(self.ctx.hello().device.kind)
    }

    fn wall(&mut self, series: Series, n: u64, cause: WallCause) {
        if series == Series::Naive {
            self.results.naive_wall_n = Some(n);
        }
        report::wall(self.ctx, series, n, self.needed_bytes(series, n), self.budget_bytes, cause);
    }
}
