//! Steering: which routes are moved right now, and the outcome of the connections of each slice. The measuring process
//! changes the routes from slice to slice.
//!
//! This is a page of memory that the measuring process maps before it starts any process, and shares with all
//! supervisors below it. The measuring process writes one word: the slice's number and the routes that are moved. A
//! supervisor reads that word once for each connection, and counts the outcome under the slice that it read. Only
//! atomics, no locks: a process that is killed in the middle leaves nothing behind.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::RedirectError;
use crate::sys::memory;

/// Highest number of routes: one bit per route fits into one word together with the slice's number.
pub(crate) const MAX_STEERED: usize = 32;
/// Number of slices that are remembered. This is enough, because a trial reads each slice soon after its end.
const N_SLICES: usize = 1_024;
/// Number of bits of a count in its word: enough for three days in nanoseconds. The bits above contain the mark of the
/// slice.
const COUNT_BITS: u32 = 48;
const COUNT: u64 = (1 << COUNT_BITS) - 1;

/// Sets which routes supervisors move, and returns the outcome of each slice. Copies share the same memory.
///
/// If the route of a connection is not moved, the connection goes on over TCP immediately, and is counted. Counting
/// takes a few nanoseconds, so every connection is counted, moved or not.
#[derive(Debug, Clone, Copy)]
pub struct Steering {
    shared: &'static Shared,
    n_routes: usize,
}

/// The outcome of a slice's connections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SliceCounts {
    /// By route, in the mapping's order.
    pub routes: Vec<RouteCounts>,
    /// Nanoseconds that supervisors spent on these connections: for each, from the arrival of the call at the
    /// supervisor until its answer was ready. The time to wake the supervisor and the program is not included.
    pub busy_ns: u64,
}

/// The outcome of a slice's connections to one address.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RouteCounts {
    pub n_moved: u64,
    /// Connections that stayed on TCP because the route is not moved in this slice.
    pub n_left: u64,
    /// Connections that should have been moved, but stayed on TCP for one of the reasons in [`crate::FallbackReason`].
    pub n_fallen: u64,
}

/// The decision about one connection, with the slice under which the connection is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) slice: u32,
    pub(crate) is_moved: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Fate {
    Moved,
    Left,
    Fallen,
}

#[repr(C)]
struct Shared {
    /// The slice's number in the upper half, the moved routes in the lower half.
    word: AtomicU64,
    slices: [Slice; N_SLICES],
}

#[repr(C)]
struct Slice {
    /// One more than the number of the slice that these counts belong to; 0 means no slice.
    owner: AtomicU64,
    busy_ns: Counter,
    /// Counters in the order of [`Fate`].
    routes: [[Counter; 3]; MAX_STEERED],
}

/// A count, with the mark of its slice in the upper bits. A count that arrives late for an earlier slice finds another
/// mark, and is dropped.
#[repr(transparent)]
struct Counter(AtomicU64);

impl std::fmt::Debug for Shared {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = self.word.load(Ordering::Acquire);
        write!(out, "slice {} moves {:#b}", word >> 32, word as u32)
    }
}

impl Steering {
    /// Maps the memory for a mapping of `n_routes` routes. Slice 0 has begun and moves nothing.
    ///
    /// The memory lasts as long as this process and the processes that share it.
    ///
    /// # Errors
    /// [`RedirectError::TooManyRoutes`] for more than 32; [`RedirectError::Start`].
    pub fn map(n_routes: usize) -> Result<Self, RedirectError> {
        if n_routes > MAX_STEERED {
            return Err(RedirectError::TooManyRoutes { n: n_routes, at_most: MAX_STEERED });
        }
        // SAFETY: only atomics, for which all zeroes is a valid value.
        let shared = unsafe { memory::share::<Shared>() }.map_err(RedirectError::failed("share memory"))?;
        let steering = Self { shared, n_routes };
        steering.steer(0, 0);
        Ok(steering)
    }

    /// Begins a slice: from now on connections are moved if their route's bit is 1.
    ///
    /// Only one thread calls this, with numbers that never decrease. If the number is the same as in the call before,
    /// the moved routes change, and the counts continue.
    pub fn steer(&self, slice: u32, moved: u32) {
        let place = self.shared.place(slice);
        if place.owner.load(Ordering::Acquire) != owner(slice) {
            place.owner.store(0, Ordering::SeqCst);
            let counters = place.routes.iter().flatten();
            counters.chain([&place.busy_ns]).for_each(|counter| counter.restart(slice));
            place.owner.store(owner(slice), Ordering::SeqCst);
        }
        let word = u64::from(slice) << 32 | u64::from(moved);
        self.shared.word.store(word, Ordering::SeqCst);
    }

    /// Returns the outcome of a slice's connections so far; `None` if the slice has not begun, or if a later slice has
    /// taken its place (there are 1,024 places).
    ///
    /// A connection is counted, and its time added, before its `connect` returns.
    pub fn counts(&self, slice: u32) -> Option<SliceCounts> {
        let place = self.shared.place(slice);
        let is_its = || place.owner.load(Ordering::SeqCst) == owner(slice);
        if !is_its() {
            return None;
        }
        let routes = place.routes[..self.n_routes].iter();
        let counts = SliceCounts { routes: routes.map(route_counts).collect(), busy_ns: place.busy_ns.count() };
        is_its().then_some(counts)
    }

    pub(crate) fn n_routes(&self) -> usize {
        self.n_routes
    }

    /// Decides about a connection that a program requests now.
    pub(crate) fn decide(&self, route_idx: usize) -> Decision {
        let word = self.shared.word.load(Ordering::SeqCst);
        Decision { slice: (word >> 32) as u32, is_moved: word >> route_idx & 1 == 1 }
    }

    /// Counts a connection under the slice of its decision.
    pub(crate) fn count(&self, slice: u32, route_idx: usize, fate: Fate) {
        self.shared.place(slice).routes[route_idx][fate as usize].add(slice, 1);
    }

    /// Adds the time that a supervisor spent on a connection.
    pub(crate) fn add_busy(&self, slice: u32, busy_ns: u64) {
        self.shared.place(slice).busy_ns.add(slice, busy_ns);
    }
}

fn route_counts(counters: &[Counter; 3]) -> RouteCounts {
    let [n_moved, n_left, n_fallen] = counters.each_ref().map(Counter::count);
    RouteCounts { n_moved, n_left, n_fallen }
}

fn owner(slice: u32) -> u64 {
    u64::from(slice) + 1
}

impl Shared {
    fn place(&self, slice: u32) -> &Slice {
        &self.slices[slice as usize % N_SLICES]
    }
}

impl Counter {
    /// Returns the mark of a slice. Slices that share a place have different marks; a mark is repeated only after 67
    /// million slices.
    fn mark(slice: u32) -> u64 {
        u64::from(slice / N_SLICES as u32) << COUNT_BITS
    }

    fn restart(&self, slice: u32) {
        self.0.store(Self::mark(slice), Ordering::Release);
    }

    fn add(&self, slice: u32, n: u64) {
        let of_slice = |value: u64| value & !COUNT == Self::mark(slice);
        let added = |value: u64| of_slice(value).then(|| (value + n) & COUNT | Self::mark(slice));
        let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, added);
    }

    fn count(&self) -> u64 {
        self.0.load(Ordering::SeqCst) & COUNT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts_of(steering: &Steering, slice: u32) -> [u64; 4] {
        let counts = steering.counts(slice).unwrap();
        let route = counts.routes[1];
        [route.n_moved, route.n_left, route.n_fallen, counts.busy_ns]
    }

    #[test]
    fn a_connection_counts_under_the_slice_of_its_decision() {
        let steering = Steering::map(2).unwrap();
        assert_eq!(counts_of(&steering, 0), [0; 4]);
        steering.steer(7, 0b10);
        let decision = steering.decide(1);
        assert_eq!((decision.slice, decision.is_moved), (7, true));
        assert!(!steering.decide(0).is_moved);
        steering.steer(8, 0);
        steering.count(7, 1, Fate::Moved);
        steering.count(7, 1, Fate::Fallen);
        steering.count(8, 1, Fate::Left);
        steering.add_busy(7, 5_000_000_000);
        assert_eq!(counts_of(&steering, 7), [1, 0, 1, 5_000_000_000]);
        assert_eq!(counts_of(&steering, 8), [0, 1, 0, 0]);
        steering.steer(8, 0b11);
        assert_eq!(counts_of(&steering, 8), [0, 1, 0, 0]);
        assert_eq!(steering.counts(8).unwrap().routes[0], RouteCounts::default());
    }

    #[test]
    fn what_comes_late_for_a_forgotten_slice_counts_nowhere() {
        let steering = Steering::map(2).unwrap();
        steering.steer(3, 0);
        let next = 3 + N_SLICES as u32;
        steering.steer(next, 0);
        steering.count(3, 1, Fate::Left);
        steering.add_busy(3, 9);
        assert_eq!(steering.counts(3), None);
        assert_eq!(steering.counts(4), None);
        assert_eq!(counts_of(&steering, next), [0; 4]);
    }

    #[test]
    fn more_routes_than_bits_are_refused() {
        assert!(Steering::map(MAX_STEERED).is_ok());
        let refused = Steering::map(MAX_STEERED + 1);
        let error = refused.unwrap_err().to_string();
        assert_eq!(error, "looptax can move connections to at most 32 addresses, not to 33");
    }
}
