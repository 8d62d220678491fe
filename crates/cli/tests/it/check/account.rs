//! Obstacles at the login: which accounts may log in over the socket, how, and with which rights.

use looptax_model::dsn::Kind;

use std::fs;
use std::path::Path;
use std::process::Command;

use looptax_testkit::runner::Looptax;
use looptax_testkit::scratch::Scratch;

use super::{check, expect, open_up, steps, url};
use crate::fixture::{Server, exe, is_root, is_there};

#[test]
fn an_account_at_127_0_0_1_alone_is_told_with_the_statements() {
    let Some(server) = Server::start(Kind::Mariadb) else {
        return;
    };
    let mut talk = server.talk();
    // Private servers do not resolve names, so this account is valid only over TCP.
    for sql in [
        "CREATE USER 'narrow'@'127.0.0.1' IDENTIFIED BY 'pw'",
        "GRANT SELECT ON *.* TO 'narrow'@'127.0.0.1'",
        "CREATE USER 'twice'@'127.0.0.1' IDENTIFIED BY 'pw'",
        "GRANT SELECT ON *.* TO 'twice'@'127.0.0.1'",
        "CREATE USER 'twice'@'localhost' IDENTIFIED BY 'pw'",
    ] {
        talk.execute(sql).unwrap();
    }
    let address = server.it.tcp;
    let run = check(&server, &format!("mysql://narrow:pw@{address}/"), &[]);
    expect(
        &run,
        "account",
        "fail",
        &["narrow", "CREATE USER 'narrow'@'localhost'", "GRANT SELECT ON *.* TO 'narrow'@'localhost';"],
    );
    run.expect_code(1);
    assert!(!run.stdout.contains("pw@"), "{}", run.stdout);
    let run = check(&server, &format!("mysql://twice:pw@{address}/"), &[]);
    expect(&run, "account", "fail", &["twice@localhost", "GRANT SELECT ON *.* TO 'twice'@'localhost';"]);
}

#[test]
fn the_line_of_pg_hba_that_refuses_the_socket_is_quoted() {
    let Some(server) = Server::start(Kind::Postgres) else {
        return;
    };
    let rows = server.column("SHOW hba_file");
    let file = Path::new(&rows[0]);
    let before = fs::read_to_string(file).unwrap();
    let user = &server.it.login.user;
    fs::OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(file)
        .and_then(|mut file| {
            std::io::Write::write_all(&mut file, format!("local all {user} reject\n{before}").as_bytes())
        })
        .unwrap();
    let reload = server.column("SELECT 1 WHERE true");
    assert_eq!(reload, ["1"]);
    let run = check(&server, &url(&server), &[]);
    expect(&run, "pg_hba.conf", "fail", &["line 1", "reject", "scram-sha-256"]);
    run.expect_code(1);
}

#[test]
fn the_login_over_the_socket_is_the_clients_own() {
    let Some(server) = Server::start(Kind::Mariadb) else {
        return;
    };
    if !is_root() {
        return;
    }
    // The plugin gets the user of the connecting process from the kernel, so root would be rejected.
    let mut talk = server.talk();
    for sql in [
        "CREATE USER 'nobody'@'localhost' IDENTIFIED VIA unix_socket",
        "CREATE USER 'nobody'@'127.0.0.1' IDENTIFIED BY 'pw'",
    ] {
        talk.execute(sql).unwrap();
    }
    let socket = server.socket();
    let _reachable = open_up(Path::new(&socket).parent().unwrap());
    let url = format!("mysql://nobody:pw@{}/", server.it.tcp);
    let as_client = check(&server, &url, &["--user", "nobody"]);
    expect(&as_client, "path", "pass", &[]);
    expect(&as_client, "same server", "pass", &["over the socket as nobody"]);
    // The note is about the two accounts; the login itself works.
    expect(&as_client, "account", "note", &["nobody@localhost", "two accounts"]);
    let as_root = check(&server, &url, &[]);
    expect(&as_root, "account", "fail", &["Access denied"]);
}

#[test]
fn tls_that_the_url_or_the_server_demands_is_told() {
    if let Some(server) = Server::start(Kind::Postgres) {
        let url = format!("{}?sslmode=require", url(&server));
        let run = check(&server, &url, &["-c", "1"]);
        expect(&run, "TLS", "unknown", &["sslmode=require", "node-pg"]);
        // `cargo lab oracle libpq` compares these results with libpq 13 to 18.
        let asked = |words: &str| check(&server, &format!("{}?{words}", self::url(&server)), &["-c", "1"]);
        expect(&asked("channel_binding=require"), "login", "fail", &["`channel_binding=require`", "every connection"]);
        expect(&asked("require_auth=gss"), "login", "fail", &["`require_auth=gss`", "method is"]);
        expect(&asked("requirepeer=nobody"), "login", "fail", &["`requirepeer=nobody`", "runs as"]);
        expect(&asked("sslsni=0&keepalives=0"), "login", "pass", &["works over TCP and over the socket"]);
    }
    if let Some(server) = Server::start(Kind::Mariadb) {
        let mut talk = server.talk();
        for sql in [
            "CREATE USER 'tls'@'localhost' IDENTIFIED BY 'pw' REQUIRE SSL",
            "CREATE USER 'tls'@'127.0.0.1' IDENTIFIED BY 'pw'",
            "GRANT SELECT ON mysql.* TO 'tls'@'127.0.0.1'",
        ] {
            talk.execute(sql).unwrap();
        }
        let url = format!("mysql://tls:pw@{}/", server.it.tcp);
        let run = check(&server, &url, &[]);
        expect(&run, "account", "fail", &["Access denied"]);
        expect(&run, "TLS", "fail", &["REQUIRE NONE"]);
    }
}

#[test]
fn what_the_check_says_to_run_mends_what_it_found() {
    let Some(server) = Server::start(Kind::Mariadb) else {
        return;
    };
    let mut talk = server.talk();
    for sql in [
        "CREATE USER 'half'@'127.0.0.1' IDENTIFIED BY 'pw'",
        "GRANT SELECT, INSERT ON mysql.* TO 'half'@'127.0.0.1'",
        "GRANT RELOAD ON *.* TO 'half'@'127.0.0.1'",
    ] {
        talk.execute(sql).unwrap();
    }
    let url = format!("mysql://half:pw@{}/", server.it.tcp);
    let before = check(&server, &url, &["-c", "1"]);
    before.expect_code(1);
    for sql in steps(&before, "sql") {
        talk.execute(&sql.replace('…', "pw")).unwrap();
    }
    let after = check(&server, &url, &["-c", "1"]);
    expect(&after, "account", "note", &["two accounts with the same rights"]);
    after.expect_code(0);
}

#[test]
fn r20_a_database_that_no_grant_withholds_is_told_with_the_rows_to_look_at() {
    let Some(server) = Server::start(Kind::Mariadb) else {
        return;
    };
    let mut talk = server.talk();
    for sql in [
        "CREATE DATABASE shop",
        "CREATE USER 'app'@'127.0.0.1' IDENTIFIED BY 'pw'",
        "GRANT SELECT ON shop.* TO 'app'@'127.0.0.1'",
        "CREATE USER 'app'@'localhost' IDENTIFIED BY 'pw'",
        "GRANT SELECT ON `sh%`.* TO 'app'@'localhost'",
        // A row of the anonymous user for exactly this database, as a removed account may leave it.
        "INSERT INTO mysql.db (Host, Db, User) VALUES ('localhost', 'shop', '')",
        "FLUSH PRIVILEGES",
    ] {
        talk.execute(sql).unwrap();
    }
    let url = format!("mysql://app:pw@{}/shop", server.it.tcp);
    let run = check(&server, &url, &["-c", "1"]);
    expect(&run, "account", "fail", &["to database 'shop'"]);
    run.expect_code(1);
    let asked = steps(&run, "sql");
    assert_eq!(asked.len(), 1, "{asked:?}");
    let rows = talk.query(asked[0].trim_end_matches(';')).unwrap();
    let has_row = |user: &str| rows.iter().any(|row| row.contains(&Some(user.to_owned())));
    assert!(has_row("") && has_row("app"), "{rows:?}");
    // Once this row is deleted, the check passes.
    for sql in ["DELETE FROM mysql.db WHERE Db = 'shop' AND User = ''", "FLUSH PRIVILEGES"] {
        talk.execute(sql).unwrap();
    }
    check(&server, &url, &["-c", "1"]).expect_code(0);
}

#[test]
fn a_login_that_fails_over_both_is_not_called_a_yes() {
    let Some(server) = Server::start(Kind::Mariadb) else {
        return;
    };
    let run = check(&server, &format!("mysql://nobody-there:x@{}/", server.it.tcp), &[]);
    expect(&run, "account", "unknown", &["fails over TCP and over the socket"]);
    run.expect_code(3);
}

#[test]
fn r20_a_login_of_redis_that_may_ask_nothing_is_one_all_the_same() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    server.redis(&["ACL", "SETUSER", "app", "on", ">pw", "~*", "+get", "+set"]);
    // A connection begins in database 0, so clients do not select database 0.
    for database in ["", "0"] {
        let run = check(&server, &format!("redis://app:pw@{}/{database}", server.it.tcp), &[]);
        expect(&run, "login", "pass", &["works over TCP and over the socket"]);
        if is_root() {
            expect(&run, "same server", "pass", &["one process listens on the port and on the socket"]);
        }
        run.expect_code(0);
    }
}

/// looptax ignored `service`, and checked libpq's usual socket instead of the address that libpq uses.
#[test]
fn r49_a_service_and_a_name_that_is_there_twice_are_read_as_psql_reads_them() {
    let Some(server) = Server::start(Kind::Postgres).filter(|_| is_there("psql")) else {
        return;
    };
    let scratch = Scratch::new();
    let (address, login) = (server.it.tcp, &server.it.login);
    let socket = server.socket();
    let folder = Path::new(&socket).parent().unwrap().display();
    let file = scratch.file("services");
    let text = format!(
        "# ours\n[shop]\nhost={ip}\nport={port}\n\nuser={user}\ndbname=postgres\n[bad]\nhost = {ip}\n[two]\nservice=shop\n",
        ip = address.ip(),
        port = address.port(),
        user = login.user
    );
    fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    for (words, variables) in [
        ("service=shop".to_owned(), &[][..]),
        (format!("service=shop host={folder}"), &[]),
        (format!("host={folder} service=shop"), &[]),
        ("postgres:///?service=shop".to_owned(), &[]),
        (format!("service=shop host={folder} host={}", address.ip()), &[]),
        ("service=shop dbname=other".to_owned(), &[]),
        ("service=bad".to_owned(), &[]),
        ("service=two".to_owned(), &[]),
        ("service=none".to_owned(), &[]),
        (format!("service=shop host={folder}"), &[("PGCHANNELBINDING", "require")]),
    ] {
        let variables = variables.iter().copied();
        let mut psql = Command::new("psql");
        psql.args([&*words, "-Atc", "SELECT coalesce(host(inet_server_addr()), 'socket')"]);
        psql.env("PGSERVICEFILE", file).env("PGPASSWORD", server.password()).envs(variables.clone());
        let out = psql.output().unwrap();
        let theirs = String::from_utf8(out.stdout).unwrap();
        let run = variables
            .clone()
            .fold(Looptax::new(exe(), &scratch), |it, (name, value)| it.env(name, value))
            .env("PGSERVICEFILE", file)
            .env("LOOPTAX_PASSWORD", server.password())
            .args(["check", &*words, "--json", "-c", "1"])
            .run();
        let refused = String::from_utf8(out.stderr).unwrap();
        let is_of_service = refused.contains("service file") || refused.contains("definition of service");
        assert_eq!(run.stderr.contains("service"), is_of_service, "{words}: {refused}{}", run.stderr);
        if is_of_service {
            run.expect_code(2);
            continue;
        }
        let takes =
            if run.stdout.contains("\"takes-socket\"") { "socket".to_owned() } else { address.ip().to_string() };
        let has_note = run.stdout.contains("\"variable-decides\"");
        if variables.count() > 0 {
            assert!(refused.contains("channel binding") && has_note, "{words}: {refused}{}", run.stdout);
        } else if theirs.is_empty() {
            assert!(refused.contains("\"other\"") && run.stdout.contains("fail"), "{words}: {refused}{}", run.stdout);
        } else {
            assert_eq!((theirs.trim(), has_note), (&*takes, false), "{words}: {refused}{}", run.stdout);
            run.expect_code(0);
        }
    }
}
