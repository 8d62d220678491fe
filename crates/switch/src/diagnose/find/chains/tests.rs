//! Tests chains on invented surveys.

use looptax_host::discover::{OtherConnections, Process, Server, Service, Stack};
use looptax_model::dsn::Kind;

use super::*;

fn process(pid: u32) -> Process {
    let own = looptax_host::discover::process(std::process::id()).unwrap();
    Process { pid, ..own }
}

/// Builds a survey from kinds of servers, names of other processes, and links from client to server. Servers and other
/// processes are numbered in this order, and a process's number is also its pid.
fn survey(servers: &[Kind], others: &[&str], links: &[(usize, usize)]) -> Survey {
    let places = (0..).zip(servers);
    let listed = places.map(|(pid, kind)| Server {
        kind: *kind,
        version: None,
        name: kind.name().to_owned(),
        process: process(pid),
        endpoints: Vec::new(),
        is_hidden: false,
    });
    let listed: Vec<Server> = listed.collect();
    let service = |idx: usize, name: &str, is_server: bool| Service {
        process: process(u32::try_from(idx).unwrap()),
        name: name.to_owned(),
        server_idx: is_server.then_some(idx),
        is_web_server: name == "nginx",
        hands_on: ["nginx", "haproxy", "pgbouncer"].contains(&name),
    };
    let own = listed.iter().enumerate();
    let own = own.map(|(idx, it)| service(idx, &it.name, true));
    let more = (servers.len()..).zip(others);
    let more = more.map(|(idx, name)| service(idx, name, false));
    let links = links.iter().map(|(client, server)| Link {
        client: Some(*client),
        server: *server,
        way: Way::Loopback,
        connections: Vec::new(),
        n_passing: 0,
        processes: BTreeSet::new(),
    });
    Survey {
        others: vec![OtherConnections::default(); listed.len()],
        stack: Stack { services: own.chain(more).collect(), links: links.collect() },
        servers: listed,
        ..Survey::default()
    }
}

#[track_caller]
fn check(survey: &Survey, expected: &[&str]) {
    let all = chains(survey, None, None, &[], &[]);
    let each = all.iter().map(|chain| {
        let hops = chain.hops.iter();
        let named = hops.map(|it| format!("{}>{}", it.client.as_deref().unwrap(), it.server));
        named.collect::<Vec<_>>().join(" ")
    });
    assert_eq!(each.collect::<Vec<_>>(), expected);
}

const PHP: [Kind; 4] = [Kind::PhpFpm, Kind::Mariadb, Kind::Redis, Kind::Http];

#[test]
fn a_web_server_parts_chains_and_an_application_keeps_all_that_it_asks() {
    let links = [(4, 0), (4, 3), (0, 1), (0, 2), (3, 2)];
    let survey = survey(&PHP, &["nginx"], &links);
    let php = "nginx>php-fpm php-fpm>mariadb php-fpm>redis";
    check(&survey, &[php, "nginx>http http>redis"]);
}

#[test]
fn a_program_with_its_databases_is_no_chain_and_with_a_pooler_it_is_one() {
    let kinds = [Kind::Pgbouncer, Kind::Postgres, Kind::Redis];
    let app = ["ruby"];
    check(&survey(&kinds, &app, &[(3, 1), (3, 2)]), &[]);
    let links = [(3, 0), (3, 2), (0, 1)];
    let expected = "ruby>pgbouncer ruby>redis pgbouncer>postgres";
    check(&survey(&kinds, &app, &links), &[expected]);
}

#[test]
fn a_replica_of_a_database_belongs_to_no_page() {
    let kinds = [Kind::PhpFpm, Kind::Redis, Kind::Redis];
    let links = [(3, 0), (0, 1), (1, 2)];
    let expected = "nginx>php-fpm php-fpm>redis";
    check(&survey(&kinds, &["nginx"], &links), &[expected]);
    check(&survey(&kinds, &[], &[(1, 2)]), &[]);
}

#[test]
fn services_that_ask_each_other_end_in_one_chain() {
    let kinds = [Kind::Http, Kind::Uwsgi];
    check(&survey(&kinds, &[], &[(0, 1), (1, 0)]), &["http>uwsgi uwsgi>http"]);
    let web = ["nginx", "haproxy"];
    let found = chains(&survey(&[], &web, &[(0, 1), (1, 0)]), None, None, &[], &[]);
    assert_eq!(found.len(), 1, "{found:#?}");
}

#[test]
fn a_cost_that_nobody_measured_is_named_by_its_kind() {
    let survey = survey(&PHP, &["nginx"], &[(4, 0), (0, 1)]);
    let found = chains(&survey, None, None, &[], &[of_mariadb(3.0, true)]);
    // No connection to the application is open.
    assert_eq!(found[0].kinds_without_connection_cost, ["php-fpm"]);
    assert_eq!(found[0].cpu_ms_per_s, None);
}

fn of_mariadb(us: f64, is_per_connection: bool) -> CostSource {
    CostSource {
        kind: Some("mariadb".to_owned()),
        client_kind: None,
        is_per_connection,
        is_sealed: false,
        cpu_us_per_request: looptax_model::record::Figure::new(us, us, us, 20),
        source: "run x".to_owned(),
        is_size_uncertain: false,
        is_undecided: false,
    }
}

/// Returns the cost of PHP's requests to MariaDB at these rates, and for each of the two kinds of requests whether its
/// cost is missing.
fn priced(open: f64, closed: f64, sources: &[CostSource]) -> (Option<f64>, [bool; 2]) {
    let survey = survey(&PHP, &["nginx"], &[(4, 0), (0, 1)]);
    let view = View { survey: &survey, rates: None, counts: None, sealed: &[], sources };
    let hop = view.with_cost(FoundHop {
        n_connections: 2,
        requests_per_s: Some(open),
        closed_per_s: Some(closed),
        ..view.empty(1, Way::Loopback)
    });
    let cost = hop.cpu_ms_per_s.as_ref().and_then(looptax_model::record::Figure::known);
    let without = [false, true].map(|it| view.is_without_cost(&hop, it));
    (cost.map(|it| it.value), without)
}

#[test]
fn r25_connections_of_one_request_and_kept_ones_have_each_their_own_price() {
    let [kept, short] = [of_mariadb(3.0, false), of_mariadb(20.0, true)];
    let of_kept = std::slice::from_ref(&kept);
    let of_short = std::slice::from_ref(&short);
    assert_eq!(priced(100.0, 0.0, of_kept), (Some(0.3), [false, false]));
    assert_eq!(priced(100.0, 0.0, of_short), (None, [true, false]));
    assert_eq!(priced(0.0, 100.0, of_short), (Some(2.0), [false, false]));
    assert_eq!(priced(10.0, 90.0, of_kept), (None, [false, true]));
    assert_eq!(priced(100.0, 50.0, of_kept), (Some(0.3), [false, true]));
    let both = [kept.clone(), short.clone()];
    assert_eq!(priced(100.0, 50.0, &both), (Some(1.3), [false, false]));
}

#[test]
fn encrypted_requests_have_the_price_of_tls_and_without_one_that_of_plain_tcp() {
    let asked = |is_sealed| Asked { kind: "mariadb", client_kind: None, is_per_connection: false, is_sealed };
    let both = [false, true].map(|is_sealed| CostSource { is_sealed, ..of_mariadb(3.0, false) });
    assert_eq!([false, true].map(|it| source_of(asked(it), &both)), [Some(0), Some(1)]);
    assert_eq!([false, true].map(|it| source_of(asked(it), &both[..1])), [Some(0), Some(0)]);
    assert_eq!([false, true].map(|it| source_of(asked(it), &both[1..])), [None, Some(0)]);
}

/// Returns, for each of two programs, its share of the 100 requests per second that one pooler sends. `rates` are the
/// programs' own rates; `None` for a program over the socket.
fn parts_of(rates: [Option<f64>; 2]) -> [Option<f64>; 2] {
    let kinds = [Kind::Pgbouncer, Kind::Postgres];
    let survey = survey(&kinds, &["ruby", "idle"], &[(2, 0), (3, 0), (0, 1)]);
    let paths = Graph::new(&survey).paths();
    let shares = Shares { stack: &survey.stack, paths: &paths, rates: vec![rates[0], rates[1], Some(100.0)] };
    assert!(shares.is_shared(2) && !shares.is_shared(0), "{}", paths.len());
    [0, 1].map(|idx| shares.of(&paths[idx], 2))
}

#[test]
fn r25_a_hop_that_two_chains_share_is_charged_to_each_by_what_comes_in_from_it() {
    assert_eq!(parts_of([Some(75.0), Some(25.0)]), [Some(0.75), Some(0.25)]);
    assert_eq!(parts_of([Some(90.0), Some(0.0)]), [Some(1.0), Some(0.0)]);
    assert_eq!(parts_of([None, Some(0.0)]), [None, Some(0.0)]);
    assert_eq!(parts_of([None, Some(10.0)]), [None, None]);
    assert_eq!(parts_of([Some(0.0), Some(0.0)]), [None, None]);
}

#[test]
fn a_way_that_several_chains_begin_with_is_nobodys_alone() {
    let kinds = [Kind::PhpFpm, Kind::Http];
    let survey = survey(&kinds, &["haproxy", "nginx"], &[(2, 3), (3, 0), (3, 1)]);
    let found = chains(&survey, None, None, &[], &[]);
    let shared = { found.iter() }.map(|it| it.hops.iter().map(|it| it.is_shared).collect());
    let shared: Vec<Vec<bool>> = shared.collect();
    assert_eq!(shared, [[true, false], [true, false]]);
    assert_eq!(found[0].hops[0].share, None);
}

/// Returns a closed connection to MariaDB in the network namespace of the test.
fn closed() -> Closed {
    let network = process(0).network.unwrap();
    Closed { network, client: "127.0.0.1:40000".parse().unwrap(), server: "127.0.0.1:3306".parse().unwrap() }
}

#[test]
fn r25_a_server_whose_connections_nobody_was_seen_to_hold_may_be_missing() {
    let mut survey = survey(&PHP, &["nginx"], &[(4, 0), (0, 2)]);
    let missing = |survey: &Survey| chains(survey, None, None, &[], &[])[0].may_miss.clone();
    assert!(missing(&survey).is_empty());
    survey.others[1].closed.insert(closed());
    assert_eq!(missing(&survey), [1]);
    // looptax saw that another process held the connections, so the connections belonged to that process.
    survey.stack.links.push(Link { client: Some(3), server: 1, n_passing: 2, ..survey.stack.links[0].clone() });
    assert!(missing(&survey).is_empty());
}

#[test]
fn a_server_of_the_chain_is_not_missing_nor_is_one_in_another_network() {
    let mut with_it = survey(&PHP, &["nginx"], &[(4, 0), (0, 1)]);
    with_it.others[1].closed.insert(closed());
    assert!(chains(&with_it, None, None, &[], &[])[0].may_miss.is_empty());
    let mut elsewhere = survey(&PHP, &["nginx"], &[(4, 0)]);
    let network = looptax_host::discover::NamespaceId(1);
    elsewhere.others[1].closed.insert(Closed { network, ..closed() });
    assert!(chains(&elsewhere, None, None, &[], &[])[0].may_miss.is_empty());
}
