//! Runs the arms in turn: in each slice the application uses one transport, and looptax loads pages, counts them, and
//! proves their transport.
//!
//! In a trial with a flip, the application keeps running, and the transport of its new connections changes between
//! slices. In a trial with a restart, the application is started again for each slice.

use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use looptax_bench::pages::{PageLoad, PageSlice, PagesLoaded};
use looptax_bench::{BenchError, CommandPlan, FilledSlice, SliceOrder, SliceSource, process_tree_cpu_ns, run_once};
use looptax_model::failure::{Failure, with_causes};
use looptax_model::record::{Slice, TrialArm, TrialConnections};
use looptax_model::stats::{Quantile, Side, nearest_rank};
use looptax_redirect::{RouteCounts, SliceCounts};

use crate::trial::ask::{Ask, Load, Way};
use crate::trial::counted::Counters;
use crate::trial::program::Program;
use crate::trial::ready::wait_for_answer;

/// Pause between two slices, in which the application and its servers close the last page's connections. Without the
/// pause, this work slows the next page, on either arm: in a measurement without the pause, a page after an injected
/// delay took 25 µs less than a page that directly followed another page.
pub(crate) const GUARD: Duration = Duration::from_millis(2);
/// Maximum number of failed pages per thousand; if more fail, the trial has no result.
const MOST_FAILED_PER_MILLE: u64 = 1;
/// A trial ends immediately if both conditions are met: at least this number of pages have failed, and more than 1 % of
/// all pages have failed.
const MANY_FAILED: u64 = 5;
/// Minimum number of warm-up loads after a start; they do not count.
const LEAST_WARM_UP: usize = 3;
/// Maximum number of warm-up loads after a start. This number of loads has twice as many pages as a slice that counts.
const MOST_WARM_UP: usize = 10;
/// The number of pages of a warm-up load is a slice's number of pages divided by this number.
const WARM_UP_PART: usize = 5;
/// The warm-up after a start ends when two successive loads differ by at most this share.
const STEADY: f64 = 0.03;

/// The turns of the arms, and what was observed in them.
pub(crate) struct Turns<'a> {
    pub(crate) ask: &'a Ask,
    pub(crate) program: &'a mut Program,
    pub(crate) load: PageLoad,
    /// For each contrast, the only server whose transport changes; `None` if the transport of all servers changes.
    pub(crate) contrasts: Vec<Option<usize>>,
    pub(crate) pages_per_slice: usize,
    pub(crate) stop: &'a AtomicBool,
    /// The numbers of requests that the servers counted while the warm-up's pages were loaded.
    pub(crate) counters: Counters,
    /// For each contrast, what was observed on its two arms in epochs that count.
    pub(crate) seen: Vec<[TrialArm; 2]>,
    /// For each contrast, the CPU time of the supervisor on the two arms, in nanoseconds.
    pub(crate) supervisor_ns: Vec<[u64; 2]>,
    /// Whether the application keeps running between slices. If so, all connections that the application opens during a
    /// slice are for the slice's pages, and none of them belongs to the start of the application.
    pub(crate) is_flipped: bool,
    /// The message of the first page that failed.
    pub(crate) first_failure: Option<String>,
}

/// The pages of a slice, and the CPU time that they took.
struct Loaded {
    /// A whole run of a load command counts as one page.
    pages: PagesLoaded,
    application_ns: Option<u64>,
    servers_ns: Option<u64>,
}

impl SliceSource for Turns<'_> {
    fn fill(&mut self, order: SliceOrder) -> Result<Option<FilledSlice>, BenchError> {
        let filled = if self.is_flipped { self.flip(order) } else { self.restart(order) };
        Ok(filled?)
    }
}

impl Turns<'_> {
    /// Measures a slice while the application keeps running.
    fn flip(&mut self, order: SliceOrder) -> Result<Option<FilledSlice>, Failure> {
        thread::sleep(GUARD);
        let number = self.program.steer(self.mask(order));
        if !order.counts {
            self.counters.begin();
        }
        let loaded = self.load(order, true)?;
        if !order.counts {
            self.counters.end(loaded.pages.n_asked());
        }
        self.program.check()?;
        self.filled(order, number, &loaded)
    }

    fn restart(&mut self, order: SliceOrder) -> Result<Option<FilledSlice>, Failure> {
        let number = self.program.steer(self.mask(order));
        let (ready, limit) = (self.ask.ready, self.ask.start_limit);
        if self.program.start(ready, limit, self.stop)?.is_none() {
            return Ok(None);
        }
        wait_for_answer(self.program, &mut self.load, limit, self.stop)?;
        if self.warm_up(order)?.is_none() {
            return Ok(None);
        }
        let loaded = self.load(order, true)?;
        self.program.check()?;
        let filled = self.filled(order, number, &loaded)?;
        self.program.end()?;
        Ok(filled)
    }

    /// Returns which routes are moved in a slice: all of them, or none. If only one server is tried, a coin decides in
    /// each epoch whether the routes of the other servers are moved.
    fn mask(&self, order: SliceOrder) -> u32 {
        let is_socket = self.ask.arms[order.side.idx()] == Way::Socket;
        let only = self.contrasts[order.contrast_idx];
        self.ask.mask(|server| match only {
            Some(only) if only != server => order.coins >> (server + 1) & 1 == 1,
            _ => is_socket,
        })
    }

    /// Loads the pages of a slice. If the slice counts and there is a load command, runs this command instead.
    fn load(&mut self, order: SliceOrder, counts: bool) -> Result<Loaded, Failure> {
        let n_pages = if counts { self.pages_per_slice } else { self.pages_per_slice.div_ceil(WARM_UP_PART) };
        let inject = self.ask.inject.map(|time| match order.side {
            Side::Baseline => Duration::ZERO,
            Side::Other => time,
        });
        let slice =
            PageSlice { epoch: order.epoch, rank: order.rank, n_pages, rate_per_s: self.ask.rate_per_s, inject };
        let before = [self.program.cpu_ns(), self.servers_ns()];
        let pages = match &self.ask.load {
            Load::Command { .. } if counts => self.run_command()?,
            _ => self.load.slice(&slice, self.stop)?,
        };
        let after = [self.program.cpu_ns(), self.servers_ns()];
        let [application_ns, servers_ns] = [0, 1].map(|idx| Some(after[idx]?.saturating_sub(before[idx]?)));
        Ok(Loaded { pages, application_ns, servers_ns })
    }

    /// Runs the load command once from start to end.
    fn run_command(&self) -> Result<PagesLoaded, Failure> {
        let Load::Command { words, shown, limit, .. } = &self.ask.load else {
            return Ok(PagesLoaded::default());
        };
        let plan = CommandPlan {
            arm: "load".to_owned(),
            shown: shown.clone(),
            words: words.clone(),
            set: Vec::new(),
            unset: Vec::new(),
        };
        let run = run_once(&plan, *limit, self.stop).map_err(|error| {
            let hint = "run the load by hand while the application runs; if the load has pipes or loops, use sh -c \
                '…', because looptax uses no shell";
            Failure::usage(format!("the load `{shown}` failed: {}", with_causes(&error)), hint)
        })?;
        Ok(run.map_or_else(PagesLoaded::default, |run| PagesLoaded {
            start_ns: run.start_ns,
            active_ns: run.wall_ns,
            latencies_ns: vec![run.wall_ns],
            ..PagesLoaded::default()
        }))
    }

    /// Loads pages until two successive loads take about the same time; `None` if the user stopped the trial.
    fn warm_up(&mut self, order: SliceOrder) -> Result<Option<()>, Failure> {
        let mut last = None;
        for idx in 0..MOST_WARM_UP {
            let order = SliceOrder {
                // If there are several pages, the warm-up and the slices that count load different pages.
                rank: order.rank + (1 + idx as u64) * 1_000,
                ..order
            };
            self.counters.begin();
            let loaded = self.load(order, false)?.pages;
            self.counters.end(loaded.n_asked());
            if self.stop.load(std::sync::atomic::Ordering::Relaxed) {
                return Ok(None);
            }
            self.program.check()?;
            let now = mean_ns(&loaded);
            let change = last.zip(now).map(|(last, now): (f64, f64)| (now / last - 1.0).abs());
            if idx + 1 >= LEAST_WARM_UP && change.is_some_and(|change| change <= STEADY) {
                break;
            }
            last = now;
        }
        Ok(Some(()))
    }

    /// Returns the CPU time of all servers that are not part of the application; `None` if there are no such servers,
    /// or if the process of one of them is not known.
    fn servers_ns(&self) -> Option<u64> {
        let servers = || self.ask.servers.iter().filter(|it| !it.is_own);
        servers().next()?;
        servers().map(|it| process_tree_cpu_ns(it.pid?)).sum()
    }

    /// Returns the figures of a slice in the form that the comparison uses; `None` if the user stopped the trial.
    /// Returns an error if too many pages have failed.
    fn filled(&mut self, order: SliceOrder, number: u32, loaded: &Loaded) -> Result<Option<FilledSlice>, Failure> {
        if self.stop.load(std::sync::atomic::Ordering::Relaxed) {
            return Ok(None);
        }
        let pages = &loaded.pages;
        let counts = self.program.counts(number);
        if order.counts {
            self.note(order, &counts, pages);
        }
        self.object(order)?;
        let mut latencies: Vec<u64> = pages.latencies_ns.clone();
        let median_ns = nearest_rank(&mut latencies, Quantile::P50);
        let n_right = pages.latencies_ns.len() as u64;
        let narrow = |ns: u64| u32::try_from(ns).unwrap_or(u32::MAX);
        Ok(Some(FilledSlice {
            slice: Slice {
                active_ns: pages.active_ns,
                completions: n_right,
                requests: n_right,
                latency_sum_ns: pages.latencies_ns.iter().sum(),
                median_ns: self.ask.rate_per_s.and(median_ns).map(narrow),
                client_cpu_ns: loaded.application_ns,
                server_cpu_ns: loaded.servers_ns,
                injected_ns: pages.injected_ns,
                supervisor_ns: self.is_flipped.then_some(counts.busy_ns),
                ..Slice::default()
            },
            start_ns: pages.start_ns,
            latencies_ns: pages.latencies_ns.iter().copied().map(narrow).collect(),
            lag_p99_ns: pages.lag_p99_ns.map(narrow),
        }))
    }

    /// Adds the observations of a slice to those of its contrast.
    fn note(&mut self, order: SliceOrder, counts: &SliceCounts, pages: &PagesLoaded) {
        if let (None, Some(failed)) = (&self.first_failure, pages.failures.first()) {
            let url = &self.ask.load.pages()[failed.page_idx].url;
            let status = failed.status.map_or_else(String::new, |it| format!(" (status {it})"));
            self.first_failure = Some(format!("; the first was {url}{status}: {}", failed.words));
        }
        let arm = &mut self.seen[order.contrast_idx][order.side.idx()];
        arm.n_slices += 1;
        arm.n_pages += pages.latencies_ns.len() as u64;
        arm.n_failed += pages.n_failed();
        arm.connections.resize(self.ask.servers.len(), TrialConnections::default());
        for (server, seen) in arm.connections.iter_mut().enumerate() {
            let routes = self.ask.routes_of(server);
            let routes = counts.routes.get(routes).unwrap_or_default();
            seen.n_moved += routes.iter().map(|it| it.n_moved).sum::<u64>();
            seen.n_left += routes.iter().map(|it| it.n_left).sum::<u64>();
            seen.n_not_moved += routes.iter().map(|it| it.n_fallen).sum::<u64>();
            let is_any = |it: &RouteCounts| it.n_moved + it.n_left + it.n_fallen > 0;
            seen.n_slices += u64::from(routes.iter().any(is_any));
        }
        self.supervisor_ns[order.contrast_idx][order.side.idx()] += counts.busy_ns;
    }

    /// Returns an error if so many pages have failed that the trial cannot have a result.
    fn object(&self, order: SliceOrder) -> Result<(), Failure> {
        let seen = &self.seen[order.contrast_idx];
        let n_failed: u64 = seen.iter().map(|arm| arm.n_failed).sum();
        let n_right: u64 = seen.iter().map(|arm| arm.n_pages).sum();
        if n_failed >= MANY_FAILED && 100 * n_failed > n_failed + n_right {
            return Err(self.failed(n_failed, n_failed + n_right));
        }
        Ok(())
    }

    fn failed(&self, n_failed: u64, n_all: u64) -> Failure {
        let first = self.first_failure.as_deref().unwrap_or_default();
        let what = format!("{n_failed} of {n_all} pages failed{first}");
        Failure::usage(
            what,
            "read the application's log, which may show the cause; looptax concludes nothing from a trial with \
            failed pages",
        )
        .invalid()
    }

    /// Checks that a finished contrast has a valid result.
    ///
    /// # Errors
    /// Too many pages failed, or connections used the wrong transport.
    pub(crate) fn check(&self, contrast_idx: usize) -> Result<(), Failure> {
        let seen = &self.seen[contrast_idx];
        let n_failed: u64 = seen.iter().map(|arm| arm.n_failed).sum();
        let n_all = n_failed + seen.iter().map(|arm| arm.n_pages).sum::<u64>();
        if 1_000 * n_failed > MOST_FAILED_PER_MILLE * n_all {
            return Err(self.failed(n_failed, n_all));
        }
        for (side, arm) in self.ask.arms.into_iter().zip(seen) {
            let all = &arm.connections;
            let n_not_moved: u64 = all.iter().map(|it| it.n_not_moved).sum();
            let n_moved: u64 = all.iter().map(|it| it.n_moved).sum();
            let n = n_not_moved + n_moved;
            if side == Way::Socket && (n == 0 || 1_000 * n_not_moved > n) {
                return Err(self.program.not_moved(n_not_moved, n, None).invalid());
            }
        }
        Ok(())
    }
}

fn mean_ns(pages: &PagesLoaded) -> Option<f64> {
    let n = pages.latencies_ns.len();
    let sum: u64 = pages.latencies_ns.iter().sum();
    (n > 0).then(|| sum as f64 / n as f64)
}
