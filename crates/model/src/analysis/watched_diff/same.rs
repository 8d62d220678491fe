//! Finds the clients and servers that are the same in two saved snapshots of `watch`.
//!
//! Clients are matched by program, user and home (the container or service); servers are matched by program, kind and
//! home. Addresses change when a client is moved, and process ids change with a restart, so neither is used for the
//! match.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::{Watched, WatchedHop};

/// Program, user and home of a client, and the index of its server in [`Servers`].
pub(super) type Who<'a> = (Option<[&'a str; 3]>, usize);

/// The servers of both saved snapshots, each listed once. Two entries with the same program, kind and home are the
/// same server if they share a process or an address, or if each saved snapshot has only one server with these three
/// properties.
pub(super) struct Servers<'a> {
    known: Vec<Same<'a>>,
}

struct Same<'a> {
    service: [&'a str; 3],
    pids: BTreeSet<u32>,
    addresses: BTreeSet<&'a str>,
}

impl<'a> Servers<'a> {
    pub(super) fn new(both: [&'a Watched; 2]) -> Self {
        let mut it = Self { known: Vec::new() };
        for hop in both.iter().flat_map(|it| &it.hops) {
            it.add(hop);
        }
        let mut services: BTreeSet<[&str; 3]> = it.known.iter().map(|it| it.service).collect();
        // If a saved snapshot has several servers with these properties, they are not merged.
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

/// Returns user and home of each program that occurs with only one user and home. Used for clients that have ended,
/// because their own user and home are not known.
pub(super) fn only_ones(both: [&Watched; 2]) -> BTreeMap<&str, Option<[&str; 2]>> {
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

pub(super) fn grouped<'a>(
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
