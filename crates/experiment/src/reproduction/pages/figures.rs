//! Computes estimates from the times of pages: for each transport by itself, and for one transport relative to another.
//!
//! The two pages of a pair are loaded directly after each other, so the logarithm of the ratio of their times does not
//! contain the machine's drift. The value of an epoch is the median of its pairs; an estimate is the Hodges-Lehmann
//! estimate over the epochs. The functions are pure: the same pages give the same figures. Called by `measure`.

use std::collections::BTreeMap;

use looptax_bench::Timed;
use looptax_model::stats::{Estimate, deviation, hodges_lehmann, mean, median};
use serde::{Serialize, Serializer};

use crate::servers::wordpress::{Page, Transport};

/// Number of pages that were loaded over each transport for the article.
const PUBLISHED_LOADS: usize = 15;
/// The level if no interim analysis was reached. No earlier analysis could have ended the measurement, so the level is
/// the whole 5 %.
pub(super) const SINGLE_LOOK: f64 = 0.05;

/// A page, and the time that it took on looptax's clock.
pub(super) type Load = Timed<Page>;

/// Two pages of an epoch, one over each transport: `[over, of]`. They were loaded directly after each other.
pub(super) type Pair = [Load; 2];

/// Estimates by name; in JSON, each has its value and the ends of its interval.
type Figures = BTreeMap<&'static str, Estimate>;

/// The figures of one transport's pages.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SideFigures {
    pub transport: Transport,
    /// The names are `query_us`, `query_sd_us`, `page_us`, `client_us`, `share_pct`.
    #[serde(flatten, serialize_with = "intervals")]
    pub figures: Figures,
}

/// The times over the transport `of` divided by the times over the transport `over`: above 1 if `of` is slower.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Contrast {
    pub of: Transport,
    pub over: Transport,
    pub alpha: f64,
    pub epochs: usize,
    /// The names are `query`, `query_sd`, `page`, `client`.
    #[serde(flatten, serialize_with = "intervals")]
    pub figures: Figures,
}

/// The first fifteen pages over the socket and over TCP, estimated as if there was a single interim analysis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Fifteen {
    /// Number of queries in all these pages, over the socket and over TCP.
    pub queries: [u64; 2],
    /// Mean time that a page spends in queries, over the socket and over TCP, in µs.
    pub query_us: [f64; 2],
    /// Standard deviation of the time that a page spends in queries, in µs.
    pub query_sd_us: [f64; 2],
    /// TCP relative to the socket; the names are `query` and `page`.
    #[serde(flatten, serialize_with = "intervals")]
    pub figures: Figures,
}

fn intervals<S: Serializer>(figures: &Figures, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(figures.iter().map(|(name, it)| (name, [it.value, it.lo, it.hi])))
}

/// Returns the time in queries, measured by the timer of `$wpdb`, in µs.
fn query_us(load: &Load) -> f64 {
    load.value.query_us
}

/// Returns the time from the start of the request to PHP's shutdown, on PHP's clock, in µs.
fn page_us(load: &Load) -> f64 {
    load.value.page_us
}

/// Returns the time of a page on looptax's clock, in µs. The clock starts before the request is sent, and stops after
/// the last byte has arrived. The time of the queries that prove the page is subtracted.
fn client_us(load: &Load) -> f64 {
    load.wall_ns as f64 / 1e3 - load.value.proof_us
}

/// Returns the share of a page's time that its queries take, in percent.
fn share_pct(load: &Load) -> f64 {
    100.0 * load.value.query_us / load.value.page_us
}

/// Returns the figures of one transport, which has the index `arm` in the pairs; `None` if there are no epochs.
pub(super) fn side(epochs: &[Vec<Pair>], arm: usize, transport: Transport, alpha: f64) -> Option<SideFigures> {
    let typical = |of: fn(&Load) -> f64| by_epoch(epochs, alpha, |pairs| middle(pairs, |it| of(&it[arm])));
    let figures = Figures::from([
        ("query_us", typical(query_us)?),
        ("query_sd_us", by_epoch(epochs, alpha, |pairs| query_sd(pairs, arm))?),
        ("page_us", typical(page_us)?),
        ("client_us", typical(client_us)?),
        ("share_pct", typical(share_pct)?),
    ]);
    Some(SideFigures { transport, figures })
}

/// Returns the figures of one transport relative to another; `None` if there are no epochs.
pub(super) fn contrast(epochs: &[Vec<Pair>], [over, of]: [Transport; 2], alpha: f64) -> Option<Contrast> {
    let by_epoch =
        |figure: &dyn Fn(&[Pair]) -> Option<f64>| Some(by_epoch(epochs, alpha, figure)?.map_monotone(f64::exp));
    let ratio = |value| by_epoch(&|pairs| middle(pairs, |pair| ln_ratio(pair, value)));
    let spread = |pairs: &[Pair]| Some((query_sd(pairs, 1)? / query_sd(pairs, 0)?).ln());
    Some(Contrast {
        of,
        over,
        alpha,
        epochs: epochs.len(),
        figures: Figures::from([
            ("query", ratio(query_us)?),
            ("query_sd", by_epoch(&spread)?),
            ("page", ratio(page_us)?),
            ("client", ratio(client_us)?),
        ]),
    })
}

/// Returns the figures of the first fifteen pages, as many as in the article; `None` if there are fewer pages.
pub(super) fn fifteen(epochs: &[Vec<Pair>]) -> Option<Fifteen> {
    let pairs: Vec<&Pair> = epochs.iter().flatten().take(PUBLISHED_LOADS).collect();
    if pairs.len() < PUBLISHED_LOADS {
        return None;
    }
    let queries = |arm: usize| -> u64 {
        let counts = pairs.iter().map(|it| it[arm].value.queries);
        counts.map(u64::from).sum()
    };
    let times = |arm: usize| -> Vec<f64> { pairs.iter().map(|it| query_us(&it[arm])).collect() };
    let ratio = |value: fn(&Load) -> f64| {
        let logs: Vec<f64> = pairs.iter().map(|it| ln_ratio(it, value)).collect();
        Some(hodges_lehmann::estimate(&logs, SINGLE_LOOK)?.map_monotone(f64::exp))
    };
    Some(Fifteen {
        queries: [0, 1].map(queries),
        query_us: [0, 1].map(|arm| mean(&times(arm))),
        query_sd_us: [spread(&times(0))?, spread(&times(1))?],
        figures: Figures::from([("query", ratio(query_us)?), ("page", ratio(page_us)?)]),
    })
}

fn ln_ratio([over, of]: &Pair, value: fn(&Load) -> f64) -> f64 {
    (value(of) / value(over)).ln()
}

/// Estimates a figure over the epochs, from its value in each epoch.
fn by_epoch(epochs: &[Vec<Pair>], alpha: f64, figure: impl Fn(&[Pair]) -> Option<f64>) -> Option<Estimate> {
    let figures: Option<Vec<f64>> = epochs.iter().map(|pairs| figure(pairs)).collect();
    hodges_lehmann::estimate(&figures?, alpha)
}

fn middle(pairs: &[Pair], value: impl Fn(&Pair) -> f64) -> Option<f64> {
    let mut values: Vec<f64> = pairs.iter().map(value).collect();
    median(&mut values)
}

fn query_sd(pairs: &[Pair], arm: usize) -> Option<f64> {
    let times: Vec<f64> = pairs.iter().map(|pair| query_us(&pair[arm])).collect();
    spread(&times)
}

/// Returns the standard deviation; `None` if there are too few values, or if all values are the same, because a ratio
/// cannot use a deviation of 0.
fn spread(values: &[f64]) -> Option<f64> {
    deviation(values).filter(|deviation| *deviation > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [Transport; 2] = [Transport::Unix, Transport::Tcp];

    /// Makes a page whose PHP time is ten times the time of its queries; on looptax's clock the page takes 1.5 times
    /// its PHP time.
    fn load(query_us: f64) -> Load {
        let page = Page {
            page_us: 10.0 * query_us,
            query_us,
            queries: 54,
            timed: 54,
            questions: 60,
            peer: String::new(),
            host_info: String::new(),
            has_object_cache: false,
            has_opcache: true,
            proof_us: 100.0,
        };
        Load { start_ns: 0, wall_ns: (15_000.0 * query_us) as u64 + 100_000, value: page }
    }

    /// Makes ten epochs of four pairs on a machine that becomes slower all the time; TCP takes a quarter longer.
    fn drifting() -> Vec<Vec<Pair>> {
        let pair = |idx: usize| {
            let unix = 1_000.0 * (1.0 + 0.1 * idx as f64);
            [load(unix), load(1.25 * unix)]
        };
        let epoch = |epoch: usize| (0..4).map(|idx| pair(4 * epoch + idx)).collect();
        (0..10).map(epoch).collect()
    }

    #[track_caller]
    fn close(estimate: &Estimate, expected: f64) {
        let is_close = (estimate.value - expected).abs() < 1e-6;
        assert!(is_close && estimate.has_interval(), "{estimate:?}");
    }

    #[test]
    fn pages_of_a_pair_are_held_against_each_other() {
        let found = contrast(&drifting(), BOTH, 0.05).unwrap();
        assert_eq!(found.figures.len(), 4);
        for ratio in found.figures.values() {
            close(ratio, 1.25);
            assert!(ratio.half_width() < 1e-6, "the drift is in both: {ratio:?}");
        }
        assert_eq!((found.of, found.over), (Transport::Tcp, Transport::Unix));
        assert_eq!(found.epochs, 10);
    }

    #[test]
    fn a_transport_by_itself_has_its_own_levels() {
        let found = side(&drifting(), 1, Transport::Tcp, 0.05).unwrap();
        close(&found.figures["share_pct"], 10.0);
        // Pairs 18 to 21 are in the middle of the forty pairs. They take (1 + 0.1 × 19.5) ms, and over TCP a quarter
        // more.
        close(&found.figures["query_us"], 1.25 * 2_950.0);
        close(&found.figures["client_us"], 15.0 * 1.25 * 2_950.0);
        // Four values, each a tenth of a millisecond from the next.
        close(&found.figures["query_sd_us"], 1.25 * 129.099_444_873);
    }

    #[test]
    fn the_first_fifteen_are_as_published() {
        let found = fifteen(&drifting()).unwrap();
        assert_eq!(found.queries, [810, 810]);
        assert!((found.query_us[0] - 1_700.0).abs() < 1e-6, "{found:?}");
        assert!((found.query_sd_us[1] / found.query_sd_us[0] - 1.25).abs() < 1e-9);
        close(&found.figures["query"], 1.25);
        assert!(fifteen(&drifting()[..3]).is_none());
    }

    #[test]
    fn nothing_measured_is_no_figure() {
        assert!(side(&[], 0, Transport::Unix, 0.05).is_none());
        assert!(contrast(&[], BOTH, 0.05).is_none());
    }
}
