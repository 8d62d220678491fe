//! The CPU time that TCP adds to a request, one line for each group of machines: the mean with its interval, and the
//! range in which one more machine is expected.

use looptax_model::record::{Estimate, FleetEffects, FleetGroup};

use super::drawing::{close_picture, line, open_picture, words};
use super::markup::{Markup, TEXT};
use crate::format::fixed;

const WIDTH: f64 = 720.0;
/// Left edge of the plot; the names of the groups are to the left of it.
const LEFT: f64 = 250.0;
const RIGHT: f64 = WIDTH - 20.0;
const ROW: f64 = 26.0;
const AXIS: f64 = 44.0;
/// Number of parts into which the axis is divided.
const N_TICKS: u32 = 4;
/// Maximum number of characters of a name next to the plot.
const MOST_CHARS: usize = 34;
const HALF: f64 = 4.0;

/// Draws the groups. If there is only one group, there is nothing to compare, and nothing is drawn.
pub(super) fn forest(effects: &FleetEffects, out: &mut Markup) {
    let [_, _, ..] = effects.groups.as_slice() else {
        return;
    };
    let height = ROW * effects.groups.len() as f64 + AXIS;
    let axis = Axis::of(&effects.groups);
    let said = "Time that TCP adds to a request, for each group, with intervals; the table below has the figures";
    open_picture((WIDTH, height), said, out);
    axis.write(height, out);
    for (idx, group) in effects.groups.iter().enumerate() {
        let y = ROW * (idx as f64 + 0.5);
        words((8.0, y + 4.0), "start", &name(group), out);
        // The thin line is the range for one more machine, the thick line the interval of the mean.
        axis.interval(&group.one_more, y, 1.5, "var(--line)", out);
        axis.interval(&group.cpu_us, y, 4.0, "var(--arm-0)", out);
        axis.mark(group.cpu_us.value, y, out);
    }
    close_picture(out);
}

fn name(group: &FleetGroup) -> String {
    let name = TEXT.clean(&group.label);
    if name.is_empty() {
        return "not known".to_owned();
    }
    match name.char_indices().nth(MOST_CHARS) {
        Some((at, _)) => format!("{}…", &name[..at]),
        None => name,
    }
}

/// The range of the axis, in µs.
struct Axis {
    lo: f64,
    hi: f64,
}

impl Axis {
    fn of(groups: &[FleetGroup]) -> Self {
        let estimates = groups.iter().flat_map(|it| [&it.cpu_us, &it.one_more]);
        let ends = estimates.flat_map(|it| [Some(it.value), it.lo, it.hi]);
        let (lo, hi) = ends.flatten().fold((0.0_f64, 0.0_f64), |(lo, hi), it| (lo.min(it), hi.max(it)));
        Self { lo, hi: if hi > lo { hi } else { lo + 1.0 } }
    }

    fn x(&self, us: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * (us - self.lo) / (self.hi - self.lo)
    }

    fn write(&self, height: f64, out: &mut Markup) {
        let bottom = height - AXIS + 4.0;
        for tick in 0..=N_TICKS {
            let us = self.lo + (self.hi - self.lo) * f64::from(tick) / f64::from(N_TICKS);
            let x = self.x(us);
            line([(x, 0.0), (x, bottom)], "var(--grid)", out);
            words((x, bottom + 16.0), "middle", &fixed(us, 1), out);
        }
        let zero = self.x(0.0);
        line([(zero, 0.0), (zero, bottom)], "var(--muted)", out);
        let middle = f64::midpoint(LEFT, RIGHT);
        words((middle, height - 6.0), "middle", "µs of CPU time per request", out);
    }

    fn interval(&self, estimate: &Estimate, y: f64, width: f64, colour: &str, out: &mut Markup) {
        let (Some(lo), Some(hi)) = (estimate.lo, estimate.hi) else {
            return;
        };
        let top = y - width / 2.0;
        rectangle([self.x(lo), top, self.x(hi) - self.x(lo), width], colour, out);
    }

    fn mark(&self, us: f64, y: f64, out: &mut Markup) {
        let corner = [self.x(us) - HALF, y - HALF, 2.0 * HALF, 2.0 * HALF];
        rectangle(corner, "var(--arm-0)", out);
    }
}

fn rectangle([x, y, width, height]: [f64; 4], colour: &str, out: &mut Markup) {
    let [x, y, width, height] = [x, y, width.max(1.0), height].map(|it| format!("{it:.1}"));
    let drawn = [
        ("x", x.as_str()),
        ("y", y.as_str()),
        ("width", width.as_str()),
        ("height", height.as_str()),
        ("fill", colour),
    ];
    out.open("rect", &drawn).close("rect");
}
