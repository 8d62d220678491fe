//! `looptax find` as an ordinary user, compared with what `ss` shows to root and with what the test has started.
//!
//! Facts that every user may see (port, path, user, connection) are reported, and everything that is reported about a
//! process is true.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use looptax_model::dsn::Kind;
use looptax_testkit::patience;
use looptax_testkit::ports::free_address;
use looptax_testkit::runner::Looptax;
use looptax_testkit::scratch::Scratch;
use looptax_testkit::skips::skip;
use serde_json::Value;

use crate::fixture::{Alive, Server, exe, is_installed, is_root, is_there};

/// The listening sockets that `ss` shows to root: the process and the address of each.
type Listening = BTreeSet<(u32, String)>;

/// Returns the listening sockets of this machine, with their processes.
fn listening() -> Listening {
    let lines = |options: &str| {
        let output = Command::new("ss").arg(options).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let mut found = Listening::new();
    for (text, column) in [(lines("-ltnpH"), 3), (lines("-lxnpH"), 4)] {
        for line in text.lines() {
            let address = line.split_whitespace().nth(column).unwrap();
            // `*:11211` in `ss` means the unspecified address of both families.
            let address = address.replace('*', "[::]");
            for pid in line.split("pid=").skip(1) {
                let pid = pid.split(',').next().unwrap().parse().unwrap();
                found.insert((pid, address.clone()));
            }
        }
    }
    found
}

/// Starts a server as its own user; returns when the server listens on `n_sockets` sockets.
fn start(uid: u32, n_sockets: usize, folder: &Path, words: &[&str]) -> Alive {
    fs::create_dir_all(folder).unwrap();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::chown(folder, Some(uid), Some(uid)).unwrap();
    let server = Alive::spawn(
        Command::new("setpriv")
            .args([format!("--reuid={uid}"), format!("--regid={uid}")])
            .arg("--clear-groups")
            .args(words)
            .current_dir(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null()),
    );
    let pid = server.0.id();
    patience::wait_for("its sockets", Duration::from_secs(20), || {
        let own = listening().into_iter().filter(|(holder, _)| *holder == pid);
        (own.count() == n_sockets).then_some(())
    });
    server
}

/// Returns a port on which no process listens. Another test may take the port; the server then does not start.
fn free_port() -> String {
    free_address().port().to_string()
}

/// Starts a process of `nobody` that keeps a connection open.
fn client(port: &str) -> Alive {
    client_of(&[port])
}

/// Starts such a process with a connection to each of these ports.
fn client_of(ports: &[&str]) -> Alive {
    let connects = ports.iter().zip(3..);
    let connects = connects.map(|(port, fd)| format!("exec {fd}<>/dev/tcp/127.0.0.1/{port}; "));
    let line = format!("{}echo up; read -r _", connects.collect::<String>());
    let mut client = Alive::spawn(
        Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .args(["bash", "-c", &line])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped()),
    );
    let mut up = [0; 3];
    client.0.stdout.as_mut().unwrap().read_exact(&mut up).unwrap();
    client
}

/// Servers in common forms: with their own users, configured by arguments or by a file, one or several per user.
struct Machine {
    servers: Vec<Alive>,
    private: Vec<Server>,
    /// The port of the first server.
    port: String,
}

impl Machine {
    /// Starts the servers; `None` if a tool is missing.
    fn start(scratch: &Scratch, first_uid: u32) -> Option<Self> {
        let has_all = is_root()
            && ["ss", "setpriv", "unshare"].iter().all(|it| is_there(it))
            && is_installed(Kind::Redis)
            && is_installed(Kind::Memcached);
        if !has_all {
            return None;
        }
        let place = |name: &str| scratch.work().join(name);
        let socket = |name: &str| place(name).join("odd.sock").to_str().unwrap().to_owned();
        fs::set_permissions(scratch.work(), fs::Permissions::from_mode(0o755)).unwrap();
        let ports: Vec<String> = (0..3).map(|_| free_port()).collect();
        let config = |name: &str, port: &str| {
            let path = scratch.work().join(format!("{name}.conf"));
            let text =
                format!("bind 127.0.0.1\nport {port}\nsave \"\"\nunixsocket {}\nunixsocketperm 777\n", socket(name));
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let redis = |uid, name: &str, port: &str| {
            let n_sockets = if port == "0" { 1 } else { 2 };
            let words = ["redis-server", &config(name, port)];
            start(uid, n_sockets, &place(name), &words)
        };
        let memcached = |words: &[&str]| start(first_uid + 2, 1, &place("m"), &[&["memcached"], words].concat());
        Some(Self {
            servers: vec![
                // One server that is the only one of its user; and two servers of one user, whose sockets only their
                // folders tell apart.
                redis(first_uid, "a", &ports[0]),
                redis(first_uid + 1, "b", &ports[1]),
                redis(first_uid + 1, "c", "0"),
                memcached(&["-l", "127.0.0.1", "-p", &ports[2]]),
                memcached(&["-s", &socket("m"), "-a", "777"]),
            ],
            private: [Kind::Mariadb, Kind::Postgres].into_iter().filter_map(Server::start).collect(),
            port: ports[0].clone(),
        })
    }

    fn pids(&self) -> Vec<u32> {
        let own = self.servers.iter().map(|it| it.0.id());
        own.chain(self.private.iter().map(|it| it.it.pid)).collect()
    }
}

/// Runs `find` as the user `nobody`; returns its JSON and its text.
fn find(scratch: &Scratch, before: &str) -> (Value, String) {
    let run = |options: &str| {
        let exe = exe().display();
        let line = format!("{before} exec setpriv --reuid=65534 --regid=65534 --clear-groups {exe} find {options}");
        let run = Looptax::new("unshare", scratch).args(["--mount", "sh", "-ec", &line]).run();
        run.expect_code(0);
        run.stdout
    };
    (serde_json::from_str(&run("--once --json")).unwrap(), run("--once --verbose"))
}

fn addresses(list: &Value) -> impl Iterator<Item = String> + '_ {
    let list = list.as_array().unwrap().iter();
    list.map(|it| it["address"].as_str().unwrap().to_owned())
}

/// Compares what `find` reports with the real state of the machine.
#[track_caller]
fn check_true(found: &Value, text: &str, machine: &Machine) {
    let truth = listening();
    let mut named: BTreeSet<String> = addresses(&found["listeners"]).collect();
    for server in found["servers"].as_array().unwrap() {
        let pid = server["pid"].as_u64().unwrap() as u32;
        for address in addresses(&server["endpoints"]) {
            // Servers of other tests may start and end between the two lists.
            if machine.pids().contains(&pid) {
                assert!(truth.contains(&(pid, address.clone())), "{pid} has no {address}: {found:#}");
            }
            named.insert(address);
        }
        let is_ours = machine.servers.iter().any(|it| it.0.id() == pid);
        assert!(!is_ours || server["is_hidden"] == true, "{server:#}");
    }
    for (pid, address) in truth {
        if machine.pids().contains(&pid) {
            assert!(named.contains(&address), "{address} of {pid} is not named: {found:#}");
        }
    }
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for denied in ["no client can be seen", "no database server on this machine", "no client on this machine"] {
        assert!(!flat.contains(denied), "`{denied}`: {text}");
    }
    assert!(flat.contains("root"), "{text}");
    for pid in machine.pids() {
        let own = text.lines().filter(|line| line.contains(&format!(" {pid}")));
        // A server of another test may just be starting, and not listen yet.
        assert!(!own.into_iter().any(|line| line.contains("nothing that looptax sees")), "{text}");
        assert!(!flat.contains(&format!("{pid} can be reached only over TCP")), "{text}");
    }
}

#[test]
fn r20_an_ordinary_user_is_told_every_socket_of_a_server_and_whose_it_is_where_that_follows() {
    let scratch = Scratch::new();
    let Some(machine) = Machine::start(&scratch, 52_000) else {
        return;
    };
    let client = client(&machine.port);
    let port = machine.port.parse().unwrap();
    let _root = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let _unix = UnixStream::connect(scratch.work().join("a/odd.sock")).unwrap();
    let (found, text) = find(&scratch, "");
    check_true(&found, &text, &machine);

    let pid = machine.servers[0].0.id();
    let servers = found["servers"].as_array().unwrap();
    let alone = servers.iter().find(|it| it["pid"] == pid).unwrap();
    assert_eq!(alone["endpoints"].as_array().unwrap().len(), 2, "{alone:#}");
    assert!(text.contains("(by its user and the command line)"), "{text}");
    let clients = found["clients"].as_array().unwrap();
    let of_pid = |client: Option<u32>, user: &str, way: &str| {
        clients.iter().any(|it| {
            it["pid"].as_u64() == client.map(u64::from)
                && it["user"] == user
                && it["way"] == way
                && it["server_pid"] == pid
        })
    };
    assert!(of_pid(Some(client.0.id()), "nobody", "loopback"), "{clients:#?}");
    assert!(of_pid(None, "root", "loopback"), "{clients:#?}");
    assert!(of_pid(None, "root", "unix"), "{clients:#?}");
}

#[test]
fn r20_where_processes_are_not_even_listed_their_sockets_are_still_told() {
    let scratch = Scratch::new();
    let Some(machine) = Machine::start(&scratch, 52_100) else {
        return;
    };
    let client = client(&machine.port);
    for level in [1, 2] {
        let hide = format!("mount -t proc -o hidepid={level} proc /proc;");
        let (found, text) = find(&scratch, &hide);
        assert_eq!(found["sees_all"], false);
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!flat.contains("no database server on this machine"), "{text}");
        assert!(flat.contains("hides the processes of other users"), "{text}");
        // These are servers with a usual name or port, and servers that our own process is connected to.
        let named: BTreeSet<String> = addresses(&found["listeners"]).collect();
        assert!(named.contains(&format!("127.0.0.1:{}", machine.port)), "{found:#}");
        for server in &machine.private {
            let path = server.socket();
            let is_usual =
                [".s.PGSQL.", "mysql", "mariadb"].iter().any(|it| path.rsplit('/').next().unwrap().starts_with(it));
            assert_eq!(named.contains(&path), is_usual, "{path}: {found:#}");
        }
    }
    drop(client);
}

#[test]
fn r20_check_of_ones_own_process_says_what_it_is_connected_to() {
    let scratch = Scratch::new();
    let Some(machine) = Machine::start(&scratch, 52_200) else {
        return;
    };
    let client = client(&machine.port);
    let hide = "mount -t proc -o hidepid=2 proc /proc;";
    let line = |before: &str| {
        format!(
            "{before} exec setpriv --reuid=65534 --regid=65534 --clear-groups {} check {}",
            exe().display(),
            client.0.id()
        )
    };
    let run = |before: &str| Looptax::new("unshare", &scratch).args(["--mount", "sh", "-ec", &line(before)]).run();
    let seen = run("");
    let address = format!("127.0.0.1:{}", machine.port);
    assert!(seen.stdout.contains(&machine.port), "{}{}", seen.stdout, seen.stderr);
    let unseen = run(hide);
    unseen.expect_error(2, &[&address, "52200", "only root can see"]);
}

#[test]
fn r20_run_moves_nothing_that_is_only_inferred() {
    let scratch = Scratch::new();
    let Some(machine) = Machine::start(&scratch, 52_300) else {
        return;
    };
    let run = Looptax::new(exe(), &scratch).args(["run", "--dry-run", "--", "true"]).uid(65_534).run();
    // looptax itself finds nothing to move, but a server of another test may be running.
    assert!(matches!(run.status.code(), Some(0 | 1)), "{:?}", run.status);
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(!said.contains(&machine.port), "{said}");
}

/// Starts two servers of one user that nothing distinguishes; the second one listens at the returned port.
fn start_alike(scratch: &Scratch, uid: u32) -> Option<(Vec<Alive>, String)> {
    let name_of = |idx: usize| scratch.work().join(format!("alike{idx}"));
    let ports: Vec<String> = (0..2).map(|_| free_port()).collect();
    let start = |(idx, port): (usize, &String)| {
        let config = scratch.work().join(format!("alike{idx}.conf"));
        let text = format!("bind 127.0.0.1\nport {port}\nsave \"\"\nset-proc-title no\n");
        fs::write(&config, text).unwrap();
        fs::set_permissions(&config, fs::Permissions::from_mode(0o644)).unwrap();
        start(uid, 1, &name_of(idx), &["redis-server", config.to_str().unwrap()])
    };
    let servers = ports.iter().enumerate().map(start).collect();
    Some((servers, ports.last()?.clone()))
}

#[test]
fn r20_who_pays_is_listed_also_where_nobody_knows_which_server_is_behind_the_port() {
    let scratch = Scratch::new();
    let Some(machine) = Machine::start(&scratch, 52_400) else {
        return;
    };
    let (servers, port) = start_alike(&scratch, 52_410).unwrap();
    let client = client_of(&[&port, &machine.port]);
    for _ in 0..40 {
        let mut short = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
        std::io::Write::write_all(&mut short, b"QUIT\r\n").unwrap();
        let mut answer = Vec::new();
        short.read_to_end(&mut answer).unwrap();
    }
    let (found, text) = find(&scratch, "");

    let address = format!("127.0.0.1:{port}");
    let listeners = found["listeners"].as_array().unwrap();
    let open = { listeners.iter() }.find(|it| it["address"] == address).unwrap();
    let peers = open["clients"].as_array().unwrap();
    let pid = client.0.id();
    assert!(peers.iter().any(|it| it["pid"] == pid), "{open:#}");
    assert!(open["n_closed_last_minute"].as_u64() >= Some(40), "{open:#}");

    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let pays = flat.split("these programs pay the loopback tax").nth(1).unwrap();
    let pids: Vec<u32> = servers.iter().map(|it| it.0.id()).collect();
    let (one, other) = (pids[0].min(pids[1]), pids[0].max(pids[1]));
    let end = format!("{address} of user 52410, may be redis-server {one} or redis-server {other} (by its user)");
    assert!(pays.contains(&end), "`{end}`: {text}");
    assert!(pays.contains(&format!("bash {pid}")), "{text}");
    let note = format!(" to {address} (may be redis-server {one} or redis-server {other}) were closed");
    assert!(flat.contains(&note), "`{note}`: {text}");

    // For a process of the same user, each connection is reported.
    let run = Looptax::new(exe(), &scratch).args(["check", "--pid", &pid.to_string()]).uid(65_534).run();
    let flat = run.words();
    assert!(flat.contains(&format!("127.0.0.1:{}", machine.port)), "{flat}");
    let line = format!("{address} (of user 52410; may be redis-server {one} or redis-server {other})");
    assert!(flat.contains(&line), "`{line}`: {flat}");
    assert!(flat.contains("run looptax as root"), "{flat}");
}

/// The right to read all files is a different right from the right to inspect other processes.
#[test]
fn who_can_list_files_but_not_follow_them_does_not_see_all() {
    let scratch = Scratch::new();
    if !(is_root() && is_there("setpriv")) {
        return skip("not root, or no setpriv");
    }
    let exe = exe().display().to_string();
    let rights = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"];
    let run = Looptax::new("setpriv", &scratch)
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .args(rights)
        .args([&exe, "find", "--once", "--json"])
        .run();
    run.expect_code(0);
    let found: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(found["sees_all"], false, "{found:#}");
}
