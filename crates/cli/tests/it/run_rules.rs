//! `run` and the rules about logins: a moved connection gets exactly the access that it would have had over TCP.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use looptax_bench::path::Conversation;
use looptax_model::dsn::Kind;
use looptax_testkit::patience;
use looptax_testkit::ports::free_address;
use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;

use crate::fixture::{Alive, Server, exe, is_root, is_there};

/// A PostgreSQL whose rules change, and a connection that was opened before them.
pub(crate) struct Ruled {
    pub(crate) server: Server,
    scratch: Scratch,
    pub(crate) hba: PathBuf,
    admin: Conversation,
}

impl Ruled {
    pub(crate) fn start() -> Option<Self> {
        let server = Server::start(Kind::Postgres).filter(|_| is_there("psql"))?;
        Some(Self {
            hba: server.column("SHOW hba_file").remove(0).into(),
            admin: server.talk(),
            scratch: Scratch::new(),
            server,
        })
    }

    pub(crate) fn ask(&mut self, sql: &str) -> Option<String> {
        let rows = self.admin.query(sql).unwrap();
        rows.into_iter().find_map(|row| row.into_iter().next()?)
    }

    pub(crate) fn execute(&mut self, sql: &str) {
        self.admin.execute(sql).unwrap();
    }

    pub(crate) fn rule(&mut self, rules: &str) {
        fs::write(&self.hba, rules).unwrap();
        let loaded = "SELECT pg_conf_load_time()::text";
        let before = self.ask(loaded);
        self.ask("SELECT pg_reload_conf()");
        patience::wait_for("the reload", Duration::from_secs(10), || {
            Some(self.ask(loaded)).filter(|now| *now != before)
        });
    }

    fn run(&self) -> Looptax<'_> {
        let port = self.server.it.tcp.port().to_string();
        Looptax::new(exe(), &self.scratch).args(["run", "--port", &port])
    }

    fn dry_run(&self) -> Finished {
        self.run().args(["--dry-run"]).run()
    }

    /// Runs `psql` with this login, which prints its user; `psql` believes that it uses TCP.
    fn psql(&self, user: &str, password: &str, more: &str) -> Finished {
        let port = self.server.it.tcp.port();
        let target = format!("host=127.0.0.1 port={port} user={user} dbname=postgres {more}");
        self.run()
            .env("PGPASSWORD", password)
            .args(["--stats", "--", "psql", "-wAtX", "-c", "SELECT current_user"])
            .args([target])
            .run()
    }
}

#[test]
fn r18_rules_that_differ_between_socket_and_tcp_leave_postgres_on_tcp() {
    let Some(mut ruled) = Ruled::start() else {
        return;
    };
    ruled.execute("CREATE ROLE bob LOGIN PASSWORD 'right'");
    let host = "host all all 127.0.0.1/32 scram-sha-256\n";
    for (rules, words) in [
        (
            host.to_owned(),
            "line 1 applies (`host all all 127.0.0.1/32 scram-sha-256`), and over the socket no line allows a login",
        ),
        (
            format!("local shop all scram-sha-256\n{host}"),
            "for a database that no line names and a user that no line names: over TCP line 2 applies",
        ),
        (format!("local all bob scram-sha-256\n{host}"), "a user that no line names: over TCP line 2 applies"),
        (
            format!("local all all scram-sha-256\n{host}host replication all samehost scram-sha-256\n"),
            "for replication and a user that no line names: over TCP line 3 applies (`host replication all samehost scram-sha-256`)",
        ),
        (format!("local all all trust\n{host}"), "and over the socket line 1 applies (`local all all trust`)"),
        (
            "local all all trust\nhost all bob 127.0.0.1/32 reject\nhost all all 127.0.0.1/32 trust\n".to_owned(),
            "user `bob`: over TCP line 2 applies (`host all bob 127.0.0.1/32 reject`), and over the socket line 1",
        ),
        (
            "local all all scram-sha-256\nhost all all 127.0.0.1/32 trust\n".to_owned(),
            "over TCP line 2 applies (`host all all 127.0.0.1/32 trust`), and over the socket line 1",
        ),
        (format!("local all +bob scram-sha-256\nlocal all all scram-sha-256\n{host}"), "line 1 of"),
    ] {
        ruled.rule(&rules);
        let dry = ruled.dry_run();
        dry.expect_code(1);
        let line = dry.stdout.lines().find(|it| it.contains("stays on TCP: "));
        let path = ruled.hba.to_str().unwrap();
        let is_said = line.is_some_and(|it| it.contains(words) && it.contains(path));
        assert!(is_said, "`{words}`: {}", dry.stdout);
    }
}

#[test]
fn r18_nobody_gets_in_whom_tcp_refuses_and_nobody_stays_out_whom_it_lets_in() {
    let Some(mut ruled) = Ruled::start() else {
        return;
    };
    ruled.execute("CREATE ROLE bob LOGIN PASSWORD 'right'");
    let scram = "all all 127.0.0.1/32 scram-sha-256";
    let cases = [
        (format!("host {scram}\n"), "right", true),
        (format!("local all all trust\nhost {scram}\n"), "wrong", false),
        (format!("local all all trust\nhost all bob samehost reject\nhost {scram}\n"), "right", false),
        ("local all all scram-sha-256\nhost all all samehost trust\n".to_owned(), "", true),
        (format!("local all all scram-sha-256\nhost {scram}\n"), "right", true),
        (format!("local all all scram-sha-256\nhost {scram}\n"), "wrong", false),
    ];
    for (rules, password, gets_in) in cases {
        ruled.rule(&rules);
        let run = ruled.psql("bob", password, "");
        assert_eq!(run.stdout == "bob\n", gets_in, "{rules}{run:?}");
        let is_same = rules.starts_with("local all all scram") && rules.ends_with("scram-sha-256\n");
        assert_eq!(run.stderr.contains(" 1 connection moved"), is_same, "{rules}{run:?}");
    }
}

/// A login that works shows nothing about other logins, which the socket may accept although TCP rejects them.
#[test]
fn r18_a_connection_that_was_only_found_does_not_hide_rules_that_differ() {
    let Some(mut ruled) = Ruled::start() else {
        return;
    };
    ruled.execute("CREATE ROLE bob LOGIN PASSWORD 'right'");
    ruled.rule("local all bob scram-sha-256\nlocal all all trust\nhost all all samehost scram-sha-256\n");
    let url = format!("postgres://bob:right@{}/postgres", ruled.server.it.tcp);
    let found = ruled.run().env("DATABASE_URL", &url).args(["--dry-run"]).run();
    found.expect_code(1);
    assert!(found.stdout.contains("line 2 applies (`local all all trust`)"), "{}", found.stdout);
    let told = |words: &str, code| {
        let dry = ruled.run().args(["--dry-run", "--login", &url]).run();
        dry.expect_code(code);
        assert!(dry.stdout.contains(words), "{}", dry.stdout);
    };
    told("stays on TCP: in ", 1);
    told("line 2 applies (`local all all trust`)", 1);
    // If the socket differs only by rejecting other logins, the result for the known login decides.
    let mut ruled = ruled;
    ruled.rule("local all bob scram-sha-256\nhost all all samehost scram-sha-256\n");
    let dry = ruled.run().args(["--dry-run", "--login", &url]).run();
    dry.expect_code(0);
    let words = "warning: 127.0.0.1:";
    let others = "the login that you passed with --login works over the socket, but other logins may fail: in ";
    assert!(dry.stdout.contains(words) && dry.stdout.contains(others), "{}", dry.stdout);
    // looptax prints the warning at the first connection to that port, not before.
    let quiet = |command: &[&str]| ruled.run().args(["-q", "--login", &url, "--"]).args(command).run();
    let moved = quiet(&["psql", &url, "-c", "SELECT 1"]);
    assert!(moved.stderr.contains(others), "{}", moved.stderr);
    let nothing = quiet(&["true"]);
    assert!(!nothing.stderr.contains(others), "{}", nothing.stderr);
}

/// If the server rejects the file, looptax cannot know which rules are in force.
#[test]
fn r18_a_file_that_the_server_refuses_leaves_the_port_on_tcp() {
    let Some(mut ruled) = Ruled::start() else {
        return;
    };
    let same = "local all all scram-sha-256\nhost all all samehost scram-sha-256\n";
    for line in [
        "host all x all ldap",
        "hostssl all x all cert clientcert=no-verify",
        "host all x all radius",
        "host all x 127.1 md5",
    ] {
        fs::write(&ruled.hba, format!("{same}{line}\n")).unwrap();
        let errors = ruled.ask("SELECT count(*)::text FROM pg_hba_file_rules WHERE error <> ''");
        assert_eq!(errors.as_deref(), Some("1"), "{line}");
        let dry = ruled.dry_run();
        dry.expect_code(1);
        assert!(dry.stdout.contains("line 3 of ") && dry.stdout.contains("cannot parse"), "{line}: {}", dry.stdout);
    }
}

#[test]
fn r18_a_known_login_that_tcp_refuses_stays_refused() {
    let Some(mut ruled) = Ruled::start() else {
        return;
    };
    ruled.execute("CREATE ROLE eve LOGIN PASSWORD 'right'");
    ruled.rule("local all all trust\nhost all all samehost scram-sha-256\n");
    let url = format!("postgres://eve:wrong@{}/postgres", ruled.server.it.tcp);
    let dry = ruled.run().args(["--dry-run", "--login", &url]).run();
    dry.expect_code(1);
    assert!(dry.stdout.contains("stays on TCP: `eve`"), "{}", dry.stdout);
}

/// Rules that were written after the server started may not be in force.
#[test]
fn r18_rules_that_may_not_be_in_force_are_warned_of() {
    let Some(mut ruled) = Ruled::start() else {
        return;
    };
    let dry = ruled.dry_run();
    dry.expect_code(0);
    assert!(!dry.stdout.contains("warning"), "{}", dry.stdout);
    ruled.rule("local all all md5\nhost all all samehost md5\n");
    let dry = ruled.dry_run();
    dry.expect_code(0);
    let words = "warning: ";
    assert!(
        dry.stdout.contains(words) && dry.stdout.contains("was changed after the server started"),
        "{}",
        dry.stdout
    );
}

/// libpq accepts blanks, quotes and escapes in these settings.
#[test]
fn r18_a_demand_for_tls_is_seen_however_it_is_spelled() {
    let Some(ruled) = Ruled::start() else {
        return;
    };
    let user = &ruled.server.it.login.user;
    for demand in ["sslmode = require", "sslmode='require'", "sslmode = 'verify-full'", "sslmode=re\\quire"] {
        let run = ruled.psql(user, ruled.server.password(), demand);
        let why = "1 left on TCP: the program's arguments or environment ask for TLS";
        assert!(run.stderr.contains(why), "{demand}: {run:?}");
    }
    let run = ruled.psql(user, ruled.server.password(), "sslmode = 'prefer'");
    assert!(run.stderr.contains(" 1 connection moved"), "{run:?}");
}

/// A shell whose connection was moved executes a program that requires TLS.
#[test]
fn r18_a_program_that_is_executed_has_demands_of_its_own() {
    let Some(ruled) = Ruled::start() else {
        return;
    };
    let port = ruled.server.it.tcp.port();
    let script =
        format!("exec 3<>/dev/tcp/127.0.0.1/{port}; exec psql 'host=127.0.0.1 port={port} sslmode = require' -c ''");
    let run = ruled.run().args(["--stats", "--", "bash", "-c", &script]).run();
    // The shell's arguments already contain the setting of the program that it executes.
    assert!(run.stderr.contains(" 0 connections moved, 2 left"), "{run:?}");
    let script = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port}; S=mode; exec psql \"host=127.0.0.1 port={port} ssl$S = require\" -c ''"
    );
    let run = ruled.run().args(["--stats", "--", "bash", "-c", &script]).run();
    assert!(run.stderr.contains(" 1 connection moved, 1 left"), "{run:?}");
}

/// looptax does not compare the pooler's own rules for sockets.
#[test]
fn r18_pgbouncer_is_moved_where_its_method_asks_for_the_same_over_both() {
    if !is_there("pgbouncer") || !is_root() {
        return;
    }
    // The configuration file is passed by its whole path, or by its name in the working folder.
    let cases = [("scram-sha-256", 0), ("hba", 1)].map(|it| [(it, false), (it, true)]);
    for ((method, code), is_relative) in cases.concat() {
        let scratch = Scratch::new();
        // PgBouncer refuses to run as root.
        scratch.give_to(65_534);
        let config = scratch.file("pgbouncer.ini");
        let address = free_address();
        let folder = scratch.work();
        let rules = scratch.file("rules");
        fs::write(&rules, "local all all trust\nhost all all 0.0.0.0/0 md5\n").unwrap();
        let text = format!(
            "[databases]\n[pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port={}\nunix_socket_dir={}\n\
             auth_type={method}\nauth_hba_file={}\n",
            address.port(),
            folder.display(),
            rules.display()
        );
        fs::write(&config, text).unwrap();
        let _pooler = Alive::spawn(
            Command::new("pgbouncer")
                .args(["-q", "-u", "nobody"])
                .arg(if is_relative { Path::new("pgbouncer.ini") } else { &config })
                .current_dir(folder)
                .stderr(Stdio::null()),
        );
        patience::wait_for("pgbouncer", Duration::from_secs(10), || TcpStream::connect(address).ok());
        let dry = Looptax::new(exe(), &scratch).args(["run", "--dry-run", "--port", &address.port().to_string()]).run();
        dry.expect_code(code);
        let is_said = dry.stdout.contains("`auth_type = hba`: with this setting a login may end differently");
        assert_eq!(is_said, code == 1, "{}", dry.stdout);
    }
}

/// On MariaDB's socket a login may lead to another account; looptax does not know which without the login.
#[test]
fn r18_an_account_that_nobody_named_is_warned_of_or_stays_on_tcp() {
    let Some(server) = Server::start(Kind::Mariadb) else {
        return;
    };
    let scratch = Scratch::new();
    let port = server.it.tcp.port().to_string();
    let run = |options: &[&str]| Looptax::new(exe(), &scratch).args(["run", "--port", &port]).args(options).run();
    let warning = ": looptax does not know the account: ";
    // The warning is printed once, and only if the program opens such a connection.
    let dial = format!("for i in 1 2 3; do exec 3<>/dev/tcp/127.0.0.1/{port}; done");
    let said = run(&["--", "bash", "-c", &dial]);
    assert_eq!(said.stderr.matches(warning).count(), 1, "{}", said.stderr);
    assert!(said.stderr.contains("--require-login leaves the port on TCP"), "{}", said.stderr);
    assert_eq!(run(&["--", "true"]).stderr, "");
    assert!(run(&["-v", "--", "true"]).stderr.contains(warning));
    let quiet = run(&["-q", "--", "bash", "-c", &dial]).stderr;
    let is_it = quiet.starts_with("looptax: warning: 127.0.0.1:") && quiet.contains(warning);
    assert!(is_it && quiet.lines().count() == 1, "{quiet}");
    let stays = run(&["--require-login", "--dry-run"]);
    stays.expect_code(1);
    assert!(stays.stdout.contains("stays on TCP: --require-login needs the account"), "{}", stays.stdout);
    let known = run(&["--require-login", "--dry-run", "--login", &server.url()]);
    known.expect_code(0);
    assert!(!known.stdout.contains("warning"), "{}", known.stdout);
}

/// The socket would give rights that TCP does not give, or accept a login without its password.
#[test]
fn r18_an_account_that_gets_more_over_the_socket_stays_on_tcp() {
    let Some(server) = Server::start(Kind::Mariadb) else {
        return;
    };
    let mut talk = server.talk();
    let mut check = |sql: &[&str], words: Option<&str>| {
        for sql in sql {
            talk.execute(sql).unwrap();
        }
        let scratch = Scratch::new();
        let port = server.it.tcp.port().to_string();
        let url = format!("mysql://app:pw@127.0.0.1:{port}/");
        let dry = Looptax::new(exe(), &scratch).args(["run", "--dry-run", "--port", &port, "--login", &url]).run();
        dry.expect_code(i32::from(words.is_some()));
        let is_said = words.is_none_or(|words| dry.stdout.contains(words));
        assert!(is_said, "{words:?}: {}", dry.stdout);
    };
    check(
        &[
            "CREATE USER 'app'@'127.0.0.1' IDENTIFIED BY 'pw'",
            "CREATE USER 'app'@'localhost' IDENTIFIED BY 'pw'",
            "GRANT SELECT ON mysql.* TO 'app'@'127.0.0.1'",
            "GRANT SELECT ON mysql.* TO 'app'@'localhost'",
        ],
        None,
    );
    check(
        &["GRANT INSERT ON mysql.* TO 'app'@'localhost'"],
        Some("stays on TCP: `app`: over the socket the account is `app@localhost`"),
    );
    check(
        &[
            "REVOKE INSERT ON mysql.* FROM 'app'@'localhost'",
            "ALTER USER 'app'@'localhost' IDENTIFIED VIA unix_socket OR mysql_native_password USING PASSWORD('pw')",
        ],
        Some("instead of a password"),
    );
}

/// looptax needs the password only for the login that it tries.
#[test]
fn r18_the_password_for_the_check_does_not_reach_the_program() {
    let scratch = Scratch::new();
    // If looptax moves nothing, the program replaces it, so the program's parent is the test.
    for (how, reads) in [
        (["--port", "1"], "cat /proc/$$/environ"),
        (["--map", "127.0.0.1:1=/nowhere"], "cat /proc/$PPID/environ /proc/$$/environ"),
    ] {
        let run = Looptax::new(exe(), &scratch)
            .env("LOOPTAX_PASSWORD", "geheim")
            .env("OTHER", "stays")
            .args(["run", "-q"])
            .args(how)
            .args(["--", "sh", "-c", &format!("env; {reads}")])
            .run();
        run.expect_code(0);
        assert!(run.stdout.contains("OTHER=stays"), "{}", run.stdout);
        assert!(!run.stdout.contains("geheim"), "{}", run.stdout);
    }
}
