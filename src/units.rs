//! How numbers are printed: few digits, always a unit, binary and decimal prefixes never mixed.

/// About four significant digits, without an exponent up to 10⁹: `0.0042`, `3.142`, `42.00`, `33024`.
pub fn digits(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        _ if !value.is_finite() => return value.to_string(),
        0.0 => 0,
        s if s >= 1e9 => return format!("{value:.3e}"),
        s if s >= 1000.0 => 0,
        s if s >= 100.0 => 1,
        s if s >= 10.0 => 2,
        s if s >= 1.0 => 3,
        s if s >= 0.001 => 4,
        _ => return format!("{value:.2e}"),
    };
    format!("{value:.decimals$}")
}

/// [`digits`] with its sign, also when it is positive.
pub fn signed(value: f64) -> String {
    format!("{}{}", if value >= 0.0 { "+" } else { "" }, digits(value))
}

/// A difference of bytes with its sign, in MiB below 1 GiB, in GiB above.
pub fn signed_bytes(bytes: f64) -> String {
    format!("{}{}", if bytes >= 0.0 { "+" } else { "−" }, binary_bytes(bytes.abs()))
}

/// A value with its unit, where it has one, or `N/A`.
pub fn quantity(value: Option<f64>, unit: &str) -> String {
    match value {
        Some(value) if unit.is_empty() => digits(value),
        Some(value) if unit == "x" => format!("{}×", digits(value)),
        Some(value) => format!("{} {unit}", digits(value)),
        None => "N/A".into(),
    }
}

/// Bytes in the largest of B, KiB, MiB and GiB (powers of two) that leaves a number worth reading.
pub fn binary_bytes(bytes: f64) -> String {
    const KIB: f64 = 1024.0;
    const MIB: f64 = KIB * KIB;
    const GIB: f64 = KIB * MIB;
    match bytes {
        b if b >= GIB => format!("{:.2} GiB", b / GIB),
        b if b >= MIB / 10.0 => format!("{:.1} MiB", b / MIB),
        b if b >= KIB => format!("{:.1} KiB", b / KIB),
        b => format!("{b:.0} B"),
    }
}

/// Bytes as `530.6 MB` (10⁶), the unit of package indexes.
pub fn decimal_bytes(bytes: f64) -> String {
    format!("{:.1} MB", bytes / 1e6)
}

/// A duration in whole seconds: `42 s`, `1:15 min`, `1:01 h`.
pub fn duration(time: std::time::Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{}:{:02} min", seconds / 60, seconds % 60),
        _ => format!("{}:{:02} h", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Seconds as `0.42 s`, `12.3 s`, `3:05 min`.
pub fn seconds(ns: u64) -> String {
    let s = ns as f64 / 1e9;
    if s < 60.0 { format!("{s:.1} s") } else { format!("{}:{:02} min", s as u64 / 60, s as u64 % 60) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_about_four_digits() {
        let cases = [
            (0.0, "0"),
            (33024.0, "33024"),
            (616.04, "616.0"),
            (4.0, "4.000"),
            (0.0763, "0.0763"),
            (-2.5, "-2.500"),
        ];
        for (value, text) in cases {
            assert_eq!(digits(value), text);
        }
        assert_eq!(quantity(Some(3.9), "x"), "3.900×");
        assert_eq!(quantity(None, "MiB"), "N/A");
        assert_eq!(binary_bytes(1_610_612_736.0), "1.50 GiB");
        assert_eq!(binary_bytes(8_388_608.0), "8.0 MiB");
        assert_eq!(decimal_bytes(530_600_000.0), "530.6 MB");
    }

    #[test]
    fn durations_are_short() {
        for (seconds, text) in
            [(0, "0 s"), (59, "59 s"), (60, "1:00 min"), (3599, "59:59 min"), (3660, "1:01 h")]
        {
            assert_eq!(duration(std::time::Duration::from_secs(seconds)), text);
        }
    }
}
