//! The forms of projects: the program, the file that it reads, its driver, and how the file is written.
//!
//! `text` writes values in the syntax of each format; the other files contain the forms of one language each.

mod native;
mod node;
mod php;
mod python;
mod ruby;
mod text;

use looptax_model::dsn::Kind;

use super::draw::{Form, Program};

/// The default form; the other forms list only their differences from it.
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

/// Returns the forms with these names; all forms if no name is given.
pub(super) fn named(names: &[String]) -> anyhow::Result<Vec<&'static Form>> {
    if let Some(name) = names.iter().find(|name| FORMS.iter().all(|it| it.name != **name)) {
        anyhow::bail!("there is no form `{name}`; see --list");
    }
    Ok(FORMS.iter().filter(|it| names.is_empty() || names.iter().any(|name| it.name == name)).collect())
}

#[cfg(test)]
mod tests {
    use super::super::draw::Draw;
    use super::*;
    use crate::coin::Coin;

    fn all() -> Vec<&'static Form> {
        named(&[]).unwrap()
    }

    #[test]
    fn a_seed_repeats_its_project() {
        let drawn = |seed| {
            let draw = Draw::of(seed, &all(), |_, server| server as u16 + 1).unwrap();
            let mut coin = Coin::new(Some(draw.coin_seed)).unwrap();
            ((draw.form.write)(&draw, &mut coin), draw.words())
        };
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7).1, drawn(8).1);
    }

    #[test]
    fn each_form_writes_the_file_that_looptax_is_given_and_names_its_accounts_there() {
        for form in all() {
            for seed in 0..200 {
                let draw = Draw::of(seed, &[form], |_, server| server as u16 + 7001).unwrap();
                let files = (form.write)(&draw, &mut Coin::new(Some(seed)).unwrap());
                let (_, text) = files.iter().find(|(name, _)| *name == form.file).unwrap();
                for end in &draw.ends {
                    assert!(text.contains(&*end.user), "{}: {text}", form.name);
                }
            }
        }
    }
}
