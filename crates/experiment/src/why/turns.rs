//! Decides in which epochs the sampler is on: in two of every three rounds, which are drawn at random.
//!
//! The third round runs without the sampler under the same conditions. The difference shows what the sampler costs.

use looptax_model::record::EPOCHS_PER_UNSAMPLED;

/// Number of rounds in a block; one of them runs without the sampler.
const BLOCK: u64 = EPOCHS_PER_UNSAMPLED;

/// Mean CPU time between two samples of a core, in nanoseconds; the rate is 1 kHz. At 10 kHz a request to MariaDB took
/// 25 to 32 % longer, and every seventh request was sampled at the same place: the server's own code seemed to take 8
/// to 11 µs instead of 6.5 µs.
pub(crate) const MEAN_PERIOD_NS: u64 = 1_000_000;
/// Maximum difference between an epoch's period and the mean period, in either direction, in nanoseconds.
const SPREAD_NS: u64 = 200_000;

pub(crate) fn period_ns(seed: u64, epoch: u64) -> u64 {
    MEAN_PERIOD_NS - SPREAD_NS + scramble(!seed ^ epoch) % (2 * SPREAD_NS)
}

/// Whether the sampler is on in a round, which has one epoch of each contrast.
pub(crate) fn is_on(seed: u64, round: u64) -> bool {
    round % BLOCK != scramble(seed ^ (round / BLOCK)) % BLOCK
}

/// Numbers of occurrences of a tracepoint after which the kernel writes a record; each epoch draws one number. They are
/// primes, and change, because every request repeats the same steps: with a fixed number, all records could come from
/// one step.
const COUNT_PERIODS: [u64; 4] = [17, 19, 23, 29];

/// Returns the number of occurrences per record in an epoch.
pub(crate) fn count_period(seed: u64, epoch: u64) -> u64 {
    let at = scramble(seed ^ epoch) % COUNT_PERIODS.len() as u64;
    COUNT_PERIODS[at as usize]
}

/// Steele, Lea and Flood's `SplitMix64`: maps a number to another number, without a visible pattern.
fn scramble(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_epoch_has_a_period_of_its_own() {
        let all: Vec<u64> = (0..1_000).map(|epoch| period_ns(3, epoch)).collect();
        assert!(all.iter().all(|it| (800_000..1_200_000).contains(it)));
        let mean = all.iter().sum::<u64>() / 1_000;
        assert!(mean.abs_diff(MEAN_PERIOD_NS) < 20_000, "{mean}");
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn one_of_three_is_without_it_at_a_place_that_changes() {
        let mut places = [0; 3];
        for block in 0..300 {
            let off: Vec<u64> = (0..3).filter(|idx| !is_on(7, 3 * block + idx)).collect();
            assert_eq!(off.len(), 1);
            places[off[0] as usize] += 1;
        }
        assert!(places.iter().all(|n| *n > 70), "{places:?}");
        assert!((0..64).any(|round| is_on(1, round) != is_on(2, round)));
    }
}
