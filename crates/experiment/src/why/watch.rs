//! An observer that samples a run in two of three epochs; the time of a sample shows to which epoch it belongs.

use std::collections::HashMap;
use std::io;
use std::ops::Range;

use crate::observer::{Doer, Observer, Scene};
use looptax_bench::{ContrastRun, Phase, Progress, Replanned, allowed_cores};
use looptax_model::failure::Failure;
use looptax_model::record::{Comparison, Record};

use crate::why::account::Account;
use crate::why::counts::Counts;
use crate::why::nameless::run_as;
use crate::why::sampler::{Drained, Sampler, parent_of};
use crate::why::tally::{Seen, Tally, Weights, Windows};
use crate::why::turns;

/// Maximum number of ancestors of a process that are searched for a role.
const MOST_ANCESTORS: usize = 32;

/// Samples a run, and passes the run's events on to another observer.
pub struct Watch<'a> {
    shown: &'a mut dyn Observer,
    sampler: Sampler,
    /// The counts in warm-up epochs, or the reason why there are none.
    counts: Result<Counts, String>,
    seed: u64,
    doers: HashMap<u32, Option<Doer>>,
    tally: Tally,
    n_contrasts: usize,
    n_epochs: u64,
    /// Number of warm-up epochs per contrast in which tracepoints are counted.
    n_counted: usize,
    is_on: bool,
    /// Number of samples that were lost before this comparison.
    lost_before: u64,
    failure: Option<Failure>,
}

impl<'a> Watch<'a> {
    /// Makes an observer that samples the cores that this process may use.
    ///
    /// # Errors
    /// The kernel does not allow this user to take samples.
    pub fn new(seed: u64, shown: &'a mut dyn Observer) -> Result<Self, Failure> {
        let cores = allowed_cores()?;
        let sampler = Sampler::open(turns::MEAN_PERIOD_NS, &cores)?;
        Ok(Self {
            shown,
            sampler,
            counts: Counts::open(&cores).map_err(|error| {
                format!(
                    "system calls, wake-ups, softirqs and packets are not counted: {error}; run looptax as root to \
                     count them"
                )
            }),
            seed,
            doers: HashMap::new(),
            tally: Tally::default(),
            n_contrasts: 1,
            n_epochs: 0,
            n_counted: 0,
            is_on: false,
            lost_before: 0,
            failure: None,
        })
    }

    /// Takes the samples of the epoch that has just ended; samples between slices count for neither arm.
    fn take(&mut self, progress: &Progress<'_>) {
        let windows = Windows::new(progress.epoch);
        let mut weights = Weights::new();
        let (tally, doers) = (&mut self.tally, &mut self.doers);
        self.sampler.drain(&mut |drained| match drained {
            Drained::Fork { parent, child } => {
                if let Some(Some(doer)) = doers.get(&parent) {
                    doers.insert(child, inherited(*doer));
                }
            }
            Drained::Sample(sample) => {
                if let Some(side) = windows.side_at(sample.time_ns) {
                    let doer = doer_of(doers, sample.pid);
                    tally.count(&mut weights, side, doer, sample.frames, sample.weight_ns);
                }
            }
        });
        let seen = Seen { idx: progress.n_epochs - 1, weights, raw: None };
        self.tally.keep(progress.contrast_idx, seen);
    }

    /// Takes the counts of a warm-up epoch. Counting continues only if another warm-up epoch is certain to follow.
    fn take_counts(&mut self, progress: &Progress<'_>) -> io::Result<()> {
        let Ok(counts) = &mut self.counts else {
            return Ok(());
        };
        let doers = &mut self.doers;
        let is_counted = progress.n_epochs <= self.n_counted;
        let counted = counts.take(progress.epoch, |pid| doer_of(doers, pid));
        if let Some(counted) = counted.filter(|_| is_counted) {
            let all = self.tally.counted.entry(progress.contrast_idx);
            all.or_default().push(counted);
        }
        let is_last = progress.contrast_idx + 1 == self.n_contrasts;
        if is_last && is_counted {
            counts.pause()?;
            if progress.n_epochs + 1 < progress.n_epochs_at_most {
                self.n_counted = progress.n_epochs + 1;
                counts.start(turns::count_period(self.seed, progress.n_epochs as u64))?;
            }
        }
        Ok(())
    }

    /// Switches the sampler on or off for the next epoch. The period differs from epoch to epoch, so that samples do
    /// not stay in step with the requests for long.
    fn turn(&mut self) {
        let round = self.n_epochs / self.n_contrasts as u64;
        self.is_on = turns::is_on(self.seed, round);
        let switched = if self.is_on {
            self.sampler.start(turns::period_ns(self.seed, self.n_epochs))
        } else {
            self.sampler.pause()
        };
        self.failure = self.failure.take().or(switched.err());
    }
}

/// Returns the role of a process, or of its nearest ancestor that has a role.
fn doer_of(doers: &mut HashMap<u32, Option<Doer>>, pid: u32) -> Option<Doer> {
    if let Some(known) = doers.get(&pid) {
        return *known;
    }
    // The number of ancestors is limited, because process numbers are reused.
    let line = std::iter::successors(Some(pid), |it| parent_of(*it)).take(MOST_ANCESTORS);
    let found = line.skip(1).find_map(|it| doers.get(&it).copied().flatten());
    let found = found.and_then(inherited);
    doers.insert(pid, found);
    found
}

/// Returns the role that children inherit: a child of looptax without its own role takes no part in requests.
fn inherited(parent: Doer) -> Option<Doer> {
    (parent != Doer::Client).then_some(parent)
}

impl looptax_bench::Observer for Watch<'_> {
    fn epoch_ended(&mut self, progress: &Progress<'_>) {
        match progress.phase {
            Phase::Measuring => {
                if self.is_on {
                    self.take(progress);
                }
                self.n_epochs += 1;
                self.turn();
            }
            // The last warm-up epoch is followed by the first epoch that counts, so the sampler is switched after every
            // warm-up epoch.
            Phase::WarmUp => {
                self.sampler.drain(&mut |_| ());
                let counted = self.take_counts(progress);
                self.failure = (self.failure.take()).or(counted.err().map(Failure::from));
                self.turn();
            }
        }
        self.shown.epoch_ended(progress);
    }

    fn replanned(&mut self, replanned: &Replanned) {
        self.shown.replanned(replanned);
    }
}

impl Observer for Watch<'_> {
    fn say(&mut self, news: &str) {
        self.shown.say(news);
    }

    fn begin(&mut self, scene: Scene) {
        self.doers = scene.processes.iter().map(|(doer, pid)| (*pid, Some(*doer))).collect();
        self.doers.insert(std::process::id(), Some(Doer::Client));
        let pids: Vec<u32> = self.doers.keys().copied().collect();
        let watched = self.sampler.watch(&pids);
        self.failure = self.failure.take().or(watched.err());
        self.tally = Tally::default();
        self.n_contrasts = scene.arms.len().max(1);
        self.n_epochs = 0;
        self.lost_before = self.sampler.n_missing();
        self.n_counted = 1;
        if let Ok(counts) = &mut self.counts {
            let started = counts.start(turns::count_period(self.seed, 0));
            self.failure = (self.failure.take()).or(started.err().map(Failure::from));
        }
        self.shown.begin(scene);
    }

    fn sift(&mut self, contrasts: &mut [ContrastRun]) -> Result<(), Failure> {
        self.is_on = false;
        self.sampler.pause()?;
        for (contrast, seen) in contrasts.iter_mut().zip(&mut self.tally.epochs) {
            for seen in seen.iter_mut().rev() {
                if seen.idx < contrast.epochs.len() {
                    seen.raw = Some(contrast.epochs.remove(seen.idx).raw);
                }
            }
        }
        self.failure.take().map_or(Ok(()), Err)
    }

    fn add(&mut self, contrasts: Range<usize>, comparison: &mut Comparison) {
        let n_lost = self.sampler.n_missing() - self.lost_before;
        let is_uncounted = self.counts.as_ref().err();
        let servers = self.doers.iter().filter(|(_, doer)| **doer == Some(Doer::Server));
        let run_as = run_as(servers.map(|(pid, _)| *pid));
        let beside = (is_uncounted, &run_as);
        let account = Account::new(&self.sampler, &self.tally, n_lost, beside);
        for (idx, contrast_idx) in contrasts.enumerate() {
            let epochs = self.tally.epochs.get(contrast_idx);
            let epochs = epochs.map_or(&[][..], Vec::as_slice);
            let counted = self.tally.counted.get(&contrast_idx);
            let counted = counted.map_or(&[][..], Vec::as_slice);
            let pair = [0, idx as u32 + 1];
            comparison.why.push(account.why(pair, epochs, counted));
        }
    }

    fn end(&mut self) {
        self.shown.end();
    }

    fn kept(&mut self, record: &Record) {
        self.shown.kept(record);
    }
}
