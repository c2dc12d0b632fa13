//! Ledgers of one series as stacked bars, a bar per moment: named bytes, what has no name, the allocator's cache, and
//! what lies outside the allocator.

use infralab_labs::protocol::Ledger;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::super::run::pick_text;
use super::axis::Axis;
use super::legend::{self, Entry, Sample};
use super::{GRID, INK};
use crate::lang::Lang;

/// Left of the bars, for the names of the moments, pixels.
const NAMES: i32 = 200;
/// Width of the longest bar, pixels.
const BARS: i32 = 460;
/// Height of a bar with its gap, pixels.
const ROW: i32 = 30;
/// Room for the numbers below, pixels.
const BELOW: i32 = 44;
/// Moments in one picture.
const MOST: usize = 40;
/// Names in the legend.
const MOST_NAMES: usize = 40;
/// Bytes without a name.
const UNNAMED: RGBColor = RGBColor(150, 150, 150);
/// Kept by the allocator for later.
const CACHE: RGBColor = RGBColor(222, 222, 222);
/// Outside the allocator.
const CONTEXT: RGBColor = RGBColor(245, 245, 245);
const MIB: f64 = 1024.0 * 1024.0;
const GIB: f64 = 1024.0 * MIB;

/// The drawing; `None` when there is nothing to draw.
pub(in super::super) fn ledger(ledgers: &[&Ledger], lang: Lang) -> Option<String> {
    let bars: Vec<Bar> = ledgers.iter().take(MOST).map(|l| Bar::of(l, lang)).collect();
    let longest = bars.iter().map(Bar::length).fold(0.0, f64::max);
    let (unit, name) = if longest >= GIB { (GIB, "GiB") } else { (MIB, "MiB") };
    let axis = Axis::over(&[0.0, longest / unit], false, &[]).filter(|_| longest > 0.0)?;
    let mut names: Vec<(String, RGBColor)> = Vec::new();
    for part in bars.iter().flat_map(|b| &b.parts) {
        if part.fixed.is_none() && names.len() < MOST_NAMES && !names.iter().any(|(n, _)| *n == part.name) {
            names.push((part.name.clone(), hue(names.len())));
        }
    }
    for part in bars.iter().flat_map(|b| &b.parts) {
        if let Some(colour) = part.fixed
            && !names.iter().any(|(n, _)| *n == part.name)
        {
            names.push((part.name.clone(), colour));
        }
    }
    let entries: Vec<Entry> = names
        .iter()
        .map(|(name, colour)| Entry { sample: Sample::Box(*colour), name: name.clone() })
        .collect();
    let height = (bars.len() as i32 * ROW + BELOW + 10).cast_unsigned().max(legend::height(&entries));
    let size = ((NAMES + BARS + 30).cast_unsigned() + legend::WIDTH, height);
    let mut svg = String::new();
    let picture = Stacked { bars, names, entries, axis, unit, unit_name: name };
    picture.draw(SVGBackend::with_string(&mut svg, size)).ok()?;
    Some(svg)
}

/// A colour of its own for each of some twenty names: hues a golden angle apart, in three degrees of lightness.
fn hue(index: usize) -> RGBColor {
    const GOLDEN_ANGLE: f64 = 137.508 / 360.0;
    const LIGHTNESS: [f64; 3] = [0.45, 0.65, 0.32];
    let (r, g, b) = HSLColor((0.58 + index as f64 * GOLDEN_ANGLE).fract(), 0.6, LIGHTNESS[index % 3]).rgb();
    RGBColor(r, g, b)
}

struct Bar {
    title: String,
    parts: Vec<Part>,
}

struct Part {
    name: String,
    bytes: f64,
    /// The colour of what is not an item of the lab.
    fixed: Option<RGBColor>,
}

impl Bar {
    fn of(ledger: &Ledger, lang: Lang) -> Self {
        let mut parts: Vec<Part> = ledger
            .items
            .iter()
            .map(|i| Part { name: pick_text(&i.name, lang).to_owned(), bytes: i.bytes as f64, fixed: None })
            .collect();
        let mut more = |name: &str, bytes: f64, colour| {
            // A ledger that names more than there is has nothing without a name.
            if bytes > 0.0 {
                parts.push(Part { name: name.to_owned(), bytes, fixed: Some(colour) });
            }
        };
        more(lang.pick("not named", "未命名"), ledger.unexplained_bytes() as f64, UNNAMED);
        more(lang.pick("allocator's cache", "分配器缓存"), ledger.cache_bytes() as f64, CACHE);
        more(lang.pick("context", "上下文"), ledger.context_bytes().unwrap_or(0) as f64, CONTEXT);
        Self { title: crate::visible::visible_line(pick_text(&ledger.title, lang)), parts }
    }

    fn length(&self) -> f64 {
        self.parts.iter().map(|p| p.bytes).sum()
    }
}

struct Stacked {
    bars: Vec<Bar>,
    names: Vec<(String, RGBColor)>,
    entries: Vec<Entry>,
    axis: Axis,
    unit: f64,
    unit_name: &'static str,
}

impl Stacked {
    fn draw(&self, backend: SVGBackend<'_>) -> Result<(), Box<dyn std::error::Error>> {
        let root = backend.into_drawing_area();
        root.fill(&WHITE)?;
        let (left, right) = root.split_horizontally(NAMES + BARS + 30);
        let end = self.axis.ends.1;
        let x = |value: f64| NAMES + (value / end * f64::from(BARS)).clamp(0.0, f64::from(BARS)) as i32;
        let bottom = 8 + self.bars.len() as i32 * ROW;
        for mark in self.axis.marks.iter().filter(|m| **m >= 0.0) {
            left.draw(&PathElement::new([(x(*mark), 4), (x(*mark), bottom)], super::line(GRID, 1)))?;
            legend::text(&left, &self.axis.label(*mark), (x(*mark), bottom + 12), HPos::Center)?;
        }
        legend::text(&left, self.unit_name, (NAMES + BARS / 2, bottom + 30), HPos::Center)?;
        for (i, bar) in self.bars.iter().enumerate() {
            let top = 8 + i as i32 * ROW;
            // Names are cut to the room that they have; the table beside the picture holds them whole.
            let title: String = bar.title.chars().take(28).collect();
            legend::text(&left, &title, (NAMES - 8, top + ROW / 2 - 3), HPos::Right)?;
            let mut from = 0.0;
            for part in &bar.parts {
                let to = from + part.bytes / self.unit;
                let known = self.names.iter().find(|(name, _)| *name == part.name);
                let colour = known.map_or(UNNAMED, |(_, colour)| *colour);
                let corners = [(x(from), top), (x(to), top + ROW - 8)];
                left.draw(&Rectangle::new(corners, colour.filled()))?;
                left.draw(&Rectangle::new(corners, super::line(INK, 1)))?;
                from = to;
            }
        }
        legend::draw(&right, &self.entries)?;
        root.present()?;
        Ok(())
    }
}
