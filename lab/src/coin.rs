//! Random order of turns, drawn from a seed that is printed, so that drift of the machine affects all participants
//! equally.

use anyhow::Result;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rustix::rand::{GetRandomFlags, getrandom};

pub(crate) struct Coin {
    pub(crate) seed: u64,
    random: SplitMix64,
}

impl Coin {
    /// Makes a coin from this seed, or from a random seed.
    pub(crate) fn new(seed: Option<u64>) -> Result<Self> {
        let mut bytes = [0; 8];
        getrandom(&mut bytes, GetRandomFlags::empty())?;
        let seed = seed.unwrap_or(u64::from_ne_bytes(bytes));
        let random = SplitMix64::seed_from_u64(seed);
        Ok(Self { seed, random })
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.random.next_u64()
    }

    pub(crate) fn flip(&mut self) -> bool {
        self.number() >> 63 == 1
    }

    /// Puts the items into random order.
    pub(crate) fn shuffled<T>(&mut self, of: impl IntoIterator<Item = T>) -> Vec<T> {
        let mut turns: Vec<T> = of.into_iter().collect();
        for idx in (1..turns.len()).rev() {
            // For three turns, the bias of the remainder is 2^-62.
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
            let mut coin = Coin::new(Some(seed)).unwrap();
            (0..100).map(|_| coin.shuffled(0..3)).collect::<Vec<_>>()
        };
        let mut orders = draw(7);
        assert_eq!(orders, draw(7));
        orders.sort();
        orders.dedup();
        assert_eq!(orders.len(), 6);
        let mut coin = Coin::new(Some(7)).unwrap();
        assert!(coin.shuffled(0..0).is_empty());
        let n_heads = (0..1000).filter(|_| coin.flip()).count();
        assert!((400..600).contains(&n_heads), "{n_heads}");
    }
}
