//! Where lines may break. Latin words stay whole, Han may break anywhere except where the typesetting rules of Chinese
//! forbid it: closing punctuation never begins a line, opening punctuation never ends one. No hyphens are added.

use std::ops::Range;

use super::glyph::{Glyph, glyphs};
use super::style::Style;
use super::text::Text;

/// The lines of `text` at `width` cells, as byte ranges without the spaces at their ends. A unit wider than the line
/// is split between clusters; a single cluster wider than the line gets a line of its own, so every line makes
/// progress. There is always at least one line.
pub(super) fn wrap(text: &Text, width: usize) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut line = Line::default();
    let mut before = Before::default();
    for glyph in glyphs(text.as_str()) {
        if glyph.text == "\n" {
            lines.push(line.start..line.content_end);
            line = Line::starting_at(glyph.end());
            before = Before::default();
            continue;
        }
        let class = class(&glyph);
        if class == Class::Space {
            before.spaced = true;
            line.width += glyph.width;
            continue;
        }
        if before.allows(&glyph, class, text) {
            line.mark(&glyph);
        } else if before.spaced && before.class == Some(Class::Digit) {
            line.seam = Some(line.here(glyph.start));
        }
        if line.width + glyph.width > width {
            line.break_before(&glyph, width, &mut lines);
        }
        line.add(&glyph);
        before.step(&glyph, class);
    }
    lines.push(line.start..line.content_end);
    lines
}

/// Plain text in lines of at most `width` cells, broken by the same rules as notes.
pub fn plain_lines(text: &str, width: usize) -> Vec<String> {
    let text = Text::new(text, Style::default());
    wrap(&text, width).into_iter().map(|line| text.as_str()[line].to_owned()).collect()
}

/// The widest unit that [`wrap`] keeps whole and the widest line without wrapping, in cells.
pub(super) fn measure(text: &Text) -> (usize, usize) {
    let (mut unit, mut widest_unit, mut line, mut widest_line) = (0, 0, 0, 0);
    let mut before = Before::default();
    for glyph in glyphs(text.as_str()) {
        if glyph.text == "\n" {
            (unit, line, before) = (0, 0, Before::default());
            continue;
        }
        let class = class(&glyph);
        line += glyph.width;
        if class == Class::Space {
            before.spaced = true;
            unit += glyph.width;
            continue;
        }
        if before.allows(&glyph, class, text) {
            unit = 0;
        }
        unit += glyph.width;
        widest_unit = widest_unit.max(unit);
        widest_line = widest_line.max(line);
        before.step(&glyph, class);
    }
    (widest_unit, widest_line)
}

/// The longest pieces of `code` that fit `width`, spaces kept.
pub(super) fn cut(code: &str, width: usize) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let (mut start, mut used) = (0, 0);
    for glyph in glyphs(code) {
        if used + glyph.width > width && glyph.start > start {
            pieces.push(start..glyph.start);
            (start, used) = (glyph.start, 0);
        }
        used += glyph.width;
    }
    pieces.push(start..code.len());
    pieces
}

/// A place where the line may end: what it keeps, where the next one starts, and the width up to there.
#[derive(Debug, Clone, Copy)]
struct Mark {
    content_end: usize,
    next_start: usize,
    width: usize,
}

#[derive(Debug, Default)]
struct Line {
    start: usize,
    content_end: usize,
    width: usize,
    /// The last allowed break.
    mark: Option<Mark>,
    /// The last place inside the current unit where an address or a path is best split.
    seam: Option<Mark>,
}

impl Line {
    fn starting_at(start: usize) -> Self {
        Self { start, content_end: start, ..Self::default() }
    }

    fn here(&self, next_start: usize) -> Mark {
        Mark { content_end: self.content_end, next_start, width: self.width }
    }

    fn mark(&mut self, next: &Glyph<'_>) {
        if self.content_end > self.start {
            self.mark = Some(self.here(next.start));
            self.seam = None;
        }
    }

    fn add(&mut self, glyph: &Glyph<'_>) {
        self.width += glyph.width;
        self.content_end = glyph.end();
        // A space inside the unit is a better seam than any sign after it.
        let at_space = self.seam.is_some_and(|seam| seam.content_end < seam.next_start);
        if !at_space && glyph.text.len() == 1 && "/\\_-.,=&?:;+@|".contains(glyph.text) {
            self.seam = Some(self.here(glyph.end()));
        }
    }

    /// Ends the line at the last allowed break, and if what remains still has no room for `next`, splits the unit.
    fn break_before(&mut self, next: &Glyph<'_>, width: usize, lines: &mut Vec<Range<usize>>) {
        if let Some(mark) = self.mark {
            self.end_at(mark, lines);
        }
        while self.width + next.width > width && self.content_end > self.start {
            let seam = self.seam.filter(|seam| seam.width * 2 >= width && seam.next_start <= next.start);
            self.end_at(seam.unwrap_or_else(|| self.here(next.start)), lines);
        }
        if self.content_end <= self.start {
            // Nothing but spaces so far: they belong to no line.
            *self = Self::starting_at(next.start);
        }
    }

    fn end_at(&mut self, mark: Mark, lines: &mut Vec<Range<usize>>) {
        lines.push(self.start..mark.content_end);
        let seam = self.seam.filter(|seam| seam.next_start > mark.next_start);
        *self = Self {
            start: mark.next_start,
            content_end: self.content_end.max(mark.next_start),
            width: self.width - mark.width,
            mark: None,
            seam: seam.map(|seam| Mark { width: seam.width - mark.width, ..seam }),
        };
    }
}

/// How a cluster behaves at the edge of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Letters and signs: no break between two of them.
    Word,
    Digit,
    Space,
    /// Zero-width space: a break and nothing else.
    BreakHere,
    /// Holds both neighbours.
    Glue,
    /// Han, kana, Hangul, emoji: a break on either side.
    Wide,
    /// Chinese closing punctuation: never first on a line.
    CloseWide,
    /// Chinese opening punctuation: never last on a line.
    OpenWide,
    /// Latin closing punctuation: stays with what it follows directly.
    Close,
    /// Latin opening punctuation: stays with what follows directly.
    Open,
    /// A straight quotation mark, which may be either.
    Quote,
    Percent,
    Hyphen,
    Dash,
    Slash,
}

fn class(glyph: &Glyph<'_>) -> Class {
    match glyph.lead() {
        ' ' | '\t' | '\u{2000}'..='\u{2006}' | '\u{2008}'..='\u{200a}' | '\u{3000}' => Class::Space,
        '0'..='9' => Class::Digit,
        ',' | '.' | ':' | ';' | '?' | '!' | ')' | ']' | '}' | '”' | '’' | '·' | '℃' | '°' | '′' | '″' => {
            Class::Close
        }
        '(' | '[' | '{' => Class::Open,
        '"' | '\'' => Class::Quote,
        '%' | '‰' => Class::Percent,
        '-' => Class::Hyphen,
        '/' => Class::Slash,
        c if c.is_ascii() => Class::Word,
        '\u{4e00}'..='\u{9fff}' => Class::Wide,
        '，' | '。' | '、' | '；' | '：' | '？' | '！' | '）' | '」' | '』' | '】' | '》' | '〉' | '〕'
        | '〗' | '］' | '｝' | '…' | '‥' | '・' | '～' | '〜' | '％' | 'ー' | '々' | '〻' | 'ぁ' | 'ぃ'
        | 'ぅ' | 'ぇ' | 'ぉ' | 'っ' | 'ゃ' | 'ゅ' | 'ょ' | 'ゎ' | 'ァ' | 'ィ' | 'ゥ' | 'ェ' | 'ォ' | 'ッ'
        | 'ャ' | 'ュ' | 'ョ' | 'ヮ' | '｡' | '､' | '｣' | '．' => Class::CloseWide,
        '（' | '「' | '『' | '【' | '《' | '〈' | '〔' | '〖' | '［' | '｛' | '“' | '‘' | '￥' | '｢' => {
            Class::OpenWide
        }
        '—' => Class::Dash,
        '\u{200b}' => Class::BreakHere,
        '\u{a0}' | '\u{2007}' | '\u{202f}' | '\u{2060}' | '\u{200d}' => Class::Glue,
        _ if glyph.width >= 2 => Class::Wide,
        _ => Class::Word,
    }
}

/// What stands before a possible break.
#[derive(Debug, Default)]
struct Before {
    class: Option<Class>,
    /// Whether a letter precedes the last cluster, for hyphens inside words.
    after_letter: bool,
    letter: bool,
    spaced: bool,
}

impl Before {
    fn step(&mut self, glyph: &Glyph<'_>, class: Class) {
        *self = Self {
            class: Some(class),
            after_letter: self.letter && !self.spaced,
            letter: class == Class::Word && glyph.lead().is_alphabetic(),
            spaced: false,
        };
    }

    fn allows(&self, next: &Glyph<'_>, after: Class, text: &Text) -> bool {
        use Class::{
            BreakHere, Close, CloseWide, Dash, Digit, Glue, Hyphen, Open, OpenWide, Percent, Quote, Slash,
            Wide, Word,
        };
        let Some(before) = self.class else { return false };
        if after == CloseWide || before == OpenWide {
            return false;
        }
        if self.spaced {
            return before != Digit || !follows_its_figure(&text.as_str()[next.start..], after);
        }
        if after == Open && text.style_at(next.start).has(Style::FOOTNOTE) {
            return false;
        }
        match (before, after) {
            // A zero-width space allows a break even before these.
            (Glue | Open | Quote, _)
            | (_, Glue | Close | Percent | Slash | Hyphen | Quote)
            | (Dash, Dash) => before == BreakHere,
            (BreakHere | CloseWide | Wide | Dash, _) | (_, Wide | OpenWide) => true,
            (Hyphen, Word) => {
                self.after_letter
                    && next.lead().is_alphabetic()
                    && !text.style_at(next.start).has(Style::CODE)
            }
            _ => false,
        }
    }
}

/// Whether what comes after a figure and a space belongs to it: `60 %`, `16 GB`, `8 卡`.
fn follows_its_figure(text: &str, after: Class) -> bool {
    const UNITS: [&str; 28] = [
        "B", "KB", "MB", "GB", "TB", "PB", "KiB", "MiB", "GiB", "TiB", "kb", "Mb", "Gb", "FLOP", "MFLOP",
        "GFLOP", "TFLOP", "PFLOP", "s", "ms", "ns", "h", "min", "W", "kW", "MW", "MHz", "GHz",
    ];
    match after {
        Class::Percent | Class::Wide => true,
        Class::Word => {
            let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
            UNITS.contains(&&text[..end]) || text.starts_with("µs") || text.starts_with("μs")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::glyph::width;
    use super::*;

    fn lines(text: &str, at: usize) -> Vec<String> {
        let text = Text::new(text, Style::PLAIN);
        wrap(&text, at).into_iter().map(|r| text.as_str()[r].to_owned()).collect()
    }

    #[test]
    fn latin_words_stay_whole() {
        assert_eq!(lines("the quick brown fox", 9), ["the quick", "brown fox"]);
        assert_eq!(lines("one  two", 3), ["one", "two"]);
        assert_eq!(lines("state-of-the-art kernels", 10), ["state-of-", "the-art", "kernels"]);
        assert_eq!(lines("400 GB/s and -5 or 8-9", 7), ["400", "GB/s", "and -5", "or 8-9"]);
    }

    #[test]
    fn mixed_runs_fill_the_line() {
        assert_eq!(lines("Mixed vault 不只是一个仓库", 20), ["Mixed vault 不只是一", "个仓库"]);
        assert_eq!(lines("用NCCL做all-reduce通信", 10), ["用NCCL做", "all-reduce", "通信"]);
    }

    #[test]
    fn chinese_punctuation_keeps_its_side() {
        assert_eq!(lines("显存带宽，决定解码", 8), ["显存带", "宽，决定", "解码"]);
        assert_eq!(lines("它叫（显存墙）吗", 6), ["它叫", "（显存", "墙）吗"]);
        assert_eq!(lines("好！？”他说", 8), ["好！？”", "他说"]);
        assert_eq!(lines("等等……然后", 5), ["等", "等……", "然后"]);
        assert_eq!(lines("甲——乙丙", 5), ["甲——", "乙丙"]);
    }

    #[test]
    fn a_figure_keeps_its_unit() {
        assert_eq!(lines("占 60 %，其余", 6), ["占", "60 %，", "其余"]);
        assert_eq!(lines("takes 16 GB/s here", 8), ["takes", "16 GB/s", "here"]);
        assert_eq!(lines("takes 16 Pods here", 8), ["takes 16", "Pods", "here"]);
        assert_eq!(lines("约 64 卡", 5), ["约", "64 卡"]);
    }

    #[test]
    fn an_address_is_split_at_its_seams() {
        assert_eq!(lines("https://example.org/a/long/path", 15), ["https://", "example.org/a/", "long/path"]);
        assert_eq!(lines("aaaaaaaaaa", 4), ["aaaa", "aaaa", "aa"]);
    }

    #[test]
    fn hard_breaks_and_empty_text() {
        assert_eq!(lines("a\n\nb", 5), ["a", "", "b"]);
        assert_eq!(lines("", 5), [""]);
        assert_eq!(lines("字", 1), ["字"]);
        assert_eq!(lines("a 字 b", 1), ["a", "字", "b"]);
    }

    #[test]
    fn code_is_cut_and_keeps_its_spaces() {
        assert_eq!(cut("  ab  字字", 5), [0..5, 5..12]);
        assert_eq!(cut("", 5).len(), 1);
    }

    const CLOSING: &str = "，。、；：？！）」』】》…";
    const OPENING: &str = "（「『【《";

    proptest::proptest! {
        #[test]
        fn no_line_breaks_a_rule(
            text in "([a-z]{1,9}|[显存带宽决定]{1,6}|[，。、；：？！）」』】》…]|[（「『【《]|👩‍🔬|e\u{301}|⚠\u{fe0f}| |\n|[0-9]{1,4} %|https://a\\.b/c){0,30}",
            at in 1_usize..60,
        ) {
            let text = Text::new(&text, Style::PLAIN).finish();
            let (unit, widest) = measure(&text);
            let ranges = wrap(&text, at);
            let mut end = 0;
            for range in &ranges {
                proptest::prop_assert!(text.as_str()[end..range.start].chars().all(char::is_whitespace));
                end = range.end;
                let line = &text.as_str()[range.clone()];
                proptest::prop_assert!(width(line) <= at || glyphs(line).count() == 1, "{line:?} at {at}");
                // Where every unit fits, no rule has to give way.
                if unit <= at {
                    let hard = range.start == 0 || text.as_str()[..range.start].ends_with('\n');
                    proptest::prop_assert!(hard || !line.starts_with(|c| CLOSING.contains(c)), "{line:?} at {at}");
                    let hard = text.as_str()[range.end..].trim_start_matches(' ').starts_with('\n') || range.end == text.as_str().len();
                    proptest::prop_assert!(hard || !line.ends_with(|c| OPENING.contains(c)), "{line:?} at {at}");
                }
            }
            proptest::prop_assert_eq!(end, text.as_str().len());
            if widest <= at {
                proptest::prop_assert_eq!(ranges.len(), text.as_str().matches('\n').count() + 1);
            }
        }
    }
}
