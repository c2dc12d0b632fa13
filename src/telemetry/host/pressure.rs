//! Pressure stall information (PSI): the share of time in which tasks waited for something.

use super::kernel_file::{KernelFile, Root};

/// Reads one of the kernel's pressure files.
#[derive(Debug)]
pub(super) struct Pressure(KernelFile);

impl Pressure {
    /// Of `cpu`, `memory` or `io`.
    pub(super) fn new(root: &Root, resource: &str) -> Self {
        Self(root.file(&format!("/proc/pressure/{resource}")))
    }

    /// Share of the last 10 s in which some task waited, percent (`some avg10`).
    pub(super) fn some_avg10_pct(&mut self) -> Result<f64, String> {
        let name = self.0.name().to_owned();
        let text = self.0.text().map_err(|why| {
            format!("the kernel keeps no pressure statistics (CONFIG_PSI, or psi=1 at its start): {why}")
        })?;
        parse_some_avg10_pct(&text).ok_or_else(|| format!("{name} has no `some avg10`"))
    }
}

fn parse_some_avg10_pct(pressure: &str) -> Option<f64> {
    let some = pressure.lines().find_map(|line| line.strip_prefix("some "))?;
    let avg10: f64 = some.split_whitespace().find_map(|word| word.strip_prefix("avg10="))?.parse().ok()?;
    (0.0..=100.0).contains(&avg10).then_some(avg10)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_ten_second_share_of_some_is_read() {
        let text = "some avg10=4.18 avg60=1.01 avg300=0.27 total=62715648\nfull avg10=1.00 avg60=0 total=0\n";
        assert_eq!(parse_some_avg10_pct(text), Some(4.18));
        assert_eq!(parse_some_avg10_pct("full avg10=1.00 avg60=0.00 avg300=0.00 total=0\n"), None);
        assert_eq!(parse_some_avg10_pct("some avg10=NaN avg60=0.00\n"), None);
        assert_eq!(parse_some_avg10_pct("some avg10=101.00 avg60=0.00\n"), None);
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_parser(text in "(some|full|avg10=| |[0-9.]{1,9}|\n|\\PC){0,20}", bytes in any::<Vec<u8>>()) {
            let _ = parse_some_avg10_pct(&text);
            let _ = parse_some_avg10_pct(&String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn what_is_written_is_read(hundredths in 0_u32..=10_000) {
            let share = format!("{}.{:02}", hundredths / 100, hundredths % 100);
            let text = format!("some avg10={share} avg60=0.00 avg300=0.00 total=1\n");
            prop_assert_eq!(parse_some_avg10_pct(&text), share.parse().ok());
        }
    }
}
