//! Applications that are programs of their own: Python under gunicorn, Ruby, Node.

use std::process::Command;

use looptax_dsn::Kind;

use super::application::{Application, Group, Place, fill_table, skip_without};
use super::moved_and_back;
use crate::fixture::{Server, is_root};

/// What keeps a service running that ends when it is told to, as an init system does.
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

/// Whether a program can load its library; if not, says so aloud.
fn can_load(program: &str, args: &[&str], library: &str) -> bool {
    let loaded = Command::new(program).args(args).output();
    let can = loaded.is_ok_and(|it| it.status.success());
    if !can {
        skip_without(library);
    }
    can
}

#[test]
fn django_under_gunicorn_is_moved_and_back() {
    let script = "import django, psycopg2, gunicorn";
    if !can_load("/usr/bin/python3", &["-c", script], "Django with gunicorn") {
        return;
    }
    let Some(server) = Server::start(Kind::Postgres) else {
        return;
    };
    fill_table(&server);
    let place = Place::beside(&server);
    place.write(&[
        ("greetings/__init__.py", ""),
        (
            "greetings/settings.py",
            include_str!("files/django/settings.py"),
        ),
        ("greetings/urls.py", include_str!("files/django/urls.py")),
        ("greetings/wsgi.py", include_str!("files/django/wsgi.py")),
    ]);
    let words = [
        "-m",
        "gunicorn",
        "-w",
        "2",
        "-b",
        "«http»",
        "greetings.wsgi",
    ];
    let gunicorn = place.start("/usr/bin/python3", &words);
    let reload = format!("kill -HUP {}", gunicorn.pid());
    let file = "greetings/settings.py";
    let app = Application::on_http(place, server, file, "/way", vec![gunicorn]);
    moved_and_back(&app.reloaded_by(reload));
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

/// The service in Ruby, with some words of its own about its configuration, of the tests' account or another;
/// `None` where it cannot be had.
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
        (
            "server.rb",
            &include_str!("files/ruby/server.rb").replace("# «words»", words),
        ),
    ]);
    let service = keep_running(&place, &["ruby", "server.rb", "«http_port»"]);
    let restart = place.fill(RESTART);
    let app = Application::on_http(place, server, file, "/way", vec![service]);
    Some(app.reloaded_by(restart))
}

#[test]
fn a_node_program_with_dotenv_is_moved_and_back() {
    if !can_load(
        "env",
        &[NODE_PATH, "node", "-e", NODE_MYSQL],
        "Node's mysql",
    ) {
        return;
    }
    let Some(server) = Server::start(Kind::Mariadb) else {
        return;
    };
    fill_table(&server);
    let place = Place::beside(&server);
    place.write(&[
        (".env", include_str!("files/node/dotenv")),
        ("package.json", include_str!("files/node/package.json")),
        ("server.js", include_str!("files/node/server.js")),
    ]);
    let service = keep_running(&place, &["env", NODE_PATH, "node", "server.js"]);
    let restart = place.fill(RESTART);
    let app = Application::on_http(place, server, ".env", "/way", vec![service]);
    moved_and_back(&app.reloaded_by(restart));
}

/// Where Debian has Node's libraries, which a Node from elsewhere does not know.
const NODE_PATH: &str = "NODE_PATH=/usr/share/nodejs";
const NODE_MYSQL: &str = "require('mysql').createPool('mysql://localhost/greetings')";
