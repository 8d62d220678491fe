//! The names of metrics in the record, the names of comparisons, and the sentences of warnings.
//!
//! Called by [`super::judged`] and `diff`.

use crate::record::Comparison;
use crate::stats::{Metric, Quantile, Side, Warning};

/// Returns the field of [`crate::record::Tax`] that holds the metric.
pub(crate) fn field(metric: Metric) -> &'static str {
    match metric {
        Metric::ClientCpu => "cpu_us.client",
        Metric::ServerCpu => "cpu_us.server",
        Metric::BothCpu => "cpu_us.both",
        Metric::Latency(Quantile::P50) => "latency_us.p50",
        Metric::Latency(Quantile::P90) => "latency_us.p90",
        Metric::Latency(Quantile::P95) => "latency_us.p95",
        Metric::Latency(Quantile::P99) => "latency_us.p99",
        Metric::Latency(Quantile::P999) => "latency_us.p999",
    }
}

/// Returns the warning as a sentence; `None` if the record already has figures that show the same fact.
pub(crate) fn warning(warning: &Warning, names: [&str; 2]) -> Option<String> {
    let name = |side: Side| names[side.idx()];
    match warning {
        Warning::IncompleteEpochs { n_epochs, n_all } => {
            let verb = if *n_epochs == 1 { "does" } else { "do" };
            Some(format!(
                "{n_epochs} of {n_all} epochs {verb} not count for the tax: the epochs were cut short, or an end of \
                 a connection moved to another core in most slices of an arm"
            ))
        }
        Warning::NoisyEpochs { n_noisy, n_all, steal_pct, foreign_pct } => {
            let processes = foreign_pct.map_or(String::new(), |it| format!(", other processes {it:.1} %"));
            Some(format!(
                "other work took CPU time in {n_noisy} of {n_all} epochs: in these epochs the hypervisor took \
                 {steal_pct:.1} %{processes}; measure when the machine is quiet"
            ))
        }
        Warning::OrderEffect { p_value } => Some(format!(
            "the order of the arms matters (p = {p_value:.1e}): an arm may affect the arm that runs after it; a \
             coin decides the order, so this effect widens the interval and favours no arm"
        )),
        Warning::LittlesLaw { side, ratio } if *ratio < 1.0 => Some(format!(
            "on {} the connections waited for an answer only {:.1} % of the time: the rest of the time passed \
             before the next request was sent",
            name(*side),
            100.0 * ratio
        )),
        Warning::LittlesLaw { side, ratio } => Some(format!(
            "on {} the latencies add up to {:.1} % of the elapsed time: rate and latency contradict each other",
            name(*side),
            100.0 * ratio
        )),
        Warning::EnvironmentLimited { factor } => Some(format!(
            "the interval is {factor:.1} times as wide as this number of requests would make it: most of the \
             width is noise of the machine or of other programs"
        )),
        // The report makes the sentences for these warnings from `stopped_early`, `stalls`, `diagnostics.modes` and
        // `diagnostics.totals_disagree`.
        Warning::StoppedEarly { .. }
        | Warning::Stalls { .. }
        | Warning::TwoModes { .. }
        | Warning::TotalsDisagree { .. } => None,
    }
}

/// Returns a comparison's name, which distinguishes it from the other comparisons of its run.
pub(crate) fn name(comparison: &Comparison) -> String {
    format!(
        "{} {}, -c {}, --placement {}, --client {}",
        comparison.target.kind,
        comparison.workload.name,
        comparison.connections,
        comparison.placement.asked,
        comparison.client
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(found: &Warning, expected: Option<&str>) {
        let text = warning(found, ["unix", "tcp"]);
        match (&text, expected) {
            (Some(text), Some(expected)) => assert!(text.contains(expected), "{text}"),
            _ => assert_eq!(text.as_deref(), expected),
        }
    }

    #[test]
    fn a_warning_names_its_arm_and_figures() {
        let little = |ratio| Warning::LittlesLaw { side: Side::Other, ratio };
        check(&little(0.931), Some("on tcp the connections waited for an answer only 93.1 % of the time"));
        check(&little(1.05), Some("on tcp the latencies add up to 105.0 % of the elapsed time"));
        check(&Warning::OrderEffect { p_value: 0.000_12 }, Some("p = 1.2e-4"));
        check(&Warning::IncompleteEpochs { n_epochs: 10, n_all: 40 }, Some("10 of 40 epochs do not count for the tax"));
    }

    #[test]
    fn what_the_record_holds_as_figures_is_not_said_twice() {
        let stalls = Warning::Stalls { n_stalls: [1, 0], longest_ms: 40.0 };
        check(&stalls, None);
    }
}
