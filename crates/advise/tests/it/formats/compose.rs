//! Compose files as people write them. Another YAML parser reads each file before and after the edit: only the folder
//! of the socket in both services, its volume, and the application's variables may differ.

use std::fs;
use std::process::Command;

use looptax_advise::app::{Rewrite, Share, Source, Whole, read_services, rewritten, shares};
use looptax_testkit::skips::skip;
use serde_json::{Map, Value, json};

use looptax_testkit::dice::Dice;

const FILES: usize = 400;
const READER: &str = include_str!("../../data/readers/yaml.py");

/// The new text of a file; for each connection, what the services share, or why they do not; and the changes as bytes.
type Edited = (Option<String>, Vec<Option<Result<Share, String>>>, Vec<Rewrite>);

fn edited(text: &str) -> Edited {
    edited_beside(text, &[])
}

fn edited_beside(text: &str, beside: &[String]) -> Edited {
    let source = Source {
        path: Some("/srv/docker-compose.yml"),
        bytes: text.as_bytes(),
        included: &[],
        neighbours: beside,
        program: None,
        environment: None,
    };
    let found = read_services(&source, None).unwrap().found;
    let shares = shares(&Whole::new(text, &[]), &found, beside);
    let mut all: Vec<Rewrite> = Vec::new();
    for (found, share) in found.iter().zip(&shares) {
        let (Some(Ok(share)), Some(address)) = (share, &found.address) else {
            continue;
        };
        let password = address.password.as_ref().map(|it| it.reveal().to_owned());
        let moves = found.moves(&share.fields(address, password), text);
        let own = moves.into_iter().next().flatten();
        let own = own.and_then(|it| share.complete(it)).unwrap();
        let own = own.here.into_iter().filter(|it| !all.contains(it));
        all.extend(own.collect::<Vec<_>>());
    }
    let new = rewritten(text, &all).filter(|_| !all.is_empty());
    (new, shares, all)
}

/// The variables of an application, before and after the edit.
struct App {
    variables: &'static [(&'static str, &'static str)],
    changed: &'static [(&'static str, &'static str)],
    /// The variable below which new variables are added.
    above: &'static str,
    image: &'static str,
}

const APPS: [App; 6] = [
    App {
        variables: &[("WORDPRESS_DB_HOST", "db"), ("WORDPRESS_DB_USER", "wp"), ("WORDPRESS_DB_PASSWORD", "p w")],
        changed: &[("WORDPRESS_DB_HOST", "localhost:/var/run/mysqld/mysqld.sock")],
        above: "",
        image: "mariadb:11",
    },
    App {
        variables: &[
            ("APP_KEY", "k"),
            ("DB_CONNECTION", "mysql"),
            ("DB_HOST", "db"),
            ("DB_USERNAME", "u"),
            ("DB_PASSWORD", "p"),
        ],
        changed: &[("DB_SOCKET", "/var/run/mysqld/mysqld.sock")],
        above: "DB_HOST",
        image: "mysql:${TAG:-8.4}",
    },
    App {
        variables: &[
            ("APP_KEY", "k"),
            ("DB_CONNECTION", "pgsql"),
            ("DB_HOST", "db"),
            ("DB_USERNAME", "u"),
            ("DB_PASSWORD", "p"),
        ],
        changed: &[("DB_HOST", "/var/run/postgresql")],
        above: "DB_HOST",
        image: "postgres:17-alpine",
    },
    App {
        variables: &[
            ("MB_DB_TYPE", "mysql"),
            ("WORDPRESS_DB_HOST", "db:3306"),
            ("WORDPRESS_DB_USER", "it's"),
            ("WORDPRESS_DB_PASSWORD", "p"),
        ],
        changed: &[("WORDPRESS_DB_HOST", "localhost:/var/run/mysqld/mysqld.sock")],
        above: "",
        image: "mysql",
    },
    App {
        variables: &[("APP_KEY", "k"), ("REDIS_HOST", "db"), ("REDIS_PORT", "6379")],
        changed: &[("REDIS_HOST", "/run/valkey/redis.sock"), ("REDIS_PORT", "0")],
        above: "",
        image: "valkey/valkey:8",
    },
    App {
        variables: &[
            ("APP_KEY", "k"),
            ("DB_CONNECTION", "pgsql"),
            ("DB_HOST", "db"),
            ("DB_USERNAME", "u"),
            ("DB_PASSWORD", "p"),
        ],
        changed: &[("DB_HOST", "/var/run/pgbouncer")],
        above: "DB_HOST",
        image: "edoburu/pgbouncer:v1.24",
    },
];

const OPTIONS: &str = "--unixsocket /run/valkey/redis.sock --unixsocketperm 777";

/// A random file, and what another parser has to find in it after the edit.
struct Drawn {
    text: String,
    /// The services to which the volume is added. The last of them is the server.
    mounted: Vec<&'static str>,
    app: &'static App,
}

struct Pen<'a> {
    dice: &'a mut Dice,
    lines: Vec<String>,
    step: usize,
}

impl Pen<'_> {
    fn line(&mut self, depth: usize, text: &str) {
        let indent = " ".repeat(depth * self.step);
        match self.dice.below(12) {
            0 => self.lines.push(format!("{indent}# it's é: [\"a\", {{b")),
            1 => self.lines.push(String::new()),
            _ => {}
        }
        let behind = self.dice.one(&["", "", "", " # x: 'y", "  "]);
        self.lines.push(format!("{indent}{text}{behind}"));
    }

    fn environment(&mut self, app: &App) {
        self.line(2, "environment:");
        let is_list = self.dice.below(2) == 0;
        let mut variables = app.variables.to_vec();
        let turned = self.dice.below(variables.len());
        variables.rotate_left(turned);
        for (name, value) in variables {
            let quote = self.dice.one(&["", "'", "\""]);
            let is_awkward = value.contains('\'');
            let quote = if is_awkward { "\"" } else { quote };
            let text = if is_list {
                format!("- {quote}{name}={value}{quote}")
            } else {
                format!("{name}: {quote}{value}{quote}")
            };
            self.line(3, &text);
        }
    }

    /// Writes other volumes than the new one, and what may follow them.
    fn volumes(&mut self) {
        match self.dice.below(4) {
            0 => {
                let depth = 2 + self.dice.below(2);
                self.line(2, "volumes:");
                self.line(depth, "- .:/srv");
                self.line(depth, "- 'data:/data:ro'");
            }
            1 => {
                self.line(2, "volumes:");
                self.line(3, "- type: volume");
                let indent = " ".repeat(3 * self.step + 2);
                self.lines.push(format!("{indent}source: data"));
                self.lines.push(format!("{indent}target: /data # y"));
            }
            2 => {
                self.line(2, "volumes:");
                self.line(2, "-   { type: volume, source: data, target: /data }");
            }
            _ => {}
        }
    }

    fn other(&mut self) {
        match self.dice.below(5) {
            0 => self.line(2, "ports: [\"80:80\", '443:443']"),
            1 => self.line(2, "logging: *log"),
            2 => {
                self.line(2, "command: >-");
                let indent = " ".repeat(3 * self.step);
                self.lines.push(format!("{indent}sh -c 'run: all'"));
                self.lines.push(format!("{indent}# no comment"));
            }
            3 => {
                self.line(2, "healthcheck:");
                self.line(3, "test: [CMD, true]");
            }
            _ => {}
        }
    }

    fn service(&mut self, name: &str, app: &App) {
        self.line(1, &format!("{name}:"));
        let parts = self.dice.below(6);
        let image = self.dice.one(&["image: own/app", "build: .", "restart: always"]);
        if parts < 3 {
            self.line(2, image);
        }
        if parts.is_multiple_of(2) {
            self.environment(app);
            self.volumes();
        } else {
            self.volumes();
            self.environment(app);
        }
        if parts >= 3 {
            self.line(2, image);
        }
        self.other();
    }

    fn server(&mut self, app: &App) {
        self.line(1, "db:");
        let is_first = self.dice.below(2) == 0;
        let image = format!("image: {}", app.image);
        if is_first {
            self.line(2, &image);
        }
        if app.image.starts_with("postgres") {
            self.line(2, "environment:");
            self.line(3, "POSTGRES_INITDB_ARGS: --auth-local=scram-sha-256");
        }
        if app.image.starts_with("edoburu") {
            self.line(2, "environment:");
            let line = self.dice.one(&["DB_HOST: 'x'", "- DB_HOST=x", "- 'DB_HOST=x'"]);
            self.line(3, line);
        }
        if app.image.starts_with("valkey") {
            match self.dice.below(5) {
                0 => self.line(2, "command: valkey-server --save ''"),
                1 => self.line(2, "command: \"--requirepass $$x\""),
                2 => self.line(2, "command: [ \"valkey-server\", '--save', ''  ]"),
                3 => {
                    self.line(2, "command:");
                    self.line(3, "-   valkey-server");
                    self.line(3, "-   '/etc/x.conf'");
                }
                _ => {}
            }
        }
        self.volumes();
        if !is_first {
            self.line(2, &image);
        }
    }
}

fn draw(dice: &mut Dice) -> Drawn {
    let app = &APPS[dice.below(APPS.len())];
    let step = dice.one(&[2, 4, 3]);
    let mut pen = Pen { dice, lines: Vec::new(), step };
    pen.line(0, "x-log: &log { driver: json-file }");
    let has_volumes = pen.dice.below(3);
    let is_before = pen.dice.below(2) == 0;
    let volumes = |pen: &mut Pen<'_>| {
        pen.line(0, "volumes:");
        pen.line(1, "data:");
        if has_volumes == 1 {
            pen.line(2, "driver: local");
        }
    };
    if has_volumes > 0 && is_before {
        volumes(&mut pen);
    }
    pen.line(0, "services:");
    let has_worker = pen.dice.below(2) == 0;
    let mut mounted = vec!["app"];
    let is_server_first = pen.dice.below(2) == 0;
    if is_server_first {
        pen.server(app);
    }
    pen.service("app", app);
    if has_worker {
        mounted.push("worker");
        pen.service("worker", app);
    }
    pen.line(1, "proxy: {image: nginx, volumes: ['./n:/etc/nginx']}");
    if !is_server_first {
        pen.server(app);
    }
    mounted.push("db");
    if has_volumes > 0 && !is_before {
        volumes(&mut pen);
    }
    let newline = pen.dice.one(&["\n", "\n", "\r\n"]);
    let mut text = pen.lines.join(newline);
    if has_volumes == 0 || pen.dice.below(4) > 0 {
        text += newline;
    }
    Drawn { text, mounted, app }
}

/// The documents that another parser finds in each file; `None` if the parser is not installed.
pub(super) fn parsed(files: &[String]) -> Option<Vec<Value>> {
    let folder = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for (idx, text) in files.iter().enumerate() {
        let path = folder.path().join(idx.to_string());
        fs::write(&path, text).unwrap();
        paths.push(path);
    }
    let program = |arguments: &[&str]| Command::new("python3").args(arguments).output();
    if program(&["-c", "import yaml"]).is_ok_and(|it| !it.status.success()) {
        skip("python3-yaml is not installed");
        return None;
    }
    let output = Command::new("python3").args(["-c", READER]).args(&paths).output();
    let Ok(output) = output else {
        skip("python3 is not installed");
        return None;
    };
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    let text = String::from_utf8(output.stdout).unwrap();
    let all = text.lines().map(|it| serde_json::from_str(it).unwrap());
    Some(all.collect())
}

/// The document that is expected after the edit.
fn expected(mut document: Value, drawn: &Drawn) -> Value {
    for name in &drawn.mounted {
        let service = document["services"][name].as_object_mut().unwrap();
        let volumes = service.entry("volumes").or_insert_with(|| json!([]));
        let own = json!(format!("sockets-db:{}", folder(drawn.app)));
        volumes.as_array_mut().unwrap().push(own);
        if *name != "db" {
            change(&mut service["environment"], drawn.app);
        } else if drawn.app.image.starts_with("edoburu") {
            match &mut service["environment"] {
                Value::Array(items) => items.push(json!("UNIX_SOCKET_DIR=/var/run/pgbouncer")),
                map => map["UNIX_SOCKET_DIR"] = json!("/var/run/pgbouncer"),
            }
        } else if drawn.app.image.starts_with("valkey") {
            match service.entry("command").or_insert_with(|| json!("valkey-server")) {
                Value::Array(items) => items.extend(OPTIONS.split(' ').map(|it| json!(it))),
                text => *text = json!(format!("{} {OPTIONS}", text.as_str().unwrap())),
            }
        }
    }
    let root = document.as_object_mut().unwrap();
    let volumes = root.entry("volumes").or_insert_with(|| Value::Object(Map::new()));
    volumes["sockets-db"] =
        json!({ "driver_opts": { "type": "tmpfs", "device": "tmpfs", "o": "uid=0,gid=0,mode=1777" } });
    document
}

fn folder(app: &App) -> &'static str {
    match app.image.split(['/', ':']).next().unwrap_or_default() {
        "postgres" => "/var/run/postgresql",
        "valkey" => "/run/valkey",
        "edoburu" => "/var/run/pgbouncer",
        _ => "/var/run/mysqld",
    }
}

fn change(environment: &mut Value, app: &App) {
    for (name, value) in app.changed {
        match &mut *environment {
            Value::Array(items) => {
                let new = json!(format!("{name}={value}"));
                let is_named = |it: &Value, name: &str| it.as_str().unwrap().starts_with(&format!("{name}="));
                if let Some(at) = items.iter().position(|it| is_named(it, name)) {
                    items[at] = new;
                } else {
                    let above = items.iter().position(|it| is_named(it, app.above));
                    items.insert(above.unwrap() + 1, new);
                }
            }
            other => other[*name] = json!(value),
        }
    }
}

/// Converts numbers to texts: numbers without quotes are numbers for YAML, but Compose treats all of them as texts.
fn as_texts(value: Value) -> Value {
    match value {
        Value::Number(it) => json!(it.to_string()),
        Value::Array(items) => items.into_iter().map(as_texts).collect(),
        Value::Object(entries) => {
            let entries = entries.into_iter().map(|(key, value)| (key, as_texts(value)));
            Value::Object(entries.collect())
        }
        other => other,
    }
}

#[test]
fn another_parser_finds_what_was_meant_and_nothing_else() {
    let mut dice = Dice::new(2227);
    let drawn: Vec<Drawn> = (0..FILES).map(|_| draw(&mut dice)).collect();
    let mut after = Vec::new();
    for it in &drawn {
        let (new, shares, rewrites) = edited(&it.text);
        let new = new.unwrap_or_else(|| panic!("{shares:?}\n{}", it.text));
        assert_eq!(shares.iter().flatten().count(), it.mounted.len() - 1, "{}", it.text);
        // The edit only removes values inside a line, and adds lines only below complete lines.
        for rewrite in &rewrites {
            let gone = &it.text[rewrite.at.clone()];
            assert!(!gone.contains(['\n', '\r', '#']), "{gone}\n{}", it.text);
        }
        let is_dos = it.text.contains("\r\n");
        let n_bare = new.matches('\n').count() - new.matches("\r\n").count();
        assert!(!is_dos || n_bare == 0, "{new}");
        after.push(new);
    }
    let before: Vec<String> = drawn.iter().map(|it| it.text.clone()).collect();
    let (Some(before), Some(found)) = (parsed(&before), parsed(&after)) else {
        return;
    };
    for (((it, mut before), mut found), new) in drawn.iter().zip(before).zip(found).zip(&after) {
        let expected = as_texts(expected(before[0].take(), it));
        assert_eq!(as_texts(found[0].take()), expected, "{}becomes\n{new}", it.text);
    }
}

#[track_caller]
fn check_by_hand(text: &str, words: &str) {
    let (new, shares, _) = edited(text);
    assert_eq!(new, None, "{text}");
    let why: Vec<&String> = { shares.iter().flatten() }.filter_map(|it| it.as_ref().err()).collect();
    assert!(why.iter().any(|it| it.contains(words)), "{words}: {why:?}\n{text}");
}

/// A file with these lines in the application's service, in the server's service, and at its end.
fn file(app: &str, server: &str, end: &str) -> String {
    let lines = |text: &str| {
        let lines = text.lines().flat_map(|it| ["    ", it, "\n"]);
        lines.collect::<String>()
    };
    let environment = if app.contains("environment") {
        ""
    } else {
        "environment:\n  WORDPRESS_DB_HOST: db\n  WORDPRESS_DB_USER: u\n  WORDPRESS_DB_PASSWORD: p\n"
    };
    let image = if server.contains("image") { "" } else { "image: mysql\n" };
    format!(
        "services:\n  app:\n    image: wordpress\n{}{}  db:\n{}{}{end}",
        lines(app),
        lines(environment),
        lines(image),
        lines(server)
    )
}

#[test]
fn what_counts_elsewhere_too_or_is_not_plain_lines_is_left_to_people() {
    let (new, _, _) = edited(&file("", "", ""));
    assert!(new.is_some());
    for (app, server, end, words) in [
        ("volumes: [a:/b]", "", "", "the volumes of `app`"),
        ("", "volumes: [a:/b]", "", "the volumes of `db`"),
        ("volumes: &v\n- a:/b", "", "", "the volumes of `app`"),
        ("volumes:\n- a:/b\n- &v c:/d", "", "", "the volumes of `app`"),
        ("extends: {service: x}", "", "", "extends"),
        ("<<: {a: b}", "", "", "shares parts with other"),
        ("", "<<: {a: b}", "", "shares parts with other"),
        ("", "", "volumes: {a: }\n", "`volumes:` of the file"),
        ("", "", "volumes: &v\n  a:\n", "`volumes:` of the file"),
        ("", "", "volumes:\n  sockets-db:\n", "already has a volume `sockets-db`"),
        ("", "", "include: [other.yml]\n", "includes other files"),
        ("", "", "---\na: b\n", "a single plain YAML document"),
        ("", "", "...\n", "at the end of the file"),
        ("", "image: own/mysql", "", "does not know"),
        ("", "image: redis", "", "does not know"),
        ("", "image: mysql\nbuild: .", "", "`build`"),
        ("", "deploy: {replicas: 2}", "", "may have several containers"),
        ("deploy: {placement: {}}", "", "", "on several machines"),
        ("", "volumes:\n- ./my.cnf:/etc/mysql/conf.d/my.cnf", "", "its own configuration"),
        ("", "volumes:\n- ./run:/run/mysqld", "", "something else at"),
        ("", "tmpfs: /var/run", "", "something else at"),
        ("volumes:\n- x:/var/run/mysqld", "", "", "something else at"),
        ("volumes_from: [x]", "", "", "something else at"),
        ("hostname: db", "", "", "several services are called `db`"),
        (
            "environment: {WORDPRESS_DB_HOST: db, WORDPRESS_DB_USER: u, WORDPRESS_DB_PASSWORD: p}",
            "",
            "",
            "not on separate plain lines",
        ),
        ("environment:\n  <<: {A: b}\n  WORDPRESS_DB_HOST: db", "", "", "not on separate plain lines"),
        ("environment:\n  WORDPRESS_DB_HOST: &h db", "", "", "not on separate plain lines"),
        ("environment:\n  WORDPRESS_DB_HOST: db:3307", "", "", "port 3307"),
    ] {
        check_by_hand(&file(app, server, end), words);
    }
    let plain = file("", "", "");
    check_by_hand(plain.trim_end(), "at the end of the file");
    let (new, shares, _) = edited_beside(&plain, &["docker-compose.override.yml".to_owned()]);
    assert!(new.is_none() && matches!(&shares[..], [Some(Err(_))]));
}

#[test]
fn a_volume_that_is_there_is_taken() {
    let text = file("", "volumes:\n- run:/run/mysqld", "volumes:\n  run:\n");
    let (new, _, _) = edited(&text);
    let mounted = "    image: wordpress\n    volumes:\n      - run:/var/run/mysqld\n";
    let expected = text
        .replace("    image: wordpress\n", mounted)
        .replace("HOST: db\n", "HOST: localhost:/var/run/mysqld/mysqld.sock\n");
    assert_eq!(new, Some(expected));
}

#[test]
fn what_others_may_have_too_is_not_certain() {
    let check = |service: &str, beside: &str, expected: bool| {
        let text = format!("services:\n  a:\n    image: x\n{service}  db:\n    image: mysql\n");
        let beside = [beside.to_owned()];
        let source = Source {
            path: Some("/srv/compose.yaml"),
            bytes: text.as_bytes(),
            included: &[],
            neighbours: &beside,
            program: None,
            environment: None,
        };
        let found = read_services(&source, None).unwrap().found;
        let guessed: Vec<bool> = found.iter().map(|it| it.is_guessed).collect();
        assert_eq!(guessed, [expected], "{text}");
    };
    let generic = "    environment: {DB_HOST: db, DB_PORT: '3306', DB_USERNAME: u}\n";
    check(generic, "artisan", true);
    check(&format!("    build: .\n{generic}"), "artisan", false);
    check(&format!("    build: {{context: ./}}\n{generic}"), "artisan", false);
    check(&format!("    build: ./other\n{generic}"), "artisan", true);
    check(&generic.replace('}', ", APP_KEY: k}"), "", false);
    check("    environment: [MYSQL_HOST=db, MYSQL_USER=u]\n", "", true);
    check("    environment: [WORDPRESS_DB_HOST=db]\n", "", false);
}

#[test]
fn what_decides_may_be_in_a_file_that_is_not_read() {
    #[track_caller]
    fn check(more: &str, name: Option<&str>, expected: &str) {
        let text = format!("services:\n  app:\n    image: shop\n{more}  cache:\n    image: redis:7\n");
        let source = Source {
            path: Some("/srv/compose.yaml"),
            bytes: text.as_bytes(),
            included: &[],
            neighbours: &[],
            program: None,
            environment: None,
        };
        let found = read_services(&source, name).unwrap().found;
        let said: Vec<String> = found.iter().map(|it| format!("{} {:?}", it.titles.join(", "), it.takes)).collect();
        assert!(said.iter().any(|it| it == expected), "{said:?}\n{text}");
    }
    let plain = "    environment: {APP_KEY: k, REDIS_HOST: cache, REDIS_PORT: '6379'}\n";
    check(plain, None, "Laravel (phpredis) Some(Tcp)");
    let beside = format!("{plain}    env_file: [.env]\n");
    check(&beside, None, "Laravel (phpredis) None");
    // The user, or a variable, names the driver.
    check(&beside, Some("phpredis"), "Laravel (phpredis) Some(Tcp)");
    check(&beside.replace("APP_KEY", "REDIS_CLIENT: phpredis, APP_KEY"), None, "Laravel (phpredis) Some(Tcp)");
}

#[test]
fn two_servers_want_two_folders() {
    let variables =
        |name: &str, host: &str| format!("  {name}_DB_HOST: {host}\n  {name}_DB_USER: u\n  {name}_DB_PASSWORD: p\n");
    let text = format!(
        "services:\n app:\n  environment:\n  {}   DB_CONNECTION: mysql\n   APP_KEY: k\n   DB_HOST: b\n   DB_USERNAME: u\n   DB_PASSWORD: p\n a:\n  image: mysql\n b:\n  image: mariadb\n",
        variables("WORDPRESS", "a").replace("\n  ", "\n   ").replacen("  ", " ", 1)
    );
    check_by_hand(&text, "`a` and `b` would both");
}
