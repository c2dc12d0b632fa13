//! Numbers for people: exact counts grouped, quantities with the prefix that fits, binary beside decimal.

use crate::units::digits;

/// A value with its unit: `8,030,261,248 param`, `131,072 B/token = 128 KiB/token`, `3.346 ms`, `59.9 %`.
pub fn told(value: Option<f64>, unit: &str) -> String {
    let Some(value) = value else { return "N/A".into() };
    match unit {
        "B" => both_bytes(value, ""),
        "B/token" => both_bytes(value, "/token"),
        "B/s" => scaled(value, "B/s"),
        "s" => seconds(value),
        "FLOP" | "FLOP/s" | "Hz" => scaled(value, unit),
        "frac" => format!("{} %", trimmed(value * 100.0)),
        "param" if value >= 1e6 => format!("{} param = {}", grouped(value), billions(value)),
        "" => grouped(value),
        "x" => format!("{}×", grouped(value)),
        unit => format!("{} {unit}", grouped(value)),
    }
}

/// A number of a formula in its base unit, short but exact where it is whole.
pub fn formula_number(value: f64, unit: &str) -> String {
    match unit {
        "B" if value >= 1e6 => binary(value, ""),
        "B/s" | "FLOP/s" | "FLOP" | "Hz" => scaled(value, unit),
        "s" => seconds(value),
        "B" | "B/token" => format!("{} B", plain(value)),
        _ => plain(value),
    }
}

/// Exact where whole (`8,030,261,248`), else about four digits.
pub fn grouped(value: f64) -> String {
    if value.fract() != 0.0 || value.abs() >= 1e16 {
        return trimmed(value);
    }
    let digits = format!("{:.0}", value.abs());
    let mut out = String::from(if value < 0.0 { "-" } else { "" });
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

fn plain(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 { format!("{value:.0}") } else { trimmed(value) }
}

/// [`digits`] without zeros that say nothing; small numbers keep more of them.
fn trimmed(value: f64) -> String {
    let text = if value.abs() >= 0.001 && value.abs() < 1.0 { format!("{value:.5}") } else { digits(value) };
    match text.split_once('.') {
        Some((_, tail)) if tail.contains('e') => text,
        Some(_) => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        None => text,
    }
}

fn billions(value: f64) -> String {
    match value {
        v if v >= 1e12 => format!("{} T", trimmed(v / 1e12)),
        v if v >= 1e9 => format!("{} B", trimmed(v / 1e9)),
        v => format!("{} M", trimmed(v / 1e6)),
    }
}

fn scaled(value: f64, unit: &str) -> String {
    let steps =
        [(1e24, "Y"), (1e21, "Z"), (1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let found = steps.into_iter().find(|(size, _)| value.abs() >= *size);
    let (size, prefix) = found.unwrap_or((1.0, ""));
    format!("{} {prefix}{unit}", trimmed(value / size))
}

fn seconds(value: f64) -> String {
    let (size, unit) = match value.abs() {
        0.0 => (1.0, "s"),
        s if s < 1e-6 => (1e-9, "ns"),
        s if s < 1e-3 => (1e-6, "µs"),
        s if s < 1.0 => (1e-3, "ms"),
        s if s < 600.0 => (1.0, "s"),
        s if s < 10_800.0 => (60.0, "min"),
        s if s < 3.0 * 86_400.0 => (3600.0, "h"),
        _ => (86_400.0, "d"),
    };
    format!("{} {unit}", trimmed(value / size))
}

fn binary(value: f64, per: &str) -> String {
    let steps = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let size = |power: i32| f64::from(power).exp2();
    match steps.into_iter().find(|(power, _)| value.abs() >= size(*power)) {
        Some((power, unit)) => format!("{} {unit}{per}", trimmed(value / size(power))),
        None => format!("{} B{per}", grouped(value)),
    }
}

fn both_bytes(value: f64, per: &str) -> String {
    if value.abs() < 1024.0 {
        return binary(value, per);
    }
    let decimal = if value.abs() < 1e6 { format!("{} B", grouped(value)) } else { scaled(value, "B") };
    format!("{} = {decimal}{per}", binary(value, per))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_the_prefix_that_fits() {
        for (value, unit, text) in [
            (8_030_261_248.0, "param", "8,030,261,248 param = 8.03 B"),
            (131_072.0, "B/token", "128 KiB/token = 131,072 B/token"),
            (80e9, "B", "74.51 GiB = 80 GB"),
            (0.003_345_9, "s", "3.346 ms"),
            (0.598_76, "frac", "59.88 %"),
            (989e12, "FLOP/s", "989 TFLOP/s"),
            (0.0, "s", "0 s"),
            (1.5, "x", "1.5×"),
            (-1e9, "B", "-953.7 MiB = -1 GB"),
        ] {
            assert_eq!(told(Some(value), unit), text);
        }
        assert_eq!(told(None, "s"), "N/A");
        assert_eq!(grouped(-1_234_567.0), "-1,234,567");
        assert_eq!(formula_number(131_072.0, "B/token"), "131072 B");
    }
}
