//! A running server: only those of its threads that serve nothing but looptax are pinned to a core, and these threads
//! get their cores back, however looptax ends.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use looptax_bench::allowed_cores;
use looptax_host::processes::{cores_of, descendant_pids, let_use, threads};
use looptax_model::dsn::Kind;
use looptax_testkit::patience;
use looptax_testkit::scratch::Scratch;
use rustix::process::Signal;

use crate::fixture::{Alive, Server, compare, is_root, is_there, saved};

/// Returns the cores of each thread of a server's processes.
fn cores(server: &Server) -> BTreeMap<u32, Vec<usize>> {
    let pid = server.it.pid;
    let pids = descendant_pids(pid, usize::MAX).into_iter().chain([pid]);
    let tids = pids.flat_map(|pid| threads(pid).unwrap_or_default());
    tids.filter_map(|tid| Some((tid, cores_of(tid).ok()?))).collect()
}

/// Opens a connection that is not looptax's; returns the thread or process that serves it, and the connection.
fn somebody(server: &Server, kind: Kind) -> (u32, impl Sized) {
    let mut theirs = server.talk();
    let sql = match kind {
        Kind::Postgres => "SELECT pg_backend_pid()::text",
        _ => "SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()",
    };
    let told = theirs.query(sql).unwrap()[0][0].clone().unwrap();
    (told.parse().unwrap(), theirs)
}

#[track_caller]
fn check(kind: Kind, killed: bool) {
    let Some(server) = Server::start(kind) else {
        return;
    };
    let n_cores = allowed_cores().unwrap().len();
    if n_cores < 2 || !is_root() {
        return;
    }
    let (theirs, _connection) = somebody(&server, kind);
    let before = cores(&server);
    let scratch = Scratch::new();
    let epochs = if killed { "1000" } else { "8" };
    let mut run = compare(&scratch)
        .args([server.url(), "--yes".to_owned(), "--own-server".to_owned()])
        .args(["-c", "2", "--fixed", epochs, "--warm-up", "0s", "--placement", "same", "-q"])
        .spawn();
    let mut held = Vec::new();
    for _ in 0..3 {
        let now = run.wait_for("threads that are held", || {
            let now = cores(&server);
            assert_eq!(now[&theirs], before[&theirs], "somebody else's");
            let narrow: Vec<u32> = now.into_iter().filter(|(_, it)| it.len() < n_cores).map(|(tid, _)| tid).collect();
            (!narrow.is_empty()).then_some(narrow)
        });
        // There are two connections on each of two transports.
        assert!(now.len() <= 4, "{now:?}");
        held.extend(now);
    }
    assert!(!held.contains(&server.it.pid), "the server itself");
    if killed {
        run.signal(Signal::KILL);
        run.wait();
    } else {
        run.wait().expect_code(0);
        let record = saved(&scratch);
        let epochs = record["comparisons"][0]["raw"]["epochs"].as_array().unwrap();
        let is_held =
            |it: &&serde_json::Value| it["client_cores"] == it["server_cores"] && it["server_cores"][0].is_u64();
        assert_eq!(epochs.iter().filter(is_held).count(), epochs.len());
    }
    let has_all = || cores(&server).values().all(|it| it.len() == n_cores).then_some(());
    assert!(patience::wait(std::time::Duration::from_secs(20), has_all).is_some(), "{:?}", cores(&server));
    assert_eq!(cores(&server)[&theirs], before[&theirs]);
}

#[test]
fn threads_that_serve_us_are_held_and_given_back() {
    check(Kind::Mariadb, false);
    check(Kind::Postgres, false);
}

#[test]
fn threads_that_served_us_are_given_back_when_we_are_killed() {
    check(Kind::Mariadb, true);
    check(Kind::Postgres, true);
}

#[test]
fn where_the_servers_own_clients_run_is_seen() {
    let Some(server) = Server::start(Kind::Redis).filter(|_| is_there("redis-benchmark")) else {
        return;
    };
    let all = allowed_cores().unwrap();
    let [first, .., last] = all[..] else { return };
    for (client, share) in [(first, 1.0), (last, 0.0)] {
        for tid in threads(server.it.pid).unwrap() {
            let_use(tid, &[first]).unwrap();
        }
        let mut command = Command::new("redis-benchmark");
        command.args(["-s", &server.socket(), "-c", "1", "-n", "100000000", "-q", "-t", "ping"]);
        if !server.password().is_empty() {
            command.args(["-a", server.password()]);
        }
        let theirs = Alive::spawn(command.stdout(Stdio::null()).stderr(Stdio::null()));
        for tid in threads(theirs.0.id()).unwrap() {
            let_use(tid, &[client]).unwrap();
        }
        let scratch = Scratch::new();
        let args =
            ["--yes", "--own-server", "-c", "1", "--fixed", "6", "--warm-up", "0s", "--placement", "split", "-q"];
        compare(&scratch).args([server.url()]).args(args).run();
        let seen = &saved(&scratch)["comparisons"][0]["target"]["meetings"];
        assert_eq!(seen["programs"], serde_json::json!(["redis-benchmark"]));
        let [n_looks, n_same] = ["n_looks", "n_same"].map(|key| seen[key].as_f64().unwrap());
        assert!(n_looks >= 20.0 && (n_same / n_looks - share).abs() < 0.05, "{seen}");
    }
}
