//! Throughput over connections, if several numbers of connections were measured.

use crate::format::Text;

use super::group::Group;

/// From this many points on, a picture shows more than the table, and the page draws one.
pub(crate) const LEAST_POINTS: usize = 3;

/// The data of a picture of a sweep.
#[derive(Debug)]
pub(crate) struct Sweep {
    pub(crate) points: Vec<Point>,
}

/// The arms at one number of connections.
#[derive(Debug)]
pub(crate) struct Point {
    pub(crate) connections: u32,
    /// Each arm's name, and its requests per second.
    pub(crate) arms: Vec<(String, f64)>,
}

/// Returns the sweep of a group; none if too few numbers of connections were judged.
pub(crate) fn sweep_for(group: &Group<'_>, text: Text) -> Option<Sweep> {
    let mut points: Vec<Point> = Vec::new();
    for comparison in &group.comparisons {
        let arms = comparison.arms.iter().filter_map(|arm| {
            let rate = arm.throughput_per_s.known()?.value;
            Some((text.clean(&arm.name), rate))
        });
        let is_new = points.last().is_none_or(|it| it.connections != comparison.connections);
        // If there are several placements, the first one is drawn, since it decides.
        if is_new {
            points.push(Point { connections: comparison.connections, arms: arms.collect() });
        }
    }
    points.retain(|it| !it.arms.is_empty());
    (points.len() >= LEAST_POINTS).then_some(Sweep { points })
}
