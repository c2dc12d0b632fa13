//! Chinese names by their sound: `xiancun`, `xianc` and `xc` for 显存. Only titles and names are listened to: in
//! running text nearly every run of letters sounds like something.

use std::collections::HashMap;

use pinyin::ToPinyinMulti;

use super::analyze::{Script, scan};

/// Most names that one word is taken for.
const MAX_MEANT: usize = 12;

/// Letters of the longest syllable, `zhuang`.
const MAX_SYLLABLE: usize = 6;

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
    users: HashMap<Box<str>, (u32, u32)>,
    /// Names and the sign in them at which a syllable stands. Those that are gone may still be listed.
    by_syllable: HashMap<&'static str, Vec<(u32, u32)>>,
    /// Names by their first letter.
    by_letter: HashMap<u8, Vec<u32>>,
    gone: usize,
}

/// Lists are made anew when more names are gone than this, and than are in use.
const MOST_GONE: usize = 256;

impl Sounds {
    /// Adds a name. Names without Han characters are left out.
    pub(super) fn add(&mut self, name: &str) {
        if let Some((_, users)) = self.users.get_mut(name) {
            *users += 1;
            return;
        }
        let signs = signs(name);
        if signs.iter().any(|s| matches!(s, Sign::Han(..))) {
            self.users.insert(name.into(), (self.names.len() as u32, 1));
            self.list(signs);
        }
    }

    fn list(&mut self, signs: Box<[Sign]>) {
        let name = self.names.len() as u32;
        for (at, sign) in (0..).zip(&signs) {
            if let Sign::Han(_, syllables) = sign {
                for syllable in syllables {
                    self.by_syllable.entry(syllable).or_default().push((name, at));
                }
            }
        }
        let letters: Vec<u8> = match signs.first() {
            Some(Sign::Han(_, syllables)) => syllables.iter().map(|s| s.as_bytes()[0]).collect(),
            Some(Sign::Word(word)) => vec![word.as_bytes()[0]],
            None => Vec::new(),
        };
        for letter in letters {
            let names = self.by_letter.entry(letter).or_default();
            if names.last() != Some(&name) {
                names.push(name);
            }
        }
        self.names.push(signs);
    }

    /// Takes a name away that was added.
    pub(super) fn remove(&mut self, name: &str) {
        let Some((at, users)) = self.users.get_mut(name) else { return };
        *users -= 1;
        if *users > 0 {
            return;
        }
        self.names[*at as usize] = Box::default();
        self.users.remove(name);
        self.gone += 1;
        if self.gone > MOST_GONE.max(self.users.len()) {
            let names = std::mem::take(&mut self.names);
            (self.by_syllable, self.by_letter, self.gone) = (HashMap::new(), HashMap::new(), 0);
            let mut new = vec![0; names.len()];
            for (old, signs) in names.into_iter().enumerate().filter(|(_, signs)| !signs.is_empty()) {
                new[old] = self.names.len() as u32;
                self.list(signs);
            }
            self.users.values_mut().for_each(|(at, _)| *at = new[*at as usize]);
        }
    }

    /// Names, and the sign in them, at which a word may begin to be heard: at their first sign by its first letter,
    /// within them only by a whole syllable.
    fn candidates<'a>(&'a self, word: &'a str) -> impl Iterator<Item = (u32, u32)> + 'a {
        let first = self.by_letter.get(&word.as_bytes()[0]).into_iter().flatten().map(|name| (*name, 0));
        let within = (1..=word.len().min(MAX_SYLLABLE))
            .filter_map(|end| self.by_syllable.get(&word[..end]))
            .flatten()
            .copied()
            .filter(|(_, at)| *at > 0);
        first.chain(within)
    }

    /// What of the names a word of ASCII letters sounds like, whole names first. With `growing` the word may break off
    /// within a syllable.
    pub(super) fn meant(&self, word: &str, growing: bool) -> Vec<Meant> {
        if !(2..=MAX_LETTERS).contains(&word.len()) || !word.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Vec::new();
        }
        let mut found: Vec<Meant> = Vec::new();
        for (name, start) in self.candidates(word) {
            let (name, start) = (&self.names[name as usize], start as usize);
            let Some(heard) = name.get(start..).and_then(|signs| hear(word, signs, growing)) else {
                continue;
            };
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
            let full = found.len() >= 4 * MAX_MEANT;
            match found.iter_mut().find(|m| m.tokens == meant.tokens) {
                Some(known) => known.whole |= whole,
                None if full && !whole => {}
                None => found.push(meant),
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
    // Most names end here: their second sign is another.
    let after_first = match signs.first()? {
        Sign::Word(written) => word.starts_with(&**written) || growing && written.starts_with(word),
        Sign::Han(_, syllables) => {
            let second = signs.get(1);
            syllables.iter().any(|s| goes_on(word, s, second, growing))
        }
    };
    if !after_first {
        return None;
    }
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

/// Whether a word that begins with a syllable, or its first letters, can go on with the next sign.
fn goes_on(word: &str, syllable: &str, next: Option<&Sign>, growing: bool) -> bool {
    let shared = syllable.bytes().zip(word.bytes()).take_while(|(a, b)| a == b).count();
    let lengths = (1..=initial(syllable).min(shared)).chain((shared == syllable.len()).then_some(shared));
    growing && shared == word.len()
        || lengths.into_iter().any(|used| match (word.as_bytes().get(used), next) {
            (None, _) => true,
            (Some(letter), Some(Sign::Han(_, next))) => next.iter().any(|s| s.as_bytes()[0] == *letter),
            (Some(letter), Some(Sign::Word(next))) => next.as_bytes()[0] == *letter,
            (Some(_), None) => false,
        })
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
