//! Compares two saved snapshots of `watch`: the same clients before and after a change.
//!
//! `same` finds the clients that are in both saved snapshots, and `series` computes how long their requests took. The
//! two saved snapshots are not paired: other changes between them are part of the difference but not of its interval.
//! The caller reports this.

mod same;
mod series;
#[cfg(test)]
mod tests;

use crate::failure::Failure;
use crate::record::{
    Figure, Watched, WatchedChange, WatchedDiff, WatchedEnd, WatchedHop, WatchedSide, WatchedSpan, Way,
};
use crate::stats::{self, Estimate, LEAST_LOOKS, tested_difference};

use same::{Servers, grouped, only_ones};
use series::{ALPHA, Series, series};

/// Maximum number of looks of a hop; `watch` never saves that many.
const MOST_LOOKS: usize = 1_000;
/// Maximum relative width of a bucket of times. A quantile may be anywhere in its bucket.
const BUCKET: f64 = 1.0 / 16.0;
/// Maximum half width, on the scale of logarithms, of an interval that is shown. Such an interval reaches from a third
/// of the value to three times the value; a wider interval is useless.
const MOST_HALF_WIDTH: f64 = 1.1;
/// Maximum number of hops in the list of hops that only one saved snapshot has.
const MOST_NAMED: usize = 8;
/// If the size of the requests changed by more than this factor, they are considered different requests.
const OTHER_SIZE: f64 = 1.1;
/// If the rate of the requests changed by at least this factor, the load is considered different.
const OTHER_RATE: f64 = 2.0;
/// If the share of requests over another transport is smaller than this, in percent, it is not reported.
const LEAST_OTHER_WAY_PCT: f64 = 1.0;

/// Compares the hops that `before` and `after` have in common; each saved snapshot may have a name.
///
/// # Errors
/// Returns a failure with the reason if nothing in the two saved snapshots can be compared.
pub fn watched_diff(before: (Option<&str>, &Watched), after: (Option<&str>, &Watched)) -> Result<WatchedDiff, Failure> {
    for (name, it) in [before, after] {
        if it.hops.iter().any(|hop| hop.looks.len() > MOST_LOOKS) {
            let name = name.unwrap_or("it");
            return Err(Failure::usage(
                format!("{name} has more than {MOST_LOOKS} snapshots of one client, more than looptax ever saves"),
                "count again with `looptax watch --save NAME`",
            ));
        }
        let has_looks = it.hops.is_empty() || it.hops.iter().any(|hop| hop.looks.len() >= LEAST_LOOKS);
        if !has_looks {
            return Err(Failure::usage(
                format!("{} was counted in one snapshot, so its variation is not known", name.unwrap_or("it")),
                format!("`looptax watch --save NAME` counts in at least {LEAST_LOOKS} snapshots"),
            ));
        }
    }
    let (earlier, later) = (before.1, after.1);
    let (servers, only) = (Servers::new([earlier, later]), only_ones([earlier, later]));
    let (mut earlier_hops, later_hops) = (grouped(earlier, &servers, &only), grouped(later, &servers, &only));
    let mut only_later = Vec::new();
    let mut hops = Vec::new();
    let mut chances = Vec::new();
    for (who, group) in &later_hops {
        let Some(group_before) = earlier_hops.remove(who) else {
            only_later.push(&**group);
            continue;
        };
        if [&group_before, group].iter().all(|it| n_requests(it) == 0) {
            continue;
        }
        let (change, p) = change([&group_before, group]);
        hops.push(change);
        chances.push(p);
    }
    let only_earlier = earlier_hops.values().map(|it| &**it).collect();
    let mut notes = [alone("later", only_later), alone("earlier", only_earlier)].concat();
    if hops.is_empty() {
        return Err(Failure::usage(
            "no client made requests to the same server in both counts",
            "the same programs have to make requests during both counts: `looptax watch` shows the programs",
        ));
    }
    let tested: Vec<f64> = chances.iter().copied().flatten().collect();
    let mut corrected = stats::holm(&tested).into_iter();
    for (hop, p) in hops.iter_mut().zip(chances) {
        hop.p = p.and_then(|_| corrected.next());
    }
    hops.sort_by_key(|it| std::cmp::Reverse(it.before.n_requests + it.after.n_requests));
    notes.extend(hops.iter().any(moved).then(|| SEND_IS_NOT_IN_IT.to_owned()));
    Ok(WatchedDiff { before: span(before), after: span(after), hops, notes })
}

const SEND_IS_NOT_IN_IT: &str = "times begin when a request has arrived at the server: they exclude the client's own \
    send, which is longer over TCP, so a move to the socket saves a little more";

fn moved(it: &WatchedChange) -> bool {
    it.before.way.is_tcp() != it.after.way.is_tcp()
}

fn span((name, it): (Option<&str>, &Watched)) -> WatchedSpan {
    WatchedSpan { name: name.map(str::to_owned), at: it.at.clone(), over_s: it.over_s, busy_pct: it.busy_pct }
}

fn n_requests(group: &[&WatchedHop]) -> u64 {
    group.iter().map(|it| it.n_requests).sum()
}

fn named(group: &[&WatchedHop]) -> String {
    let end = |it: &Option<WatchedEnd>| it.as_ref().map_or("(elsewhere)".to_owned(), |it| it.program.clone());
    let per_s: f64 = group.iter().map(|it| it.requests_per_s).sum();
    group.first().map_or_else(String::new, |hop| {
        format!("{} -> {} at {}, {per_s:.1} requests/s", end(&hop.client), end(&hop.server), hop.address)
    })
}

/// Lists the hops that only one of the two saved snapshots has, the busiest first.
fn alone(which: &str, mut groups: Vec<&[&WatchedHop]>) -> Vec<String> {
    groups.retain(|it| n_requests(it) > 0);
    groups.sort_by_key(|it| std::cmp::Reverse(n_requests(it)));
    let n_more = groups.len().saturating_sub(MOST_NAMED);
    let named = groups.iter().take(MOST_NAMED).map(|it| format!("only in the {which} count: {}", named(it)));
    let more = (n_more > 0).then(|| format!("only in the {which} count: {n_more} more"));
    named.chain(more).collect()
}

/// Computes the change of one hop, and the probability of such a change by chance.
fn change([before, after]: [&[&WatchedHop]; 2]) -> (WatchedChange, Option<f64>) {
    let series = [before, after].map(series);
    let changed =
        |pick: fn(&Series) -> Option<Estimate>, open: f64| changed([pick(&series[0]), pick(&series[1])], open);
    let (mean_pct, p) = changed(|it| it.mean, 0.0);
    let sides = [(before, &series[0]), (after, &series[1])].map(|(group, series)| side(group, series));
    let last = after.first().or(before.first());
    let [before_side, after_side] = sides;
    let rates = [before_side.requests_per_s, after_side.requests_per_s];
    let notes =
        [other_ways(before, "earlier"), other_ways(after, "later"), other_sizes(before, after), other_rate(rates)];
    let change = WatchedChange {
        client: last.and_then(|it| it.client.clone()),
        server: last.and_then(|it| it.server.clone()),
        kind: last.and_then(|it| it.kind.clone()),
        before: before_side,
        after: after_side,
        mean_pct,
        p50_pct: changed(|it| it.p50, BUCKET).0,
        p99_pct: changed(|it| it.p99, BUCKET).0,
        p: None,
        notes: notes.into_iter().flatten().collect(),
    };
    (change, p)
}

fn side(group: &[&WatchedHop], series: &Series) -> WatchedSide {
    let figure =
        |it: Option<Estimate>, open: f64| it.map_or_else(too_few, |it| shown(widened(it, open / 2.0), f64::exp));
    let main = group.first();
    WatchedSide {
        way: main.map_or(Way::Unix, |it| it.way),
        address: main.map_or_else(String::new, |it| it.address.clone()),
        n_requests: n_requests(group),
        requests_per_s: group.iter().map(|it| it.requests_per_s).sum(),
        opened_per_s: group.iter().map(|it| it.opened_per_s).sum(),
        mean_us: figure(series.mean, 0.0),
        p50_us: figure(series.p50, BUCKET),
        p99_us: figure(series.p99, BUCKET),
    }
}

fn changed(sides: [Option<Estimate>; 2], open: f64) -> (Figure, Option<f64>) {
    let [Some(before), Some(after)] = sides else {
        return (too_few(), None);
    };
    let found = tested_difference(before, after, ALPHA);
    (shown(widened(found.estimate, open), |ln| 100.0 * ln.exp_m1()), found.p)
}

/// Widens an interval by `by` on each side.
fn widened(it: Estimate, by: f64) -> Estimate {
    Estimate { lo: it.lo - by, hi: it.hi + by, ..it }
}

/// Converts the estimate with `back`; the figure is missing if the looks vary too much.
fn shown(it: Estimate, back: impl Fn(f64) -> f64) -> Figure {
    if it.half_width() > MOST_HALF_WIDTH {
        return Figure::missing("varies too much from snapshot to snapshot");
    }
    let it = it.map_monotone(back);
    Figure::new(it.value, it.lo, it.hi, it.n as u64)
}

fn too_few() -> Figure {
    Figure::missing(format!("requests in fewer than {LEAST_LOOKS} snapshots"))
}

/// Returns a sentence if some of the requests used another transport than the others.
fn other_ways(group: &[&WatchedHop], count_name: &str) -> Option<String> {
    let main = group.first()?;
    let count = |is_counted: &dyn Fn(&WatchedHop) -> bool| -> u64 {
        group.iter().filter(|it| is_counted(it)).map(|it| it.n_requests).sum()
    };
    let (others, all) = (count(&|it| it.way.is_tcp() != main.way.is_tcp()), count(&|_| true));
    let pct = 100.0 * others as f64 / all.max(1) as f64;
    let way = if main.way.is_tcp() { "a socket" } else { "TCP" };
    (pct >= LEAST_OTHER_WAY_PCT)
        .then(|| format!("{pct:.0} % of the requests in the {count_name} count went over {way}"))
}

/// Returns a sentence if the sizes of the requests show that different requests were sent.
fn other_sizes(before: &[&WatchedHop], after: &[&WatchedHop]) -> Option<String> {
    let sizes = |group: &[&WatchedHop]| -> Option<[f64; 2]> {
        let sum = |pick: fn(&WatchedHop) -> u64| group.iter().map(|it| pick(it)).sum::<u64>() as f64;
        let n = sum(|it| it.n_requests);
        (n > 0.0).then(|| [sum(|it| it.n_bytes_asked) / n, sum(|it| it.n_bytes_answered) / n])
    };
    let ([asked, answered], [asked_after, answered_after]) = (sizes(before)?, sizes(after)?);
    let differs = |one: f64, other: f64| one.max(other) > OTHER_SIZE * one.min(other);
    (differs(asked, asked_after) || differs(answered, answered_after)).then(|| {
        format!(
            "the requests are not the same: on average {asked:.0} bytes sent and {answered:.0} received before, \
             {asked_after:.0} and {answered_after:.0} after"
        )
    })
}

/// Returns a sentence if the rate of the requests changed much.
fn other_rate([before, after]: [f64; 2]) -> Option<String> {
    let (least, most) = (before.min(after), before.max(after));
    (least > 0.0 && most >= OTHER_RATE * least).then(|| {
        format!(
            "the load is not the same: {before:.1} requests/s before and {after:.1} after; the time of a request \
             depends on the load"
        )
    })
}
