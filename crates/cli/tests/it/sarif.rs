//! `looptax check TREE --sarif`: the log matches the schema, names the right lines, contains no secret, and has the
//! changes that `switch` makes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use jsonschema::Validator;
use looptax_model::dsn::Kind;
use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Deserialize;
use serde_json::Value;

use crate::fixture::{Server, exe};

const SCHEMA: &str = include_str!("../sarif/schema.json");
/// A configuration file of each application that looptax knows.
const CASES: &str = include_str!("../../../advise/tests/data/apps.toml");
const N_TREES: usize = 40;
const MARK: &str = "MARKED-s3cret";

static SCHEMA_OF_SARIF: LazyLock<Validator> = LazyLock::new(|| {
    let mut schema: Value = serde_json::from_str(SCHEMA).unwrap();
    // The pattern has a closing bracket without an opening one, which this crate does not accept; looptax does not
    // print a language.
    for part in ["run", "toolComponent"] {
        let pattern = schema["definitions"][part]["properties"]["language"].as_object_mut().unwrap().remove("pattern");
        assert!(pattern.is_some(), "{part}");
    }
    jsonschema::draft4::new(&schema).unwrap()
});

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn looptax(scratch: &Scratch, args: &[&str]) -> Finished {
    Looptax::new(exe(), scratch).args(args.iter().copied()).env("XDG_DATA_HOME", scratch.file("data")).run()
}

fn sarif(scratch: &Scratch, tree: &Path, more: &[&str]) -> Log {
    let run = looptax(scratch, &[&["check", tree.to_str().unwrap(), "--sarif"], more].concat());
    Log::read(&run)
}

/// The printed log, after a check against the schema.
struct Log {
    text: String,
    code: Option<i32>,
    results: Vec<Value>,
}

impl Log {
    #[track_caller]
    fn read(run: &Finished) -> Self {
        let value: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| run.fail("no JSON"));
        let faults: Vec<String> =
            SCHEMA_OF_SARIF.iter_errors(&value).map(|it| format!("{}: {it}", it.instance_path())).collect();
        assert!(faults.is_empty(), "{faults:#?}");
        let results = value["runs"][0]["results"].as_array().unwrap().clone();
        let rules = value["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
        for result in &results {
            let idx = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(rules[idx]["id"], result["ruleId"]);
        }
        Self { text: format!("{}{}", run.stdout, run.stderr), code: run.status.code(), results }
    }

    /// Returns file, line and code of each result.
    fn said(&self) -> Vec<(String, u64, String)> {
        let said = self.results.iter().map(|it| {
            let place = &it["locations"][0]["physicalLocation"];
            let (uri, line) = (place["artifactLocation"]["uri"].as_str(), place["region"]["startLine"].as_u64());
            (uri.unwrap().to_owned(), line.unwrap(), it["ruleId"].as_str().unwrap().to_owned())
        });
        said.collect()
    }

    /// Returns the files after all fixes, by their paths below the tree.
    fn fixed(&self, tree: &Path) -> BTreeMap<String, String> {
        type Part = ((u64, u64), (u64, u64), String);
        let mut all: BTreeMap<String, BTreeSet<Part>> = BTreeMap::new();
        let changes = self.results.iter().filter_map(|it| it["fixes"][0]["artifactChanges"].as_array()).flatten();
        for change in changes {
            let uri = change["artifactLocation"]["uri"].as_str().unwrap();
            for part in change["replacements"].as_array().unwrap() {
                let at = |name: &str| part["deletedRegion"][name].as_u64().unwrap();
                let text = part["insertedContent"]["text"].as_str().unwrap().to_owned();
                let region = ((at("startLine"), at("startColumn")), (at("endLine"), at("endColumn")));
                all.entry(uri.to_owned()).or_default().insert((region.0, region.1, text));
            }
        }
        let fixed = all.into_iter().map(|(uri, parts)| {
            let old = fs::read_to_string(tree.join(&uri)).unwrap();
            let (mut new, mut done) = (String::new(), 0);
            for (start, end, text) in parts {
                let (start, end) = (byte(&old, start), byte(&old, end));
                new += &old[done..start];
                new += &text;
                done = end;
            }
            new += &old[done..];
            (uri, new)
        });
        fixed.collect()
    }
}

/// Returns the position in bytes of a line and a column, which counts characters.
fn byte(text: &str, (line, column): (u64, u64)) -> usize {
    let (line, column) = (usize::try_from(line).unwrap(), usize::try_from(column).unwrap());
    let start: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    start + text[start..].chars().take(column - 1).map(char::len_utf8).sum::<usize>()
}

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    path: String,
    #[serde(default)]
    beside: Vec<String>,
    tcp: String,
}

/// Forty trees with all cases of the table: after all fixes are applied, `check` reports no fix, so each fix has
/// worked.
#[test]
fn fixes_of_every_application_take_the_socket_and_hold_no_secret() {
    let scratch = Scratch::new();
    let cases: Cases = toml::from_str(CASES).unwrap();
    for (idx, case) in cases.case.iter().enumerate() {
        let file = scratch.file(&format!("t{}/p{idx}/{}", idx % N_TREES, case.path.trim_start_matches('/')));
        write(&file, &case.tcp);
        for name in case.beside.iter().filter(|it| !it.contains(':')) {
            let beside = file.with_file_name(name);
            if !beside.exists() {
                write(&beside, "");
            }
        }
    }
    for idx in 0..N_TREES {
        let tree = scratch.file(&format!("t{idx}"));
        let log = sarif(&scratch, &tree, &[]);
        assert!(!log.text.contains("hush"), "{}", log.text);
        let fixed = log.fixed(&tree);
        assert!(!fixed.is_empty(), "tree {idx} has no fix");
        for (uri, text) in fixed {
            fs::write(tree.join(uri), text).unwrap();
        }
        let again = sarif(&scratch, &tree, &[]);
        assert_eq!(again.fixed(&tree), BTreeMap::new(), "tree {idx}");
    }
}

struct Servers {
    mariadb: Server,
    postgres: Server,
    redis: Server,
}

/// A random tree: the file to switch, and the correct result for it.
struct Drawn {
    file: &'static str,
    /// The server that the file connects to, and the line that names the server; `None` if there is nothing to report.
    right: Option<(Kind, usize)>,
    code: &'static str,
}

/// Makes random trees: the file has the usual contents of such a project, after lines without meaning for the test.
struct Draw {
    rng: Xoshiro256PlusPlus,
    tree: PathBuf,
}

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.rng.next_u64() % n
    }

    fn write(&self, name: &str, text: &str) {
        write(&self.tree.join(name), text);
    }

    /// Writes the file with random lines after its head; returns the line that contains `says_where`.
    fn file(&mut self, name: &str, [head, noise, body]: [&str; 3], says_where: &str) -> usize {
        let mut text = head.to_owned();
        for idx in 0..self.below(30) {
            let _ = writeln!(text, "{}", noise.replace("{N}", &idx.to_string()).replace("{MARK}", MARK));
        }
        text += body;
        let line = text.lines().position(|it| it.contains(says_where)).unwrap() + 1;
        if self.below(4) == 0 {
            text = text.replace('\n', "\r\n");
        }
        self.write(name, &text);
        line
    }
}

/// A line of a `.env` without meaning for the test.
const ENV: &str = "KEY_{N}={MARK}";

/// Returns port, user, password and database.
fn login(server: &Server) -> (u16, String, String, String) {
    let (it, password) = (&server.it, server.password().to_owned());
    (it.tcp.port(), it.login.user.clone(), password, it.login.database.clone().unwrap_or_default())
}

fn draw(form: usize, servers: &Servers, draw: &mut Draw) -> Drawn {
    match form {
        0 | 1 | 5 => of_mysql(form, &servers.mariadb, draw),
        2..=4 => of_postgres(form, &servers.postgres, draw),
        6 | 7 => of_redis(form, &servers.redis, draw),
        8 => {
            let body = "services:\n  app:\n    image: example/shop\n    environment:\n      APP_KEY: base64:x\n      DB_CONNECTION: pgsql\n      DB_HOST: db\n      DB_DATABASE: shop\n      DB_USERNAME: shop\n      DB_PASSWORD: MARKED-s3cret\n  db:\n    image: postgres:17\n";
            let name = "docker-compose.yml";
            let line = draw.file(name, ["", "# {N} {MARK}", body], "DB_HOST");
            Drawn { file: name, right: Some((Kind::Postgres, line)), code: "server-in-container" }
        }
        _ => {
            draw.write("README.md", "    postgres://u:MARKED-s3cret@127.0.0.1/d\n");
            draw.write("main.go", "package main\n\nfunc main() {}\n");
            let body = "DATABASES = {'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': 'db.sqlite3'}}\n";
            draw.file("shop/settings.py", ["", "KEY_{N} = '{MARK}'", body], "sqlite3");
            let elsewhere = "APP_KEY=x\nDB_CONNECTION=mysql\nDB_HOST=db.example.net\nDB_PASSWORD=MARKED-s3cret\n";
            draw.file("api/.env", ["", ENV, elsewhere], "DB_HOST");
            Drawn { file: "", right: None, code: "" }
        }
    }
}

/// Makes the files of WordPress, Laravel or Gitea.
fn of_mysql(form: usize, server: &Server, draw: &mut Draw) -> Drawn {
    let (port, user, password, database) = login(server);
    let (file, line) = match form {
        0 => {
            let body = format!(
                "define( 'DB_NAME', '{database}' );\ndefine( 'DB_USER', '{user}' );\ndefine( 'DB_PASSWORD', '{password}' );\ndefine( 'DB_HOST', '127.0.0.1:{port}' );\n$table_prefix = 'wp_';\n"
            );
            draw.write("wp-settings.php", "<?php\n");
            let noise = "define( 'AUTH_KEY_{N}', '{MARK}' );";
            ("wp-config.php", draw.file("wp-config.php", ["<?php\n", noise, &body], "DB_HOST"))
        }
        1 => {
            let body = format!(
                "APP_KEY=base64:x\nDB_CONNECTION=mysql\nDB_HOST=127.0.0.1\nDB_PORT={port}\nDB_DATABASE={database}\nDB_USERNAME={user}\nDB_PASSWORD={password}\n"
            );
            draw.write("artisan", "#!/usr/bin/env php\n");
            draw.write("composer.json", "{\"require\": {\"laravel/framework\": \"^12\"}}\n");
            (".env", draw.file(".env", ["", ENV, &body], "DB_HOST"))
        }
        _ => {
            let body = format!(
                "[database]\nDB_TYPE = mysql\nHOST = 127.0.0.1:{port}\nNAME = {database}\nUSER = {user}\nPASSWD = {password}\n"
            );
            let name = "custom/conf/app.ini";
            (name, draw.file(name, ["", "KEY_{N} = {MARK}", &body], "HOST"))
        }
    };
    Drawn { file, right: Some((Kind::Mariadb, line)), code: "takes-tcp" }
}

/// Makes the files of Node, Django or Rails.
fn of_postgres(form: usize, server: &Server, draw: &mut Draw) -> Drawn {
    let (port, user, password, database) = login(server);
    let (file, line) = match form {
        2 => {
            let body = format!("DATABASE_URL=postgres://{user}:{password}@127.0.0.1:{port}/{database}\n");
            draw.write("package.json", "{\"dependencies\": {\"pg\": \"^8.11.0\"}}\n");
            draw.write("node_modules/pg/.env", "DATABASE_URL=postgres://u:p@127.0.0.1/d\n");
            draw.write("src/db.js", "const { Pool } = require('pg');\nmodule.exports = new Pool();\n");
            (".env", draw.file(".env", ["", ENV, &body], "DATABASE_URL"))
        }
        3 => {
            let body = format!(
                "DATABASES = {{\n    'default': {{\n        'ENGINE': 'django.db.backends.postgresql',\n        'NAME': '{database}',\n        'USER': '{user}',\n        'PASSWORD': '{password}',\n        'HOST': '127.0.0.1',\n        'PORT': '{port}',\n    }}\n}}\n"
            );
            let head = "import os\n\nDEBUG = True\n";
            let name = "shop/settings.py";
            draw.write("manage.py", "import django\n");
            (name, draw.file(name, [head, "KEY_{N} = '{MARK}'", &body], "'HOST'"))
        }
        _ => {
            let body = format!(
                "production:\n  adapter: postgresql\n  host: 127.0.0.1\n  port: {port}\n  username: {user}\n  password: {password}\n  database: {database}\n"
            );
            draw.write("Gemfile", "gem 'rails'\ngem 'pg'\n");
            let name = "config/database.yml";
            (name, draw.file(name, ["", "# {N} {MARK}", &body], "host:"))
        }
    };
    Drawn { file, right: Some((Kind::Postgres, line)), code: "takes-tcp" }
}

/// Makes the files of Celery or Laravel.
fn of_redis(form: usize, server: &Server, draw: &mut Draw) -> Drawn {
    let (port, _, password, _) = login(server);
    let (file, line) = if form == 6 {
        let body = format!("broker_url = 'redis://:{password}@127.0.0.1:{port}/0'\n");
        let name = "celeryconfig.py";
        (name, draw.file(name, ["", "KEY_{N} = '{MARK}'", &body], "broker_url"))
    } else {
        let body = format!(
            "APP_KEY=base64:x\nDB_CONNECTION=sqlite\nREDIS_HOST=127.0.0.1\nREDIS_PASSWORD={password}\nREDIS_PORT={port}\n"
        );
        draw.write("artisan", "#!/usr/bin/env php\n");
        (".env", draw.file(".env", ["", ENV, &body], "REDIS_HOST"))
    };
    Drawn { file, right: Some((Kind::Redis, line)), code: "takes-tcp" }
}

/// Forty common projects with running servers.
#[test]
fn fixes_are_byte_for_byte_what_switch_writes_at_the_lines_that_say_where_it_goes() {
    let start = Server::start;
    let (Some(mariadb), Some(postgres), Some(redis)) =
        (start(Kind::Mariadb), start(Kind::Postgres), start(Kind::Redis))
    else {
        return;
    };
    let servers = Servers { mariadb, postgres, redis };
    let scratch = Scratch::new();
    for idx in 0..N_TREES {
        let tree = scratch.file(&format!("tree{idx}"));
        let rng = Xoshiro256PlusPlus::seed_from_u64(idx as u64);
        let drawn = draw(idx % 10, &servers, &mut Draw { rng, tree: tree.clone() });
        let socket = match drawn.right {
            Some((Kind::Mariadb, _)) => servers.mariadb.socket(),
            Some((Kind::Redis, _)) => servers.redis.socket(),
            _ => servers.postgres.socket(),
        };
        let log = sarif(&scratch, &tree, &["--socket", &socket]);
        assert_eq!(log.code, Some(0), "{}", log.text);
        for secret in [MARK, servers.mariadb.password(), servers.postgres.password(), servers.redis.password()] {
            assert!(!log.text.contains(secret), "{}", log.text);
        }
        let right = drawn.right.map(|(_, line)| (drawn.file.to_owned(), line as u64, drawn.code.to_owned()));
        assert_eq!(log.said(), right.into_iter().collect::<Vec<_>>(), "tree {idx}");
        let fixed = log.fixed(&tree);
        if drawn.code != "takes-tcp" {
            assert_eq!(fixed, BTreeMap::new(), "tree {idx}");
            continue;
        }
        let file = tree.join(drawn.file);
        let run = looptax(&scratch, &["switch", file.to_str().unwrap(), "--patch", "--socket", &socket]);
        run.expect_code(0);
        let old = fs::read_to_string(&file).unwrap();
        let patch = diffy::Patch::from_str(&run.stdout).unwrap();
        let new = diffy::apply(&old, &patch).unwrap();
        assert_eq!(fixed.get(drawn.file), Some(&new), "tree {idx}: {}", run.stdout);
    }
}

#[test]
fn a_tree_is_read_without_links_without_proc_and_within_its_bounds() {
    let scratch = Scratch::new();
    let tree = scratch.file("tree");
    let outside = scratch.file("outside");
    let text = "<?php\ndefine( 'DB_HOST', '127.0.0.1' );\ndefine( 'DB_NAME', 'wp' );\n";
    write(&outside.join("wp-config.php"), text);
    for name in ["a b/wp-config.php", "vendor/wp-config.php", ".git/wp-config.php"] {
        write(&tree.join(name), text);
    }
    symlink(&outside, tree.join("linked")).unwrap();
    symlink(outside.join("wp-config.php"), tree.join("wp-config.php")).unwrap();
    let log = sarif(&scratch, &tree, &[]);
    assert_eq!(log.said(), [("a%20b/wp-config.php".to_owned(), 2, "takes-tcp".to_owned())]);
    let deep = tree.join("d/".repeat(40));
    write(&deep.join("x"), "");
    let log = sarif(&scratch, &tree, &[]);
    assert_eq!(log.code, Some(3), "what was not read is not known: {}", log.text);
    // Pass files by their names, relative to the working folder.
    let run = looptax(&scratch, &["check", "--sarif", "tree/a b/wp-config.php", "outside/wp-config.php"]);
    let named = Log::read(&run).said();
    assert_eq!(
        named.iter().map(|it| &*it.0).collect::<Vec<_>>(),
        ["tree/a%20b/wp-config.php", "outside/wp-config.php"]
    );
    looptax(&scratch, &["check", "--sarif", "nothing.php"]).expect_error(2, &["cannot read"]);
}

#[test]
fn a_connection_that_fails_as_it_stands_is_an_error_and_the_text_form_reads_trees_too() {
    let scratch = Scratch::new();
    let tree = scratch.file("tree");
    write(
        &tree.join("wp-config.php"),
        "<?php\ndefine( 'DB_NAME', 'wp' );\ndefine( 'DB_PASSWORD', 'MARKED-s3cret' );\ndefine( 'DB_HOST', '/run/mysqld/mysqld.sock' );\n",
    );
    write(&tree.join("api/.env"), "APP_KEY=x\nDB_CONNECTION=mysql\nDB_HOST=127.0.0.1\nDB_PORT=1\n");
    let log = sarif(&scratch, &tree, &[]);
    assert_eq!(log.code, Some(1), "{}", log.text);
    let levels: Vec<&str> = log.results.iter().map(|it| it["level"].as_str().unwrap()).collect();
    assert_eq!(levels, ["warning", "error"]);
    let run = looptax(&scratch, &["check", tree.to_str().unwrap()]);
    run.expect_code(1);
    let words = run.words();
    for said in ["api/.env line 3: Laravel", "nothing listens", "wp-config.php line 4: WordPress"] {
        assert!(words.contains(said), "{said}: {words}");
    }
    assert!(!words.contains(MARK), "{words}");
}
