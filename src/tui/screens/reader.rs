//! A text on the whole screen: a note, a term, a lab's guide. The layout is made when the text, the size or the
//! language changes, never while drawing.

use std::fmt::Write as _;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{Nav, Outcome, Screen, body_size};
use crate::lang::Lang;
use crate::progress::{Mark, Subject};
use crate::reader::{Document, Layout, LinkId, LinkTarget};
use crate::tui::app::Core;
use crate::tui::markdown;
use crate::tui::msg::{Action, Notice};
use crate::tui::theme::Role;

/// Lines wider than this tire the eye.
const MAX_TEXT_WIDTH: u16 = 96;
/// Rows above the text: title and what it belongs to.
const HEAD_ROWS: u16 = 2;

/// What is read.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Text {
    Note(String),
    Term(String),
    Guide(String),
}

/// Text, place in it, and the selected link.
#[derive(Debug)]
pub(crate) struct Reader {
    subject: Text,
    /// Anchor to show first, once there is a layout.
    anchor: Option<String>,
    lang: Option<Lang>,
    document: Document,
    layout: Option<Layout>,
    scroll: usize,
    link: Option<usize>,
}

impl Reader {
    fn new(subject: Text, anchor: Option<&str>) -> Self {
        Self {
            subject,
            anchor: anchor.map(str::to_owned),
            lang: None,
            document: Document::parse(""),
            layout: None,
            scroll: 0,
            link: None,
        }
    }

    /// A note, from a heading on.
    pub(super) fn note(id: &str, anchor: Option<&str>) -> Self {
        Self::new(Text::Note(id.into()), anchor)
    }

    /// A term.
    pub(super) fn term(id: &str) -> Self {
        Self::new(Text::Term(id.into()), None)
    }

    /// A lab's guide.
    pub(super) fn guide(lab: &str) -> Self {
        Self::new(Text::Guide(lab.into()), None)
    }

    fn marked(&self) -> Option<Subject> {
        match &self.subject {
            Text::Note(id) => Some(Subject::note(id)),
            Text::Term(id) => Some(Subject::term(id)),
            Text::Guide(_) => None,
        }
    }

    pub(super) fn lay_out(&mut self, core: &Core) {
        let (columns, rows) = body_size(core);
        let width = columns.saturating_sub(4).clamp(1, MAX_TEXT_WIDTH);
        let place = self.layout.as_ref().map(|l| l.place_of(self.scroll));
        if self.lang != Some(core.lang) {
            self.document = Document::parse(&self.markdown(core));
            self.link = None;
            self.lang = Some(core.lang);
        } else if self.layout.as_ref().is_some_and(|l| l.width == width) {
            self.clamp(rows);
            return;
        }
        let layout = self.document.layout(width);
        // The reading position is a place in a block, so that it survives another width and the other language.
        let anchored = self.anchor.take().and_then(|a| layout.row_of_anchor(&a));
        self.scroll = anchored.or_else(|| place.map(|p| layout.row_of(p))).unwrap_or(0);
        self.layout = Some(layout);
        self.clamp(rows);
    }

    fn clamp(&mut self, rows: u16) {
        self.scroll = self.scroll.min(self.last_scroll(rows));
    }

    fn last_scroll(&self, rows: u16) -> usize {
        let total = self.layout.as_ref().map_or(0, |l| l.rows.len());
        total.saturating_sub(usize::from(rows.saturating_sub(HEAD_ROWS).max(1)))
    }

    fn markdown(&self, core: &Core) -> String {
        match &self.subject {
            Text::Note(id) => core.library.note(id).map_or_else(String::new, |note| {
                let text = note.text.get(core.lang);
                let sources = core.lang.pick("Sources", "来源");
                let checked = core.lang.pick("checked", "核对于");
                let list = note.sources.iter().fold(String::new(), |mut list, s| {
                    let _ = writeln!(list, "- {s}");
                    list
                });
                format!(
                    "*{}*\n\n{}\n\n---\n\n**{sources}** ({checked} {})\n\n{list}",
                    text.summary, text.body, note.checked
                )
            }),
            Text::Term(id) => {
                core.library.term(id).map_or_else(String::new, |t| core.library.term_markdown(t, core.lang))
            }
            Text::Guide(id) => infralab_labs::find_lab(id)
                .map_or_else(String::new, |lab| core.lang.pick(lab.guide_en, lab.guide_zh).to_owned()),
        }
    }

    pub(super) fn on(&mut self, action: Action, core: &Core) -> Outcome {
        let rows = body_size(core).1;
        let page = usize::from(rows.saturating_sub(HEAD_ROWS + 1).max(1));
        let last = self.last_scroll(rows);
        match action {
            Action::Back => return Outcome::nav(Nav::Back),
            Action::Up => self.scroll = self.scroll.saturating_sub(1),
            Action::Down => self.scroll = (self.scroll + 1).min(last),
            Action::PageUp => self.scroll = self.scroll.saturating_sub(page),
            Action::PageDown => self.scroll = (self.scroll + page).min(last),
            Action::Top => self.scroll = 0,
            Action::Bottom => self.scroll = last,
            Action::Next => self.select_link(1, page, last),
            Action::Previous => self.select_link(-1, page, last),
            Action::Open => return self.follow(core),
            Action::Known => return self.mark(Mark::Known, core),
            Action::Learning => return self.mark(Mark::Learning, core),
            Action::Todo => return self.mark(Mark::Todo, core),
            _ => {}
        }
        Outcome::stay()
    }

    fn mark(&self, mark: Mark, core: &Core) -> Outcome {
        match self.marked() {
            Some(subject) => Outcome::mark(subject, mark, core),
            None => Outcome::refuse(core.lang.pick("a guide carries no mark", "指南没有掌握标记")),
        }
    }

    /// Selects the next link; one that is off the screen is scrolled to.
    fn select_link(&mut self, step: isize, page: usize, last: usize) {
        let Some(layout) = &self.layout else { return };
        let links = &layout.links;
        if links.is_empty() {
            return;
        }
        let next = if let Some(i) = self.link {
            (i as isize + step).rem_euclid(links.len() as isize) as usize
        } else {
            let on_screen = links.iter().position(|l| l.first_row >= self.scroll).unwrap_or(0);
            if step > 0 { on_screen } else { on_screen.checked_sub(1).unwrap_or(links.len() - 1) }
        };
        self.link = Some(next);
        let row = links[next].first_row;
        if row < self.scroll || row >= self.scroll + page {
            self.scroll = row.saturating_sub(page / 2).min(last);
        }
    }

    fn follow(&mut self, core: &Core) -> Outcome {
        let Some(layout) = &self.layout else { return Outcome::stay() };
        let Some(link) = self.link.and_then(|i| layout.links.get(i)) else {
            return Outcome::refuse(core.lang.pick("Tab selects a link first", "先按 Tab 选一个链接"));
        };
        match &link.target {
            LinkTarget::Wiki(name) => {
                let (name, anchor) =
                    name.split_once('#').map_or((name.as_str(), None), |(n, a)| (n, Some(a)));
                match core.library.resolve(name).and_then(|t| Screen::target(&t, anchor, &core.library)) {
                    Some(screen) => Outcome::push(screen),
                    None => Outcome::refuse(format!("{}: {name}", core.lang.pick("dead link", "链接失效"))),
                }
            }
            // Opening a browser is not this program's to do on a remote machine; the address can be copied.
            LinkTarget::Url(url) => Outcome { notice: Some(Notice::good(url.clone())), ..Outcome::stay() },
            here @ (LinkTarget::Anchor(_) | LinkTarget::Footnote(_)) => {
                if let Some(row) = layout.row_of_target(here) {
                    self.scroll = row.min(self.last_scroll(body_size(core).1));
                }
                Outcome::stay()
            }
        }
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>, area: Rect, core: &Core) {
        let theme = core.theme;
        let (title, about, mark) = self.head(core);
        let (glyph, style) = theme.mark(mark);
        let read = self.layout.as_ref().map_or(100, |l| {
            let shown = self.scroll + usize::from(area.height.saturating_sub(HEAD_ROWS));
            (100 * shown).checked_div(l.rows.len()).unwrap_or(100).min(100)
        });
        let mut head = vec![Span::styled(format!("  {title}"), theme.style(Role::Accent))];
        if let Some(mark) = mark {
            head.push(Span::styled(format!("  {glyph} {}", mark_word(mark, core.lang)), style));
        }
        let [first, second] = [Rect { height: 1, ..area }, Rect { y: area.y + 1, height: 1, ..area }];
        frame.render_widget(Line::from(head), first);
        frame.render_widget(Line::styled(format!("  {about} · {read} %"), theme.style(Role::Dim)), second);
        let text = Rect {
            x: area.x + 2.min(area.width),
            y: area.y + HEAD_ROWS,
            width: area.width.saturating_sub(2),
            height: area.height.saturating_sub(HEAD_ROWS),
        };
        if let Some(layout) = &self.layout {
            let link = self.link.map(|i| LinkId(i as u32));
            let marks = markdown::Marks { link, ..markdown::Marks::default() };
            markdown::render(layout, self.scroll, text, frame.buffer_mut(), &theme.markdown(), marks);
        }
    }

    fn head(&self, core: &Core) -> (String, String, Option<Mark>) {
        let lang = core.lang;
        let phase = |p: u8| lang.pick(format!("phase {p}"), format!("第 {p} 阶段"));
        match &self.subject {
            Text::Note(id) => core.library.note(id).map(|n| {
                let about = format!("{} · {}", phase(n.phase), n.layer.name(lang));
                (n.text.get(lang).title.clone(), about, core.progress.note(id))
            }),
            Text::Term(id) => core.library.term(id).map(|t| {
                let about = format!("{} · {} · {}", t.name(lang.other()), phase(t.phase), t.layer.name(lang));
                (t.name(lang).to_owned(), about, core.progress.term(id))
            }),
            Text::Guide(id) => infralab_labs::find_lab(id).map(|lab| {
                let title = lang.pick(&lab.title.en, &lab.title.zh).clone();
                (title, lang.pick("lab guide", "实验指南").to_owned(), None)
            }),
        }
        .unwrap_or_default()
    }
}

/// The word of a mark on screens.
pub(super) fn mark_word(mark: Mark, lang: Lang) -> &'static str {
    match mark {
        Mark::Known => lang.pick("known", "已掌握"),
        Mark::Learning => lang.pick("learning", "学习中"),
        Mark::Todo => lang.pick("to learn", "待学"),
    }
}
