//! Programs between other programs and their database: a pooler, and a mail server's table.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::process::Command;

use looptax_bench::path::{Conversation, Endpoint, Limits};
use looptax_model::dsn::{Kind, Protocol, Secret};
use looptax_wire::Login;

use super::moved_and_back;
use looptax_testkit::ports::free_address;

use crate::application::programs::{GUNICORN, django};
use crate::application::{Application, Place, Question, fill_table, get, skip_without};
use crate::fixture::{Server, is_root, is_there};

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
    // PgBouncer refuses to run as root.
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
        let mut talk =
            Conversation::open(Protocol::Postgres, &address, &visitor, limits).map_err(|error| error.to_string())?;
        let rows = talk.query(sql).map_err(|error| error.to_string())?;
        let first = rows.first().and_then(|row| row.first().cloned().flatten());
        first.ok_or_else(|| format!("{rows:?}"))
    };
    let app = Application::asked_by(place, server, file, vec![pooler], Box::new(ask));
    moved_and_back(&app.reloaded_by(reload));
}

const POOLER: &str = "\
[databases]
«database» = host=127.0.0.1 port=«port» dbname=«database» user=«user» password=«password»

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = «pooler»
unix_socket_dir = «folder»/srv
auth_type = any
";

#[test]
fn an_application_is_moved_to_pgbouncers_socket_and_back() {
    if !is_there("pgbouncer") {
        return;
    }
    let Some((server, place)) = django("60") else {
        return;
    };
    let pooler = free_address();
    let place = place.with("«pooler»", pooler.port().to_string());
    let file = "greetings/settings.py";
    let settings = fs::read_to_string(place.path(file)).expect("it is written");
    let port = server.it.tcp.port().to_string();
    place.write(&[
        ("pgbouncer.ini", POOLER),
        ("srv/empty", ""),
        (file, &settings.replace(&port, &pooler.port().to_string())),
    ]);
    let account: &[&str] = if is_root() { &["-u", "nobody"] } else { &[] };
    if is_root() {
        place.scratch.give_to(65_534);
        chown(place.path("srv"), Some(65_534), None).expect("root may");
    }
    let words = [account, &["-q", "«folder»/pgbouncer.ini"]].concat();
    let pgbouncer = place.start("pgbouncer", &words);
    let gunicorn = place.start(GUNICORN[0], &GUNICORN[1..]);
    let reload = format!("kill -HUP {}", gunicorn.pid());
    let (http, name) = (place.http, server.it.login.database.clone());
    let ask = move |question| match question {
        Question::Row => get(http, "/"),
        // The server behind PgBouncer does not see the application's transport.
        Question::Way => get(http, "/").and_then(|_| clients_way(pooler, name.as_deref())),
    };
    let processes = vec![gunicorn, pgbouncer];
    let app = Application::asked_by(place, server, file, processes, Box::new(ask));
    moved_and_back(&app.reloaded_by(reload));
}

/// Returns the transport of the clients of a database, as `PgBouncer` reports it.
fn clients_way(pooler: SocketAddr, database: Option<&str>) -> Result<String, String> {
    let login = Login {
        user: "visitor".to_owned(),
        password: Secret::new(String::new()),
        database: Some("pgbouncer".to_owned()),
        ..Login::default()
    };
    let shown = |error: &dyn std::fmt::Display| error.to_string();
    let limits = Limits::default();
    let mut talk =
        Conversation::open(Protocol::Postgres, &Endpoint::Tcp(pooler), &login, limits).map_err(|it| shown(&it))?;
    let rows = talk.query("SHOW CLIENTS").map_err(|it| shown(&it))?;
    let cell = |row: &Vec<Option<String>>, at: usize| row.get(at).cloned().flatten();
    let own = rows.iter().filter(|row| cell(row, 2).as_deref() == database);
    let mut ways: Vec<String> = own.filter_map(|row| cell(row, 4)).collect();
    ways.dedup();
    match &*ways {
        [way] if way == "unix" => Ok("socket".to_owned()),
        [way] => Ok(way.clone()),
        _ => Err(format!("{rows:?}")),
    }
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
    // Only lookups of Postfix read the table, so none of its daemons runs.
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
        if done.status.success() { Ok(said) } else { Err(format!("{done:?}")) }
    };
    let app = Application::asked_by(place, server, file, Vec::new(), Box::new(ask));
    moved_and_back(&app);
}

/// Returns Postfix's program for lookups if it can read tables in MySQL; otherwise prints a message.
fn postmap() -> Option<PathBuf> {
    let postmap = PathBuf::from("/usr/sbin/postmap");
    let kinds = Command::new("/usr/sbin/postconf").arg("-m").output();
    let kinds = kinds.map_or(Vec::new(), |output| output.stdout);
    let has_mysql = String::from_utf8_lossy(&kinds).lines().any(|it| it == "mysql");
    if !has_mysql || fs::metadata(&postmap).is_err() {
        skip_without("Postfix with MySQL");
        return None;
    }
    Some(postmap)
}
