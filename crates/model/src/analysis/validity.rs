//! Finds objections to a comparison that follow from the raw counts and the proofs, before any statistics.
//!
//! Each objection is a sentence without a final dot. Some objections make the comparison invalid, others are only
//! warnings. Called by [`super::judged`].

use crate::record::{Raw, Samples, ServerCount, Slice};
use crate::stats::Side;

use super::proved_arm::ProvedArm;

/// Maximum accepted difference between the server's count and looptax's count, as a fraction of the count.
const MISCOUNTED: f64 = 0.01;
/// A difference of at most this number is always accepted, because the server also counts looptax's own queries. This
/// matters in short runs.
const OWN_QUESTIONS: u64 = 200;
/// If more than this share of the slices ends with a backlog, the backlog was not caused by a stall.
const BACKLOG_SHARE: f64 = 0.05;

/// Returns the reasons why the epochs of `pair` cannot be used.
pub fn invalid(raw: &Raw, pair: [u32; 2], arms: &[ProvedArm; 2]) -> Vec<String> {
    let mut reasons = Vec::new();
    // A command that is too short to be observed does not disprove its arm: `warnings` reports it.
    for arm in arms.iter().filter(|arm| !arm.verified && arm.proof.seen.is_none()) {
        reasons.push(format!("looptax could not prove that `{}` used the transport of that name", arm.name));
    }
    let identities = arms.each_ref().map(|arm| &arm.proof.server_identity);
    if let [Some(one), Some(two)] = identities
        && one != two
    {
        reasons.push(format!("the arms lead to different servers: `{one}` and `{two}`"));
    }
    let n_errors: u64 = slices(raw, pair).map(|(_, slice)| slice.errors).sum();
    if n_errors > 0 {
        reasons.push(format!("{n_errors} requests failed"));
    }
    let n_disagree = raw.of_pair(pair).filter(|(_, epoch)| !epoch.answers_agree).count();
    if n_disagree > 0 {
        reasons.push(format!("the arms' answers to the same requests differed in {n_disagree} epochs"));
    }
    reasons.extend(not_sustained(raw, pair, arms));
    reasons
}

/// Finds arms in which many slices end with a backlog longer than a guard: the rate is higher than the arm can serve.
fn not_sustained(raw: &Raw, pair: [u32; 2], arms: &[ProvedArm; 2]) -> Vec<String> {
    let of_side = |side: Side| {
        let slices = || slices(raw, pair).filter(move |(it, _)| *it == side);
        let n_behind = slices().filter(|(_, slice)| slice.behind_ns > slice.guard_ns).count();
        let n = slices().count();
        (n_behind as f64 > BACKLOG_SHARE * n as f64).then(|| {
            format!(
                "{} did not sustain the rate: at the end of {n_behind} of {n} slices, unsent requests had waited \
                 longer than the guard time",
                arms[side.idx()].name
            )
        })
    };
    Side::BOTH.into_iter().filter_map(of_side).collect()
}

/// Returns a warning if the server's own count differs from looptax's count.
///
/// The server may count slightly more: it also counts the queries that looptax sends for its own use, once per epoch.
pub fn miscounted(count: &ServerCount) -> Option<String> {
    let apart = count.sent.abs_diff(count.counted);
    let is_little = apart <= OWN_QUESTIONS || apart as f64 <= MISCOUNTED * count.sent as f64;
    (!is_little).then(|| {
        format!(
            "the server counted {} ({}), and looptax counted {}: the rates may be wrong",
            count.counted, count.counter, count.sent
        )
    })
}

/// Returns the warnings for the reader about the epochs of `pair`.
pub fn warnings(raw: &Raw, pair: [u32; 2], arms: &[ProvedArm; 2]) -> Vec<String> {
    let mut warnings = Vec::new();
    for arm in arms.iter().filter(|arm| !arm.verified) {
        warnings.extend(arm.proof.seen.map(|seen| {
            format!(
                "looptax saw no connection of {} in {} runs: the command makes no connections, or only connections \
                 that are too short to see",
                arm.name, seen.n_runs
            )
        }));
    }
    let n_throttled: u64 = raw.of_pair(pair).filter_map(|(_, epoch)| epoch.n_throttled).sum();
    if n_throttled > 0 {
        warnings.push(format!(
            "the kernel throttled the control group {n_throttled} times, and the group's CPU quota affects every \
             figure; raise the quota (cpu.max), or measure outside the group"
        ));
    }
    let n_unsampled: u64 = slices(raw, pair).map(|(_, slice)| slice.n_unsampled).sum();
    if n_unsampled > 0 {
        warnings.push(format!(
            "{n_unsampled} latencies did not fit into memory and are missing from the percentiles; to keep all, \
             raise --max-samples"
        ));
    }
    let is_kept = |kept: &Option<Samples>| kept.as_ref().is_some_and(|kept| kept.count > 0);
    let kept = raw.of_pair(pair).map(|(_, epoch)| epoch.samples.iter().all(is_kept));
    let (n_epochs, n_kept) = (kept.clone().count(), kept.filter(|is_kept| *is_kept).count());
    if (1..n_epochs).contains(&n_kept) {
        warnings.push(format!(
            "the latencies of {} of {n_epochs} epochs were not kept and are missing from the percentiles",
            n_epochs - n_kept
        ));
    }
    warnings
}

fn slices(raw: &Raw, pair: [u32; 2]) -> impl Iterator<Item = (Side, &Slice)> {
    raw.of_pair(pair).flat_map(|(_, epoch)| epoch.sided())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::made_up;

    const PAIR: [u32; 2] = [0, 1];

    fn raw_with(change: impl Fn(&mut crate::record::Epoch)) -> Raw {
        let epoch = |idx| {
            let mut epoch = made_up::epoch(idx, PAIR, [50, 40]);
            change(&mut epoch);
            epoch
        };
        Raw { epochs: (0..3).map(epoch).collect() }
    }

    fn arms() -> [ProvedArm; 2] {
        [made_up::arm("unix"), made_up::arm("tcp")]
    }

    #[track_caller]
    fn check(found: &[String], expected: &[&str]) {
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.contains(expected), "{found:?} has no {expected:?}");
        }
    }

    #[test]
    fn a_count_of_the_server_far_from_ours_is_told() {
        let warning_of = |sent, counted| miscounted(&ServerCount { counter: "Com_select".to_owned(), sent, counted });
        assert_eq!(warning_of(100_000, 100_900), None);
        assert_eq!(warning_of(1_000, 1_100), None);
        let warning = warning_of(100_000, 98_000).unwrap();
        assert!(warning.contains("98000 (Com_select), and looptax counted 100000"), "{warning}");
    }

    #[test]
    fn a_sound_run_raises_none() {
        let raw = raw_with(|_| {});
        check(&invalid(&raw, PAIR, &arms()), &[]);
        check(&warnings(&raw, PAIR, &arms()), &[]);
    }

    #[test]
    fn what_cannot_be_trusted_is_invalid() {
        let raw = raw_with(|epoch| {
            epoch.answers_agree = false;
            epoch.slices[0].errors = 2;
        });
        let mut arms = arms();
        arms[1].verified = false;
        arms[1].proof.server_identity = Some("another".to_owned());
        let expected = [
            "could not prove that `tcp`",
            "different servers: `this one` and `another`",
            "6 requests failed",
            "answers to the same requests differed in 3 epochs",
        ];
        check(&invalid(&raw, PAIR, &arms), &expected);
    }

    #[test]
    fn what_distorts_the_figures_is_told() {
        let raw = raw_with(|epoch| {
            epoch.n_throttled = Some(2);
            epoch.slices[1].n_unsampled = 5;
        });
        let expected = ["control group 6 times", "15 latencies did not fit"];
        check(&warnings(&raw, PAIR, &arms()), &expected);
    }

    #[test]
    fn latencies_kept_in_part_are_told() {
        let mut raw = raw_with(|_| {});
        raw.epochs[0].samples = [0, 1].map(|side| Some(made_up::samples(side, 1)));
        check(&warnings(&raw, PAIR, &arms()), &["2 of 3 epochs"]);
    }
}
