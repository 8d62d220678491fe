//! Lists every figure of a record, for the formats that machines read.

use looptax_model::record::{Arm, Comparison, Figure, Latency, Record, Tax};

/// A figure, and the arm and metric to which it belongs.
#[derive(Debug)]
pub(crate) struct Shown<'a> {
    pub(crate) comparison: &'a Comparison,
    pub(crate) arm: &'a str,
    /// The baseline, if the figure is the arm's cost relative to the baseline.
    pub(crate) baseline: Option<&'a str>,
    /// `throughput`, `latency_p99`, `throughput_tax`.
    pub(crate) metric: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) figure: &'a Figure,
}

/// Returns the figures in the record's order.
pub(crate) fn collect_shown(record: &Record) -> Vec<Shown<'_>> {
    let mut found = Vec::new();
    for comparison in &record.comparisons {
        for arm in &comparison.arms {
            of_arm(comparison, arm, &mut found);
        }
        for tax in &comparison.tax {
            of_tax(comparison, tax, &mut found);
        }
    }
    found
}

fn of_arm<'a>(comparison: &'a Comparison, arm: &'a Arm, found: &mut Vec<Shown<'a>>) {
    let mut add = |metric, unit, figure| {
        found.push(Shown { comparison, arm: &arm.name, baseline: None, metric, unit, figure });
    };
    add("throughput", "1/s", &arm.throughput_per_s);
    for (metric, figure) in LATENCIES.iter().zip(percentiles(&arm.latency_us)) {
        add(metric, "us", figure);
    }
    if let Some(it) = &arm.latency_pooled_us {
        for (metric, figure) in POOLED.iter().zip([&it.p50, &it.p90, &it.p99, &it.p999]) {
            add(metric, "us", figure);
        }
    }
    add("cpu_client", "us", &arm.cpu_us_per_query.client);
    add("cpu_server", "us", &arm.cpu_us_per_query.server);
    add("context_switches_client", "1/request", &arm.context_switches_per_query);
}

fn of_tax<'a>(comparison: &'a Comparison, tax: &'a Tax, found: &mut Vec<Shown<'a>>) {
    let mut add = |metric, unit, figure| {
        found.push(Shown { comparison, arm: &tax.arm, baseline: Some(&tax.baseline), metric, unit, figure });
    };
    add("throughput_tax", "%", &tax.throughput_pct);
    for (metric, figure) in LATENCY_TAXES.iter().zip(percentiles(&tax.latency_us)) {
        add(metric, "us", figure);
    }
    add("cpu_tax_client", "us", &tax.cpu_us.client);
    add("cpu_tax_server", "us", &tax.cpu_us.server);
    add("cpu_tax_both", "us", &tax.cpu_us.both);
}

const LATENCIES: [&str; 5] = ["latency_mean", "latency_p50", "latency_p90", "latency_p99", "latency_p999"];
/// Percentiles of all requests of a run together. The metrics above are the typical values of shorter parts of a run.
const POOLED: [&str; 4] = ["latency_pooled_p50", "latency_pooled_p90", "latency_pooled_p99", "latency_pooled_p999"];
const LATENCY_TAXES: [&str; 5] =
    ["latency_tax_mean", "latency_tax_p50", "latency_tax_p90", "latency_tax_p99", "latency_tax_p999"];

fn percentiles(latency: &Latency) -> [&Figure; 5] {
    [&latency.mean, &latency.p50, &latency.p90, &latency.p99, &latency.p999]
}
