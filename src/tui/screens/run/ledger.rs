//! Where the memory was: a stacked bar per stage, and the chosen stage item by item until nothing is left but what is
//! said to be unexplained.

use infralab_labs::protocol::{Basis, Ledger, LedgerItem};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use crate::lab::LabSession;
use crate::lab::session::DriverMemory;
use crate::tui::app::Core;
use crate::tui::theme::{Role, SELECTED};
use crate::units::{binary_bytes, signed_bytes};

/// Columns of the stages' names and of the total behind a bar.
const STAGE: usize = 20;
const STAGE_WIDE: usize = 28;
/// Columns from which a stage's name has its whole length.
const WIDE: usize = 100;
const TOTAL: usize = 12;
/// One letter per item, so that no colour is needed to tell them apart.
const LETTERS: &str = "abcdefghijklmnopqrstuvw";

/// Names of the ledgers' series, in the order in which they came.
pub(super) fn series(session: &LabSession) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for ledger in &session.ledgers {
        if !names.contains(&ledger.series.as_str()) {
            names.push(&ledger.series);
        }
    }
    names
}

/// Stages of one series.
pub(super) fn stages<'a>(session: &'a LabSession, series: &str) -> Vec<&'a Ledger> {
    session.ledgers.iter().filter(|l| l.series == series).collect()
}

/// Draws one series, its stage `at` item by item.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, core: &Core, session: &LabSession, at: (usize, usize)) {
    let names = series(session);
    let Some(name) = names.get(at.0 % names.len().max(1)) else { return };
    let stages = stages(session, name);
    let chosen = at.1.min(stages.len().saturating_sub(1));
    let [head, bars, items] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length((stages.len() as u16).min((area.height / 3).max(3))),
        Constraint::Min(1),
    ])
    .areas(area);
    let position = format!("{name}  ({}/{})", at.0 % names.len() + 1, names.len());
    let hint = core.lang.pick("←→ another  ↑↓ stage", "←→ 换一组  ↑↓ 换阶段");
    let title = vec![
        Span::styled(position, core.theme.style(Role::Accent)),
        Span::styled(format!("   {hint}"), core.theme.style(Role::Dim)),
    ];
    frame.render_widget(Line::from(title), head);
    let scale = stages.iter().map(|l| l.reserved_bytes.max(l.named_bytes())).max().unwrap_or(1).max(1);
    let first = chosen.saturating_sub(usize::from(bars.height.saturating_sub(1)));
    let ids = letters(&stages);
    let lines: Vec<Line<'static>> = stages
        .iter()
        .enumerate()
        .skip(first)
        .map(|(i, ledger)| bar(ledger, scale, usize::from(bars.width), i == chosen, &ids, core))
        .collect();
    frame.render_widget(Paragraph::new(lines), bars);
    if let Some(ledger) = stages.get(chosen) {
        let nvml = session.driver_memory_of(ledger);
        frame.render_widget(Paragraph::new(item_lines(ledger, nvml, &ids, core)), items);
    }
}

/// Ids of every item of a series in the order in which they appear: the position gives letter and colour.
fn letters(stages: &[&Ledger]) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for item in stages.iter().flat_map(|l| &l.items) {
        if !ids.contains(&item.id) {
            ids.push(item.id.clone());
        }
    }
    ids
}

fn mark(id: &str, ids: &[String], core: &Core) -> (char, ratatui::style::Style) {
    let at = ids.iter().position(|known| known == id).unwrap_or(0);
    let letter = LETTERS.chars().nth(at % LETTERS.len()).unwrap_or('a');
    (letter, core.theme.curve(at))
}

fn bar(
    ledger: &Ledger,
    scale: u64,
    width: usize,
    chosen: bool,
    ids: &[String],
    core: &Core,
) -> Line<'static> {
    let title = core.lang.pick(&ledger.title.en, &ledger.title.zh);
    let stage = if width >= WIDE { STAGE_WIDE } else { STAGE };
    let title: String = fit(title, stage - 2);
    let pad = " ".repeat(stage.saturating_sub(title.width() + 1));
    let style = if chosen { SELECTED } else { ratatui::style::Style::new() };
    let mut spans =
        vec![Span::raw(if chosen { "▸" } else { " " }), Span::styled(title, style), Span::raw(pad)];
    let cells = width.saturating_sub(stage + TOTAL).max(1);
    let mut drawn = 0;
    let mut upto = 0;
    let mut segment = |bytes: u64, letter: char, style, spans: &mut Vec<Span<'static>>| {
        upto += bytes;
        // Ends are rounded, not lengths: rounding errors do not add up.
        let end = ((upto as f64 / scale as f64) * cells as f64).round() as usize;
        let end = end.min(cells);
        if end > drawn {
            spans.push(Span::styled(letter.to_string().repeat(end - drawn), style));
            drawn = end;
        }
    };
    for item in &ledger.items {
        let (letter, style) = mark(&item.id, ids, core);
        segment(item.bytes, letter, style, &mut spans);
    }
    let unexplained = u64::try_from(ledger.unexplained_bytes()).unwrap_or(0);
    segment(unexplained, '?', core.theme.style(Role::Warn), &mut spans);
    segment(ledger.cache_bytes(), '·', core.theme.style(Role::Dim), &mut spans);
    spans.push(Span::raw(format!(" {}", binary_bytes(ledger.allocated_bytes as f64))));
    Line::from(spans)
}

fn item_lines(
    ledger: &Ledger,
    nvml: Option<DriverMemory>,
    ids: &[String],
    core: &Core,
) -> Vec<Line<'static>> {
    let (lang, theme) = (core.lang, core.theme);
    let mut lines = Vec::new();
    let share = |bytes: f64| bytes / ledger.allocated_bytes.max(1) as f64 * 100.0;
    let row = |glyph: Span<'static>, name: &str, bytes: String, after: String| {
        let pad = " ".repeat(24_usize.saturating_sub(name.width()));
        Line::from(vec![
            glyph,
            Span::raw(format!(" {name}{pad}{bytes:>12}  ")),
            Span::styled(after, theme.style(Role::Dim)),
        ])
    };
    for item in &ledger.items {
        let (letter, style) = mark(&item.id, ids, core);
        let name = fit(lang.pick(&item.name.en, &item.name.zh), 24);
        let after = format!("{:>5.1} %  {} · {}", share(item.bytes as f64), basis(item, core), item.recipe);
        lines.push(row(
            Span::styled(letter.to_string(), style),
            &name,
            binary_bytes(item.bytes as f64),
            after,
        ));
    }
    let warn = theme.style(Role::Warn);
    let unexplained = ledger.unexplained_bytes();
    lines.push(row(
        Span::styled("?", warn),
        lang.pick("unexplained", "未解释"),
        signed_bytes(unexplained as f64),
        format!(
            "{:>5.1} %  {}",
            share(unexplained as f64),
            lang.pick("allocated − named", "已分配 − 已具名")
        ),
    ));
    lines.extend(totals(ledger, nvml, core));
    lines
}

/// The allocator's count, CUDA's and NVML's, each as a sum of what came before.
fn totals(ledger: &Ledger, nvml: Option<DriverMemory>, core: &Core) -> [Line<'static>; 3] {
    let lang = core.lang;
    let bytes = |b: u64| binary_bytes(b as f64);
    let named = ledger.named_share() * 100.0;
    let (allocated, cache, reserved) =
        (bytes(ledger.allocated_bytes), bytes(ledger.cache_bytes()), bytes(ledger.reserved_bytes));
    let allocator = lang.pick(
        format!("= allocated {allocated} ({named:.1} % named) + cache {cache} = reserved {reserved}"),
        format!(
            "= 已分配 allocated {allocated}（{named:.1} % 具名）+ 缓存 {cache} = 已预留 reserved {reserved}"
        ),
    );
    let cuda = match (ledger.context_bytes(), ledger.device_before_bytes, ledger.device_used_bytes) {
        (Some(since), Some(before), Some(used)) => {
            let (since, before, used) = (bytes(since), bytes(before), bytes(used));
            lang.pick(
                format!(
                    "  + before (with a bare context) {before} + kernels, libraries {since} = device {used}"
                ),
                format!("  + 实验前（含空上下文）{before} + 之后载入的内核与库 {since} = 设备已用 {used}"),
            )
        }
        _ => lang
            .pick("  device: N/A, no driver counts bytes here", "  设备：N/A，这里没有驱动计数")
            .to_owned(),
    };
    let driver = match nvml {
        Some(n) => {
            let worker = n.worker_bytes.map_or("N/A".to_owned(), bytes);
            let (used, away) = (bytes(n.used_bytes), n.away_ms);
            lang.pick(
                format!("  NVML: device {used}, worker {worker} (reading {away:.0} ms away)"),
                format!("  NVML：设备 {used}，本进程 {worker}（读数相差 {away:.0} 毫秒）"),
            )
        }
        None => {
            lang.pick("  NVML: N/A, no reading of this device", "  NVML：N/A，没有这块设备的读数").to_owned()
        }
    };
    [allocator, cuda, driver].map(Line::raw)
}

fn basis(item: &LedgerItem, core: &Core) -> &'static str {
    match item.basis {
        Basis::Counted => core.lang.pick("counted", "逐个清点"),
        Basis::ClosedForm => core.lang.pick("formula", "公式"),
        Basis::Allocator => core.lang.pick("allocator", "分配器读数"),
    }
}

/// As much of a name as fits.
fn fit(name: &str, columns: usize) -> String {
    let mut used = 0;
    name.chars()
        .take_while(|c| {
            used += unicode_width::UnicodeWidthChar::width(*c).unwrap_or(0);
            used <= columns
        })
        .collect()
}
