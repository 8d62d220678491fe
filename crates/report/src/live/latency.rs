//! Draws the latencies of both arms on one logarithmic axis, one histogram above the other.

use hdrhistogram::Histogram;
use ratatui::layout::Rect;
use ratatui::style::Style as Look;
use ratatui::symbols::bar;
use ratatui::widgets::{Sparkline, Widget};

use super::layout::{COLORS, Rows};
use super::view::Pair;
use crate::format::Text;

/// Height of one arm's histogram in rows, in a normal and in a high window.
const HEIGHTS: [u16; 2] = [2, 4];
/// Number of free rows from which on the window counts as high.
const MANY_ROWS: u16 = 24;
/// Number of columns to the left of the histogram, for the arm's name.
const MARGIN: u16 = 8;
/// The quantiles at which the axis begins and ends: all latencies except the rarest are shown.
const SHOWN: [f64; 2] = [0.001, 0.999];
const ASCII: bar::Set<'_> = bar::Set {
    full: "#",
    seven_eighths: "#",
    three_quarters: "=",
    five_eighths: "=",
    half: "-",
    three_eighths: "-",
    one_quarter: ".",
    one_eighth: ".",
    empty: " ",
};

/// Draws both histograms and the axis below them; draws nothing if there are no latencies or if there is no space.
pub(super) fn draw(pair: &Pair, rows: &mut Rows<'_>) {
    let Some(axis) = Axis::for_pair(pair) else {
        return;
    };
    let height = HEIGHTS[usize::from(rows.left() >= MANY_ROWS)];
    if rows.left() < 2 * height + 3 {
        return;
    }
    let text = rows.style.text();
    let (is_unicode, is_colored) = (rows.style.unicode, rows.style.color);
    let width = rows.width() as u16;
    let columns = usize::from(width.saturating_sub(MARGIN + 1));
    rows.blank();
    rows.words(&format!("latency of {} (logarithmic)", text.clean(&pair.name)));
    for (idx, arm) in pair.arms.iter().enumerate() {
        let counts = axis.columns(&arm.latencies_ns, columns);
        let name = text.clean(&arm.name);
        let Some((area, buffer)) = rows.chart(height) else {
            return;
        };
        let color = is_colored.then_some(COLORS[idx]);
        let look = color.map_or(Look::new(), |color| Look::new().fg(color));
        let last_row = area.y + height - 1;
        buffer.set_stringn(area.x + 2, last_row, name, usize::from(MARGIN - 3), look);
        Sparkline::default()
            .data(counts)
            .bar_set(if is_unicode { bar::NINE_LEVELS } else { ASCII })
            .style(look)
            .render(Rect { x: area.x + MARGIN, width: width.saturating_sub(MARGIN + 1), ..area }, buffer);
    }
    rows.faint(&axis.labels(columns, text));
}

/// The range from the lowest to the highest latency that is shown.
struct Axis {
    from: f64,
    to: f64,
}

impl Axis {
    /// Returns the axis of a pair; `None` if there are no latencies.
    fn for_pair(pair: &Pair) -> Option<Self> {
        let all = || pair.arms.iter().map(|arm| &arm.latencies_ns);
        if all().any(Histogram::is_empty) {
            return None;
        }
        let ends = SHOWN.map(|quantile| all().map(move |it| it.value_at_quantile(quantile) as f64));
        let [lows, highs] = ends;
        let from = lows.fold(f64::INFINITY, f64::min).max(1.0);
        let to = highs.fold(0.0, f64::max).max(from * 2.0);
        Some(Self { from, to })
    }

    /// Returns how many latencies belong to each of `columns` columns.
    fn columns(&self, latencies_ns: &Histogram<u64>, columns: usize) -> Vec<u64> {
        let mut counts = vec![0; columns];
        for step in latencies_ns.iter_recorded() {
            let ns = step.value_iterated_to() as f64;
            let at = (ns / self.from).ln() / (self.to / self.from).ln();
            let column = (at * columns as f64) as usize;
            if at >= 0.0 && column < columns {
                counts[column] += step.count_since_last_iteration();
            }
        }
        counts
    }

    /// Returns the labels for both ends and the middle.
    fn labels(&self, columns: usize, text: Text) -> String {
        let middle = (self.from * self.to).sqrt();
        let [from, middle, to] = [self.from, middle, self.to].map(|ns| text.micros(ns / 1e3));
        let gap = columns.saturating_sub(from.chars().count() + to.chars().count());
        let margin = " ".repeat(usize::from(MARGIN));
        format!("{margin}{from}{middle:^gap$}{to}")
    }
}
