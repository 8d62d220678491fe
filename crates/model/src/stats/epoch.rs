//! The input types, and the computation of one number per epoch for each metric.
//!
//! Plain data as the experiment counted it, without any estimate or interval. Filled by the experiment (or from a
//! record), and read by all other files of this module.

use crate::stats::moments::{mean, median};

/// Each group of an epoch needs at least this many slices of each arm in the requested placement, because a single
/// slice may be disturbed.
const LEAST_IN_PLACE: usize = 2;

/// One of the two arms of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The arm with which the other arm is compared.
    Baseline,
    /// The arm whose tax is estimated.
    Other,
}

impl Side {
    /// Both sides, in the order of each `[T; 2]` in this crate.
    pub const BOTH: [Self; 2] = [Self::Baseline, Self::Other];

    /// Returns the side's position in a `[T; 2]`: 0 for the baseline, 1 for the other arm.
    pub fn idx(self) -> usize {
        match self {
            Self::Baseline => 0,
            Self::Other => 1,
        }
    }
}

/// A short time in which exactly one arm ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    pub side: Side,
    /// Number of requests that were answered in the active window.
    pub completions: u64,
    /// Number of requests that were answered in the first 10 ms of the window ([`crate::stats::EARLY_NS`]); 0 in all
    /// slices if these requests were not counted separately.
    pub early: u64,
    pub active_ns: u64,
    /// Number of requests that were in flight at the end of the window, and were answered afterwards.
    pub drained: u64,
    /// Time from the end of the window to the last answer of the drained requests.
    pub drain_ns: u64,
    /// Number of all answered requests, including the requests of guard and drain, because the CPU times include these
    /// requests.
    pub requests: u64,
    /// CPU time of the client's threads; `None` if it could not be read.
    pub client_cpu_ns: Option<u64>,
    /// CPU time of the server; `None` if it could not be read.
    pub server_cpu_ns: Option<u64>,
    /// Context switches of the client's threads, in the same period as the CPU times.
    pub client_switches: u64,
    /// Response times, if the verdict is computed from response times and not from the rate. This is so in an open
    /// loop, whose schedule sets the rate, and if there are pauses between requests.
    pub response: Option<Response>,
    /// Whether the slice ran in the requested placement; a slice in another placement is used only for the noise.
    pub is_in_place: bool,
}

/// The response times of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response {
    pub median_ns: u32,
    /// Sum of the response times of the slice's completions.
    pub sum_ns: u64,
}

/// CPU ticks of the whole machine during an epoch, as differences of `/proc/stat`.
///
/// A tick is 10 ms, too coarse for one epoch: see [`crate::stats::noise_shares`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// All columns of the `cpu` line together, idle time included.
    pub total_ticks: f64,
    /// Time that the hypervisor gave to other machines.
    pub steal_ticks: f64,
    /// Soft interrupts; the kernel counts the work of loopback as soft interrupts.
    pub softirq_ticks: f64,
    pub busy_ticks: f64,
    /// Busy time of looptax; `None` if it could not be read.
    pub own_ticks: Option<f64>,
    /// Busy time of the measured server; `None` if it could not be read.
    pub server_ticks: Option<f64>,
}

/// The unit of inference: new connections for both arms, then one or more groups of eight slices.
#[derive(Debug, Clone, PartialEq)]
pub struct Epoch {
    /// The slices in order of time: a multiple of eight, or four whole runs in the order ABBA.
    pub slices: Vec<Slice>,
    /// Latencies of the active windows, `[baseline, other]`, of all slices together; may be empty.
    pub latencies_ns: [Vec<u32>; 2],
    /// CPU ticks of the machine during the epoch; `None` if they could not be read.
    pub noise: Option<Noise>,
}

impl Epoch {
    /// Computes θ of this epoch: ln(baseline's throughput / other arm's throughput); positive if the other arm loses.
    ///
    /// For each octet (a group of eight slices): med4(ln rate of the baseline) − med4(ln rate of the other arm), where
    /// med4 is the mean of the two middle values of four. The epoch's θ is the mean over its octets. One disturbed
    /// slice per arm and octet has no influence. [`Epoch::contrast`] describes when the result is `None`.
    ///
    /// If the verdict is computed from response times: ln(other arm's median response time / baseline's median
    /// response time), by the same scheme.
    ///
    /// Example: four slices of 110 requests and four of 100 in equal time: θ = ln 1.1 = 0.0953.
    pub fn theta(&self) -> Option<f64> {
        self.contrast(|slice| Some(ln_cost(slice)))
    }

    /// Computes the other arm's typical `metric` minus the baseline's, by the scheme of [`Epoch::theta`].
    ///
    /// Returns `None` if a slice has no such metric, or if fewer than two slices of an arm ran in the requested
    /// placement. Also returns `None` if the epoch was cut short: its slices are then neither octets of four against
    /// four, nor one group of two against two.
    pub fn contrast(&self, metric: impl Fn(&Slice) -> Option<f64>) -> Option<f64> {
        let [baseline, other] = Side::BOTH.map(|side| self.group_medians(side, &metric));
        let pairs = other?.into_iter().zip(baseline?);
        let differences: Vec<f64> = pairs.map(|(other, baseline)| other - baseline).collect();
        Some(mean(&differences))
    }

    /// Computes one arm's typical `metric` in this epoch: the mean of med4 over the octets.
    ///
    /// Returns `None` in the same cases as [`Epoch::contrast`].
    pub fn typical(&self, side: Side, metric: impl Fn(&Slice) -> Option<f64>) -> Option<f64> {
        Some(mean(&self.group_medians(side, &metric)?))
    }

    /// Returns whether the verdict is computed from response times instead of rates.
    pub fn is_by_response(&self) -> bool {
        self.slices.iter().any(|slice| slice.response.is_some())
    }

    pub fn is_other_first(&self) -> bool {
        self.slices.first().is_some_and(|slice| slice.side == Side::Other)
    }

    /// Returns the slices of one arm that ran in the requested placement, in order of time.
    pub fn slices_of(&self, side: Side) -> impl Iterator<Item = &Slice> {
        in_place(&self.slices, side)
    }

    fn group_medians(&self, side: Side, metric: &impl Fn(&Slice) -> Option<f64>) -> Option<Vec<f64>> {
        self.groups()?
            .map(|group| {
                let mut values = in_place(group, side).map(metric).collect::<Option<Vec<f64>>>()?;
                median(&mut values)
            })
            .collect()
    }

    /// Returns the balanced groups of this epoch: groups of eight slices, or one group of four runs of a command.
    pub(crate) fn groups(&self) -> Option<std::slice::Chunks<'_, Slice>> {
        let size = if self.slices.len() == 4 { 4 } else { 8 };
        let is_whole = !self.slices.is_empty() && self.slices.len().is_multiple_of(size);
        let is_balanced = |group: &[Slice]| {
            let n_other = group.iter().filter(|slice| slice.side == Side::Other).count();
            2 * n_other == size
        };
        let is_there = |group: &[Slice]| {
            let n = Side::BOTH.map(|side| in_place(group, side).count());
            n.into_iter().all(|n| n >= LEAST_IN_PLACE)
        };
        let can_count = |group: &[Slice]| is_balanced(group) && is_there(group);
        (is_whole && self.slices.chunks(size).all(can_count)).then(|| self.slices.chunks(size))
    }
}

fn in_place(slices: &[Slice], side: Side) -> impl Iterator<Item = &Slice> {
    slices.iter().filter(move |slice| slice.side == side && slice.is_in_place)
}

/// Returns the requests per second in a slice's active window; if no request was answered, half a request is assumed.
///
/// The result is NaN or infinite for a window of length zero, which does not occur in an experiment.
pub fn rate_per_s(slice: &Slice) -> f64 {
    counted(slice.completions) / (slice.active_ns as f64 / 1e9)
}

/// Returns ln of the active window's nanoseconds per request, as if one connection had sent all requests: −ln rate,
/// plus a constant.
pub fn ln_ns_per_request(slice: &Slice) -> f64 {
    (slice.active_ns as f64 / counted(slice.completions)).ln()
}

/// Returns the natural logarithm of the cost of a request in a slice, in nanoseconds. The cost is the slice's time per
/// request, or with a given rate the median response time.
pub fn ln_cost(slice: &Slice) -> f64 {
    match slice.response {
        Some(response) => f64::from(response.median_ns.max(1)).ln(),
        None => ln_ns_per_request(slice),
    }
}

/// Returns the number of requests; zero requests count as half a request, so that the logarithm is finite and the
/// slice is still the slowest.
pub(crate) fn counted(requests: u64) -> f64 {
    (requests as f64).max(0.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::vectors::{close, floats, load, plain_slice, v1_thetas};

    fn epoch(order: &str, counts: [u64; 2]) -> Epoch {
        let side = |letter| {
            if letter == 'o' { Side::Other } else { Side::Baseline }
        };
        let slices = order.chars().map(side);
        Epoch {
            slices: slices.map(|side| plain_slice(side, counts[side.idx()], 50_000_000)).collect(),
            latencies_ns: [vec![], vec![]],
            noise: None,
        }
    }

    #[test]
    fn thetas_agree_with_the_reference() {
        let expected = floats(&load()["V1_epoch_effects_HL_signed_rank"]["expected"]["theta"]);
        let found = v1_thetas();
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.into_iter().zip(expected) {
            close(found, expected, 1e-5);
        }
    }

    #[track_caller]
    fn check(order: &str, expected: Option<f64>) {
        let found = epoch(order, [110, 100]).theta();
        assert_eq!(found.is_some(), expected.is_some(), "{order}: {found:?}");
        if let (Some(found), Some(expected)) = (found, expected) {
            close(found, expected, 1e-12);
        }
    }

    #[test]
    fn only_balanced_groups_count() {
        let theta = Some(1.1_f64.ln());
        check("obboboob", theta);
        check("boobobbo", theta);
        check("obbobooboobbbboo", theta);
        check("obbo", theta);
        check("obbobo", None);
        check("obbobbob", None);
        check("obbobooboobb", None);
        check("", None);
    }

    #[test]
    fn one_spoiled_slice_per_arm_changes_nothing() {
        let mut spoiled = epoch("obbobooboobbbboo", [110, 100]);
        spoiled.slices[0].completions = 0;
        spoiled.slices[1].completions = 1_000_000;
        close(spoiled.theta().unwrap(), 1.1_f64.ln(), 1e-12);
    }

    #[test]
    fn a_missing_figure_is_not_a_zero() {
        let epoch = epoch("obboboob", [110, 100]);
        assert_eq!(epoch.contrast(|slice| slice.client_cpu_ns.map(|ns| ns as f64)), None);
    }

    #[test]
    fn a_figure_of_one_arm_is_its_own() {
        let epoch = epoch("obboboob", [110, 100]);
        let rate = |side| epoch.typical(side, |slice| Some(rate_per_s(slice))).unwrap();
        close(rate(Side::Baseline), 2200.0, 1e-9);
        close(rate(Side::Other), 2000.0, 1e-9);
        assert!(epoch.is_other_first());
    }
}
