//! Draws the random numbers from which requests are made. In their n-th slices of an epoch, both sides draw the same
//! keys.

use std::mem::offset_of;

use crate::script::Zipfian;
use looptax_model::stats::Side;
use looptax_wire::Draws;
use rand_core::SeedableRng;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::Rng;

use crate::plan::{Distribution, KeyShare, KeySpace};

/// Returns a random generator for one purpose, seeded with the run's seed and the coordinates of the purpose.
pub(crate) fn generator(seed: u64, coordinates: &[u64]) -> SplitMix64 {
    let mixed = coordinates.iter().fold(seed, |state, coordinate| {
        SplitMix64::seed_from_u64(state ^ coordinate.wrapping_mul(0x9e37_79b9_7f4a_7c15)).next_u64()
    });
    SplitMix64::seed_from_u64(mixed)
}

/// The place of a slice in a run. Its random numbers depend only on this place and the seed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SliceOf {
    pub(crate) epoch: u64,
    /// Index of the pair of arms; a run may compare several pairs.
    pub(crate) contrast: u64,
    pub(crate) side: Side,
    /// Number of earlier slices of this side in the same epoch.
    pub(crate) rank: u64,
}

/// The keys that a connection may draw.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyRange {
    pub(crate) first: u64,
    pub(crate) n: u64,
}

impl KeyRange {
    /// Returns the range that connection `connection` of `n_connections` draws from.
    pub(crate) fn for_connection(
        KeySpace { n: n_keys, share, .. }: KeySpace,
        connection: usize,
        n_connections: usize,
    ) -> Self {
        let (connection, n_connections) = (connection as u64, n_connections.max(1) as u64);
        match share {
            KeyShare::All => Self { first: 1, n: n_keys.max(1) },
            // There are fewer keys than connections, so connections share keys.
            KeyShare::Own if n_keys < n_connections => Self { first: 1 + connection % n_keys.max(1), n: 1 },
            KeyShare::Own => {
                let before =
                    |connection| (u128::from(n_keys) * u128::from(connection) / u128::from(n_connections)) as u64;
                Self { first: 1 + before(connection), n: before(connection + 1) - before(connection) }
            }
        }
    }
}

/// The random numbers of a connection in a slice. The fields from which a key is drawn come first.
#[repr(C)]
pub(crate) struct Keys {
    order: SplitMix64,
    range: KeyRange,
    /// `None` if all keys are equally likely.
    zipf: Option<Box<Zipfian>>,
    last: u64,
    content: SplitMix64,
}

impl Keys {
    /// To draw a key, only this many bytes at the start of the struct are read and written.
    pub(crate) const N_HOT_BYTES: usize = offset_of!(Self, content);

    /// Makes the random numbers of a connection in a slice. In the n-th slices of an epoch (`rank` n) the keys are the
    /// same for both sides and for all pairs of arms. The content of writes is different: a server has less work if it
    /// already contains the content that is written. With equal content, the side that runs second would have an
    /// advantage.
    pub(crate) fn new(seed: u64, slice: SliceOf, connection: u64, range: KeyRange, distribution: Distribution) -> Self {
        let SliceOf { epoch, contrast, side, rank } = slice;
        let writer = 2 * contrast + side.idx() as u64;
        Self {
            order: generator(seed, &[1, epoch, rank, connection]),
            content: generator(seed, &[2, epoch, rank, connection, writer]),
            range,
            zipf: match distribution {
                Distribution::Uniform => None,
                // The settings have already rejected each exponent that `Zipfian` refuses.
                Distribution::Zipf(exponent) => Zipfian::new(range.n, exponent).ok().map(Box::new),
            },
            last: range.first,
        }
    }

    /// Returns the key drawn last, for error messages.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }
}

impl Draws for Keys {
    /// # Cost
    /// Two multiplications; the bias of multiply-and-shift is below 2^-32 for each key space in use.
    #[inline]
    fn key(&mut self) -> u64 {
        let order = &mut self.order;
        let offset = match &self.zipf {
            None => ((u128::from(order.next_u64()) * u128::from(self.range.n)) >> 64) as u64,
            Some(zipf) => zipf.sample(&mut || order.next_u64()) - 1,
        };
        self.last = self.range.first + offset;
        self.last
    }

    #[inline]
    fn bits(&mut self) -> u64 {
        self.content.next_u64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(epoch: u64, rank: u64, connection: u64) -> Vec<u64> {
        let slice = SliceOf { epoch, contrast: 0, side: Side::Baseline, rank };
        drawn(slice, connection, Draws::key)
    }

    fn drawn(slice: SliceOf, connection: u64, draw: fn(&mut Keys) -> u64) -> Vec<u64> {
        let range = KeyRange { first: 1, n: 100_000 };
        let mut keys = Keys::new(7, slice, connection, range, Distribution::Uniform);
        (0..8).map(|_| draw(&mut keys)).collect()
    }

    #[test]
    fn all_sides_ask_for_the_same_keys_and_write_different_content() {
        let of = |contrast, side| SliceOf { epoch: 3, contrast, side, rank: 2 };
        let sides = [0, 1].map(|contrast| Side::BOTH.map(|side| of(contrast, side)));
        let sides = sides.concat();
        for (idx, one) in sides.iter().enumerate() {
            for other in &sides[idx + 1..] {
                let [one, other] = [*one, *other];
                assert_eq!(drawn(one, 1, Draws::key), drawn(other, 1, Draws::key));
                assert_ne!(drawn(one, 1, Draws::bits), drawn(other, 1, Draws::bits));
            }
        }
    }

    #[test]
    fn own_keys_are_a_partition_and_all_keys_are_everybodys() {
        let ranges = |share, n_keys, n| -> Vec<(u64, u64)> {
            (0..n)
                .map(|connection| {
                    let keys = KeySpace { n: n_keys, share, distribution: Distribution::Uniform };
                    KeyRange::for_connection(keys, connection, n)
                })
                .map(|range| (range.first, range.first + range.n))
                .collect()
        };
        assert_eq!(ranges(KeyShare::Own, 10, 3), [(1, 4), (4, 7), (7, 11)]);
        assert_eq!(ranges(KeyShare::Own, 2, 3), [(1, 2), (2, 3), (1, 2)]);
        assert_eq!(ranges(KeyShare::All, 10, 2), [(1, 11), (1, 11)]);
    }

    #[test]
    fn streams_repeat_by_coordinates_and_differ_between_them() {
        assert_eq!(first(3, 2, 1), first(3, 2, 1));
        assert_ne!(first(3, 2, 1), first(3, 2, 0));
        assert_ne!(first(3, 2, 1), first(3, 1, 1));
        assert_ne!(first(3, 2, 1), first(2, 2, 1));
    }

    #[test]
    fn zipf_draws_the_first_key_of_a_range_most_often() {
        let slice = SliceOf { epoch: 0, contrast: 0, side: Side::Other, rank: 0 };
        let range = KeyRange { first: 11, n: 10 };
        let mut keys = Keys::new(1, slice, 0, range, Distribution::Zipf(1.0));
        let mut seen = [0_u32; 21];
        for _ in 0..29_290 {
            seen[keys.key() as usize] += 1;
        }
        // Of 29,290 draws, about 10,000 / k are the k-th key, because the harmonic number of 10 is 2.929.
        assert!((9_600..10_400).contains(&seen[11]), "{seen:?}");
        assert!((850..1_150).contains(&seen[20]), "{seen:?}");
        assert_eq!(seen[..11].iter().sum::<u32>(), 0);
    }

    #[test]
    fn keys_cover_their_range_and_nothing_else() {
        let slice = SliceOf { epoch: 0, contrast: 0, side: Side::Other, rank: 0 };
        let mut keys = Keys::new(1, slice, 0, KeyRange { first: 1, n: 5 }, Distribution::Uniform);
        let mut seen = [0_u32; 6];
        for _ in 0..5_000 {
            seen[keys.key() as usize] += 1;
        }
        assert_eq!(seen[0], 0);
        assert!(seen[1..].iter().all(|count| (800..1_200).contains(count)), "{seen:?}");
    }
}
