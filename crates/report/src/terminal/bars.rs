//! A sweep as bars: one bar per arm and number of connections, all on the same scale, which starts at zero.

use super::lines::{Lines, width};
use crate::format::rate;
use crate::words::sweep::Sweep;

const INDENT: usize = 2;
const GAP: usize = 2;
/// Blocks that fill one to seven eighths of a column.
const PARTS: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// The width of the longest bar if the output has no limit.
const LONGEST: usize = 80;

/// Writes the bars, as wide as the terminal, but not wider than [`LONGEST`].
pub(super) fn write(sweep: &Sweep, lines: &mut Lines) {
    let arms = || sweep.points.iter().flat_map(|it| &it.arms);
    let most = arms().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let names = arms().map(|(name, _)| width(name)).max().unwrap_or(0);
    let numbers = sweep.points.iter().map(|it| width(&it.connections.to_string()));
    let numbers = numbers.max().unwrap_or(0);
    let rates = arms().map(|(_, it)| width(&rate(*it))).max().unwrap_or(0);
    let columns = (lines.style.width - INDENT - numbers - names - rates - 3 * GAP).min(LONGEST);
    let (is_unicode, indent, gap) = (lines.style.unicode, " ".repeat(INDENT), " ".repeat(GAP));
    lines.heading(INDENT, "throughput by number of connections");
    for point in &sweep.points {
        for (idx, (name, per_s)) in point.arms.iter().enumerate() {
            let connections = if idx == 0 { point.connections.to_string() } else { String::new() };
            let bar = bar(*per_s, most, columns, is_unicode);
            lines
                .verbatim(&format!("{indent}{connections:>numbers$}{gap}{name:names$}{gap}{bar}{gap}{}", rate(*per_s)));
        }
    }
}

/// Returns a bar for `value`; a bar for `most` would have `columns` columns. The bar consists of `#` if the terminal
/// shows only ASCII.
fn bar(value: f64, most: f64, columns: usize, is_unicode: bool) -> String {
    if most <= 0.0 || value <= 0.0 {
        return String::new();
    }
    let eighths = (value / most * columns as f64 * 8.0).round() as usize;
    let (whole, part) = (eighths / 8, eighths % 8);
    if !is_unicode {
        return "#".repeat((eighths + 4) / 8);
    }
    let mut bar = "█".repeat(whole);
    bar.extend(part.checked_sub(1).map(|it| PARTS[it]));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_share() {
        assert_eq!(bar(1.0, 1.0, 4, true), "████");
        assert_eq!(bar(0.5, 1.0, 4, true), "██");
        assert_eq!(bar(0.53125, 1.0, 4, true), "██▏");
        assert_eq!(bar(0.5, 1.0, 4, false), "##");
        assert_eq!(bar(0.0, 1.0, 4, true), "");
        assert_eq!(bar(1.0, 0.0, 4, true), "");
    }
}
