//! Draws every epoch's tax as a dot over time, so that the reader sees how much the epochs differ.

use ratatui::style::{Color, Modifier, Style as Look};
use ratatui::symbols::Marker;
use ratatui::text::Span;
use ratatui::widgets::{Axis, Chart, Dataset, GraphType, Widget};

use super::layout::Rows;
use super::view::Pair;

/// Height of the chart in rows, in a normal and in a high window.
const HEIGHTS: [u16; 2] = [6, 10];
/// Number of free rows from which on the window counts as high.
const MANY_ROWS: u16 = 16;
/// Minimum number of dots; fewer dots would show nothing.
const LEAST: usize = 2;
/// Minimum length of the axis, in percent; a shorter axis would magnify noise.
const LEAST_PCT: f64 = 1.0;

/// Draws the tax of each epoch of a pair; draws nothing if there are no epochs or if there is no space.
pub(super) fn draw(pair: &Pair, rows: &mut Rows<'_>) {
    let height = HEIGHTS[usize::from(rows.left() >= MANY_ROWS)];
    if pair.taxes_pct.len() < LEAST || rows.left() < height + 2 {
        return;
    }
    let text = rows.style.text();
    let [zero_marker, marker] = if rows.style.unicode { [Marker::Braille; 2] } else { ['-', 'o'].map(Marker::Custom) };
    let is_colored = rows.style.color;
    rows.blank();
    rows.words(&format!(
        "tax of each epoch, {} (over 0: {} loses)",
        text.clean(&pair.name),
        text.clean(&pair.arms[1].name)
    ));
    let dots: Vec<(f64, f64)> = pair.taxes_pct.iter().enumerate().map(|(idx, pct)| ((idx + 1) as f64, *pct)).collect();
    let bounds = bounds(&pair.taxes_pct);
    let last = dots.len().max(10) as f64;
    let zero = [(0.0, 0.0), (last, 0.0)];
    let faint = Look::new().add_modifier(Modifier::DIM);
    let dot = if is_colored { Look::new().fg(Color::Green) } else { Look::new() };
    let Some((area, buffer)) = rows.chart(height) else {
        return;
    };
    Chart::new(vec![
        Dataset::default().marker(zero_marker).graph_type(GraphType::Line).style(faint).data(&zero),
        Dataset::default().marker(marker).graph_type(GraphType::Scatter).style(dot).data(&dots),
    ])
    .x_axis(Axis::default().bounds([0.0, last]))
    .y_axis(
        Axis::default()
            .bounds(bounds)
            .labels(labels(bounds).map(|pct| Span::raw(format!("{pct:>6.1} %"))))
            .style(faint),
    )
    .render(area, buffer);
}

/// Returns the range of the axis, which includes zero and all dots; if there are dots on both sides of zero, zero is in
/// the middle.
fn bounds(taxes_pct: &[f64]) -> [f64; 2] {
    let low = taxes_pct.iter().copied().fold(0.0, f64::min);
    let high = taxes_pct.iter().copied().fold(0.0, f64::max);
    let most = high.max(-low).max(LEAST_PCT) * 1.05;
    [if low < 0.0 { -most } else { 0.0 }, if high > 0.0 { most } else { 0.0 }]
}

/// Returns the values for the labels: both ends and the middle.
fn labels([low, high]: [f64; 2]) -> [f64; 3] {
    [low, f64::midpoint(low, high), high]
}
