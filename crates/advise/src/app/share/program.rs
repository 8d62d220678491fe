//! The program of a container, according to its image, its command and the dependencies of its project: whether it is a
//! database server, and which applications it cannot be.
//!
//! Filled in and used by `read`. Nothing in this file proves which application the program is.

use crate::app::pattern::fits;
use crate::app::setting::{Setting, Value};
use crate::app::table::{App, apps};

/// Images of servers, poolers and caches, by the last part of their names.
const SERVERS: [&str; 23] = [
    "mariadb",
    "mysql",
    "mysql-server",
    "percona",
    "percona-server",
    "postgres",
    "postgresql",
    "postgis",
    "pgvector",
    "timescaledb",
    "redis",
    "redis-stack",
    "redis-stack-server",
    "valkey",
    "keydb",
    "dragonfly",
    "memcached",
    "mongo",
    "mongodb",
    "pgbouncer",
    "pgpool",
    "pgcat",
    "proxysql",
];

/// Client programs in the images of servers. A container that starts one of them, for example for a nightly dump, is
/// not a server.
const CLIENTS: [&str; 12] = [
    "pg_dump",
    "pg_dumpall",
    "pg_restore",
    "pg_basebackup",
    "psql",
    "mysqldump",
    "mysqladmin",
    "mariadb-dump",
    "mariadb-admin",
    "redis-cli",
    "valkey-cli",
    "mongodump",
];

/// A programming language, with two lists. `words` has the words in images and commands that show the language.
/// `readers` has the applications of the table that are written in the language, by the first words of their names.
struct Language {
    words: &'static [&'static str],
    readers: &'static [&'static str],
}

const LANGUAGES: [Language; 6] = [
    Language { words: &["php", "composer"], readers: &["laravel", "symfony", "wordpress", "phpmyadmin"] },
    Language {
        words: &[
            "python",
            "python3",
            "manage",
            "django",
            "celery",
            "flower",
            "flask",
            "fastapi",
            "gunicorn",
            "uvicorn",
            "hypercorn",
            "daphne",
            "uwsgi",
        ],
        readers: &["python", "django", "dj", "celery", "sqlalchemy", "airflow"],
    },
    Language {
        words: &["ruby", "bundle", "rails", "rake", "puma", "unicorn", "sidekiq"],
        readers: &["rails", "sidekiq", "mastodon"],
    },
    Language {
        words: &["node", "nodejs", "npm", "npx", "yarn", "pnpm", "bun", "deno"],
        readers: &["node", "nodeport", "prisma"],
    },
    Language { words: &["go", "golang"], readers: &["go", "golang"] },
    Language { words: &["rust", "cargo"], readers: &["rust"] },
];

/// First words of names in the table that are libraries for any language.
const OF_ANY_LANGUAGE: [&str; 3] = ["libpq", "mongodb", "memcached"];

/// Words that begin a name in the table, but do not show the application if an image or a command contains them.
const TELLING_NOTHING: [&str; 19] = [
    "apache",
    "caddy",
    "docker",
    "dockerfile",
    "gin",
    "guessed",
    "home",
    "jdbc",
    "kubernetes",
    "libpq",
    "memcached",
    "mongodb",
    "mysql",
    "nginx",
    "odbc",
    "pg",
    "podman",
    "redis",
    "systemd",
];

/// Dependencies that show an application, in addition to the signs in the table.
const LIBRARIES: [(&str, &str); 4] = [
    ("laravel", "library:composer/laravel/framework"),
    ("symfony", "library:composer/symfony/*"),
    ("wordpress", "library:composer/roots/*"),
    ("mastodon", "library:gem/rails"),
];

#[derive(Debug, Default)]
pub(super) struct Program {
    image: Option<String>,
    /// The words of the container's entry point and command.
    words: Vec<String>,
}

impl Program {
    /// Reads a setting of a container; `path` is its path inside the container.
    pub(super) fn take(&mut self, path: &[String], setting: &Setting) {
        let text = match &setting.value {
            Value::Text(text) => text.as_str(),
            Value::Variable { .. } | Value::Hidden => setting.item[setting.literal.clone()].trim_matches(['"', '\'']),
        };
        match path.first().map(String::as_str) {
            Some("image") => self.image = Some(text.to_owned()),
            Some("entrypoint" | "command" | "args") => self.add(text),
            _ => {}
        }
    }

    /// Reads the program from a `.container` unit.
    pub(super) fn of_unit(text: &str) -> Self {
        let mut program = Self::default();
        for (key, value) in text.lines().filter_map(|it| it.trim().split_once('=')) {
            match key {
                "Image" => program.image = Some(value.to_owned()),
                "Entrypoint" | "Exec" => program.add(value),
                _ => {}
            }
        }
        program
    }

    fn add(&mut self, text: &str) {
        self.words.extend(text.split_whitespace().map(str::to_owned));
    }

    /// Whether the program is a known database server. Such a container is not an application, even if it shares a file
    /// of variables with an application.
    pub(super) fn is_a_server(&self) -> bool {
        let is_client = |it: &String| CLIENTS.contains(&last_part(it));
        let is_image = self.image.as_deref().is_some_and(|it| SERVERS.contains(&base_name(it)));
        is_image && !self.words.iter().any(is_client)
    }

    /// Whether the project's dependencies, the image or the command show that the program is another application.
    /// `beside` has the dependencies, if the image is built in the folder of the file.
    pub(super) fn contradicts(&self, app: &App, beside: &[String]) -> bool {
        lacks_library(app, beside) || self.is_of_another(app)
    }

    fn is_of_another(&self, app: &App) -> bool {
        let own = first_word(app);
        if OF_ANY_LANGUAGE.contains(&own) {
            return false;
        }
        let is_its = |word: &str| match LANGUAGES.iter().find(|it| it.words.contains(&word)) {
            Some(language) => language.readers.contains(&own),
            None => !is_an_application(word) || word == own,
        };
        let image = self.image.as_deref().map(base_name).into_iter();
        let texts = image.chain(self.words.iter().map(|it| last_part(it)));
        let mut words = texts.flat_map(|it| it.split(|c: char| !c.is_ascii_alphanumeric()));
        words.any(|it| !is_its(&it.to_ascii_lowercase()))
    }
}

/// Whether a word is the first word of an application's name in the table.
fn is_an_application(word: &str) -> bool {
    !TELLING_NOTHING.contains(&word) && apps().iter().any(|it| first_word(it) == word)
}

fn first_word(app: &App) -> &str {
    app.name.split('_').next().unwrap_or_default()
}

/// Whether the project's dependencies are known, and none of them is a sign of the application.
fn lacks_library(app: &App, beside: &[String]) -> bool {
    let is_library = |it: &str| it.starts_with("library:");
    let more = LIBRARIES.iter().filter(|it| it.0 == first_word(app)).map(|it| it.1);
    let own: Vec<&str> = app.signs.iter().map(String::as_str).filter(|it| is_library(it)).chain(more).collect();
    let has = |sign: &&str| beside.iter().any(|it| fits(sign, it));
    beside.iter().any(|it| is_library(it)) && !own.is_empty() && !own.iter().any(has)
}

/// Returns `rails` for `./bin/rails`, without quotes and brackets around it.
fn last_part(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or_default();
    name.trim_matches(|c: char| !c.is_ascii_alphanumeric())
}

/// Returns `mysql` for `docker.io/library/mysql:${TAG:-8}` and for `${REGISTRY}/mysql:8`.
fn base_name(image: &str) -> &str {
    let known = image.split('$').next().filter(|it| !it.is_empty()).unwrap_or(image);
    let name = known.rsplit('/').next().unwrap_or_default();
    name.split([':', '@']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(image: &str, command: &str) -> Program {
        let words = command.split_whitespace().map(str::to_owned);
        Program { image: Some(image.to_owned()).filter(|it| !it.is_empty()), words: words.collect() }
    }

    #[test]
    fn a_server_is_known_by_its_image_unless_it_starts_a_client() {
        for (image, command, expected) in [
            ("mariadb:11", "", true),
            ("docker.io/library/mysql:${TAG:-8/x}", "--max-connections=9", true),
            ("${REGISTRY}/postgres:17", "", true),
            ("bitnami/pgbouncer", "", true),
            ("redis:7", "redis-server --appendonly yes", true),
            ("postgres:17", "sh -c 'pg_dump -h db shop > /backup/x'", false),
            ("own/mysql-shop", "", false),
            ("nextcloud:29", "", false),
            ("", "mysqld", false),
        ] {
            assert_eq!(program(image, command).is_a_server(), expected, "{image} {command}");
        }
    }

    #[test]
    fn an_image_a_command_or_dependencies_exclude_other_applications() {
        let app = |name: &str| apps().iter().find(|it| it.name == name).unwrap();
        for (image, command, beside, name, expected) in [
            ("own/app", "", "", "sidekiq_redis", false),
            ("nextcloud:29", "", "", "laravel_redis_phpredis", true),
            ("tootsuite/mastodon:v4", "", "", "laravel_redis_phpredis", true),
            ("tootsuite/mastodon:v4", "bundle exec sidekiq", "", "mastodon_redis", false),
            ("", "celery -A shop worker", "", "sidekiq_redis", true),
            ("", "/srv/app/bin/rails server", "", "sidekiq_redis", false),
            ("", "", "library:pip/django", "sidekiq_redis", true),
            ("", "", "library:pip/django", "mastodon_redis", true),
            ("", "", "library:pip/django", "laravel_redis_phpredis", true),
            ("", "", "library:gem/sidekiq", "sidekiq_redis", false),
            ("", "", "compose.yaml", "sidekiq_redis", false),
            ("nextcloud:29", "", "library:pip/django", "libpq_env", false),
        ] {
            let beside: Vec<String> = [beside].into_iter().filter(|it| !it.is_empty()).map(str::to_owned).collect();
            let found = program(image, command).contradicts(app(name), &beside);
            assert_eq!(found, expected, "{image} {command} {beside:?} {name}");
        }
    }
}
