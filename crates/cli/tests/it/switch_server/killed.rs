//! looptax is killed while it moves a server and its application: each file is old or new, the server runs, and the
//! next start of looptax puts everything back.

use std::time::Duration;

use looptax_testkit::patience::wait_for;
use rustix::process::Signal;

use super::{SOON, Scene};

/// looptax is killed at most this late in the first turn; the kills are spread over this time.
const LONGEST_MS: u64 = 2_500;
/// Most turns; the kills of each turn come later than those of the turn before.
const MOST_TURNS: u64 = 5;

#[track_caller]
fn killed(kind: &'static str, n_kills: u64) {
    let Some(scene) = Scene::new(kind) else { return };
    let mut n_interrupted = 0;
    let mut whole: [Option<Vec<u8>>; 2] = [None, None];
    // On a busy machine the kills of the first turn may come before looptax has begun; then the next turn kills it
    // later.
    for round in 0.. {
        let turn = round / n_kills;
        if turn > 0 && n_interrupted > 0 {
            break;
        }
        assert!(turn < MOST_TURNS, "nothing was hit at work");
        let run = scene.switch([&scene.app, &scene.own]).spawn();
        std::thread::sleep(Duration::from_millis(turn * LONGEST_MS + round * 7919 * 13 % LONGEST_MS));
        run.signal(Signal::KILL);
        run.wait();
        let files = scene.files();
        let is_new = [0, 1].map(|idx| files[idx] != scene.before[idx]);
        // looptax never writes the application's file before the server's file.
        assert!(is_new != [false, true], "round {round}");
        // A new file is complete, so it is the same in each round.
        for (idx, file) in files.into_iter().enumerate().filter(|(idx, _)| is_new[*idx]) {
            assert!(*whole[idx].get_or_insert_with(|| file.clone()) == file, "round {round}: a part of a file");
        }
        // The restart command that looptax has started continues to its end.
        wait_for("the server", SOON, || {
            let is_up = std::net::TcpStream::connect(("127.0.0.1", scene.port)).is_ok();
            let is_on_socket = std::os::unix::net::UnixStream::connect(scene.socket()).is_ok();
            (is_up || is_on_socket).then_some(())
        });
        let undo = scene.undo().run();
        if undo.status.code() == Some(0) {
            n_interrupted += 1;
        } else {
            // looptax had not begun, or had ended before it was killed.
            assert!(is_new == [false, false], "round {round}: {}{}", undo.stdout, undo.stderr);
        }
        scene.expect_as_before();
    }
}

#[test]
fn a_looptax_that_is_killed_leaves_redis_running_and_its_next_start_takes_all_back() {
    killed("redis", 4);
}

/// Kills looptax several hundred times, with all kinds of server.
#[test]
fn r49_a_looptax_that_is_killed_leaves_each_server_running() {
    for kind in ["redis", "valkey", "memcached", "mariadb", "mysql", "postgres", "pgbouncer"] {
        killed(kind, 60);
    }
}
