//! The requested load: each request after the reply to the previous one, or requests at a given rate.

use std::time::Duration;

use looptax_bench::{Arrivals, OpenLoop, Pacing, Placement};
use looptax_model::failure::Failure;

use super::typed;

/// The rates of a rate sweep, in percent of the capacity.
const SWEEP_PCT: [f64; 10] = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0];
/// Maximum length of a pause; with longer pauses there is nothing to measure.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Maximum rate. No loopback serves a higher rate, so a higher rate is probably a typing error.
const MOST_PER_S: f64 = 100e6;

/// A rate of requests over all connections of an arm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    PerSecond(f64),
    /// Percent of the slower arm's capacity, which is measured first.
    OfCapacity(f64),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Load {
    /// The next request is sent after the reply to the previous one and a pause.
    Closed { think: Duration },
    /// Requests are sent on a schedule, with one comparison for each rate.
    Open {
        /// Each rate is the sum over all connections of an arm.
        rates: Vec<Rate>,
        arrivals: Arrivals,
    },
}

impl Load {
    /// Makes the load from the pause or the rates that the user typed.
    ///
    /// # Errors
    /// A usage failure if the text is not a pause or rate, or if both are given.
    pub fn new(pause: Option<&str>, typed: &[String], has_sweep: bool, arrivals: Arrivals) -> Result<Self, Failure> {
        let pause = pause.map(think).transpose()?;
        let rates: Result<Vec<Rate>, Failure> = typed.iter().map(|word| rate(word)).collect();
        let mut rates = rates?;
        if has_sweep {
            rates.extend(SWEEP_PCT.map(Rate::OfCapacity));
        }
        match (rates.is_empty(), pause) {
            (true, think) => Ok(Self::Closed { think: think.unwrap_or_default() }),
            (false, Some(_)) => Err(Failure::usage(
                "--think is for a closed loop, but --rate is for an open loop",
                "leave out --think or --rate",
            )),
            (false, None) => Ok(Self::Open { rates, arrivals }),
        }
    }

    pub fn flat_out() -> Self {
        Self::Closed { think: Duration::ZERO }
    }

    /// Whether requests are sent as fast as the server replies.
    pub fn is_flat_out(&self) -> bool {
        *self == Self::flat_out()
    }

    pub fn each(&self) -> Vec<Self> {
        match self {
            Self::Closed { .. } => vec![self.clone()],
            Self::Open { rates, arrivals } => {
                { rates.iter() }.map(|rate| Self::Open { rates: vec![*rate], arrivals: *arrivals }).collect()
            }
        }
    }

    /// Returns the rate of a comparison whose requests are sent on a schedule.
    pub fn rate(&self) -> Option<Rate> {
        match self {
            Self::Closed { .. } => None,
            Self::Open { rates, .. } => rates.first().copied(),
        }
    }

    /// Whether requests are sent on a schedule.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open { .. })
    }

    /// Whether the slower arm's capacity must be known first.
    pub fn needs_capacity(&self) -> bool {
        matches!(self.rate(), Some(Rate::OfCapacity(_)))
    }

    /// Describes a comparison's load for the plan; empty if requests are sent as fast as the server replies.
    pub fn words(&self) -> String {
        match (self, self.rate()) {
            (Self::Closed { think }, _) if !think.is_zero() => {
                format!(", {think:?} between requests")
            }
            (Self::Open { arrivals, .. }, Some(Rate::PerSecond(per_s))) => {
                format!(", {per_s:.0}/s ({})", arrivals.name())
            }
            (Self::Open { arrivals, .. }, Some(Rate::OfCapacity(pct))) => {
                format!(", {pct} % of the slower arm's capacity ({})", arrivals.name())
            }
            _ => String::new(),
        }
    }

    /// Returns a comparison's load for the load engine; `capacity_per_s` is the slower arm's capacity.
    pub fn pacing(&self, placement: Placement, capacity_per_s: Option<f64>) -> Pacing {
        let (arrivals, rate_per_s) = match (self, self.rate()) {
            (Self::Closed { think }, _) => return Pacing::Closed { think: *think },
            (Self::Open { arrivals, .. }, Some(Rate::OfCapacity(pct))) => {
                (*arrivals, capacity_per_s.unwrap_or(1.0) * pct / 100.0)
            }
            (Self::Open { arrivals, .. }, Some(Rate::PerSecond(per_s))) => (*arrivals, per_s),
            (Self::Open { .. }, None) => return Pacing::FLAT_OUT,
        };
        Pacing::Open(OpenLoop {
            rate_per_s,
            arrivals,
            // In other placements the server needs the core on which the client would spin.
            may_spin: placement == Placement::Split,
        })
    }
}

/// Parses `50k`, `2000`, `1.5M` or `40%`.
fn rate(typed: &str) -> Result<Rate, Failure> {
    let wrong = || {
        Failure::usage(
            format!("`--rate {typed}` is not a rate"),
            "pass requests per second as in --rate 50k, or a share of the slower arm's capacity as in --rate 40%,80%, \
             100% at most",
        )
    };
    if typed.ends_with('%') {
        let percent = typed::percent(typed).filter(|it| *it > 0.0 && *it <= 100.0);
        return percent.map(Rate::OfCapacity).ok_or_else(wrong);
    }
    let per_s = typed::rate(typed).filter(|it| (1.0..=MOST_PER_S).contains(it));
    per_s.map(Rate::PerSecond).ok_or_else(wrong)
}

/// Parses `200us`, `5ms` or `1s`.
fn think(typed: &str) -> Result<Duration, Failure> {
    typed::time(typed).filter(|pause| !pause.is_zero() && *pause <= LONGEST_PAUSE).ok_or_else(|| {
        Failure::usage(
            format!("`--think {typed}` is not a pause"),
            "for example --think 200us or --think 5ms, 10s at most",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(typed: &str, wanted: Option<Rate>) {
        assert_eq!(rate(typed).ok(), wanted, "{typed}");
    }

    #[test]
    fn rates_are_numbers_per_second_or_shares() {
        check("50k", Some(Rate::PerSecond(50_000.0)));
        check("1.5M", Some(Rate::PerSecond(1_500_000.0)));
        check("2000", Some(Rate::PerSecond(2_000.0)));
        check("40%", Some(Rate::OfCapacity(40.0)));
        for wrong in ["0", "0%", "-1", "110%", "k", "", "1e99", "inf", "NaN", "0.5"] {
            check(wrong, None);
        }
    }

    #[test]
    fn pauses_have_a_unit() {
        assert_eq!(think("200us").ok(), Some(Duration::from_micros(200)));
        assert_eq!(think("5ms").ok(), Some(Duration::from_millis(5)));
        for wrong in ["5", "0ms", "1m", "", "ms", "1000s"] {
            assert!(think(wrong).is_err(), "{wrong}");
        }
    }
}
