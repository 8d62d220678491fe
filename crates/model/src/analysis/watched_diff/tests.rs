//! Tests of moves, restarts, several servers and ended clients, and of how often chance is reported as a change.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::*;
use crate::record::{WATCHED_SCHEMA_VERSION, WatchedLook};

fn end(program: &str, pid: u32) -> WatchedEnd {
    WatchedEnd { program: program.to_owned(), pid: Some(pid), user: Some("www-data".to_owned()), home: None }
}

/// Makes a hop with looks of 3 s; each look has 100 requests that took the given time in µs.
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
        server_cpu: None,
        client_cpu: None,
        accept_wait: None,
        n_opened: 0,
        opened_per_s: 0.0,
        n_closed: None,
        n_bytes_asked: 1_000 * n,
        n_bytes_answered: 9_000 * n,
        looks,
    }
}

/// Returns the start of a bucket, in units of 64 ns.
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
        queues: Vec::new(),
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
    // The server was restarted between the two saved snapshots.
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
    // If the server was also moved, nothing shows which of the two servers it was before.
    let before = vec![hop(("mariadbd", 9), TCP.0, TCP.1, &[200.0; 20]), other()];
    let after = vec![hop(("mariadbd", 12), SOCKET.0, SOCKET.1, &[200.0; 20]), other()];
    let found = diff(before, after).unwrap();
    assert_eq!(found.hops.len(), 1);
    assert!(found.notes[0].starts_with("only in the later count: php-fpm -> mariadbd at /run"), "{:?}", found.notes);
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
        // Half of the looks have a tenth of the requests, and each of these requests took ten times as long.
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
        found.hops[0].notes[0].contains("9 % of the requests in the later count went over TCP"),
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
    assert!(found.hops[0].notes[0].contains("the requests are not the same"), "{:?}", found.hops[0].notes);
}

#[test]
fn one_look_or_no_common_client_is_refused() {
    let mut times = random(5);
    let whole = hop(("mariadbd", 9), TCP.0, TCP.1, &times(200.0));
    let mut single = whole.clone();
    single.looks.clear();
    assert!(diff(vec![single], vec![whole.clone()]).unwrap_err().to_string().contains("one snapshot"));
    let other = hop(("postgres", 10), TCP.0, TCP.1, &times(200.0));
    assert!(diff(vec![whole], vec![other]).unwrap_err().to_string().contains("no client"));
}

#[test]
fn a_rate_that_doubled_or_halved_is_noted_beside_the_time() {
    for (before, after, is_noted) in
        [(33.3, 33.3, false), (33.3, 60.0, false), (60.0, 33.3, false), (30.0, 60.0, true), (60.0, 30.0, true)]
    {
        let at = |per_s: f64| WatchedHop { requests_per_s: per_s, ..hop(("mariadbd", 9), TCP.0, TCP.1, &[200.0; 20]) };
        let found = diff(vec![at(before)], vec![at(after)]).unwrap();
        let notes = &found.hops[0].notes;
        assert_eq!(notes.len(), usize::from(is_noted), "{before} {after}: {notes:?}");
        let words = format!("the load is not the same: {before:.1} requests/s before and {after:.1} after");
        assert!(notes.iter().all(|it| it.contains(&words)), "{notes:?}");
    }
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
