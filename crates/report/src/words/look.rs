//! The row of a placement for which there is only a glimpse, and no verdict.
//!
//! The row shows the ranges of the rates that were seen; it never shows an interval or a verdict.

use looptax_model::record::{Look, LookArm, RateRange, Workload};

use super::table::{Row, Tail};
use crate::format::{Text, byte_rate_range, rate_range, times};

/// Minimum ratio of the fastest to the slowest 100 ms that is reported. Ordinary noise on a quiet machine stays well
/// below this ratio.
const MOVED_FROM: f64 = 1.5;

/// Returns the row, with a cell for each arm of the table.
pub(crate) fn row(look: &Look, arms: &[&str], text: Text) -> Row {
    let cell = |name: &&str| {
        look.arms.iter().find(|arm| arm.name == *name).map_or_else(String::new, |arm| seen(arm, &look.workload))
    };
    Row {
        connections: look.connections.to_string(),
        placement: look.placement.asked.name().to_owned(),
        arms: arms.iter().map(cell).collect(),
        below: [const { String::new() }; 2],
        tail: Tail::Open(why_not_judged(look, text)),
    }
}

fn seen(arm: &LookArm, workload: &Workload) -> String {
    let RateRange { min, max, .. } = arm.rate_100ms_per_s;
    match &workload.stream {
        Some(stream) => byte_rate_range(min * stream.bytes as f64, max * stream.bytes as f64),
        None => rate_range(min, max),
    }
}

fn why_not_judged(look: &Look, text: Text) -> String {
    let reason = look.reason.as_deref().map_or_else(String::new, |reason| format!("; {}", text.clean(reason)));
    let (seconds, asked) = (look.seconds, look.placement.asked);
    format!("not judged in {seconds:.0} s: {}{reason} (--placement {asked})", what_was_seen(look))
}

/// Describes the widest range of all arms.
fn what_was_seen(look: &Look) -> String {
    let ratio = |range: RateRange| range.max / range.min;
    if look.arms.iter().any(|arm| arm.rate_100ms_per_s.min <= 0.0) {
        return "at times the server did not answer for 100 ms".to_owned();
    }
    let moved = look.arms.iter().map(|arm| ratio(arm.rate_100ms_per_s)).fold(1.0, f64::max);
    if moved < MOVED_FROM {
        return "these rates were seen".to_owned();
    }
    // The cause of the change is not named: a glimpse reads neither the cores nor the work of other processes.
    format!("the rate varied by {}", times(moved))
}
