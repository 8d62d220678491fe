//! Two looks of `watch` held against each other: the same clients before and after a change.
//!
//! A client is the same by its program, user and home, a server by its program, kind and home: addresses change with a
//! move, and process numbers with a restart. Nothing pairs the two stretches of time, so what else changed meanwhile is
//! in the difference and not in its interval: whoever shows it says so.

use std::collections::{BTreeMap, BTreeSet};

use crate::failure::Failure;
use crate::record::{
    Figure, Watched, WatchedChange, WatchedDiff, WatchedEnd, WatchedHop, WatchedSide, WatchedSpan, Way,
};
use crate::stats::{self, Estimate, LEAST_LOOKS, Times, serial_mean, tested_difference};

/// More than are ever saved.
const MOST_LOOKS: usize = 1_000;
/// Level of the intervals.
const ALPHA: f64 = 0.05;
/// A quantile lies somewhere in its bucket, which is one sixteenth wide at most.
const BUCKET: f64 = 1.0 / 16.0;
/// An interval from a third to three times the value says nothing.
const MOST_HALF_WIDTH: f64 = 1.1;
/// Of what is in only one of the two, so much is named.
const MOST_NAMED: usize = 8;
/// Requests whose size changed by more are other requests.
const OTHER_SIZE: f64 = 1.1;
/// A share of requests in percent that goes another way, from which on it is told.
const LEAST_OTHER_WAY_PCT: f64 = 1.0;

/// What `before` and `after` have in common, each with its name.
///
/// # Errors
/// A failure that says why nothing in them can be compared.
pub fn watched_diff(before: (Option<&str>, &Watched), after: (Option<&str>, &Watched)) -> Result<WatchedDiff, Failure> {
    for (name, it) in [before, after] {
        if it.hops.iter().any(|hop| hop.looks.len() > MOST_LOOKS) {
            let name = name.unwrap_or("it");
            return Err(Failure::usage(
                format!("{name} has more than {MOST_LOOKS} looks of one client: looptax saves no such file"),
                "count again with `looptax watch --save NAME`",
            ));
        }
        let has_looks = it.hops.is_empty() || it.hops.iter().any(|hop| hop.looks.len() >= LEAST_LOOKS);
        if !has_looks {
            return Err(Failure::usage(
                format!("{} was counted in one look, so that nothing is known of how it varies", name.unwrap_or("it")),
                format!("`looptax watch --save NAME` counts in {LEAST_LOOKS} looks and more"),
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
            "no client asked the same server in both",
            "the same programs have to ask while it is counted: `looptax watch` shows who does",
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

const SEND_IS_NOT_IN_IT: &str = "times begin when a request has arrived at the server: the client's own send, which is \
                                 longer over TCP, is not in them, so a move to the socket saves a little more";

fn moved(it: &WatchedChange) -> bool {
    it.before.way.is_tcp() != it.after.way.is_tcp()
}

fn span((name, it): (Option<&str>, &Watched)) -> WatchedSpan {
    WatchedSpan { name: name.map(str::to_owned), at: it.at.clone(), over_s: it.over_s, busy_pct: it.busy_pct }
}

/// Program, user and home of a client; a server's place in [`Servers`].
type Who<'a> = (Option<[&'a str; 3]>, usize);

/// Servers of both, each once: those of a program, kind and home that were one process or had one address, or that are the
/// only one of their kind in each.
struct Servers<'a> {
    known: Vec<Same<'a>>,
}

struct Same<'a> {
    service: [&'a str; 3],
    pids: BTreeSet<u32>,
    addresses: BTreeSet<&'a str>,
}

impl<'a> Servers<'a> {
    fn new(both: [&'a Watched; 2]) -> Self {
        let mut it = Self { known: Vec::new() };
        for hop in both.iter().flat_map(|it| &it.hops) {
            it.add(hop);
        }
        let mut services: BTreeSet<[&str; 3]> = it.known.iter().map(|it| it.service).collect();
        // Several at once are not told apart by their kind.
        services.retain(|service| {
            let is_one = |watched: &&Watched| {
                let own = watched.hops.iter().filter(|hop| self::service(hop) == *service);
                own.filter_map(|hop| it.idx(hop)).collect::<BTreeSet<_>>().len() <= 1
            };
            both.iter().all(is_one)
        });
        for service in services {
            let (own, rest): (Vec<_>, Vec<_>) = it.known.into_iter().partition(|it| it.service == service);
            it.known = rest;
            it.known.extend(own.into_iter().reduce(Same::and));
        }
        it
    }

    fn add(&mut self, hop: &'a WatchedHop) {
        let own = Same {
            service: service(hop),
            pids: pid(hop).into_iter().collect(),
            addresses: BTreeSet::from([&*hop.address]),
        };
        let is_same = |it: &Same<'_>| {
            it.service == own.service && !(it.pids.is_disjoint(&own.pids) && it.addresses.is_disjoint(&own.addresses))
        };
        let (same, mut rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.known).into_iter().partition(is_same);
        rest.push(same.into_iter().fold(own, Same::and));
        self.known = rest;
    }

    fn idx(&self, hop: &WatchedHop) -> Option<usize> {
        let service = service(hop);
        self.known.iter().position(|it| it.service == service && it.addresses.contains(&*hop.address))
    }
}

impl Same<'_> {
    fn and(mut self, other: Self) -> Self {
        self.pids.extend(other.pids);
        self.addresses.extend(other.addresses);
        self
    }
}

fn pid(hop: &WatchedHop) -> Option<u32> {
    hop.server.as_ref().and_then(|it| it.pid)
}

fn service(hop: &WatchedHop) -> [&str; 3] {
    let server = hop.server.as_ref();
    [
        server.map_or(&*hop.address, |it| &it.program),
        server.and_then(|it| it.home.as_deref()).unwrap_or_default(),
        hop.kind.as_deref().unwrap_or_default(),
    ]
}

/// User and home of each program that is there as only one of them: a client that has ended has neither.
fn only_ones(both: [&Watched; 2]) -> BTreeMap<&str, Option<[&str; 2]>> {
    let mut only = BTreeMap::new();
    for client in both.iter().flat_map(|it| &it.hops).filter_map(|it| it.client.as_ref()) {
        let Some(user) = client.user.as_deref() else { continue };
        let own = Some([user, client.home.as_deref().unwrap_or_default()]);
        let known = only.entry(&*client.program).or_insert(own);
        if *known != own {
            *known = None;
        }
    }
    only
}

fn grouped<'a>(
    watched: &'a Watched,
    servers: &Servers<'a>,
    only: &BTreeMap<&'a str, Option<[&'a str; 2]>>,
) -> BTreeMap<Who<'a>, Vec<&'a WatchedHop>> {
    let mut groups: BTreeMap<Who<'_>, Vec<&WatchedHop>> = BTreeMap::new();
    for hop in &watched.hops {
        let client = hop.client.as_ref().map(|it| {
            let own = [it.user.as_deref().unwrap_or_default(), it.home.as_deref().unwrap_or_default()];
            let known = only.get(&*it.program).copied().flatten().filter(|_| it.user.is_none());
            let [user, home] = known.unwrap_or(own);
            [&*it.program, user, home]
        });
        if let Some(server) = servers.idx(hop) {
            groups.entry((client, server)).or_default().push(hop);
        }
    }
    for group in groups.values_mut() {
        group.sort_by_key(|it| std::cmp::Reverse(it.n_requests));
    }
    groups
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

/// What only one of the two has, the busiest first.
fn alone(which: &str, mut groups: Vec<&[&WatchedHop]>) -> Vec<String> {
    groups.retain(|it| n_requests(it) > 0);
    groups.sort_by_key(|it| std::cmp::Reverse(n_requests(it)));
    let n_more = groups.len().saturating_sub(MOST_NAMED);
    let named = groups.iter().take(MOST_NAMED).map(|it| format!("only in the {which} one: {}", named(it)));
    let more = (n_more > 0).then(|| format!("only in the {which} one: {n_more} more"));
    named.chain(more).collect()
}

/// The change of one hop, and how often chance makes such a one.
fn change([before, after]: [&[&WatchedHop]; 2]) -> (WatchedChange, Option<f64>) {
    let series = [before, after].map(series);
    let changed =
        |pick: fn(&Series) -> Option<Estimate>, open: f64| changed([pick(&series[0]), pick(&series[1])], open);
    let (mean_pct, p) = changed(|it| it.mean, 0.0);
    let sides = [(before, &series[0]), (after, &series[1])].map(|(group, series)| side(group, series));
    let last = after.first().or(before.first());
    let [before_side, after_side] = sides;
    let notes = [other_ways(before, "before"), other_ways(after, "after"), other_sizes(before, after)];
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

/// The logarithms of times in µs, with intervals.
#[derive(Default)]
struct Series {
    mean: Option<Estimate>,
    p50: Option<Estimate>,
    p99: Option<Estimate>,
}

/// The mean of all requests and the quantiles of all, as `watch` says them; how they vary is seen from look to look.
fn series(group: &[&WatchedHop]) -> Series {
    let n_looks = group.iter().map(|it| it.looks.len()).max().unwrap_or(0);
    let looks = (0..n_looks).map(|idx| {
        let mut times = Times::default();
        group.iter().filter_map(|it| it.looks.get(idx)).for_each(|it| times.add(&it.times));
        times
    });
    let looks: Vec<Times> = looks.filter(|it| it.n() > 0).collect();
    let mut all = Times::default();
    for look in &looks {
        all.add(look);
    }
    let Some(mean_ns) = all.mean_ns().filter(|it| *it > 0.0) else {
        return Series::default();
    };
    // What each look adds to the ratio of two sums, linearised.
    let per_look = all.n() as f64 / looks.len() as f64;
    let shares = looks.iter().map(|it| (it.sum_ns() as f64 / mean_ns - it.n() as f64) / per_look);
    let quantile = |quantile: f64| {
        let logs = looks.iter().filter_map(|it| it.quantile_ns(quantile)).map(f64::ln);
        around(all.quantile_ns(quantile)?, &logs.collect::<Vec<_>>())
    };
    Series { mean: around(mean_ns, &shares.collect::<Vec<_>>()), p50: quantile(0.5), p99: quantile(0.99) }
}

/// The logarithm of a time, in µs, with the interval that values on this scale have around their own mean.
fn around(ns: f64, values: &[f64]) -> Option<Estimate> {
    let (found, ln_us) = (serial_mean(values, ALPHA)?, (ns / 1e3).ln());
    let half = found.half_width();
    Some(Estimate { value: ln_us, lo: ln_us - half, hi: ln_us + half, n: found.n })
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

/// What a wider interval leaves open on each side.
fn widened(it: Estimate, by: f64) -> Estimate {
    Estimate { lo: it.lo - by, hi: it.hi + by, ..it }
}

/// On the scale of `back`; none where the looks leave it as good as open.
fn shown(it: Estimate, back: impl Fn(f64) -> f64) -> Figure {
    if it.half_width() > MOST_HALF_WIDTH {
        return Figure::missing("varies too much from look to look");
    }
    let it = it.map_monotone(back);
    Figure::new(it.value, it.lo, it.hi, it.n as u64)
}

fn too_few() -> Figure {
    Figure::missing(format!("requests in fewer than {LEAST_LOOKS} looks"))
}

/// That some of the requests went another way.
fn other_ways(group: &[&WatchedHop], when: &str) -> Option<String> {
    let main = group.first()?;
    let count = |is_counted: &dyn Fn(&WatchedHop) -> bool| -> u64 {
        group.iter().filter(|it| is_counted(it)).map(|it| it.n_requests).sum()
    };
    let (others, all) = (count(&|it| it.way.is_tcp() != main.way.is_tcp()), count(&|_| true));
    let pct = 100.0 * others as f64 / all.max(1) as f64;
    let way = if main.way.is_tcp() { "a socket" } else { "TCP" };
    (pct >= LEAST_OTHER_WAY_PCT).then(|| format!("{pct:.0} % of the requests {when} went over {way}"))
}

/// That the requests are others by their size.
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
            "these are not the same requests: {asked:.0} bytes asked and {answered:.0} answered on average before, \
             {asked_after:.0} and {answered_after:.0} after"
        )
    })
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::SplitMix64;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::*;
    use crate::record::{WATCHED_SCHEMA_VERSION, WatchedLook};

    fn end(program: &str, pid: u32) -> WatchedEnd {
        WatchedEnd { program: program.to_owned(), pid: Some(pid), user: Some("www-data".to_owned()), home: None }
    }

    /// A hop of 20 looks of 3 s, whose requests took these times in µs, 100 in each look.
    fn hop(server: (&str, u32), way: Way, address: &str, us: &[f64]) -> WatchedHop {
        let look = |us: &f64| {
            let bucket = (1..512).find(|it| start(*it) * 64.0 > us * 1e3).unwrap_or(512) - 1;
            let form = format!(r#"{{"sum_ns":{},"buckets":[[{bucket},100]]}}"#, (us * 1e5) as u64);
            let times = serde_json::from_str(&form).unwrap();
            WatchedLook { over_s: 3.0, n_requests: 100, n_bytes_asked: 1_000, n_bytes_answered: 9_000, times }
        };
        let looks: Vec<WatchedLook> = us.iter().map(look).collect();
        let n = looks.len() as u64;
        WatchedHop {
            client: Some(end("php-fpm", 7)),
            n_processes: 4,
            server: Some(end(server.0, server.1)),
            kind: Some("mariadb".to_owned()),
            version: None,
            way,
            address: address.to_owned(),
            n_requests: 100 * n,
            requests_per_s: 100.0 / 3.0,
            n_overlapping: 0,
            times: None,
            served: None,
            n_opened: 0,
            opened_per_s: 0.0,
            n_closed: None,
            n_bytes_asked: 1_000 * n,
            n_bytes_answered: 9_000 * n,
            looks,
        }
    }

    /// Where a bucket begins, in units of 64 ns.
    fn start(bucket: u32) -> f64 {
        if bucket < 16 {
            return bucket.into();
        }
        let above = bucket - 16;
        f64::from(1 << (above / 16)) * f64::from(16 + above % 16)
    }

    fn watched(hops: Vec<WatchedHop>) -> Watched {
        Watched {
            schema_version: WATCHED_SCHEMA_VERSION,
            looptax_version: String::new(),
            at: String::new(),
            over_s: 60.0,
            busy_pct: Some(40.0),
            hops,
            notes: Vec::new(),
        }
    }

    fn diff(before: Vec<WatchedHop>, after: Vec<WatchedHop>) -> Result<WatchedDiff, Failure> {
        watched_diff((Some("before"), &watched(before)), (Some("after"), &watched(after)))
    }

    const TCP: (Way, &str) = (Way::Loopback, "127.0.0.1:3306");
    const SOCKET: (Way, &str) = (Way::Unix, "/run/mysqld/mysqld.sock");

    fn random(seed: u64) -> impl FnMut(f64) -> Vec<f64> {
        let mut random = SplitMix64::seed_from_u64(seed);
        move |middle| (0..20).map(|_| middle * (0.95 + 0.1 * (random.next_u64() as f64 / u64::MAX as f64))).collect()
    }

    #[test]
    fn a_client_that_moved_to_the_socket_is_the_same_client() {
        let mut times = random(1);
        let before = hop(("mariadbd", 9), TCP.0, TCP.1, &times(200.0));
        // The server was restarted meanwhile.
        let after = hop(("mariadbd", 12), SOCKET.0, SOCKET.1, &times(160.0));
        let found = diff(vec![before], vec![after]).unwrap();
        let [hop] = &*found.hops else {
            panic!("{found:?}");
        };
        assert_eq!((hop.before.way, hop.after.way), (TCP.0, SOCKET.0));
        for figure in [&hop.mean_pct, &hop.p50_pct] {
            let change = figure.known().unwrap();
            assert!((change.value + 20.0).abs() < 3.0 && change.hi.unwrap() < 0.0, "{change:?}");
        }
        assert!(hop.p.unwrap() < 1e-6);
        assert!(hop.notes.is_empty(), "{:?}", hop.notes);
        assert!(found.notes.iter().any(|it| it.contains("own send")), "{:?}", found.notes);
    }

    #[test]
    fn of_two_servers_of_a_kind_each_is_held_against_itself() {
        let mut times = random(2);
        let (first, second) = (("mariadbd", 9), ("mariadbd", 10));
        let before = vec![hop(first, TCP.0, TCP.1, &times(200.0)), hop(second, TCP.0, "127.0.0.1:3307", &times(900.0))];
        let after =
            vec![hop(second, TCP.0, "127.0.0.1:3307", &times(900.0)), hop(first, SOCKET.0, SOCKET.1, &times(200.0))];
        let found = diff(before, after).unwrap();
        assert_eq!(found.hops.len(), 2);
        for hop in &found.hops {
            assert!(hop.mean_pct.known().unwrap().value.abs() < 3.0, "{hop:?}");
        }
    }

    #[test]
    fn of_two_servers_one_that_was_restarted_is_known_by_its_address() {
        let mut times = random(7);
        let mut other = || hop(("mariadbd", 10), TCP.0, "127.0.0.1:3307", &times(900.0));
        let (one, two) = (other(), other());
        let before = vec![hop(("mariadbd", 9), TCP.0, TCP.1, &[200.0; 20]), one];
        let after = vec![hop(("mariadbd", 12), TCP.0, TCP.1, &[200.0; 20]), two];
        let found = diff(before, after).unwrap();
        assert_eq!((found.hops.len(), &*found.notes), (2, &[][..]));
        // Moved as well, nothing says which one it was.
        let before = vec![hop(("mariadbd", 9), TCP.0, TCP.1, &[200.0; 20]), other()];
        let after = vec![hop(("mariadbd", 12), SOCKET.0, SOCKET.1, &[200.0; 20]), other()];
        let found = diff(before, after).unwrap();
        assert_eq!(found.hops.len(), 1);
        assert!(found.notes[0].starts_with("only in the later one: php-fpm -> mariadbd at /run"), "{:?}", found.notes);
    }

    #[test]
    fn a_client_that_ended_meanwhile_is_the_one_of_its_name() {
        let mut times = random(8);
        let mut ended = hop(("mariadbd", 9), TCP.0, TCP.1, &times(200.0));
        if let Some(client) = &mut ended.client {
            (client.pid, client.user) = (None, None);
        }
        let [before, after] = [(); 2].map(|()| hop(("mariadbd", 9), TCP.0, TCP.1, &times(200.0)));
        let found = diff(vec![before], vec![after, ended]).unwrap();
        assert_eq!((found.hops.len(), &*found.notes), (1, &[][..]));
        assert_eq!(found.hops[0].after.n_requests, 4_000);
    }

    #[test]
    fn the_mean_is_that_of_all_requests_and_an_interval_that_says_nothing_is_none() {
        let mut uneven = hop(("mariadbd", 9), TCP.0, TCP.1, &[100.0; 10]);
        for (idx, look) in (0..).zip(&mut uneven.looks) {
            // Half of the looks have a tenth of the requests, which took ten times as long.
            if idx % 2 == 0 {
                look.times = serde_json::from_str(r#"{"sum_ns":10000000,"buckets":[[150,10]]}"#).unwrap();
            }
        }
        let found = diff(vec![uneven.clone()], vec![uneven]).unwrap();
        let mean_us = found.hops[0].before.mean_us.known().unwrap().value;
        assert!((mean_us - 2_000.0 / 11.0).abs() < 0.01, "{mean_us}");
        let wild: Vec<f64> = (0..20).map(|idx| if idx < 10 { 10.0 } else { 100_000.0 }).collect();
        let wild = hop(("mariadbd", 9), TCP.0, TCP.1, &wild);
        let found = diff(vec![wild.clone()], vec![wild]).unwrap();
        assert!(found.hops[0].p50_pct.known().is_none(), "{:?}", found.hops[0]);
    }

    #[test]
    fn what_still_goes_over_tcp_is_told() {
        let mut times = random(3);
        let before = hop(("mariadbd", 9), TCP.0, TCP.1, &times(200.0));
        let moved = hop(("mariadbd", 9), SOCKET.0, SOCKET.1, &times(200.0));
        let mut left = hop(("mariadbd", 9), TCP.0, TCP.1, &times(200.0));
        left.n_requests = 200;
        left.n_bytes_answered = 9 * 2_000;
        let found = diff(vec![before], vec![left, moved]).unwrap();
        assert_eq!(found.hops[0].after.way, Way::Unix);
        assert!(
            found.hops[0].notes[0].contains("9 % of the requests after went over TCP"),
            "{:?}",
            found.hops[0].notes
        );
    }

    #[test]
    fn other_requests_are_told_by_their_size() {
        let mut times = random(4);
        let before = hop(("mariadbd", 9), TCP.0, TCP.1, &times(200.0));
        let mut after = hop(("mariadbd", 9), TCP.0, TCP.1, &times(200.0));
        after.n_bytes_answered *= 2;
        let found = diff(vec![before], vec![after]).unwrap();
        assert!(found.hops[0].notes[0].contains("not the same requests"), "{:?}", found.hops[0].notes);
    }

    #[test]
    fn one_look_or_no_common_client_is_refused() {
        let mut times = random(5);
        let whole = hop(("mariadbd", 9), TCP.0, TCP.1, &times(200.0));
        let mut single = whole.clone();
        single.looks.clear();
        assert!(diff(vec![single], vec![whole.clone()]).unwrap_err().to_string().contains("one look"));
        let other = hop(("postgres", 10), TCP.0, TCP.1, &times(200.0));
        assert!(diff(vec![whole], vec![other]).unwrap_err().to_string().contains("no client"));
    }

    #[test]
    fn where_nothing_changed_one_in_twenty_is_taken_for_a_change() {
        let mut times = random(6);
        let n_runs = 2_000;
        let is_told = |_: &i32| {
            let before = hop(("mariadbd", 9), TCP.0, TCP.1, &times(200.0));
            let after = hop(("mariadbd", 9), SOCKET.0, SOCKET.1, &times(200.0));
            let found = diff(vec![before], vec![after]).unwrap();
            found.hops[0].p.unwrap() < 0.05
        };
        let share = (0..n_runs).filter(is_told).count() as f64 / f64::from(n_runs);
        assert!(share < 0.06, "{share}");
    }
}
