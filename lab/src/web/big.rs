//! Records that are made for the page from a real record: a large sweep, and a record in which every string is hostile.
//!
//! The figures in them mean nothing; only their number and form matter.

use looptax_model::record::{Comparison, Epoch, Record};

use super::why;

/// A string that would misuse a browser or a terminal, or mislead a reader, if it were not escaped.
pub(super) const HOSTILE: &str = "</script><img src=x onerror=alert(1)><b>&\"'\u{202e}\u{1b}[2J`${7*7}`<!--";

/// Number of comparisons in a sweep: 1 to 1024 connections.
const POINTS: u32 = 11;
/// Time between the beginnings of two epochs, in ns.
const EPOCH_NS: u64 = 500_000_000;

/// Makes a sweep of 1 to 1024 connections over three arms, with `n_epochs` epochs per pair of arms, from a record of
/// two arms.
pub(super) fn sweep(real: &Record, n_epochs: usize) -> Record {
    let mut record = real.clone();
    "sweep".clone_into(&mut record.id);
    let points = (0..POINTS).map(|power| comparison(&real.comparisons[0], 1 << power, n_epochs));
    record.comparisons = points.collect();
    record
}

fn comparison(real: &Comparison, connections: u32, n_epochs: usize) -> Comparison {
    let mut made = real.clone();
    made.connections = connections;
    let mut third = made.arms[1].clone();
    "tls".clone_into(&mut third.name);
    made.arms.push(third);
    let mut tax = made.tax[0].clone();
    "tls".clone_into(&mut tax.arm);
    made.tax.push(tax);
    let seen = std::mem::take(&mut made.raw.epochs);
    let begin_ns = seen[0].slices[0].start_ns;
    for idx in 0..2 * n_epochs {
        let other = 1 + (idx % 2) as u32;
        let start_ns = begin_ns + idx as u64 * EPOCH_NS;
        made.raw.epochs.push(epoch(&seen[idx / 2 % seen.len()], other, start_ns));
    }
    made
}

/// Makes a copy of an epoch for the baseline and this arm, which begins at `start_ns`.
fn epoch(real: &Epoch, other: u32, start_ns: u64) -> Epoch {
    let mut made = real.clone();
    made.pair = [0, other];
    made.samples = [None, None];
    let begin_ns = made.slices[0].start_ns;
    for slice in &mut made.slices {
        slice.start_ns = start_ns + (slice.start_ns - begin_ns);
        if slice.arm_idx != 0 {
            slice.arm_idx = other;
        }
    }
    made
}

/// Returns the record with hostile strings in every place that may contain text from outside.
pub(super) fn hostile(mut record: Record) -> Record {
    let hostile = || HOSTILE.to_owned();
    record.id = hostile();
    record.started_at = hostile();
    record.looptax_version = hostile();
    record.command = vec!["looptax".to_owned(), hostile()];
    record.problems = vec![hostile()];
    record.host.kernel = hostile();
    record.host.cpu_model = Some(hostile());
    record.host.sysctls.insert(hostile(), hostile());
    for comparison in &mut record.comparisons {
        comparison.target.version = hostile();
        comparison.target.name = hostile();
        comparison.target.private = false;
        comparison.target.settings.insert(hostile(), hostile());
        comparison.workload.name = hostile();
        comparison.placement.real = hostile();
        comparison.warnings = vec![hostile()];
        for arm in &mut comparison.arms {
            arm.name.push_str(HOSTILE);
            arm.endpoint = hostile();
            arm.proof.server_view = Some(hostile());
            arm.proof.tls = Some(hostile());
        }
        for it in &mut comparison.why {
            why::make_hostile(it, HOSTILE);
        }
        for tax in &mut comparison.tax {
            tax.arm.push_str(HOSTILE);
            tax.baseline.push_str(HOSTILE);
        }
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_two_arms_becomes_a_sweep_of_three() {
        let text = include_str!("../../../crates/store/tests/records/record.json");
        let made = hostile(sweep(&serde_json::from_str(text).unwrap(), 40));
        let points: Vec<u32> = made.comparisons.iter().map(|it| it.connections).collect();
        assert_eq!(points, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]);
        for comparison in &made.comparisons {
            assert_eq!((comparison.arms.len(), comparison.tax.len()), (3, 2));
            assert!(comparison.arms.iter().all(|it| it.name.ends_with(HOSTILE)));
            let epochs = &comparison.raw.epochs;
            assert_eq!(epochs.len(), 80);
            let slices = epochs.iter().flat_map(|epoch| &epoch.slices);
            assert!(slices.map(|slice| slice.start_ns).is_sorted());
            let last = epochs[79].slices.iter().map(|slice| slice.arm_idx);
            assert!(epochs[79].pair == [0, 2] && last.max() == Some(2));
        }
    }
}
