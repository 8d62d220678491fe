//! Facts about MySQL, its relatives and its pooler.
//!
//! This file contains only data.

use super::facts::{ABSTRACT, Facts, Form, Private, Spelling, Usual};
use super::variants::{Kind, Protocol};
use crate::dsn::Arm;

pub(super) const MARIADB: Facts = Facts {
    name: "mariadb",
    title: "MariaDB",
    usual_backlog: Some(80),
    programs: &["mariadbd"],
    private: Some(Private {
        programs: &["mariadbd", "mysqld"],
        prints: |text| text.contains("MariaDB"),
        package: Some("mariadb-server-core"),
        accounts: &["mysql", "nobody"],
        is_usual: true,
        lacks: &[(
            Arm::Abstract,
            "MariaDB has only one socket, and looptax gives that socket a path, not an abstract name; PostgreSQL and echo \
             have both kinds of socket",
        )],
    }),
    ..FAMILY
};

pub(super) const MYSQL: Facts = Facts {
    name: "mysql",
    title: "MySQL",
    programs: &["mysqld"],
    private: Some(Private {
        programs: &["mysqld"],
        prints: |text| text.contains("Ver ") && !text.contains("MariaDB"),
        package: Some("mysql-server-core"),
        accounts: &["mysql", "nobody"],
        is_usual: true,
        lacks: &[ABSTRACT],
    }),
    ..FAMILY
};

pub(super) const PERCONA: Facts = Facts { name: "percona", title: "Percona Server", ..FAMILY };

pub(super) const PROXYSQL: Facts = Facts {
    name: "proxysql",
    title: "ProxySQL",
    programs: &["proxysql"],
    pools: Some(Kind::Mysql),
    usual: Usual { ports: &[6033, 6032], names: &["proxysql"], words: "proxysql" },
    spellings: &[],
    usual_backlog: None,
    how_to_raise_the_backlog: "raise its backlog",
    how_to_add_a_socket: "add `;/path.sock` to `mysql-interfaces` and restart",
    ..FAMILY
};

const FAMILY: Facts = Facts {
    name: "",
    title: "",
    protocol: Some(Protocol::Mysql),
    programs: &[],
    pools: None,
    logins: None,
    usual: Usual { ports: &[3306, 33_060], names: &["mysql", "maria"], words: "mysql or mariadb" },
    spellings: &[
        Spelling::new(Kind::Mariadb, "", Form::With("-MariaDB")),
        Spelling::new(Kind::Percona, "Percona Server (", Form::After("\0MySQL ")),
        Spelling::new(Kind::Mysql, "", Form::After("\0MySQL ")),
    ],
    usual_backlog: None,
    how_to_raise_the_backlog: "set `back_log`",
    how_to_add_a_socket: "set `socket=` under [mysqld] and restart",
    private: None,
};
