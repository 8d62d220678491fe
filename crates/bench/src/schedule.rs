//! The random part of the plan. It depends only on the seed, so it is the same in all runs with this seed, even if
//! these runs end at different points.

use std::time::Duration;

use looptax_model::stats::Side;
use rand_xoshiro::rand_core::Rng;

use crate::keys::generator;

/// Numbers of the random streams of this file. `keys` and `arrivals` also use 1 to 3, but with more coordinates, so
/// their streams are different.
const EPOCH: u64 = 2;
const ROUND: u64 = 3;

/// The random decisions about one epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EpochDraw {
    /// The side that connects, primes and runs first.
    pub(crate) first: Side,
    /// Wait before the first slice.
    pub(crate) jitter: Duration,
    pub(crate) core_seed: u64,
    /// Bits for other random decisions about the connections.
    pub(crate) coins: u64,
}

impl EpochDraw {
    /// Draws for epoch `epoch` of contrast `contrast`.
    pub(crate) fn new(seed: u64, contrast: usize, epoch: u64, longest_jitter: Duration) -> Self {
        let mut random = generator(seed, &[EPOCH, contrast as u64, epoch]);
        let first = if random.next_u64() >> 63 == 0 { Side::Baseline } else { Side::Other };
        let share = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        Self { first, jitter: longest_jitter.mul_f64(share), core_seed: random.next_u64(), coins: random.next_u64() }
    }

    /// Returns the sides of the epoch's slices in Thue-Morse order, so that linear and quadratic drift cancel.
    pub(crate) fn order(&self, n_slices: usize) -> Vec<Side> {
        (0..n_slices).map(|slice| if slice.count_ones() % 2 == 0 { self.first } else { opposite(self.first) }).collect()
    }
}

pub(crate) fn opposite(side: Side) -> Side {
    match side {
        Side::Baseline => Side::Other,
        Side::Other => Side::Baseline,
    }
}

/// Returns the order in which the contrasts have their epochs in round `round`.
pub(crate) fn round_order(seed: u64, round: u64, n_contrasts: usize) -> Vec<usize> {
    shuffled(generator(seed, &[ROUND, round]), n_contrasts)
}

/// Shuffles the numbers from 0 to `n - 1` as Fisher and Yates do.
pub(crate) fn shuffled(mut random: impl Rng, n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    for last in (1..n).rev() {
        let pick = ((u128::from(random.next_u64()) * (last as u128 + 1)) >> 64) as usize;
        order.swap(last, pick);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_slices_are_thue_morse_or_its_complement() {
        let word = |first| {
            let draw = EpochDraw { first, jitter: Duration::ZERO, core_seed: 0, coins: 0 };
            draw.order(8).iter().map(|side| if *side == Side::Baseline { 'U' } else { 'T' }).collect::<String>()
        };
        assert_eq!(word(Side::Baseline), "UTTUTUUT");
        assert_eq!(word(Side::Other), "TUUTUTTU");
    }

    #[test]
    fn the_coin_is_fair_and_repeats() {
        let draws: Vec<_> = (0..2_000).map(|epoch| EpochDraw::new(42, 0, epoch, Duration::from_millis(20))).collect();
        let baseline_first = draws.iter().filter(|draw| draw.first == Side::Baseline).count();
        assert!((900..1_100).contains(&baseline_first), "{baseline_first}");
        assert!(draws.iter().all(|draw| draw.jitter <= Duration::from_millis(20)));
        assert_eq!(draws[17], EpochDraw::new(42, 0, 17, Duration::from_millis(20)));
        let heads = draws.iter().filter(|draw| draw.coins % 2 == 1).count();
        assert!((900..1_100).contains(&heads), "{heads}");
        assert_ne!(draws[17].core_seed, EpochDraw::new(43, 0, 17, Duration::from_millis(20)).core_seed);
    }

    #[test]
    fn a_round_gives_every_contrast_one_epoch() {
        let mut order = round_order(5, 3, 6);
        order.sort_unstable();
        assert_eq!(order, [0, 1, 2, 3, 4, 5]);
    }
}
