//! Estimates of what pages took: each transport by itself, and one over another.
//!
//! Pages of a block stand beside each other, so that logarithms of their ratios are free of the machine's drift;
//! an epoch is the median of its blocks, an estimate Hodges and Lehmann's over the epochs. Pure: the same pages
//! give the same figures. Called by `measure` and, at each look, by `loads`.

use looptax_bench::Timed;
use looptax_servers::wordpress::{Page, Transport};
use looptax_stats::{Estimate, deviation, hodges_lehmann, mean, median};
use serde::Serialize;

use super::epochs::Block;
use super::render;

/// Pages that the article loaded of each.
const PUBLISHED_LOADS: usize = 15;
/// The level of a single look.
const SINGLE_LOOK: f64 = 0.05;

/// One transport by itself, by page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SideFigures {
    #[serde(serialize_with = "render::transport")]
    pub transport: Transport,
    /// Time in queries by `$wpdb`'s timer, µs.
    #[serde(serialize_with = "render::estimate")]
    pub query_us: Estimate,
    /// Standard deviation of that within an epoch, µs.
    #[serde(serialize_with = "render::estimate")]
    pub query_sd_us: Estimate,
    /// From the request's start to its shutdown, by PHP's clock, µs.
    #[serde(serialize_with = "render::estimate")]
    pub page_us: Estimate,
    /// From before the request was sent to after the last byte, by our clock and without the time of the
    /// questions that prove the page, µs.
    #[serde(serialize_with = "render::estimate")]
    pub client_us: Estimate,
    /// Share of the queries in the page's time, percent.
    #[serde(serialize_with = "render::estimate")]
    pub share_pct: Estimate,
}

/// What `of` costs over `over`: ratios, above 1 where `of` is the slower one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Contrast {
    #[serde(serialize_with = "render::transport")]
    pub of: Transport,
    #[serde(serialize_with = "render::transport")]
    pub over: Transport,
    /// Of time in queries.
    #[serde(serialize_with = "render::estimate")]
    pub query: Estimate,
    /// Of the standard deviation of time in queries.
    #[serde(serialize_with = "render::estimate")]
    pub query_sd: Estimate,
    /// Of the page's time by PHP's clock.
    #[serde(serialize_with = "render::estimate")]
    pub page: Estimate,
    /// Of the page's time by our clock.
    #[serde(serialize_with = "render::estimate")]
    pub client: Estimate,
}

/// The first fifteen pages over the socket and over TCP, as one look.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Fifteen {
    /// Queries of them, on the socket and over TCP.
    pub queries: [u64; 2],
    /// Mean time in queries of a page, on the socket and over TCP, µs.
    pub query_us: [f64; 2],
    /// Its standard deviation, µs.
    pub query_sd_us: [f64; 2],
    /// TCP over the socket: time in queries.
    #[serde(serialize_with = "render::estimate")]
    pub query: Estimate,
    /// TCP over the socket: the page's time by PHP's clock.
    #[serde(serialize_with = "render::estimate")]
    pub page: Estimate,
}

fn query_us(load: &Timed<Page>) -> f64 {
    load.value.query_us
}

fn page_us(load: &Timed<Page>) -> f64 {
    load.value.page_us
}

fn client_us(load: &Timed<Page>) -> f64 {
    load.wall_ns as f64 / 1e3 - load.value.proof_us
}

fn share_pct(load: &Timed<Page>) -> f64 {
    100.0 * load.value.query_us / load.value.page_us
}

/// ln of the ratio of time in queries; `None` where there is no epoch.
pub(super) fn query_theta(
    epochs: &[Vec<Block>],
    pair: (usize, usize),
    alpha: f64,
) -> Option<Estimate> {
    theta(epochs, pair, query_us, alpha)
}

/// One transport by itself; `None` where there is no epoch.
pub(super) fn side(
    epochs: &[Vec<Block>],
    arm: usize,
    transport: Transport,
    alpha: f64,
) -> Option<SideFigures> {
    let typical = |of: fn(&Timed<Page>) -> f64| {
        by_epoch(epochs, alpha, |blocks| middle(blocks, |it| of(&it[arm])))
    };
    Some(SideFigures {
        transport,
        query_us: typical(query_us)?,
        query_sd_us: by_epoch(epochs, alpha, |blocks| query_sd(blocks, arm))?,
        page_us: typical(page_us)?,
        client_us: typical(client_us)?,
        share_pct: typical(share_pct)?,
    })
}

/// The arm `of` over the arm `over`; `None` where there is no epoch.
pub(super) fn contrast(
    epochs: &[Vec<Block>],
    (of, over): (usize, usize),
    transports: &[Transport],
    alpha: f64,
) -> Option<Contrast> {
    let ratio = |value| Some(theta(epochs, (of, over), value, alpha)?.map_monotone(f64::exp));
    let spread = |blocks: &[Block]| Some((query_sd(blocks, of)? / query_sd(blocks, over)?).ln());
    Some(Contrast {
        of: transports[of],
        over: transports[over],
        query: ratio(query_us)?,
        query_sd: by_epoch(epochs, alpha, spread)?.map_monotone(f64::exp),
        page: ratio(page_us)?,
        client: ratio(client_us)?,
    })
}

/// The first pages as the article had them; `None` where there are fewer.
pub(super) fn fifteen(epochs: &[Vec<Block>]) -> Option<Fifteen> {
    let blocks: Vec<&Block> = epochs.iter().flatten().take(PUBLISHED_LOADS).collect();
    if blocks.len() < PUBLISHED_LOADS {
        return None;
    }
    let queries = |arm: usize| -> u64 {
        let counts = blocks.iter().map(|it| it[arm].value.queries);
        counts.map(u64::from).sum()
    };
    let times = |arm: usize| -> Vec<f64> { blocks.iter().map(|it| query_us(&it[arm])).collect() };
    let ratio = |value: fn(&Timed<Page>) -> f64| {
        let logs: Vec<f64> = { blocks.iter() }
            .map(|it| ln_ratio(it, (1, 0), value))
            .collect();
        Some(hodges_lehmann::estimate(&logs, SINGLE_LOOK)?.map_monotone(f64::exp))
    };
    Some(Fifteen {
        queries: [0, 1].map(queries),
        query_us: [0, 1].map(|arm| mean(&times(arm))),
        query_sd_us: [spread(&times(0))?, spread(&times(1))?],
        query: ratio(query_us)?,
        page: ratio(page_us)?,
    })
}

fn theta(
    epochs: &[Vec<Block>],
    pair: (usize, usize),
    value: fn(&Timed<Page>) -> f64,
    alpha: f64,
) -> Option<Estimate> {
    by_epoch(epochs, alpha, |blocks| {
        middle(blocks, |block| ln_ratio(block, pair, value))
    })
}

fn ln_ratio(block: &Block, (of, over): (usize, usize), value: fn(&Timed<Page>) -> f64) -> f64 {
    (value(&block[of]) / value(&block[over])).ln()
}

/// The estimate over the epochs of a figure of each.
fn by_epoch(
    epochs: &[Vec<Block>],
    alpha: f64,
    figure: impl Fn(&[Block]) -> Option<f64>,
) -> Option<Estimate> {
    let figures: Option<Vec<f64>> = epochs.iter().map(|blocks| figure(blocks)).collect();
    hodges_lehmann::estimate(&figures?, alpha)
}

fn middle(blocks: &[Block], value: impl Fn(&Block) -> f64) -> Option<f64> {
    let mut values: Vec<f64> = blocks.iter().map(value).collect();
    median(&mut values)
}

fn query_sd(blocks: &[Block], arm: usize) -> Option<f64> {
    let times: Vec<f64> = blocks.iter().map(|block| query_us(&block[arm])).collect();
    spread(&times)
}

/// The standard deviation; `None` also where all values are the same: no ratio is made of it.
fn spread(values: &[f64]) -> Option<f64> {
    deviation(values).filter(|deviation| *deviation > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [Transport; 2] = [Transport::Unix, Transport::Tcp];

    /// A page that takes ten times its queries, and half of that again for our clock.
    fn load(arm: usize, query_us: f64) -> Timed<Page> {
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
        Timed {
            arm,
            wall_ns: (15_000.0 * query_us) as u64 + 100_000,
            value: page,
        }
    }

    /// Ten epochs of four blocks whose machine gets slower all the time; TCP takes a quarter more.
    fn drifting() -> Vec<Vec<Block>> {
        let block = |idx: usize| {
            let unix = 1_000.0 * (1.0 + 0.1 * idx as f64);
            vec![load(0, unix), load(1, 1.25 * unix)]
        };
        let epoch = |epoch: usize| (0..4).map(|idx| block(4 * epoch + idx)).collect();
        (0..10).map(epoch).collect()
    }

    #[track_caller]
    fn close(estimate: &Estimate, expected: f64) {
        let is_close = (estimate.value - expected).abs() < 1e-6;
        assert!(is_close && estimate.has_interval(), "{estimate:?}");
    }

    #[test]
    fn pages_of_a_block_are_held_against_each_other() {
        let found = contrast(&drifting(), (1, 0), &BOTH, 0.05).unwrap();
        for ratio in [&found.query, &found.query_sd, &found.page, &found.client] {
            close(ratio, 1.25);
            assert!(ratio.half_width() < 1e-6, "the drift is in both: {ratio:?}");
        }
        assert_eq!((found.of, found.over), (Transport::Tcp, Transport::Unix));
    }

    #[test]
    fn a_transport_by_itself_has_its_own_levels() {
        let found = side(&drifting(), 1, Transport::Tcp, 0.05).unwrap();
        close(&found.share_pct, 10.0);
        // Blocks 18 to 21 are the middle of forty: 1 + 0.1 × 19.5 ms, a quarter more over TCP.
        close(&found.query_us, 1.25 * 2_950.0);
        close(&found.client_us, 15.0 * 1.25 * 2_950.0);
        // Four values a tenth of a millisecond apart.
        close(&found.query_sd_us, 1.25 * 129.099_444_873);
    }

    #[test]
    fn the_first_fifteen_are_as_published() {
        let found = fifteen(&drifting()).unwrap();
        assert_eq!(found.queries, [810, 810]);
        assert!((found.query_us[0] - 1_700.0).abs() < 1e-6, "{found:?}");
        assert!((found.query_sd_us[1] / found.query_sd_us[0] - 1.25).abs() < 1e-9);
        close(&found.query, 1.25);
        assert!(fifteen(&drifting()[..3]).is_none());
    }

    #[test]
    fn nothing_measured_is_no_figure() {
        assert_eq!(query_theta(&[], (1, 0), 0.05), None);
        assert!(side(&[], 0, Transport::Unix, 0.05).is_none());
        assert!(contrast(&[], (1, 0), &BOTH, 0.05).is_none());
    }
}
