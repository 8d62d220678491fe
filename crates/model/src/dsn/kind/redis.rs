//! Facts about Redis and its relatives.
//!
//! This file contains only data.

use super::facts::{ABSTRACT, Facts, Form, Private, Spelling, TLS_UNIX, Usual};
use super::variants::{Kind, Protocol};

pub(super) const REDIS: Facts = Facts {
    name: "redis",
    title: "Redis",
    // On Debian, `redis-check-rdb` is the same file as the server.
    programs: &["redis-server", "redis-check-rdb"],
    private: Some(Private {
        programs: &["redis-server"],
        prints: |text| text.contains("Redis server"),
        package: Some("redis-server"),
        accounts: &["redis", "nobody"],
        is_usual: true,
        lacks: &[ABSTRACT, TLS_UNIX],
    }),
    ..FAMILY
};

pub(super) const VALKEY: Facts = Facts {
    name: "valkey",
    title: "Valkey",
    programs: &["valkey-server", "valkey-check-rdb"],
    private: Some(Private {
        programs: &["valkey-server"],
        prints: |text| text.contains("Valkey server"),
        package: Some("valkey-server"),
        accounts: &["valkey", "nobody"],
        is_usual: true,
        lacks: &[ABSTRACT, TLS_UNIX],
    }),
    ..FAMILY
};

pub(super) const KEYDB: Facts = Facts { name: "keydb", title: "KeyDB", programs: &["keydb-server"], ..FAMILY };

pub(super) const DRAGONFLY: Facts = Facts {
    name: "dragonfly",
    title: "Dragonfly",
    programs: &["dragonfly"],
    spellings: &[],
    usual_backlog: None,
    how_to_raise_the_backlog: "raise its backlog",
    how_to_add_a_socket: "start the server with `--unixsocket PATH`; TCP stays open",
    ..FAMILY
};

const FAMILY: Facts = Facts {
    name: "",
    title: "",
    protocol: Some(Protocol::Redis),
    programs: &[],
    pools: None,
    logins: None,
    usual: Usual { ports: &[6379], names: &["redis", "valkey", "keydb", "dragonfly"], words: "redis or valkey" },
    spellings: &[
        Spelling::new(Kind::Valkey, "Valkey", Form::Alone((7, 99), true)),
        Spelling::new(Kind::Keydb, "KeyDB", Form::Alone((5, 99), true)),
        Spelling::new(Kind::Redis, "", Form::Alone((2, 99), true)),
    ],
    usual_backlog: Some(511),
    how_to_raise_the_backlog: "set `tcp-backlog` (which also applies to the socket)",
    how_to_add_a_socket: "write `unixsocket /run/redis/redis-server.sock` (in a folder that belongs to the server) and \
        `unixsocketperm 770` into the server's configuration and restart the server: a running server opens no new \
        socket; TCP stays",
    private: None,
};
