//! What may be asked of a hit besides its words: by the caller, and by the reader within the query as `kind:term`,
//! `phase:2`, `layer:serving` or `state:learning`, in Chinese as 类型:术语, 阶段:2, 层:推理服务, 状态:学习中.

use unicode_normalization::UnicodeNormalization;

use super::Kind;
use crate::lang::Lang;
use crate::library::Layer;
use crate::progress::{Mark, Progress};

/// Mastery of a hit. Only notes and terms carry marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Marked as known.
    Known,
    /// Marked as being learned.
    Learning,
    /// Marked as to learn.
    Todo,
    /// Carries no mark.
    Unmarked,
}

impl State {
    /// All, most mastered first.
    pub const ALL: [Self; 4] = [Self::Known, Self::Learning, Self::Todo, Self::Unmarked];

    /// Name on screens.
    pub fn name(self, lang: Lang) -> &'static str {
        match self {
            Self::Known => lang.pick("known", "已掌握"),
            Self::Learning => lang.pick("learning", "学习中"),
            Self::Todo => lang.pick("to learn", "待学"),
            Self::Unmarked => lang.pick("unmarked", "未标记"),
        }
    }
}

impl From<Option<Mark>> for State {
    fn from(mark: Option<Mark>) -> Self {
        match mark {
            Some(Mark::Known) => Self::Known,
            Some(Mark::Learning) => Self::Learning,
            Some(Mark::Todo) => Self::Todo,
            None => Self::Unmarked,
        }
    }
}

/// Which hits are wanted.
#[derive(Debug, Clone, Copy)]
pub struct Filter<'a> {
    /// Only text of this language; text of unknown language passes.
    pub lang: Option<Lang>,
    /// Only hits of this kind.
    pub kind: Option<Kind>,
    /// Only hits of this phase.
    pub phase: Option<u8>,
    /// Only hits of this layer.
    pub layer: Option<Layer>,
    /// Only hits in this state.
    pub state: Option<State>,
    /// Where states come from; without it everything is unmarked.
    pub progress: Option<&'a Progress>,
    /// Without `lang`, the language in which a hit is shown when both match.
    pub prefer: Lang,
    /// Most hits.
    pub limit: usize,
}

impl Default for Filter<'_> {
    fn default() -> Self {
        Self {
            lang: None,
            kind: None,
            phase: None,
            layer: None,
            state: None,
            progress: None,
            prefer: Lang::default(),
            limit: 10,
        }
    }
}

/// One thing asked of a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    Kind(Kind),
    Phase(u8),
    Layer(Layer),
    State(State),
}

impl Condition {
    /// Place among the facets.
    pub(super) fn facet(self) -> usize {
        match self {
            Self::Kind(_) => 0,
            Self::Phase(_) => 1,
            Self::Layer(_) => 2,
            Self::State(_) => 3,
        }
    }

    /// Reads `kind:term` and the like; anything else is none.
    pub(super) fn read(word: &str) -> Option<Self> {
        let word = word.nfkc().collect::<String>().to_lowercase();
        let (facet, value) = word.split_once(':')?;
        match facet {
            "kind" | "type" | "类型" | "种类" => kind(value).map(Self::Kind),
            "phase" | "阶段" => phase(value).map(Self::Phase),
            "layer" | "层" | "层次" | "层级" => layer(value).map(Self::Layer),
            "state" | "mark" | "状态" | "掌握" => state(value).map(Self::State),
            _ => None,
        }
    }
}

fn kind(value: &str) -> Option<Kind> {
    Some(match value {
        "note" | "notes" | "笔记" | "文章" => Kind::Note,
        "term" | "terms" | "术语" | "词条" => Kind::Term,
        "lab" | "labs" | "实验" => Kind::Lab,
        "own" | "mine" | "我的" | "我的笔记" | "自己" => Kind::Own,
        "run" | "runs" | "运行" | "运行记录" => Kind::Run,
        _ => return None,
    })
}

fn phase(value: &str) -> Option<u8> {
    let value = value.strip_prefix('第').unwrap_or(value);
    let value = value.strip_suffix("阶段").unwrap_or(value);
    let digit = ["零", "一", "二", "三", "四", "五", "六"].iter().position(|d| *d == value);
    digit.map(|d| d as u8).or_else(|| value.parse().ok())
}

fn layer(value: &str) -> Option<Layer> {
    let value = value.strip_suffix('层').filter(|v| !v.is_empty()).unwrap_or(value);
    let short = match value {
        "hw" => Some(Layer::Hardware),
        "推理" | "服务" => Some(Layer::Serving),
        "crosscutting" | "cross" | "跨" => Some(Layer::CrossCutting),
        _ => None,
    };
    short.or_else(|| {
        Layer::ALL
            .into_iter()
            .find(|l| l.id() == value || Lang::ALL.iter().any(|lang| l.name(*lang) == value))
    })
}

fn state(value: &str) -> Option<State> {
    Some(match value {
        "known" | "已掌握" | "掌握" | "已会" => State::Known,
        "learning" | "学习中" | "在学" => State::Learning,
        "todo" | "to-learn" | "待学" | "未学" | "想学" => State::Todo,
        "none" | "unmarked" | "未标记" | "无" => State::Unmarked,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_in_both_languages_and_widths() {
        for (word, condition) in [
            ("kind:term", Condition::Kind(Kind::Term)),
            ("类型：术语", Condition::Kind(Kind::Term)),
            ("ＫＩＮＤ：own", Condition::Kind(Kind::Own)),
            ("phase:2", Condition::Phase(2)),
            ("阶段:第二阶段", Condition::Phase(2)),
            ("layer:serving", Condition::Layer(Layer::Serving)),
            ("层：推理服务", Condition::Layer(Layer::Serving)),
            ("layer:cross-cutting", Condition::Layer(Layer::CrossCutting)),
            ("层:跨层", Condition::Layer(Layer::CrossCutting)),
            ("层:硬件", Condition::Layer(Layer::Hardware)),
            ("state:learning", Condition::State(State::Learning)),
            ("状态：未标记", Condition::State(State::Unmarked)),
        ] {
            assert_eq!(Condition::read(word), Some(condition), "{word}");
        }
        for layer in Layer::ALL {
            for name in [layer.id(), layer.name(Lang::En), layer.name(Lang::Zh)] {
                assert_eq!(Condition::read(&format!("layer:{name}")), Some(Condition::Layer(layer)));
            }
        }
    }

    #[test]
    fn what_is_unknown_is_no_condition() {
        for word in
            ["kind:", "kind:movie", "phase:x", "phase:-1", "a:b", ":", "layer:层", "vllm:kv_cache", ""]
        {
            assert_eq!(Condition::read(word), None, "{word}");
        }
    }
}
