//! The unit in which the speed of a slice or an epoch is shown, which depends on what was measured.

use looptax_model::record::{Comparison, Slice};

use super::markup::TEXT;
use crate::format::{byte_rate, rate, run_time};

/// The unit in which the cost of a request is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Unit {
    /// Requests per second.
    Requests,
    /// Bytes per second, for requests of this many bytes each.
    Bytes(f64),
    /// The time of a whole run of a command, in seconds.
    Run,
    /// The median response time in µs, if the user has chosen the rate.
    Response,
}

impl Unit {
    pub(super) fn for_comparison(comparison: &Comparison) -> Self {
        match &comparison.workload.stream {
            _ if comparison.commands.is_some() => Self::Run,
            _ if is_one_page_at_a_time(comparison) => Self::Run,
            _ if !comparison.load.is_flat_out() => Self::Response,
            Some(stream) => Self::Bytes(stream.bytes as f64),
            None => Self::Requests,
        }
    }

    /// Returns the name of the unit in the script; see web/src/numbers.ts.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Requests => "/s",
            Self::Bytes(_) => "B",
            Self::Run => "s",
            Self::Response => "us",
        }
    }

    /// Returns the speed of a slice in this unit; `None` if the slice has no replies or no time.
    pub(super) fn of_slice(self, slice: &Slice) -> Option<f64> {
        let seconds = slice.active_ns as f64 / 1e9;
        let per_s = slice.completions as f64 / seconds;
        let value = match self {
            Self::Requests => per_s,
            Self::Bytes(bytes) => per_s * bytes,
            Self::Run => 1.0 / per_s,
            Self::Response => f64::from(slice.median_ns?) / 1e3,
        };
        value.is_finite().then_some(value)
    }

    /// Formats the cost of a request: `67.3K/s`.
    pub(super) fn shown(self, cost_ns: f64) -> String {
        match self {
            Self::Requests => rate(1e9 / cost_ns),
            Self::Bytes(bytes) => byte_rate(bytes * 1e9 / cost_ns),
            Self::Run => run_time(cost_ns / 1e3),
            Self::Response => TEXT.micros(cost_ns / 1e3),
        }
    }
}

/// Whether pages are loaded one after the other, so that the speed is shown as the time of a page.
fn is_one_page_at_a_time(comparison: &Comparison) -> bool {
    comparison.trial.is_some() && comparison.connections == 1 && comparison.load.is_flat_out()
}
