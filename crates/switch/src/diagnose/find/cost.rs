//! Finds the extra CPU time of a request over TCP compared with the socket, on this machine.
//!
//! The costs come from records of `compare` with one connection, both ends on one core, and the same kind of server.
//! Only the echo server's cost is also used for other kinds of server: the transport's part of a request probably
//! differs little between kinds, but no measurement shows that.

use std::path::{Path, PathBuf};

use looptax_host::read;
use looptax_model::analysis::judge_again;
use looptax_model::dsn::{Arm, Kind};
use looptax_model::failure::Failure;
use looptax_model::record::{Comparison, CostSource, Placement, Record, Target, Tax, Verdict};
use looptax_store::{StoreError, load};

/// The maximum number of records that are read, starting with the newest.
pub const MOST_RECORDS: u32 = 20;
/// Larger records are skipped: they come from long runs, and reading them takes longer than a snapshot does.
const MOST_RECORD_BYTES: u64 = 32 << 20;

/// Returns the costs in one record, one entry per kind of server.
pub fn of_record(path: &Path) -> Result<Vec<CostSource>, Failure> {
    let record = judged(path)?;
    let sources = cost_sources(&record, &path.display().to_string());
    if sources.is_empty() {
        let kind = record.comparisons.first().map(|it| &*it.target.kind);
        let target = match kind {
            None | Some("echo") => "echo".to_owned(),
            Some(kind) => format!("private:{kind}"),
        };
        return Err(Failure::usage(
            format!("`{}` does not show the cost of a request: {}", path.display(), why_none(&record)),
            format!("record a run that shows this cost: looptax compare {target} -c 1 --placement same"),
        ));
    }
    Ok(sources)
}

/// Loads the record at `path`. For the comparisons that may give a cost, judges the raw counts again, because the
/// record's own summary may differ from its counts. CPU time needs no latencies.
fn judged(path: &Path) -> Result<Record, StoreError> {
    let mut record = load(path)?;
    for comparison in record.comparisons.iter_mut().filter(|it| is_fit(it)) {
        judge_again(comparison, &mut |_| Vec::new());
    }
    Ok(record)
}

/// Returns the reason why a record contains no usable cost.
pub fn why_none(record: &Record) -> String {
    let Some(comparison) = record.comparisons.iter().find(|it| is_fit(it)) else {
        return "the record has no measurement of requests over tcp and unix with one connection and both of its ends \
            on one core"
            .to_owned();
    };
    let tax = { comparison.tax.iter() }.find(|it| asked_in(comparison, it).is_some());
    match tax {
        None => "tcp and unix were not both measured".to_owned(),
        Some(tax) if tax.verdict == Verdict::Invalid => {
            let why = record.problems.first();
            why.map_or_else(
                || "its measurement was invalid".to_owned(),
                |why| format!("the measurement was invalid: {why}"),
            )
        }
        Some(_) => "too few epochs were measured for an estimate of CPU time".to_owned(),
    }
}

/// Returns the newest cost of each kind of server in these records, which are sorted from the newest to the oldest. An
/// undecided run counts only if there is no other run. A missing record, and a record that is too large, are skipped.
pub fn from_newest(records: &[PathBuf]) -> Vec<CostSource> {
    let mut found: Vec<CostSource> = Vec::new();
    let is_small = |path: &&PathBuf| {
        let found = read::look(path).ok().flatten();
        found.is_some_and(|it| it.st_size.cast_unsigned() <= MOST_RECORD_BYTES)
    };
    for path in records.iter().filter(is_small) {
        let Ok(record) = judged(path) else { continue };
        for source in cost_sources(&record, &format!("run {}", record.id)) {
            match found.iter_mut().find(|it| is_same(it, &source)) {
                Some(known) if known.is_undecided && !source.is_undecided => *known = source,
                Some(_) => {}
                None => found.push(source),
            }
        }
    }
    found
}

/// Returns the costs in a record. If several comparisons measured the same requests, the first comparison counts.
pub fn cost_sources(record: &Record, source: &str) -> Vec<CostSource> {
    let mut found: Vec<CostSource> = Vec::new();
    for comparison in record.comparisons.iter().filter(|it| is_fit(it)) {
        for tax in &comparison.tax {
            let is_valid = tax.verdict != Verdict::Invalid && tax.cpu_us.both.known().is_some();
            let Some(Asked { kind, client_kind, is_sealed }) = asked_in(comparison, tax).filter(|_| is_valid) else {
                continue;
            };
            let is_decided = tax.verdict != Verdict::Inconclusive;
            let cost = CostSource {
                kind,
                client_kind,
                is_per_connection: comparison.load.reconnect_every == Some(1),
                is_sealed,
                cpu_us_per_request: tax.cpu_us.both.clone(),
                source: format!("{source}, {}", minute(&record.started_at)),
                is_size_uncertain: tax.uncertain_size.is_some(),
                is_undecided: !is_decided && tax.uncertain_size.is_none(),
            };
            if !found.iter().any(|it| is_same(it, &cost)) {
                found.push(cost);
            }
        }
    }
    found
}

/// Whether two costs are for the same kind of requests.
fn is_same(one: &CostSource, other: &CostSource) -> bool {
    let is_of_kind = (&one.kind, &one.client_kind) == (&other.kind, &other.client_kind);
    is_of_kind && (one.is_per_connection, one.is_sealed) == (other.is_per_connection, other.is_sealed)
}

/// The kind of requests to which a tax belongs.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    kind: Option<String>,
    /// The kind of the pooler that sends the requests, if a pooler sends them.
    client_kind: Option<String>,
    /// Whether TLS is part of the tax.
    is_sealed: bool,
}

fn asked_in(comparison: &Comparison, tax: &Tax) -> Option<Asked> {
    asked(&comparison.target, &tax.baseline, &tax.arm)
}

/// Returns the kind of the server, and the kind of the pooler in front of it if there is one. The two arms may differ
/// only in the transport of the requests: TCP (plain or encrypted) in one arm, and the plain socket in the other.
/// `None` for other pairs of arms.
fn asked(target: &Target, baseline: &str, arm: &str) -> Option<Asked> {
    let kind = kind_of(target);
    let (socket, tcp): (Arm, Arm) = (baseline.parse().ok()?, arm.parse().ok()?);
    let is_sealed = tcp == Arm::Tls;
    let is_first = match (socket.second_hop(), tcp.second_hop()) {
        (None, None) => socket == Arm::Unix && (is_sealed || tcp == Arm::Tcp),
        (one, other) => one == other && socket.is_unix() && !tcp.is_unix(),
    };
    if is_first {
        return Some(Asked { kind, client_kind: None, is_sealed });
    }
    let hops = (socket.second_hop()?, tcp.second_hop()?);
    let is_second = hops == (Arm::Unix, Arm::Tcp) && socket.is_unix() == tcp.is_unix();
    let mut kinds = Kind::ALL.into_iter();
    let pooler = kinds.find(|it| Some(it.name()) == kind.as_deref())?;
    let behind = pooler.facts().pools?;
    is_second.then(|| Asked { kind: Some(behind.name().to_owned()), client_kind: kind, is_sealed: false })
}

/// Returns a record's time to the minute, in this machine's time zone.
fn minute(at: &str) -> String {
    let parsed = at.parse::<jiff::Timestamp>();
    parsed.map_or_else(
        |_| at.to_owned(),
        |at| {
            let here = at.to_zoned(jiff::tz::TimeZone::system());
            here.strftime("%Y-%m-%d %H:%M").to_string()
        },
    )
}

/// Returns the kind of server that a cost is for; `None` for the echo server, which measures only the transport and
/// represents every kind.
fn kind_of(target: &Target) -> Option<String> {
    let kind = &target.kind;
    (kind != "echo").then(|| kind.clone())
}

/// Whether a comparison sends one request at a time, with both ends on one core. The scheduler then adds nothing to a
/// request's cost.
fn is_fit(comparison: &Comparison) -> bool {
    comparison.connections == 1
        && !comparison.is_of_program()
        && comparison.placement.asked == Placement::Same
        && matches!(comparison.load.reconnect_every, None | Some(1))
        && !matches!(&*comparison.workload.name, "connect" | "dump" | "stream")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks which kinds are found for a comparison with this kind of server, this baseline and this arm.
    #[track_caller]
    fn check(kind: &str, baseline: &str, arm: &str, expected: Option<(&str, Option<&str>)>) {
        let target = Target { kind: kind.to_owned(), ..Target::default() };
        let found = asked(&target, baseline, arm);
        let expected = expected.map(|(kind, client)| Asked {
            kind: Some(kind.to_owned()),
            client_kind: client.map(str::to_owned),
            is_sealed: arm == "tls",
        });
        assert_eq!(found, expected, "{arm} over {baseline}");
    }

    #[test]
    fn r25_arms_of_two_hops_cost_the_pooler_and_what_it_asks() {
        check("pgbouncer", "unix+unix", "tcp+unix", Some(("pgbouncer", None)));
        check("pgbouncer", "unix+tcp", "tcp+tcp", Some(("pgbouncer", None)));
        let behind = Some(("postgres", Some("pgbouncer")));
        check("pgbouncer", "unix+unix", "unix+tcp", behind);
        check("pgbouncer", "tcp+unix", "tcp+tcp", behind);
        check("pgbouncer", "unix+unix", "tcp+tcp", None);
        check("mariadb", "unix", "tcp", Some(("mariadb", None)));
        check("mariadb", "unix", "abstract", None);
        check("mariadb", "tcp", "tls", None);
        check("mariadb", "unix", "tls", Some(("mariadb", None)));
        check("mariadb", "tls-unix", "tls", None);
    }
}
