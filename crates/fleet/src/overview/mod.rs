//! Makes an overview of a fleet from its newest reports: what it loses, which clients to move first, what differs by
//! condition, what needs attention.
//!
//! Pure: takes the replies to the queries and returns a [`Fleet`]. All formulas are in the statistics
//! (`looptax_model::stats`).

mod answers;
mod cells;
mod effects;
mod lost;
mod machine;
mod saved;

use std::collections::{BTreeMap, HashSet};

pub use answers::{Answers, Machines, Measured, Payer};
pub use cells::Listed;
use looptax_model::record::{FLEET_SCHEMA_VERSION, Fleet, FleetCondition, FleetFallen, FleetHost, FleetList};
pub use machine::machines;

/// The lengths to which the lists are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub first: usize,
    pub rows: usize,
}

impl Limits {
    pub const PAGE: Self = Self { first: 20, rows: 25 };
    /// The limits for a terminal: the output takes a few screens.
    pub const TERMINAL: Self = Self { first: 20, rows: 8 };
}

/// Makes the overview from the collector's replies. `at` is the current time, with its offset from UTC.
pub fn overview(answers: Answers, at: String, version: &str, limits: Limits) -> Fleet {
    let kinds = lost::Kinds::new(&answers.measured.rows);
    let payers = &answers.payers;
    let over_tcp: HashSet<&str> = payers.rows.iter().map(|it| it.host_id.as_str()).collect();
    let conditions = conditions(&answers.conditions);
    Fleet {
        schema_version: FLEET_SCHEMA_VERSION,
        looptax_version: version.to_owned(),
        at,
        hosts: conditions.iter().map(|it| it.hosts).sum(),
        hosts_over_tcp: over_tcp.len() as u64,
        tcp_requests_per_s: payers.rows.iter().map(|it| it.requests_per_s).sum(),
        lost: kinds.lost(&payers.rows),
        not_measured: list(kinds.not_measured(payers.rows.iter()), payers.is_cut, limits.rows),
        pairs: list(kinds.pairs(&payers.rows), payers.is_cut, limits.first),
        first: kinds.first(payers, limits.first),
        effects: effects::by_condition(&answers.measured.rows),
        unlike: list(kinds.unlike(&answers.measured.rows), answers.measured.is_cut, limits.rows),
        conditions: list(conditions, answers.conditions.is_cut, limits.rows),
        fell_back: list(fell_back(&payers.rows), payers.is_cut, limits.rows),
        movers: list(kinds.movers(&answers.movers.rows), answers.movers.is_cut, limits.rows),
        silent: list(answers.silent.rows, answers.silent.is_cut, limits.rows),
        shared: list(answers.shared.rows, answers.shared.is_cut, limits.rows),
    }
}

/// Lists the machines with clients over TCP, the largest loss first.
pub fn hosts(answers: &Answers, most: usize) -> FleetList<FleetHost> {
    let kinds = lost::Kinds::new(&answers.measured.rows);
    let rows = kinds.hosts(&answers.payers.rows);
    list(rows, answers.payers.is_cut, most)
}

/// Cuts a list to its first rows.
fn list<T>(mut rows: Vec<T>, is_cut: bool, most: usize) -> FleetList<T> {
    let n = rows.len() as u64;
    rows.truncate(most);
    FleetList { rows, n, has_more_than_n: is_cut }
}

/// Lists the clients that were moved earlier and use TCP again, the busiest first.
fn fell_back(payers: &[Payer]) -> Vec<FleetFallen> {
    let fallen = payers.iter().filter(|it| it.fell_back);
    let fallen = fallen.map(|it| FleetFallen {
        host: it.host.clone(),
        client: it.client.clone(),
        server: it.server.clone(),
        at_s: it.at_s,
        connections: it.connections,
        requests_per_s: Some(it.requests_per_s),
    });
    fallen.collect()
}

/// Groups machines with the same properties, the largest group first; different builds of one kernel release count as
/// the same.
fn conditions(machines: &Listed<Machines>) -> Vec<FleetCondition> {
    let mut alike = BTreeMap::new();
    for it in &machines.rows {
        let key = (&it.kernel, &it.cpu_model, &it.virtualised);
        let sums: &mut (u64, f64) = alike.entry(key).or_default();
        sums.0 += it.hosts;
        sums.1 += it.tcp_requests_per_s;
    }
    let rows = alike.into_iter();
    let mut rows: Vec<FleetCondition> = rows
        .map(|((kernel, cpu_model, virtualised), (hosts, rate))| FleetCondition {
            kernel: kernel.clone(),
            cpu_model: cpu_model.clone(),
            virtualised: virtualised.clone(),
            hosts,
            tcp_requests_per_s: rate,
        })
        .collect();
    rows.sort_by_key(|it| std::cmp::Reverse(it.hosts));
    rows
}
