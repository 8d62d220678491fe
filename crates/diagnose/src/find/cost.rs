//! What a request over TCP costs more than over the socket, on this machine, in CPU time.
//!
//! From records of `compare`: one connection, both ends on one core, the server's own kind. A figure
//! of another kind of server is not used: how much of a request is the transport differs little, but
//! nobody has measured that it does not.

use std::fs;
use std::path::{Path, PathBuf};

use looptax_failure::Failure;
use looptax_record::{Comparison, CostSource, Placement, Record, Tax, Verdict};
use looptax_store::load;

/// Records that are read at most, the newest first.
pub const MOST_RECORDS: u32 = 20;
/// Larger ones are passed over: they are of long runs, and reading them takes longer than the look.
const MOST_RECORD_BYTES: u64 = 32 << 20;

/// The costs of one record, an entry per kind of server.
pub fn of_record(path: &Path) -> Result<Vec<CostSource>, Failure> {
    let record = load(path)?;
    let sources = cost_sources(&record, &path.display().to_string());
    if sources.is_empty() {
        let kind = record.comparisons.first().map(|it| &*it.target.kind);
        let target = match kind {
            None | Some("echo") => "echo".to_owned(),
            Some(kind) => format!("private:{kind}"),
        };
        return Err(Failure::usage(
            format!(
                "`{}` says nothing of what a request costs: {}",
                path.display(),
                why_none(&record)
            ),
            format!("make one: looptax compare {target} -c 1 --placement same"),
        ));
    }
    Ok(sources)
}

/// Why no cost can be taken from a record.
pub fn why_none(record: &Record) -> String {
    let Some(comparison) = record.comparisons.iter().find(|it| is_fit(it)) else {
        return "it holds no requests over tcp and unix at one connection with both ends on one core"
            .to_owned();
    };
    let tax = { comparison.tax.iter() }.find(|it| is_ours(it));
    match tax {
        None => "tcp and unix were not both measured".to_owned(),
        Some(tax) if tax.verdict == Verdict::Invalid => {
            let why = record.problems.first();
            why.map_or_else(
                || "its measurement was invalid".to_owned(),
                |why| format!("its measurement was invalid: {why}"),
            )
        }
        Some(_) => "too few epochs were measured for an estimate of CPU time".to_owned(),
    }
}

/// The newest cost of each kind of server among these records, the newest first; one of a run that did not decide
/// where there is no other. One that is gone, or too large to be worth the time, is passed over.
pub fn from_newest(records: &[PathBuf]) -> Vec<CostSource> {
    let mut found: Vec<CostSource> = Vec::new();
    let is_small =
        |path: &&PathBuf| fs::metadata(path).is_ok_and(|it| it.len() <= MOST_RECORD_BYTES);
    for path in records.iter().filter(is_small) {
        let Ok(record) = load(path) else { continue };
        for source in cost_sources(&record, &format!("run {}", record.id)) {
            match found.iter_mut().find(|it| it.kind == source.kind) {
                Some(known) if known.is_undecided && !source.is_undecided => *known = source,
                Some(_) => {}
                None => found.push(source),
            }
        }
    }
    found
}

/// The costs in a record; of several comparisons of a kind, the first of one connection counts.
pub fn cost_sources(record: &Record, source: &str) -> Vec<CostSource> {
    let mut found: Vec<CostSource> = Vec::new();
    for comparison in &record.comparisons {
        let kind = kind_of(comparison);
        if found.iter().any(|it| it.kind == kind) || !is_fit(comparison) {
            continue;
        }
        found.extend(comparison.tax.iter().find_map(|tax| {
            let is_valid = tax.verdict != Verdict::Invalid && tax.cpu_us.both.known().is_some();
            let is_decided = tax.verdict != Verdict::Inconclusive;
            (is_ours(tax) && is_valid).then(|| CostSource {
                kind: kind.clone(),
                cpu_us_per_request: tax.cpu_us.both.clone(),
                source: format!("{source}, {}", minute(&record.started_at)),
                is_size_uncertain: tax.uncertain_size.is_some(),
                is_undecided: !is_decided && tax.uncertain_size.is_none(),
            })
        }));
    }
    found
}

fn is_ours(tax: &Tax) -> bool {
    tax.baseline == "unix" && tax.arm == "tcp"
}

/// A time of a record, to the minute and in this machine's zone.
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

/// The echo server stands for every server: it is the transport alone.
fn kind_of(comparison: &Comparison) -> Option<String> {
    let kind = &comparison.target.kind;
    (kind != "echo").then(|| kind.clone())
}

/// One request at a time, both ends on one core: what a request costs, without the scheduler.
fn is_fit(comparison: &Comparison) -> bool {
    comparison.connections == 1
        && !comparison.is_of_program()
        && comparison.placement.asked == Placement::Same
        && !matches!(&*comparison.workload.name, "connect" | "dump" | "stream")
}
