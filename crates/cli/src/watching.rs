//! The kernel's counts of requests between processes, snapshot by snapshot: for `watch`, and for `switch` before and
//! after a move.

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use looptax_bench::cpu_ticks;
use looptax_host::cpu::CpuTimes;
use looptax_host::discover::{Listed, Survey, listed, survey};
use looptax_host::eyes::{Asked, Counted, Eyes, Look};
use looptax_model::failure::Failure;
use looptax_model::record::Watched;
use looptax_model::stats::LEAST_LOOKS;
use looptax_switch::diagnose::find::cpu_sums::Around;
use looptax_switch::diagnose::find::watched::{Beside, Gathered};

use crate::signals::has_paused;

/// Minimum time between two searches for servers. A search is needed if a process that is not known as a server
/// answers, or if an address gets its first request.
const BETWEEN_SURVEYS: Duration = Duration::from_secs(2);
/// Remember at most this many addresses; if there are more, forget all of them and search for servers again.
const MOST_ASKED: usize = 20_000;
/// A count over a longer time is divided into this many snapshots.
const N_LOOKS: u32 = 20;
/// Minimum time between two snapshots. With a shorter time, the figures would show more about the clock than about the
/// requests.
const LEAST_LOOK: Duration = Duration::from_secs(1);

/// Longest time between two snapshots. In a longer time more clients may come and go than the kernel's table can hold.
const MOST_LOOK: Duration = Duration::from_secs(30);

pub(crate) struct Watch {
    eyes: Eyes,
    survey: Survey,
    counted: Duration,
    since_survey: Duration,
    /// Addresses that had requests before the last search for servers, each with the process that answered.
    asked: HashSet<(Asked, u32)>,
    beside: Beside,
    /// The state of the machine at the last snapshot, and at the snapshot before it.
    after: Surroundings,
    before: Surroundings,
}

#[derive(Default)]
struct Surroundings {
    cpu: CpuTimes,
    listed: Vec<Listed>,
}

impl Watch {
    pub(crate) fn new(eyes: Eyes, survey: Survey, beside: Beside) -> Self {
        Self {
            eyes,
            survey,
            counted: Duration::ZERO,
            // This makes the first new address start a search immediately.
            since_survey: BETWEEN_SURVEYS,
            asked: HashSet::new(),
            beside,
            after: Surroundings::default(),
            before: Surroundings::default(),
        }
    }

    /// Returns the time for which requests were counted since [`Watch::begin`].
    pub(crate) fn counted(&self) -> Duration {
        self.counted
    }

    /// Discards all counts until now.
    pub(crate) fn begin(&mut self) -> Result<(), Failure> {
        self.next()?;
        self.counted = Duration::ZERO;
        Ok(())
    }

    /// Returns the counts since the last snapshot.
    pub(crate) fn look(&mut self) -> Result<Watched, Failure> {
        self.one(false)
    }

    /// Like [`Watch::look`], but the result also has the figures of the single snapshot, with its histogram of times.
    pub(crate) fn look_with_times(&mut self) -> Result<Watched, Failure> {
        self.one(true)
    }

    fn one(&mut self, keeps_looks: bool) -> Result<Watched, Failure> {
        let mut gathered = Gathered::new(self.beside, keeps_looks);
        self.add_next(&mut gathered)?;
        Ok(gathered.watched())
    }

    /// Counts for `time`, or until a signal ends the count, and keeps the figures of each single snapshot. Returns
    /// `None` if the count ended with too few snapshots for an interval.
    pub(crate) fn look_for(&mut self, time: Duration, stop: &AtomicBool) -> Result<Option<Watched>, Failure> {
        self.begin()?;
        let each = (time / N_LOOKS).max(LEAST_LOOK);
        let mut gathered = Gathered::new(self.beside, true);
        let ticks = cpu_ticks();
        let (mut goes_on, mut n_looks) = (true, 0);
        // On a busy machine snapshots may come later than planned. The condition on `n_looks` makes the count longer
        // than planned if there are too few snapshots for an interval.
        while goes_on && (self.counted + each / 2 < time || n_looks < LEAST_LOOKS) {
            let rest = time.saturating_sub(self.counted);
            goes_on = has_paused(if rest < each / 2 { each } else { each.min(rest) }, stop);
            if !goes_on && n_looks + 1 < LEAST_LOOKS {
                // Another snapshot would not help, because there would still be too few. On a large machine looptax may
                // need seconds to find the names in a snapshot.
                return Ok(None);
            }
            self.add_next(&mut gathered)?;
            n_looks += 1;
        }
        let busy_pct = cpu_ticks().zip(ticks).and_then(|(now, then)| now.since(then).busy_pct());
        Ok(Some(Watched { busy_pct, ..gathered.watched() }))
    }

    /// Counts for `time`, or until a signal ends the count. Takes a snapshot now and then, so that clients that have
    /// ended free their places in the kernel's table. Returns the counts, and whether the count ended without a signal.
    pub(crate) fn count_for(&mut self, time: Duration, stop: &AtomicBool) -> Result<(Watched, bool), Failure> {
        let mut gathered = Gathered::new(self.beside, false);
        loop {
            let rest = time.saturating_sub(self.counted);
            let goes_on = has_paused(rest.min(MOST_LOOK), stop);
            self.add_next(&mut gathered)?;
            if !goes_on || self.counted >= time {
                return Ok((gathered.watched(), goes_on));
            }
        }
    }

    fn add_next(&mut self, gathered: &mut Gathered) -> Result<(), Failure> {
        let look = self.next()?;
        let Self { before, after, .. } = self;
        let around = Around { cpu: [&before.cpu, &after.cpu], listed: [&before.listed, &after.listed] };
        gathered.add(&look, &self.survey.servers, around);
        Ok(())
    }

    fn next(&mut self) -> Result<Look, Failure> {
        let look = self.eyes.look()?;
        let cpu = CpuTimes::read(Some(&self.after.cpu));
        self.counted += look.over;
        self.since_survey += look.over;
        let is_new = look.counted.iter().any(|it| !self.asked.contains(&self.answered(it)));
        if is_new && self.since_survey >= BETWEEN_SURVEYS {
            self.survey = survey(Some(&self.survey));
            self.since_survey = Duration::ZERO;
            let answered: Vec<_> = look.counted.iter().map(|it| self.answered(it)).collect();
            if self.asked.len() > MOST_ASKED {
                self.asked.clear();
            }
            self.asked.extend(answered);
        }
        let now = Surroundings { cpu, listed: listed(&self.survey.servers) };
        self.before = std::mem::replace(&mut self.after, now);
        Ok(look)
    }

    /// Returns the address and the process that answered there; the process is 0 for a known server or for a child of a
    /// known server. A restarted server counts as unknown, although its socket may have the same name and number as
    /// before.
    fn answered(&self, counted: &Counted) -> (Asked, u32) {
        let is_known = |pid: u32| self.survey.servers.iter().any(|it| it.process.pid == pid);
        let unknown = counted.server.as_ref().filter(|it| !is_known(it.pid) && !is_known(it.parent));
        (counted.asked.clone(), unknown.map_or(0, |it| it.pid))
    }
}
