//! `infralab calc [list | models | gpus | NAME k=v …]`.

use std::process::ExitCode;

use serde_json::{Map, Value as Json, json};
use unicode_width::UnicodeWidthStr;

use super::{USAGE, out};
use crate::calc::{self, Answer, Calculator, Fault, GPUS, MODELS, Origin, Resolved, Topic, Value, told};
use crate::lang::Lang;

/// Arguments of `calc`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  infralab calc kv model=Qwen2.5-7B\n  infralab calc decode model=Llama-3-8B gpu=H200 B=64 ctx=8Ki\n  infralab calc fits model=Llama-3-8B gpu=H100-SXM gpus=8 stage=3\nNumbers as people write them: 7B, 80GiB, 4.8TB/s, 10ms, 92%; k is 1000, Ki is 1024."
)]
pub(super) struct CalcArgs {
    /// `list`, `models`, `gpus`, or a calculator; without inputs it answers for its defaults
    #[arg(default_value = "list")]
    name: String,
    /// Inputs, `name=value`; model=NAME and gpu=NAME fill what is not given
    #[arg(value_name = "k=v")]
    inputs: Vec<String>,
    /// One object; a list: one object a line
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &CalcArgs, lang: Lang) -> anyhow::Result<ExitCode> {
    match args.name.as_str() {
        "list" => list(args.json, lang)?,
        "models" => models(args.json)?,
        "gpus" => gpus(args.json)?,
        name => return ask(name, args, lang),
    }
    Ok(ExitCode::SUCCESS)
}

fn ask(name: &str, args: &CalcArgs, lang: Lang) -> anyhow::Result<ExitCode> {
    let Some(calculator) = calc::find(name) else {
        let near = calc::near(name);
        let hint = if near.is_empty() { String::new() } else { format!("; near it: {}", near.join(", ")) };
        eprintln!("infralab: no calculator `{name}`{hint}; `infralab calc list` shows all");
        return Ok(ExitCode::from(USAGE));
    };
    let mut given = Vec::new();
    for input in &args.inputs {
        let Some((key, value)) = input.split_once(['=', '＝']) else {
            eprintln!("infralab: `{input}` is not name=value; {name} takes {}", names(calculator));
            return Ok(ExitCode::from(USAGE));
        };
        given.push((key.trim().to_owned(), value.to_owned()));
    }
    let resolved = match calculator.resolve(&given) {
        Ok(resolved) => resolved,
        Err(faults) => {
            for Fault { text, .. } in faults {
                eprintln!("infralab: {}", text.get(lang));
            }
            return Ok(ExitCode::from(USAGE));
        }
    };
    let answer = calculator.answer(&resolved);
    let code = ExitCode::from(u8::from(answer.value.is_none()));
    if args.json {
        out::json(&object(calculator, &resolved, &answer, lang))?;
    } else {
        out::line(&shown(calculator, &resolved, &answer, lang))?;
    }
    Ok(code)
}

fn names(calculator: &Calculator) -> String {
    calculator.all_inputs().iter().map(|i| i.name).collect::<Vec<_>>().join(", ")
}

/// `{name, inputs, value, unit, formula, source, rows?, notes?}`, in base units.
fn object(calculator: &Calculator, resolved: &[Resolved], answer: &Answer, lang: Lang) -> Json {
    let inputs: Map<String, Json> = resolved
        .iter()
        .map(|r| {
            let value = match &r.value {
                Value::Number(value) => number(Some(*value)),
                Value::Word(word) => json!(word),
                Value::Nothing => Json::Null,
            };
            (r.input.name.to_owned(), value)
        })
        .collect();
    let mut object = json!({
        "name": calculator.name, "inputs": inputs, "value": number(answer.value), "unit": answer.unit,
        "formula": answer.formula, "source": calculator.source,
    });
    if !answer.rows.is_empty() {
        let rows = answer.rows.iter();
        object["rows"] = rows
            .map(|r| json!({"name": r.name.get(lang), "value": number(r.value), "unit": r.unit, "formula": r.formula}))
            .collect();
    }
    if !answer.notes.is_empty() {
        object["notes"] = answer.notes.iter().map(|n| json!(n.get(lang))).collect();
    }
    object
}

/// A number, whole where it is whole; null where there is none.
fn number(value: Option<f64>) -> Json {
    const EXACT: f64 = (1_u64 << 53) as f64;
    match value {
        Some(value) if value.fract() == 0.0 && value.abs() < EXACT => json!(value as i64),
        value => json!(value),
    }
}

fn shown(calculator: &Calculator, resolved: &[Resolved], answer: &Answer, lang: Lang) -> String {
    let bold = |text: &str| if out::styled() { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() };
    let mut lines = vec![
        format!("{} · {}", calculator.name, calculator.title.get(lang)),
        format!("  {}", calculator.what.get(lang)),
        String::new(),
        format!("  {}", bold(&told(answer.value, answer.unit))),
        format!("  = {}", answer.formula),
        format!("    {}", answer.symbolic),
        String::new(),
        lang.pick("inputs", "输入").to_owned(),
    ];
    let rows: Vec<[String; 4]> = resolved
        .iter()
        .map(|r| {
            let help = r.input.help.get(lang);
            let choices = r.input.choices();
            let help = match r.input.kind {
                calc::Kind::Choice(_) => format!("{help} ({})", choices.join(" | ")),
                _ => (*help).to_owned(),
            };
            [r.input.name.to_owned(), r.told(), origin(&r.origin, lang), help]
        })
        .collect();
    lines.extend(aligned(&rows));
    if !answer.rows.is_empty() {
        lines.push(String::new());
        lines.push(lang.pick("itemised", "明细").to_owned());
        let rows: Vec<[String; 3]> = answer
            .rows
            .iter()
            .map(|r| [(*r.name.get(lang)).to_owned(), told(r.value, r.unit), r.formula.clone()])
            .collect();
        lines.extend(aligned(&rows));
    }
    lines.push(String::new());
    lines.push(format!("{}: {}", lang.pick("source", "来源"), calculator.source));
    lines.extend(answer.notes.iter().map(|n| format!("{}: {}", lang.pick("note", "注意"), n.get(lang))));
    lines.join("\n")
}

fn origin(origin: &Origin, lang: Lang) -> String {
    match origin {
        Origin::Given => lang.pick("given", "给定").to_owned(),
        Origin::Default => lang.pick("default", "默认").to_owned(),
        Origin::Model(name) | Origin::Gpu(name) => name.clone(),
    }
}

/// Rows as columns of equal width, indented.
fn aligned<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let widths: [usize; N] = std::array::from_fn(|i| rows.iter().map(|r| r[i].width()).max().unwrap_or(0));
    let cell = |(i, text): (usize, &String)| format!("{text}{}", " ".repeat(widths[i] - text.width()));
    rows.iter()
        .map(|r| {
            format!("  {}", r.iter().enumerate().map(cell).collect::<Vec<_>>().join("  "))
                .trim_end()
                .to_owned()
        })
        .collect()
}

fn list(json: bool, lang: Lang) -> anyhow::Result<()> {
    if json {
        for c in calc::all() {
            let inputs: Vec<Json> = c
                .all_inputs()
                .iter()
                .map(|i| json!({"name": i.name, "unit": i.unit(), "help": i.help, "default": i.default, "choices": i.choices()}))
                .collect();
            out::json(&json!({
                "name": c.name, "topic": c.topic.name(lang), "title": c.title, "what": c.what, "inputs": inputs,
                "formula": c.formula, "source": c.source,
            }))?;
        }
        return Ok(());
    }
    let mut lines = Vec::new();
    for topic in Topic::ALL {
        lines.push(topic.name(lang).to_owned());
        let rows: Vec<[String; 3]> = calc::all()
            .filter(|c| c.topic == topic)
            .map(|c| [c.name.to_owned(), (*c.title.get(lang)).to_owned(), c.formula.to_owned()])
            .collect();
        lines.extend(aligned(&rows));
    }
    lines.push(String::new());
    lines.push(
        lang.pick(
            "infralab calc NAME [k=v …]; model=NAME and gpu=NAME fill inputs: infralab calc models | gpus",
            "infralab calc NAME [k=v …]；model=NAME、gpu=NAME 会填好输入：infralab calc models | gpus",
        )
        .to_owned(),
    );
    out::line(&lines.join("\n"))
}

fn models(json: bool) -> anyhow::Result<()> {
    if json {
        for m in MODELS.iter() {
            out::json(&json!({
                "name": m.name, "params": m.params(), "kv_16bit_bytes_per_token": m.kv_per_token(2.0),
                "layers": m.layers, "hidden": m.hidden, "heads": m.heads, "kv_heads": m.kv_heads,
                "head_dim": m.head_dim, "context": m.context, "window": m.window, "source": m.source,
            }))?;
        }
        return Ok(());
    }
    let head = ["model", "parameters", "KV, 16 bit", "context"].map(str::to_owned);
    let rows = MODELS.iter().map(|m| {
        [
            m.name.clone(),
            told(m.params(), "param"),
            told(m.kv_per_token(2.0), "B/token"),
            told(Some(m.context), "token"),
        ]
    });
    out::line(&aligned(&std::iter::once(head).chain(rows).collect::<Vec<_>>()).join("\n"))
}

fn gpus(json: bool) -> anyhow::Result<()> {
    if json {
        for g in GPUS.iter() {
            out::json(&json!({
                "name": g.name, "memory_bytes": g.memory_bytes, "bandwidth_bytes_per_s": g.bandwidth,
                "link_bytes_per_s": g.link, "sms": g.sms, "dense_peak_flop_per_s": g.peaks, "source": g.source,
            }))?;
        }
        return Ok(());
    }
    let head = ["gpu", "memory", "bandwidth", "dense peaks, TFLOP/s"].map(str::to_owned);
    let rows = GPUS.iter().map(|g| {
        let peaks = g.peaks.iter().map(|(dtype, peak)| format!("{dtype} {}", peak / 1e12));
        [
            g.name.clone(),
            g.memory.clone(),
            told(Some(g.bandwidth), "B/s"),
            peaks.collect::<Vec<_>>().join(", "),
        ]
    });
    out::line(&aligned(&std::iter::once(head).chain(rows).collect::<Vec<_>>()).join("\n"))
}
