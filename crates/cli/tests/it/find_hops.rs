//! `looptax find` if another program is between a client and its server.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use looptax_bench::path::{Conversation, Endpoint, Limits};
use looptax_model::dsn::{Kind, Protocol, Secret};
use looptax_testkit::ports::free_address;
use looptax_testkit::runner::Looptax;
use looptax_testkit::scratch::Scratch;
use looptax_testkit::{patience, programs};
use looptax_wire::Login;
use serde_json::Value;

use crate::find::{found, ways};
use crate::fixture::{Alive, Server, exe, is_root, is_there};

/// Returns the row of a client with this server.
fn row(found: &Value, client: u32, server: u32) -> Value {
    let clients = found["clients"].as_array().unwrap();
    let row = clients.iter().find(|it| it["pid"] == client && it["server_pid"] == server);
    row.unwrap_or_else(|| panic!("no {client} at {server} in {clients:#?}")).clone()
}

fn connected(address: SocketAddr) -> TcpStream {
    patience::wait_for("the proxy", Duration::from_secs(20), || TcpStream::connect(address).ok())
}

fn write(path: &Path, text: &str) {
    fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()))
        .unwrap();
}

/// A script that relays one connection, as docker-proxy does, under the name of a proxy.
const RELAY: &str = r#"
use IO::Socket::INET;
my $listener = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1') or die;
my $server = IO::Socket::INET->new(PeerAddr => $ARGV[0]) or die;
$| = 1; print $listener->sockport, "\n";
my $client = $listener->accept; print "up\n"; sleep 60;
"#;

#[test]
fn a_port_proxy_is_a_hop_and_not_the_client() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    if !is_there("perl") {
        return;
    }
    for program in ["docker-proxy", "passt.avx2"] {
        check_port_proxy(program, &server);
    }
}

#[track_caller]
fn check_port_proxy(name: &str, server: &Server) {
    let scratch = Scratch::new();
    let proxy = scratch.file(name);
    programs::copy("/usr/bin/perl", &proxy);
    let mut proxy = Alive(
        Command::new(&proxy).args(["-e", RELAY, &server.it.tcp.to_string()]).stdout(Stdio::piped()).spawn().unwrap(),
    );
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(proxy.0.stdout.take().unwrap()));
    let port: u16 = lines.next().unwrap().unwrap().parse().unwrap();
    let _open = TcpStream::connect(("127.0.0.1", port)).unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "up");
    let found = found(&scratch);
    let own = std::process::id();
    assert_eq!(ways(&found, own, server.it.pid), ["loopback 1"]);
    assert_eq!(ways(&found, proxy.0.id(), server.it.pid), [""; 0]);
    let via = &row(&found, own, server.it.pid)["via"];
    assert_eq!(*via, format!("{name} {}", proxy.0.id()));
}

#[test]
fn haproxy_is_a_hop_and_the_way_that_it_goes_on_is_told() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    if !is_there("haproxy") {
        return;
    }
    let scratch = Scratch::new();
    let config = scratch.file("haproxy.cfg");
    let (by_tcp, by_unix) = (free_address(), free_address());
    let text = format!(
        "defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 1m\n  timeout server 1m\n\
         listen one\n  bind {by_tcp}\n  server redis {}\n\
         listen two\n  bind {by_unix}\n  server redis unix@{}\n",
        server.it.tcp,
        server.socket()
    );
    write(&config, &text);
    let proxy = Alive::spawn(Command::new("haproxy").args(["-db", "-f"]).arg(&config));
    let own = std::process::id();
    for (address, onward) in [(by_tcp, ""), (by_unix, ", then by unix")] {
        let stream = connected(address);
        // HAProxy connects to the server only once a client has connected.
        let row = patience::wait_for("the hop", Duration::from_secs(20), || {
            let found = found(&scratch);
            (ways(&found, own, server.it.pid) == ["loopback 1"]).then(|| row(&found, own, server.it.pid))
        });
        assert_eq!(row["via"], format!("haproxy {}{onward}", proxy.0.id()));
        drop(stream);
        patience::wait_for("the end of the hop", Duration::from_secs(20), || {
            ways(&found(&scratch), own, server.it.pid).is_empty().then_some(())
        });
    }
}

#[test]
fn pgbouncer_is_a_server_and_where_it_leads_is_told() {
    let Some(server) = Server::start(Kind::Postgres) else {
        return;
    };
    if !is_there("pgbouncer") || !is_root() {
        return;
    }
    let scratch = Scratch::new();
    // PgBouncer refuses to run as root.
    scratch.give_to(65_534);
    let config = scratch.file("pgbouncer.ini");
    let address = free_address();
    let login = &server.it.login;
    let text = format!(
        "[databases]\n* = host=127.0.0.1 port={} user={} password={}\n\
         [pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port={}\nunix_socket_dir=\nauth_type=any\n",
        server.it.tcp.port(),
        login.user,
        login.password.reveal(),
        address.port()
    );
    write(&config, &text);
    let pooler =
        Alive::spawn(Command::new("pgbouncer").args(["-q", "-u", "nobody"]).arg(&config).stderr(Stdio::null()));
    drop(connected(address));
    let through = Login {
        user: login.user.clone(),
        password: Secret::new(String::new()),
        database: Some(login.database.clone().unwrap_or_else(|| "postgres".to_owned())),
        ..Login::default()
    };
    let mut open =
        Conversation::open(Protocol::Postgres, &Endpoint::Tcp(address), &through, Limits::default()).unwrap();
    open.query("SELECT 1").unwrap();
    let found = found(&scratch);
    let (own, pid) = (std::process::id(), pooler.0.id());
    let at_pooler = row(&found, own, pid);
    assert_eq!(at_pooler["way"], "loopback");
    assert_eq!(at_pooler["onward"], format!("postgres {} by loopback", server.it.pid));
    // The pooler itself is a client of PostgreSQL.
    assert_eq!(row(&found, pid, server.it.pid)["program"], "pgbouncer");
}

/// Pgpool passes on PostgreSQL's own process numbers, and has a process for each client.
#[test]
fn pgpool_is_a_server_and_a_client_of_postgres() {
    let Some(server) = Server::start(Kind::Pgpool) else {
        return;
    };
    let scratch = Scratch::new();
    let it = &server.it;
    let limits = Limits::default();
    let open = |at: &Endpoint| Conversation::open(Protocol::Postgres, at, &it.login, limits);
    let mut client = open(&Endpoint::Tcp(it.tcp)).unwrap();
    client.query("SELECT 1").unwrap();
    let found = found(&scratch);
    let [over_socket, _] = it.pooler_pids[..] else {
        panic!("{:?}", it.pooler_pids);
    };
    let servers = found["servers"].as_array().unwrap();
    let pooler = servers.iter().find(|it| it["pid"] == over_socket).unwrap();
    assert_eq!(pooler["kind"], "pgpool");
    assert!(pooler["version"].as_str().unwrap().contains('.'), "{pooler}");
    let listens = pooler["endpoints"].to_string();
    for at in [it.tcp.to_string(), it.socket.display().to_string()] {
        assert!(listens.contains(&at), "{listens}");
    }
    let at_pooler = row(&found, std::process::id(), over_socket);
    assert_eq!(at_pooler["way"], "loopback");
    assert_eq!(at_pooler["onward"], format!("postgres {} by unix", it.pid));
    drop(client);
    let check = Looptax::new(exe(), &scratch).args(["check", &server.url()]).run();
    check.expect_code(0);
    assert!(check.stdout.contains("would work"), "{check:?}");
}
