//! The one table from keys to actions. Dispatch, footer, help and the README's table come from it. Every function is
//! reachable without letters, which a Chinese input method swallows.

mod table;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::msg::Action;
use crate::lang::Lang;

pub use table::BINDINGS;

/// Where a binding holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// Everywhere.
    Everywhere,
    /// Home.
    Home,
    /// List of notes.
    Notes,
    /// A note, guide or term on the whole screen.
    Reader,
    /// Search.
    Search,
    /// Glossary.
    Glossary,
    /// List of labs.
    Labs,
    /// A lab before its run.
    Lab,
    /// Setting LibTorch up.
    Setup,
    /// A run.
    Run,
    /// A recording of readings.
    Readings,
    /// List of runs.
    History,
    /// Calculators.
    Calc,
    /// The monitor.
    Monitor,
    /// Runs side by side.
    Compare,
    /// How well predictions hold.
    Calibration,
    /// Help.
    Help,
}

impl Place {
    /// All, as the help screen lists them.
    pub const ALL: [Self; 17] = [
        Self::Everywhere,
        Self::Home,
        Self::Notes,
        Self::Reader,
        Self::Search,
        Self::Glossary,
        Self::Labs,
        Self::Lab,
        Self::Setup,
        Self::Run,
        Self::Readings,
        Self::History,
        Self::Calc,
        Self::Monitor,
        Self::Compare,
        Self::Calibration,
        Self::Help,
    ];

    /// Name on the help screen.
    pub fn name(self, lang: Lang) -> &'static str {
        let (en, zh) = match self {
            Self::Everywhere => ("Everywhere", "任何地方"),
            Self::Home => ("Home", "首页"),
            Self::Notes => ("Notes", "笔记"),
            Self::Reader => ("Reading", "阅读"),
            Self::Search => ("Search", "搜索"),
            Self::Glossary => ("Glossary", "术语"),
            Self::Labs => ("Labs", "实验列表"),
            Self::Lab => ("Lab", "实验"),
            Self::Setup => ("LibTorch", "LibTorch"),
            Self::Run => ("Run", "运行"),
            Self::Readings => ("Recording of readings", "读数录制"),
            Self::History => ("History", "历史"),
            Self::Calc => ("Calculators", "计算器"),
            Self::Monitor => ("GPU", "GPU"),
            Self::Compare => ("Comparison", "对比"),
            Self::Calibration => ("Calibration", "校准"),
            Self::Help => ("Help", "帮助"),
        };
        lang.pick(en, zh)
    }
}

/// A key as the table writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    /// A printable character without modifiers.
    Char(char),
    /// Control and a letter.
    Ctrl(char),
    /// A function key.
    F(u8),
    /// Any other key without modifiers.
    Code(KeyCode),
}

/// One line of the table.
#[derive(Debug)]
pub struct Binding {
    /// Where it holds.
    pub on: Place,
    /// Keys, the one shown in the footer first.
    pub keys: &'static [Key],
    /// What they do.
    pub action: Action,
    /// English help.
    pub en: &'static str,
    /// Chinese help.
    pub zh: &'static str,
    /// Whether the footer shows it.
    pub footer: bool,
}

impl Binding {
    /// Help in `lang`.
    pub fn help(&self, lang: Lang) -> &'static str {
        lang.pick(self.en, self.zh)
    }
}

use Key::{Char, Code, Ctrl, F};

/// The action of a key at a place. While a text field has the focus (`typing`), characters and Backspace belong to it.
pub(super) fn action(place: Place, event: KeyEvent, typing: bool) -> Option<Action> {
    let key = key_of(event)?;
    if typing && matches!(key, Char(_) | Code(KeyCode::Backspace)) {
        return None;
    }
    let find = |on: Place| BINDINGS.iter().find(|b| b.on == on && b.keys.contains(&key)).map(|b| b.action);
    find(place).or_else(|| find(Place::Everywhere))
}

/// Bindings of a place for the footer: its own, then those that hold everywhere.
pub(super) fn footer(place: Place) -> impl Iterator<Item = &'static Binding> {
    let of = move |on: Place| BINDINGS.iter().filter(move |b| b.on == on && b.footer);
    of(place).chain(of(Place::Everywhere))
}

fn key_of(event: KeyEvent) -> Option<Key> {
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    if event.modifiers.contains(KeyModifiers::ALT) {
        return None;
    }
    Some(match event.code {
        KeyCode::Char(c) if control => Ctrl(c.to_ascii_lowercase()),
        KeyCode::Char(c) => Char(half_width(c)),
        KeyCode::F(n) => F(n),
        code => Code(code),
    })
}

/// A Chinese input method sends `／`, `１` and `。` for `/`, `1` and `.`.
fn half_width(c: char) -> char {
    match c {
        '\u{3000}' => ' ',
        '\u{3002}' => '.',
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        c => c,
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Char(' ') => f.write_str("Space"),
            Char(c) => write!(f, "{c}"),
            Ctrl(c) => write!(f, "Ctrl-{}", c.to_ascii_uppercase()),
            F(n) => write!(f, "F{n}"),
            Code(code) => f.write_str(match code {
                KeyCode::Up => "↑",
                KeyCode::Down => "↓",
                KeyCode::Left => "←",
                KeyCode::Right => "→",
                KeyCode::Enter => "Enter",
                KeyCode::Esc => "Esc",
                KeyCode::Tab => "Tab",
                KeyCode::BackTab => "Shift-Tab",
                KeyCode::PageUp => "PgUp",
                KeyCode::PageDown => "PgDn",
                KeyCode::Home => "Home",
                KeyCode::End => "End",
                KeyCode::Backspace => "Backspace",
                _ => "?",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::tui::msg::Tab;

    #[test]
    fn no_key_has_two_meanings_at_one_place() {
        let mut seen = HashMap::new();
        for binding in BINDINGS {
            assert!(!binding.en.is_empty() && !binding.zh.is_empty());
            for key in binding.keys {
                let before = seen.insert((binding.on, *key), binding.action);
                assert!(before.is_none(), "{key} at {:?}: {before:?} and {:?}", binding.on, binding.action);
            }
        }
    }

    #[test]
    fn every_function_is_reachable_without_letters() {
        for binding in BINDINGS {
            let reachable = binding.keys.iter().any(|k| match k {
                Char(c) => c.is_ascii_digit() || *c == ' ',
                Ctrl(_) | F(_) | Code(_) => true,
            });
            assert!(reachable, "{:?} at {:?}", binding.action, binding.on);
        }
    }

    #[test]
    fn full_width_keys_work_and_typing_keeps_its_characters() {
        let press = |c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE);
        assert_eq!(action(Place::Home, press('／'), false), Some(Action::Go(Tab::Search)));
        assert_eq!(action(Place::Home, press('５'), false), Some(Action::Go(Tab::Labs)));
        assert_eq!(action(Place::Search, press('5'), true), None);
        assert_eq!(
            action(Place::Search, KeyEvent::new(KeyCode::F(1), KeyModifiers::NONE), true),
            Some(Action::Help)
        );
    }
}
