//! The time budget of measuring, and the plan that fits into it once the warm-up has shown how long answers take.
//!
//! Slices, and the uncounted guards before them, grow with latency, so an epoch of a slow page takes many times as long
//! as the plan assumed. The user agreed to the time, so looptax reduces the number of epochs. Before looptax drops
//! epochs, it shortens the slices that it had lengthened to hold many requests, but not below the length that the
//! latency requires. The reason: a few long epochs show less than many short epochs with the same number of requests.
//! All of this is decided from the warm-up, before anything is counted, so the error level of the verdict stays the
//! same.

use std::time::Duration;

use crate::Shape;

/// looptax plans again if measuring takes longer than the promised time multiplied by this factor. Connecting and
/// chance can explain a smaller difference.
const TOLERANCE: f64 = 1.25;

/// Share of the time that slices may take; the remaining time is for connecting and for late answers.
const FOR_SLICES: f64 = 0.9;

/// The time that a comparison's counted epochs may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Time for the epochs of all contrasts together, without the warm-up.
    pub time: Duration,
    /// looptax shortens the slices until this many epochs of each contrast fit.
    pub wanted_epochs: usize,
}

/// A plan that the warm-up has changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Replanned {
    /// The longest measuring time according to the plan.
    pub planned: Duration,
    /// The longest measuring time according to the new plan.
    pub takes: Duration,
    /// Highest number of epochs of each contrast, as planned and now.
    pub n_epochs: [usize; 2],
    /// Length of the counted part of a slice, as planned and now.
    pub slice: [Duration; 2],
    /// The time that all planned epochs would take.
    pub all_take: Duration,
}

/// Facts that are known after the warm-up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WarmedUp {
    /// Slices as they were planned, and as they are now.
    pub(crate) shape: [Shape; 2],
    /// The time of an epoch outside its slices: connecting, priming, waiting for answers.
    pub(crate) beside: Duration,
    pub(crate) n_contrasts: usize,
    /// Highest number of epochs of each contrast.
    pub(crate) n_epochs: usize,
}

impl Budget {
    /// Returns slices that are short enough for the wanted number of epochs to fit, but never shorter than `least`.
    #[must_use]
    pub fn shortened(self, shape: Shape, n_contrasts: usize, least: Duration) -> Shape {
        let n_epochs = self.wanted_epochs.max(1) * n_contrasts.max(1);
        let epoch = self.time.mul_f64(FOR_SLICES / n_epochs as f64);
        if shape.is_whole() || shape.epoch() <= epoch {
            return shape;
        }
        let shape = Shape { octets: 1, ..shape };
        let slice = (epoch / 8).saturating_sub(shape.guard);
        shape.with_slice(slice.clamp(least.min(shape.slice), shape.slice))
    }
}

/// Returns the plan after the warm-up; `None` if the earlier plan still holds.
///
/// Without a budget all epochs are measured, however long that takes. With a budget, as many epochs are measured as fit
/// into its time, possibly 0.
///
/// Example: 40 epochs of 0.5 s were promised as 20 s. If an epoch takes 3 s, 6 of them fit.
pub(crate) fn replan(seen: WarmedUp, budget: Option<Budget>) -> Option<Replanned> {
    let [planned_shape, shape] = seen.shape;
    let of_all = |epoch: Duration, n_epochs: usize| epoch.mul_f64((n_epochs * seen.n_contrasts.max(1)) as f64);
    let planned = budget.map_or(of_all(planned_shape.epoch(), seen.n_epochs), |it| it.time);
    let epoch = shape.epoch() + seen.beside;
    let all_take = of_all(epoch, seen.n_epochs);
    if shape == planned_shape || all_take <= planned.mul_f64(TOLERANCE) {
        return None;
    }
    let fitting = budget.map(|it| it.time.div_duration_f64(of_all(epoch, 1)) as usize);
    let n_epochs = fitting.map_or(seen.n_epochs, |n| n.min(seen.n_epochs));
    Some(Replanned {
        planned,
        takes: of_all(epoch, n_epochs),
        n_epochs: [seen.n_epochs, n_epochs],
        slice: [planned_shape.slice, shape.slice],
        all_take,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    /// The promise of `--quick`: 40 epochs of eight slices.
    const QUICK: Budget = Budget { time: Duration::from_millis(19_600), wanted_epochs: 10 };

    /// Checks the plan of `--quick` after a warm-up in which every answer takes `answer`. `expected` holds the number
    /// of epochs, the length of a slice in ms, and the seconds of all epochs.
    #[track_caller]
    fn check(answer: Duration, budget: Option<Budget>, expected: Option<(usize, u128, f64)>) {
        let planned = Shape::short();
        // One connection, on which every answer takes `answer`.
        let grown = planned.adapted(1.0 / answer.as_secs_f64(), answer, MS);
        let shape = budget.map_or(grown, |it| it.shortened(grown, 1, answer * 10));
        let seen = WarmedUp { shape: [planned, shape], beside: MS * 5, n_contrasts: 1, n_epochs: 40 };
        let found = replan(seen, budget);
        let told = found.map(|it| (it.n_epochs[1], it.slice[1].as_millis(), it.takes.as_secs_f64().round()));
        assert_eq!(told, expected);
        if let (Some(found), Some(budget)) = (found, budget) {
            assert!(found.takes <= budget.time);
        }
    }

    #[test]
    fn r44_what_was_promised_is_kept_by_fewer_epochs_however_slow_answers_are() {
        check(MS / 10, Some(QUICK), None);
        // 200 requests take 0.4 s, so the slices are shortened until ten epochs fit.
        check(MS * 2, Some(QUICK), Some((11, 210, 20.0)));
        check(MS * 10, Some(QUICK), Some((11, 190, 20.0)));
        check(MS * 30, Some(QUICK), Some((6, 300, 19.0)));
        check(MS * 100, Some(QUICK), Some((1, 1000, 10.0)));
        check(MS * 500, Some(QUICK), Some((0, 5000, 0.0)));
    }

    #[test]
    fn without_a_promise_all_epochs_are_measured_and_the_new_time_is_known() {
        check(MS / 10, None, None);
        check(MS * 30, None, Some((40, 1000, 349.0)));
    }

    #[test]
    fn every_contrast_has_its_part_of_the_time() {
        let shape = Shape::short().with_slice(MS * 1000);
        let [one, three] = [1, 3].map(|n| QUICK.shortened(shape, n, MS));
        assert!(three.epoch() * 30 <= QUICK.time + MS * 300 && three.slice < one.slice);
        let seen = |n_contrasts| WarmedUp {
            shape: [Shape::short(), shape],
            beside: Duration::ZERO,
            n_contrasts,
            n_epochs: 40,
        };
        let n_epochs = |n| replan(seen(n), Some(QUICK)).unwrap().n_epochs[1];
        assert_eq!([n_epochs(1), n_epochs(2), n_epochs(3)], [2, 1, 0]);
    }
}
