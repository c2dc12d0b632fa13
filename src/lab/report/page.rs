//! The report: a learner's own runs by phase of the route, with what is still missing.

use std::collections::BTreeSet;

use super::document::{Block, NOTHING, Table, Words};
use super::route::{Evidence, PHASES, Phase, marks, missing};
use super::{calibration, run};
use crate::lab::PastRun;
use crate::lab::calibration::{Calibration, Predicted};
use crate::lab::history::{Listed, Place};
use crate::lang::Lang;

/// What a report is made of.
#[derive(Debug)]
pub struct Report<'a> {
    /// Every run in the history, newest first.
    pub listed: &'a [Listed],
    /// Those that are shown whole, newest first.
    pub shown: &'a [PastRun],
    /// Terms that are known, being learned, to learn and not marked; `None` where the log cannot be read.
    pub marks: Option<[usize; 4]>,
    /// Language.
    pub lang: Lang,
}

/// The runs that a report shows when none is named: the newest that completed of each lab, device and size. Recordings
/// of readings are of no lab.
pub fn pick(listed: &[Listed], with_recordings: bool) -> Vec<&Listed> {
    let mut seen = BTreeSet::new();
    listed
        .iter()
        .filter(|r| r.outcome() == "completed" && !r.is_of_readings() && (with_recordings || !r.shipped()))
        .filter(|r| {
            seen.insert((
                r.header.request.lab.as_str(),
                r.device.as_deref(),
                r.header.request.size,
                r.shipped(),
            ))
        })
        .collect()
}

impl Report<'_> {
    /// The page.
    pub fn blocks(&self) -> Vec<Block> {
        let lang = self.lang;
        let mut page = vec![
            Block::Heading(1, lang.pick("Measured with infralab", "infralab 实测报告").into()),
            Block::paragraph(self.about()),
        ];
        for phase in &PHASES {
            page.extend(self.phase(phase));
        }
        let elsewhere: Vec<&PastRun> = self
            .shown
            .iter()
            .filter(|r| r.lab().is_none_or(|l| PHASES.iter().all(|p| p.number != l.phase)))
            .collect();
        if !elsewhere.is_empty() {
            page.push(Block::Heading(
                2,
                lang.pick("Labs that this version does not have", "此版本没有的实验").into(),
            ));
            page.extend(elsewhere.iter().flat_map(|r| run::blocks(r, 3, lang)));
        }
        page.extend(calibration::blocks(&Calibration::of(&Predicted::own(self.listed)), 2, lang));
        if let Some(table) = self.all_runs().block() {
            page.push(Block::Heading(2, lang.pick("All runs", "全部运行").into()));
            page.push(table);
        }
        tell_pictures_apart(&mut page);
        page
    }

    fn about(&self) -> Words {
        let own = self.listed.iter().filter(|r| !r.shipped() && !r.is_of_readings()).count();
        let (shown, version) = (self.shown.len(), env!("CARGO_PKG_VERSION"));
        let words = self.lang.pick(
            format!(
                "infralab {version}. Runs in the history: {own}; shown whole below: {shown}. Every number has its unit; \
                 MiB and GiB are powers of two, GB is 10⁹ bytes; N/A was not measured; a range is the smallest and \
                 the largest of the repetitions."
            ),
            format!(
                "infralab {version}。历史中有 {own} 次运行，下面完整展示 {shown} 次。每个数都带单位；MiB、GiB 为 2 的幂，\
                 GB 为 10⁹ 字节；N/A 表示没有测到；区间为重复测量中的最小值与最大值。"
            ),
        );
        words.into()
    }

    fn phase(&self, phase: &Phase) -> Vec<Block> {
        let lang = self.lang;
        let mut table = Table::new([
            lang.pick("demanded", "要求"),
            lang.pick("numbers", "数据"),
            lang.pick("from / next step", "来源 / 下一步"),
        ]);
        for demand in phase.demands {
            let mut found = self
                .shown
                .iter()
                .filter_map(|r| demand.numbers(r, lang).map(|numbers| (numbers, source(r, lang))))
                .peekable();
            if found.peek().is_none() {
                let (numbers, next) = match demand.evidence {
                    Evidence::Marks => marks(self.marks, lang),
                    _ => missing(demand, lang),
                };
                table.row([demand.text(lang).to_owned(), numbers, next]);
            }
            for (numbers, source) in found {
                table.row([demand.text(lang).to_owned(), numbers, source]);
            }
        }
        let mut blocks = vec![Block::Heading(2, phase.title(lang)), Block::Table(table)];
        let here = self.shown.iter().filter(|r| r.lab().is_some_and(|l| l.phase == phase.number));
        blocks.extend(here.flat_map(|r| run::blocks(r, 3, lang)));
        blocks
    }

    fn all_runs(&self) -> Table {
        let lang = self.lang;
        let mut table = Table::new([
            lang.pick("started (UTC)", "开始时间 (UTC)"),
            lang.pick("run", "运行"),
            lang.pick("lab", "实验"),
            lang.pick("size", "规模"),
            lang.pick("device", "设备"),
            lang.pick("outcome", "结果"),
            lang.pick("above", "上文"),
        ]);
        let shown: BTreeSet<&str> = self.shown.iter().map(|r| r.record.run.as_str()).collect();
        // Recordings of readings measure no lab.
        for listed in self.listed.iter().filter(|r| !r.is_of_readings()) {
            let here = shown.contains(listed.header.run.as_str());
            // A recording is somebody else's run: it belongs here only where it is shown.
            if matches!(listed.place, Place::Shipped(_)) && !here {
                continue;
            }
            let recording = if listed.shipped() { lang.pick(" (recording)", "（录制）") } else { "" };
            table.row([
                run::date(listed.header.unix_ms),
                listed
                    .known_as()
                    .map_or(listed.header.run.clone(), |f| format!("{} ({f})", listed.header.run)),
                listed.header.request.lab.clone(),
                listed.header.request.size.name().into(),
                listed.device.clone().unwrap_or_else(|| NOTHING.into()),
                format!("{}{recording}", run::outcome_word(listed.outcome(), lang)),
                if here { "✓".to_owned() } else { String::new() },
            ]);
        }
        table
    }
}

fn source(run: &PastRun, lang: Lang) -> String {
    let recording = if run.shipped { lang.pick(" (recording)", "（录制）") } else { "" };
    let disturbed =
        if run.disturbances().is_empty() { "" } else { lang.pick("; disturbed", "；受到干扰") };
    format!("{}, {}{recording}{disturbed}", run.device().unwrap_or("?"), run.record.run)
}

/// Gives every picture a file of its own.
fn tell_pictures_apart(page: &mut [Block]) {
    let mut taken = BTreeSet::new();
    for block in page {
        if let Block::Picture(picture) = block {
            let plain = picture.name.clone();
            let mut next = 2;
            while !taken.insert(picture.name.clone()) {
                picture.name = format!("{plain}-{next}");
                next += 1;
            }
        }
    }
}
