//! The two languages of content and interface.

use serde::{Deserialize, Serialize};

/// A language. Every note, term and message exists in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Simplified Chinese.
    Zh,
}

impl Lang {
    /// Both, English first.
    pub const ALL: [Self; 2] = [Self::En, Self::Zh];

    /// `en` or `zh`.
    pub fn code(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh",
        }
    }

    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::En => Self::Zh,
            Self::Zh => Self::En,
        }
    }

    /// Picks the text of this language.
    pub fn pick<T>(self, en: T, zh: T) -> T {
        match self {
            Self::En => en,
            Self::Zh => zh,
        }
    }

    /// The first language that `LC_ALL`, `LC_MESSAGES` or `LANG` asks for; English when none says Chinese.
    pub fn from_env(var: impl Fn(&str) -> Option<String>) -> Self {
        let locale =
            ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find_map(|k| var(k).filter(|v| !v.is_empty()));
        match locale {
            Some(locale) if locale.to_ascii_lowercase().starts_with("zh") => Self::Zh,
            _ => Self::En,
        }
    }
}

impl std::str::FromStr for Lang {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "en" => Ok(Self::En),
            "zh" => Ok(Self::Zh),
            _ => Err(format!("unknown language `{text}`: use zh or en")),
        }
    }
}

/// The same thing in both languages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Both<T> {
    /// English.
    pub en: T,
    /// Chinese.
    pub zh: T,
}

impl<T> Both<T> {
    /// The one of `lang`.
    pub fn get(&self, lang: Lang) -> &T {
        lang.pick(&self.en, &self.zh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_locale_decides_in_posix_order() {
        let of = |vars: &[(&str, &str)]| {
            let vars: Vec<(String, String)> = vars.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
            Lang::from_env(|k| vars.iter().find(|(n, _)| n == k).map(|(_, v)| v.clone()))
        };
        assert_eq!(of(&[("LANG", "zh_CN.UTF-8")]), Lang::Zh);
        assert_eq!(of(&[("LANG", "zh_CN.UTF-8"), ("LC_ALL", "C.UTF-8")]), Lang::En);
        assert_eq!(of(&[("LC_ALL", ""), ("LANG", "zh_TW")]), Lang::Zh);
        assert_eq!(of(&[]), Lang::En);
    }
}
