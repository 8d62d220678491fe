//! Every arm to a private server: it is measured, proved in the record, named if it is not available, and leaves
//! nothing behind.

use std::fs;
use std::process::Command;
use std::time::Duration;

use looptax_experiment::servers::Listening;
use looptax_model::dsn::Kind;
use looptax_testkit::runner::send;
use looptax_testkit::scratch::Scratch;
use rustix::process::Signal;
use serde_json::Value;

use crate::fixture::{SHORT, Server, check_refused, compare, is_installed, is_root, is_there, saved};

/// Returns the arms of the first comparison in the record.
fn arms(record: &Value) -> Vec<Value> {
    record["comparisons"][0]["arms"].as_array().unwrap().clone()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Checks that the proof of an arm matches the arm's name.
#[track_caller]
fn check_proof(arm: &Value) {
    let (name, proof) = (text(&arm["name"]), &arm["proof"]);
    let (endpoint, view) = (text(&arm["endpoint"]), text(&proof["server_view"]));
    let (family, starts, sees) = match name {
        "unix" | "tls-unix" => ("AF_UNIX", "/", "local socket"),
        "abstract" => ("AF_UNIX", "@looptax-", "local socket"),
        "tcp" | "tls" => ("AF_INET", "127.0.0.1:", "TCP from 127.0.0.1:"),
        "tcp6" => ("AF_INET6", "[::1]:", "TCP from [::1]:"),
        "bridge" => ("AF_INET", "10.77.0.2:", "TCP from 10.77.0.1:"),
        "nat" => ("AF_INET", "10.78.0.1:", "TCP from 10.78.0.1:"),
        "proxy" => ("AF_INET", "127.0.0.1:", "TCP from 10.77.0.1:"),
        "pasta" => ("AF_INET", "127.0.0.2:", "TCP from 127.0.0.1:"),
        other => panic!("{other}"),
    };
    assert_eq!(arm["verified"], true, "{arm}");
    assert_eq!(proof["family"], family, "{arm}");
    assert!(endpoint.starts_with(starts), "{arm}");
    // The echo server reports nothing about its clients.
    assert!(view.starts_with(sees) || view == "greeted by the same process", "{arm}");
    assert_eq!(endpoint.contains(" through "), ["nat", "proxy", "pasta"].contains(&name), "{arm}");
    let tls = text(&proof["tls"]);
    assert_eq!(tls.starts_with("TLSv1.3 TLS13_"), name.starts_with("tls"), "{arm}");
}

/// Measures a private server over these arms; the arms in `missing` are named and left out.
#[track_caller]
fn check(kind: Kind, wanted: &[&str], missing: &[&str], options: &[&str]) {
    if !is_installed(kind) || !is_root() || !is_there("nft") {
        return;
    }
    let scratch = Scratch::new();
    let target = match kind {
        Kind::Echo => "echo".to_owned(),
        kind => format!("private:{kind}"),
    };
    let all = [wanted, missing].concat().join(",");
    let run = compare(&scratch).args([&target, "--placement", "same", "--arms", &all]).args(SHORT).args(options).run();
    run.expect_code(0);
    let record = saved(&scratch);
    let arms = arms(&record);
    let names: Vec<&str> = arms.iter().map(|arm| text(&arm["name"])).collect();
    assert_eq!(names, wanted);
    arms.iter().for_each(check_proof);
    let problems: Vec<&str> = record["problems"].as_array().unwrap().iter().map(text).collect();
    for arm in missing {
        let words = format!("{target}: {arm} is not measured: ");
        let is_told = |it: &&str| it.starts_with(&words);
        assert!(problems.iter().any(is_told), "{problems:?}");
        assert!(run.stdout.contains(&words), "{}", run.stdout);
    }
    scratch.check_nothing_left();
}

const ALL_BUT_SEALED: [&str; 5] = ["unix", "tcp", "tcp6", "bridge", "nat"];

#[test]
fn redis_has_all_but_an_abstract_socket() {
    let wanted = [&ALL_BUT_SEALED[..], &["proxy", "tls"]].concat();
    check(Kind::Redis, &wanted, &["abstract", "tls-unix"], &[]);
}

#[test]
fn postgres_has_an_abstract_socket_as_well() {
    let wanted = [&ALL_BUT_SEALED[..], &["proxy", "tls", "abstract"]].concat();
    check(Kind::Postgres, &wanted, &["tls-unix"], &[]);
}

#[test]
fn mariadb_has_tls_on_its_socket() {
    let wanted = [&ALL_BUT_SEALED[..], &["proxy", "tls", "tls-unix"]].concat();
    check(Kind::Mariadb, &wanted, &["abstract"], &[]);
}

#[test]
fn mysql_has_all_that_mariadb_has() {
    let wanted = [&ALL_BUT_SEALED[..], &["proxy", "tls", "tls-unix"]].concat();
    check(Kind::Mysql, &wanted, &["abstract"], &[]);
    check(Kind::Valkey, &["unix", "tls", "bridge", "proxy"], &[], &[]);
}

#[test]
fn php_fpm_and_http_have_all_but_tls() {
    let sealed = ["tls", "tls-unix"];
    let wanted = [&ALL_BUT_SEALED[..], &["proxy"]].concat();
    check(Kind::PhpFpm, &wanted, &[&sealed[..], &["abstract"]].concat(), &[]);
    check(Kind::Http, &[&wanted[..], &["abstract"]].concat(), &sealed, &[]);
}

#[test]
fn memcached_and_echo_have_no_tls() {
    check(Kind::Memcached, &ALL_BUT_SEALED, &["proxy", "tls", "abstract"], &[]);
    let wanted = [&ALL_BUT_SEALED[..], &["proxy", "abstract"]].concat();
    check(Kind::Echo, &wanted, &["tls"], &[]);
}

#[test]
fn connections_are_opened_over_every_arm() {
    let wanted = ["tcp", "tls", "bridge", "nat", "proxy"];
    check(Kind::Redis, &wanted, &[], &["--workload", "connect"]);
    check(Kind::Postgres, &wanted, &[], &["--workload", "connect"]);
    let options = ["--reconnect-every", "3"];
    check(Kind::Mariadb, &["tls-unix", "tls", "proxy"], &[], &options);
}

#[test]
fn a_port_that_pasta_forwards_is_an_arm() {
    if !is_there("pasta") {
        return;
    }
    check(Kind::Redis, &["unix", "tcp", "pasta"], &[], &[]);
    check(Kind::Postgres, &["proxy", "pasta"], &[], &["--workload", "connect"]);
    check(Kind::Memcached, &["tcp", "bridge"], &["pasta"], &[]);
}

#[test]
fn many_rows_and_streams_go_over_every_arm() {
    let wanted = ["tcp", "tls", "bridge", "proxy"];
    let scratch = Scratch::new();
    if is_installed(Kind::Mariadb) && is_root() {
        let run = compare(&scratch)
            .args(["private:mariadb", "--placement", "same", "--arms", &wanted.join(",")])
            .args(["--workload", "dump"])
            .args(["--rows", "2000", "--fixed", "6", "-c", "1"])
            .run();
        run.expect_code(0);
        arms(&saved(&scratch)).iter().for_each(check_proof);
    }
    let stream = ["--workload", "stream", "--stream-bytes", "100000"];
    check(Kind::Echo, &["unix", "bridge", "proxy"], &[], &stream);
    let pipelined = ["--pipeline", "16", "--workload", "get"];
    check(Kind::Redis, &["unix", "tls", "proxy"], &[], &pipelined);
}

/// A client in a container that shares the socket's folder sees the socket at another path, and no port of the server.
#[test]
fn a_socket_in_a_shared_folder_is_reached_from_another_namespace() {
    if !is_root() {
        return;
    }
    for (kind, workload) in [(Kind::Redis, "get"), (Kind::Mariadb, "connect"), (Kind::Memcached, "get")] {
        if !is_installed(kind) {
            continue;
        }
        let scratch = Scratch::new();
        let run = compare(&scratch)
            .args([format!("private:{kind}").as_str(), "--placement", "same"])
            .args(["--from-namespace", "--workload", workload])
            .args(SHORT)
            .run();
        run.expect_code(0);
        let record = saved(&scratch);
        let [unix, tcp] = &arms(&record)[..] else {
            panic!("two arms");
        };
        assert!(text(&unix["endpoint"]).starts_with("/mnt/s"), "{unix}");
        assert!(text(&unix["endpoint"]).contains("another network namespace and another mount namespace"));
        assert_eq!(unix["proof"]["family"], "AF_UNIX");
        assert_eq!((&unix["verified"], &tcp["verified"]), (&true.into(), &true.into()));
        scratch.check_nothing_left();
    }
    let line = "redis-benchmark -n 1000 {transport}";
    let exec = ["private:redis", "--from-namespace", "--exec", line];
    check_refused(&exec, &["opens its own"]);
}

#[test]
fn workloads_are_measured_one_after_the_other() {
    let scratch = Scratch::new();
    let run = compare(&scratch).args(["echo", "--placement", "same", "--workload", "ping,connect"]).args(SHORT).run();
    run.expect_code(0);
    let record = saved(&scratch);
    let comparisons = record["comparisons"].as_array().unwrap();
    let names: Vec<&str> = comparisons.iter().map(|it| text(&it["workload"]["name"])).collect();
    assert_eq!(names, ["ping", "connect"]);
    scratch.check_nothing_left();
    check_refused(&["echo", "--workload", "ping,pong"], &["`pong`"]);
}

/// The bill shows what each arm adds to the arm below it, and these parts add up to the whole.
#[test]
fn several_arms_have_a_bill() {
    if !is_installed(Kind::Redis) {
        return;
    }
    let scratch = Scratch::new();
    let run =
        compare(&scratch).args(["private:redis", "--placement", "same", "--arms", "tls,tcp,unix"]).args(SHORT).run();
    run.expect_code(0);
    let record = saved(&scratch);
    let comparison = &record["comparisons"][0];
    if comparison["tax"].as_array().unwrap().iter().any(|tax| tax["verdict"] == "invalid") {
        return;
    }
    let bill = &comparison["bill"];
    assert_eq!(bill["root"], "unix");
    let steps = bill["steps"].as_array().unwrap();
    let pairs: Vec<[&str; 2]> = steps.iter().map(|it| [text(&it["arm"]), text(&it["over"])]).collect();
    assert_eq!(pairs, [["tcp", "unix"], ["tls", "tcp"]]);
    let value = |it: &Value| it["value"].as_f64().unwrap();
    let sum = value(&steps[0]["time_us"]) + value(&steps[1]["time_us"]) + steps[1]["left_over_us"].as_f64().unwrap();
    assert!((sum - value(&steps[1]["in_all_us"])).abs() < 1e-9);
    assert!(run.stdout.contains("+ loopback TCP"), "{}", run.stdout);
    assert!(run.stdout.contains("+ TLS on tcp"), "{}", run.stdout);
}

/// Returns the machine's interfaces, namespaces and firewall rules, from the machine's own tools.
fn outside() -> [String; 3] {
    let told = |line: &[&str]| {
        let output = Command::new(line[0]).args(&line[1..]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    [told(&["ip", "-o", "link"]), told(&["ip", "netns"]), told(&["nft", "--stateless", "list", "ruleset"])]
}

const OF_NAMESPACES: [&str; 3] = ["private:redis", "--arms", "tcp,bridge,nat,proxy"];

#[test]
fn nothing_is_left_and_nothing_of_others_is_touched() {
    if !is_installed(Kind::Redis) || !is_root() || !is_there("nft") || !is_there("ip") {
        return;
    }
    let before = outside();
    let scratch = Scratch::new();
    let run = compare(&scratch).args(OF_NAMESPACES).args(SHORT).run();
    run.expect_code(0);
    assert_eq!(outside(), before);
    scratch.check_nothing_left();
    let mut run = compare(&scratch)
        .args(OF_NAMESPACES)
        .args(["--fixed", "10000", "--slice-ms", "10", "--warm-up", "0s"])
        .on_terminal()
        .spawn();
    run.wait_for("the proxy", || (!scratch.processes_of("looptax").is_empty()).then_some(()));
    run.wait_for("the first epoch", || fs::read_dir(scratch.tmp()).ok()?.next().map(drop));
    run.signal(Signal::KILL);
    run.wait();
    scratch.check_nothing_left_after(Duration::from_secs(10));
    assert_eq!(outside(), before);
}

#[test]
fn a_port_proxy_that_dies_is_named() {
    if !is_installed(Kind::Redis) || !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let mut run = compare(&scratch)
        .args(["private:redis", "--arms", "tcp,proxy", "--placement", "same", "-c", "1"])
        .args(["--fixed", "10000", "--slice-ms", "10", "--warm-up", "0s"])
        .on_terminal()
        .spawn();
    run.wait_for_stderr(" of at most 10000");
    let is_proxy = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains("port-proxy") || line.starts_with("docker-proxy") || line.contains("/docker-proxy")
    };
    let proxies: Vec<u32> = scratch.processes().into_iter().filter(is_proxy).collect();
    assert_eq!(proxies.len(), 1, "{proxies:?}");
    send(proxies[0], Signal::KILL);
    run.wait().expect_error(3, &["the server's port proxy ended (signal: 9"]);
    scratch.check_nothing_left();
}

/// An ordinary user gets the arms that user namespaces allow; for each other arm the output says what it needs.
#[test]
fn without_root_what_can_be_had_is_measured() {
    const NOBODY: u32 = 65_534;
    if !is_installed(Kind::Redis) || !is_root() {
        return;
    }
    let scratch = Scratch::new();
    scratch.give_to(NOBODY);
    let run =
        compare(&scratch).uid(NOBODY).args(["private:redis", "--arms", "unix,tcp,tls,bridge,proxy"]).args(SHORT).run();
    run.expect_code(0);
    let record = saved(&scratch);
    let problems = record["problems"].to_string();
    let names: Vec<Value> = arms(&record).into_iter().map(|arm| arm["name"].clone()).collect();
    // If user namespaces are forbidden, the output reports this instead.
    if !problems.contains("bridge is not measured: cannot make a separate network namespace") {
        assert_eq!(names, ["unix", "tcp", "tls", "bridge", "proxy"]);
    }
    arms(&record).iter().for_each(check_proof);
    scratch.check_nothing_left();
}

#[test]
fn a_baseline_that_cannot_be_had_ends_the_run() {
    let words = ["abstract", "PostgreSQL and echo"];
    check_refused(&["private:redis", "--arms", "abstract,tcp"], &words);
    check_refused(&["private:redis", "--arms", "tcp,abstract"], &words);
    check_refused(&["private:redis", "--arms", "tcp,ipx"], &["`ipx` is not an arm"]);
    let line = "redis-benchmark -n 1000 {transport}";
    let exec = ["private:redis", "--arms", "tcp,tls", "--exec", line];
    check_refused(&exec, &["cannot route over tls"]);
}

/// A running server is measured as it is configured: also over TLS, if its kind offers TLS on the same port.
#[test]
fn a_running_server_is_measured_over_its_own_tls() {
    for kind in [Kind::Mariadb, Kind::Postgres] {
        let listening = Listening { has_tls: true, ..Listening::default() };
        let Some(server) = Server::start_listening(kind, 20, listening) else {
            continue;
        };
        let scratch = Scratch::new();
        let run = server.compare(&scratch).args(["--arms", "unix,tcp,tls,bridge"]).run();
        run.expect_code(0);
        let record = saved(&scratch);
        let arms = arms(&record);
        assert_eq!(arms.len(), 3);
        arms.iter().for_each(check_proof);
        assert!(record["problems"].to_string().contains("bridge is not measured"));
        // Without --arms, looptax measures both tcp and tls, because the server's own client programs would use TLS.
        server.compare(&scratch).run().expect_code(0);
        check_names(&scratch, &["unix", "tcp", "tls"]);
    }
}

#[track_caller]
fn check_names(scratch: &Scratch, expected: &[&str]) {
    let record = saved(scratch);
    let arms = arms(&record);
    let names: Vec<&str> = arms.iter().map(|arm| text(&arm["name"])).collect();
    assert_eq!(names, expected);
    let problems = record["problems"].to_string();
    assert!(!problems.contains("not measured"), "{problems}");
}

#[test]
fn a_running_server_without_tls_says_so() {
    let Some(server) = Server::start(Kind::Postgres) else {
        return;
    };
    let scratch = Scratch::new();
    let run = server.compare(&scratch).args(["--arms", "unix,tls"]).run();
    run.expect_error(2, &["offers no TLS", "leave TLS out of --arms"]);
    server.compare(&scratch).run().expect_code(0);
    check_names(&scratch, &["unix", "tcp"]);
}
