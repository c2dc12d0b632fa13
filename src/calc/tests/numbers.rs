//! Numbers as people type them.

use proptest::prelude::*;

use crate::calc::input::Dim;
use crate::calc::number::parse;

fn of(text: &str, dim: Dim) -> f64 {
    parse(text, dim, "token").unwrap_or_else(|why| panic!("{text}: {}", why.en))
}

#[test]
// Each is one product of numbers that f64 holds exactly.
#[allow(clippy::float_cmp)]
fn what_people_type_is_understood() {
    let gib = f64::from(1 << 30);
    for (text, dim, value) in [
        ("7e9", Dim::Whole, 7e9),
        ("7B", Dim::Whole, 7e9),
        ("1.5T", Dim::Whole, 1.5e12),
        ("124m", Dim::Whole, 124e6),
        ("8k", Dim::Whole, 8000.0),
        ("8Ki", Dim::Whole, 8192.0),
        ("33,024", Dim::Whole, 33024.0),
        ("1 000 000", Dim::Whole, 1e6),
        ("1_000", Dim::Whole, 1000.0),
        ("８１９２", Dim::Whole, 8192.0),
        ("８，１９２ tokens", Dim::Whole, 8192.0),
        ("80GB", Dim::Bytes, 80e9),
        ("80gb", Dim::Bytes, 80e9),
        ("80 GiB", Dim::Bytes, 80.0 * gib),
        ("143771MiB", Dim::Bytes, 143_771.0 * f64::from(1 << 20)),
        ("2e9", Dim::Bytes, 2e9),
        ("4.8TB/s", Dim::Bandwidth, 4.8e12),
        ("400Gbit/s", Dim::Bandwidth, 50e9),
        ("400Gbps", Dim::Bandwidth, 50e9),
        ("365GB/s", Dim::Bandwidth, 365e9),
        ("10ms", Dim::Time, 0.01),
        ("5µs", Dim::Time, 5e-6),
        ("1h", Dim::Time, 3600.0),
        ("54d", Dim::Time, 54.0 * 86400.0),
        ("989TFLOP/s", Dim::FlopRate, 989e12),
        ("989 TFLOPS", Dim::FlopRate, 989e12),
        ("1.83GHz", Dim::Clock, 1.83e9),
        ("92%", Dim::Share, 0.92),
        ("９２％", Dim::Share, 0.92),
        ("bf16", Dim::Element, 2.0),
        ("INT4", Dim::Element, 0.5),
        ("128KiB/token", Dim::BytesPerToken, 131_072.0),
        ("1e-3", Dim::Plain, 1e-3),
    ] {
        assert_eq!(of(text, dim), value, "{text}");
    }
}

#[test]
fn what_has_two_readings_or_another_dimension_is_refused_with_what_is_accepted() {
    for (text, dim, part) in [
        ("80G", Dim::Bytes, "GiB (2³⁰)"),
        ("400Gb/s", Dim::Bandwidth, "Gbit/s (bit)"),
        ("1,5", Dim::Plain, "not a number"),
        ("12,34,567", Dim::Plain, "not a number"),
        ("10ms", Dim::Bytes, "unit `ms`; accepted is memory"),
        ("80GB", Dim::Whole, "accepted is a whole number"),
        ("1.5", Dim::Whole, "not whole"),
        ("1e400", Dim::Plain, "not a number"),
        ("9e307k", Dim::Plain, "too large"),
        ("NaN", Dim::Plain, "not a number"),
        ("inf", Dim::Plain, "not a number"),
        ("", Dim::Plain, "not a number"),
        ("4.8TB", Dim::Bandwidth, "accepted is bandwidth"),
    ] {
        let why = parse(text, dim, "").expect_err(text);
        assert!(why.en.contains(part), "{text}: {}", why.en);
        assert!(!why.zh.is_empty());
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,40}") {
        for dim in [
            Dim::Whole, Dim::Plain, Dim::Share, Dim::Bytes, Dim::Element, Dim::BytesPerToken, Dim::Bandwidth,
            Dim::Time, Dim::Flop, Dim::FlopRate, Dim::Clock,
        ] {
            if let Ok(value) = parse(&text, dim, "token") {
                prop_assert!(value.is_finite());
            }
        }
    }

    #[test]
    fn numbers_with_any_suffix_do_not_panic(number in "[-+0-9.,_ e]{0,12}", suffix in "[a-zA-Z/%µμ零Ｇ]{0,6}") {
        for dim in [Dim::Whole, Dim::Bytes, Dim::Bandwidth, Dim::Time, Dim::FlopRate, Dim::Clock] {
            let _ = parse(&format!("{number}{suffix}"), dim, "");
        }
    }
}
