//! The tax of a program whose requests only sometimes have both ends on one core.

use crate::stats::estimate::Estimate;

/// The times in one placement: the time that the other arm adds to a request, with its interval, and the time of a
/// request over the other arm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InPlacement {
    pub added_us: Estimate,
    pub takes_us: f64,
}

/// Computes the tax, in percent, of a program that runs on its server's core for `share` of its requests.
///
/// The mixture is computed from times per request, because the times of requests can be added. The intervals of the two
/// placements are treated as independent. The time of a request is treated as known, because it is measured more
/// precisely than the difference.
///
/// # Units
/// `share` from 0 to 1.
///
/// Example: +2 µs of 10 µs on one core and +8 µs of 40 µs on two cores, with half of the requests in each placement: 5
/// of 25 µs, a tax of 20 %.
pub fn mixture(share: f64, same: InPlacement, split: InPlacement) -> Estimate {
    let parts = [(share, same), (1.0 - share, split)];
    let takes: f64 = parts.iter().map(|(weight, it)| weight * it.takes_us).sum();
    let added: f64 = parts.iter().map(|(weight, it)| weight * it.added_us.value).sum();
    let n = parts[0].1.added_us.n.min(parts[1].1.added_us.n);
    let [same, split] = parts.map(|(weight, it)| weight * it.added_us.half_width());
    let (value, half_width) = (100.0 * added / takes, 100.0 * same.hypot(split) / takes);
    Estimate { value, lo: value - half_width, hi: value + half_width, n }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::vectors::close;

    #[test]
    fn times_add_up_over_requests_and_taxes_do_not() {
        let of = |added, half, takes_us| InPlacement {
            added_us: Estimate { value: added, lo: added - half, hi: added + half, n: 20 },
            takes_us,
        };
        let found = mixture(0.5, of(2.0, 0.3, 10.0), of(8.0, 0.4, 40.0));
        close(found.value, 20.0, 1e-9);
        close(found.half_width(), 100.0 * 0.25 / 25.0, 1e-9);
        close(mixture(1.0, of(2.0, 0.3, 10.0), of(8.0, 0.4, 40.0)).value, 20.0, 1e-9);
        close(mixture(0.0, of(1.0, 0.3, 10.0), of(8.0, 0.4, 40.0)).value, 20.0, 1e-9);
    }
}
