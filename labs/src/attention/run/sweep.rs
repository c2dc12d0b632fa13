//! Times and peaks of every series over the lengths, until one does not fit.

use super::{Config, Inputs, Mode, Series, expected, report};
use crate::formulas::attention::{forward_backward_flop, forward_flop};
use crate::formulas::mib;
use crate::protocol::{Quantity, Text, WallCause};
use crate::torch::memory::{PeakProbe, empty_cache};
use crate::torch::sdpa::Only;
use crate::torch::timing::{Repeats, Timing};
use crate::torch::{Context, Error};

/// What one kind of pass gave at one point.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pass {
    pub(super) timing: Timing,
    pub(super) tflops: Quantity,
    pub(super) peak_extra_bytes: f64,
}

/// What one point gave.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measured {
    pub(super) series: Series,
    pub(super) n: u64,
    pub(super) forward: Pass,
    /// `None` in a run without gradients.
    pub(super) forward_backward: Option<Pass>,
}

impl Measured {
    /// Forward and backward, where there was a backward.
    pub(super) fn both(&self) -> Option<&Pass> {
        self.forward_backward.as_ref()
    }

    /// The pass that the run is about: forward and backward where there was a backward.
    pub(super) fn judged(&self) -> &Pass {
        self.both().unwrap_or(&self.forward)
    }

    /// The passes with the length and their names in English and Chinese.
    pub(super) fn named_passes(&self) -> impl Iterator<Item = (u64, [&'static str; 2], &Pass)> {
        let n = self.n;
        let forward = std::iter::once((n, ["forward", "前向"], &self.forward));
        forward.chain(self.both().map(|pass| (n, ["forward + backward", "前向 + 反向"], pass)))
    }
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
                expected::emit(self.ctx, self.config, series, n);
                if !self.step(series, n)? {
                    break;
                }
            }
            if series == Series::Naive {
                report::naive(self.ctx, self.config, &self.results);
            }
            report::spread(self.ctx, series, &self.results);
        }
        self.ctx.progress(steps, steps, Text::new("done", "完成"));
        Ok(())
    }

    /// One point. `false`: the series ends here.
    fn step(&mut self, series: Series, n: u64) -> Result<bool, Error> {
        let needed = expected::needed_bytes(self.ctx, self.config, series, n);
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
                let metric =
                    if self.config.mode == Mode::Forward { "forward_ms" } else { "forward_backward_ms" };
                self.ctx.point(metric, series.name(), n as f64, missing, "not measured");
                report::backend_failed(self.ctx, series, n, &error);
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn measure(&self, series: Series, n: u64) -> Result<Measured, Error> {
        let (ctx, config, name) = (self.ctx, self.config, series.name());
        let (device, shape) = (ctx.device(), config.at(n));
        let explicit_mask = series == Series::Naive && config.causal;
        let inputs = Inputs::random(shape, config.dtype.kind(), device, explicit_mask, config.mode)?;
        let only = match series {
            Series::Naive => None,
            Series::Sdpa(backend) => Some(Only::new(backend)?),
        };
        if let Some(only) = &only {
            only.runs(&inputs.q, &inputs.k, &inputs.v, config.causal).map_err(Error::Torch)?;
        }
        let probe = PeakProbe::start(device)?;
        let timing = {
            let _phase = ctx.phase(format!("{name}.forward n={n}"));
            let _no_grad = tch::no_grad_guard();
            ctx.timed(self.repeats, || inputs.forward(series, config.causal).map(drop))?
        };
        let flop = forward_flop(shape, config.causal);
        let forward = self.pass("forward", series, n, (timing, flop), &probe)?;
        let forward_backward = if config.mode == Mode::Both {
            let timing = {
                let _phase = ctx.phase(format!("{name}.forward_backward n={n}"));
                ctx.timed(self.repeats, || inputs.forward_backward(series, config.causal).map(drop))?
            };
            let flop = forward_backward_flop(shape, config.causal);
            // The peak of a forward alone lies below, so the probe need not forget it.
            Some(self.pass("forward_backward", series, n, (timing, flop), &probe)?)
        } else {
            None
        };
        Ok(Measured { series, n, forward, forward_backward })
    }

    /// Reports time, rate and peak so far of a kind of pass.
    fn pass(
        &self,
        kind: &str,
        series: Series,
        n: u64,
        (timing, flop): (Timing, f64),
        probe: &PeakProbe,
    ) -> Result<Pass, Error> {
        let (ctx, name, x) = (self.ctx, series.name(), n as f64);
        let window = self.repeats.window(ctx.device());
        let tflops = timing.tflops(flop);
        let peak_extra_bytes = probe.extra_bytes()? as f64;
        ctx.point(&format!("{kind}_ms"), name, x, timing.quantity(), &window);
        ctx.point(&format!("{kind}_tflops"), name, x, tflops.clone(), &window);
        let metric = if kind == "forward" { "forward_peak_extra_mib" } else { "peak_extra_mib" };
        ctx.point(metric, name, x, Quantity::some(mib(peak_extra_bytes), "MiB"), probe.window());
        Ok(Pass { timing, tflops, peak_extra_bytes })
    }

    fn wall(&mut self, series: Series, n: u64, cause: WallCause) {
        if series == Series::Naive {
            self.results.naive_wall_n = Some(n);
        }
        let needed = expected::needed_bytes(self.ctx, self.config, series, n);
        report::wall(self.ctx, series, n, needed, self.budget_bytes, cause);
    }
}
