//! Obstacles on the path to the socket: permissions, namespaces, queues, and files that are not sockets.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};

use looptax_model::dsn::Kind;
use looptax_testkit::scratch::Scratch;

use super::{check, expect, open_up, url};
use crate::fixture::{Alive, Server, is_root, is_there};

/// The number of the user `nobody` on Debian.
const NOBODY: u32 = 65_534;

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
    expect(&run, "path", "fail", &["search permission", folder.to_str().unwrap()]);
    run.expect_code(1);

    fs::set_permissions(folder, before).unwrap();
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o700)).unwrap();
    let reachable = open_up(folder);
    let run = check(&server, &url(&server), &["--user", "nobody"]);
    expect(&run, "path", "fail", &["write permission on the socket", &socket]);

    chown(&socket, Some(NOBODY), None).unwrap();
    let run = check(&server, &url(&server), &["--user", "nobody"]);
    expect(&run, "path", "pass", &["nobody can connect"]);
    drop(reachable);
}

#[test]
fn a_client_with_a_tmp_of_its_own_does_not_see_the_socket() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    if !is_root() || !is_there("unshare") {
        return;
    }
    // This is like PrivateTmp of systemd: a mount namespace in which another folder hides the folder above the socket's
    // folder.
    let socket = server.socket();
    let over = Path::new(&socket).parent().unwrap().parent().unwrap();
    let script = format!("mount -t tmpfs none {} && echo up && exec sleep 60", over.display());
    let mut client =
        Alive(Command::new("unshare").args(["--mount", "sh", "-c", &script]).stdout(Stdio::piped()).spawn().unwrap());
    let mut up = [0; 3];
    std::io::Read::read_exact(client.0.stdout.as_mut().unwrap(), &mut up).unwrap();
    let run = check(&server, &url(&server), &["--pid", &client.0.id().to_string()]);
    // PrivateTmp can be the cause only below these folders.
    let may_be_private = ["/tmp", "/var/tmp"].iter().any(|it| over.starts_with(it));
    expect(&run, "path", "fail", &["does not see", if may_be_private { "PrivateTmp" } else { "other folders" }]);
    run.expect_code(1);
}

#[test]
fn a_full_queue_is_told_as_the_client_meets_it() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let scratch = Scratch::new();
    let path = scratch.file("full.sock");
    // No process accepts connections on this socket, and its queue is short.
    let listener = rustix::net::socket_with(
        rustix::net::AddressFamily::UNIX,
        rustix::net::SocketType::STREAM,
        // Servers of other tests must not inherit this socket.
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    rustix::net::bind(&listener, &rustix::net::SocketAddrUnix::new(&path).unwrap()).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let _waiting = UnixStream::connect(&path).unwrap();
    let run = check(&server, &url(&server), &["--socket", path.to_str().unwrap()]);
    expect(&run, "path", "fail", &["EAGAIN"]);
}

#[test]
fn a_burst_that_does_not_fit_is_told_with_the_number_that_would() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let run = check(&server, &url(&server), &["-c", "100000"]);
    expect(&run, "backlog", "fail", &["100000", "somaxconn", "tcp-backlog"]);
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
    for (path, words) in
        [(dead, "no process listens"), (file, "is not a socket"), (scratch.file("none"), "does not see")]
    {
        let run = check(&server, &url(&server), &["--socket", path.to_str().unwrap()]);
        expect(&run, "path", "fail", &[words]);
    }
}

#[test]
fn the_loopback_that_counts_is_that_of_the_clients_namespace() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    if !is_root() || !is_there("unshare") || !is_there("ip") {
        return;
    }
    // This client means the 127.0.0.1 of its own network namespace, where no process listens.
    let mut client = Alive::spawn(
        Command::new("unshare")
            .args(["--net", "sh", "-c", "ip link set lo up; echo up; exec sleep 60"])
            .stdout(Stdio::piped()),
    );
    let mut up = [0; 3];
    std::io::Read::read_exact(client.0.stdout.as_mut().unwrap(), &mut up).unwrap();
    let pid = client.0.id().to_string();
    let socket = server.socket();
    let run = check(&server, &url(&server), &["--pid", &pid, "--socket", &socket]);
    expect(&run, "server", "unknown", &[]);
    expect(&run, "path", "pass", &[]);
    expect(&run, "login", "note", &["over TCP", "refused"]);
}
