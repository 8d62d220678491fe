//! What stands between others and their database: a pooler, a mail server's table.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use looptax_dsn::{Kind, Protocol, Secret};
use looptax_path::{Conversation, Endpoint, Limits};
use looptax_wire::Login;

use super::moved_and_back;
use crate::application::{Application, Place, Question, fill_table, skip_without};
use crate::fixture::{Server, is_there};

#[test]
fn pgbouncers_way_to_postgres_is_moved_and_back() {
    if !is_there("pgbouncer") {
        return;
    }
    let Some(server) = Server::start(Kind::Postgres) else {
        return;
    };
    fill_table(&server);
    server.open_to_all();
    let place = Place::beside(&server);
    let file = "pgbouncer.ini";
    place.write(&[(file, include_str!("files/pgbouncer/pgbouncer.ini"))]);
    // It refuses to run as root.
    let is_root = rustix::process::geteuid().is_root();
    let account: &[&str] = if is_root { &["-u", "nobody"] } else { &[] };
    let words = [account, &["-q", "«folder»/pgbouncer.ini"]].concat();
    let pooler = place.start("pgbouncer", &words);
    let reload = format!("kill -HUP {}", pooler.pid());
    let visitor = Login {
        user: "shop".to_owned(),
        password: Secret::new(String::new()),
        database: Some("shop".to_owned()),
        ..Login::default()
    };
    let address = Endpoint::Tcp(place.http);
    let ask = move |question| {
        let sql = match question {
            Question::Row => "SELECT text FROM greetings",
            Question::Way => "SELECT coalesce(host(inet_client_addr()), 'socket')",
        };
        let limits = Limits::default();
        let mut talk = Conversation::open(Protocol::Postgres, &address, &visitor, limits)
            .map_err(|error| error.to_string())?;
        let rows = talk.query(sql).map_err(|error| error.to_string())?;
        let first = rows.first().and_then(|row| row.first().cloned().flatten());
        first.ok_or_else(|| format!("{rows:?}"))
    };
    let app = Application::asked_by(place, server, file, vec![pooler], Box::new(ask));
    moved_and_back(&app.reloaded_by(reload));
}

#[test]
fn postfixs_table_in_mariadb_is_moved_and_back() {
    let Some(postmap) = postmap() else {
        return;
    };
    let Some(server) = Server::start(Kind::Mariadb) else {
        return;
    };
    fill_table(&server);
    let place = Place::beside(&server);
    let file = "postfix/mysql-greetings.cf";
    place.write(&[
        (file, include_str!("files/postfix/mysql-greetings.cf")),
        ("postfix/main.cf", "compatibility_level = 3.6\n"),
    ]);
    // A lookup is all of Postfix that reads the table; none of its daemons runs.
    let table = format!("mysql:{}", place.path(file).display());
    let folder = place.path("postfix");
    let ask = move |question| {
        let key = match question {
            Question::Row => "first",
            Question::Way => "way",
        };
        let mut lookup = Command::new(&postmap);
        lookup.arg("-c").arg(&folder).args(["-q", key, &table]);
        let done = lookup.output().map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&done.stdout).trim().to_owned();
        if done.status.success() {
            Ok(said)
        } else {
            Err(format!("{done:?}"))
        }
    };
    let app = Application::asked_by(place, server, file, Vec::new(), Box::new(ask));
    moved_and_back(&app);
}

/// Postfix's program for lookups, where it can read tables in MySQL; if not, says so aloud.
fn postmap() -> Option<PathBuf> {
    let postmap = PathBuf::from("/usr/sbin/postmap");
    let kinds = Command::new("/usr/sbin/postconf").arg("-m").output();
    let kinds = kinds.map_or(Vec::new(), |output| output.stdout);
    let has_mysql = String::from_utf8_lossy(&kinds)
        .lines()
        .any(|it| it == "mysql");
    if !has_mysql || fs::metadata(&postmap).is_err() {
        skip_without("Postfix with MySQL");
        return None;
    }
    Some(postmap)
}
