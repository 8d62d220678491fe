//! Checks epochs of four whole runs, in the order ABBA or BAAB, whose figures can be computed by hand.

use looptax_model::stats::{Epoch, Estimate, Input, Judgement, Reason, Side, Slice, Verdict, judge};

/// Makes a run of a command that takes this number of seconds.
fn run(side: Side, seconds: f64) -> Slice {
    Slice {
        side,
        completions: 1,
        early: 0,
        active_ns: (seconds * 1e9).round() as u64,
        drained: 0,
        drain_ns: 0,
        requests: 1,
        client_cpu_ns: Some([40_000_000, 50_000_000][side.idx()]),
        server_cpu_ns: Some([7_000_000, 9_000_000][side.idx()]),
        client_switches: 3,
        is_in_place: true,
        response: None,
    }
}

/// Makes an epoch in this order (`b`, `o`), with two runs of each arm.
fn epoch(order: &str, baseline_s: [f64; 2], other_s: [f64; 2]) -> Epoch {
    let mut left = [baseline_s.to_vec(), other_s.to_vec()];
    let slices = order.chars().map(|letter| {
        let side = if letter == 'o' { Side::Other } else { Side::Baseline };
        run(side, left[side.idx()].remove(0))
    });
    Epoch { slices: slices.collect(), latencies_ns: [vec![], vec![]], noise: None }
}

fn judged(epochs: &[Epoch]) -> Judgement {
    judge(&Input {
        epochs,
        connections: 1,
        alpha: 0.05,
        delta: 0.01,
        invalid: vec![],
        stopped_early: false,
        can_move: false,
    })
}

#[track_caller]
fn check(found: Option<Estimate>, expected: [f64; 3]) {
    let found = found.expect("an estimate");
    for (found, expected) in [found.lo, found.value, found.hi].into_iter().zip(expected) {
        assert!((found - expected).abs() < 1e-6, "found {found}, expected {expected}");
    }
}

#[test]
fn theta_is_the_mean_log_of_two_runs_against_that_of_two() {
    // The geometric means are 2 s and 4 s, so theta = ln 2 and half of the throughput is lost.
    let found = epoch("boob", [1.0, 4.0], [2.0, 8.0]).theta().unwrap();
    assert!((found - 2_f64.ln()).abs() < 1e-12);
    let turned = epoch("obbo", [1.0, 4.0], [2.0, 8.0]).theta().unwrap();
    assert!((turned - 2_f64.ln()).abs() < 1e-12);
    assert_eq!(epoch("bobo", [1.0, 4.0], [2.0, 8.0]).theta(), Some(found));
    assert_eq!(epoch("boo", [1.0, 4.0], [2.0, 8.0]).theta(), None);
}

#[test]
fn six_epochs_give_the_interval_from_the_smallest_to_the_largest() {
    // The Walsh averages of 0.01 … 0.06 have the median 0.035; at n = 6 and 5 % the ends of the interval are w[0] and
    // w[20]. In this order the values have no trend; a trend would be an objection.
    let epochs = [4, 1, 6, 3, 5, 2].map(|i| {
        let other_s = (0.01 * f64::from(i)).exp();
        let order = if i % 2 == 0 { "boob" } else { "obbo" };
        epoch(order, [1.0; 2], [other_s; 2])
    });
    let found = judged(&epochs);
    check(found.theta, [0.01, 0.035, 0.06]);
    // The tax is 100·(1 − e^−θ).
    check(found.tax_pct, [0.995_016_625, 3.439_458_374, 5.823_546_642]);
    assert_eq!(found.verdict, Verdict::Difference);
    // The latency is in milliseconds per run: from 1000·(e^0.01 − 1) to 1000·(e^0.06 − 1).
    let ms = found.latency_us.unwrap();
    assert!((ms.lo - 10_050.167).abs() < 1e-2 && (ms.hi - 61_836.547).abs() < 1e-2);
    check(found.cpu_us.client, [10_000.0; 3]);
    check(found.cpu_us.server, [2_000.0; 3]);
    check(found.cpu_us.both, [12_000.0; 3]);
    check(found.sides[1].cpu_client_us, [50_000.0; 3]);
}

#[test]
fn five_epochs_give_no_answer() {
    let found = judged(&vec![epoch("obbo", [1.0; 2], [1.5; 2]); 5]);
    assert_eq!(found.verdict, Verdict::Inconclusive);
    assert_eq!(found.reason, Reason::TooFewEpochs { have: 5, need: 6 });
}

#[test]
fn a_run_that_was_cut_short_before_ten_epochs_has_no_interval() {
    let judged = |n_epochs| {
        judge(&Input {
            alpha: 0.002,
            epochs: &vec![epoch("obbo", [1.0; 2], [1.5; 2]); n_epochs],
            connections: 1,
            delta: 0.01,
            invalid: vec![],
            stopped_early: false,
            can_move: false,
        })
    };
    assert_eq!(judged(9).reason, Reason::TooFewEpochs { have: 9, need: 10 });
    assert_eq!(judged(10).verdict, Verdict::Difference);
}

#[test]
fn nothing_is_said_about_guards_and_requests_in_flight() {
    let found = judged(&vec![epoch("obbo", [1.0; 2], [1.5; 2]); 8]);
    assert_eq!(found.diagnostics.guard_transient, None);
    assert_eq!(found.diagnostics.littles_law, [None, None]);
    assert!(found.diagnostics.stalls.is_empty());
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
}
