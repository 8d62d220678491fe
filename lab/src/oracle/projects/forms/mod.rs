//! The forms of projects: which program reads which file, with which driver, and how the file is written.
//!
//! `text` writes values as formats want them; the other files hold the forms of a language.

mod native;
mod node;
mod php;
mod python;
mod ruby;
mod text;

use looptax_model::dsn::Kind;

use super::draw::Draw;
use super::program::Program;
use crate::coin::Coin;

/// Files of a project, by their path in its folder.
pub(super) type Files = Vec<(&'static str, String)>;

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of a program or its driver")]
pub(super) struct Form {
    pub(super) name: &'static str,
    /// The servers that it uses.
    pub(super) kinds: &'static [Kind],
    pub(super) program: Program,
    /// What the program is told.
    pub(super) word: &'static str,
    /// What has to be there, in the program's language: an extension, a module.
    pub(super) needs: &'static str,
    /// The file that looptax is given.
    pub(super) file: &'static str,
    /// Whether it connects for each question only.
    pub(super) is_short: bool,
    pub(super) takes_signal: bool,
    /// Whether its driver takes `localhost` for a socket.
    pub(super) has_localhost_as_socket: bool,
    pub(super) takes_ipv6: bool,
    pub(super) takes_redis_user: bool,
    pub(super) write: fn(&Draw, &mut Coin) -> Files,
}

/// A form as most are; the others say what differs.
const PLAIN: Form = Form {
    name: "",
    kinds: &[],
    program: Program::Php,
    word: "",
    needs: "",
    file: ".env",
    is_short: false,
    takes_signal: true,
    has_localhost_as_socket: false,
    takes_ipv6: true,
    takes_redis_user: true,
    write: |_, _| Vec::new(),
};

const MYSQL: &[Kind] = &[Kind::Mariadb];
const POSTGRES: &[Kind] = &[Kind::Postgres];
const REDIS: &[Kind] = &[Kind::Redis];

const PHP: Form = Form { has_localhost_as_socket: true, takes_ipv6: false, ..PLAIN };
const PYTHON: Form = Form { program: Program::Python, ..PLAIN };
const RUBY: Form = Form { program: Program::Ruby, ..PLAIN };
const NODE: Form = Form { program: Program::Node, takes_signal: false, ..PLAIN };
const GO: Form = Form { program: Program::Go, ..PLAIN };

/// All of them.
pub(super) static FORMS: &[Form] = &[
    Form {
        name: "wordpress",
        kinds: MYSQL,
        word: "wordpress",
        needs: "mysqli",
        file: "wp-config.php",
        takes_ipv6: true,
        write: php::wordpress,
        ..PHP
    },
    Form { name: "laravel-mysql", kinds: MYSQL, word: "laravel", needs: "pdo_mysql", write: php::laravel, ..PHP },
    Form { name: "laravel-pgsql", kinds: POSTGRES, word: "laravel", needs: "pdo_pgsql", write: php::laravel, ..PHP },
    Form { name: "laravel-redis", kinds: REDIS, word: "laravel", needs: "redis", write: php::laravel, ..PHP },
    Form {
        name: "laravel-both",
        kinds: &[Kind::Mariadb, Kind::Redis],
        word: "laravel",
        needs: "redis",
        write: php::laravel,
        ..PHP
    },
    Form { name: "symfony-mysql", kinds: MYSQL, word: "symfony", needs: "pdo_mysql", write: php::symfony, ..PHP },
    Form { name: "symfony-pgsql", kinds: POSTGRES, word: "symfony", needs: "pdo_pgsql", write: php::symfony, ..PHP },
    Form {
        name: "nextcloud-mysql",
        kinds: MYSQL,
        word: "nextcloud",
        needs: "pdo_mysql",
        file: "config/config.php",
        write: php::nextcloud,
        ..PHP
    },
    Form {
        name: "nextcloud-both",
        kinds: &[Kind::Mariadb, Kind::Redis],
        word: "nextcloud",
        needs: "redis",
        file: "config/config.php",
        write: php::nextcloud,
        ..PHP
    },
    Form { name: "unknown-php", kinds: MYSQL, word: "unknown", needs: "mysqli", write: php::unknown, ..PHP },
    Form {
        name: "django-mysql",
        kinds: MYSQL,
        word: "django",
        needs: "django, pymysql",
        file: "shop/settings.py",
        write: python::django,
        ..PYTHON
    },
    Form {
        name: "django-postgres",
        kinds: POSTGRES,
        word: "django",
        needs: "django, psycopg2",
        file: "shop/settings.py",
        write: python::django,
        ..PYTHON
    },
    Form {
        name: "celery",
        kinds: REDIS,
        word: "celery",
        needs: "celery, redis",
        file: "celeryconfig.py",
        write: python::celery,
        ..PYTHON
    },
    Form { name: "redis-py", kinds: REDIS, word: "redis_py", needs: "redis", write: python::redis_py, ..PYTHON },
    Form {
        name: "sqlalchemy-mysql",
        kinds: MYSQL,
        word: "sqlalchemy",
        needs: "sqlalchemy, pymysql",
        write: python::sqlalchemy,
        ..PYTHON
    },
    Form {
        name: "sqlalchemy-postgres",
        kinds: POSTGRES,
        word: "sqlalchemy",
        needs: "sqlalchemy, psycopg2",
        write: python::sqlalchemy,
        ..PYTHON
    },
    Form {
        name: "flask-mysql",
        kinds: MYSQL,
        word: "sqlalchemy",
        needs: "sqlalchemy, pymysql",
        file: "config.py",
        write: python::flask,
        ..PYTHON
    },
    Form {
        name: "flask-postgres",
        kinds: POSTGRES,
        word: "sqlalchemy",
        needs: "sqlalchemy, psycopg2",
        file: "config.py",
        write: python::flask,
        ..PYTHON
    },
    Form {
        name: "libpq-env",
        kinds: POSTGRES,
        word: "libpq_env",
        needs: "psycopg2",
        file: "app.env",
        write: python::libpq_env,
        ..PYTHON
    },
    Form { name: "unknown-mysql", kinds: MYSQL, word: "unknown", needs: "pymysql", write: python::unknown, ..PYTHON },
    Form {
        name: "unknown-postgres",
        kinds: POSTGRES,
        word: "unknown",
        needs: "psycopg2",
        write: python::unknown,
        ..PYTHON
    },
    Form {
        name: "rails-mysql2",
        kinds: MYSQL,
        word: "rails",
        needs: "mysql2",
        file: "config/database.yml",
        has_localhost_as_socket: true,
        write: ruby::rails,
        ..RUBY
    },
    Form {
        name: "rails-pg",
        kinds: POSTGRES,
        word: "rails",
        needs: "pg",
        file: "config/database.yml",
        write: ruby::rails,
        ..RUBY
    },
    Form {
        name: "my.cnf-ruby",
        kinds: MYSQL,
        word: "mycnf",
        needs: "mysql2",
        file: "my.cnf",
        has_localhost_as_socket: true,
        write: native::options_file,
        ..RUBY
    },
    Form {
        name: "my.cnf-client",
        kinds: MYSQL,
        program: Program::Shell,
        needs: "mariadb",
        file: "my.cnf",
        is_short: true,
        takes_signal: false,
        has_localhost_as_socket: true,
        write: native::options_file,
        ..PLAIN
    },
    Form { name: "node-pg", kinds: POSTGRES, word: "pg", needs: "pg", write: node::database, ..NODE },
    Form { name: "node-mysql2", kinds: MYSQL, word: "mysql2", needs: "mysql2", write: node::database, ..NODE },
    Form { name: "node-ioredis", kinds: REDIS, word: "ioredis", needs: "ioredis", write: node::ioredis, ..NODE },
    Form { name: "go-mysql", kinds: MYSQL, word: "mysql", write: native::go, ..GO },
    Form { name: "go-pgx", kinds: POSTGRES, word: "postgres", write: native::go, ..GO },
    Form { name: "go-redis", kinds: REDIS, word: "redis", write: native::go, ..GO },
];
