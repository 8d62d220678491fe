//! Tests of the text below and next to the figures of a table: latencies, and how many verdicts were given.

use looptax_model::record::{Comparison, Figure, PastRun, Placement, Verdict};
use looptax_report::terminal::{Beside, Style, compare, history};

use crate::made_up::{comparison, record};

const WIDE: Style = Style { width: 120, color: false, unicode: true };

fn whole(comparisons: Vec<Comparison>) -> String {
    compare(&record(comparisons, Vec::new()), Beside::default(), WIDE)
}

#[test]
fn r20_only_verdicts_that_were_given_are_counted_as_such() {
    let open = || {
        let mut open = comparison(1, Placement::Same, [94_900.0, 79_800.0]);
        open.tax[0].verdict = Verdict::Inconclusive;
        open.tax[0].direction = None;
        open
    };
    let text = whole(vec![open(), open()]);
    assert!(text.contains("no verdict in this run: 2 comparisons undecided"), "{text}");
    assert!(!text.contains("false alarm"), "{text}");
    let text = whole(vec![
        comparison(1, Placement::Same, [94_900.0, 79_800.0]),
        open(),
        comparison(1, Placement::Same, [94_900.0, 79_800.0]),
    ]);
    assert!(text.contains("2 verdicts (1 more are undecided), each with its own"), "{text}");
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("up to 14 %"), "three were asked for: {text}");
}

#[test]
fn r20_the_table_holds_the_middle_and_the_tail_of_the_latencies() {
    let mut known = comparison(1, Placement::Same, [94_900.0, 79_800.0]);
    for (arm, us) in known.arms.iter_mut().zip([[9.8, 18.0], [11.9, 25.1]]) {
        let figure = |us: f64| Figure::new(us, us - 0.1, us + 0.1, 10);
        (arm.latency_us.p50, arm.latency_us.p99) = (figure(us[0]), figure(us[1]));
    }
    let record = record(vec![known], Vec::new());
    for width in [80, 120] {
        let style = Style { width, color: false, unicode: true };
        let text = compare(&record, Beside::default(), style);
        let words = "unix p50 9.8 µs, p99 18.0 µs; tcp p50 11.9 µs, p99 25.1 µs";
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(words), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
    }
}

#[test]
fn r20_a_past_run_without_an_interval_says_that_its_epochs_were_too_few() {
    let mut short = comparison(1, Placement::Same, [94_900.0, 79_800.0]);
    short.tax[0].throughput_pct = Figure::new(5.2, f64::NEG_INFINITY, f64::INFINITY, 2);
    let run = PastRun::from_record(&record(vec![short], Vec::new()), None);
    let text = history(&[run], WIDE);
    assert!(text.contains("(too few epochs for an interval)"), "{text}");
    assert!(!text.contains('∞'), "{text}");
}
