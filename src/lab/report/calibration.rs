//! Calibration as a page.

use super::document::{Block, NOTHING, Table, Words};
use crate::lab::calibration::{Calibration, ENOUGH, Score, Share, Verdict};
use crate::lang::Lang;

/// The page, under a heading of this level.
pub fn blocks(calibration: &Calibration, level: u8, lang: Lang) -> Vec<Block> {
    let pick = |en: &str, zh: &str| lang.pick(en, zh).to_owned();
    let mut page = vec![Block::Heading(level, pick("Calibration", "预测校准"))];
    if calibration.all.predictions == 0 {
        page.push(Block::paragraph(
            Words::new()
                .plain(lang.pick(
                    "No prediction of yours has been measured yet. Give one before a run: ",
                    "你还没有被实测检验过的预测。在运行前给出预测：",
                ))
                .code("infralab lab run attention --predict naive_growth=4:3.5..4.5:about"),
        ));
        return page;
    }
    page.push(Block::Paragraph(verdict(calibration, lang)));
    let mut whole = table(String::new(), lang);
    whole.row(cells(pick("all", "全部"), &calibration.all));
    if calibration.before.predictions > 0 {
        whole.row(cells(pick("last 10", "最近 10 个"), &calibration.recent));
        whole.row(cells(pick("before", "更早"), &calibration.before));
    }
    page.extend(whole.block());
    for (title, column, groups) in [
        (pick("By lab", "按实验"), pick("lab", "实验"), &calibration.by_lab),
        (pick("By month", "按月"), pick("month", "月份"), &calibration.by_month),
    ] {
        let mut table = table(column, lang);
        for (name, score) in groups {
            table.row(cells(name.clone(), score));
        }
        page.push(Block::Heading(level + 1, title));
        page.extend(table.block());
    }
    page
}

/// What the intervals say, in words.
pub fn verdict(calibration: &Calibration, lang: Lang) -> Words {
    let (held, of) = (calibration.all.intervals.held, calibration.all.intervals.of);
    let (word, why) = match calibration.verdict {
        Verdict::TooFew => (
            lang.pick("Too few to tell", "样本太少，暂不下结论"),
            lang.pick(
                format!(": {of} intervals were measured, {ENOUGH} are needed."),
                format!("：已检验 {of} 个区间，至少需要 {ENOUGH} 个。"),
            ),
        ),
        Verdict::OverConfident => (
            lang.pick("Over-confident", "过于自信"),
            lang.pick(
                format!(": {held} of {of} intervals held, where 80 % should. Make them wider."),
                format!("：{of} 个区间命中 {held} 个，低于应有的 80 %。区间应放宽。"),
            ),
        ),
        Verdict::WellCalibrated => (
            lang.pick("Well calibrated", "校准良好"),
            lang.pick(
                format!(": {held} of {of} intervals held, which agrees with 80 %."),
                format!("：{of} 个区间命中 {held} 个，与 80 % 相符。"),
            ),
        ),
        Verdict::UnderConfident => (
            lang.pick("Under-confident", "过于保守"),
            lang.pick(
                format!(": {held} of {of} intervals held, where 80 % would do. Make them narrower."),
                format!("：{of} 个区间命中 {held} 个，高于所需的 80 %。区间可以收窄。"),
            ),
        ),
    };
    Words::new().strong(word).plain(why)
}

fn table(first: String, lang: Lang) -> Table {
    let columns = [
        lang.pick("predictions", "预测数"),
        lang.pick("median factor off", "误差倍数中位数"),
        lang.pick("intervals held", "区间命中"),
        lang.pick("95 % (Wilson)", "95 % 区间 (Wilson)"),
        lang.pick("sides right", "方向正确"),
    ];
    Table::new([first].into_iter().chain(columns.map(str::to_owned)))
}

fn cells(name: String, score: &Score) -> Vec<String> {
    let share =
        |s: Share| s.share_pct.map_or(NOTHING.into(), |pct| format!("{pct:.0} % ({}/{})", s.held, s.of));
    let wilson = score.intervals.wilson_95_pct;
    vec![
        name,
        score.predictions.to_string(),
        score.median_factor.map_or(NOTHING.into(), |f| format!("{f:.2}×")),
        share(score.intervals),
        wilson.map_or(NOTHING.into(), |[low, high]| format!("{low:.0} … {high:.0} %")),
        share(score.sides),
    ]
}
