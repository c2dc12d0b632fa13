//! A run as Markdown, for a learner's own repository.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{LabSession, Record};
use crate::units::{digits, quantity, seconds};

/// What ran where, what was predicted and measured, and every chart as a table.
pub fn markdown(session: &LabSession, record: &Record) -> String {
    let mut text = format!("# {} · {}\n\n", record.lab, record.run);
    let device = record.device.as_ref().map_or("unknown device", |d| d.name.as_str());
    let or_none = |v: &Option<String>| v.clone().unwrap_or_else(|| "N/A".into());
    let env = &record.env;
    let _ = writeln!(
        text,
        "- device: {device}; driver {}; LibTorch {}; cuDNN {}",
        or_none(&env.driver),
        or_none(&env.libtorch),
        or_none(&env.cudnn)
    );
    let _ = writeln!(text, "- host CPU: {}; infralab {}; seed {}", or_none(&env.cpu), env.infralab, env.seed);
    let _ = writeln!(text, "- outcome: {}; {}", record.outcome, seconds((env.elapsed_s * 1e9) as u64));
    let params = record.params.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(" ");
    let _ = writeln!(text, "- parameters: `{params}`\n");
    text.push_str("| prediction | unit | predicted | closed form | measured | unexplained |\n|---|---|---|---|---|---|\n");
    for p in &record.predictions {
        let cell = |v: Option<f64>| v.map_or("–".to_owned(), digits);
        let measured = p.measured.map_or("N/A".to_owned(), digits);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {measured} | {} |",
            p.name,
            p.unit,
            cell(p.predicted),
            cell(p.closed_form),
            cell(p.residual)
        );
    }
    for (metric, curves) in &session.charts {
        let names: Vec<&String> = curves.measured.keys().collect();
        let head = names.iter().fold(String::new(), |head, n| head + " " + n + " |");
        let _ = write!(text, "\n## {metric}\n\n| x |{head}\n|---|{}\n", "---|".repeat(names.len()));
        let xs: BTreeSet<u64> = curves.measured.values().flatten().map(|p| p.x as u64).collect();
        for x in xs {
            let _ = write!(text, "| {x} |");
            for name in &names {
                let point = curves.measured[*name].iter().find(|p| p.x as u64 == x);
                let cell = point.map_or("–".to_owned(), |p| quantity(p.y.value, &p.y.unit));
                let _ = write!(text, " {cell} |");
            }
            text.push('\n');
        }
    }
    if !session.walls.is_empty() || !session.checks.is_empty() {
        text.push_str("\n## Walls and checks\n\n");
    }
    for wall in &session.walls {
        let _ = writeln!(text, "- {}", wall.text.en);
    }
    for check in &session.checks {
        let relative = check.max_abs_error / check.reference_max_abs.max(f64::MIN_POSITIVE);
        let word = if check.passed { "passed" } else { "failed" };
        let _ = writeln!(
            text,
            "- {}: {} ≤ {} against {}: {word}",
            check.name,
            digits(relative),
            digits(check.tolerance),
            check.reference
        );
    }
    text.trim_end().to_owned()
}
