//! `looptax check FILE`, `check PID` and `check`, with common configuration files and real servers.

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use looptax_model::dsn::Kind;
use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;
use serde_json::Value;

use crate::fixture::{Server, exe};
use crate::record::check_fits;

fn check(scratch: &Scratch, args: &[&str]) -> Finished {
    Looptax::new(exe(), scratch).args(["check", "-c", "1"]).args(args.iter().copied()).run()
}

/// Writes a file in the scratch folder, and makes its folders.
fn write(scratch: &Scratch, name: &str, text: impl AsRef<[u8]>) -> String {
    let path = scratch.file(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[track_caller]
fn answers(run: &Finished) -> Vec<Value> {
    let answers: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| run.fail("no JSON"));
    check_fits("check", &answers);
    answers.as_array().unwrap().clone()
}

/// Checks the outcome of a topic, and that its texts contain `words`.
#[track_caller]
fn expect(run: &Finished, answer: &Value, topic: &str, outcome: &str, words: &str) {
    let points = answer["points"].as_array().unwrap();
    let found = points.iter().find(|it| it["topic"] == topic);
    let Some(found) = found else { run.fail(&format!("nothing about `{topic}`")) };
    assert_eq!(found["outcome"], outcome, "{found}");
    assert!(found.to_string().contains(words), "{words} in {found}");
}

#[track_caller]
fn expect_silent(run: &Finished, secret: &str) {
    let all = format!("{}{}", run.stdout, run.stderr);
    assert!(!all.contains(secret), "{all}");
}

fn wp_config(server: &Server, host: &str) -> String {
    let login = &server.it.login;
    format!(
        "<?php\n// define('DB_HOST', 'nowhere');\ndefine( 'DB_NAME', '{}' );\ndefine( 'DB_USER', '{}' );\ndefine( 'DB_PASSWORD', '{}' );\n\tdefine( 'DB_HOST', '{host}' );\n$table_prefix = 'wp_';\n",
        login.database.clone().unwrap_or_default(),
        login.user,
        server.password(),
    )
}

#[test]
fn wordpress_is_told_its_line_and_is_on_the_socket_once_that_is_written() {
    let Some(server) = Server::start(Kind::Mariadb) else {
        return;
    };
    let scratch = Scratch::new();
    let path = write(&scratch, "wp-config.php", wp_config(&server, &server.it.tcp.to_string()));
    let run = check(&scratch, &[&path, "--json"]);
    run.expect_code(0);
    let answer = &answers(&run)[0];
    expect(&run, answer, "configuration", "note", "TCP");
    expect(&run, answer, "same server", "pass", "");
    expect(&run, answer, "account", "pass", "");
    let edit = &answer["changes"][0]["edits"][0];
    let after = format!("define( 'DB_HOST', 'localhost:{}' );", server.socket());
    assert_eq!((&edit["line"], &edit["after"]), (&6.into(), &after.clone().into()));
    expect_silent(&run, server.password());

    let run = check(&scratch, &[&path]);
    run.expect_code(0);
    for words in ["WordPress, mysql at 127.0.0.1", "line 6, instead of", &after, "reload PHP-FPM"] {
        assert!(run.stdout.contains(words), "{words} in {}", run.stdout);
    }
    expect_silent(&run, server.password());

    write(&scratch, "wp-config.php", wp_config(&server, &format!("localhost:{}", server.socket())));
    let run = check(&scratch, &[&path]);
    run.expect_code(0);
    // The output is wrapped to the width of a terminal, depending on the length of the scratch folder's name.
    let flat = run.words();
    assert!(flat.contains(": on the socket already"), "{}", run.stdout);
}

#[test]
fn r20_an_application_on_the_socket_whose_login_fails_there_is_not_called_fine() {
    let Some(server) = Server::start(Kind::Mariadb) else {
        return;
    };
    let scratch = Scratch::new();
    let host = format!("localhost:{}", server.socket());
    let right = wp_config(&server, &host);
    let path = write(&scratch, "wp-config.php", right.clone());
    let run = check(&scratch, &[&path]);
    run.expect_code(0);
    assert!(!run.stdout.contains("does not work"), "{}", run.stdout);
    write(&scratch, "wp-config.php", right.replace(server.password(), "another"));
    let run = check(&scratch, &[&path]);
    run.expect_code(1);
    let said = run.words();
    for words in ["on the socket already, and does not work", "Access denied"] {
        assert!(said.contains(words), "{words} in {said}");
    }
}

#[test]
fn a_socket_after_127_0_0_1_is_no_socket() {
    let Some(server) = Server::start(Kind::Mariadb) else {
        return;
    };
    let scratch = Scratch::new();
    let host = format!("127.0.0.1:{}", server.socket());
    let path = write(&scratch, "wp-config.php", wp_config(&server, &host));
    let run = check(&scratch, &[&path, "--json"]);
    expect(&run, &answers(&run)[0], "configuration", "note", "stays on TCP");
}

#[test]
fn laravel_has_two_connections_each_with_its_own_answer() {
    let (Some(sql), Some(redis)) = (Server::start(Kind::Mariadb), Server::start(Kind::Redis)) else {
        return;
    };
    let scratch = Scratch::new();
    let text = format!(
        "APP_KEY=base64:x\nDB_CONNECTION=mysql\nDB_HOST=127.0.0.1\nDB_PORT={}\nDB_USERNAME={}\nDB_PASSWORD=\"wrong-one\"\nREDIS_HOST=127.0.0.1\nREDIS_PASSWORD={}\nREDIS_PORT={}\n",
        sql.it.tcp.port(),
        sql.it.login.user,
        redis.password(),
        redis.it.tcp.port(),
    );
    let path = write(&scratch, ".env", text);
    let run = check(&scratch, &[&path, "--json"]);
    run.expect_code(3);
    let answers = answers(&run);
    assert_eq!(answers.len(), 2);
    expect(&run, &answers[0], "account", "unknown", "fails over TCP and over the socket");
    expect(&run, &answers[1], "login", "pass", "");
    let edits = answers[1]["changes"][0]["edits"].to_string();
    assert!(edits.contains(&format!("REDIS_HOST={}", redis.socket())) && edits.contains("REDIS_PORT=0"), "{edits}");
    for secret in ["wrong-one", redis.password()] {
        expect_silent(&run, secret);
    }
}

#[test]
fn r20_laravels_own_configuration_is_read_with_its_env() {
    let Some(sql) = Server::start(Kind::Mariadb) else {
        return;
    };
    let scratch = Scratch::new();
    write(&scratch, "shop/artisan", "");
    let (port, login) = (sql.it.tcp.port(), &sql.it.login);
    let env = |more: &str| format!("DB_PORT={port}\nDB_USERNAME={}\n{more}", login.user);
    let password = format!("DB_PASSWORD='{}'\n", sql.password());
    write(&scratch, "shop/.env", env(&password));
    let text = "<?php return ['connections' => ['mysql' => [\n'url' => env('DATABASE_URL'),\n\
                'host' => env('DB_HOST', '127.0.0.1'),\n'port' => env('DB_PORT', '3306'),\n\
                'username' => env('DB_USERNAME'),\n'password' => env('DB_PASSWORD', ''),\n\
                'unix_socket' => env('DB_SOCKET', ''),\n]]];\n";
    let path = write(&scratch, "shop/config/database.php", text);
    let run = check(&scratch, &[&path, "--json"]);
    run.expect_code(0);
    let answer = &answers(&run)[0];
    expect(&run, answer, "account", "pass", "with the same rights");
    let edits = answer["changes"][0]["edits"].to_string();
    assert!(edits.contains("DB_SOCKET="), "{edits}");
    // The host in .env overrides the one in the file.
    let elsewhere = env("DATABASE_URL=mysql://u:p@db.example.net/d\n");
    write(&scratch, "shop/.env", elsewhere);
    let run = check(&scratch, &[&path, "--json"]);
    let words = "`db.example.net` is not this machine";
    expect(&run, &answers(&run)[0], "server", "fail", words);
    expect_silent(&run, sql.password());
}

#[test]
fn laravels_own_variables_of_redis_are_the_lines_to_change() {
    let Some(redis) = Server::start(Kind::Redis) else {
        return;
    };
    let (port, password) = (redis.it.tcp.port(), redis.password());
    let scratch = Scratch::new();
    write(&scratch, "shop/artisan", "");
    let config = "<?php return ['redis' => ['client' => env('REDIS_CLIENT', 'predis'), 'default' => [\n\
                  'scheme' => env('REDIS_SCHEME', 'tcp'),\n'path' => env('REDIS_PATH'),\n\
                  'password' => env('REDIS_PASSWORD'),\n'username' => env('REDIS_USERNAME'),\n\
                  'host' => env('REDIS_HOST', 'localhost'),\n'port' => env('REDIS_PORT', 6379),\n]]];\n";
    write(&scratch, "shop/config/database.php", config);
    let login = format!("APP_KEY=x\nREDIS_USERNAME={}\nREDIS_PASSWORD='{password}'\n", redis.it.login.user);
    let before = format!("{login}REDIS_CLIENT=predis\nREDIS_HOST=127.0.0.1\nREDIS_PORT={port}\n");
    let env = write(&scratch, "shop/.env", before);
    let run = check(&scratch, &[&env, "--json"]);
    run.expect_code(0);
    let edits = answers(&run)[0]["changes"][0]["edits"].to_string();
    let [scheme, path] = ["REDIS_SCHEME=unix".to_owned(), format!("REDIS_PATH={}", redis.socket())];
    assert!(edits.contains(&scheme) && edits.contains(&path), "{edits}");
    // Make the changes exactly as printed.
    write(&scratch, "shop/.env", format!("{login}REDIS_CLIENT=predis\n{scheme}\n{path}\n"));
    let run = check(&scratch, &[&env]);
    run.expect_code(0);
    assert!(run.stdout.contains("on the socket already"), "{}", run.stdout);
    expect_silent(&run, password);
}

#[test]
fn what_php_and_mysql_call_their_sockets_is_told_to_nobody_else() {
    let scratch = Scratch::new();
    let django = "DATABASES = {'default': {'ENGINE': 'django.db.backends.postgresql',\n'NAME': 'd', 'USER': 'u',\n\
                  'PASSWORD': 'p', 'HOST': '', 'PORT': '25432'}}\n";
    let rails = "production:\n  adapter: mysql2\n  host: localhost\n  database: d\n  username: u\n";
    let postfix = "hosts = localhost\nuser = u\ndbname = d\nquery = SELECT 1\n";
    let files = [("settings.py", django), ("config/database.yml", rails), ("postfix/mysql-aliases.cf", postfix)];
    for (name, text) in files {
        let path = write(&scratch, name, text);
        let run = check(&scratch, &[&path, "--verbose"]);
        for word in ["mysqli", "pdo_mysql", "php.ini"] {
            assert!(!run.stdout.contains(word), "{name}: {}", run.stdout);
        }
        let own = if name == "settings.py" { "PGHOST" } else { "socket" };
        assert!(run.stdout.contains(own), "{name}: {}", run.stdout);
    }
}

/// A process that does nothing but have an environment; it ends when this value is dropped.
struct Idle(Child);

impl Drop for Idle {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

impl Idle {
    /// Starts a process; `script` prints `up` when the process is ready.
    fn start(scratch: &Scratch, script: &str, environment: &[(&str, &str)]) -> Self {
        let mut child = Command::new("bash")
            .args(["-c", script])
            .current_dir(scratch.tmp())
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut up = [0; 3];
        child.stdout.as_mut().unwrap().read_exact(&mut up).unwrap();
        Self(child)
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

const WAIT: &str = "echo up; read -r _";

#[test]
fn a_password_that_django_takes_from_elsewhere_is_not_guessed_but_found_in_the_process() {
    let Some(server) = Server::start(Kind::Postgres) else {
        return;
    };
    let scratch = Scratch::new();
    let text = format!(
        "import os\nDATABASES = {{\n    'default': {{\n        'ENGINE': 'django.db.backends.postgresql',\n        'NAME': '{}',\n        'USER': '{}',\n        'PASSWORD': os.environ['APP_DB_PASSWORD'],\n        'HOST': '127.0.0.1',\n        'PORT': {},\n    }}\n}}\n",
        server.it.login.database.clone().unwrap_or_default(),
        server.it.login.user,
        server.it.tcp.port(),
    );
    let path = write(&scratch, "settings.py", text);
    let run = check(&scratch, &[&path, "--json"]);
    run.expect_code(3);
    let answer = &answers(&run)[0];
    expect(&run, answer, "account", "unknown", "the environment variable APP_DB_PASSWORD");
    assert_eq!(answer["verdict"], "open");

    let process = Idle::start(&scratch, WAIT, &[("APP_DB_PASSWORD", server.password())]);
    let run = check(&scratch, &[&path, "--pid", &process.pid(), "--json"]);
    let answer = &answers(&run)[0];
    expect(&run, answer, "login", "pass", "");
    let after = answer["changes"][0]["edits"][0]["after"].as_str().unwrap();
    let folder = server.socket();
    let folder = folder.rsplit_once('/').unwrap().0;
    assert_eq!(after, format!("'HOST': '{folder}',"));
    expect_silent(&run, server.password());
}

#[test]
fn a_process_is_asked_for_its_environment_its_files_and_its_connections() {
    let (Some(sql), Some(redis)) = (Server::start(Kind::Mariadb), Server::start(Kind::Redis)) else {
        return;
    };
    let scratch = Scratch::new();
    let folder = scratch.tmp();
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("celeryconfig.py"), "broker_url = 'redis://127.0.0.1:1/0'\n").unwrap();
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{}; echo up; read -r _", redis.it.tcp.port());
    let process = Idle::start(&scratch, &script, &[("DATABASE_URL", &sql.url()), ("NOISE", "a\nREDIS_URL=redis://x")]);
    let run = check(&scratch, &[&process.pid(), "--json"]);
    let answers = answers(&run);
    let of = |source: &str| {
        let found = answers.iter().find(|it| it["source"].as_str().unwrap().contains(source));
        found.unwrap_or_else(|| run.fail(&format!("nothing from {source}")))
    };
    expect(&run, of("the environment of bash"), "account", "pass", "");
    expect(&run, of("celeryconfig.py"), "configuration", "note", "TCP");
    let seen = of("its current connections");
    assert_eq!(seen["place"], redis.it.tcp.to_string());
    expect(&run, seen, "account", "unknown", "not logged in");
    expect_silent(&run, sql.password());
}

#[test]
fn a_check_of_nothing_asks_for_every_program_that_uses_tcp_here() {
    let Some(redis) = Server::start(Kind::Redis) else {
        return;
    };
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.tmp()).unwrap();
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{}; echo up; read -r _", redis.it.tcp.port());
    let process = Idle::start(&scratch, &script, &[]);
    let run = check(&scratch, &["--json"]);
    let answers = answers(&run);
    let source = format!("bash {}: its current connections", process.pid());
    let Some(seen) = answers.iter().find(|it| it["source"] == source) else {
        run.fail(&format!("nothing from {source}"))
    };
    assert_eq!(seen["place"], redis.it.tcp.to_string());
}

/// A check named no next step and listed a passed topic twice; texts next to lines said only "the socket".
#[test]
fn r49_a_file_that_would_work_names_the_switch_and_words_name_the_socket() {
    let Some(redis) = Server::start(Kind::Redis) else {
        return;
    };
    let scratch = Scratch::new();
    let (port, password) = (redis.it.tcp.port(), redis.password());
    let login = format!("APP_KEY=x\nREDIS_USERNAME={}\nREDIS_PASSWORD='{password}'\n", redis.it.login.user);
    let plain = write(&scratch, "my shop/.env", format!("{login}REDIS_HOST=127.0.0.1\nREDIS_PORT={port}\n"));
    let run = check(&scratch, &[&plain]);
    run.expect_code(0);
    let next = format!("next looptax switch '{plain}' shows the lines");
    assert!(run.words().contains(&next), "{}", run.stdout);
    let words = run.words();
    let fine = words.split("fine ").nth(1).and_then(|it| it.split(" (how").next()).unwrap_or_default();
    let topics: Vec<&str> = fine.split(", ").collect();
    assert!(topics.iter().enumerate().all(|(idx, it)| !topics[..idx].contains(it)), "{fine}");
    // `switch` reports the same change.
    let switch = Looptax::new(exe(), &scratch).args(["switch", &plain, "--dry-run"]).run();
    switch.expect_code(0);
    assert!(switch.stdout.contains(&format!("+ REDIS_HOST={}", redis.socket())), "{}", switch.stdout);
    let url = format!("redis://{}:{password}@127.0.0.1:{port}", redis.it.login.user);
    let of_url = write(&scratch, "url/.env", format!("APP_KEY=x\nREDIS_URL={url}\n"));
    let run = check(&scratch, &[&of_url]);
    assert!(run.words().contains(&format!("REDIS_HOST={} and REDIS_PORT=0", redis.socket())), "{}", run.stdout);
    assert!(!run.words().contains("looptax switch"), "nothing is written there: {}", run.stdout);
}

#[test]
fn another_machine_is_told_and_nobody_logs_in_there_or_here() {
    let scratch = Scratch::new();
    let text = "<?php define('DB_HOST', 'db.example.net'); define('DB_USER', 'u'); define('DB_PASSWORD', 'p');";
    let path = write(&scratch, "wp-config.php", text);
    let run = check(&scratch, &[&path, "--json"]);
    run.expect_code(1);
    let answer = &answers(&run)[0];
    expect(&run, answer, "server", "fail", "`db.example.net` is not this machine");
    let topics: Vec<&str> =
        answer["points"].as_array().unwrap().iter().map(|it| it["topic"].as_str().unwrap()).collect();
    assert_eq!(topics, ["configuration", "server"]);
}

#[test]
fn a_service_of_a_compose_file_is_told_to_be_a_container() {
    let scratch = Scratch::new();
    let compose = "services:\n  db:\n    image: mysql:9\n  app:\n    environment:\n      DATABASE_URL: mysql://u:p@db:3306/d\n      REDIS_URL: redis://cache.example.net:6379\n";
    let path = write(&scratch, "compose.yaml", compose);
    let dotenv = write(&scratch, ".env", "DATABASE_URL=postgres://u:p@db:5432/d\n");
    let run = check(&scratch, &[&path, "--json"]);
    run.expect_code(1);
    for (place, words) in [
        ("db:3306", ["compose.yaml has a service", "sockets-db:/var/run/mysqld"]),
        ("cache.example.net:6379", ["is not this machine", "--socket PATH"]),
    ] {
        let answers = answers(&run);
        let answer = answers.iter().find(|it| it["place"] == place);
        let answer = answer.unwrap_or_else(|| run.fail(place));
        for words in words {
            expect(&run, answer, "server", "fail", words);
        }
        assert_eq!(answer["verdict"], "would-not-work");
    }
    let run = check(&scratch, &[&dotenv]);
    run.expect_code(1);
    let text = run.words();
    for words in [
        "`db` is the name of a container: compose.yaml has a service of that name",
        "volumes: ['sockets-db:/var/run/postgresql']",
    ] {
        assert!(text.contains(words), "{text}");
    }
}

/// looptax inspects the machine once for a folder; each file gets the result that it gets in a separate check.
#[test]
fn a_folder_with_several_addresses_is_told_of_each_what_its_file_alone_is_told() {
    let Some(redis) = Server::start(Kind::Redis) else {
        return;
    };
    let unknown = TcpListener::bind("127.0.0.1:0").unwrap();
    let scratch = Scratch::new();
    let listened = unknown.local_addr().unwrap().port();
    let ports = [("a", redis.it.tcp.port()), ("b", listened), ("c", 1), ("d", listened)];
    let files = ports.map(|(name, port)| {
        let text = format!("REDIS_URL=redis://{}:{}@127.0.0.1:{port}/0\n", redis.it.login.user, redis.password());
        write(&scratch, &format!("sites/{name}/.env"), text)
    });
    let folder = scratch.file("sites");
    let whole = check(&scratch, &[folder.to_str().unwrap(), "--json"]);
    let alone: Vec<Value> = files.iter().flat_map(|it| answers(&check(&scratch, &[it, "--json"]))).collect();
    // Servers of other tests may start and end during this test.
    let lasting = |all: &[Value]| -> Vec<Value> {
        let mut all = all.to_vec();
        for point in all.iter_mut().flat_map(|it| it["points"].as_array_mut().unwrap()) {
            point["what"] = point["what"].as_str().unwrap().split("; seen here").next().into();
            point["next"] = Value::Null;
        }
        all
    };
    assert_eq!(lasting(&answers(&whole)), lasting(&alone));
    let own = format!("pid {}", std::process::id());
    expect(&whole, &alone[0], "same server", "pass", "");
    for (idx, outcome, words) in [(1, "unknown", &*own), (2, "fail", "nothing listens"), (3, "unknown", &*own)] {
        expect(&whole, &alone[idx], "server", outcome, words);
    }
}

#[test]
fn a_call_that_has_its_address_counts_in_a_folder_and_variables_that_only_look_like_one_do_not() {
    let scratch = Scratch::new();
    let call = |target: &str| format!("import psycopg2\nshop = psycopg2.connect({target})\n");
    write(&scratch, "tree/app.py", call("host='127.0.0.1', port=1, dbname='shop', user='shop', password='geheim'"));
    write(&scratch, "tree/open.py", call("os.environ['SHOP']"));
    write(&scratch, "tree/words.py", "DB_HOST = '127.0.0.1'\nDB_NAME = 'shop'\nDB_USER = 'shop'\n");
    let run = check(&scratch, &["tree"]);
    run.expect_code(1);
    let lines: Vec<&str> = run.stdout.lines().filter(|it| it.starts_with("tree/")).collect();
    assert_eq!(lines.len(), 1, "{}", run.stdout);
    assert!(lines[0].starts_with("tree/app.py line 2: a Python program with psycopg (shop), postgres at 127.0.0.1:1"));
    let sarif = Looptax::new(exe(), &scratch).args(["check", "tree", "--sarif"]).run();
    sarif.expect_code(0);
    assert!(sarif.stdout.contains("psycopg.connect(host=") && !sarif.stdout.contains("geheim"), "{}", sarif.stdout);
    assert!(sarif.stdout.contains("app.py") && !sarif.stdout.contains("words.py"), "{}", sarif.stdout);
}

#[test]
fn what_holds_no_connection_ends_with_what_was_looked_for() {
    let scratch = Scratch::new();
    let folder = scratch.file("site");
    write(&scratch, "site/wp-config.php", "<?php // nothing\n");
    let expect = |args: &[&str], words: &[&str]| {
        check(&scratch, args).expect_error(2, words);
    };
    let run = check(&scratch, &[folder.to_str().unwrap()]);
    run.expect_code(0);
    assert_eq!(run.stdout, "none of 1 files names a server that looptax knows\n");
    expect(&["site/wp-config.php"], &["no setting that looptax looked for", "DB_HOST"]);
    write(&scratch, "what.ever", "x");
    expect(&["what.ever"], &["no application", "wp-config.php"]);
    expect(&["nothing.there"], &["cannot read"]);
    expect(&["/dev/zero"], &["not an ordinary file"]);
    write(&scratch, ".env", "DB_HOST=127.0.0.1\n".repeat(600_000));
    expect(&[".env"], &["1048576 bytes"]);
    for (args, words) in [
        (&["mysql://u@127.0.0.1", ".env"][..], "several targets have to be files"),
        (&["1", "what.ever"], "several targets have to be files"),
        (&["1", "--user", "root"], "the target is already process 1"),
        (&["1", "--pid", "2"], "the target is already process 1"),
        (&["--as", "laravel"], "TARGET"),
    ] {
        let run = check(&scratch, args);
        run.expect_code(2);
        assert!(run.stderr.contains(words), "{}", run.stderr);
    }
}

#[test]
fn a_file_that_speaks_to_terminals_is_not_heard() {
    let scratch = Scratch::new();
    let text =
        "<?php\n$databases['a\u{1b}]0;evil\u{7}']['b'] = ['host' => '127.0.0.1\u{1b}[2J', 'driver' => 'mysql'];\n";
    let path = write(&scratch, "sites/default/settings.php", text);
    for args in [&[&*path][..], &[&*path, "--json"]] {
        let run = check(&scratch, args);
        let all = format!("{}{}", run.stdout, run.stderr);
        assert!(!all.contains(['\u{1b}', '\u{7}']), "{all:?}");
    }
}

#[test]
fn lines_to_change_are_said_for_servers_that_looptax_does_not_speak_to_once_the_socket_is_named() {
    let scratch = Scratch::new();
    let socket = "/run/some.sock";
    for (name, text, after) in [
        ("uwsgi.ini", "[uwsgi]\nsocket = 127.0.0.1:3031\n", "socket = /run/some.sock"),
        ("nginx.conf", "http {\nserver {\nuwsgi_pass 127.0.0.1:3031;\n}\n}\n", "uwsgi_pass unix:/run/some.sock"),
        (
            ".env",
            "MONGODB_URI=mongodb://u:s%40cret@127.0.0.1/app?w=1&replicaSet=rs\n",
            "MONGODB_URI=mongodb://u:****@%2Frun%2Fsome.sock/app?w=1&replicaSet=rs",
        ),
    ] {
        let file = write(&scratch, name, text);
        let run = check(&scratch, &[&file, "--socket", socket, "--json"]);
        run.expect_code(3);
        let answers = answers(&run);
        let [answer] = &answers[..] else { run.fail("not one connection") };
        expect(&run, answer, "configuration", "unknown", "does not speak the protocol of");
        let edit = &answer["changes"][0]["edits"][0];
        let own = edit["after"].as_str().unwrap_or_default();
        assert!(own.starts_with(after), "{edit}");
        expect_silent(&run, "cret");
        let run = check(&scratch, &[&file, "--json"]);
        assert_eq!(self::answers(&run)[0]["changes"], serde_json::json!([]));
    }
}

#[test]
fn a_server_s_own_file_is_no_reason_to_miss_the_socket_that_it_is_to_make() {
    let scratch = Scratch::new();
    let socket = scratch.file("py.sock");
    let socket = socket.to_str().unwrap();
    for (name, text, line) in [
        ("gunicorn.conf.py", "bind = '127.0.0.1:1'\n", format!("bind = 'unix:{socket}'")),
        ("fpm/pool.d/www.conf", "[www]\nlisten = 127.0.0.1:1\npm.max_children = 5\n", format!("listen = {socket}")),
    ] {
        let path = write(&scratch, name, text);
        let args = [&path, "--socket", socket];
        let run = check(&scratch, &args);
        run.expect_code(3);
        assert!(run.stdout.contains("does not exist yet"), "{}", run.stdout);
        assert!(run.stdout.contains(&line), "{}", run.stdout);
        assert!(!run.stdout.contains("FAIL"), "{}", run.stdout);
    }
}

#[test]
fn files_of_the_web_stack_are_known_by_what_stands_in_them() {
    let scratch = Scratch::new();
    for (name, text, code, words) in [
        (
            "etc/sites-enabled/py",
            "location / { include proxy_params; proxy_pass http://$b; }\n",
            3,
            "variables are set only in its own files",
        ),
        ("etc/pool.d/www.conf", "[www]\nlisten = /nowhere.sock\n", 1, "PHP-FPM (the server itself)"),
        ("nginx.conf", "http { include sites-enabled/*; }\n", 2, "pass each included file separately: sites-enabled/*"),
        ("what", "nothing\n", 2, "pass the application with `--as NAME` (nginx,"),
    ] {
        let path = write(&scratch, name, text);
        let run = check(&scratch, &[&path, "--verbose"]);
        run.expect_code(code);
        let said: Vec<&str> = run.stdout.split_whitespace().chain(run.stderr.split_whitespace()).collect();
        assert!(said.join(" ").contains(words), "{} {}", run.stdout, run.stderr);
    }
}

#[test]
fn nobody_logs_in_to_a_server_of_pages_and_the_path_alone_decides_once_it_is_on_the_socket() {
    let scratch = Scratch::new();
    let socket = scratch.file("app.sock");
    let _unix = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let tcp = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = tcp.local_addr().unwrap().port();
    let socket = socket.to_str().unwrap();
    let site = |to: &str| format!("server {{\n  location / {{\n    proxy_pass http://{to};\n  }}\n}}\n");
    let file = write(&scratch, "nginx.conf", site(&format!("127.0.0.1:{port}/x")));
    let run = check(&scratch, &[&file, "--socket", socket, "--json"]);
    run.expect_code(3);
    let answer = &answers(&run)[0];
    expect(&run, answer, "same server", "unknown", "HTTP has no login");
    expect(&run, answer, "path", "pass", socket);
    let edit = &answer["changes"][0]["edits"][0]["after"];
    assert_eq!(edit, &format!("proxy_pass http://unix:{socket}:/x"));
    let file = write(&scratch, "nginx.conf", site(&format!("unix:{socket}:/x")));
    let run = check(&scratch, &[&file]);
    run.expect_code(0);
}
