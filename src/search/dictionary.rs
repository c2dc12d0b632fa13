//! Chinese words: a general dictionary with the glossary's names on top. It takes a while to load, so it is loaded on
//! a thread of the caller's choice; the index answers without it until then.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use jieba_rs::Jieba;

/// A handle to the dictionary of one index. Clones are the same dictionary.
#[derive(Clone, Default)]
pub struct Dictionary {
    names: Arc<[String]>,
    jieba: Arc<OnceLock<Jieba>>,
}

impl std::fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dictionary").field("loaded", &self.is_loaded()).finish_non_exhaustive()
    }
}

impl Dictionary {
    /// A dictionary that will know these names, runs of Han characters, as words.
    pub(super) fn new(names: Vec<String>) -> Self {
        Self { names: names.into(), jieba: Arc::default() }
    }

    /// Loads it; returns at once when it is loaded.
    pub fn load(&self) {
        self.jieba.get_or_init(|| {
            let mut jieba = Jieba::new();
            for name in self.names.iter() {
                jieba.add_word(name, None, None);
            }
            jieba
        });
    }

    /// Whether it is loaded.
    pub fn is_loaded(&self) -> bool {
        self.jieba.get().is_some()
    }

    /// The words of a run of Han characters; none before the dictionary is loaded.
    pub(super) fn words<'a>(&self, run: &'a str) -> Option<Vec<&'a str>> {
        Some(self.jieba.get()?.cut(run, false).into_iter().map(|t| t.word).collect())
    }

    /// Whether words begin and end at both ends of a range of a run; nothing before the dictionary is loaded.
    pub(super) fn is_whole(&self, run: &str, range: &Range<usize>) -> Option<bool> {
        let (mut at, mut begins, mut ends) = (0, range.start == 0, range.end == run.len());
        for word in self.words(run)? {
            begins |= at == range.start;
            at += word.len();
            ends |= at == range.end;
        }
        Some(begins && ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_glossary_are_words() {
        let dictionary = Dictionary::new(vec!["流水线".into(), "注意力".into()]);
        assert_eq!(dictionary.words("注意力"), None);
        dictionary.load();
        assert_eq!(dictionary.words("注意力很慢"), Some(vec!["注意力", "很", "慢"]));
        assert_eq!(dictionary.words("流水线的空泡"), Some(vec!["流水线", "的", "空泡"]));
    }

    #[test]
    fn a_piece_that_cuts_words_is_told_from_a_word() {
        let dictionary = Dictionary::new(Vec::new());
        dictionary.load();
        let whole = |run: &str, piece: &str| {
            let start = run.find(piece).expect("there");
            dictionary.is_whole(run, &(start..start + piece.len()))
        };
        assert_eq!(whole("产品和服务", "和服"), Some(false));
        assert_eq!(whole("产品和服务", "服务"), Some(true));
        assert_eq!(whole("片内存储", "内存"), Some(false));
        assert_eq!(whole("内存", "内存"), Some(true));
    }
}
