//! `looptax check`: every obstacle made for real, and named.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};

use looptax_servers::Kind;
use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;
use serde_json::Value;

use crate::fixture::{Alive, Server, exe, is_there};

/// `nobody` on Debian.
const NOBODY: u32 = 65_534;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn check(server: &Server, url: &str, args: &[&str]) -> Finished {
    let scratch = Scratch::new();
    Looptax::new(exe(), &scratch)
        .env("LOOPTAX_PASSWORD", server.password())
        .args(["check", url, "--json"])
        .args(args.iter().copied())
        .run()
}

/// The server's address without its password.
fn url(server: &Server) -> String {
    server
        .url()
        .replace(&format!(":{}@", server.password()), "@")
}

/// The outcome of a topic, and all that is said of it.
#[track_caller]
fn point(run: &Finished, topic: &str) -> (String, String) {
    let points: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| run.fail("no JSON"));
    let found = points
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["topic"] == topic)
        .cloned();
    let Some(found) = found else {
        run.fail(&format!("nothing about `{topic}`"))
    };
    (
        found["outcome"].as_str().unwrap().to_owned(),
        found.to_string(),
    )
}

#[track_caller]
fn expect(run: &Finished, topic: &str, outcome: &str, words: &[&str]) {
    let (found, text) = point(run, topic);
    assert_eq!(found, outcome, "{text}");
    for word in words {
        assert!(text.contains(word), "{word} in {text}");
    }
}

#[test]
fn a_healthy_server_passes_every_point_that_can_be_known() {
    for kind in [Kind::Mariadb, Kind::Postgres, Kind::Redis] {
        let Some(server) = Server::start(kind) else {
            continue;
        };
        let run = check(&server, &url(&server), &["-c", "1"]);
        for topic in ["server", "path", "same server", "backlog"] {
            expect(&run, topic, "pass", &[]);
        }
        run.expect_code(0);
    }
}

#[test]
fn a_folder_that_may_not_be_searched_and_a_socket_that_may_not_be_written_are_named() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    if !is_root() {
        return;
    }
    let socket = server.socket();
    let folder = Path::new(&socket).parent().unwrap();
    let before = fs::metadata(folder).unwrap().permissions();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    let run = check(&server, &url(&server), &["--user", "nobody"]);
    expect(
        &run,
        "path",
        "fail",
        &["search permission", folder.to_str().unwrap()],
    );
    run.expect_code(1);

    fs::set_permissions(folder, before).unwrap();
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o700)).unwrap();
    let reachable = open_up(folder);
    let run = check(&server, &url(&server), &["--user", "nobody"]);
    expect(
        &run,
        "path",
        "fail",
        &["write permission on the socket", &socket],
    );

    chown(&socket, Some(NOBODY), None).unwrap();
    let run = check(&server, &url(&server), &["--user", "nobody"]);
    expect(&run, "path", "pass", &["nobody can connect"]);
    drop(reachable);
}

/// Lets everybody search a folder and those above it, until it is dropped.
struct Searchable(Vec<(std::path::PathBuf, fs::Permissions)>);

fn open_up(folder: &Path) -> Searchable {
    let mut before = Vec::new();
    for folder in folder.ancestors().take_while(|it| *it != Path::new("/")) {
        let permissions = fs::metadata(folder).unwrap().permissions();
        if permissions.mode() & 0o001 == 0 {
            fs::set_permissions(
                folder,
                fs::Permissions::from_mode(permissions.mode() | 0o011),
            )
            .unwrap();
            before.push((folder.to_owned(), permissions));
        }
    }
    Searchable(before)
}

impl Drop for Searchable {
    fn drop(&mut self) {
        for (folder, permissions) in self.0.drain(..) {
            fs::set_permissions(folder, permissions).ok();
        }
    }
}

#[test]
fn a_client_with_a_tmp_of_its_own_does_not_see_the_socket() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    if !is_root() || !is_there("unshare") {
        return;
    }
    // What systemd's PrivateTmp does: a mount namespace with another folder over the one above.
    let socket = server.socket();
    let over = Path::new(&socket).parent().unwrap().parent().unwrap();
    let script = format!(
        "mount -t tmpfs none {} && echo up && exec sleep 60",
        over.display()
    );
    let mut client = Alive(
        Command::new("unshare")
            .args(["--mount", "sh", "-c", &script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut up = [0; 3];
    std::io::Read::read_exact(client.0.stdout.as_mut().unwrap(), &mut up).unwrap();
    let run = check(
        &server,
        &url(&server),
        &["--pid", &client.0.id().to_string()],
    );
    expect(&run, "path", "fail", &["sees no", "PrivateTmp"]);
    run.expect_code(1);
}

#[test]
fn an_account_at_127_0_0_1_alone_is_told_with_the_statements() {
    let Some(server) = Server::start(Kind::Mariadb) else {
        return;
    };
    let mut talk = server.talk();
    // Names are not resolved on private servers, so this account is for TCP alone.
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
        &[
            "narrow",
            "CREATE USER IF NOT EXISTS 'narrow'@'localhost'",
            "GRANT SELECT ON *.* TO 'narrow'@'localhost';",
        ],
    );
    run.expect_code(1);
    assert!(!run.stdout.contains("pw@"), "{}", run.stdout);
    let run = check(&server, &format!("mysql://twice:pw@{address}/"), &[]);
    expect(
        &run,
        "account",
        "fail",
        &[
            "twice@localhost",
            "GRANT SELECT ON *.* TO 'twice'@'localhost';",
        ],
    );
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
            std::io::Write::write_all(
                &mut file,
                format!("local all {user} reject\n{before}").as_bytes(),
            )
        })
        .unwrap();
    let reload = server.column("SELECT 1 WHERE true");
    assert_eq!(reload, ["1"]);
    let run = check(&server, &url(&server), &[]);
    expect(
        &run,
        "pg_hba.conf",
        "fail",
        &["line 1", "reject", "scram-sha-256"],
    );
    run.expect_code(1);
}

#[test]
fn a_full_queue_is_told_as_the_client_meets_it() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let scratch = Scratch::new();
    let path = scratch.file("full.sock");
    // Nobody accepts here, and little may wait.
    let listener = rustix::net::socket_with(
        rustix::net::AddressFamily::UNIX,
        rustix::net::SocketType::STREAM,
        // Servers of other tests must not inherit it.
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    rustix::net::bind(&listener, &rustix::net::SocketAddrUnix::new(&path).unwrap()).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let _waiting = UnixStream::connect(&path).unwrap();
    let run = check(
        &server,
        &url(&server),
        &["--socket", path.to_str().unwrap()],
    );
    expect(&run, "path", "fail", &["EAGAIN"]);
}

#[test]
fn a_burst_that_does_not_fit_is_told_with_the_number_that_would() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let run = check(&server, &url(&server), &["-c", "100000"]);
    expect(
        &run,
        "backlog",
        "fail",
        &["200000", "somaxconn", "tcp-backlog"],
    );
}

#[test]
fn another_server_behind_the_socket_is_told() {
    let (Some(one), Some(two)) = (Server::start(Kind::Redis), Server::start(Kind::Redis)) else {
        return;
    };
    // The second one knows another password, so nobody is asked for one.
    two.redis(&["CONFIG", "SET", "requirepass", one.password()]);
    let run = check(&one, &url(&one), &["--socket", &two.socket()]);
    expect(&run, "same server", "fail", &["two servers"]);
    run.expect_code(1);
}

#[test]
fn a_dead_socket_and_what_is_none_are_told_apart() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let scratch = Scratch::new();
    let (dead, file) = (scratch.file("dead.sock"), scratch.file("file"));
    drop(UnixListener::bind(&dead).unwrap());
    fs::File::create(&file).unwrap();
    for (path, words) in [
        (dead, "nobody listens"),
        (file, "is no socket"),
        (scratch.file("none"), "sees no"),
    ] {
        let run = check(
            &server,
            &url(&server),
            &["--socket", path.to_str().unwrap()],
        );
        expect(&run, "path", "fail", &[words]);
    }
}

#[test]
fn the_login_over_the_socket_is_the_clients_own() {
    let Some(server) = Server::start(Kind::Mariadb) else {
        return;
    };
    if !is_root() {
        return;
    }
    // The plugin asks the kernel who connects: root would be refused.
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
    expect(
        &as_client,
        "same server",
        "pass",
        &["over the socket as nobody"],
    );
    // Two accounts: that is what is wrong, and not the login.
    expect(
        &as_client,
        "account",
        "note",
        &["nobody@localhost", "two accounts"],
    );
    let as_root = check(&server, &url, &[]);
    expect(&as_root, "account", "fail", &["Access denied"]);
}

#[test]
fn tls_that_the_url_or_the_server_demands_is_told() {
    if let Some(server) = Server::start(Kind::Postgres) {
        let url = format!("{}?sslmode=require", url(&server));
        let run = check(&server, &url, &["-c", "1"]);
        expect(&run, "TLS", "unknown", &["sslmode=require", "node-pg"]);
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
    let points: Value = serde_json::from_str(&before.stdout).unwrap();
    let mut points = points.as_array().unwrap().iter();
    let account = points.find(|it| it["topic"] == "account").unwrap();
    let next = account["next"].as_str().unwrap().replace('…', "pw");
    for sql in next.lines().skip(1) {
        talk.execute(sql.trim_end_matches(';')).unwrap();
    }
    let after = check(&server, &url, &["-c", "1"]);
    expect(&after, "account", "note", &["all rights of the second"]);
    after.expect_code(0);
}

#[test]
fn another_machine_is_told_and_nobody_logs_in() {
    let scratch = Scratch::new();
    let run = Looptax::new(exe(), &scratch)
        .args(["check", "mysql://u:pw@203.0.113.9/db", "--json"])
        .run();
    run.expect_code(1);
    expect(&run, "server", "fail", &["is not this machine"]);
    assert!(!run.stdout.contains("account"), "{}", run.stdout);
}

#[test]
fn the_loopback_that_counts_is_that_of_the_clients_namespace() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    if !is_root() || !is_there("unshare") || !is_there("ip") {
        return;
    }
    // It means its own 127.0.0.1, where nobody listens.
    let mut client = Alive::spawn(
        Command::new("unshare")
            .args([
                "--net",
                "sh",
                "-c",
                "ip link set lo up; echo up; exec sleep 60",
            ])
            .stdout(Stdio::piped()),
    );
    let mut up = [0; 3];
    std::io::Read::read_exact(client.0.stdout.as_mut().unwrap(), &mut up).unwrap();
    let pid = client.0.id().to_string();
    let socket = server.socket();
    let run = check(
        &server,
        &url(&server),
        &["--pid", &pid, "--socket", &socket],
    );
    expect(&run, "server", "unknown", &[]);
    expect(&run, "path", "pass", &[]);
    expect(&run, "login", "note", &["over TCP", "refused"]);
}

#[test]
fn a_login_that_fails_over_both_is_not_called_a_yes() {
    let Some(server) = Server::start(Kind::Mariadb) else {
        return;
    };
    let run = check(
        &server,
        &format!("mysql://nobody-there:x@{}/", server.it.tcp),
        &[],
    );
    expect(&run, "account", "unknown", &["fails over both"]);
    run.expect_code(3);
}

#[test]
fn a_port_where_nothing_listens_is_told_without_a_guess() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let scratch = Scratch::new();
    let run = Looptax::new(exe(), &scratch)
        .args(["check", &format!("mysql://u:pw@{address}/"), "--json"])
        .run();
    run.expect_code(1);
    expect(&run, "server", "fail", &["nothing listens"]);
    assert!(!run.stdout.contains("/run/mysqld"), "{}", run.stdout);
}

#[test]
fn a_configuration_on_a_socket_that_is_gone_does_not_pass() {
    let scratch = Scratch::new();
    let file = scratch.file("wp-config.php");
    let php = "<?php\ndefine( 'DB_NAME', 'd' );\ndefine( 'DB_USER', 'u' );\n\
               define( 'DB_PASSWORD', 'pw' );\ndefine( 'DB_HOST', 'localhost:/gone/my.sock' );\n";
    fs::File::create(&file)
        .and_then(|mut file| std::io::Write::write_all(&mut file, php.as_bytes()))
        .unwrap();
    let run = Looptax::new(exe(), &scratch)
        .args(["check", "--app", file.to_str().unwrap()])
        .run();
    run.expect_code(1);
    assert!(run.stdout.contains("sees no `/gone`"), "{}", run.stdout);
}

#[test]
fn a_process_on_the_socket_is_told_to_be_there_already() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    if !is_there("perl") {
        return;
    }
    let scratch = Scratch::new();
    let script = "use IO::Socket::UNIX; \
                  my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die; \
                  $| = 1; print \"up\\n\"; <STDIN>";
    let mut client = Alive::spawn(
        Command::new("perl")
            .args(["-e", script, &server.socket()])
            .current_dir(scratch.work())
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped()),
    );
    let mut up = [0; 3];
    std::io::Read::read_exact(client.0.stdout.as_mut().unwrap(), &mut up).unwrap();
    let run = Looptax::new(exe(), &scratch)
        .args(["check", "--pid", &client.0.id().to_string()])
        .run();
    run.expect_code(0);
    assert!(
        run.stdout.contains("on the socket already"),
        "{}",
        run.stdout
    );
}
