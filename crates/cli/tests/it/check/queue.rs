//! The queue of the server's socket: what `check` says about a burst of connections is compared with real connections
//! to a stopped server; and where `check` gets the size of the burst from.

use std::fs;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use looptax_testkit::dice::Dice;
use looptax_testkit::patience;
use looptax_testkit::ports::free_address;
use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{number, report};
use crate::application::Group;
use crate::fixture::{Alive, exe, is_root, is_there};

/// These numbers are small; `cargo lab oracle accounts` uses larger ones.
const PAIRS: usize = 8;
const MOST: usize = 60;

/// Starts a Redis that listens on a socket with this backlog; returns its port and the path of its socket.
fn redis(scratch: &Scratch, backlog: usize, before: &str) -> (Alive, u16, PathBuf) {
    let port = free_address().port();
    let socket = scratch.file("r.sock");
    let seen = if before.is_empty() { socket.clone() } else { scratch.file("there/r.sock") };
    let script = format!(
        "{before} exec redis-server --save '' --bind 127.0.0.1 --port {port} --tcp-backlog {backlog} --unixsocket {} \
         --unixsocketperm 777",
        seen.display()
    );
    let words: &[&str] = if before.is_empty() { &["sh"] } else { &["unshare", "--mount", "--net", "sh"] };
    let alive = Alive::spawn(Command::new(words[0]).args(&words[1..]).args(["-c", &script]).stdout(Stdio::null()));
    patience::wait_for("Redis", Duration::from_secs(10), || answered(&socket));
    (alive, port, socket)
}

/// Opens a connection and waits for an answer; then all earlier connections are accepted.
fn answered(socket: &Path) -> Option<UnixStream> {
    let mut connection = UnixStream::connect(socket).ok()?;
    connection.write_all(b"PING\r\n").ok()?;
    connection.read_exact(&mut [0; 7]).ok()?;
    Some(connection)
}

/// Returns how many of `n` connections fail immediately.
pub(crate) fn n_failed(socket: &Path, n: usize) -> usize {
    let address = SocketAddrUnix::new(socket).unwrap();
    let connected = |_| -> Option<OwnedFd> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
        rustix::net::connect(&socket, &address).ok().map(|()| socket)
    };
    let all: Vec<_> = (0..n).map(connected).collect();
    all.iter().filter(|it| it.is_none()).count()
}

#[track_caller]
fn backlog(run: &Finished) -> Value {
    let all: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| run.fail("no JSON"));
    let mut points = all
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|it| it["points"].as_array().unwrap_or_else(|| all.as_array().unwrap()));
    let point = points.find(|it| it["topic"] == "backlog").cloned();
    point.unwrap_or_else(|| run.fail("nothing about the queue"))
}

#[track_caller]
fn check(scratch: &Scratch, args: &[&str], code: &str, words: &[&str]) {
    let run = Looptax::new(exe(), scratch).args(["check", "--json"]).args(args.iter().copied()).run();
    let point = backlog(&run);
    assert_eq!(point["code"], code, "{point}");
    for word in words {
        assert!(point.to_string().contains(word), "{word} in {point}");
    }
}

#[test]
fn r49_check_is_right_of_random_queues() {
    if !is_there("redis-server") {
        return;
    }
    let (pairs, mut dice) = (number("LOOPTAX_PAIRS", PAIRS), Dice::new(number("LOOPTAX_SEED", 20) as u64));
    let mut n_short = 0;
    for _ in 0..pairs {
        let queue = 1 + dice.below(MOST);
        // In half of the cases the number is close to the limit.
        let workers = if dice.below(2) == 0 { 1 + dice.below(MOST) } else { queue + dice.below(4) };
        let scratch = Scratch::new();
        let (server, port, socket) = redis(&scratch, queue, "");
        let url = format!("redis://127.0.0.1:{port}/");
        let run = Looptax::new(exe(), &scratch).args(["check", &url, "-c", &workers.to_string(), "--json"]).run();
        let said = backlog(&run);
        drop(answered(&socket));
        let pid = Pid::from_raw(i32::try_from(server.0.id()).unwrap()).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        let failed = n_failed(&socket, workers);
        kill_process(pid, Signal::CONT).unwrap();
        n_short += usize::from(failed > 0);
        assert_eq!(
            said["outcome"] == "fail",
            failed > 0,
            "{workers} at once, a queue of {queue}, {failed} failed: {said}"
        );
        if failed > 0 {
            assert!(said["what"].as_str().unwrap().contains(&format!("too small for {workers} ")), "{said}");
            assert_eq!(failed, workers - queue - 1);
        }
    }
    report(&format!("{pairs} pairs of workers and queue, the queue too small for {n_short} of them: 0 contradictions"));
}

#[test]
fn a_server_of_another_namespace_is_known_by_its_sockets_file_with_its_own_limit() {
    if !is_root() || !["redis-server", "unshare", "ip"].into_iter().all(is_there) {
        return;
    }
    let scratch = Scratch::new();
    fs::create_dir(scratch.file("there")).unwrap();
    let (here, there) = (scratch.file(""), scratch.file("there"));
    let before = format!(
        "ip link set lo up && mount --bind {} {} && echo 30 > /proc/sys/net/core/somaxconn &&",
        here.display(),
        there.display()
    );
    let (_server, _, socket) = redis(&scratch, 511, &before);
    let url = format!("unix://{}", socket.display());
    check(&scratch, &[&url, "-c", "31"], "backlog-enough", &["31 connections may wait"]);
    check(&scratch, &[&url, "-c", "40"], "backlog-short", &["too small for 40", "somaxconn=40 (now 30)"]);
}

#[test]
fn the_workers_of_php_fpm_are_its_pools_most_children() {
    let pools = [("shop", "backlog-short", "too small for 50 "), ("blog", "backlog-enough", "3 arrive")];
    check_fpm("", &pools, "pm.max_children of pool");
}

#[test]
fn r49_process_max_limits_the_workers_of_php_fpm() {
    check_fpm("process.max = 30\n", &[("shop", "backlog-short", "too small for 30 ")], "process.max of all pools, ");
}

/// Runs pools of 50 and of 3 workers, with more lines in the main file.
fn check_fpm(more: &str, pools: &[(&str, &str, &str)], counted: &str) {
    let program = "php-fpm8.2";
    if !is_there("redis-server") || !is_there(program) {
        return;
    }
    let scratch = Scratch::new();
    let (_server, port, _) = redis(&scratch, 20, "");
    fs::create_dir(scratch.file("pool.d")).unwrap();
    let main = scratch.file("php-fpm.conf");
    let folder = scratch.file("");
    let folder = folder.display().to_string();
    let folder = folder.trim_end_matches('/');
    fs::write(&main, format!("[global]\nerror_log = {folder}/log\n{more}include={folder}/pool.d/*.conf\n")).unwrap();
    let user = if is_root() { "user = www-data\n" } else { "" };
    let pool = |name: &str, n: u32| {
        let text = format!(
            "[{name}]\n{user}listen = {folder}/{name}.sock\npm = dynamic\npm.start_servers = 1\n\
             pm.min_spare_servers = 1\npm.max_spare_servers = 1\npm.max_children = {n} ; in all\n"
        );
        fs::write(scratch.file(&format!("pool.d/{name}.conf")), text).unwrap();
    };
    pool("shop", 50);
    pool("blog", 3);
    // The workers outlive a master that is killed, so the whole group is ended.
    let master = Group::spawn(Command::new(program).arg("-F").arg("-y").arg(&main).stderr(Stdio::null()));
    let url = format!("redis://127.0.0.1:{port}/");
    for (name, code, word) in pools {
        let worker = patience::wait_for("a worker", Duration::from_secs(10), || worker_of(master.pid(), name));
        let file = if more.is_empty() { format!("{folder}/pool.d/{name}.conf") } else { main.display().to_string() };
        // The driver of PHP does not wait if the queue is full: it fails immediately.
        check(&scratch, &[&url, "--pid", &worker], code, &[word, counted, &file]);
    }
}

/// Returns the worker of a pool below a master process, found by the title of its process.
fn worker_of(master: u32, pool: &str) -> Option<String> {
    let children = fs::read_to_string(format!("/proc/{master}/task/{master}/children")).ok()?;
    let is_it = |pid: &&str| {
        let title = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        title.contains(&format!("pool {pool}"))
    };
    children.split_whitespace().find(is_it).map(str::to_owned)
}

#[test]
fn the_workers_of_gunicorn_count_with_their_threads() {
    if !is_there("redis-server") || !is_there("gunicorn") {
        return;
    }
    let scratch = Scratch::new();
    let (_server, port, _) = redis(&scratch, 20, "");
    fs::write(scratch.file("shop.py"), "def app(environ, start):\n    start('200 OK', [])\n    return [b'']\n")
        .unwrap();
    fs::write(scratch.file("gunicorn.conf.py"), "threads = 8  # each\nworkers = 3\n").unwrap();
    let listens = format!("unix:{}", scratch.file("g.sock").display());
    let mut command = Command::new("gunicorn");
    command.args(["--bind", &listens, "shop:app"]).current_dir(scratch.file("")).stderr(Stdio::null());
    let master = Alive::spawn(&mut command);
    let pid = master.0.id();
    let children = patience::wait_for("three workers", Duration::from_secs(20), || {
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
        let children: Vec<String> = children.split_whitespace().map(str::to_owned).collect();
        (children.len() == 3).then_some(children)
    });
    let url = format!("redis://127.0.0.1:{port}/");
    let words = ["too small for 24 ", "8 threads of each of 3 processes"];
    check(&scratch, &[&url, "--pid", &children[0]], "backlog-short", &words);
    check(&scratch, &[&url, "--pid", &pid.to_string()], "backlog-short", &words);
}

#[test]
fn r49_the_workers_of_uwsgi_count_with_their_threads() {
    if !is_there("redis-server") || !is_there("uwsgi") {
        return;
    }
    let scratch = Scratch::new();
    let (_server, port, _) = redis(&scratch, 20, "");
    let socket = scratch.file("u.sock").display().to_string();
    fs::write(
        scratch.file("shop.ini"),
        format!("[uwsgi]\nsocket = {socket}\nmaster = true\nprocesses = 3\nthreads = 8\n"),
    )
    .unwrap();
    for (words, n) in [(&["--ini", "shop.ini"][..], 24), (&["--ini", "shop.ini", "--threads=9"], 27)] {
        let mut command = Command::new("uwsgi");
        command.args(words).current_dir(scratch.file("")).stdout(Stdio::null()).stderr(Stdio::null());
        let master = Alive::spawn(&mut command);
        let pid = master.0.id();
        let child = patience::wait_for("three workers", Duration::from_secs(20), || {
            let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
            let children: Vec<String> = children.split_whitespace().map(str::to_owned).collect();
            (children.len() == 3).then(|| children[0].clone())
        });
        let url = format!("redis://127.0.0.1:{port}/");
        let said = format!("too small for {n} ");
        check(&scratch, &[&url, "--pid", &child], "backlog-short", &[&said, "threads of each of 3 processes"]);
    }
}

/// looptax named the setting, but not the file that has it.
#[test]
fn r49_the_server_s_own_file_is_named_where_a_longer_queue_is_advised() {
    if !is_there("redis-server") {
        return;
    }
    let scratch = Scratch::new();
    let (port, socket, own) = (free_address().port(), scratch.file("r.sock"), scratch.file("redis.conf"));
    let text = format!("port {port}\nbind 127.0.0.1\ntcp-backlog 20\nsave \"\"\nunixsocket {}\n", socket.display());
    fs::write(&own, text + "unixsocketperm 777\n").unwrap();
    let _server = Alive::spawn(Command::new("redis-server").arg(&own).stdout(Stdio::null()));
    patience::wait_for("Redis", Duration::from_secs(10), || answered(&socket));
    let env = scratch.file(".env");
    fs::write(&env, format!("REDIS_URL=redis://127.0.0.1:{port}/0\n")).unwrap();
    let named = format!("the server's own file is {}", own.display());
    check(&scratch, &[&format!("redis://127.0.0.1:{port}"), "-c", "30"], "backlog-short", &[&named]);
    let command = format!("`looptax switch {} {} --restart` also writes this setting", env.display(), own.display());
    check(&scratch, &[env.to_str().unwrap(), "-c", "30"], "backlog-short", &[&named, &command]);
}

#[test]
fn the_pool_of_a_file_and_what_is_open_count() {
    if !is_there("redis-server") {
        return;
    }
    let scratch = Scratch::new();
    let (_server, port, _) = redis(&scratch, 20, "");
    let env = scratch.file(".env");
    let write = |more: &str| fs::write(&env, format!("REDIS_URL=redis://127.0.0.1:{port}/0\n{more}")).unwrap();
    let file = env.to_str().unwrap();
    write("");
    check(&scratch, &[file], "backlog-unknown", &["21 connections may wait", "does not know"]);
    write("REDIS_POOL_SIZE=40\n");
    check(&scratch, &[file], "backlog-short", &["too small for 40 ", "REDIS_POOL_SIZE = 40 (line 2) of one process"]);
    write("");
    let connect = |_| std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    let _open: Vec<_> = (0..30).map(connect).collect();
    check(&scratch, &[file], "backlog-short", &["too small for 30 ", "connections that are open to the server now"]);
}
