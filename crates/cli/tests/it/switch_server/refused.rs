//! Obstacles that keep a server from getting a socket, and failures during the switch: everything is as before.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use looptax_testkit::runner::send;
use rustix::process::Signal;

use super::Scene;

/// The number of signals: enough that some of them come more than a second after the first.
const N_MORE: u32 = 300;

#[test]
fn a_restart_wants_a_word_of_its_own() {
    let Some(scene) = Scene::new("redis") else { return };
    // looptax knows no service that restarts this server.
    let run = scene.plain([&scene.app, &scene.own]).run();
    run.expect_error(2, &["has to be restarted", "--restart="]);
    scene.expect_as_before();

    // Nothing shows that the server reads this copy.
    let copy = scene.own.with_file_name("copy.conf");
    fs::copy(&scene.own, &copy).unwrap();
    let run = scene.switch([&scene.app, &copy]).run();
    run.expect_error(2, &["nothing shows that redis-server", "copy.conf"]);

    // The folder does not exist, or every user may create the socket in it. Nothing is written, in whichever order the
    // files are passed.
    for (socket, words) in [
        (
            "/run/looptax-none/redis.sock",
            &["there is no folder /run/looptax-none", "`install -d -o redis -g redis -m 755", "/etc/tmpfiles.d"][..],
        ),
        ("/tmp/redis.sock", &["every user may write to /tmp", "such as /run/redis"]),
    ] {
        let run = scene.looptax(&[
            scene.app.to_str().unwrap(),
            scene.own.to_str().unwrap(),
            "--as",
            "sidekiq",
            "--socket",
            socket,
        ]);
        let run = run.args(scene.anew()).run();
        run.expect_code(1);
        assert!(words.iter().all(|it| run.words().contains(it)), "{}", run.stdout);
    }
    scene.expect_as_before();

    // The server may not create a socket in this folder.
    fs::set_permissions(scene.folder().join("run"), fs::Permissions::from_mode(0o555)).unwrap();
    let run = scene.switch([&scene.app, &scene.own]).run();
    run.expect_code(1);
    assert!(run.words().contains("may not create a socket in"), "{}", run.stdout);
    scene.expect_as_before();
}

#[test]
fn a_server_that_refuses_its_file_has_the_old_one_back_and_runs() {
    let Some(scene) = Scene::new("redis") else { return };
    let folder = scene.folder();
    // The server ends with the new file, and starts with the old one.
    let restart = format!(
        "--restart={0} {1} redis {2} stop; if grep -q ^unixsocket {3}; then exit 1; fi; {0} {1} redis {2} start",
        folder.join("scene.sh").display(),
        folder.display(),
        scene.port,
        scene.own.display()
    );
    let run = scene.plain([&scene.app, &scene.own]).args([restart]).run();
    run.expect_code(1);
    assert!(run.words().contains("the old files are back"), "{}", run.stdout);
    scene.expect_as_before();
}

#[test]
fn an_application_whose_reload_fails_has_both_old_files_back() {
    let Some(scene) = Scene::new("redis") else { return };
    let [restart, reload, _] = scene.anew();
    let fails = format!("{}; exit 7", scene.line("end"));
    let run = scene.plain([&scene.app, &scene.own]).args([restart, reload, fails]).run();
    run.expect_code(1);
    assert!(run.words().contains("ended with 7"), "{}", run.stdout);
    assert!(scene.files() == scene.before);
    scene.script().arg("begin").status().unwrap();
    scene.expect_as_before();
}

#[test]
fn a_program_that_does_not_connect_again_is_named_and_all_can_be_undone() {
    let Some(scene) = Scene::new("redis") else { return };
    let other = std::net::TcpStream::connect(("127.0.0.1", scene.port)).unwrap();
    let mut silent = Command::new("sleep").arg("600").stdin(OwnedFd::from(other)).spawn().unwrap();
    let run = scene.plain([&scene.app, &scene.own]).args(["--user", "www-data"]).args(scene.anew()).run();
    let undo = scene.undo().run();
    silent.kill().unwrap();
    silent.wait().unwrap();
    run.expect_code(3);
    assert!(run.words().contains("not connected again"), "{}", run.stdout);
    undo.expect_code(0);
    scene.expect_as_before();
}

#[test]
fn an_application_that_does_not_come_back_has_both_old_files_back_and_the_server_runs() {
    let Some(scene) = Scene::new("redis") else { return };
    let [restart, reload, _] = scene.anew();
    let run = scene.plain([&scene.app, &scene.own]).args([restart, reload, scene.line("end")]).run();
    run.expect_code(1);
    assert!(run.words().contains("the old files are back"), "{}", run.stdout);
    scene.script().arg("begin").status().unwrap();
    scene.expect_as_before();
}

#[test]
fn a_port_that_ends_is_not_taken_from_others() {
    let Some(scene) = Scene::new("memcached") else { return };
    let _other = std::net::TcpStream::connect(("127.0.0.1", scene.port)).unwrap();
    let run = scene.switch([&scene.app, &scene.own]).run();
    run.expect_code(1);
    assert!(run.words().contains("other programs are connected to that port"), "{}", run.stdout);
    scene.expect_as_before();
}

#[test]
fn a_file_that_its_server_would_refuse_restarts_nothing() {
    for (kind, line) in [("postgres", "nonsense = 1\n"), ("mariadb", "[mysqld]\nnonsense = 1\n")] {
        let Some(mut scene) = Scene::new(kind) else { continue };
        // The file was changed after the server started.
        let text = fs::read_to_string(&scene.own).unwrap() + line;
        fs::write(&scene.own, text).unwrap();
        scene.before = scene.files();
        let pid = fs::read(scene.folder().join("run/pid")).unwrap();
        let run = scene.switch([&scene.app, &scene.own]).run();
        run.expect_code(1);
        assert!(run.words().contains("nonsense"), "{}", run.stdout);
        assert_eq!(fs::read(scene.folder().join("run/pid")).unwrap(), pid, "{kind} was restarted");
        scene.expect_as_before();
    }
}

#[test]
fn a_stranger_is_not_taken_for_the_application_nor_root_for_its_user() {
    let Some(scene) = Scene::new("memcached") else { return };
    scene.script().arg("end").status().unwrap();
    let stranger = std::net::TcpStream::connect(("127.0.0.1", scene.port)).unwrap();
    let run = scene.switch([&scene.app, &scene.own]).run();
    run.expect_code(1);
    assert!(run.words().contains("looptax does not know which of these is the application"), "{}", run.stdout);
    drop(stranger);
    let run = scene.switch([&scene.app, &scene.own]).run();
    run.expect_code(1);
    assert!(run.words().contains("looptax does not know the user of the application"), "{}", run.stdout);
    scene.script().arg("begin").status().unwrap();
    scene.expect_as_before();
}

#[test]
fn a_server_and_its_application_are_taken_back_together() {
    let Some(scene) = Scene::new("redis") else { return };
    let moved = scene.switch([&scene.app, &scene.own]).run();
    moved.expect_code(0);
    assert!(moved.words().contains("--undo 2") && moved.words().contains(" --restart --reload '"), "{}", moved.stdout);
    let [_, _, reload] = scene.anew();
    // The command prints the text that it would write back, and does nothing else: both files are still new.
    let shown = scene.looptax(&["--undo", "last", "--dry-run"]).run();
    shown.expect_code(0);
    let (old, socket) = (format!("  + REDIS_URL=redis://127.0.0.1:{}/3", scene.port), scene.socket());
    let unixsocket = format!("  - unixsocket {}", socket.display());
    assert!(shown.stdout.contains(&old) && shown.stdout.contains(&unixsocket), "{}", shown.stdout);
    assert!(shown.words().contains("nothing was changed") && scene.files() != scene.before);
    scene
        .looptax(&["--undo", "last"])
        .run()
        .expect_error(2, &["gives up its socket when it restarts", "--restart", &reload]);
    scene.looptax(&["--undo", "last", "--restart", "--reload", &reload]).run().expect_code(0);
    scene.expect_as_before();
    // The same switch is repeated: with --dry-run it changes nothing, and with -q it prints one line.
    let planned = scene.switch([&scene.app, &scene.own]).args(["--dry-run"]).run();
    planned.expect_code(0);
    assert!(planned.words().contains("nothing was changed") && scene.files() == scene.before);
    let quiet = scene.switch([&scene.app, &scene.own]).args(["-q"]).run();
    quiet.expect_code(0);
    assert!(
        quiet.stdout.starts_with("moved and proved") && quiet.stderr.is_empty(),
        "{}{}",
        quiet.stdout,
        quiet.stderr
    );
    let again = scene.switch([&scene.app, &scene.own]).run();
    again.expect_code(0);
    assert!(again.words().contains("on the socket already"), "{}", again.stdout);
}

#[test]
fn a_second_ctrl_c_does_not_end_the_way_back() {
    let Some(scene) = Scene::new("redis") else { return };
    let [restart, _, _] = scene.anew();
    let [begun, back, go] = ["begun", "back", "go"].map(|name| scene.folder().join(name));
    // At its first run, when the proof begins, the command makes a file. At its second run, when looptax puts
    // everything back, it makes another file and waits for a third.
    let reload = format!(
        "if [ ! -e {0} ]; then touch {0}; exit; fi; touch {1}; until [ -e {2} ]; do sleep 0.05; done; {3}",
        begun.display(),
        back.display(),
        go.display(),
        scene.line("reload")
    );
    let run = scene.plain([&scene.app, &scene.own]).args([restart, "--reload".to_owned(), reload]);
    let mut run = run.on_terminal().spawn();
    run.wait_for("the proof", || begun.exists().then_some(()));
    run.signal(Signal::INT);
    run.wait_for("the way back", || back.exists().then_some(()));
    // Signals within a second count as one, and these are sent for longer than that.
    let (pid, mut n) = (run.pid(), 0);
    run.wait_for("many more of them", || {
        send(pid, Signal::INT);
        n += 1;
        (n > N_MORE).then_some(())
    });
    run.wait_for_stderr("looptax is putting the old files back");
    fs::write(&go, "").unwrap();
    let run = run.wait();
    run.expect_code(130);
    assert!(run.words().contains("the old files are back"), "{}", run.stdout);
    scene.expect_as_before();
}

#[test]
fn a_pool_of_php_fpm_says_as_whom_its_sessions_are_kept() {
    let Some(scene) = Scene::new("redis") else { return };
    // PHP's processes connect only for an instant, and none of them connects now.
    scene.script().arg("end").status().unwrap();
    let pool = scene.folder().join("app/pool.d/shop.conf");
    fs::create_dir(pool.parent().unwrap()).unwrap();
    let port = scene.port;
    let lines = format!(
        "[shop]\nuser = www-data\nlisten = /run/php/shop.sock\npm = static\npm.max_children = 2\nphp_admin_value[session.save_handler] = redis\nphp_admin_value[session.save_path] = \"tcp://127.0.0.1:{port}?database=2\"\n"
    );
    fs::write(&pool, lines).unwrap();
    let (pool, own, socket) = (pool.to_str().unwrap(), scene.own.to_str().unwrap(), scene.socket());
    let planned =
        scene.looptax(&[pool, own, "--socket", socket.to_str().unwrap(), "--dry-run"]).args(scene.anew()).run();
    planned.expect_code(0);
    let line = format!("  + php_admin_value[session.save_path] = \"unix://{}?database=2\"", socket.display());
    assert!(planned.stdout.contains(&line), "{}", planned.stdout);
    assert!(planned.words().contains("and www-data can reach this socket"), "{}", planned.stdout);
}
