//! Pictures of a run as SVG. Text stays text, so no font is needed to draw them; the same run gives the same bytes.

mod axis;
mod chart;
mod ledger;
mod legend;

use plotters::style::{Color as _, RGBColor, ShapeStyle};

pub(super) use chart::chart;
pub(super) use ledger::ledger;

/// Colours that people with any kind of colour vision tell apart (after Okabe and Ito), dark enough for a white ground.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(160, 70, 130),
    RGBColor(70, 150, 210),
    RGBColor(150, 120, 0),
    RGBColor(120, 60, 20),
    RGBColor(90, 90, 160),
];
/// Words and axes.
const INK: RGBColor = RGBColor(40, 44, 52);
/// Lines of the grid.
const GRID: RGBColor = RGBColor(226, 229, 233);
/// What others published.
const PUBLISHED: RGBColor = RGBColor(140, 144, 150);
/// Family and size of all text, in pixels.
const FONT: (&str, u32) = ("sans-serif", 12);

fn colour(i: usize) -> RGBColor {
    COLOURS[i % COLOURS.len()]
}

fn line(colour: RGBColor, width: u32) -> ShapeStyle {
    colour.stroke_width(width)
}
