//! The load of a case: from what was asked for to what the load engine is told.

use std::time::Duration;

use looptax_bench::{Arrivals, OpenLoop, Pacing, Placement};

use crate::spec::load::{Load, Rate};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CaseLoad {
    /// Answers, after a pause.
    Closed {
        /// Its length.
        think: Duration,
    },
    /// A schedule.
    Open {
        /// Requests over all connections of an arm.
        rate: Rate,
        /// How the gaps are drawn.
        arrivals: Arrivals,
    },
}

impl CaseLoad {
    /// The loads that were asked for, one case each.
    pub fn all(load: &Load) -> Vec<Self> {
        match load {
            Load::Closed { think } => vec![Self::Closed { think: *think }],
            Load::Open { rates, arrivals } => rates
                .iter()
                .map(|rate| Self::Open {
                    rate: *rate,
                    arrivals: *arrivals,
                })
                .collect(),
        }
    }

    /// For the plan; nothing where the rate follows from the server.
    pub fn words(self) -> String {
        match self {
            Self::Closed { think } if think.is_zero() => String::new(),
            Self::Closed { think } => format!(", {think:?} between requests"),
            Self::Open { rate, arrivals } => match rate {
                Rate::PerSecond(per_s) => format!(", {per_s:.0}/s ({})", arrivals.name()),
                Rate::OfCapacity(pct) => format!(
                    ", {pct} % of the slower arm's capacity ({})",
                    arrivals.name()
                ),
            },
        }
    }

    /// Whether requests go out on a schedule.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Open { .. })
    }

    /// Whether the slower arm's capacity must be known first.
    pub fn needs_capacity(self) -> bool {
        matches!(
            self,
            Self::Open {
                rate: Rate::OfCapacity(_),
                ..
            }
        )
    }

    /// For the load engine; `capacity_per_s` is the slower arm's.
    pub fn pacing(self, placement: Placement, capacity_per_s: Option<f64>) -> Pacing {
        match self {
            Self::Closed { think } => Pacing::Closed { think },
            Self::Open { rate, arrivals } => Pacing::Open(OpenLoop {
                rate_per_s: match rate {
                    Rate::PerSecond(per_s) => per_s,
                    Rate::OfCapacity(pct) => capacity_per_s.unwrap_or(1.0) * pct / 100.0,
                },
                arrivals,
                // Elsewhere the server needs the core.
                may_spin: placement == Placement::Split,
            }),
        }
    }
}
