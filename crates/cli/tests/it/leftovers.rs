//! However looptax ends, its servers and folders are removed, and the data measured so far stays.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use looptax_model::dsn::Kind;
use looptax_testkit::runner::{Looptax, Running};
use looptax_testkit::scratch::Scratch;
use looptax_testkit::{patience, programs};
use rustix::process::Signal;
use serde_json::Value;

use crate::fixture::{SHORT, compare, exe, is_installed, run_in_own_network, saved};

/// Time limit for the reaper: it first asks servers to end, then kills them.
const REAPING: Duration = Duration::from_secs(10);

/// Starts a run on a private server that goes on until it is ended, with progress on a terminal.
fn endless(scratch: &Scratch, kind: Kind) -> Running<'_> {
    compare(scratch)
        .args([&format!("private:{kind}"), "--placement", "same", "-c", "1"])
        .args(["--fixed", "10000", "--slice-ms", "10", "--rows", "100"])
        .on_terminal()
        .spawn()
}

#[test]
fn an_interrupted_run_keeps_what_it_measured_and_leaves_nothing() {
    let scratch = Scratch::new();
    let mut run = endless(&scratch, Kind::Echo);
    run.wait_for_stderr(" of at most 10000");
    run.signal(Signal::INT);
    run.wait().expect_code(130);
    scratch.check_nothing_left();

    let record = saved(&scratch);
    assert_eq!(record["interrupted"], true);
    let comparison = &record["comparisons"][0];
    let n_epochs = comparison["raw"]["epochs"].as_array().unwrap().len();
    assert!(n_epochs >= 1);
    assert_eq!(comparison["tax"][0]["n_epochs"], n_epochs);
    let again = Looptax::new(exe(), &scratch).args(["show", "r.json", "--json"]).run();
    again.expect_code(0);
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(again["comparisons"][0]["tax"], comparison["tax"]);
}

#[test]
fn two_interrupts_at_once_are_one_wish() {
    // `timeout` signals the process, and then its process group.
    let scratch = Scratch::new();
    let mut run = endless(&scratch, Kind::Echo);
    run.wait_for_stderr(" of at most 10000");
    run.signal(Signal::INT);
    run.signal(Signal::INT);
    run.wait().expect_code(130);
    scratch.check_nothing_left_after(REAPING);
    assert_eq!(saved(&scratch)["interrupted"], true);
}

/// Starts `compare` on a private server whose programs are these scripts, and signals it once `sleep` runs.
#[track_caller]
fn interrupted_while_scripts_run(kind: Kind, scripts: &[(&str, &str)]) {
    // Shorter than the time that looptax allows for preparing a server's data folder.
    const AT_MOST: Duration = Duration::from_secs(60);
    let scratch = Scratch::for_programs();
    let folder = scratch.file("programs");
    fs::create_dir(&folder).unwrap();
    for (name, text) in scripts {
        programs::write(folder.join(name), &format!("#!/bin/sh\n{text}\n"));
    }
    let all = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut run = Looptax::new(exe(), &scratch)
        .args(["compare", &format!("private:{kind}"), "-c", "1"])
        .args(["-o", "r.json"])
        .env("PATH", all)
        .spawn();
    run.wait_for("the start of the script", || (!scratch.processes_of("sleep").is_empty()).then_some(()));
    run.signal(Signal::INT);
    patience::wait_for("the end of the script", AT_MOST, || scratch.processes_of("sleep").is_empty().then_some(()));
    run.wait().expect_code(130);
    fs::remove_dir_all(&folder).unwrap();
    scratch.check_nothing_left();
}

#[test]
fn r20_an_interrupt_ends_a_server_that_starts_and_never_listens() {
    let version = "[ \"$1\" = --version ] && echo 'Redis server v=7.2.4 sha=0:0' && exit";
    let script = format!("{version}\nexec sleep 600");
    interrupted_while_scripts_run(Kind::Redis, &[("redis-server", &script)]);
}

/// A set-up that takes a long time and ignores signals, as do its children.
const SLOW_SET_UP: &str = "trap '' TERM INT HUP QUIT\nsleep 600\nsleep 600";

#[test]
fn r44_an_interrupt_kills_initdb_with_all_that_it_started() {
    if !is_installed(Kind::Postgres) {
        return;
    }
    let server = ("postgres", "echo 'postgres (PostgreSQL) 15.18'");
    interrupted_while_scripts_run(Kind::Postgres, &[server, ("initdb", SLOW_SET_UP)]);
}

#[test]
fn r44_an_interrupt_kills_mariadb_install_db_with_all_that_it_started() {
    if !is_installed(Kind::Mariadb) {
        return;
    }
    let server = ("mariadbd", "echo 'mariadbd  Ver 10.11.19-MariaDB-0+deb12u1'");
    interrupted_while_scripts_run(Kind::Mariadb, &[server, ("mariadb-install-db", SLOW_SET_UP)]);
}

/// The command is started as `nohup` starts it.
#[test]
fn r19_a_hangup_that_is_ignored_stays_so() {
    let scratch = Scratch::new();
    let command = format!(
        "trap '' HUP; exec {} compare private:echo --placement same -c 1 --fixed 12 --slice-ms 10 -o r.json",
        exe().display()
    );
    let mut run = Looptax::new("/bin/sh", &scratch).args(["-c", &command]).on_terminal().spawn();
    run.wait_for_stderr(" of at most 12");
    run.signal(Signal::HUP);
    run.wait().expect_code(0);
    assert_eq!(saved(&scratch)["interrupted"], false);
}

/// The greeting of this server never ends.
#[test]
fn r19_an_interrupt_ends_the_wait_for_a_server_that_drips() {
    let scratch = Scratch::new();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("mysql://u:p@{}/", server.local_addr().unwrap());
    let run = Looptax::new(exe(), &scratch).args(["compare", &url, "--yes", "--socket", "/nowhere"]).spawn();
    let (mut client, _) = server.accept().unwrap();
    thread::spawn(move || {
        let _ = client.write_all(b"\x00\xff\x00\x00\x0a");
        while client.write_all(b"9").is_ok() {
            thread::sleep(Duration::from_millis(100));
        }
    });
    run.signal(Signal::INT);
    let run = run.wait();
    run.expect_code(130);
    assert!(run.stderr.contains("interrupted before anything"), "{}", run.stderr);
}

#[track_caller]
fn killed(kind: Kind) {
    if !is_installed(kind) {
        return;
    }
    let scratch = Scratch::new();
    let mut run = endless(&scratch, kind);
    run.wait_for_stderr("warm-up, epoch");
    assert!(scratch.processes().len() >= 3, "looptax, reaper, server");
    run.signal(Signal::KILL);
    assert_eq!(run.wait().status.code(), None);
    scratch.check_nothing_left_after(REAPING);
}

#[test]
fn kill_9_takes_redis_along() {
    killed(Kind::Redis);
}

#[test]
fn kill_9_takes_mariadb_along() {
    killed(Kind::Mariadb);
}

#[test]
fn kill_9_takes_mysql_along() {
    killed(Kind::Mysql);
}

#[test]
fn kill_9_takes_valkey_along() {
    killed(Kind::Valkey);
}

#[test]
fn kill_9_takes_all_of_memcached_along() {
    killed(Kind::Memcached);
}

#[test]
fn kill_9_takes_postgres_along() {
    killed(Kind::Postgres);
}

#[test]
fn two_at_once_do_not_collide() {
    if !is_installed(Kind::Redis) {
        return;
    }
    let scratch = Scratch::new();
    let start = |name: &str| {
        Looptax::new(exe(), &scratch)
            .args(["compare", "private:redis", "--placement", "same", "-o", name])
            .args(SHORT)
            .spawn()
    };
    let both = [start("one.json"), start("two.json")];
    for run in both {
        run.wait().expect_code(0);
    }
    scratch.check_nothing_left();
    assert!(scratch.file("one.json").exists() && scratch.file("two.json").exists());
}

#[test]
fn r19_a_run_waits_for_its_turn_where_that_is_wanted() {
    let scratch = Scratch::new();
    let compare = format!("{} compare echo --placement same -c 1 --slice-ms 10", exe().display());
    // The first run ends once the second run was seen to wait.
    let script = format!(
        "{compare} --fixed 10000 -o one.json 2>one.err & one=$!
         until grep -q measuring one.err; do sleep 0.05; done
         {compare} --fixed 6 --wait -o two.json 2>two.err & two=$!
         until grep -q 'waiting until it ends' two.err; do sleep 0.05; done
         kill -TERM $one; wait $one; wait $two"
    );
    let Some(run) = run_in_own_network(&scratch, &script) else {
        return;
    };
    run.expect_code(0);
    let record: Value = serde_json::from_slice(&fs::read(scratch.file("two.json")).unwrap()).unwrap();
    assert!(!record["problems"].to_string().contains("another looptax"));
    scratch.check_nothing_left_after(REAPING);
}

#[test]
fn every_kind_ends_without_a_trace() {
    for kind in [Kind::Redis, Kind::Postgres, Kind::Memcached] {
        if !is_installed(kind) {
            continue;
        }
        let scratch = Scratch::new();
        let target = format!("private:{kind}");
        let run = compare(&scratch).args([&target, "--placement", "same"]).args(SHORT).run();
        run.expect_code(0);
        scratch.check_nothing_left();
    }
}
