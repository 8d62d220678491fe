//! Whether the cost of TCP is worth a change, at a real rate of requests.
//!
//! Considers only CPU time: at a rate below the server's capacity no throughput is lost. The reports also show how much
//! longer a request takes.

use looptax_model::record::{Estimate, Figure};

/// A loss below this, in percent of one core, is negligible compared with the other work of a machine.
const NOTHING_PCT: f64 = 1.0;
/// A loss above this, in percent of one core, is noticeable.
const MUCH_PCT: f64 = 10.0;

/// The CPU time that TCP costs at a rate of requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weighed {
    /// Percent of one core.
    pub core_pct: Estimate,
    pub worth: Worth,
}

/// Whether a change is worth it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worth {
    /// Even the upper end of the interval is a negligible loss.
    NotWorthIt,
    /// The loss may be negligible or noticeable. A change is worth making if the change costs nothing.
    Little,
    /// Even the lower end of the interval is a noticeable loss.
    Much,
}

/// The share of one core that TCP costs at this rate; `None` if the cost of a request is not known.
///
/// # Units
/// `cpu_us_per_request` in microseconds of CPU time at both ends, `requests_per_s` per second.
pub fn weigh(cpu_us_per_request: &Figure, requests_per_s: f64) -> Option<Weighed> {
    let cost = cpu_us_per_request.known()?;
    // One microsecond per second is a ten-thousandth of a percent.
    let share = |us: f64| us * requests_per_s / 1e4;
    let core_pct = Estimate { value: share(cost.value), lo: cost.lo.map(share), hi: cost.hi.map(share), n: cost.n };
    let worth = match (core_pct.lo, core_pct.hi) {
        (_, Some(hi)) if hi < NOTHING_PCT => Worth::NotWorthIt,
        (Some(lo), _) if lo > MUCH_PCT => Worth::Much,
        _ => Worth::Little,
    };
    Some(Weighed { core_pct, worth })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(requests_per_s: f64, core_pct: f64, worth: Worth) {
        let weighed = weigh(&Figure::new(4.0, 3.0, 5.0, 12), requests_per_s).unwrap();
        assert!((weighed.core_pct.value - core_pct).abs() < 1e-9, "{weighed:?}");
        assert_eq!(weighed.worth, worth, "{weighed:?}");
    }

    #[test]
    fn a_few_requests_are_not_worth_it_and_many_are() {
        check(800.0, 0.32, Worth::NotWorthIt);
        // The upper end reaches one percent.
        check(2_000.0, 0.8, Worth::Little);
        check(20_000.0, 8.0, Worth::Little);
        check(50_000.0, 20.0, Worth::Much);
    }

    #[test]
    fn an_unknown_cost_is_not_weighed() {
        assert_eq!(weigh(&Figure::missing("no pid"), 800.0), None);
    }
}
