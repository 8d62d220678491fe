//! Applications that are separate programs: Django under gunicorn, and a service in Node.

use std::process::Command;

use looptax_model::dsn::Kind;

use super::{Place, fill_table, skip_without};
use crate::fixture::Server;

/// Whether a program can load a library; prints a message if not.
pub(crate) fn can_load(program: &str, args: &[&str], library: &str) -> bool {
    let loaded = Command::new(program).args(args).output();
    let can = loaded.is_ok_and(|it| it.status.success());
    if !can {
        skip_without(library);
    }
    can
}

pub(crate) const GUNICORN: [&str; 8] =
    ["/usr/bin/python3", "-m", "gunicorn", "-w", "2", "-b", "«http»", "greetings.wsgi"];

/// Returns Django with PostgreSQL, which keeps its connections for `max_age` seconds; `None` if it is not installed.
pub(crate) fn django(max_age: &str) -> Option<(Server, Place)> {
    let script = "import django, psycopg2, gunicorn";
    if !can_load(GUNICORN[0], &["-c", script], "Django with gunicorn") {
        return None;
    }
    let server = Server::start(Kind::Postgres)?;
    fill_table(&server);
    let place = Place::beside(&server);
    let settings = include_str!("files/django/settings.py");
    let age = format!("'CONN_MAX_AGE': {max_age}");
    place.write(&[
        ("greetings/__init__.py", ""),
        ("greetings/settings.py", &settings.replace("'CONN_MAX_AGE': 60", &age)),
        ("greetings/urls.py", include_str!("files/django/urls.py")),
        ("greetings/wsgi.py", include_str!("files/django/wsgi.py")),
    ]);
    Some((server, place))
}

pub(crate) const NODE: [&str; 4] = ["env", NODE_PATH, "node", "server.js"];

/// Returns a service in Node with a pool of connections to MariaDB; `None` if it is not installed.
pub(crate) fn node() -> Option<(Server, Place)> {
    let words = [NODE_PATH, "node", "-e", NODE_MYSQL];
    if !can_load("env", &words, "Node's mysql") {
        return None;
    }
    let server = Server::start(Kind::Mariadb)?;
    fill_table(&server);
    let place = Place::beside(&server);
    place.write(&[
        (".env", include_str!("files/node/dotenv")),
        ("package.json", include_str!("files/node/package.json")),
        ("server.js", include_str!("files/node/server.js")),
    ]);
    Some((server, place))
}

/// The folder of Node's libraries on Debian; a Node that is not from Debian does not search it.
const NODE_PATH: &str = "NODE_PATH=/usr/share/nodejs";
const NODE_MYSQL: &str = "require('mysql').createPool('mysql://localhost/greetings')";
