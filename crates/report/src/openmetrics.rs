//! The figures as OpenMetrics text, for the node exporter's folder of text files.
//!
//! looptax writes the text without a library: libraries keep their metrics in maps with random order, but the same
//! record must always give the same bytes.
//!
//! # Source
//! OpenMetrics 1.0 (prometheus.io, its specification), read on 2026-11-21.

use std::fmt::Write;

use looptax_model::record::{Comparison, Estimate, Record};

use crate::figures::{self, Shown};
use crate::format::Text;

/// A metric: the figure from which it is made, its name, its help text, and the factor to its base unit.
struct Family {
    metric: &'static str,
    name: &'static str,
    help: &'static str,
    scale: f64,
}

const FAMILIES: [Family; 8] = [
    Family {
        metric: "throughput",
        name: "looptax_throughput_requests_per_second",
        help: "Requests answered per second.",
        scale: 1.0,
    },
    Family {
        metric: "latency_mean",
        name: "looptax_latency_mean_seconds",
        help: "Mean time from request to answer.",
        scale: 1e-6,
    },
    Family {
        metric: "latency_p99",
        name: "looptax_latency_p99_seconds",
        help: "99th percentile of the time from request to answer.",
        scale: 1e-6,
    },
    Family {
        metric: "cpu_client",
        name: "looptax_cpu_client_seconds_per_request",
        help: "CPU time of the load generator.",
        scale: 1e-6,
    },
    Family {
        metric: "cpu_server",
        name: "looptax_cpu_server_seconds_per_request",
        help: "CPU time of the server.",
        scale: 1e-6,
    },
    Family {
        metric: "throughput_tax",
        name: "looptax_throughput_tax_ratio",
        help: "Share of the baseline's throughput that the arm loses; positive is a loss.",
        scale: 1e-2,
    },
    Family {
        metric: "latency_tax_mean",
        name: "looptax_latency_tax_seconds",
        help: "Time per request that the arm adds to the baseline's time.",
        scale: 1e-6,
    },
    Family {
        metric: "cpu_tax_both",
        name: "looptax_cpu_tax_seconds_per_request",
        help: "CPU time at both ends that the arm adds to the baseline's CPU time.",
        scale: 1e-6,
    },
];

/// Returns the figures of a record. Each figure has a gauge for its value, and if it has an interval, gauges with the
/// suffixes `_lower` and `_upper` for the ends of the interval.
pub fn openmetrics(record: &Record) -> String {
    let figures = figures::collect_shown(record);
    let mut text = String::new();
    for family in &FAMILIES {
        let own = || figures.iter().filter(|it| it.metric == family.metric);
        write_gauge(family, "", "", own(), |it| Some(it.value), &mut text);
        let ends = "one end of the interval: ";
        write_gauge(family, "_lower", ends, own(), |it| it.lo, &mut text);
        write_gauge(family, "_upper", ends, own(), |it| it.hi, &mut text);
    }
    write_verdicts(record, &mut text);
    write_time(record, &mut text);
    text.push_str("# EOF\n");
    text
}

fn write_gauge<'a>(
    family: &Family,
    suffix: &str,
    prefix: &str,
    figures: impl Iterator<Item = &'a Shown<'a>>,
    pick: impl Fn(&Estimate) -> Option<f64>,
    text: &mut String,
) {
    let samples: Vec<(String, f64)> =
        figures.filter_map(|it| Some((labels(it), pick(it.figure.known()?)? * family.scale))).collect();
    if samples.is_empty() {
        return;
    }
    let name = format!("{}{suffix}", family.name);
    // Writing to a string cannot fail.
    let _ = writeln!(text, "# HELP {name} {prefix}{}", family.help);
    let _ = writeln!(text, "# TYPE {name} gauge");
    for (labels, value) in samples {
        let _ = writeln!(text, "{name}{{{labels}}} {value}");
    }
}

/// Writes a line for each verdict, so that an alert can query the verdict by its name.
fn write_verdicts(record: &Record, text: &mut String) {
    const NAME: &str = "looptax_verdict";
    let _ = writeln!(text, "# HELP {NAME} The label `verdict` has the verdict of a comparison; the value is always 1.");
    let _ = writeln!(text, "# TYPE {NAME} gauge");
    for comparison in &record.comparisons {
        for tax in &comparison.tax {
            let labels = of_comparison(comparison);
            let _ = writeln!(
                text,
                "{NAME}{{{labels},arm=\"{}\",baseline=\"{}\",verdict=\"{}\"}} 1",
                escaped(&tax.arm),
                escaped(&tax.baseline),
                tax.verdict
            );
        }
    }
}

fn write_time(record: &Record, text: &mut String) {
    const NAME: &str = "looptax_run_info";
    let _ = writeln!(text, "# HELP {NAME} The run with these results.");
    let _ = writeln!(text, "# TYPE {NAME} gauge");
    let _ = writeln!(
        text,
        "{NAME}{{id=\"{}\",started_at=\"{}\",version=\"{}\"}} 1",
        escaped(&record.id),
        escaped(&record.started_at),
        escaped(&record.looptax_version)
    );
}

fn labels(shown: &Shown<'_>) -> String {
    let mut labels = of_comparison(shown.comparison);
    let _ = write!(labels, ",arm=\"{}\"", escaped(shown.arm));
    if let Some(baseline) = shown.baseline {
        let _ = write!(labels, ",baseline=\"{}\"", escaped(baseline));
    }
    labels
}

fn of_comparison(comparison: &Comparison) -> String {
    format!(
        "server=\"{}\",workload=\"{}\",connections=\"{}\",placement=\"{}\",client=\"{}\"",
        escaped(&comparison.target.kind),
        escaped(&comparison.workload.name),
        comparison.connections,
        comparison.placement.asked,
        comparison.client
    )
}

/// Returns the value of a label: cleaned, with its backslashes and quotes escaped.
pub(crate) fn escaped(foreign: &str) -> String {
    let clean = Text { is_unicode: true }.clean(foreign);
    clean.replace('\\', "\\\\").replace('"', "\\\"")
}
