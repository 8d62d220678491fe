//! The random functions of the script language: integers from a range that includes both ends.
//!
//! The caller provides the source of random bits, so that the same seed gives the same numbers again. The probabilities
//! are those of the pgbench manual, but the numbers from a seed differ from pgbench's numbers.

use rand_distr::{Distribution, OpenClosed01, StandardNormal, Uniform};

use crate::script::bits::Bits;
use crate::script::fault::RunFault;
use crate::script::zipfian::Zipfian;

/// The manual's limits: the smallest parameter of a Gaussian, and the range of a Zipfian parameter.
const LEAST_GAUSSIAN: f64 = 2.0;
const ZIPFIAN: std::ops::RangeInclusive<f64> = 1.001..=1000.0;

/// Draws each value from `first` to `last` with the same probability.
pub(crate) fn uniform(first: i64, last: i64, random: &mut dyn FnMut() -> u64) -> Result<i64, RunFault> {
    n_values(first, last)?;
    let range = Uniform::new_inclusive(first, last);
    range.map(|range| range.sample(&mut Bits(random))).map_err(|_| RunFault::EmptyRange { first, last })
}

/// Draws from an exponential distribution, truncated at `parameter` and stretched over the range; low values are
/// frequent.
pub(crate) fn exponential(
    first: i64,
    last: i64,
    parameter: f64,
    random: &mut dyn FnMut() -> u64,
) -> Result<i64, RunFault> {
    let n_values = n_values(first, last)?;
    if parameter <= 0.0 || parameter.is_nan() {
        return Err(RunFault::Parameter { function: "random_exponential", allowed: "above 0", found: parameter });
    }
    let share: f64 = OpenClosed01.sample(&mut Bits(random));
    // The inverse of the truncated distribution, ln(1 - share * (1 - exp(-parameter))), in a form that stays exact for
    // tiny parameters.
    let depth = -(share * (-parameter).exp_m1()).ln_1p() / parameter;
    Ok(place(first, n_values, depth))
}

/// Draws from a normal distribution, truncated at `parameter` standard deviations and stretched over the range.
pub(crate) fn gaussian(
    first: i64,
    last: i64,
    parameter: f64,
    random: &mut dyn FnMut() -> u64,
) -> Result<i64, RunFault> {
    let n_values = n_values(first, last)?;
    if parameter < LEAST_GAUSSIAN || parameter.is_nan() {
        return Err(RunFault::Parameter { function: "random_gaussian", allowed: "at least 2.0", found: parameter });
    }
    let mut bits = Bits(random);
    loop {
        let deviation: f64 = StandardNormal.sample(&mut bits);
        // With the smallest parameter, 2.0, 95 % of the values are accepted at the first try.
        if deviation.abs() < parameter {
            let depth = deviation / (2.0 * parameter) + 0.5;
            return Ok(place(first, n_values, depth));
        }
    }
}

/// Draws the k-th value of the range with a probability proportional to 1 / k^`parameter`.
pub(crate) fn zipfian(first: i64, last: i64, parameter: f64, random: &mut dyn FnMut() -> u64) -> Result<i64, RunFault> {
    let n_values = n_values(first, last)?;
    let refused = RunFault::Parameter { function: "random_zipfian", allowed: "from 1.001 to 1000", found: parameter };
    if !ZIPFIAN.contains(&parameter) {
        return Err(refused);
    }
    let zipfian = Zipfian::new(n_values, parameter).map_err(|_| refused)?;
    Ok(first.wrapping_add_unsigned(zipfian.sample(random) - 1))
}

/// Returns the number of values in the range: at least 1, at most 2^63 - 1.
fn n_values(first: i64, last: i64) -> Result<u64, RunFault> {
    if first > last {
        return Err(RunFault::EmptyRange { first, last });
    }
    last.checked_sub(first)
        .and_then(|distance| distance.checked_add(1))
        .map(i64::cast_unsigned)
        .ok_or(RunFault::RangeTooLarge { first, last })
}

/// Returns the value at a relative position from 0 to 1 in the range.
fn place(first: i64, n_values: u64, depth: f64) -> i64 {
    let offset = (n_values as f64 * depth) as u64;
    first.wrapping_add_unsigned(offset.min(n_values - 1))
}

#[cfg(test)]
pub(crate) mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};
    use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

    use super::*;

    type Draw = fn(i64, i64, &mut dyn FnMut() -> u64) -> Result<i64, RunFault>;

    const N_DRAWS: usize = 400_000;
    /// Least expected count of a cell: below it the chi-square approximation is poor.
    const LEAST_COUNT: f64 = 10.0;

    /// Draws indexes from 0 on with a fixed seed, and compares their counts with `weights` by a chi-square test. Fails
    /// below p = 1e-4: with some 50 calls, the probability of a false alarm at a new seed is half a percent.
    #[track_caller]
    pub(crate) fn assert_fits(weights: &[f64], draw: &mut dyn FnMut(&mut dyn FnMut() -> u64) -> u64) {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(20_261_121);
        let mut counts = vec![0_u32; weights.len()];
        for _ in 0..N_DRAWS {
            counts[draw(&mut || generator.next_u64()) as usize] += 1;
        }
        let scale = N_DRAWS as f64 / weights.iter().sum::<f64>();
        let (mut chi_square, mut n_cells) = (0.0, 0);
        let (mut expected, mut count) = (0.0, 0.0);
        let mut rest: f64 = N_DRAWS as f64;
        for (weight, counted) in weights.iter().zip(counts) {
            expected += weight * scale;
            count += f64::from(counted);
            // Cells with low expected counts are merged with the next cells, and at the end with each other.
            let is_last = rest - expected < LEAST_COUNT && expected < rest - 1e-6;
            if expected >= LEAST_COUNT && !is_last {
                chi_square += (count - expected).powi(2) / expected;
                n_cells += 1;
                rest -= expected;
                (expected, count) = (0.0, 0.0);
            }
        }
        if expected > 1e-6 {
            chi_square += (count - expected).powi(2) / expected;
            n_cells += 1;
        } else {
            assert!(count < 0.5, "drawn where the probability is 0");
        }
        if n_cells > 1 {
            let law = ChiSquared::new(f64::from(n_cells - 1)).unwrap();
            let p = 1.0 - law.cdf(chi_square);
            assert!(p > 1e-4, "chi-square {chi_square} over {n_cells} cells: p = {p}");
        }
    }

    #[test]
    fn draws_uniformly_with_both_ends() {
        for (first, last) in [(1, 10), (-3, 3), (5, 5), (0, 999)] {
            let weights = vec![1.0; (last - first + 1) as usize];
            assert_fits(&weights, &mut |random| (uniform(first, last, random).unwrap() - first) as u64);
        }
    }

    #[test]
    fn draws_exponentially_as_the_manual_defines_it() {
        for (n, parameter) in [(10_i64, 3.0), (100, 0.01), (100, 20.0), (7, 1e-9)] {
            // f(i) - f(i + 1) with f(x) = exp(-p (x - min) / n) / (1 - exp(-p)); the divisor is the same for all i.
            let tail = |i: i64| (-parameter * i as f64 / n as f64).exp();
            let step = -(-parameter / n as f64).exp_m1();
            let weights: Vec<f64> = (0..n).map(|i| tail(i) * step).collect();
            assert_fits(&weights, &mut |random| (exponential(-5, n - 6, parameter, random).unwrap() + 5) as u64);
        }
    }

    #[test]
    fn draws_gaussian_as_the_manual_defines_it() {
        let normal = Normal::new(0.0, 1.0).unwrap();
        for (n, parameter) in [(10_i64, 2.5), (101, 4.0), (4, 2.0)] {
            // f(i + 0.5) - f(i - 0.5) with f(x) = PHI(2 p (x - mu) / n) / (2 PHI(p) - 1).
            let mu = (n - 1) as f64 / 2.0;
            let f = |x: f64| normal.cdf(2.0 * parameter * (x - mu) / n as f64);
            let weights: Vec<f64> = (0..n).map(|i| f(i as f64 + 0.5) - f(i as f64 - 0.5)).collect();
            assert_fits(&weights, &mut |random| (gaussian(1, n, parameter, random).unwrap() - 1) as u64);
        }
    }

    #[test]
    fn draws_zipfian_from_the_start_of_the_range() {
        let weights: Vec<f64> = (1..=50).map(|k| f64::from(k).powf(-1.5)).collect();
        assert_fits(&weights, &mut |random| (zipfian(-7, 42, 1.5, random).unwrap() + 7) as u64);
    }

    #[test]
    fn stays_in_range_with_extreme_bits_and_bounds() {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(3);
        for (first, last) in [(i64::MIN, -2), (1, i64::MAX), (3, 3)] {
            for edge in [0, u64::MAX] {
                let mut check = |draw: Draw| {
                    let mut n_calls = 0;
                    // If all random bits were edge values, the rejection loop would never end.
                    let drawn = draw(first, last, &mut || {
                        n_calls += 1;
                        if n_calls == 1 { edge } else { generator.next_u64() }
                    });
                    assert!((first..=last).contains(&drawn.unwrap()));
                };
                check(uniform);
                check(|first, last, random| exponential(first, last, 1e-300, random));
                check(|first, last, random| exponential(first, last, 1000.0, random));
                check(|first, last, random| gaussian(first, last, 2.0, random));
                check(|first, last, random| gaussian(first, last, 1e300, random));
                check(|first, last, random| zipfian(first, last, 1.001, random));
                check(|first, last, random| zipfian(first, last, 1000.0, random));
            }
        }
    }

    #[test]
    fn refuses_ranges_and_parameters() {
        let mut random = || 0;
        let draw = uniform(2, 1, &mut random);
        assert_eq!(draw, Err(RunFault::EmptyRange { first: 2, last: 1 }));
        let draw = uniform(i64::MIN, i64::MAX, &mut random);
        assert!(matches!(draw, Err(RunFault::RangeTooLarge { .. })));
        for parameter in [0.0, -1.0, f64::NAN] {
            assert!(exponential(1, 2, parameter, &mut random).is_err());
            assert!(gaussian(1, 2, parameter, &mut random).is_err());
            assert!(zipfian(1, 2, parameter, &mut random).is_err());
        }
        assert!(gaussian(1, 2, 1.9, &mut random).is_err());
        assert!(zipfian(1, 2, 1.0, &mut random).is_err());
        assert!(zipfian(1, 2, 1000.1, &mut random).is_err());
    }
}
