//! Tests of `why` with made-up epochs.

use crate::record::{Raw, Sampling, Slice};

use super::*;

/// Makes an epoch whose requests take `us` of CPU time over each arm; the number of requests differs from epoch to
/// epoch.
fn epoch(idx: u64, us: [u64; 2]) -> Epoch {
    let slice = |side: usize| {
        let requests = 1_000 + 10 * idx;
        Slice {
            requests,
            client_cpu_ns: Some(requests * us[side] * 250),
            server_cpu_ns: Some(requests * us[side] * 750),
            ..Slice::default()
        }
    };
    Epoch { pair: [0, 1], order: "bo".to_owned(), slices: vec![slice(0), slice(1)], ..Epoch::default() }
}

/// Makes a comparison in which a request takes 10 µs over the baseline and 15 µs over the other arm. With the sampler,
/// each request takes a tenth more. Over both arms, a third of the CPU time is in the first layer.
fn comparison(seen_pct: u64) -> record::Comparison {
    let sampled = |idx: u64| {
        let raw = epoch(idx, [11, 16]);
        let ns = |side: usize| {
            let total = raw.slices[side].requests * [11_000, 16_500][side] * seen_pct / 100;
            vec![total / 3, total - total / 3, 0]
        };
        SampledEpoch { layer_ns: [ns(0), ns(1)], counts: [vec![2_000], vec![2_000]], raw }
    };
    let sampling = Sampling { sees_kernel: true, n_samples: 10_000, ..Sampling::default() };
    let layers = ["programs", "TCP, IP", "not attributed"].map(str::to_owned);
    let epochs: Vec<SampledEpoch> = (0..12).map(sampled).collect();
    let part = |function: Option<&str>, layer: usize| SampledPart {
        process: "server".to_owned(),
        function: function.map(str::to_owned),
        is_kernel: false,
        ns: { epochs.iter() }.map(|it| it.layer_ns.each_ref().map(|ns| ns[layer])).collect(),
        row: None,
    };
    let why = Why {
        processes: vec![part(None, 0)],
        functions: vec![part(Some("tcp_sendmsg"), 1)],
        epochs,
        counters: vec!["client sends".to_owned()],
        ..Why::unmeasured([0, 1], sampling, layers.to_vec())
    };
    record::Comparison {
        why: vec![why],
        raw: Raw { epochs: (0..12).map(|idx| epoch(idx, [10, 15])).collect() },
        ..crate::analysis::made_up::comparison()
    }
}

#[test]
fn layers_add_up_to_what_is_measured_without_the_sampler() {
    let mut comparison = comparison(100);
    complete(&mut comparison);
    let why = &comparison.why[0];
    let value = |figure: &Figure| figure.known().unwrap().value;
    let sum = why.sum.as_ref().unwrap();
    for side in 0..2 {
        let rows: f64 = why.rows.iter().map(|it| value(&it.arms[side])).sum();
        assert!((rows - value(&sum.arms[side])).abs() < 1e-9);
    }
    let without = why.without_sampler.as_ref().unwrap();
    assert!((value(&without.difference) - 5.0).abs() < 1e-9);
    assert!((value(&sum.difference) - 5.0).abs() < 0.2, "{sum:?}");
    let added = value(why.sampler_pct.as_ref().unwrap());
    assert!((added - 8.0).abs() < 0.1, "{added}");
    assert_eq!(why.rows.len(), 2, "a layer without samples is left out");
    assert_eq!(why.invalid, Vec::<String>::new());
}

#[test]
fn too_few_epochs_have_figures_without_an_interval() {
    let mut comparison = comparison(100);
    comparison.why[0].epochs.truncate(2);
    comparison.raw.epochs.truncate(1);
    complete(&mut comparison);
    let why = &comparison.why[0];
    let figures = |row: &WhyRow| [&row.arms[0], &row.arms[1], &row.difference].map(Clone::clone);
    let rows = why.rows.iter().chain(&why.sum).chain(&why.without_sampler).chain(&why.counts);
    let all = rows.flat_map(figures).chain(why.sampler_pct.clone());
    for figure in all {
        let known = figure.known().unwrap();
        assert_eq!((known.lo, known.hi), (None, None), "{known:?}");
    }
    let added = why.sampler_pct.as_ref().unwrap().known().unwrap().value;
    assert!((added - 8.0).abs() < 0.1, "{added}");
    let sum = why.sum.as_ref().unwrap().difference.known().unwrap().value;
    assert!((sum - 5.0).abs() < 0.2, "less the sampler's part: {sum}");
    assert!(why.rows.iter().all(|it| it.p.is_none()));
}

#[test]
fn a_share_that_may_be_nothing_has_no_most_that_the_sampler_adds() {
    let share = |value, lo, hi| Estimate { value, lo, hi, n: 4 };
    let added = added_pct(share(0.8, -0.2, 1.6)).unwrap();
    assert!((added.value - 25.0).abs() < 1e-9);
    assert!((added.lo + 37.5).abs() < 1e-9 && added.hi.is_infinite());
    let open = added_pct(Estimate::without_interval(0.8, 1)).unwrap();
    assert!(open.lo.is_infinite() && open.hi.is_infinite(), "{open:?}");
    assert_eq!(added_pct(share(-0.1, -0.5, 0.3)), None);
}

#[test]
fn functions_and_processes_have_the_figures_that_a_layer_of_their_time_has() {
    let mut comparison = comparison(100);
    complete(&mut comparison);
    let why = &comparison.why[0];
    let figures = |row: &WhyRow| (row.arms.clone(), row.difference.clone());
    let [server, function] = [&why.processes, &why.functions].map(|it| it[0].row.as_ref());
    assert_eq!(figures(server.unwrap()), figures(&why.rows[0]));
    assert_eq!(figures(function.unwrap()), figures(&why.rows[1]));
    assert_eq!(function.unwrap().name, "tcp_sendmsg");
}

#[test]
fn what_a_request_waits_for_is_nobodys_cpu_time() {
    let mut comparison = comparison(100);
    // Over the other arm each request waits 40 µs for a timer.
    for epoch in &mut comparison.raw.epochs {
        for (side, slice) in epoch.slices.iter_mut().enumerate() {
            slice.active_ns = slice.requests * [10_000, 55_000][side];
        }
    }
    comparison.placement.asked = Placement::Same;
    complete(&mut comparison);
    let idle = comparison.why[0].idle.clone().unwrap();
    let [unix, tcp] = idle.arms.map(|it| it.known().unwrap().value);
    assert!(unix.abs() < 1e-9 && (tcp - 40.0).abs() < 1e-9, "{unix} {tcp}");
    comparison.placement.asked = Placement::Free;
    complete(&mut comparison);
    assert_eq!(comparison.why[0].idle, None, "cores that others may use");
}

#[test]
fn samples_of_another_time_than_the_clocks_make_it_invalid() {
    for (seen_pct, is_valid) in [(40, false), (97, true), (130, false)] {
        let mut comparison = comparison(seen_pct);
        complete(&mut comparison);
        let invalid = &comparison.why[0].invalid;
        assert_eq!(invalid.is_empty(), is_valid, "{seen_pct}: {invalid:?}");
    }
}

#[test]
fn a_layer_without_a_sample_has_the_spread_of_one() {
    let mut comparison = comparison(100);
    comparison.why[0].sampling.period_ns = 1_000_000;
    for epoch in &mut comparison.why[0].epochs {
        epoch.layer_ns[0][1] = 0;
    }
    complete(&mut comparison);
    let tcp = &comparison.why[0].rows[1];
    let known = tcp.arms[0].known().unwrap();
    // One sample of 1 ms, divided by the number of all requests, times the quantile of Student's t with eleven degrees
    // of freedom.
    let requests: u64 = (0..12).map(|idx| 1_000 + 10 * idx).sum();
    let expected = 2.201 * 1_000.0 / requests as f64 * 10.0 / 11.0;
    assert!(known.value.abs() < 1e-12, "{known:?}");
    assert!((known.hi.unwrap() - expected).abs() < 0.02 * expected, "{known:?} {expected}");
    assert_eq!(n_samples(&comparison.why[0], "TCP, IP", 0), Some(0.0));
    assert!(n_samples(&comparison.why[0], "TCP, IP", 1).unwrap() > 50.0);
}
