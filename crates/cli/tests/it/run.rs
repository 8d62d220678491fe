//! `run` with programs that know only a host and a port, and with private servers.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;

use looptax_model::dsn::Kind;
use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;

use crate::fixture::{Server, exe, is_there};

fn run(scratch: &Scratch) -> Looptax<'_> {
    Looptax::new(exe(), scratch).args(["run"])
}

/// Returns `run` for the port of only this server, because other servers may run on this machine.
fn run_for<'a>(scratch: &'a Scratch, server: &Server) -> Looptax<'a> {
    run(scratch).args(["--port".to_owned(), server.it.tcp.port().to_string()])
}

/// Returns a program for Redis, which sends its argument as a line and prints the answers.
fn redis_program(server: &Server, words: &str) -> Vec<String> {
    let (ip, port) = (server.it.tcp.ip(), server.it.tcp.port());
    let password = server.password();
    let script =
        format!("exec 3<>/dev/tcp/{ip}/{port}; printf 'AUTH {password}\\r\\n{words}\\r\\nQUIT\\r\\n' >&3; cat <&3");
    ["bash", "-c", &script].map(str::to_owned).to_vec()
}

/// looptax finds the server itself: the server sees a connection over its socket, and the program gets its answer and
/// its exit code.
#[test]
fn redis_is_found_and_sees_its_socket() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let scratch = Scratch::new();
    let moved = run_for(&scratch, &server).args(["--"]).args(redis_program(&server, "CLIENT LIST")).run();
    moved.expect_code(0);
    let socket = format!("addr={}:0 ", server.socket());
    assert!(moved.stdout.contains(&socket), "{}", moved.stdout);
    let tcp = server.it.tcp;
    let pid = server.it.pid;
    let count = format!("looptax: 1 connection moved, 0 left on TCP: {tcp} -> {} (--stats)\n", server.socket());
    assert_eq!(moved.stderr, count);
    // With `-v` the plan is printed first. Without it, nothing is printed about a server that is not used.
    let plan = format!("looptax: {tcp} (redis-server, pid {pid}) -> {}\n", server.socket());
    let told = run_for(&scratch, &server).args(["-v", "--", "true"]).run();
    assert!(told.stderr.contains(&plan), "{}", told.stderr);
    let unused = run_for(&scratch, &server).args(["--", "true"]).run();
    assert_eq!(unused.stderr, "");
    scratch.check_nothing_left();
}

#[test]
fn quiet_leaves_the_program_its_streams() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let scratch = Scratch::new();
    let run = run_for(&scratch, &server).args(["-q", "--", "sh", "-c", "echo out; echo err >&2; exit 7"]).run();
    run.expect_code(7);
    assert_eq!((&*run.stdout, &*run.stderr), ("out\n", "err\n"));
    // `--stats` prints its line even with `-q`.
    let run = run_for(&scratch, &server).args(["-q", "--stats", "--", "true"]).run();
    assert!(run.stderr.contains("0 connections moved, 0 left on TCP\n"), "{}", run.stderr);
}

#[test]
fn r18_a_mapped_socket_of_another_server_is_told() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let scratch = Scratch::new();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let dry = |address: SocketAddr| {
        let map = format!("{address}={}", server.socket());
        let dry = run(&scratch).args(["--dry-run", "--map", &map]).run();
        dry.expect_code(0);
        dry.stdout
    };
    let address = other.local_addr().unwrap();
    let words = format!("belongs to redis-server, pid {}, which does not listen on {address}", server.it.pid);
    let told = dry(address);
    assert!(told.contains(&words), "{told}");
    let own = dry(server.it.tcp);
    assert!(!own.contains("warning"), "{own}");
}

/// Returns a command that runs a statement with MariaDB's own client; the client believes that it uses TCP.
fn mariadb(server: &Server, user: &str, password: &str, sql: &str) -> Vec<String> {
    let port = server.it.tcp.port();
    [
        "mariadb".to_owned(),
        "--no-defaults".to_owned(),
        "--protocol=tcp".to_owned(),
        "-h127.0.0.1".to_owned(),
        format!("-P{port}"),
        format!("-u{user}"),
        format!("-p{password}"),
        "-Nse".to_owned(),
        sql.to_owned(),
    ]
    .to_vec()
}

#[test]
fn mariadb_is_found_and_sees_its_socket() {
    let Some(server) = Server::start(Kind::Mariadb).filter(|_| is_there("mariadb")) else {
        return;
    };
    let scratch = Scratch::new();
    let login = &server.it.login;
    let sql = "SELECT HOST FROM information_schema.processlist WHERE ID = CONNECTION_ID()";
    let program = mariadb(&server, &login.user, server.password(), sql);
    let moved = run_for(&scratch, &server).args(["--stats", "--"]).args(program).run();
    moved.expect_code(0);
    // If the connection used TCP, this would contain a port.
    assert_eq!(moved.stdout, "localhost\n", "{}", moved.stderr);
    let line = format!("{}: 1 moved to {}\n", server.it.tcp, server.socket());
    assert!(moved.stderr.contains(&line), "{}", moved.stderr);
}

/// Expects a line that says that the port stays on TCP, with `words` as the reason.
#[track_caller]
fn stays(run: &Finished, words: &str) {
    let line = run.stderr.lines().find(|line| line.contains(" stays on TCP: "));
    let has = line.is_some_and(|line| line.contains(words));
    assert!(has, "`{words}`: {}", run.stderr);
}

/// looptax learns the account, which exists only at 127.0.0.1, from the URL in the program's environment.
#[test]
fn an_account_at_127_0_0_1_alone_stays_on_tcp() {
    let Some(server) = Server::start(Kind::Mariadb).filter(|_| is_there("mariadb")) else {
        return;
    };
    let scratch = Scratch::new();
    server.talk().execute("CREATE USER 'tcponly'@'127.0.0.1' IDENTIFIED BY 'secret'").unwrap();
    let url = format!("jdbc:mariadb://{}/?user=tcponly&password=secret", server.it.tcp);
    let program = |sql| mariadb(&server, "tcponly", "secret", sql);
    let with_url = |run: Looptax<'_>| {
        run.env("DATABASE_URL", &url).args(["-v", "--"]).args(program("SELECT CURRENT_USER()")).run()
    };
    let known = with_url(run_for(&scratch, &server));
    known.expect_code(0);
    assert_eq!(known.stdout, "tcponly@127.0.0.1\n");
    stays(&known, "`tcponly`: ");
    // With `--no-login`, looptax tries no login and moves the connection, so the program's own login fails.
    let unknown = with_url(run_for(&scratch, &server).args(["--no-login"]));
    unknown.expect_code(1);
    let other = run_for(&scratch, &server).args(["--dry-run", "--login", &url.replace("jdbc:", "")]).run();
    other.expect_code(1);
    assert!(other.stdout.contains("stays on TCP: `tcponly`"), "{}", other.stdout);
}

/// looptax once took a login that fails over both transports for one that works.
#[test]
fn r6_a_login_that_could_not_be_tried_stays_on_tcp() {
    let Some(server) = Server::start(Kind::Mariadb) else {
        return;
    };
    let scratch = Scratch::new();
    server.talk().execute("CREATE USER 'secure'@'%' IDENTIFIED BY 'secret' REQUIRE SSL").unwrap();
    let dry = |login: &str| {
        run_for(&scratch, &server)
            .env("DATABASE_URL", format!("mysql://{login}@{}/", server.it.tcp))
            .args(["--dry-run"])
            .run()
    };
    let open = dry("secure:secret");
    open.expect_code(1);
    assert!(
        open.stdout.contains("stays on TCP: `secure`: the login fails over TCP and over the socket"),
        "{}",
        open.stdout
    );
    // Without the password the refusal means nothing, so looptax must not report that the login works.
    let unknown = dry("secure");
    unknown.expect_code(0);
    assert!(!unknown.stdout.contains("works"), "{}", unknown.stdout);
    // With --login, looptax reports that it could not try the login.
    let asked = format!("mysql://secure@{}/", server.it.tcp);
    let asked = run_for(&scratch, &server).args(["--dry-run", "--login", &asked]).run();
    asked.expect_code(1);
    assert!(asked.stdout.contains("the URL of --login has no password"), "{}", asked.stdout);
}

#[test]
fn a_connection_that_works_is_checked_and_moved() {
    for kind in [Kind::Mariadb, Kind::Mysql, Kind::Postgres, Kind::Redis, Kind::Valkey] {
        let Some(server) = Server::start(kind) else {
            continue;
        };
        let scratch = Scratch::new();
        let run = run_for(&scratch, &server).args(["--dry-run", "--login", &server.url()]).run();
        run.expect_code(0);
        let user = &server.it.login.user;
        let whose = if user.is_empty() { String::new() } else { format!(" of `{user}`") };
        let words = format!("looptax:   the login{whose} works over the socket, too\n");
        assert!(run.stdout.contains(&words), "{kind}: {}", run.stdout);
        assert!(run.stdout.contains(&server.socket()), "{kind}: {}", run.stdout);
    }
}

/// PostgreSQL has no TLS on its socket, so a process that requires TLS stays on TCP.
#[test]
fn whoever_demands_tls_of_postgres_stays_on_tcp() {
    let Some(server) = Server::start(Kind::Postgres) else {
        return;
    };
    let scratch = Scratch::new();
    let port = server.it.tcp.port();
    let dial = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
    let run = |name: &str, value: &str, dial: &str| {
        let map = format!("127.0.0.1:{port}={}", server.socket());
        let only = ["--port".to_owned(), port.to_string()];
        // Without a known connection the server's rules have to allow the move; with --map they do not matter.
        let how = if name == "MAP" { vec!["--map".to_owned(), map] } else { only.to_vec() };
        run(&scratch).args(how).args(["--stats", "-v", "--", "bash", "-c", dial]).env(name, value).run()
    };
    let demanded = run("PGSSLMODE", "require", &dial);
    demanded.expect_code(0);
    assert!(demanded.stderr.contains("0 connections moved"), "{}", demanded.stderr);
    let why = if demanded.stderr.contains("stays on TCP") {
        "pg_hba.conf"
    } else {
        "the program's arguments or environment ask for TLS"
    };
    assert!(demanded.stderr.contains(why), "{}", demanded.stderr);
    let given = run("MAP", "PGSSLMODE=require", &dial);
    assert!(given.stderr.contains("1 connection moved"), "{}", given.stderr);
}

/// Debian's rules for the socket check the system's user.
#[test]
fn rules_that_ask_for_the_system_user_leave_postgres_on_tcp() {
    let Some(server) = Server::start(Kind::Postgres) else {
        return;
    };
    let scratch = Scratch::new();
    let folder = server.it.folder();
    let hba = find(folder, "pg_hba.conf");
    let rules = |local: &str| {
        let text = format!("local all all {local}\nhost all all 127.0.0.1/32 scram-sha-256\n");
        fs::write(&hba, text).unwrap();
        run_for(&scratch, &server).args(["--dry-run"]).run()
    };
    let peer = rules("peer");
    peer.expect_code(1);
    assert!(peer.stdout.contains("over the socket line 1 applies (`local all all peer`)"), "{}", peer.stdout);
    rules("scram-sha-256").expect_code(0);
}

fn find(folder: &std::path::Path, name: &str) -> PathBuf {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.file_name() == *name {
                return entry.path();
            }
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            }
        }
    }
    panic!("no {name}");
}

#[test]
fn a_command_that_is_none_has_the_codes_of_a_shell() {
    let scratch = Scratch::new();
    let map = ["--map", "127.0.0.1:1=/nowhere", "--"];
    for options in [&map[..], &["--port", "1", "--"]] {
        let code = |program: &str, code| {
            let run = run(&scratch).args(options).args([program]).run();
            run.expect_error(code, &["cannot run"]);
        };
        code("/no/such/program", 127);
        code("/etc/passwd", 126);
    }
    run(&scratch).args(["--map", "x", "--", "true"]).run().expect_error(125, &["--map `x`"]);
    run(&scratch).args(["--without", "x", "--", "true"]).run().expect_error(125, &["--without"]);
}

#[test]
fn what_cannot_be_moved_runs_as_it_is_or_not_at_all() {
    let scratch = Scratch::new();
    let map = ["--map", "127.0.0.1:1=/nowhere", "--without", "listener"];
    let plain = run(&scratch).args(map).args(["--", "echo", "hi"]).run();
    plain.expect_code(0);
    assert_eq!(plain.stdout, "hi\n");
    assert!(plain.stderr.contains("looptax moves no connection: the kernel"), "{}", plain.stderr);
    let strict = run(&scratch).args(map).args(["--strict", "--", "echo", "hi"]).run();
    strict.expect_error(125, &["looptax cannot move connections on this machine"]);
    let nothing = run(&scratch).args(["--port", "1", "--strict", "--", "echo", "hi"]).run();
    nothing.expect_error(125, &["looptax sees no server that has both"]);
}
