//! Accounts in common situations: what `check` reports to root and to an ordinary user is compared with what that user
//! can do with the server's own client program.
//!
//! `cargo lab oracle accounts --table` prints this comparison as a table.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use looptax_experiment::servers::Listening;
use looptax_model::dsn::Kind;
use looptax_testkit::runner::Looptax;
use looptax_testkit::scratch::Scratch;

use super::{Searchable, open_up, report};
use crate::fixture::{Server, exe, is_root, is_there};

const NOBODY: u32 = 65_534;

/// The statements that set up a situation, and the account that logs in.
struct Situation {
    name: &'static str,
    user: &'static str,
    password: &'static str,
    setup: &'static [&'static str],
}

const fn situation(name: &'static str, setup: &'static [&'static str]) -> Situation {
    Situation { name, user: "app", password: "pw", setup }
}

const TCP: &str = "CREATE USER app@'127.0.0.1' IDENTIFIED BY 'pw'";
const TCP_GRANT: &str = "GRANT SELECT ON shop.* TO app@'127.0.0.1'";
const SOCKET: &str = "CREATE USER app@localhost IDENTIFIED BY 'pw'";
const SOCKET_GRANT: &str = "GRANT SELECT ON shop.* TO app@localhost";

const ACCOUNTS: [Situation; 10] = [
    situation(
        "one account for every host",
        &["CREATE USER app@'%' IDENTIFIED BY 'pw'", "GRANT SELECT ON shop.* TO app@'%'"],
    ),
    situation("two accounts, alike", &[TCP, TCP_GRANT, SOCKET, SOCKET_GRANT]),
    situation("an account only for 127.0.0.1", &[TCP, TCP_GRANT]),
    situation(
        "another password at localhost",
        &[TCP, TCP_GRANT, "CREATE USER app@localhost IDENTIFIED BY 'other'", SOCKET_GRANT],
    ),
    situation(
        "locked at localhost",
        &[TCP, TCP_GRANT, "CREATE USER app@localhost IDENTIFIED BY 'pw' ACCOUNT LOCK", SOCKET_GRANT],
    ),
    situation("no rights at localhost", &[TCP, TCP_GRANT, SOCKET]),
    situation("more rights at localhost", &[TCP, TCP_GRANT, SOCKET, "GRANT ALL PRIVILEGES ON *.* TO app@localhost"]),
    situation(
        "the anonymous user at localhost",
        &["CREATE USER app@'%' IDENTIFIED BY 'pw'", "GRANT SELECT ON shop.* TO app@'%'", "CREATE USER ''@localhost"],
    ),
    situation(
        "TLS demanded at localhost",
        &[TCP, TCP_GRANT, "CREATE USER app@localhost IDENTIFIED BY 'pw' REQUIRE SSL", SOCKET_GRANT],
    ),
    situation(
        "TLS demanded over both transports",
        &["CREATE USER app@'%' IDENTIFIED BY 'pw' REQUIRE SSL", "GRANT SELECT ON shop.* TO app@'%'"],
    ),
];

/// Only for MariaDB, since every package of MariaDB has this plugin.
const OF_SYSTEM: [Situation; 2] = [
    situation(
        "unix_socket for another system user",
        &[TCP, TCP_GRANT, "CREATE USER app@localhost IDENTIFIED VIA unix_socket", SOCKET_GRANT],
    ),
    Situation {
        name: "unix_socket for this system user",
        user: "nobody",
        password: "pw",
        setup: &[
            "CREATE USER nobody@'127.0.0.1' IDENTIFIED BY 'pw'",
            "GRANT SELECT ON shop.* TO nobody@'127.0.0.1'",
            "CREATE USER nobody@localhost IDENTIFIED VIA unix_socket",
            "GRANT SELECT ON shop.* TO nobody@localhost",
        ],
    },
];

const HOST: &str = "host all all 127.0.0.1/32 scram-sha-256";

const ROLES: [Situation; 8] = [
    situation("the same method", &["local all all scram-sha-256", HOST]),
    situation("peer, another system user", &["local all all peer", HOST]),
    Situation { name: "peer, this system user", user: "nobody", password: "pw", setup: &["local all all peer", HOST] },
    situation("reject", &["local all app reject", HOST]),
    situation("no line for the socket", &[HOST]),
    Situation {
        name: "trust over TCP, a password over the socket",
        user: "app",
        password: "wrong",
        setup: &["local all all scram-sha-256", "host all all 127.0.0.1/32 trust"],
    },
    situation("a line for a group", &["local all +staff scram-sha-256", HOST]),
    situation("only TLS over TCP", &["local all all scram-sha-256", "hostssl all all 127.0.0.1/32 scram-sha-256"]),
];

const OF_REDIS: [Situation; 4] = [
    Situation { name: "no password", user: "", password: "", setup: &["CONFIG SET requirepass"] },
    Situation { name: "a password", user: "", password: "pw", setup: &["CONFIG SET requirepass pw"] },
    situation("a user who may only get and set", &["ACL SETUSER app on >pw ~* +get +set"]),
    Situation {
        name: "a socket only for the server's own user",
        user: "",
        password: "pw",
        setup: &["chmod 700", "CONFIG SET requirepass pw"],
    },
];

/// The results of one situation on one server.
struct Row {
    server: String,
    name: &'static str,
    to_root: i32,
    to_user: i32,
    is_true: bool,
}

fn start(kind: Kind) -> Option<(Server, Searchable)> {
    let listening =
        Listening { has_tls: matches!(kind, Kind::Mariadb | Kind::Mysql | Kind::Postgres), ..Listening::default() };
    let server = Server::start_listening(kind, 20, listening)?;
    let socket = server.socket();
    let reachable = open_up(Path::new(&socket).parent().unwrap());
    Some((server, reachable))
}

fn let_everybody_in(server: &Server, mode: u32) {
    fs::set_permissions(server.socket(), fs::Permissions::from_mode(mode)).unwrap();
}

/// Returns the exit codes of a check for `nobody`: run by root, and run by `nobody` itself.
fn said(url: &str) -> [i32; 2] {
    let ask = |uid: Option<u32>| {
        let scratch = Scratch::new();
        let run = Looptax::new(exe(), &scratch).args(["check", url, "-c", "1", "--json"]);
        let run = match uid {
            Some(uid) => run.uid(uid),
            None => run.args(["--user", "nobody"]),
        };
        run.run().status.code().unwrap()
    };
    [ask(None), ask(Some(NOBODY))]
}

/// Whether a command ends successfully as `nobody`.
fn ends_well(command: &mut Command) -> bool {
    let command = command.uid(NOBODY).gid(NOBODY).current_dir("/");
    command.output().unwrap().status.success()
}

fn accounts(kind: Kind, client: &str, situations: &[Situation], rows: &mut Vec<Row>) {
    let Some((server, _reachable)) = start(kind).filter(|_| is_there(client)) else {
        return;
    };
    let name = match kind {
        Kind::Mariadb => "MariaDB",
        _ => "MySQL",
    };
    let_everybody_in(&server, 0o777);
    // This is the behaviour of a driver that does not use TLS by itself.
    let without_tls = match kind {
        Kind::Mariadb => "--skip-ssl",
        _ => "--ssl-mode=DISABLED",
    };
    let mut admin = server.talk();
    for sql in ["CREATE DATABASE shop", "CREATE TABLE shop.t (id int, name text)"] {
        admin.execute(sql).unwrap();
    }
    for (idx, it) in situations.iter().enumerate() {
        // MySQL 9.7 may accept the password that an earlier account with the same name had.
        let user = match kind {
            Kind::Mysql => format!("{}{idx}", it.user),
            _ => it.user.to_owned(),
        };
        for sql in it.setup {
            let sql = sql.replace(&format!("{}@", it.user), &format!("{user}@"));
            admin.execute(&sql).unwrap();
        }
        let works = ends_well(
            Command::new(client)
                .args(["--no-defaults", "--batch", "--password=pw", without_tls])
                .args([format!("--user={user}")])
                .args([format!("--socket={}", server.socket())])
                .args(["shop", "-e", "SELECT id FROM t"]),
        );
        let url = format!("mysql://{user}:pw@{}/shop", server.it.tcp);
        rows.push(row(name.to_owned(), it, &url, works));
        for host in ["127.0.0.1", "localhost", "%"] {
            for user in [&*user, ""] {
                admin.execute(&format!("DROP USER IF EXISTS '{user}'@'{host}'")).unwrap();
            }
        }
    }
}

fn row(server: String, it: &Situation, url: &str, is_true: bool) -> Row {
    let [to_root, to_user] = said(url);
    Row { server, name: it.name, to_root, to_user, is_true }
}

fn roles(rows: &mut Vec<Row>) {
    let Some((server, _reachable)) = start(Kind::Postgres).filter(|_| is_there("psql")) else {
        return;
    };
    let_everybody_in(&server, 0o777);
    let folder = Path::new(&server.socket()).parent().unwrap().to_owned();
    let mut admin = server.talk();
    for sql in [
        "CREATE ROLE staff",
        "CREATE ROLE app LOGIN PASSWORD 'pw' IN ROLE staff",
        "CREATE ROLE nobody LOGIN PASSWORD 'pw'",
        "CREATE DATABASE shop",
    ] {
        admin.execute(sql).unwrap();
    }
    let file = server.column("SHOW hba_file").remove(0);
    let own = format!("local all \"{}\" trust", server.it.login.user);
    for it in &ROLES {
        let loaded = "SELECT pg_conf_load_time()::text";
        let before = server.column(loaded);
        fs::write(&file, format!("{own}\n{}\n", it.setup.join("\n"))).unwrap();
        server.column("SELECT pg_reload_conf()::text");
        looptax_testkit::patience::wait_for("the reload", std::time::Duration::from_secs(10), || {
            (server.column(loaded) != before).then_some(())
        });
        let works = ends_well(
            Command::new("psql")
                .args(["-wAtX", "-c", "SELECT 1", "-h"])
                .arg(&folder)
                .args(["-p", &server.it.tcp.port().to_string()])
                .args(["-U", it.user, "shop"])
                .env("PGPASSWORD", it.password),
        );
        let url = format!("postgres://{}:{}@{}/shop", it.user, it.password, server.it.tcp);
        rows.push(row("PostgreSQL".to_owned(), it, &url, works));
    }
}

fn users(rows: &mut Vec<Row>) {
    for it in &OF_REDIS {
        let Some((server, _reachable)) = start(Kind::Redis).filter(|_| is_there("redis-cli")) else {
            return;
        };
        let_everybody_in(&server, 0o777);
        for line in it.setup {
            if line.starts_with("chmod ") {
                let_everybody_in(&server, 0o700);
                continue;
            }
            let mut words: Vec<&str> = line.split(' ').collect();
            if *line == "CONFIG SET requirepass" {
                words.push("");
            }
            server.redis(&words);
        }
        let mut client = Command::new("redis-cli");
        client.args(["-e", "-s", &server.socket()]);
        if !it.password.is_empty() {
            client.args(["--no-auth-warning", "-a", it.password]);
        }
        if !it.user.is_empty() {
            client.args(["--user", it.user]);
        }
        let works = ends_well(client.args(["GET", "nothing"]));
        let url = match it.password {
            "" => format!("redis://{}/", server.it.tcp),
            password => format!("redis://{}:{password}@{}/", it.user, server.it.tcp),
        };
        rows.push(row("Redis".to_owned(), it, &url, works));
    }
}

fn table(rows: &[Row]) -> String {
    let word = |code| match code {
        0 => "would work",
        1 => "would not",
        _ => "not known",
    };
    let mut text = String::from(
        "| server | situation | answer to root | answer to an ordinary user | real outcome |\n|---|---|---|---|---|\n",
    );
    for row in rows {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            row.server,
            row.name,
            word(row.to_root),
            word(row.to_user),
            if row.is_true { "works" } else { "does not" }
        );
    }
    text
}

#[test]
fn r20_what_check_says_of_each_account_is_what_connecting_finds() {
    if !is_root() {
        return;
    }
    let mut rows = Vec::new();
    accounts(Kind::Mariadb, "mariadb", &ACCOUNTS, &mut rows);
    accounts(Kind::Mariadb, "mariadb", &OF_SYSTEM, &mut rows);
    accounts(Kind::Mysql, "mysql", &ACCOUNTS, &mut rows);
    roles(&mut rows);
    users(&mut rows);
    let text = table(&rows);
    report(&text);
    let is_wrong = |said: i32, is_true: bool| said == 0 && !is_true || said == 1 && is_true;
    let wrong = rows.iter().filter(|it| is_wrong(it.to_root, it.is_true) || is_wrong(it.to_user, it.is_true));
    assert_eq!(wrong.count(), 0, "{text}");
    // For root, `check` leaves only one situation open: the one in which the answer depends on the driver. Other users
    // get more open answers, because they cannot find out to which of two servers a socket belongs.
    let of_driver = "TLS demanded over both transports";
    let mut others = rows.iter().filter(|it| it.name != of_driver);
    assert!(others.all(|it| it.to_root < 2), "{text}");
}
