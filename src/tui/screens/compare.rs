//! Runs side by side: what differs around them first, then results, and every chart of all of them in one.

use infralab_labs::spec::ChartSpec;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Margin, Rect};
use ratatui::text::{Line, Span};

use super::{Nav, Outcome, body_size};
use crate::lab::PastRun;
use crate::lab::compare::{CompareError, Comparison, letter};
use crate::lab::report::comparison::blocks;
use crate::lab::session::Curves;
use crate::tui::app::Core;
use crate::tui::msg::Action;
use crate::tui::theme::Role;
use crate::tui::widgets::page::Page;
use crate::tui::widgets::plot;

/// From this width on, numbers and chart stand side by side; half of less would break the tables up.
const SIDE_BY_SIDE: u16 = 150;
/// Rows above both.
const HEAD_ROWS: u16 = 1;

/// The runs and how they are shown.
#[derive(Debug)]
pub(crate) struct Compare {
    runs: Vec<PastRun>,
    page: Page,
    chart: usize,
    view: View,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    Numbers,
    Chart,
}

impl Compare {
    /// A screen of runs that can be compared.
    pub(super) fn new(runs: Vec<PastRun>, core: &Core) -> Result<Self, CompareError> {
        Comparison::of(&runs.iter().collect::<Vec<_>>(), core.lang)?;
        Ok(Self { runs, page: Page::default(), chart: 0, view: View::Numbers })
    }

    pub(super) fn lay_out(&mut self, core: &Core) {
        let runs: Vec<&PastRun> = self.runs.iter().collect();
        // The runs were compared when the screen was made; they have not changed.
        let Ok(comparison) = Comparison::of(&runs, core.lang) else { return };
        let (columns, rows) = body_size(core);
        let columns = if columns >= SIDE_BY_SIDE { columns / 2 } else { columns };
        let size = (columns.saturating_sub(2), rows.saturating_sub(HEAD_ROWS));
        self.page.lay_out(&blocks(&comparison, core.lang), size);
    }

    /// Charts that any of the runs has points for.
    fn charts(&self) -> Vec<&'static ChartSpec> {
        let lab = self.runs.first().and_then(PastRun::lab);
        let drawn = |c: &&ChartSpec| self.runs.iter().any(|r| r.session.charts.contains_key(&c.metric));
        lab.map(|lab| lab.charts.iter().filter(drawn).collect()).unwrap_or_default()
    }

    pub(super) fn on(&mut self, action: Action) -> Outcome {
        let charts = self.charts().len().max(1);
        match action {
            Action::Back => return Outcome::nav(Nav::Back),
            Action::Left => self.chart = (self.chart + charts - 1) % charts,
            Action::Right => self.chart = (self.chart + 1) % charts,
            Action::Next | Action::Previous => {
                self.view = if self.view == View::Numbers { View::Chart } else { View::Numbers };
            }
            action => self.page.on(action),
        }
        // On a narrow screen a chart that is asked for is also shown.
        if matches!(action, Action::Left | Action::Right) {
            self.view = View::Chart;
        }
        Outcome::stay()
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>, area: Rect, core: &Core) {
        let [head, body] = Layout::vertical([Constraint::Length(HEAD_ROWS), Constraint::Min(1)]).areas(area);
        frame.render_widget(self.head(core), head);
        if area.width >= SIDE_BY_SIDE {
            let [left, right] = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas(body);
            self.page.draw(frame, left.inner(Margin::new(1, 0)), core);
            self.draw_chart(frame, right.inner(Margin::new(1, 0)), core);
        } else {
            match self.view {
                View::Numbers => self.page.draw(frame, body.inner(Margin::new(1, 0)), core),
                View::Chart => self.draw_chart(frame, body.inner(Margin::new(1, 0)), core),
            }
        }
    }

    /// Which letter is which run.
    fn head(&self, core: &Core) -> Line<'static> {
        let mut spans = vec![Span::raw(" ")];
        for (i, run) in self.runs.iter().enumerate() {
            let size = run.size().map_or("", infralab_labs::spec::Size::name);
            let text = format!("{size} {}  ", run.device().unwrap_or("?"));
            spans.push(Span::styled(format!("{} ", letter(i)), core.theme.style(Role::Accent)));
            spans.push(Span::styled(text, core.theme.style(Role::Dim)));
        }
        Line::from(spans)
    }

    fn draw_chart(&self, frame: &mut Frame<'_>, area: Rect, core: &Core) {
        if let Some(spec) = self.charts().get(self.chart) {
            plot::draw(frame, area, core, spec, &self.overlaid(spec), &[]);
        } else {
            let none = core.lang.pick("these runs have no chart", "这些运行没有图");
            frame.render_widget(Line::styled(none, core.theme.style(Role::Dim)), area);
        }
    }

    /// One chart's curves of all runs, each under the letter of its run.
    fn overlaid(&self, spec: &ChartSpec) -> Curves {
        let mut all = Curves::default();
        for (i, run) in self.runs.iter().enumerate() {
            let Some(curves) = run.session.charts.get(&spec.metric) else { continue };
            let named = |name: &String| format!("{}·{name}", letter(i));
            all.measured.extend(curves.measured.iter().map(|(name, points)| (named(name), points.clone())));
            all.expected.extend(curves.expected.iter().map(|(name, points)| (named(name), points.clone())));
        }
        all
    }
}
