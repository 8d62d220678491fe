//! Applications that are separate programs: Python under gunicorn, Ruby and Node.

use looptax_model::dsn::Kind;
use looptax_testkit::skips::skip;
use serde_json::Value;

use super::{moved_and_back, switch};
use crate::application::programs::{GUNICORN, NODE, can_load, django, node};
use crate::application::{Application, Group, Place, fill_table};
use crate::fixture::{Server, is_root};
use crate::record::check_fits;

/// A script that starts a service again whenever it has ended, as an init system does.
const KEEPER: &str = "\
#!/bin/sh
while :; do
    \"$@\" &
    echo $! > pid
    wait $!
    sleep 0.2
done
";

/// Ends the service, which the keeper starts again.
const RESTART: &str = "kill $(cat «folder»/pid)";

/// Starts a service with its keeper.
fn keep_running(place: &Place, args: &[&str]) -> Group {
    place.write(&[("keep.sh", KEEPER)]);
    let all: Vec<&str> = std::iter::once(&"keep.sh").chain(args).copied().collect();
    place.start("sh", &all)
}

#[test]
fn django_under_gunicorn_is_moved_and_back() {
    let Some((server, place)) = django("60") else {
        return;
    };
    let gunicorn = place.start(GUNICORN[0], &GUNICORN[1..]);
    let reload = format!("kill -HUP {}", gunicorn.pid());
    let file = "greetings/settings.py";
    let app = Application::on_http(place, server, file, "/way", vec![gunicorn]);
    moved_and_back(&app.reloaded_by(reload));
}

#[test]
fn the_requests_of_django_are_timed_before_the_move_and_after() {
    let Some((server, place)) = django("60") else {
        return;
    };
    let gunicorn = place.start(GUNICORN[0], &GUNICORN[1..]);
    let reload = format!("kill -HUP {}", gunicorn.pid());
    let app = Application::on_http(place, server, "greetings/settings.py", "/way", vec![gunicorn]).reloaded_by(reload);
    let run = app.while_visited(|| switch(&app, &["--times-over", "7s", "--json"]).run());
    run.expect_code(0);
    let switched: Value = serde_json::from_str(&run.stdout).unwrap();
    check_fits("switch", &switched);
    if switched["requests"].is_null() {
        assert!(run.stderr.contains("looptax does not time requests"), "{}", run.stderr);
        skip("eyes: the kernel does not let us count");
        return;
    }
    let hops = switched["requests"]["hops"].as_array().unwrap();
    let ways = |hop: &Value| [hop["before"]["way"].clone(), hop["after"]["way"].clone()];
    assert!(hops.iter().any(|it| ways(it) == ["loopback", "unix"]), "{hops:#?}");
    // The hop between visitors and application is unchanged.
    assert!(hops.iter().any(|it| it["kind"] == "http" && ways(it) == ["loopback", "loopback"]), "{hops:#?}");
    let steps = switched["steps"].as_array().unwrap();
    let sentence = steps.iter().find(|it| it["code"] == "requests-timed").unwrap()["words"].as_str().unwrap();
    // On a machine as busy as during the tests, the times may be too uneven for a comparison.
    assert!(
        sentence.contains("over loopback in the 7 s before") || sentence.contains("requests before and"),
        "{sentence}"
    );
}

#[test]
fn a_ruby_program_with_database_yml_is_moved_and_back() {
    if let Some(app) = ruby("", None) {
        moved_and_back(&app);
    }
}

#[test]
fn without_root_an_application_of_ones_own_is_moved_and_back() {
    if !is_root() {
        return;
    }
    if let Some(app) = ruby("", Some(65_534)) {
        moved_and_back(&app);
    }
}

#[test]
fn a_burst_is_part_of_the_proof_if_somebody_wants_it() {
    let Some(app) = ruby("", None) else { return };
    let before = app.bytes();
    let burst = |n: &str, code| -> Value {
        let run = app.while_visited(|| switch(&app, &["--burst", "-c", n, "--json"]).run());
        run.expect_code(code);
        let switched: Value = serde_json::from_str(&run.stdout).unwrap();
        check_fits("switch", &switched);
        let mut steps = switched["steps"].as_array().unwrap().iter();
        let step = steps.find(|it| it["code"].as_str().unwrap().starts_with("burst-")).cloned();
        step.unwrap_or_else(|| run.fail("no burst"))
    };
    // The queue is long enough for all of them, but the server accepts fewer connections.
    let refused = burst("400", 1);
    assert_eq!(refused["code"], "burst-failed", "{refused}");
    assert!(refused["words"].as_str().unwrap().contains("refused by the server"), "{refused}");
    assert!(app.bytes() == before, "not the same bytes as before");
    let answered = burst("20", 0);
    assert_eq!(answered["code"], "burst-answered", "{answered}");
    assert!(
        answered["words"].as_str().unwrap().starts_with("the server answered all 20 simultaneous connects to "),
        "{answered}"
    );
}

/// Returns the service in Ruby, with more code for its configuration, as the user of the tests or another user; `None`
/// if something for it is not installed.
pub(super) fn ruby(words: &str, uid: Option<u32>) -> Option<Application> {
    if !can_load("ruby", &["-e", "require 'mysql2'"], "Ruby's mysql2") {
        return None;
    }
    let server = Server::start(Kind::Mariadb)?;
    fill_table(&server);
    let mut place = Place::beside(&server);
    if let Some(uid) = uid {
        server.open_to_all();
        place = place.owned_by(uid);
    }
    let file = "config/database.yml";
    place.write(&[
        (file, include_str!("files/ruby/database.yml")),
        ("server.rb", &include_str!("files/ruby/server.rb").replace("# «words»", words)),
    ]);
    let service = keep_running(&place, &["ruby", "server.rb", "«http_port»"]);
    let restart = place.fill(RESTART);
    let app = Application::on_http(place, server, file, "/way", vec![service]);
    Some(app.reloaded_by(restart))
}

#[test]
fn a_node_program_with_dotenv_is_moved_and_back() {
    let Some((server, place)) = node() else {
        return;
    };
    let service = keep_running(&place, &NODE);
    let restart = place.fill(RESTART);
    let app = Application::on_http(place, server, ".env", "/way", vec![service]);
    moved_and_back(&app.reloaded_by(restart));
}
