//! `looptax switch` on single files with real servers: the text that it prints, writes, keeps and puts back.
//!
//! Whole applications are in `switch_apps`. In these tests no program connects, so nothing is ever proved.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use looptax_model::dsn::Kind;
use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;
use rustix::process::Signal;
use serde_json::Value;

use crate::fixture::{Server, exe, is_root, is_there};
use crate::record::check_fits;

const NOBODY: u32 = 65_534;

/// A server, and a file that leads to it over TCP, for one switch.
struct Scene {
    server: Server,
    scratch: Scratch,
    file: PathBuf,
    before: Vec<u8>,
}

impl Scene {
    /// Makes a scene; `None` if Redis is not installed.
    fn new() -> Option<Self> {
        Self::with("")
    }

    /// Makes a scene whose file begins with these lines.
    fn with(head: &str) -> Option<Self> {
        let server = Server::start(Kind::Redis)?;
        let scratch = Scratch::new();
        let file = scratch.file("shop.env");
        let (tcp, password) = (server.it.tcp, server.password());
        let text = format!(
            "{head}# where the sessions are\r\nSECRET_KEY=kept\r\nREDIS_URL=redis://:{password}@{tcp}/3\r\nOTHER='x y'\r\n"
        );
        fs::write(&file, &text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        Some(Self { server, scratch, file, before: text.into_bytes() })
    }

    fn looptax(&self, args: &[&str]) -> Looptax<'_> {
        let data = self.scratch.file("data");
        Looptax::new(exe(), &self.scratch).args(["switch"]).args(args.iter().copied()).env("XDG_DATA_HOME", data)
    }

    fn run(&self, args: &[&str]) -> Finished {
        self.looptax(args).run()
    }

    /// Runs `switch FILE` for the application that the file belongs to.
    fn switch(&self, args: &[&str]) -> Finished {
        self.run(&[&[self.file.to_str().unwrap(), "--as", "sidekiq"], args].concat())
    }

    fn now(&self) -> Vec<u8> {
        fs::read(&self.file).unwrap()
    }

    #[track_caller]
    fn check_unchanged(&self) {
        assert_eq!(self.now(), self.before);
        assert!(!self.scratch.file("data").exists(), "something is kept");
    }

    /// Returns the states of the kept switches, the oldest first.
    fn standings(&self) -> Vec<String> {
        let run = self.run(&["--list", "--json"]);
        let listed: Value = serde_json::from_str(&run.stdout).unwrap();
        check_fits("switches", &listed);
        let all = listed.as_array().unwrap().iter();
        all.map(|it| it["standing"].as_str().unwrap().to_owned()).collect()
    }
}

#[test]
fn a_call_in_a_program_is_left_to_a_person_with_the_words_of_its_driver() {
    let Some(scene) = Scene::new() else { return };
    let (port, password) = (scene.server.it.tcp.port(), scene.server.password());
    let text = format!("import redis\nshop = redis.Redis(host='127.0.0.1', port={port}, password='{password}')\n");
    let file = scene.scratch.file("shop.py");
    fs::write(&file, &text).unwrap();
    let run = scene.run(&[file.to_str().unwrap(), "--yes"]);
    run.expect_code(1);
    let words = run.words();
    assert!(words.contains("write these lines yourself") && !words.contains("--as"), "{words}");
    assert!(words.contains("redis-py connects over the socket with unix://") && !words.contains(password), "{words}");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn a_plan_says_the_lines_without_their_password_and_changes_nothing() {
    let Some(scene) = Scene::new() else { return };
    let run = scene.switch(&["--dry-run"]);
    run.expect_code(0);
    for words in ["- REDIS_URL=", "+ REDIS_URL=", "checked", "proof", "undo", "nothing was changed"] {
        assert!(run.stdout.contains(words), "{words}: {}", run.stdout);
    }
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(!said.contains(scene.server.password()), "{said}");
    let json = scene.switch(&["--dry-run", "--json"]);
    json.expect_code(0);
    let plan: Value = serde_json::from_str(&json.stdout).unwrap();
    check_fits("switch", &plan);
    assert_eq!(plan["outcome"], "planned");
    assert_eq!(plan["connections"][0]["fate"], "moves");
    scene.check_unchanged();
}

#[test]
fn nobody_is_moved_who_was_not_asked() {
    let Some(scene) = Scene::new() else { return };
    for args in [&[][..], &["--json"]] {
        scene.switch(args).expect_error(2, &["without a terminal looptax cannot ask you", "--yes"]);
    }
    scene.check_unchanged();
}

#[test]
fn what_nobody_connects_by_does_not_stay_unless_somebody_says_so() {
    let Some(scene) = Scene::new() else { return };
    let run = scene.switch(&["--yes", "--within", "1s"]);
    run.expect_code(1);
    let words = run.words();
    assert!(
        words.contains("not proved:") && words.contains("no process connected") && words.contains("--keep-unproved"),
        "{words}"
    );
    assert_eq!(scene.now(), scene.before);
    assert_eq!(scene.standings(), ["put-back"]);
}

#[test]
fn what_nobody_connects_by_is_moved_and_not_proved_and_comes_back_byte_for_byte() {
    let Some(scene) = Scene::new() else { return };
    let owner = fs::metadata(&scene.file).unwrap();
    let run = scene.switch(&["--yes", "--keep-unproved", "--within", "1s", "--json"]);
    run.expect_code(3);
    let switched: Value = serde_json::from_str(&run.stdout).unwrap();
    check_fits("switch", &switched);
    assert_eq!(switched["outcome"], "unproved");
    let text = String::from_utf8(scene.now()).unwrap();
    assert!(text.contains(&scene.server.socket()), "{text}");
    assert!(text.starts_with("# where the sessions are\r\nSECRET_KEY=kept\r\nREDIS_URL="));
    assert!(text.ends_with("\r\nOTHER='x y'\r\n"), "{text}");
    let new = fs::metadata(&scene.file).unwrap();
    assert_eq!((new.mode(), new.uid(), new.gid()), (owner.mode(), owner.uid(), owner.gid()));
    assert_eq!(scene.standings(), ["unproved"]);

    let again = scene.switch(&["--yes", "--within", "1s"]);
    again.expect_code(0);
    assert!(again.stdout.contains("on the socket already"), "{}", again.stdout);

    let id = switched["id"].as_str().unwrap();
    let moved = scene.now();
    let only_said = scene.run(&["--undo", id, "--dry-run"]);
    only_said.expect_code(0);
    assert_eq!(scene.now(), moved);
    scene.run(&["--undo", id, "--yes"]).expect_code(0);
    assert_eq!(scene.now(), scene.before);
    assert_eq!(scene.standings(), ["undone"]);
    scene.run(&["--undo", "--yes"]).expect_error(2, &["is undone already"]);
    scene.run(&["--undo", "20010101-1", "--yes"]).expect_error(2, &["no switch 20010101-1", "--list"]);
}

#[test]
fn of_several_connections_each_has_a_number_and_one_can_be_moved() {
    let Some(scene) = Scene::new() else { return };
    let (tcp, password) = (scene.server.it.tcp, scene.server.password());
    let cache = |name: &str, database: u8| {
        format!(
            "    '{name}': {{\n        'BACKEND': 'django_redis.cache.RedisCache',\n        'LOCATION': 'redis://:{password}@{tcp}/{database}',\n    }},\n"
        )
    };
    let first = format!("CACHES = {{\n{}", cache("default", 1));
    let both = format!("{first}{}}}\n", cache("sessions", 2));
    let file = scene.scratch.file("settings.py");
    fs::write(&file, &both).unwrap();
    let run = |args: &[&str]| scene.run(&[&[file.to_str().unwrap()], args].concat());
    let plan = run(&["--dry-run", "--only", "2", "--json"]);
    plan.expect_code(0);
    let plan: Value = serde_json::from_str(&plan.stdout).unwrap();
    let fates: Vec<&str> =
        { plan["connections"].as_array().unwrap().iter() }.map(|it| it["fate"].as_str().unwrap()).collect();
    assert_eq!(fates, ["unwanted", "moves"], "{plan:#}");
    run(&["--yes", "--keep-unproved", "--only", "2", "--within", "1s"]).expect_code(3);
    let now = fs::read_to_string(&file).unwrap();
    assert!(now.starts_with(&first), "the first one was touched: {now}");
    assert!(now.contains("unix://"), "{now}");
    run(&["--yes", "--only", "7", "--within", "1s"]).expect_error(2, &["7", "--only"]);
}

#[test]
fn a_patch_makes_of_the_old_file_what_a_switch_writes() {
    let Some(scene) = Scene::new() else { return };
    if !is_there("patch") {
        return;
    }
    let run = scene.switch(&["--patch"]);
    run.expect_code(0);
    scene.check_unchanged();
    let (patch, patched) = (scene.scratch.file("p.diff"), scene.scratch.file("patched"));
    fs::write(&patch, &run.stdout).unwrap();
    fs::copy(&scene.file, &patched).unwrap();
    let done = Command::new("patch").args(["--binary", "-s"]).args([&patched, &patch]).status().unwrap();
    assert!(done.success(), "{}", run.stdout);
    scene.switch(&["--yes", "--keep-unproved", "--within", "1s"]).expect_code(3);
    assert_eq!(fs::read(&patched).unwrap(), scene.now());
}

#[test]
fn what_another_program_writes_wants_a_word_more() {
    let Some(scene) = Scene::with("# Ansible managed\n") else {
        return;
    };
    let run = scene.switch(&["--yes", "--within", "1s"]);
    run.expect_code(1);
    assert!(run.stdout.contains("Ansible writes this file"), "{}", run.stdout);
    assert!(run.stderr.contains("--force"), "{}", run.stderr);
    scene.check_unchanged();
    scene.switch(&["--yes", "--keep-unproved", "--force", "--within", "1s"]).expect_code(3);
    assert_ne!(scene.now(), scene.before);
}

#[test]
fn who_may_not_write_the_folder_is_told_and_nothing_is_kept() {
    let Some(scene) = Scene::new() else { return };
    if !is_root() {
        return;
    }
    // `nobody` may read the file and write in the data folder, but may not write in the file's folder.
    fs::set_permissions(&scene.file, fs::Permissions::from_mode(0o644)).unwrap();
    let of_server = scene.server.it.socket.parent().unwrap();
    for (path, mode) in [(of_server, 0o711), (&*scene.server.it.socket, 0o777)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let folder = scene.scratch.file("conf");
    fs::create_dir(&folder).unwrap();
    let file = folder.join("shop.env");
    fs::copy(&scene.file, &file).unwrap();
    scene.scratch.give_to(NOBODY);
    std::os::unix::fs::chown(&folder, Some(0), Some(0)).unwrap();
    let socket = scene.server.socket();
    let run = scene
        .looptax(&[file.to_str().unwrap(), "--as", "sidekiq", "--yes", "--socket", &socket, "--within", "1s"])
        .uid(NOBODY)
        .run();
    run.expect_error(2, &["cannot be written", "this user may not create a file in the folder"]);
    assert_eq!(fs::read(&file).unwrap(), scene.before);
}

#[test]
fn a_page_that_does_not_answer_beforehand_ends_it_before_anything_is_written() {
    let Some(scene) = Scene::new() else { return };
    let args = ["--yes", "--url", "http://127.0.0.1:1/"];
    scene.switch(&args).expect_error(2, &["does not answer"]);
    scene.switch(&["--yes", "--url", "ftp://x/"]).expect_error(2, &["http://"]);
    scene.check_unchanged();
}

#[test]
fn whoever_is_killed_leaves_old_or_new_and_the_next_start_ends_it() {
    let Some(scene) = Scene::new() else { return };
    let file = scene.file.to_str().unwrap().to_owned();
    let args = [&file, "--as", "sidekiq", "--yes", "--keep-unproved", "--within", "1s"];
    let new = {
        scene.switch(&["--yes", "--keep-unproved", "--within", "1s"]).expect_code(3);
        scene.now()
    };
    scene.run(&["--undo", "--yes"]).expect_code(0);
    let mut n_interrupted = 0;
    for n in 0..16_u32 {
        let running = scene.looptax(&args).spawn();
        // The kills are spread over the whole run of looptax. Where a kill hits is chance; the checks below must always
        // hold.
        std::thread::sleep(Duration::from_millis(u64::from(n * 67 % 1100)));
        running.signal(Signal::KILL);
        let _ended = running.wait();
        let now = scene.now();
        assert!(now == new || now == scene.before, "{}", String::from_utf8_lossy(&now));
        let last = scene.standings().pop().unwrap_or_default();
        n_interrupted += u32::from(last == "interrupted");
        // `--undo` also ends a switch that was killed after it had written a new file next to the old one.
        if now == new || last == "interrupted" {
            scene.run(&["--undo", "--yes"]).expect_code(0);
            assert_eq!(scene.now(), scene.before);
        }
    }
    eprintln!("killed 16 times, {n_interrupted} of them while files or the proof were under way");
    let left: Vec<_> = fs::read_dir(scene.scratch.work()).unwrap().flatten().map(|it| it.file_name()).collect();
    let stray = left.iter().filter(|it| it.to_string_lossy().contains("looptax"));
    assert_eq!(stray.count(), 0, "{left:?}");
}

/// Each user keeps switches in a separate folder; both switches have the same name.
#[test]
fn two_users_switch_one_file_in_one_instant_and_it_is_old_or_new() {
    let Some(scene) = Scene::new().filter(|_| is_root()) else { return };
    let of_server = scene.server.it.socket.parent().unwrap();
    for (path, mode) in [(of_server, 0o711), (&*scene.server.it.socket, 0o777)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    scene.scratch.give_to(NOBODY);
    std::os::unix::fs::chown(&scene.file, Some(NOBODY), Some(NOBODY)).unwrap();
    // Root keeps nothing in a folder in which another user may write.
    let of_root = Scratch::new();
    let folders = [of_root.file("data"), scene.scratch.file("of-another")];
    fs::create_dir(&folders[1]).unwrap();
    std::os::unix::fs::chown(&folders[1], Some(NOBODY), Some(NOBODY)).unwrap();
    let (file, socket) = (scene.file.to_str().unwrap(), scene.server.socket());
    for _ in 0..4 {
        let begin = |place: usize| {
            let words = [
                file,
                "--as",
                "sidekiq",
                "--yes",
                "--keep-unproved",
                "--no-times",
                "--socket",
                &socket,
                "--within",
                "1s",
            ];
            let looptax = scene.looptax(&words).env("XDG_DATA_HOME", &folders[place]);
            if place == 0 { looptax.spawn() } else { looptax.uid(NOBODY).spawn() }
        };
        let runs = [begin(0), begin(1)].map(looptax_testkit::runner::Running::wait);
        // The other run is refused, or starts after the first one has ended.
        let wrote = |it: &Finished| it.words().contains("to undo the switch");
        let keeps = |it: &Finished| it.words().contains("moved, but not proved");
        assert!(runs.iter().any(wrote), "{runs:#?}");
        let is_new = runs.iter().any(keeps);
        assert_eq!(scene.now() != scene.before, is_new, "{runs:#?}");
        for (place, run) in runs.iter().enumerate().filter(|(_, it)| keeps(it)) {
            let undo = scene.looptax(&["--undo", "last", "--yes"]).env("XDG_DATA_HOME", &folders[place]);
            if place == 0 { undo.run() } else { undo.uid(NOBODY).run() }.expect_code(0);
            assert_eq!(scene.now(), scene.before, "{run:#?}");
        }
        let left: Vec<_> = fs::read_dir(scene.scratch.work()).unwrap().flatten().map(|it| it.file_name()).collect();
        assert!(!left.iter().any(|it| it.to_string_lossy().contains("looptax")), "{left:?}");
    }
}

#[test]
fn an_interrupted_switch_is_told_at_the_next_start_and_can_be_finished() {
    let Some(scene) = Scene::new() else { return };
    let file = scene.file.to_str().unwrap().to_owned();
    let mut running = scene.looptax(&[&file, "--as", "sidekiq", "--yes", "--within", "1m"]).spawn();
    let path = scene.file.clone();
    let before = scene.before.clone();
    running.wait_for("the file to be written", || (fs::read(&path).ok()? != before).then_some(()));
    assert_eq!(scene.standings(), ["under-way"]);
    let second = scene.switch(&["--yes"]);
    second.expect_error(2, &["another looptax switch is running"]);
    running.signal(Signal::KILL);
    let _ended = running.wait();
    assert_eq!(scene.standings(), ["interrupted"]);
    let next = scene.switch(&["--dry-run"]);
    assert!(next.stderr.contains("was interrupted"), "{}", next.stderr);
    let id = next.stderr.split("--finish ").nth(1).unwrap().split('`').next().unwrap().to_owned();
    scene.run(&["--finish", &id]).expect_code(3);
    assert_eq!(scene.standings(), ["unproved"]);
    scene.run(&["--undo", &id, "--yes"]).expect_code(0);
    assert_eq!(scene.now(), scene.before);
}
