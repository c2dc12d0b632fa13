//! Terms: `glossary/<layer>.toml`, both languages in one entry.

use serde::Deserialize;
use unicode_normalization::UnicodeNormalization;

use super::source::File;
use super::{Fault, Layer};
use crate::lang::{Both, Lang};
use crate::visible::{visible, visible_line};

/// A term of the glossary.
#[derive(Debug, Clone)]
pub struct Term {
    /// Slug of the English name.
    pub id: String,
    /// English name.
    pub en: String,
    /// Chinese name.
    pub zh: String,
    /// Layer of the stack.
    pub layer: Layer,
    /// Phase of the route in which it is learned.
    pub phase: u8,
    /// Terms to know before.
    pub needs: Vec<String>,
    /// Other names in either language.
    pub aliases: Vec<String>,
    /// One to three sentences.
    pub short: Both<String>,
    /// A longer note (Markdown), for hubs.
    pub long: Option<Both<String>>,
    /// What it is easily mixed up with.
    pub not: Vec<Distinction>,
    /// Where figures come from.
    pub sources: Vec<String>,
}

/// "Not the same as": the other term and the difference in one line.
#[derive(Debug, Clone)]
pub struct Distinction {
    /// The other term's id.
    pub term: String,
    /// The difference.
    pub difference: Both<String>,
}

impl Term {
    /// Name in `lang`.
    pub fn name(&self, lang: Lang) -> &str {
        lang.pick(&self.en, &self.zh)
    }
}

#[derive(Deserialize)]
struct GlossaryFile {
    #[serde(default)]
    term: Vec<toml::Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    en: String,
    zh: String,
    phase: u8,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    aliases: Vec<String>,
    short_en: String,
    short_zh: String,
    long_en: Option<String>,
    long_zh: Option<String>,
    #[serde(default)]
    sources: Vec<String>,
    #[serde(default)]
    not: Vec<NotEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NotEntry {
    term: String,
    en: String,
    zh: String,
}

/// Reads every term out of `files`; a broken entry is reported and the others stay.
pub(super) fn collect(files: &[File], terms: &mut Vec<Term>, faults: &mut Vec<Fault>) {
    for layer in Layer::ALL {
        let path = format!("glossary/{}.toml", layer.id());
        let Some(file) = files.iter().find(|f| f.path == path) else { continue };
        match toml::from_str::<GlossaryFile>(&visible(&file.text)) {
            Ok(parsed) => {
                for (i, value) in parsed.term.into_iter().enumerate() {
                    match value.try_into::<Entry>() {
                        Ok(entry) => terms.push(entry.into_term(layer)),
                        Err(error) => faults.push(Fault {
                            file: path.clone(),
                            problem: format!("entry {}: {}", i + 1, error.message()),
                        }),
                    }
                }
            }
            Err(error) => faults.push(Fault { file: path, problem: error.message().to_owned() }),
        }
    }
    for file in files.iter().filter(|f| f.path.starts_with("glossary/")) {
        let stem = file.path.trim_start_matches("glossary/").trim_end_matches(".toml");
        if Layer::ALL.iter().all(|l| l.id() != stem) {
            let known = Layer::ALL.map(Layer::id).join(", ");
            faults.push(Fault {
                file: file.path.clone(),
                problem: format!("is not one of the layers {known}"),
            });
        }
    }
}

impl Entry {
    fn into_term(self, layer: Layer) -> Term {
        // TOML escapes can spell control characters, so cleaning the file is not enough.
        let line = |s: String| visible_line(&s);
        let text = |s: String| visible(&s).into_owned();
        Term {
            id: line(self.id),
            en: line(self.en),
            zh: line(self.zh),
            layer,
            phase: self.phase,
            needs: self.needs.into_iter().map(line).collect(),
            aliases: self.aliases.into_iter().map(line).collect(),
            short: Both { en: line(self.short_en), zh: line(self.short_zh) },
            long: self.long_en.zip(self.long_zh).map(|(en, zh)| Both { en: text(en), zh: text(zh) }),
            not: self
                .not
                .into_iter()
                .map(|n| Distinction {
                    term: line(n.term),
                    difference: Both { en: line(n.en), zh: line(n.zh) },
                })
                .collect(),
            sources: self.sources.into_iter().map(line).collect(),
        }
    }
}

/// Id of a term from its English name: lower case, runs of other characters than a-z and 0-9 become one hyphen.
pub fn slug(name: &str) -> String {
    let mut out = String::new();
    for c in name.to_lowercase().chars() {
        if c.is_ascii_alphanumeric() {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    out.trim_end_matches('-').to_owned()
}

/// Form under which names are compared: NFKC, lower case, no spaces around, inner spaces single.
pub(super) fn fold(name: &str) -> String {
    let folded: String = name.nfkc().collect::<String>().to_lowercase();
    folded.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_follow_the_english_name() {
        for (name, id) in
            [("KV cache", "kv-cache"), ("FLOP/s", "flop-s"), ("CI/CD", "ci-cd"), ("GPU-Util", "gpu-util")]
        {
            assert_eq!(slug(name), id);
        }
    }

    #[test]
    fn names_compare_without_case_and_width() {
        assert_eq!(fold("ＧＰＵ  Memory "), "gpu memory");
    }
}
