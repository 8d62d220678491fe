//! Compares the overview of a made-up fleet with the values from which the fleet was made.

use looptax_fleet::{Answers, Limits, Listed, Machines, Measured, Payer, hosts, overview};
use looptax_model::record::Fleet;
use looptax_model::stats::Estimate;
use looptax_model::stats::meta::Effect;
use rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The kinds of server, and the CPU time in µs that TCP adds to a request of each: mean and spread.
const KINDS: [(&str, f64, f64); 3] = [("mariadb", 3.5, 0.6), ("postgres", 2.6, 0.3), ("redis", 2.5, 0.5)];
/// Standard error of a measurement in µs, from twelve epochs.
const ERROR_US: f64 = 0.15;
const EPOCHS: usize = 12;

/// Makes a fleet, and returns it with the number of cores that it truly loses.
fn made_up(n_hosts: usize, n_measured: usize, seed: u64) -> (Answers, f64) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut normal = move || -> f64 { StandardNormal.sample(&mut rng) };
    let (mut answers, mut lost) = (Answers::default(), 0.0);
    for idx in 0..n_hosts {
        for (server, mean, spread) in KINDS {
            let truth = mean + spread * normal();
            if idx < n_measured {
                let measured = measured(idx, server, truth + ERROR_US * normal());
                answers.measured.rows.push(measured);
            }
            for client in ["php-fpm", "gunicorn"] {
                let requests_per_s = (6.0 + 1.5 * normal()).exp();
                lost += requests_per_s * truth / 1e6;
                answers.payers.rows.push(Payer {
                    host_id: format!("id{idx}"),
                    host: format!("host{idx}"),
                    client: client.to_owned(),
                    server: server.to_owned(),
                    connections: 3,
                    requests_per_s,
                    has_socket: idx % 2 == 0,
                    fell_back: false,
                    at_s: 0,
                });
            }
        }
    }
    answers.conditions = machines(n_hosts as u64);
    (answers, lost)
}

fn measured(idx: usize, server: &str, value: f64) -> Measured {
    // The factor is the quantile of the t distribution with 11 degrees of freedom, at 5 %.
    let half = ERROR_US * 2.201;
    let cpu_us = Estimate { value, lo: value - half, hi: value + half, n: EPOCHS };
    Measured {
        host_id: format!("id{idx}"),
        host: format!("host{idx}"),
        server: server.to_owned(),
        server_version: "1.2.3-deb".to_owned(),
        kernel: if idx.is_multiple_of(3) { "5.10" } else { "6.1" }.to_owned(),
        cpu_model: "made up".to_owned(),
        virtualised: String::new(),
        cpu_us,
        effect: Effect::from_interval(&cpu_us, 0.05).unwrap(),
    }
}

fn machines(hosts: u64) -> Listed<Machines> {
    let of = |kernel: &str, hosts| Machines {
        kernel: kernel.to_owned(),
        cpu_model: "made up".to_owned(),
        virtualised: String::new(),
        hosts,
        tcp_requests_per_s: 1.0,
    };
    Listed { rows: vec![of("6.1", hosts - 2), of("5.10", 1), of("5.10", 1)], is_cut: false }
}

fn said(answers: Answers) -> Fleet {
    overview(answers, "2026-11-25T00:00:00+00:00".to_owned(), "0", Limits::PAGE)
}

fn covers(estimate: &looptax_model::record::Estimate, truth: f64) -> bool {
    estimate.lo.unwrap() <= truth && truth <= estimate.hi.unwrap()
}

#[test]
fn the_sum_is_that_of_the_fleet() {
    let n_covered = (1..=40).filter(|seed| {
        let (answers, truth) = made_up(300, 60, *seed);
        let fleet = said(answers);
        assert_eq!(fleet.not_measured.n, 0);
        let lost = fleet.lost.unwrap();
        assert_eq!((lost.n_measured, lost.n_predicted), (180, 720));
        covers(&lost.cores, truth)
    });
    // 95 % of 40 is 38; fewer than 34 occur by chance once in a hundred times.
    let n_covered = n_covered.count();
    assert!(n_covered >= 34, "{n_covered} of 40");
}

#[test]
fn those_that_lose_most_come_first() {
    let (answers, _) = made_up(300, 300, 7);
    let fleet = said(answers);
    let cores = |it: &looptax_model::record::FleetMove| it.cores.unwrap().value;
    assert_eq!(fleet.first.rows.len(), 20);
    assert!(fleet.first.rows.is_sorted_by(|one, next| cores(one) >= cores(next)));
    assert_eq!(fleet.first.n, 1800);
    let chance: f64 = fleet.first.rows.iter().filter_map(|it| it.top_probability).sum();
    assert!((15.0..=20.0).contains(&chance), "{chance}");
    assert_eq!(fleet.pairs.rows.len(), 6);
    let pair = &fleet.pairs.rows[0];
    assert_eq!((pair.server.as_str(), pair.hosts, pair.hosts_with_socket), ("mariadb", 300, 150));
    let sum: f64 = fleet.pairs.rows.iter().map(|it| it.cores.unwrap().value).sum();
    let whole = fleet.lost.unwrap().cores.value;
    assert!((sum / whole - 1.0).abs() < 1e-9, "{sum} of {whole}");
}

#[test]
fn kinds_differ_and_kernels_that_do_not_are_not_said_to() {
    let (answers, _) = made_up(200, 200, 3);
    let fleet = said(answers);
    let of = |name: &str| fleet.effects.iter().find(|it| it.condition == name).unwrap();
    assert!(of("server").p.unwrap() < 1e-6);
    assert!(of("kernel").p.unwrap() > 0.05, "{:?}", of("kernel"));
    // All machines have the same CPU, so the CPU is not a condition by which they differ.
    assert!(fleet.effects.iter().all(|it| it.condition != "cpu"));
    for (server, mean, spread) in KINDS {
        let group = of("server").groups.iter().find(|it| it.label == server).unwrap();
        assert!((group.cpu_us.value - mean).abs() < 0.2, "{group:?}");
        assert!((group.tau_us.unwrap() - spread).abs() < 0.15, "{group:?}");
    }
    assert_eq!(of("server version").groups[0].label.split(' ').nth(1), Some("1.2.3"));
}

#[test]
fn a_machine_that_measured_something_else_is_named_and_its_like_are_not() {
    let (mut answers, _) = made_up(200, 200, 5);
    let odd = measured(3, "redis", 12.0);
    answers.measured.rows[3 * 3 + 2] = odd;
    let fleet = said(answers);
    assert_eq!(fleet.unlike.rows[0].host, "host3");
    assert!(fleet.unlike.n <= 3, "{:?}", fleet.unlike);
}

#[test]
fn one_of_a_few_machines_that_is_far_off_does_not_hide_behind_itself() {
    let (mut answers, _) = made_up(8, 8, 5);
    answers.measured.rows[3 * 3 + 2] = measured(3, "redis", 40.0);
    let fleet = said(answers);
    assert_eq!(fleet.unlike.rows[0].host, "host3");
    assert_eq!(fleet.unlike.n, 1, "{:?}", fleet.unlike);
}

#[test]
fn without_measurements_there_are_requests_and_no_cores() {
    let (answers, _) = made_up(30, 0, 1);
    let fleet = said(answers);
    assert_eq!((fleet.lost.is_none(), fleet.not_measured.n), (true, 3));
    assert!(fleet.tcp_requests_per_s > 0.0 && fleet.hosts_over_tcp == 30);
    assert!(fleet.effects.is_empty() && fleet.unlike.n == 0);
    let rates = fleet.first.rows.iter();
    assert!(rates.map(|it| it.requests_per_s).is_sorted_by(|one, next| one >= next));
    assert!(fleet.pairs.rows.iter().all(|it| it.cores.is_none()));
    // One measurement per kind does not show how much machines differ.
    let (answers, _) = made_up(30, 1, 1);
    let fleet = said(answers);
    assert_eq!((fleet.lost.is_none(), fleet.not_measured.n), (true, 0));
    let (answers, _) = made_up(30, 2, 1);
    assert!(said(answers).lost.is_some_and(|it| it.cores.value > 0.0));
}

#[test]
fn a_kind_that_no_machine_measured_has_no_cost_and_is_named() {
    let (mut answers, _) = made_up(12, 3, 1);
    answers.measured.rows.retain(|it| it.server == "redis");
    let hosts = hosts(&answers, 100);
    let fleet = said(answers);
    let lost = fleet.lost.as_ref().unwrap();
    assert_eq!((lost.n_measured, lost.n_predicted), (3, 9));
    assert!(fleet.pairs.rows.iter().all(|it| it.cores.is_some() == (it.server == "redis")), "{:?}", fleet.pairs);
    for it in &fleet.first.rows {
        let is_known = it.server == "redis";
        assert_eq!((it.cores.is_some(), it.top_probability.is_some()), (is_known, is_known), "{it:?}");
    }
    let sum: f64 = fleet.pairs.rows.iter().filter_map(|it| it.cores.as_ref()).map(|it| it.value).sum();
    assert!((sum / lost.cores.value - 1.0).abs() < 1e-9, "{sum} of {lost:?}");
    let unknown = &fleet.not_measured.rows;
    let mut kinds: Vec<&str> = unknown.iter().map(|it| it.server.as_str()).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["mariadb", "postgres"]);
    assert!(unknown.is_sorted_by(|one, next| one.requests_per_s >= next.requests_per_s));
    let of_redis = fleet.pairs.rows.iter().filter(|it| it.server == "redis").map(|it| it.requests_per_s);
    let all = of_redis.chain(unknown.iter().map(|it| it.requests_per_s)).sum::<f64>();
    assert!((all / fleet.tcp_requests_per_s - 1.0).abs() < 1e-9, "{all}");
    assert_eq!(hosts.rows.len(), 12);
    assert!(hosts.rows.iter().all(|it| it.cores.is_some() && it.not_measured.len() == 2), "{hosts:?}");
}

#[test]
fn an_empty_fleet_is_one() {
    let fleet = said(Answers::default());
    assert_eq!((fleet.hosts, fleet.hosts_over_tcp), (0, 0));
    assert_eq!((fleet.first.n, fleet.pairs.n, fleet.fell_back.n), (0, 0, 0));
}

#[test]
fn lists_are_cut_and_say_how_long_they_are() {
    let (mut answers, _) = made_up(20, 10, 1);
    for payer in answers.payers.rows.iter_mut().take(70) {
        payer.fell_back = true;
    }
    answers.payers.is_cut = true;
    let fleet = said(answers);
    assert_eq!((fleet.fell_back.rows.len(), fleet.fell_back.n), (25, 70));
    assert!(fleet.fell_back.has_more_than_n && !fleet.movers.has_more_than_n);
    // Two builds of one release become one row; the most common machines come first.
    let conditions = fleet.conditions.rows.iter().map(|it| (it.kernel.as_str(), it.hosts));
    assert_eq!(conditions.collect::<Vec<_>>(), [("6.1", 18), ("5.10", 2)]);
    assert_eq!(fleet.hosts, 20);
}
