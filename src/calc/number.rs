//! Numbers as people type them: `7B`, `80GiB`, `4.8TB/s`, `10ms`, `８１９２`, `33,024`.

use unicode_normalization::UnicodeNormalization;

use super::input::Dim;
use crate::lang::Both;

/// What a suffix multiplies by, or why it cannot be told.
enum Suffix {
    Times(f64),
    Ambiguous(&'static str),
    Unknown,
}

/// A number of this dimension, in its base unit. `label` is the unit of a count, which may follow it.
pub(super) fn parse(text: &str, dim: Dim, label: &str) -> Result<f64, Both<String>> {
    let typed: String = text.trim().chars().take(60).collect();
    let plain: String = typed.nfkc().collect();
    let plain = plain.trim();
    let accepted = dim.accepted();
    let refuse = |en: &str, zh: &str| {
        Err(Both {
            en: format!("`{typed}` {en}; accepted is {}", accepted.en),
            zh: format!("`{typed}` {zh}；可以写{}", accepted.zh),
        })
    };
    if dim == Dim::Element
        && let Some(bytes) = element(plain)
    {
        return Ok(bytes);
    }
    let end = number_end(plain);
    let (digits, suffix) = plain.split_at(end);
    let Some(number) = number(digits) else {
        return refuse("is not a number", "不是数字");
    };
    let suffix: String = suffix.chars().filter(|c| !c.is_whitespace()).collect();
    let factor = match factor(&suffix, dim, label) {
        Suffix::Times(factor) => factor,
        Suffix::Ambiguous(write) => {
            return refuse(
                &format!("can be read in two ways; write {write}"),
                &format!("有两种读法，请写成 {write}"),
            );
        }
        Suffix::Unknown => {
            return refuse(&format!("has the unit `{suffix}`"), &format!("的单位 `{suffix}` 不对"));
        }
    };
    // Dividing by whole powers keeps `10ms` exactly 0.01.
    let value = if factor < 1.0 { number / (1.0 / factor).round() } else { number * factor };
    if !value.is_finite() {
        return refuse("is too large", "太大了");
    }
    if dim == Dim::Whole && (value.fract() != 0.0) {
        return refuse("is not whole", "不是整数");
    }
    Ok(value)
}

/// Where the number ends and its unit begins.
fn number_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut end = 0;
    while end < bytes.len() {
        let next = bytes.get(end + 1).copied().unwrap_or(0);
        let after = bytes.get(end + 2).copied().unwrap_or(0);
        match bytes[end] {
            b'0'..=b'9' | b'.' | b',' | b'_' => end += 1,
            b'+' | b'-' if end == 0 => end += 1,
            b' ' if next.is_ascii_digit() => end += 1,
            b'e' | b'E' if next.is_ascii_digit() => end += 2,
            b'e' | b'E' if matches!(next, b'+' | b'-') && after.is_ascii_digit() => end += 3,
            _ => break,
        }
    }
    end
}

/// The number, thousands separated by `,` `_` or blanks; `1,5` is refused because it may mean 1.5.
fn number(text: &str) -> Option<f64> {
    let (whole, rest) = text.split_at(text.find(['.', 'e', 'E']).unwrap_or(text.len()));
    if rest.contains([',', ' ', '_']) {
        return None;
    }
    let mut groups = whole.trim_start_matches(['+', '-']).split([',', '_', ' ']);
    let first = groups.next().unwrap_or_default();
    let mut grouped = false;
    for group in groups {
        grouped = true;
        if group.len() != 3 {
            return None;
        }
    }
    if grouped && (first.is_empty() || first.len() > 3) {
        return None;
    }
    let plain: String = text.chars().filter(|c| !matches!(c, ',' | '_' | ' ')).collect();
    plain.parse().ok().filter(|v: &f64| v.is_finite())
}

/// Bytes of an element by the name of its type.
fn element(name: &str) -> Option<f64> {
    Some(match name.to_lowercase().as_str() {
        "fp64" | "float64" => 8.0,
        "fp32" | "float32" | "tf32" => 4.0,
        "bf16" | "fp16" | "bfloat16" | "float16" => 2.0,
        "fp8" | "int8" => 1.0,
        "fp4" | "int4" => 0.5,
        _ => return None,
    })
}

/// 10³ⁿ of `k M G T P E`.
fn decimal(prefix: &str) -> Option<f64> {
    Some(match prefix {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" | "m" => 1e6,
        "G" | "g" => 1e9,
        "T" | "t" => 1e12,
        "P" | "p" => 1e15,
        "E" => 1e18,
        _ => return None,
    })
}

/// 2¹⁰ⁿ of `Ki Mi Gi Ti`.
fn binary(prefix: &str) -> Option<f64> {
    Some(match prefix.to_lowercase().as_str() {
        "ki" => 1024.0,
        "mi" => f64::from(1 << 20),
        "gi" => f64::from(1 << 30),
        "ti" => (1_u64 << 40) as f64,
        _ => return None,
    })
}

fn times(factor: Option<f64>) -> Suffix {
    factor.map_or(Suffix::Unknown, Suffix::Times)
}

fn factor(suffix: &str, dim: Dim, label: &str) -> Suffix {
    if suffix.is_empty() {
        return Suffix::Times(1.0);
    }
    match dim {
        Dim::Whole | Dim::Plain => {
            let singular = suffix.strip_suffix('s').unwrap_or(suffix);
            if !label.is_empty() && [suffix, singular].contains(&label) {
                return Suffix::Times(1.0);
            }
            let count = if matches!(suffix, "B" | "b") { Some(1e9) } else { decimal(suffix) };
            times(count.or_else(|| binary(suffix)))
        }
        Dim::Share => times((suffix == "%").then_some(0.01)),
        Dim::Bytes => bytes(suffix),
        Dim::Element => times((suffix == "B").then_some(1.0)),
        Dim::BytesPerToken => {
            bytes(suffix.strip_suffix("/token").or_else(|| suffix.strip_suffix("/tok")).unwrap_or(suffix))
        }
        Dim::Bandwidth => bandwidth(suffix),
        Dim::Time => times(Some(match suffix.to_lowercase().as_str() {
            "ns" => 1e-9,
            "us" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" | "sec" => 1.0,
            "min" => 60.0,
            "h" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86400.0,
            _ => return Suffix::Unknown,
        })),
        Dim::Flop => times(prefix_of(suffix, &["FLOP", "FLOPS", "OP"]).and_then(decimal)),
        Dim::FlopRate => {
            let known = ["FLOP/S", "FLOPS/S", "FLOPS", "FLOP", "OP/S", "OPS"];
            times(prefix_of(suffix, &known).map_or_else(|| decimal(suffix), decimal))
        }
        Dim::Clock => times(prefix_of(suffix, &["HZ"]).and_then(decimal)),
    }
}

/// What stands before one of these endings, whatever their case.
fn prefix_of<'a>(suffix: &'a str, endings: &[&str]) -> Option<&'a str> {
    endings.iter().find_map(|ending| {
        let at = suffix.len().checked_sub(ending.len())?;
        (suffix.is_char_boundary(at) && suffix[at..].eq_ignore_ascii_case(ending)).then(|| &suffix[..at])
    })
}

fn bytes(suffix: &str) -> Suffix {
    // `gb` is a lazy GB; `Gb` is how gigabit is written.
    if suffix.ends_with('b') && suffix.starts_with(|c: char| c.is_ascii_uppercase()) {
        return Suffix::Ambiguous("GB (byte) / Gbit (bit)");
    }
    match prefix_of(suffix, &["B"]) {
        Some(prefix) => times(binary(prefix).or_else(|| decimal(prefix))),
        None if decimal(suffix).is_some() => Suffix::Ambiguous("GB (10⁹) / GiB (2³⁰)"),
        None => Suffix::Unknown,
    }
}

fn bandwidth(suffix: &str) -> Suffix {
    let lower = suffix.to_lowercase();
    if let Some(unit) = lower.strip_suffix("bit/s").or_else(|| lower.strip_suffix("bps"))
        && !suffix.ends_with("Bps")
    {
        return times(decimal(unit).map(|f| f / 8.0));
    }
    let Some(unit) = suffix.strip_suffix("/s").or_else(|| suffix.strip_suffix("ps")) else {
        return Suffix::Unknown;
    };
    if unit.ends_with('b') {
        return Suffix::Ambiguous("GB/s (byte) / Gbit/s (bit)");
    }
    bytes(unit)
}
