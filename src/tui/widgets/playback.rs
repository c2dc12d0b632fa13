//! The line of a replay: whether it plays, where it is, how fast, and what moves it.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::lab::replay::Playback;
use crate::tui::app::Core;
use crate::tui::glyphs::Glyphs;
use crate::tui::theme::Role;
use crate::units;

/// Columns of the bar, at least and at most.
const BAR: (usize, usize) = (5, 60);

/// Draws the line. What has no room is left out: first most keys, then all, then the bar.
pub(in crate::tui) fn draw(frame: &mut Frame<'_>, row: Rect, core: &Core, playback: &Playback) {
    let (lang, theme, ascii) = (core.lang, core.theme, core.glyphs == Glyphs::Ascii);
    // Each state has a shape and a word; colour only repeats them.
    let (glyph, word, role) = if playback.is_at_end() {
        (if ascii { "#" } else { "■" }, lang.pick("at the end", "已到结尾"), Role::Dim)
    } else if playback.is_paused() {
        (if ascii { "=" } else { "‖" }, lang.pick("held", "已暂停"), Role::Warn)
    } else {
        (if ascii { ">" } else { "▶" }, lang.pick("replay", "回放中"), Role::Good)
    };
    let state = format!(" {glyph} {word} ");
    let (at, length) = (playback.at_ns(), playback.length_ns());
    let numbers = format!(" {} / {}  ×{} ", units::seconds(at), units::seconds(length), playback.speed());
    let keys = lang.pick(
        " Space hold  PgUp PgDn ±10 %  , . step  + - speed  F6 all",
        " 空格 暂停  PgUp PgDn ±10 %  , . 单步  + - 速度  F6 看全部",
    );
    let few = lang.pick(" F8 hold  F1 keys", " F8 暂停  F1 按键");
    let room = usize::from(row.width).saturating_sub(state.width() + numbers.width());
    let keys = [keys, few, ""].into_iter().find(|keys| room >= keys.width() + BAR.0).unwrap_or_default();
    let bar = room - keys.width();
    let bar = if bar < BAR.0 { String::new() } else { bar_of(at, length, bar.min(BAR.1), ascii) };
    let line = Line::from(vec![
        Span::styled(state, theme.style(role)),
        Span::styled(bar, theme.style(Role::Accent)),
        Span::raw(numbers),
        Span::styled(keys, theme.style(Role::Dim)),
    ]);
    frame.render_widget(line, row);
}

/// The way done, the position, the way left; a recording without length is done.
fn bar_of(at_ns: u64, length_ns: u64, columns: usize, ascii: bool) -> String {
    let last = columns - 1;
    let done = (u128::from(at_ns) * last as u128).checked_div(u128::from(length_ns)).unwrap_or(last as u128);
    let done = usize::try_from(done).unwrap_or(last).min(last);
    let (before, here, after) = if ascii { ("=", "|", "-") } else { ("━", "●", "─") };
    before.repeat(done) + here + &after.repeat(last - done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_has_its_width_and_its_ends() {
        assert_eq!(bar_of(0, 100, 5, true), "|----");
        assert_eq!(bar_of(50, 100, 5, true), "==|--");
        assert_eq!(bar_of(99, 100, 5, true), "===|-", "only the end is at the end");
        assert_eq!(bar_of(100, 100, 5, true), "====|");
        assert_eq!(bar_of(0, 0, 5, true), "====|");
        assert_eq!(bar_of(u64::MAX, u64::MAX, 5, false), "━━━━●");
    }
}
