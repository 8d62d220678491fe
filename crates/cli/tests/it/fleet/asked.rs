//! The answers about a fleet are compared with the reports that were sent; both engines must give the same answers.

use std::fs;

use looptax_model::record::{Fleet, FleetHost, FleetList, FleetMachine};
use looptax_testkit::scratch::Scratch;

use super::made::Made;
use super::{Engine, looptax};
use crate::record::check_fits;

/// The number of machines: each has php-fpm and puma over TCP, except for the first one, whose clients use the socket
/// now.
const N_HOSTS: u32 = 12;
const MEASURED: [(u32, f64); 5] = [(1, 3.1), (2, 3.4), (3, 3.0), (4, 3.3), (5, 3.2)];
/// The machine whose client fell back to TCP.
const FALLEN: u32 = 7;

fn reports() -> String {
    let before = (0..N_HOSTS).map(|host| {
        let mut made = Made::new(host, 1);
        if host == FALLEN {
            made.clients[0].1 = false;
        }
        made
    });
    let now = (0..N_HOSTS).map(|host| {
        let mut made = Made::new(host, 200);
        if host == 0 {
            made.clients.iter_mut().for_each(|it| it.1 = false);
        }
        made.fallen = (host == FALLEN).then(|| "php-fpm".to_owned());
        let mut measured = MEASURED.iter();
        made.measured_us = measured.find(|it| it.0 == host).map(|it| it.1);
        if host == 9 {
            "</script><img src=x>'; DROP".clone_into(&mut made.host);
        }
        made
    });
    before.chain(now).map(|it| it.lines()).collect()
}

fn loaded(engine: &Engine, scratch: &Scratch) {
    fs::write(scratch.file("r.jsonl"), reports()).unwrap();
    for _ in 0..2 {
        looptax(scratch, &["fleet", "send", &engine.url, "--from", "r.jsonl"]).expect_code(0);
    }
}

fn names(list: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = list.iter().map(|(one, other)| ((*one).to_owned(), (*other).to_owned()));
    pairs.collect()
}

#[test]
fn a_report_says_what_was_sent() {
    for engine in Engine::all() {
        let scratch = Scratch::new();
        loaded(&engine, &scratch);
        let said = looptax(&scratch, &["fleet", "report", &engine.url, "--json", "--html", "f.html"]);
        said.expect_code(0);
        check_fits("fleet", &serde_json::from_str(&said.stdout).unwrap());
        let fleet: Fleet = serde_json::from_str(&said.stdout).unwrap();
        assert_eq!((fleet.hosts, fleet.hosts_over_tcp), (12, 11));
        assert!((fleet.tcp_requests_per_s - 22.0 * 100.5).abs() < 1e-6);
        check_cost(&fleet);
        let fallen = fleet.fell_back.rows.iter().map(|it| (it.host.clone(), it.client.clone()));
        assert_eq!(fallen.collect::<Vec<_>>(), names(&[("web7", "php-fpm")]));
        let movers = fleet.movers.rows.iter();
        let mut movers: Vec<_> = movers.map(|it| (it.host.clone(), it.direction.clone())).collect();
        movers.sort();
        let wanted = [("web0", "to socket"), ("web0", "to socket"), ("web7", "to tcp")];
        assert_eq!(movers, names(&wanted));
        // A client that moved to the socket saves the cost of its 100.5 requests a second, at 3.2 µs each; a client
        // that moved to TCP saves nothing.
        for it in &fleet.movers.rows {
            let cores = it.cores.as_ref().map(|it| it.value);
            let wanted = (it.direction == "to socket").then(|| it.requests_per_s.unwrap() * 3.2e-6);
            assert!(cores.is_some() == wanted.is_some(), "{it:?}");
            assert!(cores.zip(wanted).is_none_or(|(cores, wanted)| (cores - wanted).abs() < 1e-4), "{it:?}");
        }
        assert_eq!((fleet.first.n, fleet.pairs.n, fleet.silent.n), (22, 2, 0));
        let page = fs::read_to_string(scratch.file("f.html")).unwrap();
        assert!(page.contains("&lt;/script&gt;&lt;img src=x&gt;"));
        assert!(!page.contains("<script") && !page.contains("<img"));
        assert!(page.len() < 100_000, "{} bytes", page.len());
    }
}

/// Checks the cost of 2,211 requests a second, at 3.2 µs each.
fn check_cost(fleet: &Fleet) {
    let lost = fleet.lost.as_ref().unwrap();
    assert_eq!((lost.n_measured, lost.n_predicted, fleet.not_measured.n), (5, 6, 0));
    assert!((lost.cores.value - 22.0 * 100.5 * 3.2e-6).abs() < 3e-4, "{lost:?}");
    let server = &fleet.effects[0];
    assert_eq!(server.groups[0].label, "mariadb");
    assert!((server.groups[0].cpu_us.value - 3.2).abs() < 0.05);
}

#[test]
fn lists_and_one_machine_are_said_as_text_and_as_json() {
    for engine in Engine::all() {
        let scratch = Scratch::new();
        loaded(&engine, &scratch);
        let run = |arguments: &[&str]| {
            let ended = looptax(&scratch, arguments);
            ended.expect_code(0);
            ended.stdout
        };
        let url = engine.url.as_str();
        let hosts = run(&["fleet", "hosts", url, "--limit", "3", "--json"]);
        check_fits("fleet-hosts", &serde_json::from_str(&hosts).unwrap());
        let hosts: FleetList<FleetHost> = serde_json::from_str(&hosts).unwrap();
        assert_eq!((hosts.rows.len(), hosts.n), (3, 11));
        // On this machine a request costs the most of all measured machines.
        assert_eq!((hosts.rows[0].host.as_str(), hosts.rows[0].connections), ("web2", 6));
        assert!(run(&["fleet", "hosts", url]).contains("web2"));
        let pairs = run(&["fleet", "programs", url]);
        assert!(pairs.contains("php-fpm → mariadb  11"), "{pairs}");
        for list in ["programs", "changes"] {
            let rows = run(&["fleet", list, url, "--json"]);
            check_fits(&format!("fleet-{list}"), &serde_json::from_str(&rows).unwrap());
        }
        let movers = run(&["fleet", "changes", url]);
        assert!(movers.contains("web7") && movers.contains("Fell back"), "{movers}");
        let machine = run(&["fleet", "host", "web3", url, "--json"]);
        check_fits("fleet-host", &serde_json::from_str(&machine).unwrap());
        let machines: Vec<FleetMachine> = serde_json::from_str(&machine).unwrap();
        let [machine] = machines.as_slice() else {
            panic!("{machines:?}");
        };
        assert_eq!((machine.findings.len(), machine.measured.len()), (2, 1));
        assert!(run(&["fleet", "host", "web3", url]).contains("3.00 [2.70, 3.30]"));
        let nobody = looptax(&scratch, &["fleet", "host", "' OR 1=1 --", url]);
        nobody.expect_code(2);
        assert!(nobody.stderr.contains("has no report of a machine"), "{}", nobody.stderr);
    }
}
