//! Judges a whole record again. The summary in the file is never shown. If a verdict in this summary differs from the
//! new verdict, a sentence reports the difference.
//!
//! The file may come from an untrusted person, and its summary may not follow from its counts. All code that reads a
//! record calls this file.

use crate::record::{Comparison, Estimate, Figure, METHOD_VERSION, Record, Samples, Tax};

use crate::analysis::{add_trial_bill, compare_slice_lengths, judge_again, remedies};

/// Judges every comparison of a record again from its raw counts; `unpack` turns its packed latencies into nanoseconds.
///
/// Returns a sentence for each verdict that differs from the record's own summary. A summary that was made by another
/// method version is not compared: its numbers have another meaning.
pub fn judge_record(record: &mut Record, unpack: &mut dyn FnMut(&Samples) -> Vec<u32>) -> Vec<String> {
    let mut untrue = Vec::new();
    for (idx, comparison) in record.comparisons.iter_mut().enumerate() {
        let said: Vec<Tax> = comparison.tax.clone();
        judge_again(comparison, unpack);
        if record.method_version == METHOD_VERSION {
            let found = said.iter().zip(&comparison.tax);
            let differing = found.filter(|(said, found)| !says_the_same(said, found));
            untrue.extend(differing.map(|(said, found)| sentence(idx, comparison, said, found)));
        }
    }
    compare_slice_lengths(&mut record.comparisons);
    add_trial_bill(&mut record.comparisons);
    if let Some(first) = record.remedies.first() {
        record.remedies = remedies::rank_remedies(&record.comparisons, &first.today);
    }
    untrue
}

/// Checks whether two summaries agree bit for bit in the fields that decide the verdict. These fields do not depend on
/// latencies, which a record may have lost.
fn says_the_same(said: &Tax, found: &Tax) -> bool {
    let what = |it: &Tax| (it.verdict, it.direction, it.n_epochs, it.uncertain_size);
    let figures = |it: &Tax| {
        [
            bits(&it.throughput_pct),
            bits(&it.theta),
            bits(&it.total_throughput_pct),
            bits(&it.latency_us.mean),
            bits(&it.cpu_us.both),
        ]
    };
    what(said) == what(found) && figures(said) == figures(found)
}

/// Returns a figure's numbers as bits, for comparisons. The reason for a missing figure is only text and is left out.
fn bits(figure: &Figure) -> Option<(u64, [Option<u64>; 2], u64)> {
    let Estimate { value, lo, hi, n } = *figure.known()?;
    Some((value.to_bits(), [lo, hi].map(|it| it.map(f64::to_bits)), n))
}

fn sentence(idx: usize, comparison: &Comparison, said: &Tax, found: &Tax) -> String {
    let shown = |tax: &Tax| {
        let figure = tax.throughput_pct.known();
        let pct = figure.map_or_else(|| "no figure".to_owned(), |it| format!("{:.1} %", it.value));
        format!("{}, {pct}", tax.verdict)
    };
    format!(
        "comparison {} ({}), {} against {}: the record's summary ({}) does not match its counts ({})",
        idx + 1,
        crate::analysis::words::name(comparison),
        found.arm,
        found.baseline,
        shown(said),
        shown(found)
    )
}

#[cfg(test)]
mod tests {
    use crate::record::{Raw, Verdict};

    use super::*;
    use crate::analysis::{Ending, judge, made_up};

    fn record() -> Record {
        let mut comparison = made_up::comparison();
        let epochs = (0..12).map(|idx| made_up::epoch(idx, [0, 1], [5_500 + idx % 3, 5_000]));
        comparison.raw = Raw { epochs: epochs.collect() };
        let ending = Ending { invalid: Vec::new(), look: Some(0), alpha: 0.05, stopped_early: false };
        let arms = ["unix", "tcp"].map(made_up::arm);
        judge(&mut comparison, &arms, &[ending], &mut |_| Vec::new());
        let mut record = Record::begun("1".to_owned(), "2026-01-01T00:00:00Z".to_owned(), "0.1.0");
        record.comparisons = vec![comparison];
        record
    }

    fn judged(change: impl Fn(&mut Record)) -> (Record, Vec<String>) {
        let mut record = record();
        change(&mut record);
        let untrue = judge_record(&mut record, &mut |_| Vec::new());
        (record, untrue)
    }

    #[test]
    fn a_true_summary_comes_out_again_bit_for_bit() {
        assert_eq!(judged(|_| {}), (record(), Vec::new()));
    }

    #[test]
    fn r44_a_forged_summary_is_replaced_and_told() {
        let (found, untrue) = judged(|record| {
            let tax = &mut record.comparisons[0].tax[0];
            tax.throughput_pct = Figure::new(1.0, 0.5, 1.5, 12);
            tax.verdict = Verdict::Negligible;
        });
        assert_eq!(found, record());
        let [sentence] = &untrue[..] else { panic!("{untrue:?}") };
        let words =
            "tcp against unix: the record's summary (negligible, 1.0 %) does not match its counts (difference, 9.1 %)";
        assert!(sentence.ends_with(words), "{sentence}");
    }

    #[test]
    fn a_summary_of_another_method_is_replaced_and_not_blamed() {
        let (found, untrue) = judged(|record| {
            record.method_version = METHOD_VERSION - 1;
            record.comparisons[0].tax[0].throughput_pct = Figure::new(1.0, 0.5, 1.5, 12);
        });
        assert_eq!(untrue, Vec::<String>::new());
        let pct = found.comparisons[0].tax[0].throughput_pct.known().unwrap();
        assert!((pct.value - 100.0 / 11.0).abs() < 0.05, "{pct:?}");
    }
}
