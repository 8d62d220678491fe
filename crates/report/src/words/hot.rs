//! The functions in which a server spends its time, by number of connections.

use std::collections::HashMap;

use looptax_model::record::{Comparison, Estimate, Placement, SampledPart, Why};

use super::group::Group;
use super::why::per_request;
use crate::format::{GLUE, Text, counted, fixed};

const MOST_SHOWN: usize = 6;
const MOST_CHARS: usize = 34;
/// The mark that perf writes before the name of a kernel function.
const KERNEL_MARK: &str = "[k] ";
/// The process whose functions are shown.
const PROCESS: &str = "server";

const CLOSING: &str = "the time of a function excludes the functions that it calls; [k] marks a function of the \
    kernel; a timer takes the samples, so kernel work with interrupts off is counted in the function that switches \
    interrupts on again";

/// Finished cells: three rows for each function, and a column for each number of connections.
#[derive(Debug)]
pub(crate) struct HotTable {
    pub(crate) title: String,
    pub(crate) header: Vec<String>,
    /// The rows; the name of a function is in the first of its three rows.
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) closing: &'static str,
}

/// One pair of arms at several numbers of connections.
struct Series<'a> {
    placement: Placement,
    arms: [&'a str; 2],
    loads: Vec<Load<'a>>,
}

/// The pair of arms at one number of connections.
struct Load<'a> {
    connections: u32,
    why: &'a Why,
}

/// A function's name, and whether it is a kernel function.
type Name<'a> = (&'a str, bool);

/// Returns a table for each placement and pair of arms that was sampled at several numbers of connections.
pub(crate) fn tables(group: &Group, text: Text) -> Vec<HotTable> {
    let mut found: Vec<Series<'_>> = Vec::new();
    for comparison in &group.comparisons {
        for why in &comparison.why {
            let (placement, arms) = (comparison.placement.asked, arms(comparison, why));
            let load = Load { connections: comparison.connections, why };
            let mut known = found.iter_mut();
            match known.find(|it| it.placement == placement && it.arms == arms) {
                Some(known) => known.loads.push(load),
                None => found.push(Series { placement, arms, loads: vec![load] }),
            }
        }
    }
    let found = found.iter().filter(|it| it.loads.len() > 1);
    found.filter_map(|it| table(it, text)).collect()
}

fn arms<'a>(comparison: &'a Comparison, why: &Why) -> [&'a str; 2] {
    why.pair.map(|idx| {
        let arm = comparison.arms.get(idx as usize);
        arm.map_or("", |arm| arm.name.as_str())
    })
}

fn table(series: &Series<'_>, text: Text) -> Option<HotTable> {
    let loads = &series.loads;
    let dearest = dearest(loads);
    if dearest.is_empty() {
        return None;
    }
    let columns = loads.iter().map(|it| match it.connections {
        1 => counted(1, "connection"),
        n => n.to_string(),
    });
    let row = |first: String, second: &str, cells: &dyn Fn(&Load<'_>) -> String| {
        let named = [first, text.clean(second)].into_iter();
        named.chain(loads.iter().map(cells)).collect()
    };
    let rows = dearest.iter().flat_map(|name| {
        let of_arm = |side: usize| move |load: &Load<'_>| cell(load, *name, side);
        [
            row(shown(*name, text), series.arms[0], &of_arm(0)),
            row(String::new(), series.arms[1], &of_arm(1)),
            row(String::new(), "difference", &|load| difference(load, *name, text)),
        ]
    });
    Some(HotTable {
        title: format!(
            "the server's hottest functions by number of connections, {}: CPU time per request in µs, and share of the \
             server's CPU time",
            series.placement.name()
        ),
        header: ["function".to_owned(), String::new()].into_iter().chain(columns).collect(),
        rows: rows.collect(),
        closing: CLOSING,
    })
}

fn shown((name, is_kernel): Name<'_>, text: Text) -> String {
    let mark = if is_kernel { KERNEL_MARK } else { "" };
    let name = text.clean(name);
    let room = MOST_CHARS - mark.len();
    match name.chars().count() {
        n if n <= room => format!("{mark}{name}"),
        n => {
            // The end of a name is kept: it tells more than the namespaces and classes at the beginning.
            let end: String = name.chars().skip(n - (room - 3)).collect();
            format!("{mark}...{end}")
        }
    }
}

/// Returns the functions with the largest share of the server's time, at any number of connections and on either arm.
fn dearest<'a>(loads: &[Load<'a>]) -> Vec<Name<'a>> {
    let mut largest: HashMap<Name<'_>, f64> = HashMap::new();
    for load in loads {
        for part in { load.why.functions.iter() }.filter(|it| it.process == PROCESS) {
            let Some(name) = &part.function else { continue };
            let shares = [0, 1].map(|side| share_pct(load, part, side).unwrap_or_default());
            let known = largest.entry((name, part.is_kernel)).or_default();
            *known = known.max(shares[0].max(shares[1]));
        }
    }
    let mut names: Vec<(Name<'_>, f64)> = largest.into_iter().collect();
    names.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    names.truncate(MOST_SHOWN);
    names.into_iter().map(|(name, _)| name).collect()
}

fn find<'a>(load: &Load<'a>, (name, is_kernel): Name<'_>) -> Option<&'a SampledPart> {
    let mut functions = load.why.functions.iter();
    functions.find(|it| it.process == PROCESS && it.function.as_deref() == Some(name) && it.is_kernel == is_kernel)
}

/// Returns the time per request on one arm, in µs.
fn us(part: &SampledPart, side: usize) -> Option<f64> {
    Some(part.row.as_ref()?.arms[side].known()?.value)
}

/// Returns the share of a function in the time of its process, in percent.
fn share_pct(load: &Load<'_>, part: &SampledPart, side: usize) -> Option<f64> {
    let mut processes = load.why.processes.iter();
    let all = us(processes.find(|it| it.process == part.process)?, side)?;
    (all > 0.0).then_some(100.0 * us(part, side)? / all)
}

/// Returns the cell of a function; a dash if the record does not have the function at this number of connections.
fn cell(load: &Load<'_>, name: Name<'_>, side: usize) -> String {
    let shown = || {
        let part = find(load, name)?;
        let share = share_pct(load, part, side)?;
        let us = fixed(us(part, side)?, 2);
        Some(format!("{us}{GLUE}{GLUE}{}{GLUE}%", fixed(share, 1)))
    };
    shown().unwrap_or_else(|| "-".to_owned())
}

fn difference(load: &Load<'_>, name: Name<'_>, text: Text) -> String {
    let known = |part: &'_ SampledPart| -> Option<Estimate> { part.row.as_ref()?.difference.known().copied() };
    let found = find(load, name).and_then(known);
    found.map_or_else(
        || "-".to_owned(),
        |it| {
            let sign = if it.value >= 0.0 { "+" } else { "" };
            format!("{sign}{}", per_request(text, &it))
        },
    )
}
