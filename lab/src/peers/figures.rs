//! The figures of a measured case: the costs per request on each side, and the ratios of looptax's figures to the
//! peer's.
//!
//! This file does no I/O. Each round gives one ratio, because both sides of a round ran within the same minute. The
//! printed figure is the median of the rounds with the signed-rank interval of the logarithms.
//!
//! CPU time per request is compared without the CPU time that either side uses while no load runs. The peer reports
//! only the CPU time of its whole process, so the CPU time of the same command with one request per connection is
//! subtracted. looptax's figure is the CPU time of its client threads over the slices, including guards and drains; the
//! thread that controls them sleeps during that time. Connecting, start and analysis are in neither figure.

use looptax_model::stats::{hodges_lehmann, median};

use super::case::{Throughput, Wanted};
use super::counts::miscounts;
use super::driver::{Measured, PeerRun, Round};
use crate::process::Used;

const ALPHA: f64 = 0.05;
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) median: f64,
    /// Lower end of the interval; with fewer than six rounds both ends are infinite.
    pub(crate) lo: f64,
    pub(crate) hi: f64,
}

/// A ratio with its requirement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Held {
    pub(crate) name: &'static str,
    /// `None` if the figure of one side is not known.
    pub(crate) ratio: Option<Ratio>,
    pub(crate) bound: Option<Bound>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

pub(crate) struct Row {
    /// The ratios in the order of the table's columns: throughput, user CPU, memory, median latency.
    pub(crate) held: [Held; 4],
    /// Descriptions of counts that differ between server and client; empty if all counts agree.
    pub(crate) miscounts: Vec<String>,
}

impl Row {
    /// Computes the figures of the arm with this index in the case.
    pub(crate) fn from_measured(measured: &Measured<'_>, arm_idx: usize) -> Self {
        let rounds = &measured.rounds;
        let Wanted { throughput, user_cpu, memory, p50 } = measured.case.wanted;
        let held = |name, bound, pair: fn(&Round, usize) -> Option<[f64; 2]>| Held {
            name,
            ratio: ratio(rounds.iter().map(|round| pair(round, arm_idx))),
            bound,
        };
        let at_most = |bound: Option<f64>| bound.map(Bound::AtMost);
        let least = match throughput {
            Throughput::AtLeast(least) => Some(Bound::AtLeast(least)),
            Throughput::Shown | Throughput::Ranges => None,
        };
        let mut held = [
            held("throughput", least, |round, arm| {
                let looptax = round.looptax.arms[arm].rate_per_s;
                Some([looptax, round.peer[arm].report.rate_per_s])
            }),
            held("user CPU", at_most(user_cpu), |round, arm| {
                let looptax = round.looptax.arms[arm].user_us;
                Some([looptax, round.peer[arm].user_us()])
            }),
            held("memory", at_most(memory), |round, arm| {
                let looptax = round.looptax.used.peak_bytes? as f64;
                Some([looptax, round.peer[arm].used.peak_bytes? as f64])
            }),
            held("median latency", at_most(p50), |round, arm| {
                let looptax = round.looptax.arms[arm].p50_us?;
                Some([looptax, round.peer[arm].report.p50_us?])
            }),
        ];
        if throughput == Throughput::Ranges {
            held[0].ratio = None;
        }
        Self { held, miscounts: miscounts(rounds, arm_idx) }
    }

    /// Returns the names of the requirements that were not met.
    pub(crate) fn missed(&self) -> Vec<&'static str> {
        let missed = self.held.iter().filter(|held| !held.is_met());
        missed.map(|held| held.name).collect()
    }
}

impl Held {
    /// Returns whether the median meets the requirement. A requirement whose figure is not known is not met.
    fn is_met(&self) -> bool {
        match (self.bound, self.ratio) {
            (None, _) => true,
            (Some(Bound::AtLeast(least)), Some(ratio)) => ratio.median >= least,
            (Some(Bound::AtMost(most)), Some(ratio)) => ratio.median <= most,
            (Some(_), None) => false,
        }
    }
}

impl PeerRun {
    /// Returns the CPU time in user mode per request, in µs.
    pub(crate) fn user_us(&self) -> f64 {
        self.per_request_us(|used| used.user_s)
    }

    /// Returns the CPU time in the kernel per request, in µs.
    pub(crate) fn system_us(&self) -> f64 {
        self.per_request_us(|used| used.system_s)
    }

    fn per_request_us(&self, seconds: fn(&Used) -> f64) -> f64 {
        let start_s = self.start.as_ref().map_or(0.0, seconds);
        1e6 * (seconds(&self.used) - start_s) / self.report.n_requests as f64
    }
}

impl Round {
    /// Returns the CPU time in user mode of looptax's whole process per request that the server counted, in µs.
    pub(crate) fn looptax_whole_user_us(&self) -> Option<f64> {
        Some(1e6 * self.looptax.used.user_s / self.looptax_counted? as f64)
    }
}

/// Returns the ratio from pairs of looptax's and the peer's figures; `None` if a figure is not known or not positive.
fn ratio(pairs: impl Iterator<Item = Option<[f64; 2]>>) -> Option<Ratio> {
    let logs: Option<Vec<f64>> = pairs.map(|pair| pair.map(|[looptax, peer]| (looptax / peer).ln())).collect();
    let mut logs = logs.filter(|logs| logs.iter().all(|log| log.is_finite()))?;
    let interval = hodges_lehmann::estimate(&logs, ALPHA)?;
    Some(Ratio { median: median(&mut logs)?.exp(), lo: interval.lo.exp(), hi: interval.hi.exp() })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::peers::cases::CASES;
    use crate::peers::looptax::{LooptaxArm, LooptaxRun};
    use crate::peers::tool::Report;

    const USED: Used = Used { user_s: 0.6, system_s: 1.1, peak_bytes: Some(40 << 20) };

    /// Makes a round with these rates by arm. The peer takes 5 µs of user time per request and 0.1 s for its start,
    /// looptax 1 µs per request.
    pub(crate) fn round(peer: [f64; 2], looptax: [f64; 2]) -> Round {
        let start = Used { user_s: 0.1, system_s: 0.1, ..USED };
        Round {
            peer: peer
                .iter()
                .map(|rate_per_s| PeerRun {
                    report: Report {
                        n_requests: 100_000,
                        rate_per_s: *rate_per_s,
                        rates_1s: vec![*rate_per_s, *rate_per_s + 1.0],
                        p50_us: None,
                        p99_us: None,
                    },
                    used: USED,
                    start: Some(start),
                    counted: Some(100_010),
                })
                .collect(),
            looptax: LooptaxRun {
                arms: looptax
                    .iter()
                    .map(|rate_per_s| LooptaxArm {
                        rate_per_s: *rate_per_s,
                        user_us: 1.0,
                        system_us: 4.0,
                        p50_us: None,
                        rates_1s: vec![*rate_per_s],
                    })
                    .collect(),
                tax_pct: None,
                used: Used { peak_bytes: Some(10 << 20), ..USED },
                count_ratio: Some(1.0),
            },
            looptax_counted: Some(165_000),
        }
    }

    /// Makes results for the first case in the table: sysbench with one thread.
    pub(crate) fn measured(rounds: Vec<Round>) -> Measured<'static> {
        Measured { case: &CASES[0], tool: "sysbench 1.0".to_owned(), server: "MariaDB 10".to_owned(), rounds }
    }

    #[track_caller]
    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
    }

    #[test]
    fn a_ratio_is_looptax_over_the_peer_without_the_peers_start() {
        let rounds = vec![round([100.0, 80.0], [103.0, 80.0]); 7];
        let row = Row::from_measured(&measured(rounds), 0);
        let [throughput, user, memory, p50] = row.held.map(|held| held.ratio);
        close(throughput.unwrap().median, 1.03);
        close(throughput.unwrap().hi, 1.03);
        close(user.unwrap().median, 0.2);
        close(memory.unwrap().median, 0.25);
        assert!(p50.is_none());
        assert!(row.missed().is_empty() && row.miscounts.is_empty());
    }

    #[test]
    fn the_median_decides_and_few_rounds_have_no_interval() {
        let rounds = [90.0, 110.0, 120.0].map(|rate| round([100.0; 2], [rate, 100.0]));
        let row = Row::from_measured(&measured(rounds.to_vec()), 0);
        let found = row.held[0].ratio.unwrap();
        close(found.median, 1.1);
        assert!(found.hi.is_infinite());
        let row = Row::from_measured(&measured(rounds.to_vec()), 1);
        assert_eq!(row.missed(), ["throughput"]);
    }
}
