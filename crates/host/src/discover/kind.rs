//! How processes are known as servers, and what makes one listen where it does not.
//!
//! Data only.

use looptax_model::dsn::Kind;

use crate::discover::process::Process;

/// The kind of server that a process is, by its program, else by the title that it has given itself:
/// `php-fpm: master process (/etc/php-fpm.conf)`.
pub(crate) fn of_process(process: &Process) -> Option<Kind> {
    let program = process.program_name();
    Kind::of_program(&program).or_else(|| {
        let title = program.starts_with("php").then(|| process.arguments())?;
        let name = title.first()?.split(':').next()?;
        Kind::of_program(name).filter(|it| *it == Kind::PhpFpm)
    })
}

/// What makes its queue of connections longer.
///
/// # Source
/// The servers' documentation; PostgreSQL asks for twice `max_connections` (`pqcomm.c`).
pub const fn how_to_raise_the_backlog(kind: Kind) -> &'static str {
    match kind {
        Kind::Mysql | Kind::Mariadb | Kind::Percona => "set `back_log`",
        Kind::Postgres => "set `max_connections` (the backlog is twice that)",
        Kind::Redis | Kind::Valkey | Kind::Keydb => "set `tcp-backlog` (sockets have it too)",
        Kind::Memcached => "set `-b`",
        Kind::Pgbouncer => "set `listen_backlog`",
        Kind::PhpFpm => "set `listen.backlog` of its pool",
        Kind::Uwsgi => "set `listen`",
        Kind::Ferretdb => "raise `net.core.somaxconn`, which it takes, and restart it",
        Kind::Dragonfly | Kind::Mongodb | Kind::Proxysql | Kind::Http | Kind::Echo => {
            "raise its backlog"
        }
    }
}

/// What has to be set for a server of this kind to have a socket, and what that takes.
pub const fn how_to_add_a_socket(kind: Kind) -> &'static str {
    match kind {
        Kind::Mysql | Kind::Mariadb | Kind::Percona => "set `socket=` under [mysqld] and restart",
        Kind::Postgres => "set `unix_socket_directories` and restart",
        Kind::Redis | Kind::Valkey | Kind::Keydb => {
            "write `unixsocket /run/redis/redis-server.sock` (a folder of the server's own) and `unixsocketperm 770` into its configuration and restart it: it opens no socket while it runs; TCP stays"
        }
        Kind::Dragonfly => "start it with `--unixsocket PATH`; TCP stays",
        Kind::Memcached => {
            "start it with `-s PATH`; that turns TCP off, so other hosts need a second one"
        }
        Kind::Mongodb => "set `net.unixDomainSocket.enabled` (and `filePermissions`) and restart",
        Kind::Ferretdb => "start it with `--listen-unix PATH`; TCP stays",
        Kind::Pgbouncer => "set `unix_socket_dir` and restart",
        Kind::Proxysql => "add `;/path.sock` to `mysql-interfaces` and restart",
        Kind::PhpFpm => {
            "set `listen` of its pool to a path, with `listen.owner` and `listen.mode` for the web server, and reload it"
        }
        Kind::Uwsgi => {
            "set `socket` (or `http-socket`) to a path, with `chmod-socket`, and restart it"
        }
        Kind::Http => "bind it to a path, as its server spells that, and restart it",
        Kind::Echo => "start it anew: it always has one",
    }
}
