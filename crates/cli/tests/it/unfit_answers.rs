//! Servers that accept every login and give unsuitable answers: looptax must conclude nothing about them, and must not
//! report that anything works.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use looptax_testkit::fake::{Answer, Fake, Script, Speaks};
use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;
use looptax_testkit::{patience, programs};
use serde_json::Value;

use crate::fixture::{Alive, exe};

/// The variable that makes this test program a fake server. It contains the positions of the fake's protocol and answer
/// in their lists, and the fake's folder.
const BE_A_FAKE: &str = "LOOPTAX_TEST_FAKE";
const SELF: &str = "unfit_answers::a_fake_is_a_process_of_its_own_with_a_server_s_name";

/// The points about an account or a server; none of them can be decided here.
const OF_THE_SERVER: [&str; 7] = ["same-server", "account", "login", "tls", "hba", "plugin", "login-not-tried"];
/// Words of verdicts that are not possible here.
const CLAIMS: [&str; 4] = ["would work", "with the same rights", "lead to the same server", "proved:"];

/// A fake that `find` recognizes as a server.
struct Known {
    _process: Alive,
    url: String,
    socket: String,
}

fn program(speaks: Speaks) -> &'static str {
    match speaks {
        Speaks::Mysql => "mysqld",
        Speaks::Postgres => "postgres",
        Speaks::Redis => "redis-server",
        Speaks::Memcached => "memcached",
        Speaks::Mongodb => "mongod",
    }
}

impl Known {
    /// Starts a fake; `own` is this test program, in the same file system as the scratch folder.
    fn start(scratch: &Scratch, own: &Path, speaks: Speaks, answer: Answer) -> Self {
        let folder = scratch.work();
        let file = folder.join(program(speaks));
        fs::hard_link(own, &file).unwrap();
        let place = |is_it: bool, idx: usize| is_it.then_some(idx);
        let speaks_idx =
            { Speaks::ALL.into_iter().enumerate() }.find_map(|(idx, it)| place(it == speaks, idx)).unwrap();
        let answer_idx =
            { Answer::ALL.into_iter().enumerate() }.find_map(|(idx, it)| place(it == answer, idx)).unwrap();
        let process = Alive::spawn(
            Command::new(&file)
                .args(["--exact", SELF, "--nocapture"])
                .env(BE_A_FAKE, format!("{speaks_idx} {answer_idx} {}", folder.display()))
                .stdout(Stdio::null())
                .stderr(Stdio::null()),
        );
        let told = patience::wait_for("the fake", Duration::from_secs(20), || {
            let told = fs::read_to_string(folder.join("told")).ok()?;
            told.ends_with('\n').then_some(told)
        });
        let (url, socket) = told.trim().split_once(' ').unwrap();
        Self { _process: process, url: url.to_owned(), socket: socket.to_owned() }
    }
}

#[test]
fn a_fake_is_a_process_of_its_own_with_a_server_s_name() {
    let Ok(wish) = std::env::var(BE_A_FAKE) else {
        return;
    };
    let mut words = wish.splitn(3, ' ');
    let mut idx = || words.next().unwrap().parse::<usize>().unwrap();
    let (speaks, answer) = (Speaks::ALL[idx()], Answer::ALL[idx()]);
    let folder = Path::new(words.next().unwrap());
    let fake = Fake::start(folder, Script::new(speaks, answer));
    let told = format!("{} {}\n", fake.url(), fake.socket.display());
    fs::write(folder.join("told"), told).unwrap();
    // The fake runs until the test ends it.
    loop {
        thread::park();
    }
}

fn each(check: impl Fn(&Scratch, &Known, &str)) {
    let mut failed = Vec::new();
    // The program is large, and the folder for temporary files may be in memory, so there is only one copy of it.
    let kept = Scratch::new();
    let own = kept.file("own");
    programs::copy(std::env::current_exe().unwrap(), &own);
    for speaks in Speaks::ALL {
        for answer in Answer::ALL {
            let name = format!("{speaks:?} {answer:?}");
            let scratch = Scratch::new();
            let known = Known::start(&scratch, &own, speaks, answer);
            let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                check(&scratch, &known, &name);
            }));
            if checked.is_err() {
                failed.push(name);
            }
        }
    }
    assert!(failed.is_empty(), "{}: {failed:?}", failed.len());
}

#[track_caller]
fn check_claims_nothing(run: &Finished, name: &str) {
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(!said.contains("panicked"), "{name}: {said}");
    for claim in CLAIMS {
        assert!(!said.contains(claim), "{name}: {claim}: {said}");
    }
}

/// Checks that no point about the account passes, fails or is a note.
#[track_caller]
fn check_open(points: &Value, name: &str) {
    for point in points.as_array().unwrap() {
        let topic = point["topic"].as_str().unwrap();
        // The kernel reports whose listening sockets they are, so this point may pass.
        let is_kernels = point["how"].as_str().unwrap().contains("listening sockets");
        let is_of_server = OF_THE_SERVER.contains(&topic) && !is_kernels;
        let outcome = point["outcome"].as_str().unwrap();
        let is_claim = matches!(outcome, "pass" | "note" | "fail");
        assert!(!(is_of_server && is_claim), "{name}: {point}");
    }
}

#[test]
fn r44_check_knows_nothing_of_a_server_that_does_not_answer_as_it_was_asked() {
    each(|scratch, known, name| {
        let args = ["check", &known.url, "--socket", &known.socket, "--json"];
        let run = Looptax::new(exe(), scratch).args(args).run();
        check_claims_nothing(&run, name);
        assert_eq!(run.status.code(), Some(3), "{name}: {}", run.stdout);
        let answer: Value = serde_json::from_str(&run.stdout).unwrap();
        check_open(&answer, name);
    });
}

#[test]
fn r44_check_of_a_file_and_a_planned_switch_know_nothing_of_it() {
    each(|scratch, known, name| {
        let file = scratch.file(".env");
        fs::write(&file, format!("DATABASE_URL={}\n", known.url)).unwrap();
        let file = file.to_str().unwrap();
        let check = ["check", file, "--socket", &known.socket, "--json"];
        let run = Looptax::new(exe(), scratch).args(check).run();
        check_claims_nothing(&run, name);
        // looptax knows no such setting for memcached and MongoDB.
        if run.status.code() != Some(2) {
            assert_eq!(run.status.code(), Some(3), "{name}: {}", run.stdout);
            let answer: Value = serde_json::from_str(&run.stdout).unwrap();
            for connection in answer.as_array().unwrap() {
                assert_eq!(connection["verdict"], "open", "{name}: {connection}");
                check_open(&connection["points"], name);
            }
        }
        let before = fs::read(file).unwrap();
        let switch = ["switch", file, "--dry-run", "--socket", &known.socket];
        let run = Looptax::new(exe(), scratch).args(switch).run();
        check_claims_nothing(&run, name);
        assert_ne!(run.status.code(), Some(0), "{name}: {}", run.stdout);
        assert_eq!(fs::read(file).unwrap(), before, "{name}");
    });
}

#[test]
fn r44_compare_proves_nothing_by_such_answers() {
    const SHORT: [&str; 8] = ["--fixed", "6", "--slice-ms", "10", "--warm-up", "0s", "-c", "1"];
    each(|scratch, known, name| {
        // For MongoDB looptax sends only a ping, and the kernel proves both ends.
        if name.starts_with("Mongodb") {
            return;
        }
        let args = ["compare", &known.url, "--yes", "-q", "--socket", &known.socket];
        let run = Looptax::new(exe(), scratch).args(args).args(SHORT).run();
        check_claims_nothing(&run, name);
        let code = run.status.code();
        assert!(matches!(code, Some(2 | 3)), "{name}: {}{}", run.stdout, run.stderr);
    });
}
