//! The order of slices and the keys of requests: only the seed decides them, whichever observer is used.

use looptax_bench::{ClientModel, MeasuredEpoch, Observer, Outcome, Phase, Plan, Progress, Silent};
use looptax_model::stats::Side;

use crate::peer::Peers;
use crate::{add_contrast, plan, watched};

/// Number of untimed requests at the start of a connection.
const N_PRIMING: usize = 20;

/// A run with one connection per side, and the keys that its peers received.
struct Trace {
    outcome: Outcome,
    /// By epoch (without the warm-up), then by slice.
    keys: Vec<Vec<Vec<u64>>>,
}

fn trace(plan: &Plan, observer: &mut dyn Observer) -> Trace {
    let mut peers = Peers::right();
    let outcome = watched(plan, &mut peers, observer);
    let seen = peers.seen();
    let epochs = &outcome.contrasts[0].epochs;
    let keys = seen[1..].iter().zip(epochs).map(|(seen, epoch)| by_slice([&seen[0][0], &seen[1][0]], epoch)).collect();
    Trace { outcome, keys }
}

/// Splits the keys that each side's connection received into slices.
fn by_slice(seen: [&Vec<u64>; 2], epoch: &MeasuredEpoch) -> Vec<Vec<u64>> {
    let mut rest = seen.map(|keys| &keys[N_PRIMING..]);
    let slices = epoch.raw.sided().map(|(side, slice)| {
        let rest = &mut rest[side.idx()];
        let (keys, later) = rest.split_at(slice.requests as usize);
        *rest = later;
        keys.to_vec()
    });
    let slices = slices.collect();
    assert_eq!(rest, [&[0; 0]; 2], "the peer saw more than was counted");
    slices
}

impl Trace {
    fn epochs(&self) -> &[MeasuredEpoch] {
        &self.outcome.contrasts[0].epochs
    }

    /// Returns, for each epoch, its slices in order, as `b` or `o`.
    fn orders(&self) -> Vec<String> {
        let epochs = self.epochs().iter();
        epochs.map(|epoch| epoch.raw.order.clone()).collect()
    }

    /// Returns, for each epoch, the cores of the client's ends and of the server's ends.
    fn cores(&self) -> Vec<[&[Option<u32>]; 2]> {
        let epochs = self.epochs().iter();
        epochs.map(|epoch| [&epoch.raw.client_cores[..], &epoch.raw.server_cores[..]]).collect()
    }

    /// Checks that each slice requested the same keys as in `other`, as far as both have keys.
    #[track_caller]
    fn check_same_keys(&self, other: &Self) {
        assert_eq!(self.keys.len(), other.keys.len());
        for (one, two) in self.keys.iter().flatten().zip(other.keys.iter().flatten()) {
            check_common_prefix(one, two);
        }
    }
}

#[track_caller]
fn check_common_prefix(one: &[u64], two: &[u64]) {
    let n_common = one.len().min(two.len());
    assert!(n_common > 0);
    assert_eq!(one[..n_common], two[..n_common]);
}

#[test]
fn an_epoch_is_thue_morse_or_its_complement_by_one_coin() {
    let orders = trace(&plan(ClientModel::Poll, 1, 12), &mut Silent).orders();
    assert_eq!(orders.len(), 12);
    for word in ["boobobbo", "obboboob"] {
        assert!(orders.iter().any(|order| order == word), "{orders:?}");
    }
    assert!(orders.iter().all(|order| ["boobobbo", "obboboob"].contains(&order.as_str())), "{orders:?}");
}

#[test]
fn both_sides_are_asked_for_the_same_keys_at_equal_rank() {
    let trace = trace(&plan(ClientModel::Poll, 1, 2), &mut Silent);
    for (epoch, keys) in trace.epochs().iter().zip(&trace.keys) {
        let of = |side| {
            let slices = epoch.raw.sided().zip(keys);
            slices.filter_map(move |((ran, _), keys)| (ran == side).then_some(keys))
        };
        assert_eq!(of(Side::Baseline).count(), 4);
        for (baseline, other) in of(Side::Baseline).zip(of(Side::Other)) {
            check_common_prefix(baseline, other);
        }
        // Different slices of one side request different keys.
        let mut firsts: Vec<u64> = of(Side::Baseline).map(|keys| keys[0]).collect();
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), 4);
    }
}

#[test]
fn the_seed_repeats_orders_cores_and_keys_and_another_gives_others() {
    let mut plan = plan(ClientModel::Block, 1, 8);
    let (one, two) = (trace(&plan, &mut Silent), trace(&plan, &mut Silent));
    assert_eq!(one.orders(), two.orders());
    assert_eq!(one.cores(), two.cores());
    one.check_same_keys(&two);

    plan.course.seed = 12;
    let other = trace(&plan, &mut Silent);
    assert_ne!(one.orders(), other.orders());
    assert_ne!(one.keys[0][0][0], other.keys[0][0][0]);
}

/// Formats the progress, as a progress display does.
#[derive(Default)]
struct Display(Vec<String>);

impl Observer for Display {
    fn epoch_ended(&mut self, progress: &Progress<'_>) {
        self.0.push(format!("{progress:?}"));
    }
}

#[test]
fn the_operations_are_the_same_with_the_display_on_and_off() {
    for client in [ClientModel::Poll, ClientModel::Event] {
        let plan = plan(client, 1, 3);
        let mut display = Display::default();
        let (on, off) = (trace(&plan, &mut display), trace(&plan, &mut Silent));
        assert_eq!(display.0.len(), 4, "{:?}", display.0);
        assert_eq!(on.orders(), off.orders());
        assert_eq!(on.cores(), off.cores());
        on.check_same_keys(&off);
    }
}

#[test]
fn contrasts_take_turns_until_each_has_its_epochs() {
    let mut plan = plan(ClientModel::Poll, 1, 2);
    add_contrast(&mut plan);
    let mut display = Display::default();
    let outcome = watched(&plan, &mut Peers::right(), &mut display);
    for contrast in &outcome.contrasts {
        assert_eq!(contrast.epochs.len(), 2);
        assert!(contrast.stopped.is_some());
    }
    assert_eq!(display.0.len(), 2 + 4);
    // After the first epoch of each contrast, its interim analysis is still to come. Each report has the epoch that
    // ended.
    let n_shown = |words: &str| display.0.iter().filter(|it| it.contains(words)).count();
    assert_eq!(n_shown("next_analysis: Some(2)"), 2);
    assert_eq!(n_shown("epoch: MeasuredEpoch"), 2 + 4);
    assert_eq!(n_shown("epoch_theta: Some("), 4);
}

/// The remaining times that an observer gets, in the order of the epochs.
struct Left(Vec<std::time::Duration>);

impl Observer for Left {
    fn epoch_ended(&mut self, progress: &Progress<'_>) {
        if progress.phase == Phase::Measuring {
            self.0.push(progress.left_at_most);
        }
    }
}

#[test]
fn r20_the_most_time_left_never_grows() {
    let mut left = Left(Vec::new());
    trace(&plan(ClientModel::Poll, 1, 40), &mut left);
    assert_eq!(left.0.len(), 40);
    assert!(left.0.is_sorted_by(|one, next| one >= next), "{:?}", left.0);
    assert!(left.0[39].is_zero(), "{:?}", left.0);
}
