//! What a sampled reading shows, and what keeps a device waiting.

use std::f64::consts::PI;

/// Share of a wave's amplitude that is left when each reading is a mean over `window`: `|sin(πW/P) / (πW/P)|`.
///
/// Source: the frequency response of a moving average.
pub fn amplitude_left(period: f64, window: f64) -> f64 {
    let x = PI * window / period;
    if x == 0.0 { 1.0 } else { (x.sin() / x).abs() }
}

/// Whether a sampling period is too long for a wave: `Δ > P/2` (Nyquist).
pub fn aliases(period: f64, sampling: f64) -> bool {
    sampling > period / 2.0
}

/// Period (s) of the wave that samples every `sampling` seconds show: `1 / |1/P − k/Δ|`, `k` the nearest whole number of
/// periods; none when the samples stand still (Δ a multiple of P).
///
/// Source: the sampling theorem.
pub fn apparent_period(period: f64, sampling: f64) -> Option<f64> {
    let ratio = sampling / period;
    let off = (ratio - ratio.round()).abs();
    (off > 1e-9 * ratio.max(1.0)).then(|| sampling / off)
}

/// Share of time a device computes when loading and computing take turns: `t_gpu / (t_load + t_gpu)`.
pub fn utilisation_serial(compute: f64, load: f64) -> f64 {
    compute / (load + compute)
}

/// As [`utilisation_serial`] with the next batch loaded meanwhile: `t_gpu / max(t_load, t_gpu)`.
pub fn utilisation_prefetched(compute: f64, load: f64) -> f64 {
    compute / load.max(compute)
}

/// Tiles of an `m×n` output: `⌈m/tile⌉ · ⌈n/tile⌉`.
pub fn tiles(m: f64, n: f64, tile: f64) -> f64 {
    (m / tile).ceil() * (n / tile).ceil()
}

/// Waves that tiles take on `sms` multiprocessors: `⌈tiles/SMs⌉`.
pub fn waves(tiles: f64, sms: f64) -> f64 {
    (tiles / sms).ceil()
}

/// Share of the waves' slots that work: `tiles / (SMs · ⌈tiles/SMs⌉)`. The real tile size is the library's choice.
///
/// Source: NVIDIA, Matrix Multiplication Background User's Guide.
pub fn wave_efficiency(tiles: f64, sms: f64) -> f64 {
    tiles / (sms * waves(tiles, sms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averaging_flattens_and_sampling_slows() {
        for (window, left) in [(0.0, 1.0), (0.25, 0.90), (0.5, 0.637), (0.9, 0.109), (1.0, 0.0)] {
            assert!((amplitude_left(1.0, window) - left).abs() < 0.001, "{window}");
        }
        assert!(aliases(1.0, 0.9) && !aliases(1.0, 0.4));
        assert!((apparent_period(1.0, 0.9).expect("a beat") - 9.0).abs() < 1e-9);
        assert_eq!(apparent_period(1.0, 15.0), None);
        assert!((apparent_period(1.0, 0.25).expect("itself") - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_last_wave_is_rarely_full() {
        for (side, efficiency) in [(4096.0, 0.970), (1536.0, 0.545), (1408.0, 0.917)] {
            assert!((wave_efficiency(tiles(side, side, 128.0), 132.0) - efficiency).abs() < 0.001);
        }
    }
}
