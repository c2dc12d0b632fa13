//! One run as part of a page: where it ran, what was predicted and measured, and how to do it again.

use infralab_labs::protocol::{Quantity, Text};
use infralab_labs::spec::Size;

use super::document::{Block, NOTHING, Table, Words};
use super::parts;
use crate::lab::PastRun;
use crate::lab::prediction::Side;
use crate::lab::record::PredictionResult;
use crate::lang::Lang;
use crate::units::{digits, seconds};

/// Everything about a run, under a heading of this level.
pub fn blocks(run: &PastRun, level: u8, lang: Lang) -> Vec<Block> {
    let mut page = vec![Block::Heading(level, title(run, lang)), Block::List(conditions(run, lang))];
    let heading = |en: &str, zh: &str| Block::Heading(level + 1, lang.pick(en, zh).to_owned());
    if let Some(failure) = &run.record.failure {
        let words = format!("{}: {}; {}", failure.what, failure.why, failure.next);
        page.push(Block::paragraph(Words::new().strong(lang.pick("Failed. ", "失败。")).plain(words)));
    }
    if let Some(table) = predictions(run, lang).block() {
        page.push(heading("Predicted, by closed form, measured", "预测、闭式公式与实测"));
        page.push(table);
        let notes = prediction_notes(run, lang);
        if !notes.is_empty() {
            page.push(Block::List(notes));
        }
    }
    if let Some(table) = summary(run, lang).block() {
        page.push(heading("Results", "结果"));
        page.push(table);
    }
    page.extend(parts::charts(run, level + 1, lang));
    page.extend(parts::ledgers(run, level + 1, lang));
    for (title, list) in [
        (heading("Walls", "撞到的墙"), parts::walls(run, lang)),
        (heading("Checks", "正确性核对"), parts::checks(run, lang)),
        (heading("Computed step by step", "逐步计算"), parts::walk(run, lang)),
        (heading("Notes of the lab", "实验的说明"), parts::notes(run, lang)),
    ] {
        if !list.is_empty() {
            page.extend([title, Block::List(list)]);
        }
    }
    if let Some(command) = repeat(run) {
        page.extend([heading("Run it again", "重新运行"), Block::Command(command)]);
    }
    page
}

fn title(run: &PastRun, lang: Lang) -> String {
    let lab = run.lab().map_or(run.record.lab.as_str(), |lab| lang.pick(&lab.title.en, &lab.title.zh));
    format!("{lab} · {}", run.record.run)
}

fn conditions(run: &PastRun, lang: Lang) -> Vec<Words> {
    let env = &run.record.env;
    let known = |v: &Option<String>| v.clone().unwrap_or_else(|| "N/A".into());
    let number = |v: Option<u32>, unit: &str| v.map_or("N/A".to_owned(), |n| format!("{n}{unit}"));
    let pick = |en: String, zh: String| Words::from(lang.pick(en, zh));
    let device = run.device().unwrap_or(lang.pick("unknown", "未知"));
    let (driver, libtorch, cudnn) = (known(&env.driver), known(&env.libtorch), known(&env.cudnn));
    let (cpu, threads, clock) =
        (known(&env.cpu), number(env.cpu_threads, ""), number(env.sm_clock_mhz, " MHz"));
    let size = run.size().map_or(NOTHING, Size::name);
    let (started, took) = (date(env.unix_ms), seconds((env.elapsed_s.max(0.0) * 1e9) as u64));
    let outcome = outcome_word(&run.record.outcome, lang);
    let mut list = vec![
        pick(
            format!("device: {device}; driver {driver}; LibTorch {libtorch}; cuDNN {cudnn}"),
            format!("设备：{device}；驱动 {driver}；LibTorch {libtorch}；cuDNN {cudnn}"),
        ),
        pick(
            format!("host CPU: {cpu}; threads {threads}; SM clock at the end {clock}"),
            format!("主机 CPU：{cpu}；线程数 {threads}；结束时 SM 时钟 {clock}"),
        ),
        pick(
            format!(
                "started: {started} UTC; {outcome} after {took}; infralab {}; seed {}",
                env.infralab, env.seed
            ),
            format!(
                "开始：{started} UTC；{outcome}，用时 {took}；infralab {}；随机种子 {}",
                env.infralab, env.seed
            ),
        ),
    ];
    let params = run.record.params.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(" ");
    list.push(
        Words::new()
            .plain(lang.pick(format!("size {size}; parameters: "), format!("规模 {size}；参数：")))
            .code(params),
    );
    if run.shipped {
        list.push(lang.pick("a recording that ships with infralab", "infralab 随附的录制").into());
    }
    list.extend(
        run.disturbances()
            .iter()
            .map(|t| Words::new().strong(lang.pick("disturbed: ", "受到干扰：")).plain(pick_text(t, lang))),
    );
    list
}

fn predictions(run: &PastRun, lang: Lang) -> Table {
    let pick = |en: &str, zh: &str| lang.pick(en, zh).to_owned();
    let mut table = Table::new([
        pick("prediction", "预测项"),
        pick("unit", "单位"),
        pick("predicted", "预测"),
        pick("80 % interval", "80 % 区间"),
        pick("closed form", "闭式公式"),
        pick("measured", "实测"),
        "|ln(pred/meas)|".into(),
        pick("interval held", "区间命中"),
        pick("side", "方向"),
        pick("unexplained", "未解释"),
    ]);
    let number = |v: Option<f64>| v.map_or(NOTHING.to_owned(), digits);
    for p in &run.record.predictions {
        table.row([
            p.name.clone(),
            p.unit.clone(),
            number(p.predicted),
            p.interval.map_or(NOTHING.into(), |(low, high)| format!("{} … {}", digits(low), digits(high))),
            number(p.closed_form),
            measured(p.measured, p.measured_range),
            p.error().map_or(NOTHING.into(), |e| format!("{e:.3}")),
            p.held().map_or(NOTHING, |held| yes(held, lang)).into(),
            side(p, lang),
            number(p.rest()),
        ]);
    }
    table
}

/// Recipes of the closed forms, why something was not measured, and the named parts of residuals.
fn prediction_notes(run: &PastRun, lang: Lang) -> Vec<Words> {
    let mut notes = Vec::new();
    for p in &run.record.predictions {
        if let Some(formula) = &p.formula {
            let from = lang.pick(": closed form ", "：闭式公式 ");
            notes.push(Words::new().code(&p.name).plain(from).code(formula));
        }
        if let (None, Some(why)) = (p.measured, &p.missing) {
            let not = lang.pick(": not measured: ", "：未测得：");
            notes.push(Words::new().code(&p.name).plain(not).plain(why));
        }
        for part in &p.residual_parts {
            let of = lang.pick(": of the residual, ", "：残差中的 ");
            let words = format!("{of}{} {}", pick_text(&part.name, lang), signed(part.value, &part.unit));
            notes.push(Words::new().code(&p.name).plain(words));
        }
    }
    notes
}

fn summary(run: &PastRun, lang: Lang) -> Table {
    let pick = |en: &str, zh: &str| lang.pick(en, zh).to_owned();
    let mut table = Table::new([
        pick("result", "结果"),
        pick("value", "值"),
        pick("unit", "单位"),
        pick("smallest", "最小"),
        pick("largest", "最大"),
        pick("note", "备注"),
    ]);
    for (name, q) in &run.record.summary {
        let end = |i: usize| q.range.map_or(NOTHING.to_owned(), |r| digits(r[i]));
        table.row([
            name.clone(),
            q.value.map_or("N/A".into(), digits),
            q.unit.clone(),
            end(0),
            end(1),
            q.missing.clone().unwrap_or_default(),
        ]);
    }
    table
}

/// The command that runs it again: size, device, seed and the parameters that are not the size's own. `None` for a lab
/// that this version does not have.
pub fn repeat(run: &PastRun) -> Option<String> {
    let (lab, header) = (run.lab()?, run.session.header.as_ref()?);
    let defaults = lab.params_for(header.request.size, &[]).unwrap_or_default();
    let mut command = format!(
        "infralab lab run {} --size {} --device {} --seed {}",
        lab.id,
        header.request.size.name(),
        header.request.device,
        header.request.seed
    );
    for (name, value) in run.record.params.iter().filter(|(name, value)| defaults.get(*name) != Some(*value))
    {
        command.push_str(" --set ");
        command.push_str(&quoted(&format!("{name}={value}")));
    }
    Some(command)
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '=' | '_' | '-' | '.' | ':' | ',' | '/');
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// Start of a run in UTC, to the minute.
pub fn date(unix_ms: u64) -> String {
    let time = i64::try_from(unix_ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    time.unwrap_or_default().strftime("%Y-%m-%d %H:%M").to_string()
}

/// How a run ended, in words.
pub fn outcome_word(outcome: &str, lang: Lang) -> &str {
    match outcome {
        "completed" => lang.pick("completed", "已完成"),
        "stopped" => lang.pick("stopped", "已停止"),
        "failed" => lang.pick("failed", "失败"),
        "cut off" => lang.pick("cut off", "中断"),
        other => other,
    }
}

/// The word of a side.
fn side(p: &PredictionResult, lang: Lang) -> String {
    let Some(side) = p.side else { return NOTHING.into() };
    let word = match side {
        Side::Below => lang.pick("below", "低于"),
        Side::About => lang.pick("about", "接近"),
        Side::Above => lang.pick("above", "高于"),
    };
    p.side_held.map_or(word.into(), |held| format!("{word} ({})", yes(held, lang)))
}

fn yes(held: bool, lang: Lang) -> &'static str {
    if held { lang.pick("yes", "是") } else { lang.pick("no", "否") }
}

fn measured(value: Option<f64>, range: Option<[f64; 2]>) -> String {
    match (value, range) {
        (Some(value), Some([low, high])) => format!("{} [{} … {}]", digits(value), digits(low), digits(high)),
        (Some(value), None) => digits(value),
        (None, _) => "N/A".into(),
    }
}

/// A value with its range, or `N/A`.
pub(super) fn with_range(q: &Quantity) -> String {
    measured(q.value, q.range)
}

fn signed(value: f64, unit: &str) -> String {
    let sign = if value >= 0.0 { "+" } else { "" };
    format!("{sign}{} {unit}", digits(value))
}

/// The words of a language.
pub(super) fn pick_text(text: &Text, lang: Lang) -> &str {
    lang.pick(&text.en, &text.zh)
}
