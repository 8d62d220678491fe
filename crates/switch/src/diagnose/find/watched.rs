//! What was counted on sockets, as it is shown and saved.

use looptax_host::discover::{Flow, Party, Server, flows};
use looptax_host::eyes::{Look, Times};
use looptax_model::record::{
    Note, NoteCode, WATCHED_SCHEMA_VERSION, Watched, WatchedEnd, WatchedHop, WatchedTimes, Way,
};

use super::listing::home;
use super::names::Names;

/// Which hops are wanted beside those of servers that are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Beside {
    /// Of everything that answers on this machine.
    pub everything: bool,
    /// Of what answers elsewhere, or behind addresses that are rewritten.
    pub elsewhere: bool,
}

/// A look, put down to services. `servers` are those that a survey found.
pub fn watched(look: &Look, servers: &[Server], beside: Beside) -> Watched {
    let names = Names::new();
    let over_s = look.over.as_secs_f64();
    let is_wanted = |it: &Flow| match (it.server_idx, &it.server) {
        (Some(_), _) => true,
        (None, Some(_)) => beside.everything,
        (None, None) => beside.elsewhere,
    };
    let flows = flows(look, servers).into_iter().filter(is_wanted);
    let lost = (look.n_lost > 0).then(|| Note {
        code: NoteCode::HopsLost,
        what: format!(
            "{} turns and connections of more processes than there is room for were not counted",
            look.n_lost
        ),
        next: None,
    });
    Watched {
        schema_version: WATCHED_SCHEMA_VERSION,
        looptax_version: env!("CARGO_PKG_VERSION").to_owned(),
        at: super::now(),
        over_s,
        hops: flows.map(|it| hop(it, servers, over_s, &names)).collect(),
        notes: lost.into_iter().collect(),
    }
}

fn hop(flow: Flow, servers: &[Server], over_s: f64, names: &Names) -> WatchedHop {
    let server = flow.server_idx.map(|idx| &servers[idx]);
    let counts = flow.counts;
    let per_s = |n: u64| n as f64 / over_s;
    WatchedHop {
        client: flow.client.map(|it| end(it, names)),
        n_processes: flow.processes.len() as u64,
        server: flow.server.map(|it| end(it, names)),
        kind: server.map(|it| it.kind.name().to_owned()),
        version: server.and_then(|it| it.version.clone()),
        way: flow.way,
        address: flow.address,
        n_requests: counts.n_turns(),
        requests_per_s: per_s(counts.n_turns()),
        n_overlapping: counts.n_overlapping,
        times: times(&counts.times),
        served: times(&counts.served),
        n_opened: counts.n_opened,
        opened_per_s: per_s(counts.n_opened),
        n_closed: (flow.way != Way::Unix).then_some(counts.n_closed),
        n_bytes_asked: counts.n_bytes_asked,
        n_bytes_answered: counts.n_bytes_answered,
    }
}

fn end(party: Party, names: &Names) -> WatchedEnd {
    WatchedEnd {
        pid: party.process.as_ref().map(|it| it.pid),
        user: party.process.as_ref().map(|it| names.user_of(it)),
        home: home(&party.home),
        program: party.name,
    }
}

fn times(times: &Times) -> Option<WatchedTimes> {
    let us = |quantile| Some(times.quantile_ns(quantile)? / 1e3);
    Some(WatchedTimes { mean_us: times.mean_ns()? / 1e3, p50_us: us(0.5)?, p90_us: us(0.9)?, p99_us: us(0.99)? })
}
