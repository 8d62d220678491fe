//! Throughput by number of connections, if several numbers of connections were measured.

use crate::format::Text;

use super::group::Group;

/// Minimum number of points for a chart on the page; with fewer points, a chart would show no more than the table.
pub(crate) const LEAST_POINTS: usize = 3;

/// The data of the chart of a sweep.
#[derive(Debug)]
pub(crate) struct Sweep {
    pub(crate) points: Vec<Point>,
}

/// The arms at one number of connections.
#[derive(Debug)]
pub(crate) struct Point {
    pub(crate) connections: u32,
    /// For each arm, its name and its requests per second.
    pub(crate) arms: Vec<(String, f64)>,
}

/// Returns the sweep of a group; `None` if too few numbers of connections have verdicts.
pub(crate) fn sweep_for(group: &Group<'_>, text: Text) -> Option<Sweep> {
    let mut points: Vec<Point> = Vec::new();
    for comparison in &group.comparisons {
        let arms = comparison.arms.iter().filter_map(|arm| {
            let rate = arm.throughput_per_s.known()?.value;
            Some((text.clean(&arm.name), rate))
        });
        let is_new = points.last().is_none_or(|it| it.connections != comparison.connections);
        // If there are several placements, the first one is drawn, because its verdict is the main one.
        if is_new {
            points.push(Point { connections: comparison.connections, arms: arms.collect() });
        }
    }
    points.retain(|it| !it.arms.is_empty());
    (points.len() >= LEAST_POINTS).then_some(Sweep { points })
}
