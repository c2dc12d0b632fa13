//! Chinese names by their sound: `xiancun`, `xianc` and `xc` for 显存. Only titles and names are listened to: in
//! running text nearly every run of letters sounds like something.

use std::collections::HashMap;

use pinyin::ToPinyinMulti;

use super::analyze::{Script, scan};

/// Most names that one word is taken for.
const MAX_MEANT: usize = 12;

/// A longer word is no name.
const MAX_LETTERS: usize = 32;

/// Fewest initials that are enough for the beginning of a longer name.
const MIN_INITIALS: usize = 3;

/// One sign of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Sign {
    /// A Han character with its syllables, without tones.
    Han(char, Box<[&'static str]>),
    /// A word, as it is written.
    Word(Box<str>),
}

/// Part of a name that a word sounds like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Meant {
    /// Its tokens: words and single Han characters.
    pub(super) tokens: Vec<String>,
    /// Every syllable is spelled out, the last one perhaps not to its end.
    pub(super) spelled: bool,
    /// It is a whole name.
    pub(super) whole: bool,
}

/// The names and how they sound.
#[derive(Debug, Default)]
pub(super) struct Sounds {
    names: Vec<Box<[Sign]>>,
    /// Names that are in use, and how often.
    users: HashMap<Box<str>, (usize, usize)>,
    free: Vec<usize>,
}

impl Sounds {
    /// Adds a name. Names without Han characters are left out.
    pub(super) fn add(&mut self, name: &str) {
        if let Some((_, users)) = self.users.get_mut(name) {
            *users += 1;
            return;
        }
        let signs = signs(name);
        if !signs.iter().any(|s| matches!(s, Sign::Han(..))) {
            return;
        }
        let at = self.free.pop().unwrap_or(self.names.len());
        if at == self.names.len() {
            self.names.push(signs);
        } else {
            self.names[at] = signs;
        }
        self.users.insert(name.into(), (at, 1));
    }

    /// Takes a name away that was added.
    pub(super) fn remove(&mut self, name: &str) {
        let Some((at, users)) = self.users.get_mut(name) else { return };
        *users -= 1;
        if *users == 0 {
            let at = *at;
            self.names[at] = Box::default();
            self.free.push(at);
            self.users.remove(name);
        }
    }

    /// What of the names a word of ASCII letters sounds like, whole names first. With `growing` the word may break off
    /// within a syllable.
    pub(super) fn meant(&self, word: &str, growing: bool) -> Vec<Meant> {
        if !(2..=MAX_LETTERS).contains(&word.len()) || !word.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Vec::new();
        }
        let mut found: Vec<Meant> = Vec::new();
        for name in &self.names {
            for start in 0..name.len() {
                let Some(heard) = hear(word, &name[start..], growing) else { continue };
                let whole = start == 0 && heard.signs == name.len();
                let spelled = heard.initials == 0 && heard.han > 0;
                // One syllable within a name says too little, and so do initials in the middle of one.
                let enough = if spelled {
                    whole || heard.han >= 2
                } else {
                    start == 0 && heard.han > 0 && (whole || heard.han >= MIN_INITIALS)
                };
                if !enough {
                    continue;
                }
                let tokens = name[start..start + heard.signs].iter().map(Sign::text).collect();
                let meant = Meant { tokens, spelled, whole };
                match found.iter_mut().find(|m| m.tokens == meant.tokens) {
                    Some(known) => known.whole |= whole,
                    None => found.push(meant),
                }
            }
        }
        found.sort_by_key(|m| (!m.whole, !m.spelled, m.tokens.len()));
        found.truncate(MAX_MEANT);
        found
    }
}

impl Sign {
    fn text(&self) -> String {
        match self {
            Self::Han(c, _) => c.to_string(),
            Self::Word(word) => word.to_string(),
        }
    }
}

fn signs(name: &str) -> Box<[Sign]> {
    let mut signs = Vec::new();
    scan(name, |text, _, script, _| match (script, text.chars().next()) {
        (Script::Han, Some(c)) => signs.push(Sign::Han(c, syllables(c))),
        (Script::Word, _) => signs.push(Sign::Word(text.into())),
        _ => {}
    });
    signs.into()
}

/// Syllables of a character. `lü` is typed `lv`, and by many `lu`.
fn syllables(c: char) -> Box<[&'static str]> {
    let mut all: Vec<&'static str> = Vec::new();
    for reading in c.to_pinyin_multi().into_iter().flatten() {
        let plain = match reading.plain() {
            "lü" | "lv" => ["lv", "lu"].as_slice(),
            "nü" | "nv" => &["nv", "nu"],
            "lüe" | "lve" => &["lve", "lue"],
            "nüe" | "nve" => &["nve", "nue"],
            _ => &[reading.plain()],
        };
        for syllable in plain {
            if !all.contains(syllable) && syllable.is_ascii() {
                all.push(syllable);
            }
        }
    }
    all.into()
}

/// How a word was heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Heard {
    signs: usize,
    han: usize,
    /// Han characters of which only the first sound was typed.
    initials: usize,
}

/// Hears all of `word` in the beginning of these signs; with the fewest initials.
fn hear(word: &str, signs: &[Sign], growing: bool) -> Option<Heard> {
    let mut best: Option<Heard> = None;
    // Fewest initials with which the signs so far are the first so many letters.
    let mut reached = [None; MAX_LETTERS + 1];
    reached[0] = Some(0);
    let mut han = 0;
    for (i, sign) in signs.iter().enumerate() {
        han += usize::from(matches!(sign, Sign::Han(..)));
        let mut next = [None; MAX_LETTERS + 1];
        let mut reach = |letters: usize, initials: usize| {
            let known: &mut Option<usize> = &mut next[letters];
            *known = Some(known.map_or(initials, |k| k.min(initials)));
        };
        for (at, initials) in reached[..word.len()].iter().enumerate().filter_map(|(at, r)| Some((at, (*r)?)))
        {
            let rest = &word[at..];
            match sign {
                Sign::Word(written) if rest.starts_with(&**written) => reach(at + written.len(), initials),
                Sign::Word(written) if growing && written.starts_with(rest) => reach(word.len(), initials),
                Sign::Word(_) => {}
                Sign::Han(_, syllables) => {
                    for syllable in syllables {
                        let shared = syllable.bytes().zip(rest.bytes()).take_while(|(a, b)| a == b).count();
                        if shared == syllable.len() || growing && shared == rest.len() && shared > 1 {
                            reach(at + shared, initials);
                        }
                        for letters in 1..=initial(syllable).min(shared) {
                            reach(at + letters, initials + 1);
                        }
                    }
                }
            }
        }
        if let Some(initials) = next[word.len()]
            && best.is_none_or(|b| initials < b.initials)
        {
            best = Some(Heard { signs: i + 1, han, initials });
        }
        if next[..word.len()].iter().all(Option::is_none) {
            break;
        }
        reached = next;
    }
    best
}

/// Letters of the first sound.
fn initial(syllable: &str) -> usize {
    if ["zh", "ch", "sh"].iter().any(|two| syllable.starts_with(two)) { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sounds() -> Sounds {
        let mut sounds = Sounds::default();
        for name in ["显存", "显存带宽", "KV 缓存", "数据并行", "利用率", "量化", "attention"]
        {
            sounds.add(name);
        }
        sounds
    }

    fn meant(word: &str, growing: bool) -> Vec<String> {
        sounds().meant(word, growing).into_iter().map(|m| m.tokens.concat()).collect()
    }

    #[test]
    fn syllables_initials_and_both() {
        assert_eq!(meant("xiancun", false), ["显存"]);
        assert_eq!(meant("xc", false), ["显存"]);
        assert_eq!(meant("xiancundaikuan", false), ["显存带宽"]);
        assert_eq!(meant("xcdk", false), ["显存带宽"]);
        assert_eq!(meant("xcun", false), ["显存"]);
        assert_eq!(meant("daikuan", false), ["带宽"]);
        assert_eq!(meant("kvhuancun", false), ["kv缓存"]);
        assert_eq!(meant("kvhc", false), ["kv缓存"]);
        assert_eq!(meant("shujubingxing", false), ["数据并行"]);
        assert_eq!(meant("sjbx", false), ["数据并行"]);
        assert_eq!(meant("shjbx", false), ["数据并行"]);
    }

    #[test]
    fn a_character_may_sound_differently_and_be_spelled_without_its_dots() {
        assert_eq!(meant("shujubinghang", false), ["数据并行"]);
        for spelled in ["liyonglv", "liyonglu"] {
            assert_eq!(meant(spelled, false), ["利用率"]);
        }
    }

    #[test]
    fn the_last_syllable_may_still_grow() {
        assert_eq!(meant("xiancu", true), ["显存"]);
        assert_eq!(meant("xiancu", false), [""; 0]);
        assert_eq!(meant("lianghu", true), ["量化"]);
    }

    #[test]
    fn little_is_too_little() {
        assert_eq!(meant("dk", false), [""; 0]);
        assert_eq!(meant("dai", false), [""; 0]);
        assert_eq!(meant("x", true), [""; 0]);
        assert_eq!(meant("显", true), [""; 0]);
    }

    #[test]
    fn a_name_that_is_gone_is_not_heard() {
        let mut sounds = sounds();
        sounds.add("显存");
        sounds.remove("显存");
        assert_eq!(sounds.meant("xc", false).len(), 1);
        sounds.remove("显存");
        assert_eq!(sounds.meant("xc", false).len(), 0);
        sounds.remove("显存");
        assert_eq!(sounds.meant("xiancun", false).len(), 1);
    }
}
