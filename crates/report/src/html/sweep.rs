//! Throughput by number of connections as a drawing, without a script: a line for each arm, with an interval at each
//! point.
//!
//! Colours are the variables of the page's style; lines also differ in shape and dashes, because colour must not be the
//! only difference.

use looptax_model::record::{Estimate, ReproductionPoint};

use super::drawing::{close_picture, line, open_picture, words};
use super::markup::Markup;
use crate::format::rate;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 320.0;
/// Left edge of the plot; the labels of the axis are to the left of it.
const LEFT: f64 = 70.0;
const RIGHT: f64 = WIDTH - 20.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = HEIGHT - 50.0;
/// Number of parts into which the vertical axis is divided.
const N_TICKS: u32 = 4;
/// The arms, the baseline first: name, colour, dashes.
const WAYS: [(&str, &str, &str); 2] = [("unix", "var(--arm-0)", "none"), ("tcp", "var(--arm-1)", "6 3")];

/// Draws the points, the lowest number of connections first. A single point is not a line, so nothing is drawn for it.
pub(super) fn sweep(points: &[ReproductionPoint], out: &mut Markup) {
    let [_, _, ..] = points else { return };
    let plot = Plot::for_points(points);
    let said = "Throughput by number of connections, on the socket and over TCP; the table below contains the figures";
    open_picture((WIDTH, HEIGHT), said, out);
    plot.axes(points, out);
    for side in 0..WAYS.len() {
        plot.arm(points, side, out);
    }
    close_picture(out);
}

/// The scale of the plot.
struct Plot {
    step: f64,
    /// Requests per second at the top of the plot.
    most_per_s: f64,
}

impl Plot {
    fn for_points(points: &[ReproductionPoint]) -> Self {
        let ends = points.iter().flat_map(|point| &point.per_s);
        let ends = ends.filter_map(|figure| figure.known());
        let most = ends.map(|it| it.hi.unwrap_or(it.value).max(it.value)).fold(1.0, f64::max);
        Self { step: (RIGHT - LEFT) / (points.len() - 1) as f64, most_per_s: rounded_up(most) }
    }

    fn x(&self, idx: usize) -> f64 {
        LEFT + self.step * idx as f64
    }

    fn y(&self, per_s: f64) -> f64 {
        BOTTOM - (BOTTOM - TOP) * (per_s / self.most_per_s)
    }

    fn axes(&self, points: &[ReproductionPoint], out: &mut Markup) {
        for tick in 0..=N_TICKS {
            let per_s = self.most_per_s * f64::from(tick) / f64::from(N_TICKS);
            let y = self.y(per_s);
            line([(LEFT, y), (RIGHT, y)], "var(--grid)", out);
            let named = if tick == 0 { "0".to_owned() } else { rate(per_s) };
            words((LEFT - 8.0, y + 4.0), "end", &named, out);
        }
        for (idx, point) in points.iter().enumerate() {
            let at = (self.x(idx), BOTTOM + 20.0);
            words(at, "middle", &point.connections.to_string(), out);
        }
        let below = (f64::midpoint(LEFT, RIGHT), HEIGHT - 8.0);
        words(below, "middle", "connections", out);
    }

    fn arm(&self, points: &[ReproductionPoint], side: usize, out: &mut Markup) {
        let (name, colour, dashes) = WAYS[side];
        let known = points.iter().enumerate();
        let known: Vec<(f64, &Estimate)> =
            known.filter_map(|(idx, point)| Some((self.x(idx), point.per_s[side].known()?))).collect();
        let path: Vec<String> = { known.iter() }.map(|(x, it)| format!("{x:.1},{:.1}", self.y(it.value))).collect();
        let path = path.join(" ");
        let drawn = [
            ("points", path.as_str()),
            ("fill", "none"),
            ("stroke", colour),
            ("stroke-width", "2"),
            ("stroke-dasharray", dashes),
        ];
        out.open("polyline", &drawn).close("polyline");
        for (x, it) in known {
            if let (Some(lo), Some(hi)) = (it.lo, it.hi) {
                line([(x, self.y(lo)), (x, self.y(hi))], colour, out);
            }
            mark((x, self.y(it.value)), side, out);
        }
        let at = LEFT + 90.0 * side as f64;
        mark((at + 6.0, TOP - 22.0), side, out);
        words((at + 18.0, TOP - 18.0), "start", name, out);
    }
}

/// Rounds up to 1, 2, 4 or 8 times a power of ten, so that a quarter of the result is a short number.
fn rounded_up(most: f64) -> f64 {
    let power = 10_f64.powf(most.log10().floor());
    let tops = [1.0, 2.0, 4.0, 8.0, 10.0].map(|it| it * power);
    tops.into_iter().find(|top| *top >= most).unwrap_or(most)
}

/// Draws a circle for the baseline, a square for the other arm.
fn mark((x, y): (f64, f64), side: usize, out: &mut Markup) {
    const HALF: f64 = 4.0;
    let colour = WAYS[side].1;
    if side == 0 {
        let [x, y, r] = [x, y, HALF].map(|at| format!("{at:.1}"));
        let drawn = [("cx", x.as_str()), ("cy", y.as_str()), ("r", r.as_str()), ("fill", colour)];
        out.open("circle", &drawn).close("circle");
    } else {
        let [x, y, size] = [x - HALF, y - HALF, 2.0 * HALF].map(|at| format!("{at:.1}"));
        let drawn = [
            ("x", x.as_str()),
            ("y", y.as_str()),
            ("width", size.as_str()),
            ("height", size.as_str()),
            ("fill", colour),
        ];
        out.open("rect", &drawn).close("rect");
    }
}

#[cfg(test)]
mod tests {
    use looptax_model::record::Figure;

    use super::*;

    fn point(connections: u32, unix: f64, tcp: f64) -> ReproductionPoint {
        let figure = |value: f64| Figure::new(value, value * 0.9, value * 1.1, 6);
        ReproductionPoint {
            connections,
            per_s: [figure(unix), figure(tcp)],
            tax_pct: Figure::missing("not asked"),
            hottest: Vec::new(),
        }
    }

    #[test]
    fn each_way_has_a_line_through_its_points() {
        let mut out = Markup::default();
        sweep(&[point(1, 70e3, 50e3), point(2, 35e3, f64::from(25_000))], &mut out);
        let drawn = out.finish();
        // The top of the axis is 80K/s, because the highest end of an interval is 77K/s.
        assert!(drawn.contains("80.0K/s"), "{drawn}");
        assert!(drawn.contains(r#"points="70.0,68.8 700.0,169.4""#), "{drawn}");
        assert_eq!(drawn.matches("<polyline").count(), 2);
        assert_eq!(drawn.matches("<circle").count(), 3);
    }

    #[test]
    fn one_point_is_no_line() {
        let mut out = Markup::default();
        sweep(&[point(1, 70e3, 50e3)], &mut out);
        assert_eq!(out.finish(), "");
    }

    #[test]
    fn the_axis_ends_above_the_highest_point() {
        let check = |most, expected: f64| {
            assert!((rounded_up(most) - expected).abs() < 1e-6, "{most}");
        };
        check(44_700.0, 80_000.0);
        check(100.0, 100.0);
        check(1_900_000.0, 2_000_000.0);
        check(9_000.0, 10_000.0);
    }
}
