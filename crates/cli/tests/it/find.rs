//! `looptax find` with real servers and real connections.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use looptax_model::dsn::Kind;
use looptax_testkit::runner::{Looptax, send};
use looptax_testkit::scratch::Scratch;
use looptax_testkit::{patience, programs};
use rustix::process::Signal;
use serde_json::Value;

use crate::fixture::{Alive, Server, exe, is_installed, is_root, is_there};
use crate::record::{check_all_fit, check_fits};

/// Runs `find` now and returns its result.
#[track_caller]
pub(crate) fn found(scratch: &Scratch) -> Value {
    let run = Looptax::new(exe(), scratch).args(["find", "--json"]).run();
    run.expect_code(0);
    let found = serde_json::from_str(&run.stdout).unwrap();
    check_fits("found", &found);
    found
}

fn server_of(found: &Value, pid: u32) -> Value {
    let servers = found["servers"].as_array().unwrap();
    let found = servers.iter().find(|it| it["pid"] == pid);
    found.unwrap_or_else(|| panic!("no server {pid} in {servers:#?}")).clone()
}

/// Returns `way connections` for each row of a client with this server.
pub(crate) fn ways(found: &Value, client: u32, server: u32) -> Vec<String> {
    let clients = found["clients"].as_array().unwrap().iter();
    let rows = clients.filter(|it| it["pid"] == client && it["server_pid"] == server);
    let mut ways: Vec<String> =
        rows.map(|it| format!("{} {}", it["way"].as_str().unwrap(), it["n_connections"])).collect();
    ways.sort();
    ways
}

fn addresses(server: &Value) -> Vec<&str> {
    let endpoints = server["endpoints"].as_array().unwrap();
    endpoints.iter().map(|it| it["address"].as_str().unwrap()).collect()
}

#[track_caller]
fn check_seen(kind: Kind) {
    let Some(server) = Server::start(kind) else {
        return;
    };
    let scratch = Scratch::new();
    let _open = (
        TcpStream::connect(server.it.tcp).unwrap(),
        TcpStream::connect(server.it.tcp).unwrap(),
        UnixStream::connect(&server.it.socket).unwrap(),
    );
    let found = found(&scratch);
    let seen = server_of(&found, server.it.pid);
    assert_eq!(seen["kind"], kind.name());
    let version = seen["version"].as_str().unwrap();
    assert!(server.it.version.starts_with(version), "{version}");
    let addresses = addresses(&seen);
    assert!(addresses.contains(&&*server.it.tcp.to_string()), "{addresses:?}");
    assert!(addresses.contains(&&*server.socket()), "{addresses:?}");
    let own = std::process::id();
    assert_eq!(ways(&found, own, server.it.pid), ["loopback 2", "unix 1"]);
}

#[test]
fn mariadb_is_seen_with_its_endpoints_and_its_clients() {
    check_seen(Kind::Mariadb);
}

#[test]
fn mysql_is_seen_with_its_endpoints_and_its_clients() {
    check_seen(Kind::Mysql);
}

#[test]
fn valkey_is_seen_with_its_endpoints_and_its_clients() {
    check_seen(Kind::Valkey);
}

#[test]
fn postgres_is_seen_with_its_endpoints_and_its_clients() {
    check_seen(Kind::Postgres);
}

#[test]
fn redis_is_seen_with_its_endpoints_and_its_clients() {
    check_seen(Kind::Redis);
}

#[test]
fn clients_that_wait_for_a_server_that_stands_still_are_its_clients() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let scratch = Scratch::new();
    send(server.it.pid, Signal::STOP);
    let _waiting = (
        TcpStream::connect(server.it.tcp).unwrap(),
        UnixStream::connect(&server.it.socket).unwrap(),
        UnixStream::connect(&server.it.socket).unwrap(),
    );
    let found = found(&scratch);
    send(server.it.pid, Signal::CONT);
    let own = std::process::id();
    assert_eq!(ways(&found, own, server.it.pid), ["loopback 1", "unix 2"]);
}

#[test]
fn memcached_serves_one_transport_per_process_and_is_told_to_need_a_second() {
    let Some(server) = Server::start(Kind::Memcached) else {
        return;
    };
    let scratch = Scratch::new();
    let found = found(&scratch);
    for instance in &server.it.instances {
        let seen = server_of(&found, instance.pid);
        let transport = if instance.tcp.is_some() { "tcp" } else { "unix" };
        assert_eq!(seen["endpoints"][0]["transport"], transport);
        let has_note =
            found["notes"].to_string().contains(&format!("memcached {} can be reached only over TCP", instance.pid));
        assert_eq!(has_note, instance.tcp.is_some());
    }
}

#[test]
fn requests_are_counted_and_cost_what_the_record_says() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let scratch = Scratch::new();
    let record = ["-o", "looptax-1.json", "--placement", "same"];
    let run =
        Looptax::new(exe(), &scratch).args(["compare", "private:redis"]).args(crate::fixture::SHORT).args(record).run();
    run.expect_code(0);
    // This run is so short that it may be inconclusive; its record then says nothing about the cost of other
    // connections. So the test changes the counts in the record.
    let path = scratch.work().join("looptax-1.json");
    let mut record: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for epoch in record["comparisons"][0]["raw"]["epochs"].as_array_mut().unwrap() {
        for slice in epoch["slices"].as_array_mut().unwrap() {
            let times = if slice["arm_idx"] == 0 { 8 } else { 1 };
            for name in ["completions", "requests"] {
                slice[name] = (times * slice[name].as_u64().unwrap()).into();
            }
        }
    }
    fs::remove_file(&path).unwrap();
    serde_json::to_writer(fs::File::create(&path).unwrap(), &record).unwrap();
    // About a thousand requests a second: enough to be seen, however busy the machine is.
    let stop = std::sync::atomic::AtomicBool::new(false);
    let found = std::thread::scope(|scope| {
        scope.spawn(|| {
            use std::io::{Read, Write};
            let mut stream = TcpStream::connect(server.it.tcp).unwrap();
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                // The connection is not logged in, so the server answers with an error; this counts as an answer too.
                stream.write_all(b"PING\r\n").unwrap();
                assert!(stream.read(&mut [0; 256]).unwrap() > 0);
            }
        });
        let found = found(&scratch);
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        found
    });
    let clients = found["clients"].as_array().unwrap();
    let own = clients.iter().find(|it| it["server_pid"] == server.it.pid).unwrap();
    let rate = own["requests_per_s"].as_f64().unwrap();
    assert!(rate > 100.0, "{own:#}");
    let cost = found["cost_sources"][0]["cpu_us_per_request"]["value"].as_f64().unwrap();
    let lost = own["cpu_ms_per_s"]["value"].as_f64().unwrap();
    assert!((lost - rate * cost / 1e3).abs() < 1e-6 * lost.abs().max(1.0), "{lost}");
}

/// Starts a Redis at port 6390 of a separate network namespace; returns it once it can be reached.
fn redis_in_a_network_of_its_own(scratch: &Scratch, socket: &Path) -> Option<Alive> {
    if !is_installed(Kind::Redis) || !is_there("unshare") || !is_there("ip") || !is_root() {
        return None;
    }
    let script = format!(
        "ip link set lo up; exec redis-server --bind 127.0.0.1 --port 6390 --save '' --unixsocket {} --dir {}",
        socket.display(),
        scratch.work().display()
    );
    let server =
        Alive(Command::new("unshare").args(["--net", "sh", "-c", &script]).stdout(Stdio::null()).spawn().unwrap());
    patience::wait_for("the socket", Duration::from_secs(20), || UnixStream::connect(socket).ok());
    Some(server)
}

/// Returns a command that runs `bash` with this script in the network namespace of a process.
fn in_network_of(pid: u32, words: &str) -> Command {
    let mut command = Command::new("nsenter");
    command.args(["--net", "--target", &pid.to_string(), "bash", "-c", words]);
    command
}

#[test]
fn a_server_in_another_network_namespace_is_seen_with_its_clients_there_and_over_its_socket_from_here() {
    let scratch = Scratch::new();
    let socket = scratch.file("redis.sock");
    let Some(server) = redis_in_a_network_of_its_own(&scratch, &socket) else {
        return;
    };
    let pid = server.0.id();
    let _open = UnixStream::connect(&socket).unwrap();
    let client = Alive(
        in_network_of(pid, "exec 3<>/dev/tcp/127.0.0.1/6390; echo up; read -r _")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut client = client;
    let mut up = [0; 3];
    std::io::Read::read_exact(client.0.stdout.as_mut().unwrap(), &mut up).unwrap();
    let found = found(&scratch);
    let seen = server_of(&found, pid);
    assert!(addresses(&seen).contains(&"127.0.0.1:6390"), "{seen:#}\n{:#}", found["notes"]);
    assert_eq!(ways(&found, std::process::id(), pid), ["unix 1"]);
    assert_eq!(ways(&found, client.0.id(), pid), ["loopback 1"]);
}

#[test]
fn a_socket_that_was_deleted_is_told_and_so_is_a_name_that_would_steer_the_terminal() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let scratch = Scratch::new();
    fs::remove_file(&server.it.socket).unwrap();
    // The client has a name that contains control characters of the terminal.
    let copy = scratch.file("\u{1b}[2Jevil");
    programs::copy("/bin/bash", &copy);
    let port = server.it.tcp.port();
    let line = format!("exec 3<>/dev/tcp/127.0.0.1/{port}; echo up; read -r _");
    let mut client =
        Alive(Command::new(&copy).args(["-c", &line]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
    let mut up = [0; 3];
    std::io::Read::read_exact(client.0.stdout.as_mut().unwrap(), &mut up).unwrap();
    let run = Looptax::new(exe(), &scratch).args(["find", "--verbose"]).run();
    run.expect_code(0);
    let text = run.stdout.clone();
    assert!(!text.contains('\u{1b}'), "{text}");
    assert!(text.contains("evil"), "{text}");
    let gone = format!("{} of redis-server {}", server.socket(), server.it.pid);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(&gone), "{text}");
}

#[test]
fn without_root_it_shows_what_it_can_and_says_what_it_cannot() {
    if !is_root() {
        return;
    }
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let scratch = Scratch::new();
    scratch.give_to(65_534);
    let run = Looptax::new(exe(), &scratch).args(["find", "--json"]).uid(65_534).run();
    run.expect_code(0);
    let found: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(server_of(&found, server.it.pid)["kind"], "redis");
    assert!(found["notes"].to_string().contains("run looptax as root"), "{found:#}");
}

/// In the container image, `find` said only that there is no server, although it could see only its own processes.
#[test]
fn r21_a_container_without_servers_says_that_it_sees_only_itself() {
    if !is_root() || !is_there("unshare") {
        return;
    }
    let scratch = Scratch::new();
    let run = Looptax::new("unshare", &scratch)
        .args(["--mount", "--pid", "--fork", "--mount-proc"])
        .args([exe()])
        .args(["find", "--once"])
        .run();
    run.expect_code(0);
    let flat = run.words();
    assert!(flat.contains("only the processes of this container"), "{flat}");
    assert!(flat.contains("--pid=host --net=host"), "{flat}");
}

#[test]
fn a_socket_that_nobody_listens_on_is_told() {
    let scratch = Scratch::new();
    let path = std::path::Path::new("/tmp/mongodb-27017.sock");
    if path.exists() {
        return;
    }
    drop(UnixListener::bind(path).unwrap());
    let found = found(&scratch);
    fs::remove_file(path).unwrap();
    let notes = found["notes"].to_string();
    assert!(notes.contains("no process listens on /tmp/mongodb-27017.sock"), "{notes}");
}

/// Runs `script`, a shell in its own mount namespace that holds a connection over TCP; expects `words` in the output.
#[track_caller]
fn check_hidden(script: &str, words: &str) {
    let Some(server) = Server::start_below(Kind::Redis, "/tmp") else {
        return;
    };
    if !is_root() || !is_there("unshare") {
        return;
    }
    let scratch = Scratch::below(Path::new("/tmp"));
    let socket = server.socket();
    let over = std::path::Path::new(&socket).parent().unwrap().parent().unwrap();
    let script = script
        .replace("OVER", over.to_str().unwrap())
        .replace("TREE", scratch.file("tree").to_str().unwrap())
        .replace("HOLD", &format!("exec 3<>/dev/tcp/127.0.0.1/{}; echo up; read -r _", server.it.tcp.port()));
    let mut client = Alive::spawn(
        Command::new("unshare").args(["--mount", "bash", "-ec", &script]).stdin(Stdio::piped()).stdout(Stdio::piped()),
    );
    let mut up = [0; 3];
    std::io::Read::read_exact(client.0.stdout.as_mut().unwrap(), &mut up).unwrap();
    let notes = found(&scratch)["notes"].to_string();
    let named = format!("{} cannot see the socket {socket}", client.0.id());
    assert!(notes.contains(&named) && notes.contains(words), "{notes}");
}

#[test]
fn a_client_with_a_tmp_of_its_own_is_told_not_to_see_the_socket() {
    check_hidden("mount -t tmpfs none OVER; HOLD", "its own /tmp (PrivateTmp)");
}

#[test]
fn a_client_in_a_chroot_is_told_not_to_see_the_socket() {
    check_hidden(
        "mkdir TREE; for folder in usr bin lib lib64 dev; do [ -e /$folder ] || continue; \
         mkdir TREE/$folder; mount --rbind /$folder TREE/$folder; done; \
         exec chroot TREE /bin/bash -c 'HOLD'",
        "a separate folder tree (chroot)",
    );
}

#[test]
fn a_server_with_a_root_folder_of_its_own_has_the_names_that_are_known_there() {
    if !is_installed(Kind::Redis) || !is_root() || !is_there("unshare") || !is_there("ip") {
        return;
    }
    let scratch = Scratch::below(Path::new("/tmp"));
    let tree = scratch.file("tree");
    let script = "ip link set lo up; hostname shop-box; mkdir -p TREE/etc TREE/data; \
         for folder in usr bin lib lib64 dev proc; do [ -e /$folder ] || continue; \
         mkdir TREE/$folder; mount --rbind /$folder TREE/$folder; done; \
         echo 'shopkeeper:x:52417:52417::/:/bin/sh' > TREE/etc/passwd; \
         chmod 755 TREE TREE/etc; chmod 644 TREE/etc/passwd; chown 52417 TREE/data; \
         exec chroot --userspec=52417:52417 TREE redis-server --bind 127.0.0.1 --port 6391 --save '' --dir /data \
         --unixsocket /data/redis.sock";
    let script = script.replace("TREE", tree.to_str().unwrap());
    let server = Alive(
        Command::new("unshare")
            .args(["--net", "--uts", "--mount", "bash", "-ec", &script])
            .stdout(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let socket = tree.join("data/redis.sock");
    patience::wait_for("the socket", Duration::from_secs(20), || socket.exists().then_some(()));
    let found = found(&scratch);
    let seen = server_of(&found, server.0.id());
    assert_eq!(seen["user"], "shopkeeper", "{seen:#}");
    assert_eq!(seen["home"], "host shop-box", "{seen:#}");
    let run = Looptax::new(exe(), &scratch).args(["find", "--once"]).run();
    run.expect_code(0);
    // If servers of other tests have wide rows, the table leaves this column out.
    let words = run.words();
    assert!(words.contains("host shop-box") || words.contains("left out at this width: where"), "{}", run.stdout);
}

#[test]
fn clients_that_come_and_go_are_counted_by_what_they_leave() {
    let scratch = Scratch::new();
    let socket = scratch.file("redis.sock");
    // The kernel keeps a limited number of closed connections per network namespace, and other tests fill the list of
    // the machine's namespace.
    let Some(server) = redis_in_a_network_of_its_own(&scratch, &socket) else {
        return;
    };
    let pid = server.0.id();
    // The side that closes first keeps the connection for a minute, once the other side has closed it too.
    let come_and_go = "for _ in {1..120}; do exec 3<>/dev/tcp/127.0.0.1/6390 3>&-; done";
    let mut n_closed = 0;
    // Each run of `find` takes a second: there are at most a hundred runs, each with new connections before it.
    let found = patience::wait_for("their ends", Duration::from_secs(1), || {
        assert!(in_network_of(pid, come_and_go).status().unwrap().success());
        let found = found(&scratch);
        n_closed = server_of(&found, pid)["n_closed_last_minute"].as_u64()?;
        (n_closed >= 120).then_some(found)
    });
    let notes = found["notes"].to_string();
    let words = format!("{n_closed} connections over TCP to redis-server {pid} were closed");
    assert!(notes.contains(&words), "{notes}");
}

#[test]
fn r20_a_watch_that_nobody_reads_ends() {
    let scratch = Scratch::new();
    for args in ["find --watch", "find --watch --json", "watch --json --every 1s"] {
        if args.starts_with("watch") && !is_root() {
            continue;
        }
        let command = format!("{} {args} | head -n 1; echo ${{PIPESTATUS[0]}}", exe().display());
        let run = Looptax::new("bash", &scratch).args(["-c", &command]).run();
        let lines: Vec<&str> = run.stdout.lines().collect();
        assert_eq!((lines.len(), lines.last()), (2, Some(&"0")), "{}{}", run.stdout, run.stderr);
        assert_eq!(run.stderr, "", "{args}");
    }
    scratch.check_nothing_left();
}

#[test]
fn r20_a_cost_is_taken_from_an_undecided_record_and_a_hint_names_its_own_server() {
    let scratch = Scratch::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/records");
    let text = fs::read_to_string(folder.join("record.json")).unwrap();
    let mut record: Value = serde_json::from_str(&text).unwrap();
    // In some epochs the arms are exchanged, so that no verdict is possible.
    for epoch_idx in 0..2 {
        let epoch = &mut record["comparisons"][0]["raw"]["epochs"][epoch_idx];
        let order = epoch["order"].as_str().unwrap().chars();
        let swapped: String = order.map(|it| if it == 'b' { 'o' } else { 'b' }).collect();
        epoch["order"] = swapped.into();
        for slice in epoch["slices"].as_array_mut().unwrap() {
            slice["arm_idx"] = (1 - slice["arm_idx"].as_u64().unwrap()).into();
        }
    }
    let write = |record: &Value| {
        let file = fs::File::create(scratch.file("r.json")).unwrap();
        serde_json::to_writer(file, record).unwrap();
    };
    write(&record);
    let find = || Looptax::new(exe(), &scratch).args(["find", "--once", "--record", "r.json", "--json"]);
    let run = find().run();
    run.expect_code(0);
    let found: Value = serde_json::from_str(&run.stdout).unwrap();
    let source = &found["cost_sources"][0];
    assert_eq!((&source["kind"], &source["is_undecided"]), (&"redis".into(), &true.into()));

    for comparison in record["comparisons"].as_array_mut().unwrap() {
        comparison["raw"]["epochs"][0]["slices"][0]["errors"] = 1.into();
    }
    write(&record);
    find().run().expect_error(2, &["was invalid", "looptax compare private:redis"]);
    let run = Looptax::new(exe(), &scratch).args(["find", "--wait"]).run();
    run.expect_code(2);
    assert!(run.stderr.contains("--measure"), "{}", run.stderr);
}

#[test]
fn watching_prints_a_look_a_line_as_json_and_into_no_file() {
    let scratch = Scratch::new();
    let refused = Looptax::new(exe(), &scratch).args(["find", "--watch", "--json=f.json"]).run();
    refused.expect_code(2);
    assert!(refused.stderr.contains("one object per line"), "{}", refused.stderr);
    let mut command = Command::new(exe());
    command.args(["find", "--watch", "--json"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let looks: Vec<Value> = lines.take(2).map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(looks.iter().all(|look| look["rates_over_s"].as_f64() > Some(0.0)), "{looks:?}");
    assert!(looks.iter().all(|look| look["type"] == "found" && look["version"] == 1), "{looks:?}");
    check_all_fit("stream", &looks);
}
