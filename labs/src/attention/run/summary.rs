//! The named results of a sweep, and what of a residual is known.

use std::collections::BTreeMap;

use super::sweep::{Measured, Pass, Results};
use super::{Config, Mode, Series, report};
use crate::formulas::attention::{growth_exponent, naive_block_rounding_bytes};
use crate::formulas::mib;
use crate::protocol::{Basis, DeviceKind, Event, Quantity, ResidualPart, Text};
use crate::torch::Context;
use crate::torch::sdpa::Backend;

/// The comparison in words, the named results, and the known part of the naive residual.
pub(super) fn conclude(ctx: &Context, config: &Config, results: &Results) {
    let n = config.compare_n;
    let (naive, half) = (results.at(Series::Naive, n), results.at(Series::Naive, n / 2));
    let fused = fastest_fused(results, n);
    if let (Some(naive), Some(fused)) = (naive, fused) {
        report::compare(ctx, config, naive, fused);
    }
    let stopped = ctx.stopped();
    let absent = |series: &str, n: u64| {
        let reason = if stopped { "the run was stopped before" } else { "not measured:" };
        format!("{reason} {series} at n = {n}")
    };
    // What needs a backward and has none says so first.
    let of_backward = |quantity: Quantity| match config.mode.lacks_backward() {
        Some(why) => Quantity::missing(&quantity.unit, why),
        None => quantity,
    };
    let peak = |pass: Option<&Pass>| {
        pass.map_or_else(
            || Quantity::missing("MiB", absent("naive", n)),
            |pass| Quantity::some(mib(pass.peak_extra_bytes), "MiB"),
        )
    };
    let growth_lacks = absent("naive", if naive.is_some() { n / 2 } else { n });
    let speedup_lacks = absent(if naive.is_some() { "a fused backend" } else { "naive" }, n);
    let naive_exponent = exponent(results, Series::Naive);
    let fused_series = fused.map(|p| p.series).or_else(|| first_fused(results));
    let fused_exponent = fused_series.and_then(|series| Some((series, exponent(results, series)?)));
    if let Some(naive) = naive_exponent {
        report::growth(ctx, naive, fused_exponent);
    }
    let mut values = BTreeMap::from([
        ("naive_peak_extra_mib".to_owned(), of_backward(peak(naive.and_then(Measured::both)))),
        ("naive_growth".to_owned(), of_backward(ratio(naive, half, growth_lacks))),
        ("fused_speedup".to_owned(), of_backward(ratio(naive, fused, speedup_lacks))),
        ("naive_forward_mib".to_owned(), peak(naive.map(|p| &p.forward))),
        ("naive_memory_exponent".to_owned(), power(naive_exponent, "naive")),
        ("fused_memory_exponent".to_owned(), power(fused_exponent.map(|(_, e)| e), "a fused backend")),
        ("best_forward_tflops".to_owned(), best(results, |p| Some(&p.forward))),
        ("best_forward_backward_tflops".to_owned(), of_backward(best(results, Measured::both))),
    ]);
    if let Some(n) = results.naive_wall_n {
        values.insert("naive_wall_n".to_owned(), Quantity::some(n as f64, "tokens"));
    }
    ctx.emit(&Event::Summary { values });
    if naive.is_some() {
        residual(ctx, config);
    }
}

/// Time of `a` over time of `b`, forward and backward, with the bounds that the repetitions leave.
fn ratio(a: Option<&Measured>, b: Option<&Measured>, absent: String) -> Quantity {
    let Some((a, b)) = a.and_then(Measured::both).zip(b.and_then(Measured::both)) else {
        return Quantity::missing("x", absent);
    };
    let ranges = a.timing.quantity().range.zip(b.timing.quantity().range);
    Quantity {
        range: ranges.map(|(a, b)| [a[0] / b[1], a[1] / b[0]]),
        ..Quantity::some(a.timing.median_ms() / b.timing.median_ms(), "x")
    }
}

/// The highest rate of any point.
fn best(results: &Results, pass: impl Fn(&Measured) -> Option<&Pass>) -> Quantity {
    let rates = results.points.iter().filter_map(|p| pass(p).map(|pass| pass.tflops.clone()));
    rates
        .max_by(|a, b| a.value.partial_cmp(&b.value).unwrap_or(std::cmp::Ordering::Equal))
        .unwrap_or_else(|| Quantity::missing("TFLOP/s", "nothing was measured"))
}

/// Exponent of the extra memory over the last two lengths of a series.
fn exponent(results: &Results, series: Series) -> Option<f64> {
    let of_series = results.points.iter().filter(|p| p.series == series);
    let points: Vec<_> = of_series.map(|p| (p.n as f64, p.judged().peak_extra_bytes)).collect();
    let [.., shorter, longer] = points[..] else { return None };
    Some(growth_exponent(shorter, longer)).filter(|exponent| exponent.is_finite())
}

fn power(exponent: Option<f64>, series: &str) -> Quantity {
    exponent.map_or_else(
        || Quantity::missing("", format!("{series} has no two lengths to compare")),
        |exponent| Quantity::some(exponent, ""),
    )
}

/// The quickest fused backend at `n`; `math` is not fused.
fn fastest_fused(results: &Results, n: u64) -> Option<&Measured> {
    let ms = |p: &&Measured| p.judged().timing.median_ms();
    results.points.iter().filter(|p| p.n == n && is_fused(p.series)).min_by(|a, b| ms(a).total_cmp(&ms(b)))
}

fn first_fused(results: &Results) -> Option<Series> {
    results.points.iter().map(|p| p.series).find(|series| is_fused(*series))
}

fn is_fused(series: Series) -> bool {
    !matches!(series, Series::Naive | Series::Sdpa(Backend::Math))
}

/// Names the part of the naive residual that follows from the allocator's block size. The rest stays unexplained.
fn residual(ctx: &Context, config: &Config) {
    if config.mode != Mode::Both || ctx.hello().device.kind != DeviceKind::Cuda {
        return;
    }
    let rounding = naive_block_rounding_bytes(config.at(config.compare_n), config.dtype.bytes() as f64);
    if rounding > 0.0 {
        ctx.emit(&Event::Residual(ResidualPart {
            of: "naive_peak_extra_mib".into(),
            name: Text::new("blocks rounded up to 512 B", "分配块向上取整到 512 B"),
            value: mib(rounding),
            unit: "MiB".into(),
            basis: Basis::ClosedForm,
        }));
    }
}
