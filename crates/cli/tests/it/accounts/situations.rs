//! Accounts in all situations that occur in practice, as root and as a user that sees no process of the server:
//! `compare` either measures, or ends before measuring with one error that names the cause and the next step.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use looptax_bench::path::{Conversation, Endpoint, Limits, Sealing};
use looptax_model::dsn::{Kind, Protocol};
use looptax_testkit::runner::Finished;
use looptax_testkit::scratch::Scratch;
use looptax_wire::Login;

use super::{execute, rule, short, with_tls};
use crate::check::{Searchable, open_up};
use crate::fixture::{Server, is_root, saved};

/// A user that owns none of the servers' processes.
const STRANGER: u32 = 12_345;

#[derive(Clone, Copy)]
enum Ends {
    /// A measurement whose first two arms are these.
    Measured([&'static str; 2]),
    /// An error before measuring, with these words.
    Refused(&'static [&'static str]),
}
use Ends::{Measured, Refused};

const PLAIN: Ends = Measured(["unix", "tcp"]);
const SEALED: Ends = Measured(["unix", "tls"]);

/// Lets every user connect to the server's socket.
fn reachable(server: &Server) -> Searchable {
    let socket = server.socket();
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o777)).unwrap();
    open_up(Path::new(&socket).parent().unwrap())
}

fn run(url: &str, uid: Option<u32>, options: &[&str]) -> (Scratch, Finished) {
    let scratch = Scratch::new();
    let run = short(&scratch, url, options);
    let run = match uid {
        Some(uid) => run.uid(uid).run(),
        None => run.run(),
    };
    (scratch, run)
}

/// Checks the output and the files of a run against the expected end.
#[track_caller]
fn check_ends((scratch, run): &(Scratch, Finished), ends: Ends) {
    match ends {
        Refused(words) => {
            run.expect_error(2, words);
            scratch.check_nothing_left();
        }
        Measured(arms) => {
            run.expect_code(0);
            let record = saved(scratch);
            let found = record["comparisons"][0]["arms"].as_array().unwrap();
            let names: Vec<_> = found.iter().map(|it| it["name"].as_str().unwrap()).collect();
            assert!(names.starts_with(&arms), "{names:?}");
            assert!(found.iter().all(|it| it["verified"] == true), "{record}");
        }
    }
}

/// Checks each row as root, and as a user that sees no process of the server.
#[track_caller]
fn check_all(server: &Server, rows: &[(&str, Ends)]) {
    let _reachable = reachable(server);
    for (url, ends) in rows {
        for uid in [None, is_root().then_some(STRANGER)] {
            let ran = run(url, uid, &[]);
            check_ends(&ran, *ends);
        }
    }
}

#[test]
fn r20_accounts_of_postgres_are_measured_or_told_why_not() {
    let Some(server) = with_tls(Kind::Postgres) else {
        return;
    };
    let roles = ["plain", "reader", "peered", "barred", "socketless", "sealed", "socket_only", "few"];
    for role in roles {
        execute(&server, &[&format!("CREATE ROLE {role} LOGIN PASSWORD 'pw'")]);
    }
    execute(&server, &["GRANT pg_read_all_settings TO reader", "ALTER ROLE few CONNECTION LIMIT 1"]);
    rule(
        &server,
        "local all plain,reader,sealed,socket_only,few scram-sha-256\n\
         local all peered peer\nlocal all barred reject\n\
         host all socket_only 127.0.0.1/32 reject\n\
         hostssl all sealed 127.0.0.1/32 scram-sha-256\nhost all sealed 127.0.0.1/32 reject\n\
         host all all 127.0.0.1/32 scram-sha-256",
    );
    let url = |user: &str, password: &str| format!("postgres://{user}:{password}@{}/postgres", server.it.tcp);
    check_all(
        &server,
        &[
            (&url("plain", "pw"), PLAIN),
            (&url("reader", "pw"), PLAIN),
            (&url("sealed", "pw"), SEALED),
            (&url("peered", "pw"), Refused(&["Peer authentication failed", "pg_hba.conf"])),
            (&url("barred", "pw"), Refused(&["pg_hba.conf rejects", "`looptax check`"])),
            (&url("socketless", "pw"), Refused(&["no pg_hba.conf entry", "`looptax check`"])),
            (&url("socket_only", "pw"), Refused(&["pg_hba.conf rejects", "`looptax check`"])),
            (&url("plain", "other"), Refused(&["password authentication failed", "LOOPTAX_PASSWORD"])),
            (&url("few", "pw"), Refused(&["too many connections for role", "lower -c"])),
        ],
    );
}

#[test]
fn r20_accounts_of_mariadb_and_mysql_are_measured_or_told_why_not() {
    for kind in [Kind::Mariadb, Kind::Mysql] {
        if let Some(server) = with_tls(kind) {
            check_accounts(kind, &server);
        }
    }
}

fn check_accounts(kind: Kind, server: &Server) {
    let both = |user: &str, socket: &str, tcp: &str| {
        [("localhost", socket), ("127.0.0.1", tcp)].into_iter().filter(|(_, how)| !how.is_empty()).for_each(
            |(host, how)| {
                execute(server, &[&format!("CREATE USER '{user}'@'{host}' {how}")]);
            },
        );
    };
    let (pw, sealed) = ("IDENTIFIED BY 'pw'", "IDENTIFIED BY 'pw' REQUIRE SSL");
    let certified = "IDENTIFIED BY 'pw' REQUIRE X509";
    both("plain", pw, pw);
    both("seer", pw, pw);
    both("own", pw, pw);
    both("tcp", "", pw);
    both("socket", pw, "");
    both("other", "IDENTIFIED BY 'other'", pw);
    // MySQL's plugin for system users is in a separate package, so MySQL gets an account with another password instead.
    let system = match kind {
        Kind::Mariadb => "IDENTIFIED VIA unix_socket",
        _ => "IDENTIFIED BY 'other'",
    };
    both("system", system, pw);
    both("sealed", sealed, sealed);
    both("sealed_tcp", pw, sealed);
    both("certified", certified, certified);
    both("locked", "IDENTIFIED BY 'pw' ACCOUNT LOCK", pw);
    execute(
        server,
        &[
            "CREATE USER wide@'%' IDENTIFIED BY 'pw'",
            "GRANT PROCESS ON *.* TO seer@localhost",
            "GRANT PROCESS ON *.* TO seer@127.0.0.1",
            "CREATE DATABASE shop",
            "GRANT ALL ON shop.* TO own@localhost",
            "GRANT ALL ON shop.* TO own@127.0.0.1",
        ],
    );
    let url = |user: &str| format!("mysql://{user}:pw@{}/", server.it.tcp);
    let at_localhost: &[&str] = &["'localhost'", "`looptax check`"];
    check_all(
        server,
        &[
            (&url("plain"), PLAIN),
            (&url("seer"), PLAIN),
            (&url("wide"), PLAIN),
            (&format!("{}shop", url("own")), PLAIN),
            (&format!("{}shop", url("plain")), Refused(&["denied", "privilege"])),
            (&url("sealed_tcp"), SEALED),
            (&url("sealed"), Refused(&["only with TLS", "--arms tls-unix,tls"])),
            (&url("certified"), Refused(&["client certificate"])),
            (&url("tcp"), Refused(at_localhost)),
            (&url("other"), Refused(at_localhost)),
            (&url("system"), Refused(at_localhost)),
            (&url("locked"), Refused(&["locked"])),
            (&url("socket"), Refused(&["127.0.0.1", "for socket and TCP may differ"])),
        ],
    );
}

#[test]
fn r20_users_of_redis_are_measured_or_told_why_not() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    for (user, rights) in [
        ("all", "~* +@all"),
        ("get", "~* +get +ping"),
        ("proves", "~* +get +info +client|list"),
        ("keys", "~app:* +get +info +client|list"),
    ] {
        let mut words = vec!["ACL", "SETUSER", user, "on", ">pw"];
        words.extend(rights.split(' '));
        server.redis(&words);
    }
    server.redis(&["ACL", "SETUSER", "off", "off", ">pw"]);
    // looptax needs some commands: a user without the right to run one of them is reported.
    let [at, socket] = [server.it.tcp.to_string(), server.socket()];
    let url = |login: &str| format!("redis://{login}{at}?socket={socket}");
    check_all(
        &server,
        &[
            (&server.url(), PLAIN),
            (&url("all:pw@"), PLAIN),
            (&url("proves:pw@"), PLAIN),
            (&url("keys:pw@"), Refused(&["one of the keys", "~looptax:missing*"])),
            (&url("off:pw@"), Refused(&["WRONGPASS", "LOOPTAX_PASSWORD"])),
            (&url(""), Refused(&["NOAUTH", "LOOPTAX_PASSWORD"])),
            (&url(":other@"), Refused(&["WRONGPASS"])),
        ],
    );
    // As root, looptax learns from the kernel which process has accepted each connection.
    let as_us = run(&format!("redis://get:pw@{at}"), None, &[]);
    check_ends(&as_us, PLAIN);
    if is_root() {
        let _reachable = reachable(&server);
        let as_stranger = |url: &str| run(url, Some(STRANGER), &[]);
        check_ends(&as_stranger(&url("get:pw@")), Refused(&["'info'", "+client|list", "as root"]));
        check_ends(&as_stranger(&format!("redis://get:pw@{at}")), Refused(&["no socket", "--socket FILE"]));
    }
}

/// Logs in directly, without looptax. Returns whether this works: over the socket and over TCP, each without and with
/// TLS.
fn let_in(server: &Server, user: &str) -> [[bool; 2]; 2] {
    let login = Login {
        user: user.to_owned(),
        password: looptax_model::dsn::Secret::new("pw".to_owned()),
        database: None,
        ..Login::default()
    };
    let endpoints = [Endpoint::unix(&server.it.socket).unwrap(), Endpoint::Tcp(server.it.tcp)];
    endpoints.map(|endpoint| {
        [Sealing::Never, Sealing::Always].map(|sealing| {
            let limits = Limits::default();
            Conversation::open_as_wanted(Protocol::Mysql, &endpoint, &login, sealing, limits).is_ok()
        })
    })
}

#[test]
fn r20_accounts_at_random_get_what_a_login_of_their_own_finds() {
    for kind in [Kind::Mariadb, Kind::Mysql] {
        if let Some(server) = with_tls(kind) {
            check_random(&server);
        }
    }
}

fn check_random(server: &Server) {
    const N: u64 = 10;
    let _reachable = reachable(server);
    let mut state = 20_u64;
    let mut draw = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % n
    };
    for idx in 0..N {
        let user = format!("user{idx}");
        for host in ["localhost", "127.0.0.1", "%"] {
            let how = ["pw' ", "pw' REQUIRE SSL", "pw' REQUIRE X509", "other'", ""][draw(5)];
            if !how.is_empty() {
                let sql = format!("CREATE USER '{user}'@'{host}' IDENTIFIED BY '{how}");
                execute(server, &[&sql]);
            }
        }
        let [unix, tcp] = let_in(server, &user);
        let name = |[plain, _]: [bool; 2], names: [&'static str; 2]| names[usize::from(!plain)];
        let [over_socket, over_tcp] = [name(unix, ["unix", "tls-unix"]), name(tcp, ["tcp", "tls"])];
        let uid = (idx % 2 == 1 && is_root()).then_some(STRANGER);
        let url = format!("mysql://{user}:pw@{}/", server.it.tcp);
        let ran = run(&url, uid, &[]);
        let is_in = |[plain, sealed]: [bool; 2]| plain || sealed;
        match (is_in(unix), is_in(tcp), unix[0]) {
            (true, true, true) => check_ends(&ran, Measured([over_socket, over_tcp])),
            (true, true, false) => {
                let arms = format!("{over_socket},{over_tcp}");
                let next = format!("--arms {arms}");
                ran.1.expect_error(2, &["only with TLS", &next]);
                let again = run(&url, uid, &["--arms", &arms]);
                check_ends(&again, Measured([over_socket, over_tcp]));
            }
            _ => check_ends(&ran, Refused(&["denied", "`looptax check`"])),
        }
    }
}
