//! The results of storms of connections, for a terminal.

use std::collections::BTreeMap;

use looptax_model::record::{StormArm, StormSize, Storms};
use looptax_model::stats::median;

use super::columns::Table;
use super::lines::Lines;
use crate::format::Text;
use crate::words::storms::smallest;

/// Writes a row for each number of connections and each arm. Then writes, for each number of connections, the shortest
/// queue that is sufficient.
pub(super) fn write(found: &Storms, lines: &mut Lines) {
    let text = lines.style.text();
    lines.heading(0, &heading(found, text));
    lines.wrapped(0, &queues(found, text));
    lines.blank();
    let rows = found.sizes.iter().flat_map(|size| size.arms.iter().map(|arm| row(size, arm, text)));
    let header = ["connections", "arm", "failed", "errors", "late", "last answer"];
    Table::new(&header, rows.collect()).write(lines);
    lines.blank();
    for size in &found.sizes {
        lines.wrapped(0, &smallest(found, size));
    }
    lines.blank();
    lines.wrapped(
        0,
        "failed: share of all connections of all storms, with its 95 % interval. late: connections that were \
         answered more than half a second after the server ran again, average per storm. last answer: time since \
         the first connect, median and range.",
    );
    lines.blank();
}

fn heading(found: &Storms, text: Text) -> String {
    let Storms { target, version, library, stall_ms, .. } = found;
    let [target, version, library] = [target, version, library].map(|it| text.clean(it));
    let came = match found.rate_per_s {
        Some(rate) => format!("{rate:.0} connections per second"),
        None => "all connections at the same time".to_owned(),
    };
    let stall = match *stall_ms {
        0.0 => "the server running".to_owned(),
        ms => format!("the server stopped for {ms:.0} ms"),
    };
    let n = found.sizes.first().and_then(|it| it.arms.first()).map_or(0, |it| it.storms.len());
    format!(
        "storms on {target} ({version}), with a client that connects like {library}: {came}, {stall}; {n} storms for \
         each number of connections"
    )
}

fn queues(found: &Storms, text: Text) -> String {
    let most = found.somaxconn.map_or_else(String::new, |it| format!("; net.core.somaxconn is {it}"));
    let (queue, seen) = (found.queue, text.clean(&found.seen));
    format!(
        "queue of the socket and of the port: {queue}, plus one{most}. The client connects as {seen} did in a trace."
    )
}

fn row(size: &StormSize, arm: &StormArm, text: Text) -> Vec<String> {
    let n_storms = arm.storms.len().max(1) as f64;
    let [value, lo, hi] = arm.failed_pct;
    let mut errors: BTreeMap<&str, u64> = BTreeMap::new();
    for failure in arm.storms.iter().flat_map(|it| &it.failed) {
        *errors.entry(&failure.error).or_default() += failure.connections;
    }
    let errors: Vec<String> = errors
        .iter()
        .map(|(error, n)| format!("{} {:.1} per storm", text.clean(error), *n as f64 / n_storms))
        .collect();
    let n_late = arm.storms.iter().map(|it| it.late).sum::<u64>() as f64 / n_storms;
    let mut last: Vec<f64> = arm.storms.iter().map(|it| it.last_ms / 1e3).collect();
    let least = last.iter().copied().fold(f64::INFINITY, f64::min);
    let most = last.iter().copied().fold(0.0, f64::max);
    let last = median(&mut last).map_or_else(String::new, |it| format!("{it:.2} s ({least:.2} to {most:.2})"));
    vec![
        size.connections.to_string(),
        text.clean(&arm.arm),
        format!("{value:.1} % [{lo:.1}, {hi:.1}]"),
        errors.join(", "),
        if n_late > 0.0 { format!("{n_late:.1}") } else { "-".to_owned() },
        last,
    ]
}
