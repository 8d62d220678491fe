//! A published figure, converted to a ratio: the cost over TCP divided by the cost over the socket. This puts all
//! figures on one scale.

use crate::record::{Figure, Published, ReproductionReason, ReproductionUnit, ReproductionVerdict};
use serde::Deserialize;

/// A published figure, with its source text.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    pub name: String,
    pub says: Says,
    /// The figure as it was published, or the figures from which it is computed.
    pub words: String,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Says {
    /// Throughput over TCP compared with the socket, percent; -35 means 35 % less.
    TcpRatePct(f64),
    /// Throughput over the socket compared with TCP, percent; 18 means 18 % more.
    UnixRatePct(f64),
    /// Time over TCP compared with the socket, percent; 54 means 54 % longer.
    TcpTimePct(f64),
    /// Time over the socket compared with TCP, percent; -25 means 25 % shorter.
    UnixTimePct(f64),
    /// A share of the whole, percent, given as a range; this share does not depend on the transport.
    SharePct {
        lo: f64,
        hi: f64,
    },
    /// Time over TCP as a multiple of the time over the socket, as in "3.7 times".
    TcpTimes {
        times: f64,
        /// The unit of the last published digit: 0.1 for "3.7".
        digit: f64,
    },
    /// Requests per second on each transport.
    Rates {
        unix: f64,
        tcp: f64,
    },
    Times {
        unix: f64,
        tcp: f64,
    },
}

/// The cost of the other arm divided by the cost of the baseline: the published figure, and the smallest and the
/// largest ratio that round to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratios {
    pub lo: f64,
    pub value: f64,
    pub hi: f64,
}

impl Says {
    /// Returns the cost over TCP divided by the cost over the socket.
    pub fn ratios(self) -> Ratios {
        let exact = |value| Ratios { lo: value, value, hi: value };
        match self {
            Self::TcpRatePct(pct) | Self::UnixTimePct(pct) => rounded(pct, 1.0, |pct| 1.0 / (1.0 + pct / 100.0)),
            Self::UnixRatePct(pct) | Self::TcpTimePct(pct) => rounded(pct, 1.0, |pct| 1.0 + pct / 100.0),
            Self::TcpTimes { times, digit } => rounded(times, digit, |times| times),
            Self::Rates { unix, tcp } => exact(unix / tcp),
            Self::Times { unix, tcp } => exact(tcp / unix),
            Self::SharePct { lo, hi } => Ratios { lo, value: f64::midpoint(lo, hi), hi },
        }
    }

    /// Checks whether the whole range from `least` to `most` is between half the published effect and twice this
    /// effect. The effect of a ratio is the ratio's logarithm, because effects add up as logarithms. The effect of a
    /// share is the share itself.
    fn near(self, published: Ratios, least: f64, most: f64) -> bool {
        if let Self::SharePct { lo, hi } = self {
            return lo / 2.0 <= least && most <= hi * 2.0;
        }
        let effect = published.value.ln();
        [least, most].iter().all(|end| {
            let share = end.ln() / effect;
            (0.5..=2.0).contains(&share)
        })
    }
}

/// Returns the ratios for a published figure, which was rounded to a multiple of `digit`.
fn rounded(stated: f64, digit: f64, ratio: impl Fn(f64) -> f64) -> Ratios {
    let ends = [stated - digit / 2.0, stated + digit / 2.0].map(&ratio);
    Ratios { lo: ends[0].min(ends[1]), value: ratio(stated), hi: ends[0].max(ends[1]) }
}

impl Claim {
    /// Returns the published figure in the form of the record, in the given unit.
    pub fn published(&self, unit: ReproductionUnit) -> Published {
        let Ratios { lo, value, hi } = self.says.ratios();
        Published {
            words: self.words.clone(),
            value: in_unit(unit, value),
            lo: in_unit(unit, lo),
            hi: in_unit(unit, hi),
        }
    }

    /// Compares the measurement with the claim; `ratio` is the cost of the other arm divided by that of the baseline.
    pub fn judge(&self, ratio: &Figure) -> Judged {
        let published = self.says.ratios();
        let ends = ratio.known().and_then(|it| Some((it.lo?, it.hi?)));
        let Some((least, most)) = ends else {
            return Judged::unsure(None);
        };
        let holds_published = least <= published.hi && published.lo <= most;
        let is_near = self.says.near(published, least, most);
        if let Says::SharePct { .. } = self.says {
            return match holds_published {
                true if is_near => Judged::sure(ReproductionVerdict::AsPublished),
                true => Judged::unsure(Some(ReproductionReason::HoldsFarEffects)),
                false if least > published.hi => Judged::sure(ReproductionVerdict::Larger),
                false => Judged::sure(ReproductionVerdict::Smaller),
            };
        }
        let holds_none = least <= 1.0 && 1.0 <= most;
        let is_slower = least > 1.0;
        match (holds_published, holds_none) {
            (true, true) => Judged::unsure(Some(ReproductionReason::HoldsNoDifference)),
            (true, false) if is_near => Judged::sure(ReproductionVerdict::AsPublished),
            (true, false) => Judged::unsure(Some(ReproductionReason::HoldsFarEffects)),
            (false, true) => Judged::sure(ReproductionVerdict::NotSeen),
            (false, false) if is_slower != (published.value > 1.0) => Judged::sure(ReproductionVerdict::Opposite),
            (false, false) if (least > published.hi) == is_slower => Judged::sure(ReproductionVerdict::Larger),
            (false, false) => Judged::sure(ReproductionVerdict::Smaller),
        }
    }
}

/// The comparison of an interval with a published figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// How well the measured interval agrees with the published figure.
    pub verdict: ReproductionVerdict,
    /// The reason if the comparison is inconclusive; `None` if the comparison has a result, or if there is no interval.
    pub why: Option<ReproductionReason>,
}

impl Judged {
    fn sure(verdict: ReproductionVerdict) -> Self {
        Self { verdict, why: None }
    }

    fn unsure(why: Option<ReproductionReason>) -> Self {
        Self { verdict: ReproductionVerdict::Inconclusive, why }
    }
}

/// Converts a ratio of costs, or a share, to the given unit. The result increases with `ratio`.
///
/// # Units
/// Percent for a tax and for an addition, otherwise a multiple.
pub fn in_unit(unit: ReproductionUnit, ratio: f64) -> f64 {
    match unit {
        // The definition of the tax: the share of the baseline's throughput that is lost.
        ReproductionUnit::TaxPct => 100.0 * (1.0 - 1.0 / ratio),
        ReproductionUnit::AddedPct => 100.0 * (ratio - 1.0),
        ReproductionUnit::Times | ReproductionUnit::SharePct => ratio,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twice() -> Claim {
        Claim {
            name: "twice".to_owned(),
            says: Says::Times { unix: 10.0, tcp: 20.0 },
            words: "10 s against 20 s".to_owned(),
        }
    }

    #[track_caller]
    fn check(lo: f64, hi: f64, expected: ReproductionVerdict) {
        let ratio = Figure::new(f64::midpoint(lo, hi), lo, hi, 10);
        assert_eq!(twice().judge(&ratio).verdict, expected, "[{lo}, {hi}]");
    }

    #[test]
    fn a_verdict_says_where_the_interval_lies() {
        check(1.9, 2.1, ReproductionVerdict::AsPublished);
        check(1.5, 3.9, ReproductionVerdict::AsPublished);
        check(1.3, 2.1, ReproductionVerdict::Inconclusive);
        check(1.9, 4.1, ReproductionVerdict::Inconclusive);
        check(1.2, 1.4, ReproductionVerdict::Smaller);
        check(2.2, 2.4, ReproductionVerdict::Larger);
        check(0.6, 0.8, ReproductionVerdict::Opposite);
        check(0.9, 1.1, ReproductionVerdict::NotSeen);
        check(0.9, 2.1, ReproductionVerdict::Inconclusive);
        check(1.5, f64::INFINITY, ReproductionVerdict::Inconclusive);
        let none = Figure::missing("nothing was measured");
        assert_eq!(twice().judge(&none), Judged::unsure(None));
    }

    #[test]
    fn a_share_is_as_published_within_its_range() {
        let claim = Claim { says: Says::SharePct { lo: 3.0, hi: 6.0 }, ..twice() };
        let check = |lo, hi, expected| {
            let ratio = Figure::new(lo, lo, hi, 9);
            assert_eq!(claim.judge(&ratio).verdict, expected);
        };
        check(5.5, 7.0, ReproductionVerdict::AsPublished);
        check(1.0, 7.0, ReproductionVerdict::Inconclusive);
        check(0.5, 2.0, ReproductionVerdict::Smaller);
        check(21.0, 22.0, ReproductionVerdict::Larger);
    }

    #[test]
    fn a_unit_is_another_way_to_write_the_ratio() {
        assert!((in_unit(ReproductionUnit::TaxPct, 2.0) - 50.0).abs() < 1e-9);
        assert!((in_unit(ReproductionUnit::AddedPct, 1.5) - 50.0).abs() < 1e-9);
        assert!((twice().published(ReproductionUnit::Times).value - 2.0).abs() < 1e-9);
    }
}
