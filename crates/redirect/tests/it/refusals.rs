//! In any case of doubt a connection stays on TCP, and the reason is counted.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::thread;

use libtest_mimic::Trial;

use crate::server::Server;
use crate::supervise::Run;
use crate::{raw, trial};

pub(crate) const NOBODY: u32 = 65_534;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a_missing_socket_leaves_it_on_tcp", missing),
        trial("a_socket_that_nobody_listens_on_leaves_it_on_tcp", stale),
        trial("a_socket_of_another_user_than_the_server_s_leaves_it_on_tcp", stranger),
        trial("a_port_of_its_own_choice_leaves_it_on_tcp", bound),
        trial("r18_an_address_of_its_own_choice_leaves_it_on_tcp", || {
            like_plain("bound-later", "Bound:1");
        }),
        trial("words_that_demand_it_leave_it_on_tcp", demanded),
        trial("r18_a_socket_that_another_process_holds_stays_on_tcp", || {
            like_plain("shared-before", "Shared:1");
            like_plain("vfork", "Shared:1");
        }),
        trial("r18_what_a_program_forbids_itself_it_does_not_get", || {
            like_plain_but("fenced", 1, "Confined:1");
            like_plain_but("filtered", 1, "");
            let server = Server::start();
            let run = Run::client(&["other-filters", &server.tcp.to_string()]);
            let done = run.route(server.tcp, &server.socket).run().good();
            done.expect_counts(1, "Confined:1");
            assert!(done.stdout.contains("way unix"), "{done:#?}");
        }),
        trial("r18_options_that_a_unix_socket_cannot_have_leave_it_on_tcp", || {
            like_plain("own-signals", "Option:1");
            like_plain("without-copy", "Option:1");
        }),
        trial("r18_a_port_on_no_address_leaves_it_on_tcp", || {
            like_plain("port-alone", "Bound:1");
        }),
        trial("r18_a_file_that_a_ring_holds_leaves_it_on_tcp", || {
            like_plain("ring", "Ring:1");
        }),
        trial("r18_a_watch_that_cannot_be_renewed_leaves_it_on_tcp", watched),
        trial("another_network_namespace_is_left_alone", other_network),
        trial("another_user_namespace_stays_on_tcp", other_users),
        trial("other_mounts_show_the_program_its_own_socket_or_none", other_mounts),
        trial("a_full_queue_is_waited_for_and_then_left", full),
        trial("a_socket_it_may_not_use_leaves_it_on_tcp", denied),
        trial("a_user_is_who_it_is_under_a_supervisor_of_root", account),
        trial("a_program_that_gives_up_its_rights_has_given_them_up", dropped),
        trial("groups_are_those_of_the_program", groups),
        trial("root_without_its_rights_gets_no_more_than_it_has", fewer_rights),
        trial("an_unprivileged_supervisor_moves_its_own", unprivileged),
    ]
}

pub(crate) fn is_root() -> bool {
    let is_root = unsafe { libc::geteuid() } == 0;
    if !is_root {
        looptax_testkit::skips::skip("needs root");
    }
    is_root
}

fn blocking(server: &Server) -> Run {
    Run::client(&["blocking", &server.tcp.to_string()])
}

#[track_caller]
fn stays(run: &Run, left: &str) {
    let done = run.run().good();
    done.expect_counts(0, left);
    assert!(done.stdout.contains("way tcp"), "{done:#?}");
}

fn missing() {
    let server = Server::start();
    let nowhere = server.folder.path().join("nothing");
    stays(&blocking(&server).route(server.tcp, &nowhere), "NoSocket:1");
}

fn stale() {
    let server = Server::start();
    let old = server.folder.path().join("old");
    drop(UnixListener::bind(&old).unwrap());
    stays(&blocking(&server).route(server.tcp, &old), "Refused:1");
}

fn stranger() {
    let server = Server::start();
    // SAFETY: the call has no arguments and cannot fail.
    let own = unsafe { libc::geteuid() };
    let run = |uid, bound| blocking(&server).route_of(uid, bound, server.tcp, &server.socket);
    run(own, &server.socket).run().good().expect_counts(1, "");
    // The right user, but the name of another server.
    stays(&run(own, server.folder.path()), "Stranger:1");
    if !is_root() {
        return stays(&run(own + 1, &server.socket), "Stranger:1");
    }
    run(NOBODY, &server.socket).run().good().expect_counts(1, "");
    let theirs = server.folder.path().join("theirs");
    let listening = theirs.clone();
    let listen = move || {
        // SAFETY: only numbers are passed; the call changes only this thread, which ends after it.
        let changed = unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, 0) };
        assert_eq!(changed, 0);
        UnixListener::bind(listening).unwrap()
    };
    fs::set_permissions(server.folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let _theirs = thread::spawn(listen).join().unwrap();
    stays(&blocking(&server).route_of(0, &theirs, server.tcp, &theirs), "Stranger:1");
}

fn bound() {
    let server = Server::start();
    let run = Run::client(&["bound", &server.tcp.to_string()]);
    let run = run.route(server.tcp, &server.socket);
    let plain = run.clone().plain().run().good();
    assert_eq!(run.run().good().stdout, plain.stdout);
    stays(&run, "Bound:1");
}

/// Checks that the program gets the same results as without looptax, over TCP.
#[track_caller]
fn like_plain(case: &str, left: &str) {
    like_plain_but(case, 0, left);
}

/// Like [`like_plain`], but `n_moved` earlier connections of the case are moved.
#[track_caller]
fn like_plain_but(case: &str, n_moved: u64, left: &str) {
    let server = Server::start();
    let run = Run::client(&[case, &server.tcp.to_string()]);
    let run = run.route(server.tcp, &server.socket);
    let plain = run.clone().plain().run().good();
    let done = run.run().good();
    assert_eq!(done.stdout, plain.stdout);
    done.expect_counts(n_moved, left);
}

/// Setting the watches needs another thread, which the limit of processes does not allow in this case.
fn watched() {
    if !is_root() {
        return;
    }
    let server = Server::start();
    let run = Run::client(&["epoll-crowded", &server.tcp.to_string()]);
    let run = run.route(server.tcp, &server.socket).uid(NOBODY - 1);
    let done = run.run().good();
    assert!(done.stdout.contains("way tcp"), "{done:#?}");
    done.expect_counts(1, "Watched:1");
}

fn demanded() {
    let server = Server::start();
    let run = |words: &str| {
        let words = ["blocking", &server.tcp.to_string(), words];
        Run::client(&words).route_unless(server.tcp, &server.socket, "sslmode=require")
    };
    stays(&run("jdbc:x?SSLMode=Require&y"), "Demanded:1");
    run("jdbc:x?sslmode=prefer").run().good().expect_counts(1, "");
}

/// Returns a run of the client in a separate namespace, whose kind `option` sets.
fn unshared(option: &str, case: &str, server: &Server) -> Run {
    let (exe, told) = (own_path(), server.tcp.to_string());
    let words = ["unshare", option, &exe, "client", case, &told];
    Run::command(&words).route(server.tcp, &server.socket)
}

/// The client has another loopback, so it must not get a connection to the supervisor's loopback.
fn other_network() {
    if !is_root() {
        return;
    }
    let server = Server::start();
    let done = unshared("-n", "names", &server).run();
    // No process listens on that loopback, so the client's own check fails.
    assert!(!done.output.status.success());
    done.expect_counts(0, "OtherNetwork:1");
    assert_eq!(server.counts(), (0, 0));
}

/// A client with separate mounts gets the socket that it sees itself, and no other socket.
fn other_mounts() {
    if !is_root() {
        return;
    }
    let server = Server::start();
    let client = format!("exec {} client blocking {}", own_path(), server.tcp);
    let run = |before: &str| {
        let script = format!("{before}{client}");
        let words = ["unshare", "-m", "sh", "-c", &script];
        Run::command(&words).route(server.tcp, &server.socket)
    };
    run("").run().good().expect_counts(1, "");
    let folder = server.folder.path().display();
    let hide = format!("mount -t tmpfs none {folder} && ");
    stays(&run(&hide), "OtherRoot:1");
    let another = format!("{hide}touch {} && ", server.socket.display());
    stays(&run(&another), "OtherRoot:1");
}

fn other_users() {
    if !is_root() {
        return;
    }
    let server = Server::start();
    stays(&unshared("-U", "blocking", &server), "OtherUsers:1");
}

/// A queue with a limit of 1, from which no process accepts: two connections are moved, further ones go over TCP.
fn full() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let socket = raw::socket(libc::AF_UNIX, libc::SOCK_STREAM);
    listen_with_a_short_queue(socket, &path);
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = tcp.local_addr().unwrap();
    let run = Run::client(&["fill-queue", &address.to_string(), "3"]);
    let done = run.route(address, &path).run().good();
    assert_eq!(done.stdout, "blocking 0\nblocking 0\nblocking 0\nnot blocking true\n");
    done.expect_counts(2, "Full:2");
}

fn listen_with_a_short_queue(socket: i32, path: &Path) {
    let mut bytes = [0_u8; 110];
    bytes[..2].copy_from_slice(&(libc::AF_UNIX as u16).to_ne_bytes());
    let name = path.to_str().unwrap().as_bytes();
    bytes[2..2 + name.len()].copy_from_slice(name);
    unsafe {
        assert_eq!(libc::bind(socket, bytes.as_ptr().cast(), 110), 0);
        assert_eq!(libc::listen(socket, 1), 0);
    }
}

fn denied() {
    if !is_root() {
        return;
    }
    let server = Server::start();
    let only_root = fs::Permissions::from_mode(0o600);
    fs::set_permissions(&server.socket, only_root).unwrap();
    let exe = own_path();
    let told = server.tcp.to_string();
    let words = ["setpriv", "--reuid", "65534", &exe, "client", "blocking", &told];
    stays(&Run::command(&words).route(server.tcp, &server.socket), "Denied:1");
    blocking(&server).route(server.tcp, &server.socket).run().good().expect_counts(1, "");
}

fn own_path() -> String {
    std::env::current_exe().unwrap().to_str().unwrap().to_owned()
}

/// Checks that the server sees a moved client as `seen`, which is how it sees a client that connects to the socket
/// itself.
#[track_caller]
fn is_seen_as(words: &[&str], seen: &str) {
    if !is_root() {
        return;
    }
    let server = Server::start();
    let exe = own_path();
    let told = server.tcp.to_string();
    let words: Vec<&str> = words.iter().copied().chain([&*exe, "client", "account", &told]).collect();
    let done = Run::command(&words).route(server.tcp, &server.socket).run().good();
    done.expect_counts(1, "");
    assert_eq!(done.stdout, format!("way unix {seen}\n"), "{done:#?}");
}

fn account() {
    is_seen_as(&["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"], "uid=65534 gid=65534 groups=[]");
}

fn dropped() {
    is_seen_as(
        &["setpriv", "--reuid", "65534", "--keep-groups"],
        &format!("uid=65534 gid=0 groups={:?}", own_groups()),
    );
}

fn own_groups() -> Vec<u32> {
    let mut groups = vec![0; 64];
    let n = unsafe { libc::getgroups(64, groups.as_mut_ptr()) };
    groups.truncate(usize::try_from(n).unwrap());
    groups.sort_unstable();
    groups
}

fn groups() {
    is_seen_as(&["setpriv", "--reuid", "33", "--regid", "12", "--groups", "7,4,99"], "uid=33 gid=12 groups=[4, 7, 99]");
}

/// A client that is root, but may not override permissions, is refused if a native client with the same rights is
/// refused.
fn fewer_rights() {
    if !is_root() {
        return;
    }
    let server = Server::start();
    fs::set_permissions(&server.socket, fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::chown(&server.socket, Some(NOBODY), None).unwrap();
    let exe = own_path();
    let told = server.tcp.to_string();
    let words = [
        "setpriv",
        "--bounding-set",
        "-dac_override,-dac_read_search",
        "--inh-caps",
        "-dac_override,-dac_read_search",
        &exe,
        "client",
        "blocking",
        &told,
    ];
    stays(&Run::command(&words).route(server.tcp, &server.socket), "Denied:1");
}

fn unprivileged() {
    if !is_root() {
        return;
    }
    let server = Server::start();
    let run = Run::client(&["names", &server.tcp.to_string()]);
    let run = run.route(server.tcp, &server.socket).uid(NOBODY);
    let mut command = run.to_command();
    std::os::unix::process::CommandExt::uid(&mut command, NOBODY);
    std::os::unix::process::CommandExt::gid(&mut command, NOBODY);
    command.current_dir("/");
    let done = crate::supervise::Done::new(command.output().unwrap()).good();
    done.expect_counts(1, "");
    assert!(done.stdout.contains("uid=65534 gid=65534"), "{done:#?}");
}
