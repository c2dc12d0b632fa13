//! Colours. The base is always the terminal's own foreground and background; a theme only adds accents out of the 16
//! that every terminal defines, and no state is told by colour alone.

use ratatui::style::{Color, Modifier, Style};

use super::markdown::MarkdownStyles;
use crate::progress::Mark;

/// A set of accents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Theme {
    /// For dark backgrounds.
    #[default]
    Dark,
    /// For light backgrounds.
    Light,
    /// No colour at all.
    Mono,
}

/// What is selected: reversed in every theme.
pub(super) const SELECTED: Style = Style::new().add_modifier(Modifier::REVERSED);

/// What a colour is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Titles, the selected tab, key names.
    Accent,
    /// Second series, links.
    Link,
    /// Good: known, passed, saved.
    Good,
    /// Middle: learning, walls.
    Warn,
    /// Bad: failures.
    Bad,
    /// Less important text.
    Dim,
    /// Code.
    Code,
}

impl Theme {
    /// The next one in turn.
    #[must_use]
    pub(super) fn next(self) -> Self {
        match self {
            Self::Dark => Self::Light,
            Self::Light => Self::Mono,
            Self::Mono => Self::Dark,
        }
    }

    /// Name in `lang` and files.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Dark => "dark",
            Self::Light => "light",
            Self::Mono => "mono",
        }
    }

    /// The theme that the environment asks for: `INFRALAB_THEME`, else mono under `NO_COLOR` or a terminal without
    /// colours, else light where `COLORFGBG` tells of a light background, else dark.
    pub(super) fn from_env(var: impl Fn(&str) -> Option<String>) -> Self {
        let set = |k: &str| var(k).filter(|v| !v.is_empty());
        match set("INFRALAB_THEME").as_deref() {
            Some("dark") => return Self::Dark,
            Some("light") => return Self::Light,
            Some("mono") => return Self::Mono,
            _ => {}
        }
        if set("NO_COLOR").is_some() || matches!(set("TERM").as_deref(), Some("dumb" | "vt100" | "vt220")) {
            return Self::Mono;
        }
        let background =
            set("COLORFGBG").and_then(|v| v.rsplit(';').next().and_then(|b| b.parse::<u8>().ok()));
        if matches!(background, Some(7 | 9..=15)) { Self::Light } else { Self::Dark }
    }

    /// The style of a role.
    pub(super) fn style(self, role: Role) -> Style {
        let plain = Style::new();
        if self == Self::Mono {
            return match role {
                Role::Accent | Role::Bad | Role::Warn => plain.add_modifier(Modifier::BOLD),
                Role::Link => plain.add_modifier(Modifier::UNDERLINED),
                Role::Good | Role::Code => plain,
                Role::Dim => plain.add_modifier(Modifier::DIM),
            };
        }
        let light = self == Self::Light;
        let pick = |dark: Color, for_light: Color| if light { for_light } else { dark };
        match role {
            Role::Accent => plain.fg(pick(Color::Cyan, Color::Blue)).add_modifier(Modifier::BOLD),
            Role::Link => plain.fg(pick(Color::LightBlue, Color::Blue)).add_modifier(Modifier::UNDERLINED),
            Role::Good => plain.fg(Color::Green),
            Role::Warn => plain.fg(pick(Color::Yellow, Color::Magenta)),
            Role::Bad => plain.fg(pick(Color::LightRed, Color::Red)).add_modifier(Modifier::BOLD),
            Role::Dim => plain.add_modifier(Modifier::DIM),
            Role::Code => plain.fg(pick(Color::LightGreen, Color::Magenta)),
        }
    }

    /// Colours for the curves of a chart, in turn; told apart by marker and legend as well.
    pub(super) fn curve(self, i: usize) -> Style {
        let dark = [Color::Cyan, Color::Yellow, Color::Green, Color::Magenta, Color::LightRed];
        let light = [Color::Blue, Color::Red, Color::Green, Color::Magenta, Color::Cyan];
        match self {
            Self::Dark => Style::new().fg(dark[i % dark.len()]),
            Self::Light => Style::new().fg(light[i % light.len()]),
            Self::Mono => Style::new(),
        }
    }

    /// The look of a note.
    pub(super) fn markdown(self) -> MarkdownStyles {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let (accent, dim, link) = (self.style(Role::Accent), self.style(Role::Dim), self.style(Role::Link));
        MarkdownStyles {
            heading: [accent.add_modifier(Modifier::UNDERLINED), accent, bold],
            quote: dim,
            correction: self.style(Role::Warn),
            code_block: self.style(Role::Code),
            code: self.style(Role::Code),
            emphasis: Style::new().add_modifier(Modifier::ITALIC),
            strong: bold,
            correct_label: self.style(Role::Warn).add_modifier(Modifier::BOLD),
            link,
            dim,
            rule: dim,
            table_border: dim,
            link_selected: SELECTED,
            found: self.style(Role::Warn),
            found_current: SELECTED,
        }
    }

    /// Glyph and style of a mark; the word is beside it wherever there is room.
    pub(super) fn mark(self, mark: Option<Mark>) -> (&'static str, Style) {
        match mark {
            Some(Mark::Known) => ("✓", self.style(Role::Good)),
            Some(Mark::Learning) => ("~", self.style(Role::Warn)),
            Some(Mark::Todo) => ("+", self.style(Role::Accent)),
            None => ("·", self.style(Role::Dim)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_is_asked_in_order() {
        let of = |vars: &'static [(&'static str, &'static str)]| {
            Theme::from_env(|k| vars.iter().find(|(n, _)| *n == k).map(|(_, v)| (*v).to_owned()))
        };
        assert_eq!(of(&[]), Theme::Dark);
        assert_eq!(of(&[("NO_COLOR", "1")]), Theme::Mono);
        assert_eq!(of(&[("NO_COLOR", "1"), ("INFRALAB_THEME", "light")]), Theme::Light);
        assert_eq!(of(&[("COLORFGBG", "0;15")]), Theme::Light);
        assert_eq!(of(&[("COLORFGBG", "15;0")]), Theme::Dark);
    }
}
