//! Tests of the output of `looptax find` for a machine with many servers: it fits one screen, and no sentence occurs
//! twice.

use std::collections::BTreeSet;

use looptax_model::record::{
    CostSource, EndpointTransport, Figure, Found, FoundChain, FoundClient, FoundEndpoint, FoundHop, FoundListener,
    FoundServer, HowKnown, Note, NoteCode, Way,
};
use looptax_report::terminal::found;

use crate::found::{at, look};
use crate::found_chains::shop;

const PROGRAMS: [(&str, &str, &str); 5] = [
    ("mariadbd", "mariadb", "/run/mysqld"),
    ("postgres", "postgres", "/run/postgresql"),
    ("redis-server", "redis", "/run/redis"),
    ("memcached", "memcached", ""),
    ("gunicorn", "http", "/var/lib/containers/storage/volumes/sockets-of-the-shop/_data"),
];
const N_SERVERS: u32 = 15;

fn server(n: u32) -> FoundServer {
    let (program, kind, folder) = PROGRAMS[n as usize % PROGRAMS.len()];
    let endpoint = |transport, address: String| FoundEndpoint {
        transport,
        file: (transport == EndpointTransport::Unix).then(|| "mysql:mysql 0777".to_owned()),
        n_waiting: 0,
        backlog: 80,
        known: if address == "127.0.0.1:3313" { HowKnown::UsualPlace } else { HowKnown::Seen },
        address,
    };
    let tcp = |host: &str| endpoint(EndpointTransport::Tcp, format!("{host}:{}", 3306 + n));
    let mut endpoints = vec![tcp("127.0.0.1"), tcp("[::1]"), tcp("192.168.122.1")];
    if !folder.is_empty() {
        endpoints.push(endpoint(EndpointTransport::Unix, format!("{folder}/server-{n}.sock")));
    }
    FoundServer {
        kind: kind.to_owned(),
        pid: 4000 + n,
        program: program.to_owned(),
        home: Some(format!("{program}-{n}.service")),
        endpoints,
        n_remote: 1,
        n_closed_last_minute: 10,
        ..look().servers[0].clone()
    }
}

fn client(n: u32, way: Way) -> FoundClient {
    let is_counted = way.is_tcp();
    let mut client = look().clients[1].clone();
    client.peer.pid = Some(20_000 + n);
    client.peer.program = Some(format!("worker-{}", n / 3));
    client.peer.way = way;
    client.peer.requests_per_s = is_counted.then(|| f64::from(n) * 100.0);
    client.server_pid = 4000 + n % N_SERVERS;
    client.cpu_ms_per_s = client.cpu_ms_per_s.filter(|_| is_counted);
    client.cost_from = if is_counted { vec![n as usize % 4] } else { Vec::new() };
    client
}

/// Makes chains that all need the same explanations.
fn chains() -> Vec<FoundChain> {
    let chain = |n: u32| {
        let mut chain = shop();
        chain.begins_here = n.is_multiple_of(2);
        for hop in &mut chain.hops {
            hop.closed_per_s = Some(3.0);
            hop.cpu_ms_per_s = Some(Figure::new(2.0, 1.0, 3.0, 20));
            hop.is_shared = true;
        }
        chain.may_miss = vec![4001, 4002];
        chain.kinds_without_connection_cost = vec!["php-fpm".to_owned()];
        let first: &mut FoundHop = &mut chain.hops[0];
        first.client = Some(format!("nginx-{n}"));
        chain
    };
    let without_tcp = |n: u32| {
        let mut chain = chain(n);
        chain.hops.truncate(1);
        chain.may_miss.clear();
        chain
    };
    vec![chain(1), chain(2), chain(3), chain(4), without_tcp(5), without_tcp(7)]
}

fn notes() -> Vec<Note> {
    let note = |code, what: String, next: &str| Note { code, what, next: Some(next.to_owned()) };
    let only_tcp = |name: &str, pid: u32, next: &str| {
        note(NoteCode::SocketMissing, format!("{name} {pid} can be reached only over TCP"), next)
    };
    let short = |n: u32| {
        let what = format!(
            "connections over TCP were closed within the last minute, and short ones pay for TCP, too: {n} to redis-server {}",
            4000 + n
        );
        note(NoteCode::ConnectionsShortLived, what, "`looptax check FILE` shows what to change")
    };
    let hidden = |pid: u32| {
        let what = format!(
            "php-fpm8.2 {pid} cannot see the socket /run/mysqld/mysqld.sock of mariadbd 4000: it has its own /tmp (PrivateTmp)"
        );
        note(NoteCode::SocketNotVisible, what, "move the socket out of /run/mysqld, to /run")
    };
    let deserted = |n: u32| {
        let what = format!("no process listens on /tmp/old-{n}.sock: a server that ended left it");
        note(NoteCode::SocketDeserted, what, "start the server, or delete the file")
    };
    vec![
        only_tcp("memcached", 4003, "start it with `-s PATH`"),
        short(2),
        only_tcp("memcached", 4008, "start it with `-s PATH`"),
        only_tcp("redis-server", 4012, "set `unixsocket`"),
        short(7),
        short(12),
        hidden(20_001),
        hidden(20_002),
        hidden(20_003),
        deserted(1),
        deserted(2),
        only_tcp("memcached", 4013, "start it with `-s PATH`"),
    ]
}

/// Makes a result with fifteen servers, eighty clients and six chains, about all of which there is much to report.
fn busy() -> Found {
    let source = |n: usize| CostSource {
        kind: Some(PROGRAMS[n].1.to_owned()),
        source: format!("looptax-{n}.json, 2026-11-20 10:00"),
        ..look().cost_sources[0].clone()
    };
    let listener = |n: u32| FoundListener {
        transport: EndpointTransport::Tcp,
        address: format!("127.0.0.1:{}", 17_000 + n),
        user: Some("mysql".to_owned()),
        likely: None,
        server_pids: vec![4000, 4005],
        web_servers: Vec::new(),
        n_connections: 1,
        clients: vec![client(100 + n, Way::Loopback).peer],
        n_closed_last_minute: 0,
    };
    let paying = (0..45).map(|n| client(n, Way::Loopback));
    Found {
        cost_sources: (0..4).map(source).collect(),
        servers: (0..N_SERVERS).map(server).collect(),
        clients: paying.chain((45..80).map(|n| client(n, Way::Unix))).collect(),
        chains: chains(),
        listeners: (0..3).map(listener).collect(),
        notes: notes(),
        ..look()
    }
}

#[test]
fn fifteen_servers_fit_on_forty_lines_with_those_that_pay_first() {
    for width in [80, 100, 120, 200] {
        let text = found(&busy(), false, at(width));
        let n_lines = text.lines().count();
        assert!(n_lines <= 40, "{n_lines} lines at {width} columns:\n{text}");
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        assert!(text.starts_with("over TCP: these programs pay the loopback tax\n"), "{text}");
        for server in busy().servers {
            let name = format!("\n  {} {} ", server.program, server.pid);
            assert!(text.contains(&name), "{name} at {width} columns:\n{text}");
        }
        // The largest loss and the problems are on the screen.
        assert!(text.contains("worker-"), "{text}");
        assert!(text.contains("can be reached only over TCP"), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("; --verbose lists all"), "{text}");
        assert!(words.contains("next: looptax check "), "{text}");
    }
}

#[test]
fn what_was_left_out_is_printed_with_verbose() {
    let look = busy();
    let text = found(&look, true, at(200));
    assert!(!text.contains("--verbose"), "{text}");
    for pid in 20_000..20_080 {
        assert!(text.contains(&format!("worker-{} {pid} ", (pid - 20_000) / 3)), "{pid}");
    }
    for endpoint in look.servers.iter().flat_map(|it| &it.endpoints) {
        assert!(text.contains(&endpoint.address), "{}", endpoint.address);
    }
    for chain in &look.chains {
        let first = chain.hops[0].client.as_deref().unwrap();
        assert!(text.contains(&format!("    {first} -> php-fpm8.2: ")), "{first}");
    }
}

/// Returns the parts of sentences that have at least six words, with names and numbers replaced.
fn clauses(text: &str) -> Vec<String> {
    let parts =
        text.lines().flat_map(|line| line.split("  ")).flat_map(|it| it.split([';', ':', ',', '('])).map(|it| {
            let words = it.split_whitespace();
            let masked = words.map(|it| {
                let is_name =
                    it.contains(|c: char| c.is_ascii_digit()) || PROGRAMS.iter().any(|(name, ..)| *name == it);
                if is_name { "N" } else { it }
            });
            masked.collect::<Vec<_>>()
        });
    let is_clause =
        |words: &Vec<&str>| words.iter().filter(|it| **it != "N" && it.contains(char::is_alphabetic)).count() >= 6;
    parts.filter(is_clause).map(|it| it.join(" ")).collect()
}

#[test]
fn no_sentence_is_printed_twice() {
    for is_verbose in [false, true] {
        // So wide that no sentence is broken into lines.
        let text = found(&busy(), is_verbose, at(2_000));
        let mut seen = BTreeSet::new();
        for clause in clauses(&text) {
            assert!(seen.insert(clause.clone()), "`{clause}` is there twice:\n{text}");
        }
        assert!(seen.len() > 5, "{seen:#?}");
        let n_explained = text.matches("a closed connection counts as one request").count();
        assert!(n_explained == 1 || !is_verbose && n_explained == 0, "{text}");
    }
}
