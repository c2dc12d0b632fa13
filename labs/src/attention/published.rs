//! Published rates of attention kernels, to draw beside the measured ones.
//!
//! The charts of the FlashAttention repository print a number on every bar: 16k tokens in all, heads · head dimension
//! = 2048, FLOP counted as in [`crate::formulas::attention::forward_flop`].

use super::{Config, Mode};
use crate::dtype::Dtype;
use crate::spec::{Params, Reference};

/// Lengths of the charts.
const LENGTHS: [f64; 6] = [512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0];

/// One kernel of one chart; fewer rates than [`LENGTHS`] where it ran out of memory.
struct Bars {
    kernel: &'static str,
    head_dim: u64,
    causal: bool,
    tflops: &'static [f64],
}

const fn bars(kernel: &'static str, head_dim: u64, causal: bool, tflops: &'static [f64]) -> Bars {
    Bars { kernel, head_dim, causal, tflops }
}

/// `flash2_h100_fwd_bwd_benchmark.png`: forward and backward, fp16 or bf16.
const FORWARD_BACKWARD: [Bars; 8] = [
    bars("PyTorch eager", 64, false, &[62.0, 72.0, 81.0, 86.0, 87.0]),
    bars("FlashAttention-2", 64, false, &[215.0, 254.0, 274.0, 288.0, 294.0, 296.0]),
    bars("PyTorch eager", 128, false, &[93.0, 120.0, 145.0, 160.0, 167.0]),
    bars("FlashAttention-2", 128, false, &[248.0, 294.0, 320.0, 326.0, 335.0, 338.0]),
    bars("PyTorch eager", 64, true, &[26.0, 29.0, 31.0, 32.0, 32.0]),
    bars("FlashAttention-2", 64, true, &[141.0, 192.0, 232.0, 257.0, 273.0, 284.0]),
    bars("PyTorch eager", 128, true, &[40.0, 50.0, 57.0, 61.0, 63.0]),
    bars("FlashAttention-2", 128, true, &[163.0, 221.0, 265.0, 294.0, 308.0, 328.0]),
];

/// `flash3_fp16_fwd.png`: forward, fp16.
const FORWARD: [Bars; 22] = [
    bars("Standard attention", 64, false, &[52.0, 63.0, 67.0, 72.0, 73.0]),
    bars("FlashAttention-2", 64, false, &[282.0, 306.0, 318.0, 321.0, 322.0, 324.0]),
    bars("cuDNN", 64, false, &[335.0, 373.0, 395.0, 408.0, 412.0, 413.0]),
    bars("FlashAttention-3", 64, false, &[333.0, 392.0, 460.0, 476.0, 496.0, 497.0]),
    bars("Standard attention", 64, true, &[16.0, 18.0, 18.0, 18.0, 18.0]),
    bars("FlashAttention-2", 64, true, &[180.0, 229.0, 262.0, 284.0, 295.0, 299.0]),
    bars("cuDNN", 64, true, &[225.0, 288.0, 334.0, 363.0, 379.0, 388.0]),
    bars("FlashAttention-3", 64, true, &[197.0, 265.0, 371.0, 420.0, 460.0, 473.0]),
    bars("Standard attention", 128, false, &[74.0, 100.0, 119.0, 133.0, 139.0]),
    bars("FlashAttention-2", 128, false, &[309.0, 350.0, 362.0, 368.0, 370.0, 370.0]),
    bars("cuDNN", 128, false, &[497.0, 574.0, 617.0, 609.0, 600.0, 595.0]),
    bars("FlashAttention-3", 128, false, &[467.0, 565.0, 625.0, 638.0, 646.0, 648.0]),
    bars("Standard attention", 128, true, &[26.0, 31.0, 34.0, 35.0, 35.0]),
    bars("FlashAttention-2", 128, true, &[191.0, 260.0, 298.0, 319.0, 333.0, 335.0]),
    bars("cuDNN", 128, true, &[315.0, 410.0, 484.0, 518.0, 529.0, 539.0]),
    bars("FlashAttention-3", 128, true, &[292.0, 423.0, 521.0, 579.0, 602.0, 616.0]),
    bars("FlashAttention-2", 256, false, &[275.0, 313.0, 321.0, 323.0, 324.0, 326.0]),
    bars("cuDNN", 256, false, &[470.0, 546.0, 580.0, 581.0, 580.0, 581.0]),
    // The second bar's label is under the legend; its height was measured.
    bars("FlashAttention-3", 256, false, &[482.0, 625.0, 707.0, 736.0, 746.0, 756.0]),
    bars("FlashAttention-2", 256, true, &[208.0, 251.0, 278.0, 293.0, 297.0, 298.0]),
    bars("cuDNN", 256, true, &[308.0, 391.0, 450.0, 483.0, 497.0, 509.0]),
    bars("FlashAttention-3", 256, true, &[286.0, 427.0, 537.0, 612.0, 628.0, 642.0]),
];

/// One length that a thread reports for three kernels: batch 1, 24 heads, head dimension 128, no mask, forward.
const DISPATCH_N: f64 = 4608.0;
const DISPATCH: [(&str, f64); 3] =
    [("PyTorch 2.6 flash", 329.483), ("cuDNN 9.1", 631.338), ("FlashAttention-3", 631.827)];

/// Published curves for the head dimension and the mask of these parameters, for the passes that the mode runs. They
/// are of half precision: none for fp32.
pub(super) fn references(params: &Params) -> Vec<Reference> {
    let Ok(config) = Config::new(params) else { return Vec::new() };
    if config.dtype == Dtype::Fp32 || config.mode == Mode::Steps {
        return Vec::new();
    }
    let mut references = Vec::new();
    if config.mode == Mode::Both {
        let file = "flash2_h100_fwd_bwd_benchmark.png";
        references.extend(chart(&config, &FORWARD_BACKWARD, "forward_backward_tflops", file));
    }
    references.extend(chart(&config, &FORWARD, "forward_tflops", "flash3_fp16_fwd.png"));
    if config.shape.d == 128 && !config.causal {
        references.extend(DISPATCH.iter().map(|(kernel, tflops)| Reference {
            metric: "forward_tflops".into(),
            name: format!("{kernel} on H100, batch 1, 24 heads"),
            source: "https://github.com/pytorch/pytorch/issues/142132, printed by the reporter".into(),
            points: vec![(DISPATCH_N, *tflops)],
        }));
    }
    references
}

/// The curves of one chart that fit.
fn chart(config: &Config, bars: &[Bars], metric: &str, file: &str) -> Vec<Reference> {
    let fits = |b: &&Bars| b.head_dim == config.shape.d && b.causal == config.causal;
    bars.iter()
        .filter(fits)
        .map(|b| Reference {
            metric: metric.into(),
            name: format!("{} on H100 80GB SXM5", b.kernel),
            source: format!(
                "https://github.com/Dao-AILab/flash-attention/blob/0251105/assets/{file}, read from the chart, ±2 %"
            ),
            points: LENGTHS.into_iter().zip(b.tflops.iter().copied()).collect(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Size, find_lab};

    fn published(set: &[(&str, &str)]) -> Vec<Reference> {
        let lab = find_lab("attention").expect("lab");
        let set: Vec<_> = set.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        lab.references(&lab.params_for(Size::Full, &set).expect("in range"))
    }

    fn of<'a>(references: &'a [Reference], metric: &str, kernel: &str) -> &'a Reference {
        let found = references.iter().find(|r| r.metric == metric && r.name.starts_with(kernel));
        found.unwrap_or_else(|| panic!("{metric} {kernel}"))
    }

    #[test]
    fn curves_are_those_of_the_head_dimension_and_the_mask() {
        let causal = published(&[]);
        let flash = of(&causal, "forward_backward_tflops", "FlashAttention-2");
        assert_eq!((flash.points[0], flash.points[5]), ((512.0, 163.0), (16384.0, 328.0)));
        assert!(flash.name.contains("H100") && flash.source.contains("±2 %"));
        let full = published(&[("causal", "no"), ("head_dim", "64")]);
        assert_eq!(of(&full, "forward_tflops", "FlashAttention-3").points.last(), Some(&(16384.0, 497.0)));
        // Out of memory at 16k.
        assert_eq!(of(&causal, "forward_backward_tflops", "PyTorch").points.last(), Some(&(8192.0, 63.0)));
    }

    #[test]
    fn nothing_is_drawn_beside_what_it_does_not_compare_with() {
        assert!(published(&[("dtype", "fp32")]).is_empty());
        assert!(published(&[("mode", "steps")]).is_empty());
        assert!(published(&[("head_dim", "96")]).is_empty());
        let forward = published(&[("mode", "forward")]);
        assert_eq!(forward.len(), 4);
        assert!(forward.iter().all(|r| r.metric == "forward_tflops"));
    }

    #[test]
    fn one_length_of_three_kernels_goes_with_no_mask() {
        let full = published(&[("causal", "no"), ("mode", "forward")]);
        assert_eq!(of(&full, "forward_tflops", "PyTorch 2.6").points, [(4608.0, 329.483)]);
        assert!(published(&[]).iter().all(|r| r.points.len() > 1));
    }

    #[test]
    fn every_kernel_of_a_chart_has_a_full_row_or_ran_out_of_memory() {
        for bars in FORWARD.iter().chain(&FORWARD_BACKWARD) {
            let fused = !["PyTorch eager", "Standard attention"].contains(&bars.kernel);
            assert_eq!(bars.tflops.len(), if fused { 6 } else { 5 }, "{} {}", bars.kernel, bars.head_dim);
        }
    }
}
