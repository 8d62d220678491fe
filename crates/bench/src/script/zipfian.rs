//! The bounded Zipf distribution: rank k is drawn with a probability proportional to 1 / k^s.
//!
//! Used for `random_zipfian` in scripts and for skewed keys in other workloads. s may be below or above 1; YCSB draws
//! keys with 0.99. `rand_distr` draws the ranks, by rejection. This takes constant time and memory for any number of
//! ranks, without a table and without set-up.

use rand_distr::Distribution;

use crate::script::bits::Bits;

/// There is no such distribution: the number of ranks is 0, or the skew is negative or not finite.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("no Zipf distribution has {n_ranks} ranks and the skew {skew}")]
pub struct NoZipfian {
    pub n_ranks: u64,
    pub skew: f64,
}

/// A bounded Zipf distribution.
///
/// # Source
/// Jason Crease, "Rejection sampling the Zipf distribution"; `rand_distr::Zipf`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Zipfian {
    n_ranks: u64,
    inner: rand_distr::Zipf<f64>,
}

impl Zipfian {
    /// Makes the distribution of the ranks 1 to `n_ranks`; rank k is drawn with a probability proportional to 1 /
    /// k^`skew`. With a skew of 0 all ranks are equally likely.
    ///
    /// With more than 2^53 ranks, the rarest ranks are drawn in groups.
    ///
    /// # Errors
    /// [`NoZipfian`] if `n_ranks` is 0, or if the skew is negative or not finite.
    ///
    /// # Cost
    /// One power function; no allocation.
    pub fn new(n_ranks: u64, skew: f64) -> Result<Self, NoZipfian> {
        let refused = NoZipfian { n_ranks, skew };
        if !skew.is_finite() {
            return Err(refused);
        }
        let inner = rand_distr::Zipf::new(n_ranks as f64, skew).map_err(|_| refused)?;
        Ok(Self { n_ranks, inner })
    }

    /// Draws a rank from 1 to the number of ranks. `random` returns 64 random bits per call.
    ///
    /// # Cost
    /// One try takes up to three power functions and two calls of `random`. Nearly always one try is enough. No
    /// allocation.
    pub fn sample(&self, random: &mut dyn FnMut() -> u64) -> u64 {
        let rank = self.inner.sample(&mut Bits(random)) as u64;
        // The result can be one unit in the last place above the last rank.
        rank.clamp(1, self.n_ranks)
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::*;
    use crate::script::random::tests::assert_fits;

    #[track_caller]
    fn check(n_ranks: u64, skew: f64) {
        let zipfian = Zipfian::new(n_ranks, skew).unwrap();
        let weights: Vec<f64> = (1..=n_ranks).map(|rank| (rank as f64).powf(-skew)).collect();
        assert_fits(&weights, &mut |random| zipfian.sample(random) - 1);
    }

    #[test]
    fn draws_ranks_in_proportion_below_and_above_one() {
        for skew in [0.0, 0.5, 0.99, 1.0, 1.001, 1.5, 3.0] {
            check(1, skew);
            check(2, skew);
            check(100, skew);
            check(3_000, skew);
        }
    }

    #[test]
    fn stays_in_range_at_the_edges() {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(7);
        for (n_ranks, skew) in [(1, 1000.0), (u64::MAX, 0.2), (u64::MAX, 1.001), (10, 1000.0)] {
            let zipfian = Zipfian::new(n_ranks, skew).unwrap();
            for _ in 0..1000 {
                let rank = zipfian.sample(&mut || generator.next_u64());
                assert!((1..=n_ranks).contains(&rank), "{rank} {n_ranks} {skew}");
            }
            // Draws with the lowest or highest bits first, then with random bits if that draw is rejected.
            for edge in [0, u64::MAX] {
                let mut n_edges = 0;
                let rank = zipfian.sample(&mut || {
                    n_edges += 1;
                    if n_edges <= 2 { edge } else { generator.next_u64() }
                });
                assert!((1..=n_ranks).contains(&rank), "{rank} {n_ranks} {skew}");
            }
        }
    }

    #[test]
    fn refuses_what_is_no_distribution() {
        for (n_ranks, skew) in [(0, 1.0), (5, -0.1), (5, f64::NAN), (5, f64::INFINITY)] {
            assert!(Zipfian::new(n_ranks, skew).is_err(), "{n_ranks} {skew}");
        }
    }
}
