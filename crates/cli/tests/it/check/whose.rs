//! Which machine the addresses in a file refer to: containers, systemd units, templates, and addresses that name a
//! socket.

use std::fs;

use looptax_model::dsn::Kind;
use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;
use serde_json::Value;

use crate::fixture::{Server, exe, is_root, is_there, run_in_own_network};
use crate::record::check_fits;

fn looptax<'a>(scratch: &'a Scratch, args: &[&str]) -> Looptax<'a> {
    Looptax::new(exe(), scratch).args(args.iter().copied()).env("XDG_DATA_HOME", scratch.file("data"))
}

fn write(scratch: &Scratch, name: &str, text: &str) -> String {
    let path = scratch.file(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Returns the verdict on the only connection in a file.
#[track_caller]
fn verdict(run: &Finished) -> String {
    let answers: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| run.fail("no JSON"));
    check_fits("check", &answers);
    assert_eq!(answers.as_array().unwrap().len(), 1, "{answers}");
    answers[0]["verdict"].as_str().unwrap().to_owned()
}

/// Returns the number of connections that a Redis server has accepted so far, including the one for this query.
fn n_taken(server: &Server) -> u64 {
    let stats = server.redis(&["INFO", "stats"]);
    let line = stats.lines().find_map(|it| it.strip_prefix("total_connections_received:"));
    line.unwrap().trim().parse().unwrap()
}

/// Returns files that describe containers whose application uses a Redis at this URL.
fn containers(url: &str) -> Vec<(&'static str, String)> {
    vec![
        (
            "docker-compose.yml",
            format!("services:\n  app:\n    image: shop\n    environment:\n      REDIS_URL: {url}\n"),
        ),
        (
            "shop.yaml",
            format!(
                "apiVersion: v1\nkind: Pod\nmetadata:\n  name: shop\nspec:\n  containers:\n  - name: app\n    image: shop\n    env:\n    - name: REDIS_URL\n      value: {url}\n"
            ),
        ),
        ("shop.container", format!("[Container]\nImage=shop\nEnvironment=REDIS_URL={url}\n")),
        (
            "config.json",
            format!(
                "{{\"ociVersion\": \"1.0.2\", \"process\": {{\"env\": [\"REDIS_URL={url}\"]}}, \"linux\": {{\"namespaces\": [{{\"type\": \"network\"}}]}}}}\n"
            ),
        ),
        ("shop.service", format!("[Service]\nUser=root\nPrivateNetwork=yes\nEnvironment=REDIS_URL={url}\n")),
    ]
}

#[test]
fn a_containers_loopback_is_not_asked_and_its_file_is_not_written() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    for (name, text) in containers(&server.url()) {
        let scratch = Scratch::new();
        let path = write(&scratch, name, &text);
        let before = n_taken(&server);
        let run = looptax(&scratch, &["check", &path, "--json"]).run();
        assert_eq!(verdict(&run), "open", "{name}: {}", run.stdout);
        run.expect_code(3);
        assert!(run.stdout.contains("loopback-of-container"), "{name}: {}", run.stdout);
        assert!(run.stdout.contains("not this machine"), "{name}: {}", run.stdout);
        let switched = looptax(&scratch, &["switch", &path, "--yes", "--within", "1"]).run();
        assert!(switched.status.code() != Some(0), "{name}: {}", switched.stdout);
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "{name}");
        assert_eq!(n_taken(&server), before + 1, "{name}: somebody connected");
        let all = [run.stdout, run.stderr, switched.stdout, switched.stderr].concat();
        assert!(!all.contains(server.password()), "{name}: {all}");
    }
}

#[test]
fn a_container_in_the_machines_network_needs_the_volume_of_the_sockets_folder() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let scratch = Scratch::new();
    let text = |volumes: &str| {
        format!(
            "services:\n  app:\n    image: shop\n    network_mode: host\n{volumes}    environment:\n      REDIS_URL: {}\n",
            server.url()
        )
    };
    let check = |volumes: &str| {
        let path = write(&scratch, "compose.yaml", &text(volumes));
        looptax(&scratch, &["check", &path, "--json", "-c", "1"]).run()
    };
    let socket = server.socket();
    let folder = socket.rsplit_once('/').unwrap().0;
    let run = check("");
    assert_eq!(verdict(&run), "would-not-work", "{}", run.stdout);
    for words in ["folder-not-in-container", &format!("- {folder}:{folder}")] {
        assert!(run.stdout.contains(words), "{words} in {}", run.stdout);
    }
    assert!(!run.stdout.contains("socket-reachable"), "{}", run.stdout);
    let run = check(&format!("    volumes: ['{folder}:{folder}']\n"));
    assert_eq!(verdict(&run), "would-work", "{}", run.stdout);
    run.expect_code(0);
    let run = check(&format!("    volumes: ['{folder}:/sockets']\n"));
    assert_eq!(verdict(&run), "open", "{}", run.stdout);
    assert!(run.stdout.contains("/sockets/"), "{}", run.stdout);
}

#[test]
fn a_sockets_path_in_a_container_is_looked_for_where_it_is_mounted_from() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let scratch = Scratch::new();
    let socket = server.socket();
    let (folder, name) = socket.rsplit_once('/').unwrap();
    let check = |volume: &str, socket: &str| {
        let volumes = if volume.is_empty() { String::new() } else { format!("    volumes: ['{volume}']\n") };
        let text = format!(
            "services:\n  app:\n    image: shop\n{volumes}    environment:\n      REDIS_URL: unix://:{}@{socket}\n",
            server.password()
        );
        let path = write(&scratch, "compose.yaml", &text);
        looptax(&scratch, &["check", &path, "--json"]).run()
    };
    let run = check(&format!("{folder}:/sockets:ro"), &format!("/sockets/{name}"));
    assert_eq!(verdict(&run), "already-there", "{}", run.stdout);
    assert!(run.stdout.contains("the login works over the socket"), "{}", run.stdout);
    // The same path on this machine is not the path in the container.
    let run = check("", &socket);
    assert_eq!(verdict(&run), "open", "{}", run.stdout);
    assert!(run.stdout.contains("socket-in-container"), "{}", run.stdout);
    run.expect_code(3);
}

#[test]
fn what_a_template_leaves_open_is_open() {
    let scratch = Scratch::new();
    let path = write(
        &scratch,
        ".env",
        "APP_KEY=x\nDB_CONNECTION=mysql\nDB_HOST=127.0.0.1\nDB_PORT=__PORT__\nDB_USERNAME=u\nDB_PASSWORD=p\n",
    );
    let run = looptax(&scratch, &["check", &path, "--json"]).run();
    assert_eq!(verdict(&run), "open", "{}", run.stdout);
    assert!(run.stdout.contains("placeholder"), "{}", run.stdout);
    assert!(!run.stdout.contains("nothing-listens"), "{}", run.stdout);
}

fn unit(server: &Server, more: &str) -> String {
    format!("[Service]\n{more}Environment=\"REDIS_URL={}\"\nExecStart=/usr/bin/gunicorn shop.wsgi\n", server.url())
}

#[test]
fn a_unit_that_may_not_open_unix_sockets_is_told_its_own_line() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let lines = "RestrictAddressFamilies=AF_INET AF_INET6\n";
    let path = write(&scratch, "shop.service", &unit(&server, lines));
    let run = looptax(&scratch, &["check", &path]).run();
    run.expect_code(1);
    let words = run.words();
    for part in ["would not work as things are", "RestrictAddressFamilies=AF_INET AF_INET6", "add AF_UNIX"] {
        assert!(words.contains(part), "{part} in {words}");
    }
    let switched = looptax(&scratch, &["switch", &path, "--yes", "--within", "1"]).run();
    assert_ne!(switched.status.code(), Some(0));
    assert_eq!(fs::read_to_string(&path).unwrap(), unit(&server, lines));
    // A drop-in file for the unit allows sockets again.
    write(&scratch, "shop.service.d/sockets.conf", "[Service]\nRestrictAddressFamilies=AF_UNIX\n");
    let run = looptax(&scratch, &["check", &path, "-c", "1", "--json"]).run();
    assert_eq!(verdict(&run), "would-work", "{}", run.stdout);
}

#[test]
fn a_units_user_is_the_client() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let path = write(&scratch, "shop.service", &unit(&server, "User=nobody\n"));
    let run = looptax(&scratch, &["check", &path, "--verbose"]).run();
    run.expect_code(1);
    let words = run.words();
    assert!(words.contains("nobody (User= of the unit) has no"), "{words}");
    assert!(!words.contains("root, which may reach sockets"), "{words}");
    let path = write(&scratch, "other.service", &unit(&server, "User=nobody-there\n"));
    let run = looptax(&scratch, &["check", &path, "--json"]).run();
    assert_eq!(verdict(&run), "open", "{}", run.stdout);
    assert!(run.stdout.contains("unit-user-unknown"), "{}", run.stdout);
}

#[test]
fn an_address_that_names_a_socket_is_there_already() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let scratch = Scratch::new();
    let socket = server.socket();
    let check = |dsn: &str, password: &str| {
        looptax(&scratch, &["check", dsn, "--json"]).env("LOOPTAX_PASSWORD", password).run()
    };
    for dsn in [format!("unix://{socket}"), format!("redis+socket://{socket}?virtual_host=0")] {
        let run = check(&dsn, server.password());
        run.expect_code(0);
        for words in ["takes-socket", "the login works over the socket"] {
            assert!(run.stdout.contains(words), "{words} in {}", run.stdout);
        }
        assert!(!run.stdout.contains("same server"), "{}", run.stdout);
    }
    let run = check(&format!("unix://{socket}"), "another");
    run.expect_code(1);
    let run =
        looptax(&scratch, &["check", &format!("unix://{socket}")]).env("LOOPTAX_PASSWORD", server.password()).run();
    assert!(run.words().starts_with("on the socket already"), "{}", run.stdout);
}

#[test]
fn the_words_of_other_drivers_are_addresses_too() {
    let Some(server) = Server::start(Kind::Mariadb) else {
        return;
    };
    let scratch = Scratch::new();
    let (socket, login) = (server.socket(), &server.it.login);
    let database = login.database.clone().unwrap_or_default();
    for dsn in [
        format!("mysql://{}@localhost/{database}?unix_socket={socket}", login.user),
        format!("jdbc:mariadb://localhost/{database}?localSocket={socket}&user={}", login.user),
        format!("mysql:unix_socket={socket};dbname={database};user={}", login.user),
    ] {
        let run = looptax(&scratch, &["check", &dsn]).env("LOOPTAX_PASSWORD", server.password()).run();
        run.expect_code(0);
        assert!(run.words().starts_with("on the socket already"), "{dsn}: {}", run.stdout);
    }
    let go = format!("{}:{}@unix({socket})/{database}", login.user, server.password());
    let run = looptax(&scratch, &["check", &go]).run();
    run.expect_code(0);
    assert!(!run.stdout.contains(server.password()), "{}", run.stdout);
    let go = format!("{}:{}@tcp({})/{database}", login.user, server.password(), server.it.tcp);
    let run = looptax(&scratch, &["check", &go, "-c", "1"]).run();
    run.expect_code(0);
    assert!(!run.stdout.contains(server.password()), "{}", run.stdout);
}

#[test]
fn another_port_of_postgres_is_told_before_any_theory() {
    let Some(server) = Server::start(Kind::Postgres) else {
        return;
    };
    let scratch = Scratch::new();
    let socket = server.socket();
    let folder = socket.rsplit_once('/').unwrap().0;
    let port = server.it.tcp.port();
    let dsn = format!("postgres://u@/d?host={folder}&port=1");
    let run = looptax(&scratch, &["check", &dsn]).env("LOOPTAX_PASSWORD", "x").run();
    run.expect_code(1);
    let words = run.words();
    for part in [&format!("`.s.PGSQL.{port}`"), "no process on this machine listens", &format!("write port {port}")] {
        assert!(words.contains(part), "{part} in {words}");
    }
    assert!(!words.contains("PrivateTmp"), "{words}");
}

#[test]
fn a_server_in_another_network_is_named_with_it() {
    let scratch = Scratch::new();
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let at = server.it.tcp;
    // No process listens in that network namespace; the server that looptax sees is in another one.
    let script = format!("exec {} check redis://{at} --json", exe().display());
    let Some(run) = run_in_own_network(&scratch, &script) else {
        return;
    };
    assert!(run.stdout.contains("nothing-listens"), "{}", run.stdout);
    let near = format!("redis-server at {at}\"");
    assert!(!run.stdout.contains(&near), "{}", run.stdout);
    let far = format!("redis-server at {at} in another network namespace");
    assert!(run.stdout.contains(&far), "{}", run.stdout);
}

#[test]
fn localhost_with_a_port_is_told_whose_socket_it_is() {
    let (Some(one), Some(two)) = (Server::start(Kind::Mariadb), Server::start(Kind::Mariadb)) else {
        return;
    };
    if !is_root() || !is_there("unshare") {
        return;
    }
    let scratch = Scratch::new();
    let login = &one.it.login;
    let path = write(
        &scratch,
        "config/database.yml",
        &format!(
            "development:\n  adapter: mysql2\n  host: localhost\n  port: {}\n  database: {}\n  username: {}\n  password: {}\n",
            one.it.tcp.port(),
            login.database.clone().unwrap_or_default(),
            login.user,
            one.password()
        ),
    );
    let script = format!(
        "mkdir -p /run/mysqld && mount -t tmpfs none /run/mysqld && ln -s {} /run/mysqld/mysqld.sock && exec {} check {path}",
        two.socket(),
        exe().display()
    );
    let run = Looptax::new("unshare", &scratch).args(["--mount", "bash", "-c", &script]).run();
    let words = run.words();
    let part = format!("with localhost the driver ignores port {}", one.it.tcp.port());
    for part in [&part, &format!("pid {}, port {}", pid_of(&two), two.it.tcp.port())] {
        assert!(words.contains(&**part), "{part} in {words}");
    }
    assert_ne!(run.status.code(), Some(0));
}

fn pid_of(server: &Server) -> u32 {
    server
        .column("SELECT @@pid_file")
        .first()
        .map_or(0, |path| fs::read_to_string(path).unwrap().trim().parse().unwrap())
}

#[test]
fn a_strangers_manifest_above_a_file_does_not_say_whose_it_is() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let file = write(&scratch, "app/.env", "DATABASE_URL=postgres://u:p@127.0.0.1:5432/d\n");
    let manifest = write(&scratch, "package.json", "{\"dependencies\": {\"pg\": \"8\"}}\n");
    let first_line = || {
        let run = looptax(&scratch, &["check", &file]).run();
        run.stdout.lines().next().unwrap_or_default().to_owned()
    };
    assert!(first_line().contains("Node (pg), postgres"), "{}", first_line());
    std::os::unix::fs::chown(&manifest, Some(12_345), Some(12_345)).unwrap();
    assert!(first_line().contains(" or "), "{}", first_line());
}
