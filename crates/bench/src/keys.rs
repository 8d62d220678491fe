//! Which keys are asked for: the same stream for both sides' slices of one rank.

use rand_core::SeedableRng;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::Rng;

/// A generator for one purpose, from the run's seed and the purpose's coordinates.
pub(crate) fn generator(seed: u64, coordinates: &[u64]) -> SplitMix64 {
    let mixed = coordinates.iter().fold(seed, |state, coordinate| {
        SplitMix64::seed_from_u64(state ^ coordinate.wrapping_mul(0x9e37_79b9_7f4a_7c15)).next_u64()
    });
    SplitMix64::seed_from_u64(mixed)
}

/// Uniform keys from 1 to `n_keys`.
pub(crate) struct Keys {
    generator: SplitMix64,
    n_keys: u64,
}

impl Keys {
    /// The stream for a connection in a slice: equal for both sides at equal `rank`.
    pub(crate) fn new(seed: u64, epoch: u64, rank: u64, connection: u64, n_keys: u64) -> Self {
        Self {
            generator: generator(seed, &[1, epoch, rank, connection]),
            n_keys: n_keys.max(1),
        }
    }

    /// The next key.
    ///
    /// # Cost
    /// Two multiplications; the bias of multiply-and-shift is below 2^-32 for any key space used.
    #[inline]
    pub(crate) fn draw(&mut self) -> u64 {
        1 + ((u128::from(self.generator.next_u64()) * u128::from(self.n_keys)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(epoch: u64, rank: u64, connection: u64) -> Vec<u64> {
        let mut keys = Keys::new(7, epoch, rank, connection, 100_000);
        (0..8).map(|_| keys.draw()).collect()
    }

    #[test]
    fn streams_repeat_by_coordinates_and_differ_between_them() {
        assert_eq!(first(3, 2, 1), first(3, 2, 1));
        assert_ne!(first(3, 2, 1), first(3, 2, 0));
        assert_ne!(first(3, 2, 1), first(3, 1, 1));
        assert_ne!(first(3, 2, 1), first(2, 2, 1));
    }

    #[test]
    fn keys_cover_their_range_and_nothing_else() {
        let mut keys = Keys::new(1, 0, 0, 0, 5);
        let mut seen = [0_u32; 6];
        for _ in 0..5_000 {
            seen[keys.draw() as usize] += 1;
        }
        assert_eq!(seen[0], 0);
        assert!(
            seen[1..].iter().all(|count| (800..1_200).contains(count)),
            "{seen:?}"
        );
    }
}
