//! Decides which page is requested at which time. The pages are drawn before a slice begins. During the slice, the
//! clients take the next page from one shared counter.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use looptax_model::stats::Side;
use rand_xoshiro::rand_core::Rng;

use super::page::{Page, PageSlice};
use crate::arrivals::Schedule;
use crate::clock::now_ns;
use crate::keys::{SliceOf, generator};
use crate::plan::{Arrivals, OpenLoop};
use crate::schedule::shuffled;

/// Number of the random stream from which the pages are drawn (see `schedule`).
const PAGES: u64 = 7;

/// One slice, as it is passed to the client threads.
pub(crate) struct Job {
    pub(crate) pages: Arc<[Page]>,
    pub(crate) deal: Deal,
    pub(crate) inject: Option<Duration>,
    /// Whether looptax is to stop; then no further page is requested.
    pub(crate) is_over: AtomicBool,
}

/// The pages of a slice in their order, and the times at which they are due.
pub(crate) struct Deal {
    order: Vec<usize>,
    /// In nanoseconds since `start_ns`; empty in a closed loop.
    due_ns: Vec<u64>,
    start_ns: u64,
    n_dealt: AtomicUsize,
}

/// A page to request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dealt {
    pub(crate) page_idx: usize,
    pub(crate) due_ns: Option<u64>,
}

impl Deal {
    /// Draws at random the order of the pages in `slice`. The slice starts at this call.
    pub(crate) fn new(seed: u64, slice: &PageSlice, pages: &[Page]) -> Self {
        let PageSlice { epoch, rank, .. } = *slice;
        let random = generator(seed, &[PAGES, epoch, rank]);
        let weights: Vec<u64> = pages.iter().map(|page| page.weight).collect();
        let due_ns = slice.rate_per_s.map_or_else(Vec::new, |rate_per_s| due_ns(seed, slice, rate_per_s));
        Self {
            order: draw_order(random, &weights, slice.n_pages),
            due_ns,
            start_ns: now_ns(),
            n_dealt: AtomicUsize::new(0),
        }
    }

    /// Returns the next page of the order. Each place in the order is returned once, to the first client that asks.
    pub(crate) fn next(&self) -> Option<Dealt> {
        let idx = self.n_dealt.fetch_add(1, Ordering::Relaxed);
        Some(Dealt { page_idx: *self.order.get(idx)?, due_ns: self.due_ns.get(idx).map(|due| self.start_ns + due) })
    }

    /// Returns the number of pages in the slice.
    pub(crate) fn n_pages(&self) -> usize {
        self.order.len()
    }
}

/// Returns page numbers in a random order. How often a page occurs is proportional to its weight, rounded up or down to
/// a whole number.
fn draw_order(mut random: impl Rng, weights: &[u64], n_pages: usize) -> Vec<usize> {
    let total: u64 = weights.iter().sum();
    if total == 0 {
        return Vec::new();
    }
    // Systematic sampling: points at equal distances over the weights, from a random start.
    let start = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let step = total as f64 / n_pages as f64;
    let mut page_idx = 0;
    let mut sum = weights[0];
    let mut sample = Vec::with_capacity(n_pages);
    for idx in 0..n_pages {
        let point = (idx as f64 + start) * step;
        while point >= sum as f64 && page_idx + 1 < weights.len() {
            page_idx += 1;
            sum += weights[page_idx];
        }
        sample.push(page_idx);
    }
    let order = shuffled(random, n_pages);
    order.into_iter().map(|idx| sample[idx]).collect()
}

/// Returns when each page of an open loop is due, relative to the slice's start.
fn due_ns(seed: u64, slice: &PageSlice, rate_per_s: f64) -> Vec<u64> {
    let open = OpenLoop { rate_per_s, arrivals: Arrivals::Poisson, may_spin: false };
    // The due times are the same for both sides and all contrasts.
    let place = SliceOf { epoch: slice.epoch, contrast: 0, side: Side::Baseline, rank: slice.rank };
    let mut schedule = Schedule::new(open, seed, place, [0, 1], 0);
    let mut due_ns = Vec::with_capacity(slice.n_pages);
    for _ in 0..slice.n_pages {
        due_ns.push(schedule.due_ns());
        schedule.advance();
    }
    due_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(rank: u64, weights: &[u64], n_pages: usize) -> Vec<usize> {
        draw_order(generator(7, &[PAGES, 0, rank]), weights, n_pages)
    }

    #[test]
    fn each_page_comes_as_often_as_its_weight_says() {
        for (weights, n_pages) in [
            (&[1_u64, 1, 1][..], 9),
            (&[1, 1, 1], 10),
            (&[5, 0, 3, 2], 100),
            (&[5, 0, 3, 2], 7),
            (&[1; 50], 8),
            (&[0, 4, 0], 3),
        ] {
            let total: u64 = weights.iter().sum();
            for rank in 0..50 {
                let order = drawn(rank, weights, n_pages);
                assert_eq!(order.len(), n_pages);
                for (page_idx, weight) in weights.iter().enumerate() {
                    let n = order.iter().filter(|idx| **idx == page_idx).count() as f64;
                    let wanted = n_pages as f64 * *weight as f64 / total as f64;
                    assert!((n - wanted).abs() < 1.0 + 1e-9, "{weights:?}: {n} of {wanted}");
                    assert!(*weight > 0 || n == 0.0);
                }
            }
        }
        assert!(drawn(0, &[0, 0], 5).is_empty());
        assert!(drawn(0, &[], 5).is_empty());
        assert!(drawn(0, &[1], 0).is_empty());
    }

    #[test]
    fn slices_of_one_rank_are_the_same_and_others_are_not() {
        let weights = [1; 20];
        assert_eq!(drawn(3, &weights, 40), drawn(3, &weights, 40));
        assert_ne!(drawn(3, &weights, 40), drawn(4, &weights, 40));
        // Even if each slice requests only one page, every page is requested by some slice.
        let firsts: Vec<usize> = (0..200).map(|rank| drawn(rank, &weights, 1)[0]).collect();
        for page_idx in 0..20 {
            assert!(firsts.contains(&page_idx), "{page_idx}");
        }
    }
}
