//! Makes and checks the data that a machine contributes to a pool of results.

use looptax_model::record::{
    CONTRIBUTION_SCHEMA_VERSION, Comparison, ContributedMachine, ContributedResult, Contribution, Figure, Host, Record,
    Tax,
};
use sha2::{Digest, Sha256};

use crate::anonymous::hex;

/// Maximum number of characters of a text; longer texts are cut. No text that affects a result is longer.
const LONGEST_WORD: usize = 120;
/// Number of significant digits of a figure.
const DIGITS: i32 = 4;

/// The reason why there is nothing to publish, or why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ContributionError {
    #[error("the records are from different machines, or this machine changed between them: {0}")]
    Machines(&'static str),
    #[error("no record has a result of a built-in workload")]
    Nothing,
    #[error("the file was not made by `looptax show --publish`: {0}")]
    Form(String),
    #[error("the file was changed: its SHA-256 does not match its contents")]
    Hash,
}

/// Returns the contribution of these records, and the number of comparisons that are left out because their names may
/// be private: comparisons of scripts, of whole commands and of applications.
///
/// # Errors
/// [`ContributionError::Machines`] and [`ContributionError::Nothing`].
pub fn contribution(records: &[&Record]) -> Result<(Contribution, usize), ContributionError> {
    let first = records.first().ok_or(ContributionError::Nothing)?;
    let machine = machine(&first.host);
    if records.iter().any(|it| self::machine(&it.host) != machine) {
        return Err(ContributionError::Machines("publish the records one by one"));
    }
    let all = || records.iter().flat_map(|it| &it.comparisons);
    let results: Vec<ContributedResult> = all().filter(|it| is_ours(it)).flat_map(results).collect();
    if results.is_empty() {
        return Err(ContributionError::Nothing);
    }
    let mut made = Contribution {
        schema_version: CONTRIBUTION_SCHEMA_VERSION,
        looptax_version: first.looptax_version.clone(),
        month: first.started_at.chars().take("2026-11".len()).collect(),
        machine,
        results,
        sha256: String::new(),
    };
    made.sha256 = hash(&made);
    Ok((made, all().filter(|it| !is_ours(it)).count()))
}

/// Returns the contribution as one line of JSON.
///
/// # Panics
/// Never: serialization fails only for maps whose keys are not texts, and a contribution contains no such map.
pub fn contribution_line(of: &Contribution) -> String {
    serde_json::to_string(of).expect("a contribution can always be written as JSON")
}

/// Parses the text that [`contribution_line`] returns; any other text is an error.
///
/// # Errors
/// [`ContributionError::Form`] and [`ContributionError::Hash`].
pub fn read_contribution(text: &str) -> Result<Contribution, ContributionError> {
    let read: Contribution = serde_json::from_str(text).map_err(|it| ContributionError::Form(it.to_string()))?;
    if contribution_line(&read) != text.trim_end() {
        return Err(ContributionError::Form("its formatting was changed".to_owned()));
    }
    if hash(&read) != read.sha256 {
        return Err(ContributionError::Hash);
    }
    Ok(read)
}

fn hash(of: &Contribution) -> String {
    let without = Contribution { sha256: String::new(), ..of.clone() };
    hex(&Sha256::digest(contribution_line(&without)))
}

/// Whether looptax itself defines the workload; if so, the workload's name is not private.
fn is_ours(comparison: &Comparison) -> bool {
    let is_word = |it: &str| it.bytes().all(|b| b.is_ascii_alphanumeric() || b"-:".contains(&b));
    comparison.commands.is_none()
        && comparison.trial.is_none()
        && !comparison.workload.name.starts_with("script")
        && is_word(&comparison.workload.name)
}

fn machine(host: &Host) -> ContributedMachine {
    let text = |it: &Option<String>| it.as_deref().map(word);
    ContributedMachine {
        kernel: numbers(&host.kernel),
        preemption: text(&host.preemption),
        arch: text(&host.arch),
        cpu_model: text(&host.cpu_model),
        cpus: host.cpus,
        hypervisor: host.hypervisor,
        smt: host.smt,
        clocksource: text(&host.clocksource),
        governor: text(&host.governor),
        cgroup_cpu_max: text(&host.cgroup_cpu_max),
        mitigations: host.mitigations.iter().map(|(name, state)| (word(name), word(state))).collect(),
    }
}

fn results(of: &Comparison) -> Vec<ContributedResult> {
    let result = |tax: &Tax| ContributedResult {
        kind: word(&of.target.kind),
        version: word(&of.target.version),
        private: of.target.private,
        workload: of.workload.name.clone(),
        protocol: of.workload.protocol.as_deref().map(word),
        pipeline: of.workload.pipeline,
        connections: of.connections,
        placement: of.placement.asked,
        client: of.client,
        share_pct: of.load.share_pct.map(rounded),
        reconnect_every: of.load.reconnect_every,
        baseline: word(&tax.baseline),
        arm: word(&tax.arm),
        tax_pct: match tax.uncertain_size {
            Some(_) => Figure::missing("its size is uncertain"),
            None => short(&tax.throughput_pct),
        },
        range_pct: tax.uncertain_size.map(|it| [rounded(it.lo_pct), rounded(it.hi_pct)]),
        foreign_pct: tax.diagnostics.foreign_pct.map(rounded),
        steal_pct: tax.diagnostics.steal_pct.map(rounded),
        added_us: short(&tax.latency_us.p50),
        baseline_per_s: { of.arms.iter() }
            .find(|arm| arm.name == tax.baseline)
            .map_or_else(|| Figure::missing("not measured"), |arm| short(&arm.throughput_per_s)),
        verdict: tax.verdict,
    };
    of.tax.iter().map(result).collect()
}

/// Returns the numbers at the start of a kernel release: `6.1.0` for `6.1.0-25-amd64 #1 SMP …`. The text after the
/// numbers may contain the name of the builder.
fn numbers(release: &str) -> String {
    release.chars().take_while(|it| it.is_ascii_digit() || *it == '.').collect()
}

/// Shortens a version or a name that comes from a server or a kernel, and removes characters that cannot be printed.
fn word(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii_graphic() || *c == ' ').take(LONGEST_WORD).collect()
}

fn short(figure: &Figure) -> Figure {
    match figure {
        Figure::Known(it) => {
            let end = |it: Option<f64>| it.map(rounded);
            let mut it = *it;
            (it.value, it.lo, it.hi) = (rounded(it.value), end(it.lo), end(it.hi));
            Figure::Known(it)
        }
        Figure::Missing(_) => Figure::missing("not known"),
    }
}

fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let digits = (DIGITS - 1 - value.abs().log10().floor() as i32).max(0);
    format!("{value:.*}", digits as usize).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_keeps_four_digits_and_never_more_than_it_has() {
        let shown = [13.456_789, -0.012_345_6, 123_456.7, 0.0].map(|it| rounded(it).to_string());
        assert_eq!(shown, ["13.46", "-0.01235", "123457", "0"]);
    }

    #[test]
    fn of_a_kernel_only_its_numbers_are_published() {
        assert_eq!(numbers("6.1.0-25-acme #1 SMP PREEMPT_DYNAMIC acme 6.1"), "6.1.0");
        assert_eq!(numbers("7.0"), "7.0");
    }

    #[test]
    fn what_a_server_or_a_kernel_calls_itself_is_short_and_printable() {
        assert_eq!(word("10.11\u{1b}[31m\n€x"), "10.11[31mx");
        assert_eq!(word(&"v".repeat(1000)).len(), LONGEST_WORD);
    }
}
