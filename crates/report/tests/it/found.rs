//! Tests of the text of `looptax find`, on made-up results.

use looptax_model::record::{
    CostSource, CountedBy, EndpointTransport, FOUND_SCHEMA_VERSION, Figure, Found, FoundClient, FoundEndpoint,
    FoundListener, FoundPeer, FoundServer, HowKnown, Note, NoteCode, Way,
};
use looptax_report::found_openmetrics;
use looptax_report::terminal::{Style, found};

fn of_mariadb() -> CostSource {
    CostSource {
        kind: Some("mariadb".to_owned()),
        client_kind: None,
        is_per_connection: false,
        is_sealed: false,
        cpu_us_per_request: Figure::new(3.4, 3.1, 3.7, 20),
        source: "looptax-1.json, 2026-11-20 10:00".to_owned(),
        is_size_uncertain: false,
        is_undecided: false,
    }
}

pub(crate) fn look() -> Found {
    let endpoint = |transport, address: &str, file: Option<&str>| FoundEndpoint {
        transport,
        address: address.to_owned(),
        file: file.map(str::to_owned),
        n_waiting: 0,
        backlog: 80,
        known: HowKnown::Seen,
    };
    let client = |pid, way, rate: Option<f64>, cost: Option<Figure>| FoundClient {
        peer: FoundPeer {
            pid: Some(pid),
            program: Some("php-fpm8.2".to_owned()),
            user: Some("www-data".to_owned()),
            home: Some("docker 3f2a9c1b7d20".to_owned()),
            asks_by_its_files: false,
            is_sealed: false,
            way,
            n_connections: 3,
            requests_per_s: rate,
            opened_per_s: None,
            p50_us: None,
        },
        server_pid: 812,
        via: None,
        onward: None,
        cost_from: cost.iter().map(|_| 0).collect(),
        cpu_ms_per_s: cost,
    };
    Found {
        schema_version: FOUND_SCHEMA_VERSION,
        looptax_version: "0.1.0".to_owned(),
        at: "2026-11-21T12:00:00+00:00".to_owned(),
        rates_over_s: Some(1.0),
        counted_by: CountedBy::Segments,
        cost_sources: vec![of_mariadb()],
        sees_all: true,
        servers: vec![FoundServer {
            kind: "mariadb".to_owned(),
            version: Some("10.11.19-MariaDB-0+deb12u1".to_owned()),
            pid: 812,
            program: "mariadbd".to_owned(),
            user: "mysql".to_owned(),
            home: Some("mariadb.service".to_owned()),
            is_hidden: false,
            endpoints: vec![
                endpoint(EndpointTransport::Tcp, "127.0.0.1:3306", None),
                endpoint(EndpointTransport::Unix, "/run/mysqld/mysqld.sock", Some("mysql:mysql 0777")),
            ],
            network: None,
            n_remote: 0,
            n_closed_last_minute: 0,
        }],
        clients: vec![
            client(7, Way::Loopback, Some(12.0), Some(Figure::new(0.04, 0.037, 0.044, 20))),
            client(8, Way::Loopback, Some(9000.0), Some(Figure::new(30.6, 27.9, 33.3, 20))),
            client(9, Way::Unix, None, None),
        ],
        chains: Vec::new(),
        listeners: Vec::new(),
        notes: vec![Note {
            code: NoteCode::SocketMissing,
            what: "memcached 5 can be reached only over TCP".to_owned(),
            next: Some("start it with `-s PATH`".to_owned()),
        }],
    }
}

pub(crate) fn at(width: usize) -> Style {
    Style { width, color: false, unicode: true }
}

#[test]
fn the_price_of_encrypted_requests_says_whether_tls_is_in_it() {
    let mut with_tls = look();
    with_tls.clients[0].peer.is_sealed = true;
    let text = found(&with_tls, true, at(120));
    assert!(text.contains("loopback with TLS"), "{text}");
    let next = "mariadb: this cost excludes TLS; looptax compare private:mariadb";
    assert!(text.contains(next), "{text}");
    with_tls.servers[0].kind = "pgbouncer".to_owned();
    let text = found(&with_tls, true, at(120));
    assert!(text.contains("pgbouncer: this cost excludes TLS; looptax has no private server"), "{text}");
    with_tls.cost_sources[0].is_sealed = true;
    let text = found(&with_tls, true, at(120));
    assert!(text.contains("mariadb with TLS: ") && !text.contains("this cost excludes TLS"), "{text}");
}

#[test]
fn a_wide_terminal_has_columns_and_the_greatest_loss_comes_first() {
    insta::assert_snapshot!(found(&look(), false, at(120)), @r"
    over TCP: these programs pay the loopback tax
      client        user      where                server        by        connections  requests/s  % of a core lost
      php-fpm8.2 8  www-data  docker 3f2a9c1b7d20  mariadbd 812  loopback  3            9.00K       3.1 [2.8, 3.3]
      php-fpm8.2 7  www-data  docker 3f2a9c1b7d20  mariadbd 812  loopback  3            12.0        under 0.1

    on the socket already
      client        user      where                server        by    connections
      php-fpm8.2 9  www-data  docker 3f2a9c1b7d20  mariadbd 812  unix  3

    servers
      server        version   user   where            listens on
      mariadbd 812  10.11.19  mysql  mariadb.service  127.0.0.1:3306, /run/mysqld/mysqld.sock

    requests/s: TCP segments with data over 1.0 s; several requests in one segment count as one
    CPU time lost: requests/s times the cost of TCP per request, measured at full speed (probably higher at lower rates):
      mariadb: +3.4 µs [3.1, 3.7] (looptax-1.json, 2026-11-20 10:00)
    memcached 5 can be reached only over TCP: start it with `-s PATH`
    next: looptax check 8 shows whether the switch to the socket would work for that process
    ");
}

#[test]
fn a_narrow_terminal_has_sentences() {
    let mut look = look();
    look.clients.truncate(1);
    look.servers[0].endpoints.truncate(1);
    look.servers[0].endpoints[0].address = "/run/a/folder/of/a/socket/with/a/long/name/mysqld.sock".to_owned();
    look.clients[0].via = Some("docker-proxy 4711, on by unix (which leads to other servers too)".to_owned());
    let text = found(&look, false, at(60));
    insta::assert_snapshot!(text, @r"
    over TCP: these programs pay the loopback tax
      php-fpm8.2 7: user www-data, where docker 3f2a9c1b7d20,
        server mariadbd 812, by loopback through docker-proxy
        4711, on by unix (which leads to other serve...,
        connections 3, requests/s 12.0, % of a core lost under
        0.1

    servers
      mariadbd 812: version 10.11.19, user mysql, where
        mariadb.service, listens on
        /run/a/folder/of/a/socket/with/a/long/name/mysqld.sock

    requests/s: TCP segments with data over 1.0 s; several
      requests in one segment count as one
    CPU time lost: requests/s times the cost of TCP per request,
      measured at full speed (probably higher at lower rates):
      mariadb: +3.4 µs [3.1, 3.7] (looptax-1.json, 2026-11-20
        10:00)
      mariadb through docker-proxy: this cost excludes the
        proxy's own CPU time; looptax compare private:mariadb -c
        1 --placement same --arms unix,tcp,proxy measures it
    memcached 5 can be reached only over TCP: start it with `-s
      PATH`
    next: looptax check 7 shows whether the switch to the socket
      would work for that process
    ");
    assert!(text.lines().all(|line| line.chars().count() <= 60));
}

#[test]
fn at_80_columns_the_least_important_ones_are_left_out() {
    let text = found(&look(), false, at(80));
    insta::assert_snapshot!(text, @r"
    over TCP: these programs pay the loopback tax
      client        server        by        requests/s  % of a core lost
      php-fpm8.2 8  mariadbd 812  loopback  9.00K       3.1 [2.8, 3.3]
      php-fpm8.2 7  mariadbd 812  loopback  12.0        under 0.1

    on the socket already
      client        user      where                server        by    connections
      php-fpm8.2 9  www-data  docker 3f2a9c1b7d20  mariadbd 812  unix  3

    servers
      server        version   user   listens on
      mariadbd 812  10.11.19  mysql  127.0.0.1:3306, /run/mysqld/mysqld.sock

    left out at this width: where, user, connections; --json has them
    requests/s: TCP segments with data over 1.0 s; several requests in one segment
      count as one
    CPU time lost: requests/s times the cost of TCP per request, measured at full
      speed (probably higher at lower rates):
      mariadb: +3.4 µs [3.1, 3.7] (looptax-1.json, 2026-11-20 10:00)
    memcached 5 can be reached only over TCP: start it with `-s PATH`
    next: looptax check 8 shows whether the switch to the socket would work for that
      process
    ");
    assert!(text.lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn names_that_steer_or_flood_a_terminal_do_neither() {
    let evil = format!("\u{1b}[2J{}", "x".repeat(10 << 20));
    let mut look = look();
    look.servers[0].program.clone_from(&evil);
    look.servers[0].version = Some(evil.clone());
    look.servers[0].home = Some(evil.clone());
    look.servers[0].endpoints[1].address.clone_from(&evil);
    look.clients[0].peer.program = Some(evil.clone());
    look.clients[0].peer.home = Some(evil.clone());
    look.clients[0].via = Some(evil.clone());
    look.cost_sources[0].source = evil;
    for is_verbose in [false, true] {
        let text = found(&look, is_verbose, at(100));
        assert!(!text.contains('\u{1b}'));
        assert!(text.len() < 8 << 10, "{} bytes", text.len());
    }
}

#[test]
fn without_a_figure_the_way_to_one_is_told() {
    let mut look = look();
    look.cost_sources.clear();
    for client in &mut look.clients {
        client.cpu_ms_per_s = None;
    }
    let text = found(&look, false, at(120));
    assert!(text.contains("--measure"), "{text}");
    assert!(!text.contains("% of a core lost"), "{text}");
}

#[test]
fn r20_what_was_measured_without_a_figure_is_told_and_not_advised_again() {
    let mut look = look();
    look.cost_sources.clear();
    look.notes.push(Note {
        code: NoteCode::CostNotMeasured,
        what: "what a request over TCP costs was measured just now, without a figure".to_owned(),
        next: None,
    });
    let text = found(&look, false, at(120));
    assert!(!text.contains("--measure"), "{text}");
    assert!(text.contains("measured just now, without a figure"), "{text}");
}

#[test]
fn r20_a_figure_of_an_undecided_run_says_that_it_is_one() {
    let mut look = look();
    look.cost_sources[0].is_undecided = true;
    let text = found(&look, false, at(160));
    assert!(text.contains("that run decided nothing, so the interval is wide"), "{text}");
}

#[test]
fn many_workers_of_one_program_are_shown_together() {
    let mut look = look();
    let worker = look.clients[1].clone();
    for pid in 100..150 {
        let mut client = worker.clone();
        client.peer.pid = Some(pid);
        look.clients.push(client);
    }
    let text = found(&look, false, at(120));
    assert!(text.contains("php-fpm8.2 (52 processes)"), "{text}");
    // 51 processes that lose 30.6 ms/s each, and one that loses 0.04 ms/s, are 156 % of a core.
    assert!(text.contains("156.1 [142.3, 169.8]"), "{text}");
    assert_eq!(text.matches("php-fpm8.2").count(), 2, "{text}");
}

#[test]
fn r20_what_is_inferred_says_by_what_and_what_is_open_stands_in_a_list() {
    let mut look = look();
    look.sees_all = false;
    look.clients.clear();
    let server = &mut look.servers[0];
    server.is_hidden = true;
    server.endpoints.truncate(1);
    server.endpoints[0].known = HowKnown::UsualPlace;
    look.servers.push(FoundServer { pid: 900, endpoints: Vec::new(), ..look.servers[0].clone() });
    let listener = |address: &str, likely: Option<&str>, server_pids: &[u32]| FoundListener {
        transport: EndpointTransport::Tcp,
        address: address.to_owned(),
        user: Some("mysql".to_owned()),
        likely: likely.map(str::to_owned),
        server_pids: server_pids.to_vec(),
        web_servers: Vec::new(),
        n_connections: 2,
        clients: Vec::new(),
        n_closed_last_minute: 0,
    };
    look.listeners =
        vec![listener("127.0.0.1:4000", None, &[812, 900]), listener("127.0.0.1:6379", Some("redis or valkey"), &[])];
    insta::assert_snapshot!(found(&look, false, at(140)), @r"
    only root sees which connections lead to a server with unknown sockets

    servers
      server        version   user   where            listens on
      mariadbd 812  10.11.19  mysql  mariadb.service  127.0.0.1:3306 (by its user and its usual place)
      mariadbd 900  10.11.19  mysql  mariadb.service  sockets that only root sees

    also listening, process not seen
      listens on      user   may be                                      connections
      127.0.0.1:6379  mysql  redis or valkey (by its usual place)        2
      127.0.0.1:4000  mysql  mariadbd 812 or mariadbd 900 (by its user)  2

    memcached 5 can be reached only over TCP: start it with `-s PATH`
    ");
}

#[test]
fn r20_clients_of_a_port_whose_process_is_not_seen_are_listed_and_the_next_step_is_not_about_us() {
    let mut seen = look();
    for client in seen.clients.iter_mut().filter(|it| it.peer.pid == Some(8)) {
        client.peer.program = Some("looptax".to_owned());
    }
    let peer = |pid, rate| FoundPeer {
        pid: Some(pid),
        program: Some("python3.11".to_owned()),
        user: Some("alice".to_owned()),
        home: None,
        asks_by_its_files: false,
        is_sealed: false,
        way: Way::Loopback,
        n_connections: 1,
        requests_per_s: Some(rate),
        opened_per_s: None,
        p50_us: None,
    };
    let listener = |address: &str, server_pids, clients: Vec<FoundPeer>| FoundListener {
        transport: EndpointTransport::Tcp,
        address: address.to_owned(),
        user: Some("daemon".to_owned()),
        likely: None,
        server_pids,
        web_servers: Vec::new(),
        n_connections: clients.len() as u64,
        clients,
        n_closed_last_minute: 0,
    };
    seen.servers[0].is_hidden = true;
    seen.servers[0].home = None;
    seen.servers[0].endpoints.clear();
    seen.listeners = vec![
        listener("127.0.0.1:17306", vec![812], vec![peer(20, 100.0)]),
        listener("127.0.0.1:8080", vec![], vec![peer(21, 1e6)]),
    ];
    insta::assert_snapshot!(found(&seen, false, at(100)), @r"
    over TCP: these programs pay the loopback tax
      looptax 8: user www-data, where docker 3f2a9c1b7d20, server mariadbd 812, by loopback, connections
        3, requests/s 9.00K, % of a core lost 3.1 [2.8, 3.3]
      python3.11 20: user alice, server 127.0.0.1:17306 of user daemon, may be mariadbd 812 (by its
        user), by loopback, connections 1, requests/s 100
      php-fpm8.2 7: user www-data, where docker 3f2a9c1b7d20, server mariadbd 812, by loopback,
        connections 3, requests/s 12.0, % of a core lost under 0.1

    over TCP to a process that only root sees: these programs pay if that process is a database
      client         user   server                         by        connections  requests/s
      python3.11 21  alice  127.0.0.1:8080 of user daemon  loopback  1            1.00M

    on the socket already
      client        user      where                server        by    connections
      php-fpm8.2 9  www-data  docker 3f2a9c1b7d20  mariadbd 812  unix  3

    servers
      server        version   user   listens on
      mariadbd 812  10.11.19  mysql  only root sees the server's sockets

    also listening, process not seen
      listens on       user    may be                      connections
      127.0.0.1:17306  daemon  mariadbd 812 (by its user)  1
      127.0.0.1:8080   daemon  -                           1

    requests/s: TCP segments with data over 1.0 s; several requests in one segment count as one
    CPU time lost: requests/s times the cost of TCP per request, measured at full speed (probably higher
      at lower rates):
      mariadb: +3.4 µs [3.1, 3.7] (looptax-1.json, 2026-11-20 10:00)
    memcached 5 can be reached only over TCP: start it with `-s PATH`
    next: looptax check 20 shows whether the switch to the socket would work for that process
    ");
}

#[test]
fn r25_a_program_that_asks_by_its_files_is_not_looked_for_in_its_environment() {
    let mut look = look();
    for client in &mut look.clients {
        client.peer.asks_by_its_files = true;
    }
    let text = found(&look, false, at(400));
    assert!(!text.contains("--pid"), "{text}");
    assert!(text.contains("next: looptax check FILE"), "{text}");
    assert!(text.contains("for php-fpm8.2 8;"), "{text}");
}

#[test]
fn r25_a_port_that_may_be_a_web_servers_says_so() {
    let listener = FoundListener {
        transport: EndpointTransport::Tcp,
        address: "127.0.0.1:8080".to_owned(),
        user: Some("root".to_owned()),
        likely: None,
        server_pids: vec![812],
        web_servers: vec!["nginx 5".to_owned()],
        n_connections: 0,
        clients: Vec::new(),
        n_closed_last_minute: 0,
    };
    let look = Found { listeners: vec![listener], ..look() };
    let text = found(&look, false, at(200));
    assert!(text.contains("mariadbd 812 or nginx 5 (by its user)"), "{text}");
}

#[test]
fn gauges_sum_the_connections_of_a_program_by_server_and_way() {
    let mut look = look();
    let mut another = look.clients[0].clone();
    another.peer.pid = Some(70);
    look.clients.push(another);
    insta::assert_snapshot!(found_openmetrics(&look), @r#"
    # HELP looptax_find_info The version of looptax that made these metrics.
    # TYPE looptax_find_info gauge
    looptax_find_info{version="0.1.0"} 1
    # HELP looptax_find_sees_all Whether looptax could inspect every process, namespace and connection.
    # TYPE looptax_find_sees_all gauge
    looptax_find_sees_all 1
    # HELP looptax_find_fell_back Programs that use TCP again after a switch to the socket.
    # TYPE looptax_find_fell_back gauge
    looptax_find_fell_back 0
    # HELP looptax_find_servers Number of running servers.
    # TYPE looptax_find_servers gauge
    looptax_find_servers{server="mariadb"} 1
    # HELP looptax_find_connections Connections from programs on this machine to servers on this machine.
    # TYPE looptax_find_connections gauge
    looptax_find_connections{server="mariadb",client="php-fpm8.2",way="loopback"} 9
    looptax_find_connections{server="mariadb",client="php-fpm8.2",way="unix"} 3
    # HELP looptax_find_requests_per_second Requests; if the kernel did not count requests, TCP segments with data.
    # TYPE looptax_find_requests_per_second gauge
    looptax_find_requests_per_second{server="mariadb",client="php-fpm8.2",way="loopback"} 9024
    # HELP looptax_find_cpu_lost_cores Extra CPU time of TCP compared with the socket, an estimate.
    # TYPE looptax_find_cpu_lost_cores gauge
    looptax_find_cpu_lost_cores{server="mariadb",client="php-fpm8.2",way="loopback"} 0.03068
    # HELP looptax_find_cpu_lost_cores_lower Extra CPU time of TCP compared with the socket: lower end of the interval.
    # TYPE looptax_find_cpu_lost_cores_lower gauge
    looptax_find_cpu_lost_cores_lower{server="mariadb",client="php-fpm8.2",way="loopback"} 0.027973999999999995
    # HELP looptax_find_cpu_lost_cores_upper Extra CPU time of TCP compared with the socket: upper end of the interval.
    # TYPE looptax_find_cpu_lost_cores_upper gauge
    looptax_find_cpu_lost_cores_upper{server="mariadb",client="php-fpm8.2",way="loopback"} 0.033388
    # EOF
    "#);
}

#[test]
fn gauges_have_no_name_that_steers_them_and_no_more_lines_than_are_kept() {
    let mut look = look();
    let one = look.clients[0].clone();
    for n in 0..1_000 {
        let mut client = one.clone();
        client.peer.program = Some(format!("p{n}\"}} 1\nlooptax_find_fell_back 9\n\u{1b}[2J"));
        client.peer.requests_per_s = Some(f64::from(n));
        client.cpu_ms_per_s = None;
        look.clients.push(client);
    }
    let text = found_openmetrics(&look);
    let of = |name: &str| { text.lines() }.filter(|it| it.starts_with(name)).count();
    // Fifty lines with names, and for each transport one line with all others.
    assert_eq!(of("looptax_find_connections{"), 52, "{text}");
    assert_eq!(of("looptax_find_fell_back "), 1);
    assert!(!text.contains('\u{1b}'));
    // No connection is lost: the sum has 1000 clients with three connections each, and nine more connections.
    let sum = text.lines().filter(|it| it.starts_with("looptax_find_connections{"));
    let sum: f64 = sum.map(|it| it.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum();
    assert!((sum - 3_009.0).abs() < f64::EPSILON, "{sum}");
}

#[test]
fn a_next_step_of_several_notes_is_told_once_and_a_process_that_was_not_found_is_no_question_mark() {
    let mut look = look();
    let note = |what: &str, next: &str| Note {
        code: NoteCode::ConnectionsShortLived,
        what: what.to_owned(),
        next: Some(next.to_owned()),
    };
    look.notes = vec![note("one", "do this"), note("two", "do this"), note("three", "do that")];
    (look.clients[0].peer.program, look.clients[0].peer.pid) = (None, None);
    let text = found(&look, false, at(120));
    assert!(text.contains("\none\ntwo: do this\nthree: do that\nnext: "), "{text}");
    assert!(text.contains("\n  (not seen)  ") && !text.contains('?'), "{text}");
}
