//! Who runs when in a round: drawn anew for each, so that drift of the machine hits all alike.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Something that runs alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The peer, on an arm of the case.
    Peer { arm_idx: usize },
    /// Both arms, interleaved.
    Looptax,
}

/// The coin, from the seed that is printed.
pub(crate) struct Coin(SplitMix64);

impl Coin {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::seed_from_u64(seed))
    }

    /// A seed for somebody else.
    pub(crate) fn number(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// The turns of a round in random order.
    pub(crate) fn round(&mut self, n_arms: usize) -> Vec<Turn> {
        let mut turns: Vec<Turn> = (0..n_arms).map(|arm_idx| Turn::Peer { arm_idx }).collect();
        turns.push(Turn::Looptax);
        for idx in (1..turns.len()).rev() {
            // The remainder's bias is 2^-62 for three turns.
            turns.swap(idx, (self.number() % (idx as u64 + 1)) as usize);
        }
        turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_of_three_comes_up_and_the_seed_repeats_them() {
        let draw = |seed| {
            let mut coin = Coin::new(seed);
            (0..100).map(|_| coin.round(2)).collect::<Vec<_>>()
        };
        let rounds = draw(7);
        assert_eq!(rounds, draw(7));
        let mut orders: Vec<String> = rounds.iter().map(|turns| format!("{turns:?}")).collect();
        orders.sort();
        orders.dedup();
        assert_eq!(orders.len(), 6);
    }
}
