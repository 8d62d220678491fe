//! Whether two comparisons measured the same thing, and in which properties they differ.
//!
//! Machine and version may differ: only the settings of a comparison are compared, not its results. Called by
//! [`super::diff`].

use crate::failure::Failure;
use crate::record::Comparison;

use crate::analysis::words::name;

/// A property that differs between two comparisons, with both values.
#[derive(Debug, PartialEq, Eq)]
struct Difference {
    what: &'static str,
    values: [String; 2],
}

/// Checks whether both comparisons measured the same thing.
pub(super) fn is_same(one: &Comparison, other: &Comparison) -> bool {
    differences(one, other).is_empty()
}

/// Returns a sentence for each comparison that only this run has; the sentence names the most similar comparison of
/// the other run.
pub(super) fn alone(all: &[Comparison], others: &[Comparison], run: &str) -> Vec<String> {
    let has = |one: &&Comparison| others.iter().any(|it| is_same(one, it));
    let alone = all.iter().filter(|one| !has(one));
    alone
        .map(|one| {
            let twin = others.iter().find(|it| name(it) == name(one));
            let differences = twin.map(|twin| differences(one, twin));
            let differences =
                differences.map_or_else(String::new, |it| format!(" ({})", in_words(&it, ["here", "there"])));
            format!("only in {run}: {}{differences}", name(one))
        })
        .collect()
}

/// Returns the failure for two runs without a common comparison; it lists the differences between the two most similar
/// comparisons.
pub(super) fn nothing_in_common(before: &[Comparison], after: &[Comparison]) -> Failure {
    let names = |all: &[Comparison]| -> String {
        let names: Vec<String> = all.iter().map(name).collect();
        if names.is_empty() { "nothing".to_owned() } else { names.join("; ") }
    };
    let pairs = before.iter();
    let pairs = pairs.flat_map(|one| after.iter().map(move |it| differences(one, it)));
    let nearest = pairs.min_by_key(Vec::len);
    let nearest = nearest.map_or_else(String::new, |it| {
        format!("; the two most similar comparisons differ in {}", in_words(&it, ["in A", "in B"]))
    });
    Failure::usage(
        format!(
            "the runs have no common comparison: A measured {}; B measured {}{nearest}",
            names(before),
            names(after)
        ),
        "compare runs with the same server, workload and sizes, load, connections, placement and client",
    )
}

fn in_words(differences: &[Difference], [here, there]: [&str; 2]) -> String {
    let one = |it: &Difference| format!("{}: {} {here}, {} {there}", it.what, it.values[0], it.values[1]);
    let all: Vec<String> = differences.iter().map(one).collect();
    all.join("; ")
}

fn differences(one: &Comparison, other: &Comparison) -> Vec<Difference> {
    let mut found = Differences(Vec::new());
    found.compare("server", [one, other].map(|it| it.target.kind.as_str()));
    of_workload(one, other, &mut found);
    found.compare("connections", [one, other].map(|it| it.connections));
    found.compare("placement", [one, other].map(|it| it.placement.asked.name()));
    found.compare("client", [one, other].map(|it| it.client.to_string()));
    let likes = [one, other].map(|it| it.client_like.as_ref());
    if likes[0] != likes[1] {
        found.add("imitated client", likes.map(|it| of_option(it.map(|it| &it.library))));
    }
    of_load(one, other, &mut found);
    found.compare("whole commands", [one, other].map(|it| it.commands.is_some()));
    found.compare("a trial", [one, other].map(|it| it.trial.is_some()));
    found.0
}

fn of_workload(one: &Comparison, other: &Comparison, found: &mut Differences) {
    let of = [&one.workload, &other.workload];
    found.compare("workload", of.map(|it| it.name.as_str()));
    found.compare("protocol", of.map(|it| of_option(it.protocol.as_ref())));
    found.compare("statements of a request", of.map(|it| it.statements));
    found.compare("commands of a request", of.map(|it| it.pipeline));
    found.compare("distribution of keys", of.map(|it| it.distribution.as_deref().unwrap_or("uniform")));
    found.compare("rows", of.map(|it| of_option(it.rows)));
    found.compare("bytes of a request", of.map(|it| of_option(it.request_bytes)));
    found.compare("bytes of an answer", of.map(|it| of_option(it.response_bytes)));
    found.compare("bytes of a stream", of.map(|it| of_option(it.stream.as_ref().map(|it| it.bytes))));
    let written = of.map(|it| it.stream.as_ref().and_then(|it| it.write_bytes));
    found.compare("bytes of a write", written.map(of_option));
    if of[0] != of[1] && found.0.is_empty() {
        found.add("settings of the workload", ["these", "others"].map(str::to_owned));
    }
}

/// Compares the loads. Two comparisons at the same share of the capacity have the same load, even if the capacities
/// differ.
fn of_load(one: &Comparison, other: &Comparison, found: &mut Differences) {
    let of = [&one.load, &other.load];
    let rates = of.map(|it| it.rate_per_s.filter(|_| it.share_pct.is_none()));
    found.compare("requests per second", rates.map(of_option));
    found.compare("percent of the capacity", of.map(|it| of_option(it.share_pct)));
    found.compare("arrivals", of.map(|it| of_option(it.arrivals.as_ref())));
    found.compare("pause, µs", of.map(|it| of_option(it.think_us)));
    found.compare("requests of a connection", of.map(|it| of_option(it.reconnect_every)));
}

fn of_option<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "none".to_owned(), |it| it.to_string())
}

struct Differences(Vec<Difference>);

impl Differences {
    fn compare<T: PartialEq + ToString>(&mut self, what: &'static str, values: [T; 2]) {
        if values[0] != values[1] {
            self.add(what, values.map(|it| it.to_string()));
        }
    }

    fn add(&mut self, what: &'static str, values: [String; 2]) {
        self.0.push(Difference { what, values });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echo(request_bytes: u64) -> Comparison {
        let mut comparison = crate::analysis::made_up::comparison();
        comparison.workload.request_bytes = Some(request_bytes);
        comparison
    }

    #[test]
    fn what_keeps_two_runs_of_one_name_apart_is_named() {
        let other_client = || {
            let mut comparison = echo(4_096);
            comparison.client = crate::record::Client::Block;
            comparison
        };
        let told = nothing_in_common(&[echo(64)], &[other_client(), echo(4_096)]).to_string();
        let words = "; the two most similar comparisons differ in bytes of a request: 64 in A, 4096 in B";
        assert!(told.ends_with(words), "{told}");
        let told = nothing_in_common(&[echo(64)], &[]).to_string();
        assert!(told.ends_with("B measured nothing"), "{told}");
        let left_out = alone(&[echo(64), other_client()], &[echo(4_096)], "A");
        let words = [
            "-c 1, --placement same, --client poll (bytes of a request: 64 here, 4096 there)",
            "-c 1, --placement same, --client block",
        ];
        for (told, words) in left_out.iter().zip(words) {
            assert!(told.ends_with(words), "{told}");
        }
        assert_eq!(left_out.len(), 2);
    }

    #[test]
    fn a_share_of_the_capacity_is_one_load_whatever_the_capacity_was() {
        let at = |share_pct: Option<f64>, rate| {
            let mut comparison = echo(64);
            comparison.load.share_pct = share_pct;
            comparison.load.rate_per_s = Some(rate);
            comparison
        };
        assert!(is_same(&at(Some(40.0), 1_000.0), &at(Some(40.0), 2_000.0)));
        assert!(!is_same(&at(None, 1_000.0), &at(None, 2_000.0)));
    }
}
