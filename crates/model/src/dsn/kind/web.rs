//! Facts about the programs that run pages behind a web server, and about looptax's own servers.
//!
//! This file contains only data.

use super::facts::{Facts, Form, Private, Spelling, TLS, TLS_UNIX, Usual};
use super::variants::{Kind, Protocol};
use crate::dsn::Arm;

pub(super) const PHP_FPM: Facts = Facts {
    name: "php-fpm",
    title: "PHP-FPM",
    protocol: Some(Protocol::Fastcgi),
    spellings: &[Spelling::new(Kind::PhpFpm, "", Form::After("X-Powered-By: PHP/"))],
    usual_backlog: Some(4096),
    how_to_raise_the_backlog: "set `listen.backlog` of its pool",
    how_to_add_a_socket: "set `listen` of the pool to a path, with `listen.owner` and `listen.mode` for the web \
        server, and reload PHP-FPM",
    private: Some(Private {
        programs: &["php-fpm"],
        prints: |text| text.contains("(fpm-fcgi)"),
        package: Some("php-fpm"),
        accounts: &["www-data", "apache", "nobody"],
        is_usual: false,
        lacks: &[(Arm::Abstract, "PHP-FPM has no abstract socket"), TLS_UNIX, TLS],
    }),
    ..FAMILY
};

pub(super) const UWSGI: Facts = Facts {
    name: "uwsgi",
    title: "uWSGI",
    programs: &["uwsgi", "uwsgi-core"],
    spellings: &[Spelling::new(Kind::Uwsgi, "", Form::Alone((2, 2), false))],
    usual_backlog: None,
    how_to_raise_the_backlog: "set `listen`",
    how_to_add_a_socket: "set `socket` (or `http-socket`) to a path, with `chmod-socket`, and restart uWSGI",
    ..FAMILY
};

pub(super) const HTTP: Facts = Facts {
    name: "http",
    title: "HTTP",
    protocol: Some(Protocol::Http),
    how_to_add_a_socket: "bind the server to a path, with the server's own option or setting, and restart it",
    private: Some(Private { is_usual: false, ..OURS }),
    ..FAMILY
};

pub(super) const ECHO: Facts = Facts {
    name: "echo",
    title: "echo",
    protocol: Some(Protocol::Echo),
    how_to_add_a_socket: "restart the server: an echo server always opens a socket",
    private: Some(OURS),
    ..FAMILY
};

/// How to start a private server that is looptax itself.
const OURS: Private =
    Private { programs: &[], prints: |_| true, package: None, accounts: &[], is_usual: true, lacks: &[TLS_UNIX, TLS] };

const FAMILY: Facts = Facts {
    name: "",
    title: "",
    protocol: None,
    programs: &[],
    pools: None,
    logins: None,
    usual: Usual::NOWHERE,
    spellings: &[],
    usual_backlog: None,
    how_to_raise_the_backlog: "raise its backlog",
    how_to_add_a_socket: "",
    private: None,
};
