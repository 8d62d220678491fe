//! Computes how much the transport to each server adds to an application's page. Also compares the sum of these parts
//! with the time that TCP added when all servers were moved together.
//!
//! Each server was moved in a separate comparison, in which the transports of the other servers were drawn at random;
//! one more comparison moved all servers together. With two servers, the parts are the main effects of a 2² design, and
//! their sum is the whole effect even if the two servers interact. Called at the end of a trial, and when a trial is
//! analysed again.

use crate::record::{self as record, Comparison, TrialBill, TrialPart, Verdict};
use crate::stats::{Epoch, Slice, hodges_lehmann};

use crate::analysis::figures::{figure, plain};
use crate::analysis::trial::us_per_page;

/// Time and CPU time that TCP adds to a page in one epoch, µs. The CPU time is NaN if it could not be read.
type Added = [f64; 2];

/// Adds the bill to the comparison in which all servers were moved together, if each server was also moved separately.
/// Adds no bill if a comparison is invalid or does not compare TCP with the socket.
pub fn add_trial_bill(comparisons: &mut [Comparison]) {
    let is_whole = |it: &Comparison| it.trial.as_ref().is_some_and(|it| it.only.is_none());
    let Some(whole_idx) = comparisons.iter().position(is_whole) else {
        return;
    };
    let Some(alpha) = comparisons[whole_idx].tax.first().map(|tax| tax.alpha) else {
        return;
    };
    let is_sound = comparisons.iter().all(says_what_tcp_adds);
    let bill = { is_sound }.then(|| bill_of(&comparisons[whole_idx], comparisons, alpha));
    let bill = bill.flatten();
    if let Some(trial) = &mut comparisons[whole_idx].trial {
        trial.bill = bill;
    }
}

fn says_what_tcp_adds(comparison: &Comparison) -> bool {
    comparison.tax.first().is_some_and(|tax| {
        tax.verdict != Verdict::Invalid && (tax.arm.as_str(), tax.baseline.as_str()) == ("tcp", "unix")
    })
}

fn bill_of(whole: &Comparison, comparisons: &[Comparison], alpha: f64) -> Option<TrialBill> {
    let only = |it: &Comparison| it.trial.as_ref().and_then(|it| it.only);
    let parts: Vec<(u32, &Comparison)> = comparisons.iter().filter_map(|it| Some((only(it)?, it))).collect();
    if parts.len() < 2 {
        return None;
    }
    let all = || std::iter::once(whole).chain(parts.iter().map(|(_, it)| *it));
    let without_supervisor = all().all(|it| {
        let mut epochs = it.raw.of_pair([0, 1]);
        epochs.all(|(_, epoch)| epoch.slices.iter().all(|it| it.supervisor_ns.is_some()))
    });
    let added: Vec<Vec<Option<Added>>> = all()
        .map(|it| {
            let epochs = it.raw.of_pair([0, 1]);
            epochs.map(|(_, epoch)| added(epoch)).collect()
        })
        .collect();
    let blocks = blocks(&added);
    let time = |of: &dyn Fn(&[Added]) -> f64| estimate(&blocks, of, alpha);
    let cpu = |column: usize| {
        let all: Vec<f64> = blocks.iter().map(|it| it[column][1]).collect();
        let is_known = all.iter().all(|us| us.is_finite());
        let found = is_known.then(|| hodges_lehmann::estimate(&all, alpha));
        figure(found.flatten(), "CPU time could not be read")
    };
    let part = |(idx, (server, _)): (usize, &(u32, &Comparison))| TrialPart {
        server: *server,
        time_us: time(&|block| block[idx + 1][0]),
        cpu_us: cpu(idx + 1),
    };
    Some(TrialBill {
        without_supervisor,
        parts: parts.iter().enumerate().map(part).collect(),
        in_all_us: time(&|block| block[0][0]),
        in_all_cpu_us: cpu(0),
        left_over_us: time(&|block| block[0][0] - block[1..].iter().map(|part| part[0]).sum::<f64>()),
    })
}

/// Groups the epochs that have the same number in all comparisons; a number that is missing in one comparison is left
/// out.
fn blocks(added: &[Vec<Option<Added>>]) -> Vec<Vec<Added>> {
    let n = added.iter().map(Vec::len).min().unwrap_or(0);
    let block = |idx: usize| added.iter().map(|it| it[idx]).collect::<Option<Vec<Added>>>();
    (0..n).filter_map(block).collect()
}

fn estimate(blocks: &[Vec<Added>], of: &dyn Fn(&[Added]) -> f64, alpha: f64) -> record::Figure {
    let all: Vec<f64> = blocks.iter().map(|it| of(it)).collect();
    plain(hodges_lehmann::estimate(&all, alpha))
}

/// Returns how much TCP adds to a page in this epoch; the supervisor's time is subtracted if it is known.
fn added(epoch: &record::Epoch) -> Option<Added> {
    let mut pages = epoch.counts();
    for (slice, (_, raw)) in pages.slices.iter_mut().zip(epoch.sided()) {
        let own = raw.supervisor_ns.unwrap_or(0);
        slice.active_ns = raw.latency_sum_ns.saturating_sub(own);
    }
    let time = pages.contrast(|slice| Some(us_per_page(slice)))?;
    Some([time, cpu(&pages).unwrap_or(f64::NAN)])
}

fn cpu(pages: &Epoch) -> Option<f64> {
    let per_page = |slice: &Slice| {
        let both = slice.client_cpu_ns? + slice.server_cpu_ns.unwrap_or(0);
        Some(both as f64 / 1e3 / (slice.completions as f64).max(0.5))
    };
    pages.contrast(per_page)
}

#[cfg(test)]
mod tests {
    use crate::record::{Client, Epoch, Raw, Slice, Trial, TrialArm, TrialDesign};

    use super::*;
    use crate::analysis::{Ending, judge, made_up};

    /// Makes an epoch with one page per slice; over TCP a page takes `added_us` more. The machine's speed drifts from
    /// block to block.
    fn epoch(block: u64, added_us: u64) -> Epoch {
        let order = "obboboob";
        let slice = |letter| {
            let is_other = letter == 'o';
            let page_us = 2_000 + 40 * block + if is_other { added_us } else { 0 };
            let supervisor_us = if is_other { 50 } else { 150 };
            Slice {
                active_ns: 1_000 * (page_us + supervisor_us),
                completions: 1,
                latency_sum_ns: 1_000 * (page_us + supervisor_us),
                client_cpu_ns: Some(1_000 * page_us / 2),
                server_cpu_ns: Some(1_000 * page_us / 4),
                supervisor_ns: Some(1_000 * supervisor_us),
                ..Slice::default()
            }
        };
        Epoch {
            pair: [0, 1],
            order: order.to_owned(),
            slices: order.chars().map(slice).collect(),
            answers_agree: true,
            ..Epoch::default()
        }
    }

    fn contrast(only: Option<u32>, added_us: impl Fn(u64) -> u64) -> Comparison {
        let mut it = made_up::comparison();
        it.client = Client::Command;
        it.raw = Raw { epochs: (0..12).map(|block| epoch(block, added_us(block))).collect() };
        it.trial = Some(Trial {
            command: "x".to_owned(),
            design: TrialDesign::Flip,
            pages: Vec::new(),
            n_pages: 1,
            load_command: None,
            servers: Vec::new(),
            only,
            arms: [TrialArm::default(), TrialArm::default()],
            p95_us: [unknown(), unknown()],
            p95_added_us: unknown(),
            added_by_configuration_us: unknown(),
            counted: Vec::new(),
            bill: None,
        });
        it
    }

    fn unknown() -> record::Figure {
        record::Figure::missing("made up")
    }

    #[track_caller]
    fn near(figure: &record::Figure, us: f64) {
        let found = figure.known().unwrap();
        assert!((found.value - us).abs() < 1.0, "{found:?}, expected {us}");
    }

    #[test]
    fn the_parts_are_told_apart_and_add_up() {
        // The drift grows with the block, and must not appear in the remainder.
        let all = [
            contrast(None, |block| 130 + 3 * block),
            contrast(Some(0), |block| 30 + block),
            contrast(Some(1), |block| 100 + 2 * block),
        ];
        let bill = bill_of(&all[0], &all, 0.05).unwrap();
        assert!(bill.without_supervisor);
        near(&bill.in_all_us, 146.5);
        near(&bill.parts[0].time_us, 35.5);
        near(&bill.parts[1].time_us, 111.0);
        near(&bill.parts[1].cpu_us, 0.75 * 111.0);
        near(&bill.left_over_us, 0.0);
        let left = bill.left_over_us.known().unwrap();
        assert!(left.hi.unwrap() - left.lo.unwrap() < 1e-6, "{left:?}");
    }

    /// Makes three contrasts between these arms, judges them, and returns the bill; the last contrast is invalid for
    /// the reasons in `spoilt`.
    fn judged(arms: [&str; 2], spoilt: &[&str]) -> Option<TrialBill> {
        let mut all = [contrast(None, |_| 130), contrast(Some(0), |_| 30), contrast(Some(1), |_| 100)];
        for (idx, comparison) in all.iter_mut().enumerate() {
            let ending = Ending {
                invalid: spoilt.iter().filter(|_| idx == 2).map(|it| (*it).to_owned()).collect(),
                look: Some(0),
                alpha: 0.05,
                stopped_early: false,
            };
            judge(comparison, &arms.map(made_up::arm), &[ending], &mut |_| Vec::new());
        }
        add_trial_bill(&mut all);
        all[0].trial.as_ref().unwrap().bill.clone()
    }

    #[test]
    fn only_sound_contrasts_of_tcp_against_the_socket_have_a_bill() {
        near(&judged(["unix", "tcp"], &[]).unwrap().in_all_us, 130.0);
        assert_eq!(judged(["unix", "tcp"], &["pages failed"]), None);
        assert_eq!(judged(["tcp", "unix"], &[]), None);
        assert_eq!(judged(["tcp", "tcp"], &[]), None);
    }

    #[test]
    fn what_does_not_add_up_is_left_over() {
        let all = [contrast(None, |_| 200), contrast(Some(0), |_| 30), contrast(Some(1), |_| 100)];
        let bill = bill_of(&all[0], &all, 0.05).unwrap();
        near(&bill.left_over_us, 70.0);
    }

    #[test]
    fn one_server_has_no_bill() {
        let all = [contrast(None, |_| 130), contrast(Some(0), |_| 130)];
        assert_eq!(bill_of(&all[0], &all, 0.05), None);
    }
}
