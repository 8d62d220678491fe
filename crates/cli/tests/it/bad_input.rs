//! Runs that cannot work: one clear error, a hint, an exit code, and nothing left behind.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use looptax_experiment::servers::find_binary;
use looptax_model::dsn::Kind;
use looptax_testkit::fake_redis::{FakeRedis, Script};
use looptax_testkit::ports::free_address;
use looptax_testkit::programs;
use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;

use crate::fixture::{SHORT, Server, compare, exe, is_installed, is_root, is_there, saved};

/// An account that owns no files.
const NOBODY: u32 = 65_534;

#[track_caller]
fn check(args: &[&str], code: i32, words: &[&str]) {
    let scratch = Scratch::new();
    let run = compare(&scratch).args(args).args(SHORT).run();
    run.expect_error(code, words);
    assert!(!scratch.file("r.json").exists(), "a record of nothing");
    scratch.check_nothing_left();
}

#[test]
fn r19_a_limit_that_is_in_the_way_is_named() {
    let scratch = Scratch::new();
    let under = |limit: &str, what: &str, uid: Option<u32>| {
        let options = "--fixed 6 --slice-ms 10 --placement same --no-history -q -o r.json";
        let command = format!("ulimit {limit}; exec {} compare {what} {options}", exe().display());
        let run = Looptax::new("/bin/bash", &scratch).args(["-c", &command]);
        uid.map_or(run.clone(), |uid| run.uid(uid)).run()
    };
    let files = ["64 connections per arm need", "this process may open only 64", "ulimit -Hn 144"];
    under("-n 64", "echo -c 64", None).expect_error(2, &files);
    if !is_installed(Kind::Redis) || !is_root() {
        return;
    }
    // No other process runs as this user, so the limit counts only looptax, its thread and its reaper.
    for most in 1..=3 {
        let run = under(&format!("-u {most}"), "private:redis -c 1", Some(54_321));
        run.expect_error(2, &["cannot ", "ulimit -u"]);
        assert!(!run.stderr.contains("is installed"), "{}", run.stderr);
    }
}

/// Runs looptax while a folder of the system is empty.
fn run_without(folder: &str, scratch: &Scratch, args: &[&str]) -> Finished {
    let script = format!("mount -t tmpfs none {folder}; exec \"$@\"");
    Looptax::new("unshare", scratch)
        .args(["--mount", "bash", "-c", &script, "bash"])
        .args([exe()])
        .args(args.iter().copied())
        .run()
}

/// A root folder that was made by hand may have no `/dev`. The reaper could not start, and looptax printed no reason.
#[test]
fn r21_without_dev_what_measures_says_so_in_one_sentence() {
    if !is_root() || !is_there("unshare") {
        return;
    }
    let scratch = Scratch::new();
    for args in [&["compare", "echo"][..], &[], &["doctor"], &["reproduce", "moonen"]] {
        let run = run_without("/dev", &scratch, args);
        run.expect_error(2, &["/dev/null is missing", "mount --rbind /dev"]);
        assert_eq!(run.stderr.lines().count(), 2, "{args:?}: {}", run.stderr);
    }
    run_without("/dev", &scratch, &["--version"]).expect_code(0);
}

#[test]
fn r19_without_proc_each_command_says_so_in_one_sentence() {
    if !is_root() || !is_there("unshare") {
        return;
    }
    let scratch = Scratch::new();
    let run = |args: &[&str]| run_without("/proc", &scratch, args);
    let words = "/proc is not mounted";
    for args in [
        &["compare", "echo"][..],
        &["compare", "private:redis"],
        &[],
        &["doctor"],
        &["find"],
        &["check", "redis://127.0.0.1/"],
        &["check", "--pid", "1"],
        &["reproduce", "moonen"],
    ] {
        let run = run(args);
        run.expect_error(2, &[words, "mount -t proc"]);
        assert_eq!(run.stderr.lines().count(), 2, "{args:?}: {}", run.stderr);
    }
    run(&["run", "--dry-run"]).expect_error(125, &[words]);
    run(&["run", "--strict", "--", "echo", "hi"]).expect_error(125, &[words]);
    let plain = run(&["run", "--", "echo", "hi"]);
    plain.expect_code(0);
    assert_eq!(plain.stdout, "hi\n");
    assert!(plain.stderr.contains(words), "{}", plain.stderr);
    run(&["dsn", "redis://127.0.0.1/"]).expect_code(0);
}

/// Names of files, words in records and arguments are repeated in messages, but must not control the terminal.
#[test]
fn r19_what_strangers_wrote_steers_no_terminal() {
    const EVIL: &str = "\u{1b}[2J\u{1b}]0;evil\u{7}\u{9b}2J";
    let scratch = Scratch::new();
    let echo = ["echo", "--placement", "same"];
    compare(&scratch).args(echo).args(SHORT).run().expect_code(0);
    let mut record = saved(&scratch);
    record["comparisons"][0]["tax"][0]["verdict"] = EVIL.into();
    let file = format!("{EVIL}.json");
    fs::write(scratch.file(&file), record.to_string()).unwrap();
    let map = format!("127.0.0.1:1=/{EVIL}");
    let none = format!("{EVIL}none.json");
    for args in [
        &["show", &file][..],
        &["show", &none],
        &["show", &none, "--html", "r.html"],
        &["diff", &none, EVIL],
        &["show", EVIL],
        &["show", "--forget", EVIL],
        &["compare", EVIL],
        &["compare", "echo", "--workload", EVIL],
        &["compare", "echo", "--dry-run", "-o", &none],
        &["compare", "private:redis", "--workload", &format!("script:{EVIL}"), "--dry-run"],
        &["check", EVIL],
        &["check", EVIL, "x"],
        &["run", "--map", &map, "--dry-run"],
        &["run", "--map", EVIL, "--", "true"],
        &["run", "--port", EVIL, "--", "true"],
        &["run", "--port", "1", "--", EVIL],
        &["gate", &none, "--max-tax", EVIL],
        &[EVIL],
    ] {
        let run = Looptax::new(exe(), &scratch).args(args).run();
        for text in [&run.stdout, &run.stderr] {
            let steers = |c: char| c.is_control() && c != '\n';
            assert!(!text.contains(steers), "{args:?}: {text:?}");
        }
        assert!(!(run.stdout + &run.stderr).is_empty(), "{args:?}");
    }
}

#[track_caller]
fn wrong_password(kind: Kind, words: &[&str]) {
    let Some(server) = Server::start(kind) else {
        return;
    };
    let url = server.url_with("falsch");
    check(&[&url, "--yes"], 2, &[&["cannot log in"], words].concat());
}

#[test]
fn a_wrong_password_is_told_by_mariadb() {
    wrong_password(Kind::Mariadb, &["Access denied", "1045", "check user and"]);
}

#[test]
fn a_wrong_password_is_told_by_mysql() {
    wrong_password(Kind::Mysql, &["Access denied", "1045", "check user and"]);
}

#[test]
fn a_wrong_password_is_told_by_valkey() {
    wrong_password(Kind::Valkey, &["WRONGPASS", "check user and password"]);
}

#[test]
fn a_wrong_password_is_told_by_postgres() {
    wrong_password(Kind::Postgres, &["28P01", "check user and password"]);
}

#[test]
fn a_wrong_password_is_told_by_redis() {
    wrong_password(Kind::Redis, &["WRONGPASS", "check user and password"]);
}

#[test]
fn a_socket_that_is_not_there_is_named() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let args = [&server.url(), "--yes", "--socket", "/nonexistent/s.sock"];
    check(&args, 2, &["cannot connect to the socket `/nonexistent/s.sock`", "ss -xl"]);
}

#[test]
fn a_socket_path_that_is_too_long_is_counted() {
    let Some(server) = Server::start(Kind::Redis) else {
        return;
    };
    let long = format!("/{}", "x".repeat(107));
    check(
        &[&server.url(), "--yes", "--socket", &long],
        2,
        &["has 108 bytes, but the kernel accepts at most 107", "a shorter path"],
    );
}

#[test]
fn a_socket_without_permission_is_told() {
    let (scratch, others) = (Scratch::new(), Scratch::new());
    let fake = FakeRedis::start(&others.work(), Script::default());
    fs::set_permissions(&fake.socket, fs::Permissions::from_mode(0o000)).unwrap();
    // The other account may not be able to read the build folder.
    let copy = scratch.file("looptax");
    programs::copy(exe(), &copy);
    let url = format!("redis://{}", fake.tcp);
    let socket = fake.socket.to_str().unwrap();
    let mut looptax = Looptax::new(copy, &scratch).args(["compare", &url, "--socket", socket, "--yes"]).args(SHORT);
    if rustix::process::geteuid().is_root() {
        looptax = looptax.uid(NOBODY);
    }
    let run = looptax.run();
    run.expect_error(2, &["cannot connect to the socket", "Permission denied", "namei -l"]);
    scratch.check_nothing_left();
}

#[test]
fn a_closed_port_is_named() {
    let address = free_address();
    check(&[&format!("redis://{address}"), "--yes"], 2, &[&format!("cannot connect to {address}"), "ss -tln"]);
}

#[test]
fn two_servers_behind_the_arms_are_told_apart() {
    let Some((one, two)) = Server::start(Kind::Redis).zip(Server::start(Kind::Redis)) else {
        return;
    };
    // Both servers have the same password, so only their own information shows that they are different servers.
    two.redis(&["CONFIG", "SET", "requirepass", one.password()]);
    let url = two.url_with(one.password());
    check(&[&url, "--yes", "--socket", &one.socket()], 3, &["the arms lead to different servers", "--socket"]);
}

#[track_caller]
fn other_kind(kind: Kind, scheme: &str, words: &[&str]) {
    let Some(server) = Server::start(kind) else {
        return;
    };
    let url = format!("{scheme}://somebody:secret@{}/x", server.it.tcp);
    let words = [&["cannot log in", "of another kind"], words].concat();
    // looptax checks the owner of the server before it sends anything, unless `--trust-peer` skips this check.
    check(&[&url, "--yes", "--trust-peer"], 2, &words);
}

#[test]
fn redis_is_no_mysql() {
    other_kind(Kind::Redis, "mysql", &["no answer within"]);
}

#[test]
fn redis_is_no_postgres() {
    other_kind(Kind::Redis, "postgres", &["no answer within"]);
}

#[test]
fn mariadb_is_no_redis() {
    other_kind(Kind::Mariadb, "redis", &["not a Redis answer"]);
}

#[test]
fn mariadb_is_no_postgres() {
    other_kind(Kind::Mariadb, "postgres", &["not a PostgreSQL answer"]);
}

#[test]
fn a_full_disk_is_told() {
    let scratch = Scratch::new();
    let run = Looptax::new(exe(), &scratch)
        .args(["compare", "echo", "--placement", "same", "-o", "/dev/full"])
        .args(SHORT)
        .run();
    run.expect_error(2, &["cannot write `/dev/full`", "No space left", "free some space", "the record is at"]);
    let (_, spare) = run.stdout.split_once("record: ").unwrap();
    std::fs::remove_file(spare.trim_end()).unwrap();
    scratch.check_nothing_left();
}

#[test]
fn a_result_that_cannot_be_printed_is_told_with_the_place_of_its_record() {
    let scratch = Scratch::new();
    let line = format!(
        "exec '{}' compare echo --placement same {} -o there.json >/dev/full",
        exe().display(),
        SHORT.join(" ")
    );
    let run = Looptax::new("sh", &scratch).args(["-c", &line]).run();
    run.expect_error(
        2,
        &[
            "cannot print the result to stdout",
            "No space left",
            "the result is in there.json: `looptax show there.json` prints it",
        ],
    );
}

#[test]
fn no_connections_are_no_comparison() {
    let scratch = Scratch::new();
    let run = compare(&scratch).args(["echo", "-c", "0"]).run();
    run.expect_error(2, &["`-c 0` is not a number of connections"]);
    scratch.check_nothing_left();
}

#[test]
fn a_running_server_is_left_alone_until_somebody_agrees() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    check(&[&url], 2, &["only if you agree to the plan", "--yes"]);
}

/// With `--write`: looptax must remove what it wrote although the server accepts no more connections.
#[track_caller]
fn too_many(kind: Kind, words: &[&str]) {
    let Some(server) = Server::start_for(kind, 0) else {
        return;
    };
    let scratch = Scratch::new();
    let args = [&server.url(), "--yes", "--own-server", "--write", "-c", "40"];
    let run = compare(&scratch).args(args).args(&SHORT[2..]).run();
    run.expect_error(2, &[&["cannot connect both sides"], words].concat());
    scratch.check_nothing_left();
    if kind == Kind::Redis {
        assert_eq!(server.redis(&["DBSIZE"]), "0");
    } else {
        assert_eq!(server.scratch_places(), [""; 0]);
    }
}

#[test]
fn more_connections_than_mariadb_allows_are_told() {
    too_many(Kind::Mariadb, &["1040", "lower -c, or raise the server's limit"]);
}

#[test]
fn more_connections_than_mysql_allows_are_told() {
    too_many(Kind::Mysql, &["1040", "lower -c, or raise the server's limit"]);
}

#[test]
fn more_connections_than_postgres_allows_are_told() {
    too_many(Kind::Postgres, &["53300", "lower -c, or raise the server's limit"]);
}

#[test]
fn more_connections_than_redis_allows_are_told() {
    // The server's text ("max number of clients") may be lost when the connection closes.
    too_many(Kind::Redis, &["cannot log in", "lower -c, or raise the server's limit"]);
}

#[test]
fn mysql_is_told_apart_from_mariadb() {
    if !is_installed(Kind::Mariadb) || find_binary(Kind::Mysql).is_some() {
        return;
    }
    let scratch = Scratch::new();
    let run = compare(&scratch).args(["private:mysql"]).run();
    run.expect_error(2, &["mysql", "private:mariadb"]);
}

#[test]
fn a_client_that_does_not_talk_to_the_server_is_told_who_does() {
    let unknown = ["private:redis", "--client-like", "perl"];
    check(&unknown, 2, &["`--client-like perl`", "for redis: ", "redis-py"]);
    let elsewhere = ["private:redis", "--client-like", "libpq"];
    check(&elsewhere, 2, &["no client called `libpq` for redis", "hiredis"]);
    check(&["echo", "--client-like", "php"], 2, &["any client of echo", "--client poll"]);
}

#[test]
fn a_client_model_and_a_real_client_exclude_each_other() {
    let scratch = Scratch::new();
    let both = ["echo", "--client", "poll", "--client-like", "php"];
    let run = compare(&scratch).args(both).run();
    run.expect_code(2);
    assert!(run.stderr.contains("--client-like"), "{}", run.stderr);
}

#[test]
fn r20_what_is_no_dsn_is_told_how_one_looks_without_the_words_of_a_library() {
    let scratch = Scratch::new();
    for line in ["check app@localhost", "dsn app@localhost", "dsn localhost:3306"] {
        let run = Looptax::new(exe(), &scratch).args(line.split(' ')).run();
        run.expect_error(2, &["this is not a DSN", "mysql://user@127.0.0.1:3306/db"]);
        assert!(!run.stderr.contains("relative URL"), "{}", run.stderr);
    }
    let neither = Looptax::new(exe(), &scratch).args(["check", "localhost/db"]).run();
    neither.expect_error(2, &["cannot read `localhost/db`", "mysql://user@127.0.0.1:3306/db"]);
}

#[test]
fn r20_a_folder_is_the_record_in_it_or_no_record() {
    let scratch = Scratch::new();
    let run = Looptax::new(exe(), &scratch).args(["show", "."]).run();
    run.expect_error(2, &["the folder `.` contains no", "looptax show"]);
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/records");
    fs::copy(records.join("record.json"), scratch.file("record.json")).unwrap();
    Looptax::new(exe(), &scratch).args(["show", "."]).run().expect_code(0);
}

#[test]
fn r20_a_rate_that_fills_no_slice_is_told_in_the_plan() {
    let scratch = Scratch::new();
    let plan = |rate: &str| {
        let run = Looptax::new(exe(), &scratch).args(["compare", "echo", "-c", "1", "--dry-run", "--rate", rate]).run();
        run.expect_code(0);
        run.stdout
    };
    let low = plan("40");
    assert!(low.contains("warning: at 40 requests per second in total") && low.contains("write --rate 40%"), "{low}");
    let rather_low = plan("150");
    assert!(rather_low.contains("warning: at 150 ") && !rather_low.contains("150%"), "{rather_low}");
    for fine in ["40%", "50k"] {
        assert!(!plan(fine).contains("warning"), "{fine}");
    }
}

/// Expects a usage error with these words.
#[track_caller]
fn check_error(scratch: &Scratch, args: &[&str], words: &[&str]) {
    let run = Looptax::new(exe(), scratch).args(args).run();
    run.expect_code(2);
    let flat = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in words {
        assert!(flat.contains(word), "`{word}`: {flat}");
    }
}

#[test]
fn a_misspelt_word_is_answered_with_the_one_that_was_meant() {
    let scratch = Scratch::new();
    fs::write(scratch.file("wp-config.php"), "<?php").unwrap();
    let file = scratch.file("wp-config.phpp");
    check_error(&scratch, &["mysql"], &["to measure a server: looptax compare private:mysql"]);
    check_error(&scratch, &["postgers"], &["to measure a server: looptax compare private:postgres"]);
    check_error(&scratch, &["compare", "postgers"], &["did you mean `private:postgres`?"]);
    check_error(&scratch, &["why", "private:rediss"], &["did you mean `private:redis`?"]);
    let meant = format!("did you mean `{}`?", scratch.file("wp-config.php").display());
    check_error(&scratch, &["check", file.to_str().unwrap()], &[&meant]);
}

#[test]
fn the_usage_of_run_can_be_typed() {
    let scratch = Scratch::new();
    let run = Looptax::new(exe(), &scratch).args(["run"]).run();
    run.expect_code(125);
    assert!(run.stderr.contains("Usage: looptax run [OPTIONS] -- CMD"), "{}", run.stderr);
}

#[test]
fn values_of_options_say_how_they_are_written() {
    let scratch = Scratch::new();
    check_error(&scratch, &["compare", "echo", "-c", "sixteen"], &["a whole number such as 16 or 1k"]);
    check_error(&scratch, &["compare", "echo", "-c", "17k"], &["`-c 17000` is not a number of connections"]);
    let either = "this may mean 0.2 % or 20 %: write 0.2% or 20%";
    check_error(&scratch, &["gate", "last", "--max-tax", "0.2"], &[either]);
}

#[test]
fn a_server_that_is_not_there_is_named_before_anybody_is_asked() {
    let scratch = Scratch::new();
    let address = free_address();
    let url = format!("redis://{address}");
    let words = format!("no process listens at {address}, the address in {url}");
    check_error(&scratch, &["compare", &url], &[&words, "looptax find"]);
}
