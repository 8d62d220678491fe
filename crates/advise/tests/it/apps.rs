//! For every application of the table: looptax recognises it and reports its transport, and its change moves it to the
//! socket.

use std::collections::BTreeSet;

use looptax_advise::app::{Found, Reading, Source, read, read_as, rewritten};
use looptax_advise::{Fields, Takes};
use looptax_model::record::Change;
use serde::Deserialize;

const CASES: &str = include_str!("../data/apps.toml");

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
pub(crate) struct Case {
    pub(crate) app: String,
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) beside: Vec<String>,
    #[serde(default = "tcp")]
    before: String,
    #[serde(default = "unix")]
    after: String,
    #[serde(default = "yes")]
    changes: bool,
    pub(crate) tcp: String,
    uds: String,
}

pub(crate) fn cases() -> Vec<Case> {
    let cases: Cases = toml::from_str(CASES).unwrap();
    cases.case
}

fn tcp() -> String {
    "tcp".to_owned()
}

fn unix() -> String {
    "unix".to_owned()
}

fn yes() -> bool {
    true
}

pub(crate) fn reading(path: &str, text: &[u8]) -> Reading {
    reading_beside(&[], path, text)
}

fn reading_beside(neighbours: &[String], path: &str, text: &[u8]) -> Reading {
    read(&Source { path: Some(path), bytes: text, included: &[], neighbours, program: None, environment: None })
}

fn found_for<'a>(reading: &'a Reading, app: &str) -> Option<&'a Found> {
    reading.found.iter().find(|it| it.titles.iter().any(|it| it == app))
}

fn word(found: Option<&Found>) -> &'static str {
    match found.map(|it| it.takes) {
        None => "none",
        Some(None) => "unknown",
        Some(Some(Takes::Unix)) => "unix",
        Some(Some(Takes::Tcp)) => "tcp",
        Some(Some(Takes::Nothing)) => "nothing",
        Some(Some(Takes::Probe | Takes::TcpThenUnix)) => "probe",
    }
}

pub(crate) fn fields(kind: &str) -> Fields {
    let (socket, folder, port) = match kind {
        "postgres" => ("/run/postgresql/.s.PGSQL.5432", "/run/postgresql", 5432),
        "redis" => ("/run/redis/redis-server.sock", "/run/redis", 6379),
        "memcached" => ("/run/memcached/memcached.sock", "/run/memcached", 11_211),
        "php-fpm" => ("/run/php/php-fpm.sock", "/run/php", 9000),
        "http" | "uwsgi" => ("/run/app/app.sock", "/run/app", 8000),
        "mongodb" => ("/tmp/mongodb-27017.sock", "/tmp", 27_017),
        "pgbouncer" => ("/run/postgresql/.s.PGSQL.6432", "/run/postgresql", 6432),
        _ => ("/run/mysqld/mysqld.sock", "/run/mysqld", 3306),
    };
    Fields {
        page: None,
        socket: socket.to_owned(),
        folder: folder.to_owned(),
        port,
        user: Some("u".to_owned()),
        password: Some("p".to_owned()),
        database: Some("0".to_owned()),
        options: None,
    }
}

/// Returns the text with a change, made as a person would make it.
fn changed(text: &str, change: &Change) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    // The edits are made from the last line to the first, so that added lines do not move the others.
    let mut edits = change.edits.clone();
    edits.sort_by_key(|it| std::cmp::Reverse((it.line, it.before.is_none())));
    for edit in &edits {
        let Some(line) = edit.line else {
            continue;
        };
        let after = edit.after.clone().unwrap_or_default();
        match &edit.before {
            None => lines.insert(line, after),
            // The edit hides the password, so the whole line is replaced.
            Some(before) if before.contains("****") => {
                let own = &lines[line - 1];
                lines[line - 1] = own[..own.len() - own.trim_start().len()].to_owned() + &after;
            }
            Some(before) => {
                let own = &lines[line - 1];
                assert!(own.contains(before.as_str()), "{before} in {own} of {edits:?}");
                lines[line - 1] = lines[line - 1].replacen(before.as_str(), &after, 1);
            }
        }
    }
    lines.join("\n")
}

#[test]
fn every_application_is_recognised_and_its_change_moves_it_to_the_socket() {
    let mut wrong = Vec::new();
    for case in &cases() {
        let Case { app, path, beside, .. } = case;
        let before = reading_beside(beside, path, case.tcp.as_bytes());
        let found = found_for(&before, app);
        if word(found) != case.before {
            wrong.push(format!("{app} {path}: {} before, not {}\n{:?}", word(found), case.before, before.found));
            continue;
        }
        let after = reading_beside(beside, path, case.uds.as_bytes());
        if word(found_for(&after, app)) != case.after {
            wrong.push(format!("{app} {path}: {} after\n{:?}", word(found_for(&after, app)), after.found));
        }
        let Some(found) = found.filter(|_| case.changes) else {
            continue;
        };
        let changes = found.changes(&fields(found.kind));
        let change = changes.iter().find(|it| it.title == *app).unwrap();
        let text = changed(&case.tcp, change);
        let again = reading_beside(beside, path, text.as_bytes());
        if let Some(objection) = written_objection(case, found, change) {
            wrong.push(format!("{app} {path}: {objection}"));
        }
        if change.edits.is_empty() || word(found_for(&again, app)) != "unix" {
            wrong.push(format!(
                "{app} {path}: the change leads to {}\n{text}\n{change:?}",
                word(found_for(&again, app))
            ));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n\n"));
}

#[test]
fn a_port_that_is_not_the_usual_one_survives_every_change() {
    let mut wrong = Vec::new();
    for case in cases().iter().filter(|it| it.changes) {
        let text = case.tcp.replace("5432", "25432");
        let before = reading(&case.path, text.as_bytes());
        let Some(found) = found_for(&before, &case.app).filter(|it| it.kind == "postgres") else {
            continue;
        };
        let folder = "/run/postgresql";
        let fields = Fields {
            socket: format!("{folder}/.s.PGSQL.25432"),
            folder: folder.to_owned(),
            port: 25_432,
            ..fields("postgres")
        };
        let changes = found.changes(&fields);
        let change = changes.iter().find(|it| it.title == case.app).unwrap();
        if change.edits.iter().all(|it| it.line.is_none()) {
            continue;
        }
        let idx = found.titles.iter().position(|it| *it == case.app).unwrap();
        let Some(rewrites) = &found.rewrites(&fields, &text)[idx] else {
            continue;
        };
        let new = rewritten(&text, rewrites).unwrap();
        let again = reading(&case.path, new.as_bytes());
        let address = found_for(&again, &case.app).and_then(|it| it.address.as_ref());
        let file = address.and_then(looptax_model::dsn::Address::socket_file);
        if file.as_deref() != Some(fields.socket.as_ref()) {
            wrong.push(format!("{} {}: {file:?}\n{new}\n{change:?}", case.app, case.path));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n\n"));
}

/// Makes the change as bytes. Returns an error if the change does not move the application, or changes anything else.
fn written_objection(case: &Case, found: &Found, change: &Change) -> Option<String> {
    let idx = found.titles.iter().position(|it| *it == case.app)?;
    // Line ends of other systems mean the same.
    for text in [case.tcp.clone(), case.tcp.replace('\n', "\r\n")] {
        let before = reading(&case.path, text.as_bytes());
        let found = found_for(&before, &case.app)?;
        let Some(rewrites) = &found.rewrites(&fields(found.kind), &text)[idx] else {
            let is_elsewhere = change.edits.iter().all(|it| it.line.is_none());
            let needs_library = change.advice.contains("class path");
            return (!is_elsewhere && !needs_library).then(|| "it cannot be written".to_owned());
        };
        let Some(new) = rewritten(&text, rewrites) else {
            return Some(format!("{rewrites:?} overlap"));
        };
        let again = reading(&case.path, new.as_bytes());
        if word(found_for(&again, &case.app)) != "unix" {
            return Some(format!("written it leads elsewhere:\n{new}"));
        }
        let is_json = |text: &str| serde_json::from_str::<serde_json::Value>(text).is_ok();
        if is_json(&text) && !is_json(&new) {
            return Some(format!("it is no JSON any more:\n{new}"));
        }
        let is_dos = text.contains("\r\n");
        if is_dos && new.matches("\r\n").count() != new.matches('\n').count() {
            return Some(format!("ends of lines are mixed:\n{new:?}"));
        }
    }
    None
}

#[derive(Deserialize)]
struct Table {
    app: Vec<App>,
}

#[derive(Deserialize)]
struct App {
    title: String,
    #[serde(default)]
    host: Vec<String>,
    #[serde(default)]
    url: Vec<String>,
    #[serde(default)]
    side: String,
    #[serde(default)]
    restart: String,
}

/// The plan of a switch leaves out "by you, or by --reload" by these words.
#[test]
fn an_application_without_a_reload_says_so_in_the_words_that_the_plan_knows() {
    let table: Table = toml::from_str(include_str!("../../data/apps.toml")).unwrap();
    let idle: Vec<&str> = table.app.iter().map(|it| &*it.restart).filter(|it| it.starts_with("no")).collect();
    assert!(idle.len() > 5, "{idle:?}");
    assert!(idle.iter().all(|it| it.starts_with(looptax_advise::app::NOTHING_TO_DO)), "{idle:?}");
}

#[test]
fn every_application_of_the_table_has_a_case() {
    let table: Table = toml::from_str(include_str!("../../data/apps.toml")).unwrap();
    let cases = cases();
    let readings = cases.iter().map(|it| reading_beside(&it.beside, &it.path, it.tcp.as_bytes()));
    let found = readings.flat_map(|it| it.found).flat_map(|it| it.titles);
    let titles: BTreeSet<String> = found.collect();
    let apps = table.app.iter();
    // Applications that read the same variable are found together. Applications that are found only with --as have a
    // separate test.
    let has_place = |it: &&App| !it.host.is_empty() || !it.url.is_empty();
    for app in apps.filter(|it| has_place(it) && it.side != "named-server") {
        assert!(titles.contains(&app.title), "no case for {}", app.title);
    }
}

/// Checks the transport of a configuration for one application, whichever other applications read it.
#[track_caller]
fn check(path: &str, text: &str, app: &str, expected: &str, why: &str) {
    let found = reading(path, text.as_bytes());
    let found = found_for(&found, app);
    assert_eq!(word(found), expected, "{found:?}");
    let why_found = &found.unwrap().why;
    assert!(why_found.contains(why), "{why_found}");
}

#[test]
fn what_wordpress_makes_of_a_host_is_told() {
    let wp = |host: &str| format!("<?php define('DB_HOST', {host});");
    check(
        "wp-config.php",
        &wp("'localhost'"),
        "WordPress",
        "unix",
        "connects to the default socket if the host is localhost",
    );
    check("wp-config.php", &wp("'127.0.0.1:/s.sock'"), "WordPress", "tcp", "stays on TCP");
    check("wp-config.php", &wp("'localhost:/run/my sql.sock'"), "WordPress", "unix", "/run/my sql.sock");
    check("wp-config.php", &wp("'p:localhost'"), "WordPress", "tcp", "the host is p");
    check("wp-config.php", &wp("'[::1]:3306'"), "WordPress", "tcp", "[::1]");
    check("wp-config.php", &wp("getenv('DB_HOST')"), "WordPress", "unknown", "the environment variable DB_HOST");
    check("wp-config.php", &wp("$host . 'x'"), "WordPress", "unknown", "an expression");
}

#[test]
fn a_login_in_the_place_of_a_host_is_not_shown() {
    let texts = [
        "APP_KEY=x\nDB_CONNECTION=mysql\nDB_HOST=mysql://u:marked@h:3306,i\n",
        "APP_KEY=x\nDB_CONNECTION=pgsql\nDB_HOST=u:marked@[::1]\n",
    ];
    for text in texts {
        let found = reading("/srv/.env", text.as_bytes()).found;
        let shown: Vec<&str> = found.iter().map(|it| &*it.why).collect();
        assert!(!shown.is_empty() && !shown.join(" ").contains("mark"), "{text}: {shown:?}");
    }
}

#[test]
fn sockets_that_are_ignored_are_told() {
    let symfony = "APP_SECRET=x\nDATABASE_URL=mysql://u@127.0.0.1/d?unix_socket=/s";
    check("/srv/.env", symfony, "Symfony (Doctrine)", "tcp", "the socket in the URL is ignored");
    let rails = "production:\n  adapter: mysql2\n  host: 127.0.0.1\n  socket: /s";
    check("/srv/config/database.yml", rails, "Rails (mysql2)", "tcp", "the socket setting is ignored");
    let redis = "APP_KEY=x\nREDIS_HOST=/s\nREDIS_PORT=6379";
    check("/srv/.env", redis, "Laravel (phpredis)", "tcp", "only with port 0");
    check(
        "/srv/config/database.yml",
        "production:\n  adapter: postgresql\n  host: <%= ENV['H'] %>",
        "Rails",
        "unknown",
        "the environment variable H",
    );
}

#[test]
fn r20_laravels_socket_wins_over_the_host_of_its_url_and_the_urls_own_over_both() {
    let laravel = |url: &str| format!("APP_KEY=x\nDB_CONNECTION=mysql\nDB_SOCKET=/env\nDB_URL=mysql://{url}");
    for (url, socket) in [
        ("u:p@127.0.0.1/d", "/env is the socket"),
        ("u:p@localhost/d", "/env is the socket"),
        ("u:p@127.0.0.1/d?unix_socket=/url", "/url is the socket"),
    ] {
        check("/srv/.env", &laravel(url), "Laravel", "unix", socket);
    }
}

#[test]
fn r20_a_variable_that_the_known_environment_has_not_leaves_nothing_open() {
    let text = b"<?php return ['connections' => ['mysql' => ['url' => env('DATABASE_URL'), \
                 'host' => env('DB_HOST', '127.0.0.1'), 'unix_socket' => env('DB_SOCKET', '')]]];";
    let takes = |environment: Option<&[(&str, &str)]>| {
        let pairs = |of: &[(&str, &str)]| {
            { of.iter() }.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let environment = environment.map(pairs);
        let found = read(&Source {
            path: Some("/srv/config/database.php"),
            bytes: text,
            included: &[],
            neighbours: &[],
            program: None,
            environment: environment.as_ref(),
        });
        word(found_for(&found, "Laravel"))
    };
    assert_eq!(takes(None), "unknown");
    assert_eq!(takes(Some(&[("PATH", "/bin")])), "tcp");
    assert_eq!(takes(Some(&[("DB_SOCKET", "/s")])), "unix");
    assert_eq!(takes(Some(&[("DATABASE_URL", "mysql://u@127.0.0.1/d"), ("DB_SOCKET", "/s")])), "unix");
}

#[test]
fn a_file_with_several_connections_gives_them_all() {
    let text = "<?php return ['db' => ['connection' => [\n'default' => ['host' => '127.0.0.1'],\n'indexer' => ['host' => '/s'],\n]]];";
    let found = reading("/srv/app/etc/env.php", text.as_bytes());
    let all: Vec<(&str, &str)> = found.found.iter().map(|it| (&*it.label, word(Some(it)))).collect();
    assert_eq!(all, [("default", "tcp"), ("indexer", "unix")]);
    assert_eq!(found.found[0].line, Some(2));
}

#[test]
fn the_environment_of_a_process_decides_what_a_file_leaves_open() {
    let environment = [("DB_HOST".to_owned(), "127.0.0.1".to_owned())].into();
    let found = read(&Source {
        path: Some("wp-config.php"),
        bytes: b"<?php define('DB_HOST', getenv('DB_HOST'));",
        included: &[],
        neighbours: &[],
        program: None,
        environment: Some(&environment),
    });
    assert_eq!(word(found.found.first()), "tcp");
    let own = read(&Source {
        path: None,
        bytes: b"DATABASE_URL=\"postgres://u@127.0.0.1/d\"\nPATH=/bin\n",
        included: &[],
        neighbours: &[],
        program: Some("ruby3.1"),
        environment: None,
    });
    assert_eq!(own.found[0].titles, ["Rails"]);
}

#[test]
fn a_port_is_a_node_programs_own_only_where_it_is_named() {
    let source = |text| Source {
        path: Some("/srv/app/.env"),
        bytes: text,
        included: &[],
        neighbours: &[],
        program: None,
        environment: None,
    };
    assert!(read(&source(b"PORT=3000\n")).found.is_empty());
    let named = |text| read_as(&source(text), "nodeport").unwrap();
    let reading = named(b"PORT=3000\n");
    assert_eq!(word(reading.found.first()), "tcp");
    let changes = reading.found[0].changes(&fields("http"));
    let line = changes[0].edits[0].after.as_deref();
    assert_eq!(line, Some("PORT=/run/app/app.sock"));
    assert_eq!(word(named(b"PORT=/run/a.sock\n").found.first()), "unix");
}
