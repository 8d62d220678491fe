//! Loads pages over two transports in turns. For each page, proves its queries and its transport.
//!
//! Called by `measure`; the result has every page that counts.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::servers::wordpress::{Page, Site, Transport, WordPress};
use crate::spec::Effort;
use looptax_bench::{
    BenchError, ContrastRun, Course, FilledSlice, Shape, Silent, SliceOrder, SliceSource, Stopping, WarmUp,
    descendants_cpu_ns, run_slices, timed,
};
use looptax_model::failure::Failure;
use looptax_model::record::Slice;
use serde::Serialize;

use super::figures::{Load, Pair, SINGLE_LOOK};
use super::length::Length;

/// Number of pages of each transport that are loaded before the warm-up epoch, which has at least four more. Meanwhile
/// PHP compiles scripts, MariaDB opens tables, and WordPress stores entries that expire once a minute. The second half
/// of these first pages shows how long a page takes.
const FIRST: usize = 8;

pub(super) struct Loaded {
    pub contrasts: Vec<LoadedContrast>,
    /// Number of pages of each transport in an epoch.
    pub loads_per_epoch: usize,
    /// The server's count of queries for a connection that loads no page.
    pub connecting: BTreeMap<Transport, u32>,
}

/// Two transports that were compared.
pub(super) struct LoadedContrast {
    /// The transports, `[over, of]`.
    pub arms: [Transport; 2],
    pub epochs: Vec<Vec<Pair>>,
    /// The error level (alpha) at which the contrast ended.
    pub alpha: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Counted {
    /// Number of pages that counted, all transports together.
    pub pages: u64,
    /// The lowest and the highest number of queries of a page: they differ because expired entries are made again once
    /// a minute.
    pub queries: [u32; 2],
    /// Number of queries of all pages, as `$wpdb` counts them.
    pub all_queries: u64,
    /// Number of queries of all pages, as the server counts them, without the queries for connecting and for the
    /// proofs.
    pub server_count: u64,
    /// Number of pages under `looptax run` for which the server saw the connection on its socket although PHP had
    /// connected over TCP.
    pub moved: u64,
}

/// Loads the front page of a site over the two transports of each pair in turns, until an interim analysis decides.
pub(super) fn run(
    wordpress: &WordPress,
    (site, pairs): (Site, &[[Transport; 2]]),
    length: &Length,
    stop: &AtomicBool,
) -> Result<Loaded, Failure> {
    let connecting = { pairs.iter().flatten() }
        .map(|transport| Ok((*transport, wordpress.connect(site, *transport)?.questions)))
        .collect::<Result<BTreeMap<Transport, u32>, Failure>>()?;
    let mut pages = Pages { wordpress, site, pairs, connecting, length, loads: BTreeMap::new() };
    let page_ns = pages.load_first(stop)?;
    let octets = length.octets(pairs.len(), page_ns);
    let course = course(pairs, length, octets);
    let outcome = run_slices(&course, &mut pages, &mut Silent, stop);
    if let Some(failure) = outcome.failure {
        return Err(failure.into());
    }
    let runs = outcome.contrasts.iter().enumerate();
    Ok(Loaded {
        contrasts: runs.map(|(idx, run)| pages.take(idx, run)).collect(),
        loads_per_epoch: 4 * octets,
        connecting: pages.connecting,
    })
}

fn course(pairs: &[[Transport; 2]], length: &Length, octets: usize) -> Course {
    let name = |[over, of]: &[Transport; 2]| format!("{over:?}, {of:?}");
    Course {
        seed: length.seed,
        names: pairs.iter().map(name).collect(),
        connections: 1,
        shape: Shape { octets, ..Shape::whole() },
        warm_up: WarmUp::epochs(1),
        stopping: Stopping { patience: Some(length.time), ..Effort::Precise.stopping(length.analyses.clone(), None) },
        max_sample_bytes: 0,
    }
}

/// Loads a page for each slice.
struct Pages<'a> {
    wordpress: &'a WordPress,
    site: Site,
    pairs: &'a [[Transport; 2]],
    connecting: BTreeMap<Transport, u32>,
    length: &'a Length,
    /// The pages of each side, for each contrast and epoch, including the warm-up epoch.
    loads: BTreeMap<(usize, u64), [Vec<Load>; 2]>,
}

impl SliceSource for Pages<'_> {
    fn fill(&mut self, order: SliceOrder) -> Result<Option<FilledSlice>, BenchError> {
        let before_ns = descendants_cpu_ns(std::process::id());
        let load = self.load(self.pairs[order.contrast_idx][order.side.idx()])?;
        let after_ns = descendants_cpu_ns(std::process::id());
        let filled = FilledSlice {
            slice: Slice {
                completions: 1,
                requests: 1,
                // The time in queries is the published figure, so this time decides how many pages are enough.
                active_ns: (load.value.query_us * 1e3) as u64,
                // The CPU time of MariaDB and PHP. It is recorded here so that it does not count as time of other
                // programs.
                client_cpu_ns: after_ns.zip(before_ns).map(|(after, before)| after.saturating_sub(before)),
                ..Slice::default()
            },
            start_ns: load.start_ns,
            ..FilledSlice::default()
        };
        let sides = self.loads.entry((order.contrast_idx, order.epoch));
        sides.or_default()[order.side.idx()].push(load);
        Ok(Some(filled))
    }
}

impl Pages<'_> {
    /// Loads a page, and returns an error if the page has the wrong transport, a wrong number of queries, or an object
    /// cache.
    fn load(&mut self, transport: Transport) -> Result<Load, Failure> {
        let load = timed(|| self.wordpress.load(self.site, transport))?;
        match objection(&load.value, transport, self.connecting[&transport]) {
            None => Ok(load),
            Some(what) => Err(invalid(&format!("a page {what}: {:?}", load.value))),
        }
    }

    /// Loads the first pages, which do not count, and returns the time that a page takes once everything is cached, in
    /// nanoseconds.
    fn load_first(&mut self, stop: &AtomicBool) -> Result<u64, Failure> {
        let mut times_ns = Vec::new();
        for _ in 0..FIRST {
            for transport in self.pairs.as_flattened() {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                times_ns.push(self.load(*transport)?.wall_ns);
            }
        }
        let warm = &times_ns[times_ns.len() / 2..];
        Ok(warm.iter().sum::<u64>() / warm.len().max(1) as u64)
    }

    /// Returns the pages of a contrast's complete epochs, and removes them from `loads`.
    fn take(&mut self, contrast_idx: usize, run: &ContrastRun) -> LoadedContrast {
        let n_epochs = run.epochs.len();
        let epochs = (0..n_epochs as u64).filter_map(|epoch| self.loads.remove(&(contrast_idx, epoch)));
        let pairs = |[over, of]: [Vec<Load>; 2]| over.into_iter().zip(of).map(<[Load; 2]>::from).collect();
        let due = self.length.analyses.due(n_epochs);
        let analysis = run.stopped.map(|(analysis, _)| analysis).or(due);
        LoadedContrast {
            arms: self.pairs[contrast_idx],
            epochs: epochs.map(pairs).collect(),
            alpha: analysis.map_or(SINGLE_LOOK, |analysis| analysis.alpha),
        }
    }
}

/// Returns the reason why a page does not count; `None` if it counts.
fn objection(page: &Page, transport: Transport, connecting: u32) -> Option<String> {
    let is_on_socket = transport != Transport::Tcp;
    let is_right = (page.came_over_socket(), page.went_to_socket()) == (is_on_socket, transport.names_socket());
    if !is_right {
        return Some(format!("did not use {transport:?}"));
    }
    if page.questions.checked_sub(connecting) != Some(page.queries) || page.queries != page.timed {
        return Some("counted a different number of queries than the server did".to_owned());
    }
    page.has_object_cache.then(|| "used an object cache, which answers instead of the database".to_owned())
}

fn invalid(what: &str) -> Failure {
    Failure::usage(what, "looptax concludes nothing from this measurement").invalid()
}

/// Returns the counts that prove the work; `None` if no work was done.
pub(super) fn counted(loaded: &Loaded) -> Option<Counted> {
    let loads = || {
        let contrasts = loaded.contrasts.iter();
        contrasts.flat_map(|contrast| {
            let pairs = contrast.epochs.iter().flatten();
            pairs.flat_map(|pair| contrast.arms.into_iter().zip(pair))
        })
    };
    let queries = || loads().map(|(_, load)| load.value.queries);
    let is_moved =
        |(transport, load): &(Transport, &Load)| *transport == Transport::Redirect && load.value.came_over_socket();
    let by_server =
        |(transport, load): (Transport, &Load)| u64::from(load.value.questions - loaded.connecting[&transport]);
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
        check(&moved, Transport::UnixBeside, Some("did not use"));
        check(&tcp, Transport::Redirect, Some("did not use"));
        check(&moved, Transport::Tcp, Some("did not use"));
        check(&unix, Transport::Tcp, Some("did not use"));
    }

    #[test]
    fn a_page_counts_only_with_the_queries_that_the_server_counted() {
        let good = page("localhost", "Localhost via UNIX socket");
        let check_with = |change: fn(&mut Page), words| {
            let mut page = good.clone();
            change(&mut page);
            check(&page, Transport::Unix, Some(words));
        };
        check_with(|it| it.questions = 25, "a different number of queries");
        check_with(|it| it.questions = 3, "a different number of queries");
        check_with(|it| it.timed = 17, "a different number of queries");
        check_with(|it| it.has_object_cache = true, "object cache");
    }
}
