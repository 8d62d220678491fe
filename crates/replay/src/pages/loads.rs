//! Loading pages in blocks, one over each transport, and proving each: its queries and its transport.
//!
//! Called by `measure`; what comes out is every page that counts.

use std::sync::atomic::AtomicBool;

use looptax_bench::{BlockPlan, Timed, run_blocks};
use looptax_failure::Failure;
use looptax_servers::wordpress::{Page, Site, Transport, WordPress};
use looptax_stats::{Decision, InterimAnalysis, StopRule, classify};
use serde::Serialize;

use super::epochs::{Block, Epochs};
use super::figures::query_theta;
use super::length::Length;

/// Blocks that do not count: PHP compiles scripts, MariaDB opens tables, WordPress stores what it makes anew
/// once a minute.
const WARM_UP: u32 = 12;
/// Half the width of "no difference worth naming".
const DELTA: f64 = 0.01;

/// What was loaded.
pub(super) struct Loaded {
    pub epochs: Epochs,
    pub analysis: Option<InterimAnalysis>,
    /// What the server counts of a connection without a page, by transport.
    pub connecting: Vec<u32>,
}

/// What proves the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Counted {
    /// Pages that counted, of all transports together.
    pub pages: u64,
    /// Queries of a page, the least and the most: what expires is made anew once a minute.
    pub queries: [u32; 2],
    /// Queries of all pages by `$wpdb`.
    pub all_queries: u64,
    /// The same by the server, without those that connecting and the proofs took.
    pub server_count: u64,
    /// Pages under `looptax run` whose connection the server saw on its socket, while PHP had asked for TCP.
    pub moved: u64,
}

/// Loads a site's front page over each of the transports until an interim analysis decides.
pub(super) fn run(
    wordpress: &WordPress,
    (site, transports): (Site, &[Transport]),
    length: &Length,
    stop: &AtomicBool,
) -> Result<Loaded, Failure> {
    let connecting = { transports.iter() }
        .map(|transport| Ok(wordpress.connect(site, *transport)?.questions))
        .collect::<Result<Vec<u32>, Failure>>()?;
    let plan = BlockPlan {
        seed: length.seed,
        n_arms: transports.len(),
        n_warm_up: WARM_UP,
        analyses: length.analyses.clone(),
        time: length.time,
    };
    let load = |arm: usize| -> Result<Page, Failure> {
        let transport = transports[arm];
        let page = wordpress.load(site, transport)?;
        match objection(&page, transport, connecting[arm]) {
            None => Ok(page),
            Some(what) => Err(invalid(&format!("a page {what}: {page:?}"))),
        }
    };
    // The published figure decides how many pages are enough.
    let is_enough = |epochs: &[Vec<Block>], analysis: InterimAnalysis| {
        let rule = StopRule { is_precise: true };
        query_theta(epochs, (1, 0), analysis.alpha).is_some_and(|theta| {
            rule.decide(analysis, &theta, classify(&theta, DELTA)) != Decision::Continue
        })
    };
    let blocks = run_blocks(&plan, load, is_enough, stop)?;
    Ok(Loaded {
        epochs: blocks.epochs,
        analysis: blocks.analysis,
        connecting,
    })
}

/// What is wrong with a page.
fn objection(page: &Page, transport: Transport, connecting: u32) -> Option<String> {
    let is_on_socket = transport != Transport::Tcp;
    let is_right = (page.came_over_socket(), page.went_to_socket())
        == (is_on_socket, transport.names_socket());
    if !is_right {
        return Some(format!("did not go over {transport:?}"));
    }
    if page.questions.checked_sub(connecting) != Some(page.queries) || page.queries != page.timed {
        return Some("has other queries than the server counted".to_owned());
    }
    page.has_object_cache
        .then(|| "came with an object cache, which answers instead of the database".to_owned())
}

fn invalid(what: &str) -> Failure {
    Failure::usage(what, "nothing is concluded from this measurement").invalid()
}

/// What proves the work; `None` where there was none.
pub(super) fn counted(
    epochs: &Epochs,
    transports: &[Transport],
    connecting: &[u32],
) -> Option<Counted> {
    let loads = || epochs.iter().flatten().flatten();
    let queries = || loads().map(|load| load.value.queries);
    let is_moved = |load: &&Timed<Page>| {
        transports[load.arm] == Transport::Redirect && load.value.came_over_socket()
    };
    let by_server = |load: &Timed<Page>| u64::from(load.value.questions - connecting[load.arm]);
    Some(Counted {
        pages: loads().count() as u64,
        queries: [queries().min()?, queries().max()?],
        all_queries: queries().map(u64::from).sum(),
        server_count: loads().map(by_server).sum(),
        moved: loads().filter(is_moved).count() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(peer: &str, host_info: &str) -> Page {
        Page {
            page_us: 8_000.0,
            query_us: 400.0,
            queries: 18,
            timed: 18,
            questions: 24,
            peer: peer.to_owned(),
            host_info: host_info.to_owned(),
            has_object_cache: false,
            has_opcache: true,
            proof_us: 100.0,
        }
    }

    #[track_caller]
    fn check(page: &Page, transport: Transport, expected: Option<&str>) {
        let found = objection(page, transport, 6);
        assert_eq!(found.is_some(), expected.is_some(), "{found:?}");
        let (found, expected) = (found.unwrap_or_default(), expected.unwrap_or_default());
        assert!(found.contains(expected), "{found}");
    }

    #[test]
    fn a_page_counts_only_on_the_transport_that_was_asked_for() {
        let unix = page("localhost", "Localhost via UNIX socket");
        let tcp = page("127.0.0.1:5", "127.0.0.1 via TCP/IP");
        let moved = page("localhost", "127.0.0.1 via TCP/IP");
        check(&unix, Transport::Unix, None);
        check(&tcp, Transport::Tcp, None);
        check(&moved, Transport::Redirect, None);
        check(&unix, Transport::UnixBeside, None);
        check(&moved, Transport::UnixBeside, Some("did not go over"));
        check(&tcp, Transport::Redirect, Some("did not go over"));
        check(&moved, Transport::Tcp, Some("did not go over"));
        check(&unix, Transport::Tcp, Some("did not go over"));
    }

    #[test]
    fn a_page_counts_only_with_the_queries_that_the_server_counted() {
        let good = page("localhost", "Localhost via UNIX socket");
        let check_with = |change: fn(&mut Page), words| {
            let mut page = good.clone();
            change(&mut page);
            check(&page, Transport::Unix, Some(words));
        };
        check_with(|it| it.questions = 25, "other queries");
        check_with(|it| it.questions = 3, "other queries");
        check_with(|it| it.timed = 17, "other queries");
        check_with(|it| it.has_object_cache = true, "object cache");
    }
}
