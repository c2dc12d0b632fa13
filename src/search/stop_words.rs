//! Words that make a sentence of a question and say nothing of what it is about.

use super::analyze::stem;

/// Words that a question needs and a search does not. A query of nothing else keeps them.
const STOP_WORDS: [&str; 56] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "can", "do", "does", "for", "from", "has",
    "have", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my", "no", "not", "of", "on", "or",
    "our", "so", "such", "than", "that", "the", "their", "then", "there", "these", "they", "this", "to",
    "was", "we", "what", "when", "where", "which", "who", "why", "will", "with", "you", "your",
];

/// The same in Chinese, longest first.
const HAN_STOP_WORDS: [&str; 68] = [
    "为什么",
    "有哪些",
    "是什么",
    "什么是",
    "怎么样",
    "怎么办",
    "是不是",
    "能不能",
    "有没有",
    "多少",
    "什么",
    "怎么",
    "如何",
    "为何",
    "哪些",
    "哪个",
    "哪里",
    "怎样",
    "可以",
    "以及",
    "这个",
    "那个",
    "一个",
    "一下",
    "这么",
    "那么",
    "应该",
    "到底",
    "究竟",
    "我们",
    "时候",
    "需要",
    "的",
    "了",
    "吗",
    "呢",
    "和",
    "与",
    "是",
    "在",
    "有",
    "里",
    "吧",
    "啊",
    "要",
    "会",
    "能",
    "把",
    "被",
    "对",
    "我",
    "你",
    "它",
    "个",
    "及",
    "或",
    "也",
    "都",
    "就",
    "还",
    "又",
    "才",
    "给",
    "让",
    "着",
    "地",
    "得",
    "很",
];

/// Words that say what kind of answer is wanted: they help to rank, and nothing needs to hold them.
const ASIDES: &[&str] = &[
    "区别", "作用", "原理", "意思", "含义", "定义", "概念", "介绍", "解释", "办法", "方法", "问题", "关系",
    "比较", "不同", "用来", "differ", "mean", "explain", "explan", "work", "use", "between", "about", "need",
    "happen", "tell", "show", "get", "got", "too", "much", "mani", "each", "one", "sever", "some", "ani",
    "go", "goe", "take", "make", "long",
];

/// Whether a word only says what kind of answer is wanted.
pub(super) fn is_aside(word: &str) -> bool {
    ASIDES.contains(&word) || word.is_ascii() && ASIDES.contains(&stem(word).as_str())
}

/// Whether a Chinese word only holds a question together.
pub(super) fn is_han_stop_word(word: &str) -> bool {
    HAN_STOP_WORDS.contains(&word)
}

/// Whether an English word only holds a question together.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(&word)
}

/// Splits a run of Han characters at its function words. A run stays whole when a single character would be left,
/// as in 目的 or 总和: then the function word is part of a word.
pub(super) fn split_at_stop_words(run: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(c) = run[at..].chars().next() {
        match HAN_STOP_WORDS.iter().find(|w| run[at..].starts_with(**w)) {
            Some(word) => {
                pieces.push(&run[from..at]);
                at += word.len();
                from = at;
            }
            None => at += c.len_utf8(),
        }
    }
    pieces.push(&run[from..]);
    pieces.retain(|p| !p.is_empty());
    if pieces.is_empty() || pieces.iter().any(|p| p.chars().count() == 1) { vec![run] } else { pieces }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_words_split_a_question_but_not_a_word() {
        assert_eq!(split_at_stop_words("什么是显存的带宽"), ["显存", "带宽"]);
        assert_eq!(split_at_stop_words("目的"), ["目的"]);
        assert_eq!(split_at_stop_words("是"), ["是"]);
        assert_eq!(split_at_stop_words("显存"), ["显存"]);
    }

    #[test]
    fn lists_hold_nothing_twice() {
        for list in [&STOP_WORDS[..], &HAN_STOP_WORDS, ASIDES] {
            for (i, word) in list.iter().enumerate() {
                assert!(!list[..i].contains(word), "{word}");
            }
        }
    }
}
