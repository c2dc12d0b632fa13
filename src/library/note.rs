//! One note in two languages: `content/<area>/<id>.{en,zh}.md`, TOML front matter between `+++` lines.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Fault;
use super::anchor::Anchors;
use super::source::File;
use crate::lang::{Both, Lang};
use crate::visible::{visible, visible_line};

/// The layer of the stack that a note or term belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// GPUs, memory, links, NICs, disks.
    Hardware,
    /// Drivers, CUDA runtime, containers, Kubernetes.
    System,
    /// PyTorch, parallel strategies, collectives.
    Framework,
    /// Inference engines, gateways, caches.
    Serving,
    /// Belongs to all.
    CrossCutting,
}

impl Layer {
    /// All layers, from the metal up.
    pub const ALL: [Self; 5] =
        [Self::Hardware, Self::System, Self::Framework, Self::Serving, Self::CrossCutting];

    /// Name in files: `hardware`, …, `cross-cutting`.
    pub fn id(self) -> &'static str {
        match self {
            Self::Hardware => "hardware",
            Self::System => "system",
            Self::Framework => "framework",
            Self::Serving => "serving",
            Self::CrossCutting => "cross-cutting",
        }
    }

    /// Name on screens.
    pub fn name(self, lang: Lang) -> &'static str {
        match self {
            Self::Hardware => lang.pick("hardware", "硬件"),
            Self::System => lang.pick("system", "系统"),
            Self::Framework => lang.pick("framework", "框架"),
            Self::Serving => lang.pick("serving", "推理服务"),
            Self::CrossCutting => lang.pick("cross-cutting", "跨层"),
        }
    }
}

/// A note.
#[derive(Debug, Clone)]
pub struct Note {
    /// Stable id, also the file name.
    pub id: String,
    /// Phase of the route, 0 to 6.
    pub phase: u8,
    /// Layer of the stack.
    pub layer: Layer,
    /// Place within the phase.
    pub order: u32,
    /// Notes to read before.
    pub needs: Vec<String>,
    /// Terms that it teaches.
    pub terms: Vec<String>,
    /// Labs that belong to it.
    pub labs: Vec<String>,
    /// Where its facts and figures come from.
    pub sources: Vec<String>,
    /// When they were last checked, `YYYY-MM-DD`.
    pub checked: String,
    /// The words.
    pub text: Both<NoteText>,
    /// File without language and ending, for messages.
    pub path: String,
}

/// What differs between the languages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NoteText {
    /// Title.
    pub title: String,
    /// One sentence: what the reader will be able to do.
    pub summary: String,
    /// Markdown after the front matter, with control characters made visible.
    pub body: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FrontMatter {
    id: String,
    title: String,
    phase: u8,
    layer: Layer,
    order: u32,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    terms: Vec<String>,
    #[serde(default)]
    labs: Vec<String>,
    #[serde(default)]
    sources: Vec<String>,
    checked: toml::value::Datetime,
    summary: String,
}

/// Reads every note out of `files`. A note that lacks one language shows the other and is reported.
pub(super) fn collect(files: &[File], notes: &mut Vec<Note>, faults: &mut Vec<Fault>) {
    let mut halves: BTreeMap<String, BTreeMap<&str, (FrontMatter, String)>> = BTreeMap::new();
    for file in files {
        let Some(stem) = file.path.strip_suffix(".md") else { continue };
        let mut fault = |problem: String| faults.push(Fault { file: file.path.clone(), problem });
        let Some((stem, lang)) = stem.rsplit_once('.').filter(|(_, lang)| matches!(*lang, "en" | "zh"))
        else {
            fault("the name must end in .en.md or .zh.md".into());
            continue;
        };
        match split(&visible(&file.text)) {
            Ok((front, body)) => {
                halves.entry(stem.to_owned()).or_default().insert(lang, (front, body));
            }
            Err(problem) => fault(problem),
        }
    }
    for (path, mut langs) in halves {
        let (en, zh) = (langs.remove("en"), langs.remove("zh"));
        for (half, ending) in [(&en, "en"), (&zh, "zh")] {
            if half.is_none() {
                faults.push(Fault {
                    file: path.clone(),
                    problem: format!("the .{ending}.md half is missing or unreadable"),
                });
            }
        }
        if let (Some((a, _)), Some((b, _))) = (&en, &zh)
            && let Some(field) = differs(a, b)
        {
            faults.push(Fault {
                file: path.clone(),
                problem: format!("`{field}` differs between the languages"),
            });
        }
        let text = |half: &Option<(FrontMatter, String)>| {
            half.as_ref().map(|(front, body)| NoteText {
                title: visible_line(&front.title),
                summary: visible_line(&front.summary),
                body: body.clone(),
            })
        };
        let (text_en, text_zh) = (text(&en), text(&zh));
        let Some((front, _)) = en.or(zh) else { continue };
        let fallback = text_en.clone().or_else(|| text_zh.clone()).unwrap_or_default();
        notes.push(Note {
            id: visible_line(&front.id),
            phase: front.phase,
            layer: front.layer,
            order: front.order,
            needs: front.needs,
            terms: front.terms,
            labs: front.labs,
            sources: front.sources.iter().map(|s| visible_line(s)).collect(),
            checked: front.checked.to_string(),
            text: Both { en: text_en.unwrap_or_else(|| fallback.clone()), zh: text_zh.unwrap_or(fallback) },
            path,
        });
    }
}

fn differs(a: &FrontMatter, b: &FrontMatter) -> Option<&'static str> {
    [
        ("id", a.id != b.id),
        ("phase", a.phase != b.phase),
        ("layer", a.layer != b.layer),
        ("order", a.order != b.order),
        ("needs", a.needs != b.needs),
        ("terms", a.terms != b.terms),
        ("labs", a.labs != b.labs),
        ("checked", a.checked != b.checked),
    ]
    .into_iter()
    .find_map(|(name, differs)| differs.then_some(name))
}

fn split(text: &str) -> Result<(FrontMatter, String), String> {
    let rest = text.strip_prefix("+++\n").ok_or("must begin with a line `+++` and TOML front matter")?;
    let (front, body) = rest.split_once("\n+++\n").ok_or("the front matter has no closing line `+++`")?;
    let front = toml::from_str(front).map_err(|e| format!("front matter: {}", e.message()))?;
    Ok((front, body.to_owned()))
}

/// A heading of a note's body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// Plain text.
    pub text: String,
    /// Anchor within the note, as GitHub makes it, numbered when repeated.
    pub anchor: String,
    /// Byte offset of the heading in the body.
    pub offset: usize,
}

/// Headings in order, with anchors.
pub fn headings(body: &str) -> Vec<Heading> {
    use pulldown_cmark::{Event, Parser, Tag, TagEnd};
    let mut found = Vec::new();
    let mut anchors = Anchors::default();
    let mut open: Option<(u8, String, usize)> = None;
    for (event, range) in Parser::new(body).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                open = Some((level as u8, String::new(), range.start));
            }
            Event::Text(t) | Event::Code(t) => {
                if let Some((_, text, _)) = &mut open {
                    text.push_str(&t);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some((level, text, offset)) = open.take() {
                    let anchor = anchors.add(&text);
                    found.push(Heading { level, text, anchor, offset });
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_keep_han_and_number_repeats() {
        let body = "## 注意力机制\n\ntext\n\n## What is `KV cache`?\n\n## 注意力机制\n";
        let anchors: Vec<String> = headings(body).into_iter().map(|h| h.anchor).collect();
        assert_eq!(anchors, ["注意力机制", "what-is-kv-cache", "注意力机制-1"]);
    }

    #[test]
    fn a_broken_half_is_a_fault_and_the_other_half_is_shown() {
        let front = "id = \"a\"\ntitle = \"T\"\nphase = 0\nlayer = \"system\"\norder = 1\nchecked = 2026-12-01\nsummary = \"s\"";
        let files = [
            File { path: "content/x/a.en.md".into(), text: format!("+++\n{front}\n+++\nbody\n") },
            File { path: "content/x/a.zh.md".into(), text: "no front matter".into() },
            File { path: "content/x/b.md".into(), text: String::new() },
        ];
        let (mut notes, mut faults) = (Vec::new(), Vec::new());
        collect(&files, &mut notes, &mut faults);
        assert_eq!(notes.len(), 1);
        assert_eq!(notes[0].text.zh.body, "body\n");
        let problems: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert!(problems.iter().any(|p| p.contains("a.zh.md") && p.contains("+++")), "{problems:?}");
        assert!(problems.iter().any(|p| p.contains("b.md") && p.contains(".en.md")), "{problems:?}");
    }
}
