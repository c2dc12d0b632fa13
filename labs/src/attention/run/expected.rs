//! Closed forms along the sweep: the peaks to draw, and the bytes to decide by.

use super::{Config, Mode, Series};
use crate::attention::forms::naive_score_copies;
use crate::formulas::attention::{
    FUSED_CPU_THREAD_BYTES, forward_input_bytes, fused_extra_bound_bytes, fused_floor_extra_bytes,
    fused_forward_extra_bound_bytes, fused_forward_floor_extra_bytes, input_bytes, math_extra_bound_bytes,
    naive_forward_peak_extra_bytes, naive_forward_score_copies, naive_peak_extra_bytes_with,
};
use crate::formulas::mib;
use crate::protocol::{DeviceKind, Expected, Hello};
use crate::torch::Context;
use crate::torch::sdpa::Backend;

/// Reports the closed forms of the peaks of a point, also where the wall keeps them from being measured.
pub(super) fn emit(ctx: &Context, config: &Config, series: Series, n: u64) {
    let say = |metric: &str, (bytes, formula): (f64, String)| {
        ctx.expected(Expected {
            metric: metric.into(),
            series: series.name().into(),
            x: n as f64,
            value: mib(bytes),
            unit: "MiB".into(),
            formula,
        });
    };
    if series == Series::Sdpa(Backend::Math) {
        return;
    }
    say("forward_peak_extra_mib", forward(config, series, n));
    if config.mode == Mode::Both {
        say("peak_extra_mib", forward_backward(ctx, config, series, n));
    }
}

fn forward(config: &Config, series: Series, n: u64) -> (f64, String) {
    let (shape, bytes, causal) = (config.at(n), config.dtype.bytes() as f64, config.causal);
    if series == Series::Naive {
        let copies = naive_forward_score_copies(causal);
        let formula = format!("max({copies}·b·h·n²·{bytes}, 2·b·h·n²·{bytes} + b·h·n·d·{bytes}) B");
        return (naive_forward_peak_extra_bytes(shape, bytes, causal), formula);
    }
    let rows = series == Series::Sdpa(Backend::Flash);
    let log_sum_exp = if rows { " + 4·b·h·n" } else { "" };
    let formula = format!("b·h·n·d·{bytes}{log_sum_exp} B (floor)");
    (fused_forward_floor_extra_bytes(shape, bytes, rows), formula)
}

fn forward_backward(ctx: &Context, config: &Config, series: Series, n: u64) -> (f64, String) {
    let (shape, bytes) = (config.at(n), config.dtype.bytes() as f64);
    if series == Series::Naive {
        let copies = score_copies(ctx);
        let formula = format!("{copies}·b·h·n²·{bytes} + 2·b·h·n·d·{bytes} B");
        return (naive_peak_extra_bytes_with(copies, shape, bytes), formula);
    }
    (fused_floor_extra_bytes(shape, bytes), format!("4·b·h·n·d·{bytes} + 4·b·h·n B (floor)"))
}

/// Bytes that a point needs in all, inputs included; for `scaled_dot_product_attention` a bound.
pub(super) fn needed_bytes(ctx: &Context, config: &Config, series: Series, n: u64) -> f64 {
    let (shape, bytes) = (config.at(n), config.dtype.bytes() as f64);
    let mask = series == Series::Naive && config.causal;
    if config.mode == Mode::Forward {
        let extra = match series {
            Series::Naive => naive_forward_peak_extra_bytes(shape, bytes, config.causal),
            Series::Sdpa(Backend::Math) => math_extra_bound_bytes(shape, bytes),
            Series::Sdpa(_) => fused_forward_extra_bound_bytes(shape, bytes) + thread_bytes(ctx),
        };
        return extra + forward_input_bytes(shape, bytes, mask);
    }
    let extra = match series {
        Series::Naive => naive_peak_extra_bytes_with(score_copies(ctx), shape, bytes),
        Series::Sdpa(Backend::Math) => math_extra_bound_bytes(shape, bytes),
        Series::Sdpa(_) => fused_extra_bound_bytes(shape, bytes) + thread_bytes(ctx),
    };
    extra + input_bytes(shape, bytes, mask)
}

fn thread_bytes(ctx: &Context) -> f64 {
    let Hello { device, cpu_threads, .. } = ctx.hello();
    match device.kind {
        DeviceKind::Cuda => 0.0,
        DeviceKind::Cpu => f64::from(*cpu_threads) * FUSED_CPU_THREAD_BYTES,
    }
}

fn score_copies(ctx: &Context) -> f64 {
    naive_score_copies(ctx.hello().device.kind)
}
