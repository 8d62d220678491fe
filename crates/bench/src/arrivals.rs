//! When the requests of an open loop are due: a schedule that does not wait for answers.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::Rng;

use crate::keys::{SliceOf, generator};
use crate::plan::{Arrivals, OpenLoop};

/// One client thread's share of the requests of a slice.
pub(crate) struct Schedule {
    generator: SplitMix64,
    arrivals: Arrivals,
    mean_gap_ns: f64,
    due_ns: f64,
}

impl Schedule {
    /// Returns the schedule of the requests that thread `thread` of `n_threads` threads sends from `start_ns` on. The
    /// n-th slices of both sides (`rank` n) have the same gaps between requests.
    pub(crate) fn new(
        open: OpenLoop,
        seed: u64,
        slice: SliceOf,
        [thread, n_threads]: [usize; 2],
        start_ns: u64,
    ) -> Self {
        let SliceOf { epoch, rank, .. } = slice;
        let mean_gap_ns = 1e9 * n_threads as f64 / open.rate_per_s;
        let mut schedule = Self {
            generator: generator(seed, &[3, epoch, rank, thread as u64]),
            arrivals: open.arrivals,
            mean_gap_ns,
            due_ns: start_ns as f64,
        };
        // Threads with fixed gaps start at different times; otherwise all threads would send at the same moment.
        schedule.due_ns += match open.arrivals {
            Arrivals::Poisson => schedule.gap_ns(),
            Arrivals::Fixed => mean_gap_ns * (thread as f64 + 0.5) / n_threads as f64,
        };
        schedule
    }

    /// Returns when the next request is due, in nanoseconds of the measuring clock.
    #[inline]
    pub(crate) fn due_ns(&self) -> u64 {
        self.due_ns as u64
    }

    #[inline]
    pub(crate) fn advance(&mut self) {
        self.due_ns += self.gap_ns();
    }

    #[inline]
    fn gap_ns(&mut self) -> f64 {
        match self.arrivals {
            Arrivals::Fixed => self.mean_gap_ns,
            Arrivals::Poisson => {
                // 53 random bits give a number in (0, 1], without 0, so its logarithm is finite.
                let uniform = ((self.generator.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
                -self.mean_gap_ns * uniform.ln()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use looptax_model::stats::{Side, deviation, mean};

    use super::*;

    fn schedule(arrivals: Arrivals, rate_per_s: f64, side: Side, thread: usize) -> Schedule {
        let slice = SliceOf { epoch: 1, contrast: 0, side, rank: 2 };
        let open = OpenLoop { rate_per_s, arrivals, may_spin: false };
        Schedule::new(open, 7, slice, [thread, 2], 5_000)
    }

    fn gaps(mut schedule: Schedule, n: usize) -> Vec<f64> {
        (0..n)
            .map(|_| {
                let before = schedule.due_ns;
                schedule.advance();
                schedule.due_ns - before
            })
            .collect()
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_the_spread_of_an_exponential() {
        let gaps = gaps(schedule(Arrivals::Poisson, 1e6, Side::Other, 0), 100_000);
        let mean = mean(&gaps);
        assert!((mean - 2_000.0).abs() < 30.0, "{mean}"); // two threads share 1,000,000 requests per second
        assert!((deviation(&gaps).unwrap() / mean - 1.0).abs() < 0.03);
    }

    #[test]
    fn both_sides_have_the_same_schedule_and_threads_their_own() {
        let of = |side, thread| gaps(schedule(Arrivals::Poisson, 1e5, side, thread), 20);
        assert_eq!(of(Side::Baseline, 0), of(Side::Other, 0));
        assert_ne!(of(Side::Baseline, 0), of(Side::Baseline, 1));
    }

    #[test]
    fn fixed_gaps_are_equal_and_threads_take_turns() {
        let of = |thread| schedule(Arrivals::Fixed, 1e6, Side::Other, thread);
        assert_eq!((of(0).due_ns(), of(1).due_ns()), (5_500, 6_500));
        assert_eq!(gaps(of(0), 3), [2_000.0; 3]);
    }
}
