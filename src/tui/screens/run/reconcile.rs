//! Predictions against closed form and measurement, one block each: what held, how far off, and what the formula does
//! not explain.

use ratatui::text::{Line, Span};

use crate::lab::LabSession;
use crate::lab::record::{PredictionResult, predictions};
use crate::tui::app::Core;
use crate::tui::screens::lab::side_word;
use crate::tui::theme::Role;
use crate::units::{digits, signed};

/// Columns of the names.
const NAME: usize = 14;

/// Every question of the lab with its answers.
pub(super) fn lines(session: &LabSession, core: &Core) -> Vec<Line<'static>> {
    let (lang, theme) = (core.lang, core.theme);
    let mut lines = Vec::new();
    if let Some(header) = &session.header {
        for text in &header.disturbances {
            let text = format!("! {}", lang.pick(&text.en, &text.zh));
            lines.push(Line::styled(text, theme.style(Role::Warn)));
        }
    }
    for result in predictions(session) {
        lines.push(Line::styled(format!("{} [{}]", result.name, result.unit), theme.style(Role::Accent)));
        if let Some(question) = question(session, &result.name, core) {
            lines.push(Line::styled(format!("  {question}"), theme.style(Role::Dim)));
        }
        lines.push(predicted(&result, core));
        lines.extend(side(&result, core));
        lines.push(row(
            lang.pick("closed form", "闭式公式"),
            &number(result.closed_form),
            result.formula.clone(),
        ));
        lines.push(measured(&result, core));
        lines.extend(residual(&result, core));
        lines.push(Line::raw(""));
    }
    lines
}

fn question(session: &LabSession, name: &str, core: &Core) -> Option<String> {
    let lab = infralab_labs::find_lab(&session.header.as_ref()?.request.lab)?;
    let asked = lab.predictions.iter().find(|p| p.name == name)?;
    Some(core.lang.pick(&asked.question.en, &asked.question.zh).clone())
}

fn predicted(result: &PredictionResult, core: &Core) -> Line<'static> {
    let lang = core.lang;
    let mut line = row(lang.pick("predicted", "预测"), &number(result.predicted), None);
    if let Some((low, high)) = result.interval {
        line.push_span(Span::raw(format!("   80 %: {} – {}", digits(low), digits(high))));
        line.extend(verdict(result.interval_held, core));
    }
    if let Some(error) = result.log_error {
        let text = lang.pick(
            format!("   |ln(pred/meas)| {error:.3}, off by ×{:.2}", error.exp()),
            format!("   |ln(预测/实测)| {error:.3}，相差 {:.2} 倍", error.exp()),
        );
        line.push_span(Span::raw(text));
    }
    line
}

fn side(result: &PredictionResult, core: &Core) -> Option<Line<'static>> {
    let side = result.side?;
    let mut line = row(core.lang.pick("side", "哪一侧"), side_word(Some(side), core), None);
    line.extend(verdict(result.side_held, core));
    if let Some((measured, closed)) = result.measured.zip(result.closed_form) {
        let off = (measured / closed - 1.0) * 100.0;
        let text = core.lang.pick(
            format!("   measured is {off:+.1} % of the closed form away"),
            format!("   实测与闭式公式相差 {off:+.1} %"),
        );
        line.push_span(Span::raw(text));
    }
    Some(line)
}

fn measured(result: &PredictionResult, core: &Core) -> Line<'static> {
    let why = match (result.measured, &result.missing, result.measured_range) {
        (None, Some(why), _) => Some(why.clone()),
        (Some(_), _, Some([low, high])) => Some(core.lang.pick(
            format!("median; {} … {}", digits(low), digits(high)),
            format!("中位数；{} … {}", digits(low), digits(high)),
        )),
        _ => None,
    };
    let value =
        if why.is_some() && result.measured.is_none() { "N/A".into() } else { number(result.measured) };
    row(core.lang.pick("measured", "实测"), &value, why)
}

fn residual(result: &PredictionResult, core: &Core) -> Vec<Line<'static>> {
    let lang = core.lang;
    let Some(residual) = result.residual else { return Vec::new() };
    let what = lang.pick("measured − closed form", "实测 − 闭式公式").to_owned();
    let mut lines = vec![row(lang.pick("residual", "残差"), &signed(residual), Some(what))];
    for part in &result.residual_parts {
        let name = lang.pick(&part.name.en, &part.name.zh).clone();
        lines.push(row(lang.pick("  of which", "  其中"), &signed(part.value), Some(name)));
    }
    if let Some(unexplained) = result.unexplained {
        let mut line = row(lang.pick("unexplained", "未解释"), &signed(unexplained), None);
        let style = core.theme.style(Role::Warn);
        line.spans.iter_mut().for_each(|span| span.style = style);
        lines.push(line);
    }
    lines
}

fn verdict(held: Option<bool>, core: &Core) -> Vec<Span<'static>> {
    let (text, role) = match held {
        Some(true) => (core.lang.pick("  ✓ held", "  ✓ 命中"), Role::Good),
        Some(false) => (core.lang.pick("  ✗ missed", "  ✗ 未中"), Role::Bad),
        None => return Vec::new(),
    };
    vec![Span::styled(text, core.theme.style(role))]
}

fn number(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), digits)
}

fn row(name: &str, value: &str, after: Option<String>) -> Line<'static> {
    use unicode_width::UnicodeWidthStr;
    let padding = " ".repeat(NAME.saturating_sub(name.width()));
    Line::raw(format!("  {name}{padding}{value:>12}   {}", after.unwrap_or_default()).trim_end().to_owned())
}
