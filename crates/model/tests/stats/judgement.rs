//! Checks whole judgements of small runs whose figures can be computed by hand.

use looptax_model::stats::{
    Direction, Epoch, Estimate, Input, Judgement, Metric, Quantile, QuantileComparison as Comparison, Reason, Side,
    Slice, Verdict, Warning, judge,
};

use crate::noise_model::{CLOUD, Rng};

/// Requests per slice of 50 ms, `[baseline, other]`: θ = ln 1.1.
const COUNTS: [u64; 2] = [5500, 5000];

fn slice(side: Side) -> Slice {
    let n = COUNTS[side.idx()];
    Slice {
        side,
        completions: n,
        early: n / 5,
        active_ns: 50_000_000,
        drained: 0,
        drain_ns: 0,
        requests: n,
        client_cpu_ns: Some(4000 * n),
        server_cpu_ns: Some([3000, 5000][side.idx()] * n),
        client_switches: 2 * n,
        is_in_place: true,
        response: None,
    }
}

fn epoch() -> Epoch {
    let order = [1, 0, 0, 1, 0, 1, 1, 0].map(|idx: usize| Side::BOTH[idx]);
    Epoch { slices: order.map(slice).to_vec(), latencies_ns: [vec![9_000; 100], vec![10_000; 100]], noise: None }
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
fn check(found: Option<Estimate>, expected: f64) {
    let found = found.expect("an estimate");
    assert!((found.value - expected).abs() < 1e-9, "{found:?}, expected {expected}");
    assert!(found.has_interval() && found.lo <= found.value && found.value <= found.hi);
}

#[test]
fn every_figure_of_a_run_without_noise_is_exact() {
    let found = judged(&vec![epoch(); 10]);
    assert_eq!(found.verdict, Verdict::Difference);
    assert_eq!(found.direction, Some(Direction::OtherSlower));
    assert_eq!(found.reason, Reason::ExcludesZero);
    check(found.theta, 1.1_f64.ln());
    check(found.tax_pct, 100.0 / 11.0);
    check(found.totals, 1.1_f64.ln());
    check(found.latency_us, 10.0 - 50_000.0 / 5500.0);
    check(found.cpu_us.client, 0.0);
    check(found.cpu_us.server, 2.0);
    check(found.cpu_us.both, 2.0);
    let [baseline, other] = &found.sides;
    check(baseline.throughput_per_s, 110_000.0);
    check(other.throughput_per_s, 100_000.0);
    check(other.total_per_s, 100_000.0);
    check(other.latency_us, 10.0);
    check(other.cpu_server_us, 5.0);
    check(other.switches_per_request, 2.0);
    assert_eq!(other.n_requests, 200_000);
}

#[test]
fn percentiles_come_with_intervals_or_with_what_is_missing() {
    let found = judged(&vec![epoch(); 10]);
    let names: Vec<Quantile> = found.percentiles.iter().map(|percentile| percentile.quantile).collect();
    assert_eq!(names, Quantile::ALL);
    let Comparison::Known(tax) = &found.percentiles[0].comparison else {
        panic!("{:?}", found.percentiles[0]);
    };
    check(Some(tax.difference_us), 1.0);
    check(Some(tax.ln_ratio), (10.0_f64 / 9.0).ln());
    let expected = Comparison::NotEnough { have: 1, need: 6, n_epochs_needed: Some(60) };
    assert_eq!(found.percentiles[2].comparison, expected);
}

#[test]
fn a_slice_shorter_than_ten_tails_has_no_p99() {
    let slow = Epoch { latencies_ns: [vec![9_000_000; 1000], vec![10_000_000; 1000]], ..epoch() };
    let found = judged(&vec![slow; 10]);
    let expected = Comparison::SliceTooShort { slice_us: 50_000.0, p99_us: 10_000.0 };
    assert_eq!(found.percentiles[2].comparison, expected);
    assert_eq!(found.percentiles[3].comparison, expected);
    assert!(matches!(found.percentiles[1].comparison, Comparison::Known(_)));
}

#[test]
fn secondary_metrics_are_starred_after_holm_only() {
    let found = judged(&vec![epoch(); 10]);
    let metrics: Vec<Metric> = found.secondary.iter().map(|secondary| secondary.metric).collect();
    let (p50, p90) = (Metric::Latency(Quantile::P50), Metric::Latency(Quantile::P90));
    assert_eq!(metrics, [Metric::ClientCpu, Metric::ServerCpu, Metric::BothCpu, p50, p90]);
    let server = &found.secondary[1];
    assert!((server.p_value - 2.0 / 1024.0).abs() < 1e-12);
    assert!((server.p_holm - 10.0 / 1024.0).abs() < 1e-12 && server.is_starred);
    assert!(!found.secondary[0].is_starred);
}

#[test]
fn what_went_wrong_is_named() {
    let mut epochs = vec![epoch(); 10];
    epochs[3].slices[1].drain_ns = 40_000_000;
    epochs[4].slices.truncate(5);
    let found = judged(&epochs);
    assert!(found.warnings.contains(&Warning::IncompleteEpochs { n_epochs: 1, n_all: epochs.len() }));
    let stall = Warning::Stalls { n_stalls: [1, 0], longest_ms: 40.0 };
    assert!(found.warnings.contains(&stall));
    assert_eq!(found.theta.map(|theta| theta.n), Some(9));
    assert_eq!(found.diagnostics.stalls[0].epoch_idx, 3);
}

#[test]
fn stalls_on_one_arm_set_the_totals_apart() {
    let mut epochs = vec![epoch(); 10];
    for epoch in &mut epochs {
        epoch.slices[0].drain_ns = 40_000_000;
    }
    let found = judged(&epochs);
    check(found.theta, 1.1_f64.ln());
    // The windows and drains of the other arm together took 240 ms instead of 200 ms.
    check(found.totals, 1.1_f64.ln() + 1.2_f64.ln());
    let is_told = |warning: &Warning| matches!(warning, Warning::TotalsDisagree { .. });
    assert!(found.warnings.iter().any(is_told));
}

#[test]
fn nothing_measured_gives_no_figures() {
    let found = judged(&[]);
    assert_eq!(found.verdict, Verdict::Inconclusive);
    assert_eq!((found.theta, found.tax_pct, found.totals), (None, None, None));
    assert_eq!(found.sides[0].throughput_per_s, None);
    assert_eq!(found.secondary, []);
}

#[test]
fn a_side_without_cpu_figures_says_so() {
    let mut epochs = vec![epoch(); 10];
    for slice in epochs.iter_mut().flat_map(|epoch| &mut epoch.slices) {
        slice.server_cpu_ns = None;
    }
    let found = judged(&epochs);
    check(found.cpu_us.client, 0.0);
    assert_eq!((found.cpu_us.server, found.cpu_us.both), (None, None));
}

#[test]
fn the_same_input_gives_the_same_bits() {
    let epochs = CLOUD.epochs(12, &mut Rng::new(7));
    // `Debug` prints as many digits as are necessary to distinguish two floats.
    let digits = |epochs: &[Epoch]| format!("{:?}", judged(epochs));
    assert_eq!(digits(&epochs), digits(&epochs.clone()));
    let others = CLOUD.epochs(12, &mut Rng::new(8));
    assert_ne!(digits(&epochs), digits(&others));
}
