//! `MongoDB`'s protocol with a real server, `FerretDB`: as a private server and as a running server.

use std::process::Command;

use looptax_model::dsn::Kind;
use looptax_testkit::runner::Looptax;
use looptax_testkit::scratch::Scratch;
use looptax_testkit::skips::skip;
use serde_json::Value;

use crate::fixture::{SHORT, Server, compare, exe, is_installed, is_there, saved};
use crate::workloads::{check, run};

/// Checks that both arms are proved, by the process that answers and by what it sees of the connection.
#[track_caller]
fn check_proved(comparison: &Value, pid: u64) {
    let arms = comparison["arms"].as_array().unwrap();
    let views = ["local socket of process ", "TCP from 127.0.0.1:"];
    assert_eq!(arms.len(), views.len());
    for (arm, sees) in arms.iter().zip(views) {
        let proof = &arm["proof"];
        assert_eq!(arm["verified"], true, "{arm}");
        assert_eq!(proof["server_identity"], format!("pid={pid}"), "{arm}");
        let view = proof["server_view"].as_str().unwrap();
        assert!(view.starts_with(sees), "{arm}");
    }
}

#[test]
fn ferretdb_counts_each_workload_s_commands_as_we_do() {
    for workload in ["ping", "find-one", "insert-one"] {
        check(Kind::Ferretdb, &["--workload", workload], [1, 1]);
    }
    for client in ["poll-first", "block", "event"] {
        check(Kind::Ferretdb, &["--client", client], [1, 1]);
    }
}

#[test]
fn ferretdb_s_threads_are_placed_and_metered_as_one_process() {
    let Some(comparison) = run(Kind::Ferretdb, &[]) else {
        return;
    };
    check_proved(&comparison, comparison["target"]["pid"].as_u64().unwrap());
    assert_eq!(comparison["workload"]["name"], "find-one");
    let target = &comparison["target"];
    assert_eq!(target["version"], "1.24.2", "{target}");
    for epoch in comparison["raw"]["epochs"].as_array().unwrap() {
        let slice = &epoch["slices"][0];
        assert!(slice["server_cpu_ns"].is_u64(), "{epoch}");
        assert!(slice["server_switches"].is_null(), "its threads come and go");
        // In every epoch, both ends of every connection are on the same core, which was drawn at random.
        let cores = [&epoch["client_cores"], &epoch["server_cores"]];
        assert_eq!(cores[0], cores[1], "{epoch}");
        assert_eq!(cores[0][0], cores[0][1], "{epoch}");
    }
}

#[test]
fn ferretdb_has_the_arms_that_one_address_and_one_path_give() {
    if !is_installed(Kind::Ferretdb) {
        return;
    }
    for (arm, why) in
        [("bridge", "FerretDB listens on one address and one path"), ("tls", "the private server has no TLS")]
    {
        let scratch = Scratch::new();
        let run = compare(&scratch).args(["private:ferretdb", "--arms", &format!("unix,{arm}")]).args(SHORT).run();
        assert!(run.stderr.contains(why), "{}", run.stderr);
    }
    let scratch = Scratch::new();
    let refused = compare(&scratch).args(["private:ferretdb", "--pipeline", "4"]).args(SHORT).run();
    refused.expect_code(2);
    let words = "looptax sends a command only after the previous answer";
    assert!(refused.stderr.contains(words), "{}", refused.stderr);
}

/// Returns the databases on a server that looptax may have made.
fn scratch_places(server: &Server) -> Vec<String> {
    let mut names = server.talk().mongodb().unwrap().databases().unwrap();
    names.retain(|it| it.starts_with("looptax_scratch_"));
    names
}

#[test]
fn a_running_server_is_asked_for_pings_and_written_to_where_that_is_said() {
    let Some(server) = Server::start(Kind::Ferretdb) else {
        return;
    };
    let pid = u64::from(server.it.pid);
    let socket = server.socket();
    for (options, workload) in [
        (&["--socket", &socket][..], "ping"),
        (&[], "ping"),
        (&["--write", "--workload", "find-one"], "find-one"),
        (&["--write", "--workload", "insert-one"], "insert-one"),
    ] {
        let scratch = Scratch::new();
        let run = server.compare(&scratch).args(options).run();
        run.expect_code(0);
        let record = saved(&scratch);
        let comparison = &record["comparisons"][0];
        assert_eq!(comparison["workload"]["name"], workload);
        assert_eq!(comparison["target"]["kind"], "ferretdb");
        check_proved(comparison, pid);
        assert!(!record.to_string().contains(server.password()));
        assert_eq!(scratch_places(&server), [""; 0]);
    }
}

#[test]
fn what_writes_is_refused_without_leave_and_a_wrong_password_with_the_server_s_words() {
    let Some(server) = Server::start(Kind::Ferretdb) else {
        return;
    };
    let scratch = Scratch::new();
    let refused = { server.compare(&scratch) }.args(["--workload", "insert-one"]).run();
    refused.expect_code(2);
    assert!(refused.stderr.contains("--write"), "{}", refused.stderr);
    let wrong = compare(&scratch).args([server.url_with("wrong"), "--yes".to_owned()]).args(SHORT).run();
    wrong.expect_code(2);
    assert!(wrong.stderr.contains("code 18"), "{}", wrong.stderr);
}

#[test]
fn find_check_and_dsn_know_it() {
    let Some(server) = Server::start(Kind::Ferretdb) else {
        return;
    };
    let scratch = Scratch::new();
    let socket = server.socket();
    let run = |args: &[&str]| {
        let run = Looptax::new(exe(), &scratch).args(args).run();
        run.expect_code(0);
        run.stdout.clone()
    };
    let found: Value = serde_json::from_str(&run(&["find", "--json"])).unwrap();
    let servers = found["servers"].as_array().unwrap();
    let seen = servers.iter().find(|it| it["pid"] == server.it.pid);
    let seen = seen.unwrap_or_else(|| panic!("{found}"));
    assert_eq!(seen["kind"], "ferretdb", "{seen}");
    let shown = seen["endpoints"].to_string();
    assert!(shown.contains(&socket) && shown.contains(&server.it.tcp.to_string()), "{shown}");

    let checked = run(&["check", &server.url()]);
    assert!(checked.starts_with("would work"), "{checked}");
    assert!(checked.contains("same server, login"), "{checked}");
    let spelled = run(&["dsn", &server.url(), "--for", "python"]);
    let path = socket.replace('/', "%2F");
    assert!(spelled.contains(&format!("@{path}/looptax'")), "{spelled}");
    let url = format!("{}?authSource=admin", server.url());
    let spelled = run(&["dsn", &url, "--for", "python"]);
    let wanted = format!("@{path}/looptax?authSource=admin'");
    assert!(spelled.contains(&wanted), "{spelled}");
}

/// A script that connects with PHP's driver to the URL in its argument, and prints `ok` or the driver's error.
const ASK: &str = r"
$manager = new MongoDB\Driver\Manager($argv[1]);
try {
    $manager->executeCommand('looptax', new MongoDB\Driver\Command(['find' => 'nothing']))->toArray();
    echo 'ok';
} catch (Exception $e) {
    echo $e->getMessage();
}";

fn has_php_driver() -> bool {
    if !is_there("php") {
        return false;
    }
    let modules = Command::new("php").arg("-m").output().unwrap();
    let is_loaded = String::from_utf8_lossy(&modules.stdout).contains("\nmongodb\n");
    if !is_loaded {
        skip("PHP's mongodb is not installed");
    }
    is_loaded
}

#[test]
fn a_url_of_a_set_is_spelled_with_its_options_and_php_logs_in_with_the_text() {
    let Some(server) = Server::start(Kind::Ferretdb) else {
        return;
    };
    if !has_php_driver() {
        return;
    }
    let scratch = Scratch::new();
    let url = server.url();
    let (login, accounts) = url.rsplit_once('/').unwrap();
    let asked = |url: &str| {
        let output = Command::new("php").args(["-r", ASK, "--", url]).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    for rest in ["&replicaSet=rs0&tls=true&retryWrites=false", "&appName=it%27s"] {
        // The account belongs to another database than the one that is used: without `authSource` the login fails.
        let url = format!("{login}/other?authSource={accounts}{rest}");
        let args = ["dsn", &url, "--for", "php", "--show-password"];
        let run = Looptax::new(exe(), &scratch).args(args).run();
        run.expect_code(0);
        let text = run.stdout.split_once("Client('").unwrap().1;
        let (text, _) = text.split_once("')").unwrap();
        assert!(text.contains(&server.socket().replace('/', "%2F")), "{text}");
        assert_eq!(asked(text), "ok", "{text}");
        let bare = text.split('?').next().unwrap();
        assert!(asked(bare).contains("uthentication"), "{bare}");
    }
}
