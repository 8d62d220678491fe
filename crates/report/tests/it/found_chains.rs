//! Tests of the chains of servers behind a page, as `find` shows them.

use looptax_model::record::{CostSource, Figure, Found, FoundChain, FoundHop, Way};
use looptax_report::terminal::found;

use crate::found::{at, look};

fn hop(client: Option<(&str, u32)>, server: (&str, u32), kind: &str, way: Way) -> FoundHop {
    FoundHop {
        client_pid: client.map(|it| it.1),
        client: client.map(|it| it.0.to_owned()),
        n_processes: 2,
        server_pid: server.1,
        server: server.0.to_owned(),
        kind: Some(kind.to_owned()),
        way,
        is_sealed: false,
        n_connections: 4,
        n_passing: 0,
        requests_per_s: None,
        closed_per_s: None,
        opened_per_s: None,
        is_shared: false,
        share: None,
        cpu_ms_per_s: None,
        cost_from: Vec::new(),
    }
}

const NGINX: (&str, u32) = ("nginx", 5);
const FPM: (&str, u32) = ("php-fpm8.2", 7);
const MARIADB: (&str, u32) = ("mariadbd", 812);
const REDIS: (&str, u32) = ("redis-server", 9);

/// Makes a chain: nginx connects to PHP over the socket, PHP to MariaDB and Redis over TCP. The cost for Redis is not
/// known.
pub(crate) fn shop() -> FoundChain {
    FoundChain {
        hops: vec![
            hop(Some(NGINX), FPM, "php-fpm", Way::Unix),
            FoundHop {
                requests_per_s: Some(1200.0),
                closed_per_s: Some(31.0),
                cpu_ms_per_s: Some(Figure::new(4.1, 3.7, 4.4, 20)),
                ..hop(Some(FPM), MARIADB, "mariadb", Way::Loopback)
            },
            FoundHop { n_passing: 3, requests_per_s: Some(50.0), ..hop(Some(FPM), REDIS, "redis", Way::Loopback) },
        ],
        begins_here: true,
        cpu_ms_per_s: Some(Figure::new(4.1, 3.7, 4.4, 20)),
        kinds_without_cost: vec!["redis".to_owned()],
        kinds_without_connection_cost: Vec::new(),
        may_miss: Vec::new(),
    }
}

/// Returns only the section about chains, of a result with these chains.
fn section(chains: Vec<FoundChain>, width: usize) -> String {
    let look = Found { chains, ..look() };
    let text = found(&look, false, at(width));
    let from = text.find("the servers behind a page").expect("there are chains");
    let section = &text[from..];
    section[..section.find("\n\n").expect("more follows")].to_owned()
}

#[test]
fn a_chain_says_of_each_hop_what_it_costs_and_of_all_what_they_cost_together() {
    insta::assert_snapshot!(section(vec![shop()], 80), @r"
    the servers behind a page
      nginx 5 -> php-fpm8.2 7 -> mariadbd 812 + redis-server 9
        nginx -> php-fpm8.2: unix, 4 connections of 2 processes, requests are not
          counted
        php-fpm8.2 -> mariadbd: loopback, 4 connections of 2 processes, 1.20K
          requests/s, 31.0 connections/s closed, at least 4.1 [3.7, 4.4] ms/s lost
        php-fpm8.2 -> redis-server: loopback, 4 connections of 2 processes, 3 seen
          come and go, 50.0 requests/s
        total without redis: at least 4.1 [3.7, 4.4] ms/s lost
      looptax has not measured on this machine what a request to redis costs over
        TCP, so no total includes this cost
      a closed connection counts as one request, though it may have carried more
    ");
}

#[test]
fn a_chain_over_sockets_says_that_nothing_is_lost() {
    let mut chain = shop();
    chain.hops.truncate(1);
    chain.kinds_without_cost.clear();
    chain.cpu_ms_per_s = None;
    insta::assert_snapshot!(section(vec![chain], 80), @r"
    the servers behind a page
      nginx 5 -> php-fpm8.2 7
        nginx -> php-fpm8.2: unix, 4 connections of 2 processes, requests are not
          counted
        no hop over TCP, no loopback tax
    ");
}

#[test]
fn a_beginning_that_is_not_seen_is_told_and_not_guessed() {
    let asked = FoundChain { begins_here: false, ..shop() };
    let mut asked = asked;
    asked.hops.remove(0);
    let passing = FoundHop { n_connections: 0, closed_per_s: Some(12.0), ..hop(None, FPM, "php-fpm", Way::Loopback) };
    let passing = FoundChain {
        hops: vec![passing],
        begins_here: false,
        cpu_ms_per_s: None,
        kinds_without_cost: Vec::new(),
        kinds_without_connection_cost: vec!["php-fpm".to_owned()],
        may_miss: Vec::new(),
    };
    insta::assert_snapshot!(section(vec![asked, passing], 80), @r"
    the servers behind a page
      (not seen) -> php-fpm8.2 7 -> mariadbd 812 + redis-server 9
        php-fpm8.2 -> mariadbd: loopback, 4 connections of 2 processes, 1.20K
          requests/s, 31.0 connections/s closed, at least 4.1 [3.7, 4.4] ms/s lost
        php-fpm8.2 -> redis-server: loopback, 4 connections of 2 processes, 3 seen
          come and go, 50.0 requests/s
        total without redis: at least 4.1 [3.7, 4.4] ms/s lost
      (not seen) -> php-fpm8.2 7
        (not seen) -> php-fpm8.2: loopback, 12.0 connections/s closed
      looptax has not measured on this machine what a request to redis, and a
        connection for each request to php-fpm cost over TCP, so no total includes
        this cost
      looptax cannot determine which program sends requests to php-fpm8.2: no client
        is connected now, and closed connections over a Unix socket leave no trace
      a closed connection counts as one request, though it may have carried more
    ");
}

#[test]
fn no_line_is_wider_than_the_terminal_and_no_name_steers_it() {
    let mut chain = shop();
    chain.hops[1].server = format!("\u{1b}[2J{}", "x".repeat(1 << 20));
    chain.kinds_without_cost = vec!["\u{1b}[2J".to_owned()];
    let text = section(vec![chain; 100], 80);
    assert!(!text.contains('\u{1b}') && text.len() < 8 << 10, "{text}");
    let text = section(vec![shop()], 79);
    assert!(text.lines().all(|line| line.chars().count() < 80), "{text}");
}

/// In the bug, a hop had a cost, but the text below it claimed that the cost is not known.
#[test]
fn r25_every_run_that_a_figure_came_from_is_listed() {
    let mut chain = shop();
    chain.hops[1].cost_from = vec![1];
    let source = CostSource {
        is_per_connection: true,
        is_sealed: false,
        source: "run of short ones".to_owned(),
        ..look().cost_sources[0].clone()
    };
    let mut look = Found { chains: vec![chain], clients: Vec::new(), ..look() };
    look.cost_sources.push(source);
    let text = found(&look, false, at(120));
    assert!(!text.contains("not known"), "{text}");
    assert!(!text.contains("looptax-1.json"), "{text}");
    let line = "mariadb, a connection per request: +3.4 µs [3.1, 3.7] (run of short ones)";
    assert!(text.contains(line), "{text}");
}

#[test]
fn r25_a_hop_that_others_share_says_so_and_one_of_unknown_parts_is_in_no_sum() {
    let mut chain = shop();
    chain.hops.remove(0);
    chain.kinds_without_cost.clear();
    chain.hops[0].is_shared = true;
    chain.hops[0].share = Some(0.25);
    chain.hops[1].is_shared = true;
    chain.hops[1].cpu_ms_per_s = Some(Figure::new(2.0, 1.0, 3.0, 20));
    chain.cpu_ms_per_s = Some(Figure::new(1.0, 0.9, 1.1, 20));
    insta::assert_snapshot!(section(vec![chain], 80), @r"
    the servers behind a page
      php-fpm8.2 7 -> mariadbd 812 + redis-server 9
        php-fpm8.2 -> mariadbd: loopback, 4 connections of 2 processes, 1.20K
          requests/s, 31.0 connections/s closed, at least 4.1 [3.7, 4.4] ms/s lost,
          shared with others, 25 % from this chain
        php-fpm8.2 -> redis-server: loopback, 4 connections of 2 processes, 3 seen
          come and go, 50.0 requests/s, 2.0 [1.0, 3.0] ms/s lost, shared with others
        total: at least 1.0 [0.9, 1.1] ms/s lost
      other programs share the cost of php-fpm8.2 -> redis-server in unknown parts;
        the totals exclude this cost
      a closed connection counts as one request, though it may have carried more
    ");
}

#[test]
fn r25_a_chain_that_may_go_on_says_so_in_its_sum() {
    let mut chain = shop();
    chain.hops.truncate(1);
    chain.kinds_without_cost.clear();
    chain.cpu_ms_per_s = None;
    chain.may_miss = vec![812];
    let mut look = Found { chains: vec![chain], ..look() };
    look.servers[0].n_closed_last_minute = 420;
    let text = found(&look, false, at(400));
    for line in [
        "no hop over TCP is seen; perhaps on to mariadbd 812\n",
        "perhaps incomplete: connections to mariadbd 812 (420 connections) were closed within the last minute, and \
         looptax did not see the clients; a hop may be missing",
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert!(!text.contains("no loopback tax"), "{text}");
}
